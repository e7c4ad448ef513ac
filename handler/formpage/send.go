package formpage

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/read"
	"github.com/formsvc/formsvc/handler/formpage/internal/visit"
	"github.com/formsvc/formsvc/handler/formpage/internal/walk"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// codeDuplicate is the page's own code for an answer that must be new and is not.
const codeDuplicate = "KNOWN"

// errLimited means that the IP address has reached the rate limit.
var errLimited = errors.New("the rate limit of the address is exceeded")

// stepViolations are the faults of the answers to blocks of the path.
func (c *call) stepViolations(blocks []schema.Block) []schema.Violation {
	answers := maps.Clone(c.parsed.Answers)
	maps.Copy(answers, c.hostAnswers())
	return walk.Violations(blocks, c.Path, answers)
}

// checkCaptchas checks the captchas among blocks. One that was solved stays solved for the
// visit, because its token is good for one question to the service only.
func (c *call) checkCaptchas(blocks []schema.Block) (faults []schema.Violation, err error) {
	for b, hidden := range formblock.Walk(blocks) {
		w := c.Host.Widget(b)
		if w == nil || hidden || c.proofs.Checked(b.ID) {
			continue
		}
		ok := false
		if token := c.Values.Get(w.Input); token != "" && len(token) <= 8192 {
			c.Values[w.Input] = c.Values[w.Input][1:] // the next one is of the next captcha
			if !c.withinLimit() {
				return nil, errLimited
			}
			v := c.h.config.Verifiers[formblock.Properties(b).CaptchaType]
			if ok, err = v.Verify(c.r.Context(), token, c.h.config.ClientIP(c.r)); err != nil {
				return nil, errors.New("captcha: " + err.Error()) // it says nothing of the response, whatever it is
			}
		}
		if !ok {
			c.Values.Del(w.Input) // however many captchas there are, one wrong token is asked about
			faults = append(faults, schema.Violation{Field: b.ID, Code: visit.CodeCaptcha})
			continue
		}
		c.proofs.AddProof(b.ID)
	}
	return faults, nil
}

// checkAndSubmit stores the response, once all captchas on the path are solved: who posts the last
// page alone has not solved those before it. A preview checks all answers and stores nothing.
func (c *call) checkAndSubmit() error {
	faults, err := c.checkCaptchas(c.OnPath)
	if c.Preview != nil {
		faults = append(c.stepViolations(c.OnPath), faults...)
	}
	switch {
	case err != nil:
		return err
	case len(faults) > 0:
		return &schema.Error{Violations: faults}
	case c.Preview != nil:
		return nil
	case !c.withinLimit():
		return errLimited
	}
	var kept []string
	for b := range formblock.Walk(c.OnPath) {
		for _, file := range c.Files.ForBlock(b) {
			kept = append(kept, file.ID)
		}
	}
	release, err := c.retainFiles(kept)
	if err != nil {
		return err
	}
	key := c.visit.Key // that of the files, though store goes on in another visit
	err = c.submitAgain(c.submitParams())
	switch {
	case !c.submitted && (isClosed(err) || len(c.submitViolations(err)) > 0): // after any other error it may be stored
		release()
	case err == nil && len(kept) > 0: // the response has them
		c.h.resetVisitUsage(key)
	}
	return err
}

// submitViolations are what send refuses in a response.
func (c *call) submitViolations(err error) []schema.Violation {
	var refused *schema.Error
	switch {
	case errors.As(err, &refused):
		return refused.Violations
	case errors.Is(err, formsvc.ErrIdempotencyKeyReused):
		return c.proofs.UsedViolations()
	case errors.Is(err, storage.ErrDuplicate):
		return []schema.Violation{{Field: c.Form.Settings.DuplicateField, Code: codeDuplicate}}
	}
	return nil
}

// isClosed reports whether the form no longer accepts submissions.
func isClosed(err error) bool {
	return errors.Is(err, formsvc.ErrClosed) || errors.Is(err, storage.ErrNotFound)
}

