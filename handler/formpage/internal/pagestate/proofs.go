package pagestate

import (
	"maps"
	"net/url"
	"slices"

	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/schema"
)

// A page's error codes for captchas.
const (
	CodeCaptcha = "CAPTCHA"      // The captcha is not solved.
	CodeUsed    = "CAPTCHA_USED" // The captcha was already used for a stored submission.
)

// Proofs records which captchas a visit has solved, because a CAPTCHA service verifies each token only once.
type Proofs struct {
	Signer Signer
	Visit  *Visit
	Values url.Values // The page's values, including the proofs.

	checked map[string]bool // By block. True if this request solved the captcha.
	proven  map[string]bool // Set by Solved.
}

const maxProofs = 100

// Solved reports whether the visit has solved a captcha. The first call verifies all proofs and drops invalid ones.
func (p *Proofs) Solved(block string) bool {
	if p.proven == nil {
		p.proven = map[string]bool{}
		proofs := p.Values[input.Proof]
		p.Values[input.Proof] = slices.DeleteFunc(proofs[:min(len(proofs), maxProofs)], func(token string) bool {
			var proof string
			good := p.Signer.OpenToken(PurposeProof, token, &proof)
			p.proven[proof] = good
			return !good
		})
	}
	return p.proven[p.Visit.Key+"/"+block]
}

// CheckSolved calls Solved and records that the submission depends on the captcha.
func (p *Proofs) CheckSolved(block string) bool {
	solved := p.Solved(block)
	if p.checked == nil {
		p.checked = map[string]bool{}
	}
	if solved && !p.checked[block] {
		p.checked[block] = false // An earlier request solved it.
	}
	return solved
}

// AddProof records that this visit has solved a captcha that was checked.
func (p *Proofs) AddProof(block string) {
	proof := p.Visit.Key + "/" + block
	p.checked[block], p.proven[proof] = true, true
	p.Values.Add(input.Proof, p.Signer.Sign(PurposeProof, proof))
}

// AnyChecked reports whether any captcha was checked. If so, the visit allows only one submission.
func (p *Proofs) AnyChecked() bool { return len(p.checked) > 0 }

// RenewProofs replaces the proofs after the visit's key has changed. It returns false if an earlier request solved one
// of the checked captchas, because that proof is not valid for the new visit.
func (p *Proofs) RenewProofs() bool {
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

// UsedViolations returns a violation for each checked captcha. All of them were already used for a stored submission.
func (p *Proofs) UsedViolations() (violations []schema.Violation) {
	for _, block := range slices.Sorted(maps.Keys(p.checked)) {
		violations = append(violations, schema.Violation{Field: block, Code: CodeUsed})
	}
	return violations
}
