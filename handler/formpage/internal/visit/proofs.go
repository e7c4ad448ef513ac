package visit

import (
	"maps"
	"net/url"
	"slices"

	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/schema"
)

// The page's own codes for captchas.
const (
	CodeCaptcha = "CAPTCHA"      // it is not solved
	CodeUsed    = "CAPTCHA_USED" // it was solved for a response that is stored
)

// Proofs say which captchas a visit has solved. A captcha that was solved stays solved
// for the visit, because its token is good for one question to the captcha's service only.
type Proofs struct {
	Signer Signer
	Visit  *Visit
	Values url.Values // of the page, which carries the proofs

	checked map[string]bool // the captchas that were checked, and whether this request solved them
	proven  map[string]bool // see Solved
}

// maxProofs is how many proofs of a page are looked at.
const maxProofs = 100

// Solved reports whether the visit has a proof for a captcha. The proofs of a page are opened
// once, however many captchas there are, and texts that are no proofs are dropped.
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

// Checked is Solved for a captcha that is checked now, which the visit then depends on.
func (p *Proofs) Checked(block string) bool {
	solved := p.Solved(block)
	if p.checked == nil {
		p.checked = map[string]bool{}
	}
	if solved && !p.checked[block] {
		p.checked[block] = false // by an earlier request
	}
	return solved
}

// AddProof puts it into the page that this visit has solved a captcha, which was checked.
func (p *Proofs) AddProof(block string) {
	proof := p.Visit.Key + "/" + block
	p.checked[block], p.proven[proof] = true, true
	p.Values.Add(input.Proof, p.Signer.Sign(PurposeProof, proof))
}

// AnyChecked reports whether a captcha was checked: the visit is good for one response then.
func (p *Proofs) AnyChecked() bool { return len(p.checked) > 0 }

// Renew drops the proofs, for a visit with a new key. It reports whether the captchas are
// proved in that as well, because this request has solved them all.
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

// UsedViolations are the faults of captchas that were solved for a response which is stored.
func (p *Proofs) UsedViolations() (faults []schema.Violation) {
	for _, block := range slices.Sorted(maps.Keys(p.checked)) {
		faults = append(faults, schema.Violation{Field: block, Code: CodeUsed})
	}
	return faults
}
