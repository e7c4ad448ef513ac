package pagestate

import (
	"maps"
	"net/url"
	"slices"

	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/schema"
)

// These are a page's error codes for captchas.
const (
	CodeCaptcha = "CAPTCHA"      // The captcha is not solved.
	CodeUsed    = "CAPTCHA_USED" // The captcha was already used for a stored submission.
)

// Proofs records which captchas a visit has solved, because a captcha service verifies each token only once.
type Proofs struct {
	Signer Signer
	Visit  *Visit
	Values url.Values // The values of the page, including the proofs.

	checked map[string]bool // True if this request solved the captcha, by block.
	proven  map[string]bool // Set by Solved.
}

const maxProofs = 100

// Solved reports whether the visit has solved a captcha. The first call verifies all proofs and drops invalid proofs.
func (p *Proofs) Solved(block string) bool {
	if p.proven == nil {
		p.proven = map[string]bool{}
		proofs := p.Values[input.Proof]
		p.Values[input.Proof] = slices.DeleteFunc(proofs[:min(len(proofs), maxProofs)], func(token string) bool {
			var proof string
			good := p.Signer.Open(PurposeProof, token, &proof)
			p.proven[proof] = good
			return !good
		})
	}
	return p.proven[p.Visit.Key+"/"+block]
}

// Checked calls Solved and records that the submission depends on the captcha.
func (p *Proofs) Checked(block string) bool {
	solved := p.Solved(block)
	if p.checked == nil {
		p.checked = map[string]bool{}
	}
	if solved && !p.checked[block] {
		p.checked[block] = false // An earlier request solved it.
	}
	return solved
}

// AddProof records that this visit has solved a checked captcha.
func (p *Proofs) AddProof(block string) {
	proof := p.Visit.Key + "/" + block
	p.checked[block], p.proven[proof] = true, true
	p.Values.Add(input.Proof, p.Signer.Sign(PurposeProof, proof))
}

// AnyChecked reports whether a captcha was checked. The visit then allows only one submission.
func (p *Proofs) AnyChecked() bool { return len(p.checked) > 0 }

// Renew replaces the proofs after the visit has a new key. It returns false if an earlier request solved a checked
// captcha, because its proof is not valid for the new visit.
func (p *Proofs) Renew() bool {
	p.Values.Del(input.Proof)
	for _, now := range p.checked {
		if !now {
			return false
		}
	}
	for block := range p.checked {
		p.AddProof(block)
	}
	return true
}

// UsedViolations returns violations for the checked captchas if they were already used for a stored submission.
func (p *Proofs) UsedViolations() (violations []schema.Violation) {
	for _, block := range slices.Sorted(maps.Keys(p.checked)) {
		violations = append(violations, schema.Violation{Field: block, Code: CodeUsed})
	}
	return violations
}
