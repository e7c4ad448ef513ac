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
	"github.com/formsvc/formsvc/handler/formpage/internal/formdata"
	"github.com/formsvc/formsvc/handler/formpage/internal/formstep"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/pagestate"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// codeDuplicate is the code that pages use for a duplicate answer.
const codeDuplicate = "KNOWN"

var (
	errLimited  = errors.New("the rate limit of the address is exceeded")
	errPanicked = errors.New("a function of the host panicked")
)

func (c *call) stepViolations(blocks []schema.Block) []schema.Violation {
	answers := maps.Clone(c.parsed.Answers)
	maps.Copy(answers, c.hostAnswers())
	return formstep.Violations(blocks, c.Path, answers)
}

// checkCaptchas checks the captchas in blocks. It checks each once per visit, because a token is valid only once.
func (c *call) checkCaptchas(blocks []schema.Block) (violations []schema.Violation, err error) {
	for b, hidden := range formblock.Walk(blocks) {
		w := c.Host.CaptchaWidget(b)
		if w == nil || hidden || c.proofs.CheckSolved(b.ID) {
			continue
		}
		ok := false
		if token := c.Values.Get(w.Input); token != "" && len(token) <= 8192 {
			c.Values[w.Input] = c.Values[w.Input][1:] // the next token belongs to the next captcha
			if !c.takeTokenOnce() {
				return nil, errLimited
			}
			v := c.h.config.Verifiers[formblock.Properties(b).CaptchaType]
			if ok, err = v.Verify(c.r.Context(), token, c.h.clientIP(c.r)); err != nil {
				return nil, errors.New("captcha: " + err.Error()) // hides the error's type, because it could look like an error from Submit
			}
		}
		if !ok {
			c.Values.Del(w.Input) // check only one invalid token per request
			violations = append(violations, schema.Violation{Field: b.ID, Code: pagestate.CodeCaptcha})
			continue
		}
		c.proofs.AddProof(b.ID)
	}
	return violations, nil
}