// submitAgain submits a response. Proofs are good for one visit, and a visit with a captcha for
// one response, because its idempotency key is the visit's. Who sends another one goes on
// in a new visit, at once where this request has solved all captchas.
func (c *call) submitAgain(r formsvc.SubmitParams) error {
	err := c.submitOnce(r)
	if !errors.Is(err, formsvc.ErrIdempotencyKeyReused) {
		return err
	}
	c.visit.Key = rand.Text()
	c.Values.Set(input.State, c.visitToken())
	if !c.proofs.Renew() {
		return err
	}
	r.IdempotencyKey = c.visit.Key
	return c.submitOnce(r)
}

// serviceError marks errors of the service among the errors of [Config.Submit].
type serviceError struct{ error }

func (e serviceError) Unwrap() error { return e.error }

// submitOnce submits a response as the host wants it.
func (c *call) submitOnce(r formsvc.SubmitParams) error {
	next := func(ctx context.Context, r formsvc.SubmitParams) (formsvc.Submission, error) {
		submission, err := c.h.service.Submit(ctx, r)
		if err != nil {
			return submission, serviceError{err}
		}
		c.submitted = true
		return submission, nil
	}
	submit := c.h.config.Submit
	if submit == nil {
		_, err := next(c.r.Context(), r)
		return err
	}
	_, err := submit(c.r.Context(), r, next)
	_, ofService := errors.AsType[serviceError](err)
	c.Verbatim = !ofService
	return err
}

// submitParams is the response to submit.
func (c *call) submitParams() formsvc.SubmitParams {
	return formsvc.SubmitParams{
		FormID: c.Form.ID, Answers: c.parsed.Answers, HostAnswers: c.hostAnswers(), Hidden: c.parsed.Hidden,
		IdempotencyKey: c.idempotencyKey(), StrictIdempotency: c.proofs.AnyChecked(), Partial: c.partial.Token,
		Metadata: c.metadata(), CompletionTime: c.elapsedSeconds(),
	}
}

// metadata returns the metadata of the submission.
func (c *call) metadata() formsvc.Metadata {
	m := formsvc.Metadata{UserAgent: read.CleanText(c.r.UserAgent()), Device: "desktop", UTM: map[string]string{}}
	if strings.Contains(c.r.UserAgent(), "Mobi") {
		m.Device = "mobile"
	}
	if c.h.config.Country != nil {
		m.Country = read.CleanText(c.h.config.Country(c.r))
	}
	if utm := c.Form.Settings.UTM; utm != nil { // the form says which ones it records
		for name, wanted := range map[string]bool{
			"campaign": utm.Campaign, "content": utm.Content, "medium": utm.Medium, "source": utm.Source, "term": utm.Term,
		} {
			if text := read.CleanText(c.Values.Get(input.UTM + name)); wanted && text != "" {
				m.UTM[name] = text
			}
		}
	}
	return m
}

// elapsedSeconds is how long the respondent has taken.
func (c *call) elapsedSeconds() float64 {
	age := max(0, c.visit.Age(c.now).Round(time.Second/10).Seconds())
	if took, err := strconv.ParseFloat(c.Values.Get(input.Seconds), 64); err == nil && took > 0 && took < age {
		age = took
	}
	return c.visit.Before + age
}

// idempotencyKey is the same for the same answers of one visit. A second click finds the
// first response; who goes back and sends something else is not told that it is stored
// while the first one is. With a captcha the visit is good for one response, see store.
func (c *call) idempotencyKey() string {
	if c.proofs.AnyChecked() {
		return c.visit.Key
	}
	sum := sha256.New()
	encoder := json.NewEncoder(sum)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode([]any{c.parsed.Answers, c.fileAnswers(), c.parsed.Hidden}); err != nil {
		return c.visit.Key // the answers are JSON that was written or read here
	}
	return c.visit.Key + "." + base64.RawURLEncoding.EncodeToString(sum.Sum(nil))
}
