package formpage

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage/internal/fault"
	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/visit"
	"github.com/formsvc/formsvc/schema"
)

// Verifier asks a captcha service whether a person solved its challenge. It must be
// safe for concurrent use. [Turnstile], [HCaptcha] and [ReCAPTCHA] return those of three
// services.
type Verifier interface {
	// Widget returns what the page shows.
	Widget() Widget
	// Verify reports whether a token of the widget is good. An error means that the
	// service could not be asked: the response is not stored then, and the page comes
	// back. Address is what [Config.Address] returns, "" without it.
	Verify(ctx context.Context, token, address string) (bool, error)
}

// Widget is how a captcha service's challenge gets into the page.
type Widget struct {
	Script  string // address of the script, https
	Class   string // class of the element that the script fills
	SiteKey string // its data-sitekey
	Input   string // name of the input that the script adds, with the token
	// Sources are what the policy must allow for the script, as sources of a
	// Content-Security-Policy: scripts, frames, connections and styles.
	Sources []string
}

// CaptchaKeys are what a captcha service gives the owner of a site. They print without the
// Secret, also in logs and as JSON.
type CaptchaKeys struct {
	SiteKey string // public
	Secret  string
	// Endpoint is where tokens are verified. Default: the service's own; others are for
	// tests and proxies.
	Endpoint string
	// Client makes the request. Default: one with a time-out of 5 s.
	Client *http.Client
}

// Turnstile returns the verifier of Cloudflare Turnstile, for blocks of the captchaType
// turnstile.
func Turnstile(keys CaptchaKeys) Verifier {
	return newSiteVerifier(keys, "https://challenges.cloudflare.com/turnstile/v0/siteverify", Widget{
		Script: "https://challenges.cloudflare.com/turnstile/v0/api.js", Class: "cf-turnstile", Input: "cf-turnstile-response",
		Sources: []string{"https://challenges.cloudflare.com"},
	})
}

// HCaptcha returns the verifier of hCaptcha, for blocks of the captchaType hcaptcha.
func HCaptcha(keys CaptchaKeys) Verifier {
	return newSiteVerifier(keys, "https://api.hcaptcha.com/siteverify", Widget{
		Script: "https://js.hcaptcha.com/1/api.js", Class: "h-captcha", Input: "h-captcha-response",
		Sources: []string{"https://hcaptcha.com", "https://*.hcaptcha.com"},
	})
}

// ReCAPTCHA returns the verifier of reCAPTCHA v2, for blocks of the captchaType
// recaptcha.
func ReCAPTCHA(keys CaptchaKeys) Verifier {
	return newSiteVerifier(keys, "https://www.google.com/recaptcha/api/siteverify", Widget{
		Script: "https://www.google.com/recaptcha/api.js", Class: "g-recaptcha", Input: "g-recaptcha-response",
		Sources: []string{"https://www.google.com/recaptcha/", "https://www.gstatic.com/recaptcha/", "https://recaptcha.google.com/recaptcha/"},
	})
}

// siteVerifier speaks the protocol that the three services share: a POST of secret,
// response and remoteip, answered with JSON whose success is true or false.
type siteVerifier struct {
	keys   CaptchaKeys
	widget Widget
}

func newSiteVerifier(keys CaptchaKeys, endpoint string, w Widget) Verifier {
	w.SiteKey = keys.SiteKey
	keys.Endpoint = cmp.Or(keys.Endpoint, endpoint)
	keys.Client = cmp.Or(keys.Client, &http.Client{Timeout: 5 * time.Second})
	return siteVerifier{keys, w}
}

func (v siteVerifier) Widget() Widget { return v.widget }