// checkAndSubmit checks all captchas on the path and stores the submission. It does not rely on checks made for earlier
// pages, because a client can post just the last page. For a preview, it checks all answers and stores nothing.
func (c *call) checkAndSubmit() (err error) {
	violations, err := c.checkCaptchas(c.OnPath)
	if c.Preview != nil {
		violations = append(c.stepViolations(c.OnPath), violations...)
	}
	switch {
	case err != nil:
		return err
	case len(violations) > 0:
		return &schema.Error{Violations: violations}
	case c.Preview != nil:
		return nil
	case !c.takeTokenOnce():
		return errLimited
	case c.edit != nil:
		return c.saveEdit()
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
	key := c.visit.Key // the files belong to this visit, but submitWithNewKey may start a new visit
	err = errPanicked  // unless submitWithNewKey returns
	defer func() {
		switch {
		case len(kept) == 0 || err != nil && c.submitted:
		case err == nil: // the files are part of the submission
			c.h.resetVisitUsage(key)
		case isClosedError(err) || len(c.submitViolations(err)) > 0 || c.isNotStored(errors.Join(err, c.nextErr)):
			release()
		}
	}()
	err = c.submitWithNewKey(c.newSubmitParams())
	return err
}

// isNotStored reports whether no submission is stored after an error. The error of a host can hide that the connection
// was lost during its commit, so isNotStored asks the service for the submission.
func (c *call) isNotStored(err error) bool {
	if errors.Is(err, formsvc.ErrOutcomeUnknown) || errors.Is(err, formsvc.ErrUnavailable) {
		return false
	}
	// Submit returns the submission with this key, or refuses the invalid respondent and stores nothing.
	_, err = c.h.service.Submit(context.WithoutCancel(c.r.Context()), formsvc.SubmitParams{FormID: c.Form.ID, IdempotencyKey: c.idempotencyKey(), Respondent: "\x00"})
	_, refused := errors.AsType[*formsvc.Error](err)
	return refused || isClosedError(err)
}

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

func isClosedError(err error) bool {
	return errors.Is(err, formsvc.ErrClosed) || errors.Is(err, storage.ErrNotFound)
}

// submitWithNewKey submits the answers. With a captcha, a visit can store only one submission, because its key is the
// idempotency key. For other answers, it starts a new visit, provided that this request has solved all captchas.
func (c *call) submitWithNewKey(r formsvc.SubmitParams) error {
	err := c.submitOnce(r)
	if !errors.Is(err, formsvc.ErrIdempotencyKeyReused) {
		return err
	}
	c.visit.Key = rand.Text()
	c.Values.Set(input.State, c.visitToken())
	if !c.proofs.RenewProofs() {
		return err
	}
	r.IdempotencyKey = c.visit.Key
	return c.submitOnce(r)
}

// serviceError marks errors from the service, to distinguish them from other errors that [Config.Submit] returns.
type serviceError struct{ error }

func (e serviceError) Unwrap() error { return e.error }

func (c *call) submitOnce(r formsvc.SubmitParams) error {
	next := func(ctx context.Context, r formsvc.SubmitParams) (formsvc.Submission, error) {
		submission, err := c.h.service.Submit(ctx, r)
		if err != nil {
			c.nextErr = err
			return submission, serviceError{err}
		}
		c.setSubmitted(&submission)
		return submission, nil
	}
	submit := c.h.config.Submit
	if submit == nil {
		_, err := next(c.r.Context(), r)
		return err
	}
	submission, err := submit(c.r.Context(), r, next)
	if err == nil && !submission.ID.IsZero() {
		c.setSubmitted(&submission) // the host can store the submission without next
	}
	_, ofService := errors.AsType[serviceError](err)
	c.Verbatim = !ofService
	return err
}

// setSubmitted sets the submission that the ending shows.
func (c *call) setSubmitted(s *formsvc.Submission) {
	c.submitted, c.stored, c.insertions = true, s.ID, insertions{}
	if s.Answers != nil {
		c.Path.Answers, c.Path.Ending = s.Answers, s.Ending
	}
}

func (c *call) newSubmitParams() formsvc.SubmitParams {
	return formsvc.SubmitParams{
		FormID: c.Form.ID, Answers: c.parsed.Answers, HostAnswers: c.hostAnswers(), Hidden: c.parsed.Hidden, LegalTexts: c.legalTexts,
		IdempotencyKey: c.idempotencyKey(), StrictIdempotency: c.proofs.AnyChecked(), Partial: c.partial.Token, Respondent: c.respondent,
		Metadata: c.newMetadata(), Language: c.Words.Tag, CompletionTime: c.elapsedSeconds(),
	}
}

func (c *call) newMetadata() formsvc.Metadata {
	m := formsvc.Metadata{UserAgent: formdata.CleanText(c.r.UserAgent()), Device: "desktop", UTM: map[string]string{}}
	if strings.Contains(c.r.UserAgent(), "Mobi") {
		m.Device = "mobile"
	}
	if c.h.config.Country != nil {
		m.Country = formdata.CleanText(c.h.config.Country(c.r))
	}
	if utm := c.Form.Settings.UTM; utm != nil { // the form selects the parameters to store
		for name, wanted := range map[string]bool{
			"campaign": utm.Campaign, "content": utm.Content, "medium": utm.Medium, "source": utm.Source, "term": utm.Term,
		} {
			if text := formdata.CleanText(c.Values.Get(input.UTM + name)); wanted && text != "" {
				m.UTM[name] = text
			}
		}
	}
	return m
}

func (c *call) elapsedSeconds() float64 {
	age := max(0, c.visit.Age(c.now).Round(time.Second/10).Seconds())
	if took, err := strconv.ParseFloat(c.Values.Get(input.Seconds), 64); err == nil && took > 0 && took < age {
		age = took
	}
	return c.visit.PreviousSeconds + age
}

// idempotencyKey returns the same key for the same answers in a visit, so that a second click finds the stored
// submission. Changed answers result in another key. With a captcha, the visit's key is used, see submitWithNewKey.
func (c *call) idempotencyKey() string {
	if c.proofs.AnyChecked() {
		return c.visit.Key
	}
	sum := sha256.New()
	encoder := json.NewEncoder(sum)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode([]any{c.parsed.Answers, c.fileAnswers(), c.parsed.Hidden}); err != nil {
		return c.visit.Key // cannot happen, because the answers are valid JSON
	}
	return c.visit.Key + "." + base64.RawURLEncoding.EncodeToString(sum.Sum(nil))
}