func (v siteVerifier) Verify(ctx context.Context, token, address string) (bool, error) {
	form := url.Values{"secret": {v.keys.Secret}, "response": {token}, "sitekey": {v.keys.SiteKey}}
	if address != "" {
		form.Set("remoteip", address)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, v.keys.Endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return false, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := v.keys.Client.Do(r)
	if err != nil {
		return false, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode >= http.StatusInternalServerError {
		return false, fmt.Errorf("the captcha service answered with status %d", response.StatusCode)
	}
	var answer struct {
		Success bool     `json:"success"`
		Errors  []string `json:"error-codes"`
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, 64<<10)).Decode(&answer); err != nil {
		return false, err
	}
	for _, code := range answer.Errors {
		// These are the host's mistakes, not the visitor's.
		if strings.HasSuffix(code, "-secret") || strings.Contains(code, "sitekey") {
			return false, errors.New("the captcha service refused the keys: " + code)
		}
	}
	return answer.Success, nil
}

// verifier returns what checks a captcha block, nil when the host gave none.
func (h *Handler) verifier(b *schema.Block) Verifier {
	if b.Type != schema.TypeCaptcha || formblock.Properties(b).Hide {
		return nil
	}
	return h.config.Verifiers[formblock.Properties(b).CaptchaType]
}

// errLimited: the address has asked for too much.
var errLimited = errors.New("the limit of the address is reached")

// captcha checks the captchas among blocks. One that was solved stays solved for the
// visit, because its token is good for one question to the service only.
func (c *call) captcha(blocks []schema.Block) (faults []schema.Violation, err error) {
	for b, hidden := range formblock.Walk(blocks) {
		v := c.h.verifier(b)
		if v == nil || hidden {
			continue
		}
		if c.solved(b) {
			if !c.proofs[b.ID] {
				c.proofs[b.ID] = false // by an earlier request
			}
			continue
		}
		ok, name := false, v.Widget().Input
		if token := c.values.Get(name); token != "" && len(token) <= 8192 {
			c.values[name] = c.values[name][1:] // the next one is of the next captcha
			if !c.allowed() {
				return nil, errLimited
			}
			if ok, err = v.Verify(c.r.Context(), token, c.h.address(c.r)); err != nil {
				return nil, errors.New("captcha: " + err.Error()) // it says nothing of the response, whatever it is
			}
		}
		if !ok {
			c.values.Del(name) // however many captchas there are, one wrong token is asked about
			faults = append(faults, schema.Violation{Field: b.ID, Code: fault.Captcha})
			continue
		}
		c.prove(b.ID)
	}
	return faults, nil
}

// prove puts it into the page that this visit has solved a captcha.
func (c *call) prove(block string) {
	proof := c.visit.Key + "/" + block
	c.proofs[block], c.proven[proof] = true, true
	c.values.Add(input.Proof, c.h.signer.Sign(visit.PurposeProof, proof))
}

// store submits a response. Proofs are good for one visit, and a visit with a captcha for
// one response, because its idempotency key is the visit's. Who sends another one goes on
// in a new visit, at once where this request has solved all captchas.
func (c *call) store(r formsvc.Response) error {
	_, err := c.h.service.Submit(c.r.Context(), r)
	if !errors.Is(err, formsvc.ErrKeyUsed) {
		return err
	}
	c.visit.Key = rand.Text()
	c.values.Set(input.State, c.token())
	c.values.Del(input.Proof)
	for _, now := range c.proofs {
		if !now {
			return err
		}
	}
	for block := range c.proofs {
		c.prove(block)
	}
	r.IdempotencyKey = c.visit.Key
	_, err = c.h.service.Submit(c.r.Context(), r)
	return err
}

// spent are the faults of captchas that were solved for a response which is stored.
func (c *call) spent() (faults []schema.Violation) {
	for _, block := range slices.Sorted(maps.Keys(c.proofs)) {
		faults = append(faults, schema.Violation{Field: block, Code: fault.CaptchaUsed})
	}
	return faults
}

// maxProofs is how many proofs of a page are looked at.
const maxProofs = 100

// solved reports whether the visit has a proof for a captcha. The proofs of a page are opened
// once, however many captchas there are, and those that are none are dropped.
func (c *call) solved(b *schema.Block) bool {
	if c.proven == nil {
		c.proven = map[string]bool{}
		proofs := c.values[input.Proof]
		c.values[input.Proof] = slices.DeleteFunc(proofs[:min(len(proofs), maxProofs)], func(token string) bool {
			var proof string
			good := c.h.signer.Open(visit.PurposeProof, token, &proof)
			c.proven[proof] = good
			return !good
		})
	}
	return c.proven[c.visit.Key+"/"+b.ID]
}

// drawCaptcha shows the challenge of a block, or nothing when it is solved or the host
// has no verifier for it. A page never pretends: what is not verified is not shown.
func (b *builder) drawCaptcha(f *field, block *schema.Block) {
	f.write = nil
	w := b.c.h.host.Widget(block)
	if w == nil || b.c.solved(block) {
		return
	}
	f.write, f.Widget = (*writer).captcha, w
	if f.Label == "" {
		f.Label = b.c.words.Get("captcha.label")
	}
	b.fault(f, block)
}
