package intake

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/formsvc/formsvc/internal/answers"
	"github.com/formsvc/formsvc/internal/core"
	"github.com/formsvc/formsvc/internal/timeout"
	"github.com/formsvc/formsvc/internal/violation"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// Submit checks a submission and stores it in one transaction with its side effects.
func (i Intake) Submit(ctx context.Context, r *SubmitParams) (storage.Submission, error) {
	ctx = timeout.WithBudget(ctx)
	form, cached := i.forms.Get(r.FormID)
	// The form can be different in a host's transaction, and a form that asks the host needs its current workspace.
	cached = cached && form.committed && !i.inHostTransaction && !form.answers.AsksHost()
	for range core.MaxConflictRetries {
		if !cached {
			var err error
			if _, form, err = i.Form(ctx, r.FormID); err != nil {
				return storage.Submission{}, err
			}
		}
		n, refused := i.newSubmission(ctx, form, r)
		if refused == nil {
			stored, replayed, err := i.storeSubmission(ctx, n)
			if !errors.Is(err, storage.ErrRevisionMismatch) {
				if replayed && r.OneContent && !form.isSameAs(stored, r.Input) {
					return storage.Submission{}, schema.ErrIdempotencyKeyReused
				}
				if errors.Is(err, storage.ErrLimitReached) {
					err = schema.ErrClosed
				}
				return stored, err
			}
		} else if !cached {
			return i.replayByKey(ctx, form, r, refused)
		}
		// The cached form can be outdated, and the current form may accept the submission. The storage rejects
		// submissions that were checked against an old revision.
		cached = false
	}
	return storage.Submission{}, storage.ErrUnavailable
}

// storeSubmission stores a submission and dispatches its deliveries. In a host's transaction it does not dispatch them,
// because the host commits the submission later.
func (i Intake) storeSubmission(ctx context.Context, n storage.NewSubmission) (storage.Submission, bool, error) {
	if err := i.core.RequireRespondent(ctx, n.Submission.Respondent); err != nil {
		return storage.Submission{}, false, err
	}
	made := func() {}
	if !i.inHostTransaction && !n.Event.ID.IsZero() {
		n.Dispatcher, made = i.startDispatch()
	}
	returned := false
	defer func() {
		// If the storage panics, release its reservation. If the storage returns because ctx ended, it can still dispatch the
		// deliveries.
		if n.Dispatcher != nil && !returned {
			n.Dispatcher.Dispatch(nil, false)
		}
	}()
	stored, replayed, err := i.core.Storage.Submit(ctx, n)
	returned = true
	if err == nil && !replayed {
		made()
		i.core.WarnIfNotDispatched(ctx)
	}
	return stored, replayed, err
}

// replayByKey returns the submission that was first stored with the idempotency key. If there is no such submission, it
// returns the error in refused.
func (i Intake) replayByKey(ctx context.Context, form *CompiledForm, r *SubmitParams, refused error) (storage.Submission, error) {
	if r.IdempotencyKey == "" || checkIdempotencyKey(r.IdempotencyKey) != nil {
		return storage.Submission{}, refused
	}
	stored, err := i.core.Storage.SubmissionByKey(ctx, r.FormID, r.IdempotencyKey)
	if errors.Is(err, storage.ErrNotFound) {
		return storage.Submission{}, refused
	}
	if err == nil && r.OneContent && !form.isSameAs(stored, r.Input) {
		return storage.Submission{}, refused
	}
	return stored, err
}

// isSameAs reports whether a stored submission has the same answers and hidden fields. It checks the input as when it
// was checked first: at that time, and with the labels that the host's lists had. It ignores differences in whitespace
// and escapes, because a store can change both.
func (k *CompiledForm) isSameAs(stored storage.Submission, in Input) bool {
	list, err := schema.DecodeAnswers(stored.Answers)
	if err != nil {
		return false
	}
	in.Now, in.Labels = stored.SubmittedAt, map[string]map[string]string{}
	for _, a := range list {
		picks, _ := a.Value.(schema.Picks)
		for _, p := range picks {
			if in.Labels[a.ID] == nil {
				in.Labels[a.ID] = map[string]string{}
			}
			in.Labels[a.ID][p.ID] = p.Label
		}
	}
	checked, err := k.answers.Check(in)
	return err == nil && reflect.DeepEqual(decodeJSON(stored.Answers), decodeJSON(checked.List)) && reflect.DeepEqual(decodeJSON(stored.Hidden), decodeJSON(checked.Hidden))
}

func decodeJSON(raw json.RawMessage) (v any) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	_ = d.Decode(&v) // written by this package
	return v
}

func (i Intake) newSubmission(ctx context.Context, form *CompiledForm, r *SubmitParams) (storage.NewSubmission, error) {
	clock, now := i.core.Clock().UTC(), i.core.Now()
	imported := !r.SubmittedAt.IsZero()
	var badTime error
	if imported {
		now = r.SubmittedAt.UTC().Truncate(time.Second)
		badTime = checkSubmittedAt(r.SubmittedAt, clock)
		clock = now
	}
	switch {
	case form.Status != storage.StatusPublished:
		return storage.NewSubmission{}, ErrDraft
	case form.Acceptance.IsClosed(false, clock):
		return storage.NewSubmission{}, schema.ErrClosed
	}
	respondent := form.knownRespondent(r.Respondent)
	one := form.Settings.OnePerRespondent && !form.Settings.Anonymous
	badRespondent := core.CheckRespondent(r.Respondent)
	if one && respondent == "" {
		badRespondent = violation.New("/respondent", schema.CodeRequired, "is required, because the form accepts one submission per respondent")
	}
	in := r.Input
	in.Now = now
	checked, err := form.answers.Check(in)
	if err := violation.Join(err, badTime, badRespondent, checkMetadata(r.Metadata), checkLanguage(r.Language), checkSeconds("/completion_time", r.CompletionTime), checkIdempotencyKey(r.IdempotencyKey)); err != nil {
		return storage.NewSubmission{}, err
	}
	if form.answers.AsksHost() {
		if checked, err = form.checkWithHost(ctx, in, r.Respondent, checked); err != nil {
			return storage.NewSubmission{}, err
		}
	}
	submission := storage.Submission{
		ID:             i.core.NewID(i.core.Now()),
		FormID:         r.FormID,
		SubmittedAt:    now,
		CompletionTime: r.CompletionTime,
		Answers:        checked.List,
		Metadata:       form.encodeMetadata(r.Metadata),
		Hidden:         checked.Hidden,
		Respondent:     respondent,
		Ending:         checked.Ending,
	}
	n := storage.NewSubmission{
		Submission:     submission,
		FormRevision:   form.Revision,
		UniqueAnswer:   checked.Unique,
		UniqueField:    storage.UniqueField{Block: form.Acceptance.Unique.Block, Rules: answers.IdentityRules},
		IdempotencyKey: r.IdempotencyKey,

		OnePerRespondent: one,
	}
	if r.Partial != "" || respondent != "" {
		n.Partial = partialKey(r.FormID, r.Partial, respondent)
	}
	if !imported || r.Deliver {
		event := i.core.NewID(i.core.Now())
		n.Event = storage.Event{ID: event, Type: eventResponseCompleted, Body: i.encodeEvent(event, submission, checked), Details: form.eventDetails(r.Language)}
	}
	return n, nil
}

var languageTag = regexp.MustCompile(`^([A-Za-z0-9]{1,8}(-[A-Za-z0-9]{1,8}){0,7})?$`)

func checkLanguage(tag string) error {
	if !languageTag.MatchString(tag) {
		return violation.New("/language", schema.CodeBadFormat, "must be a language tag", "format", "language")
	}
	return nil
}

// checkSubmittedAt checks a time in the past. It refuses the first second of year 1, because the zero time means no time.
func checkSubmittedAt(at, clock time.Time) error {
	const path = "/submitted_at"
	switch {
	case at.Before(time.Time{}.Add(time.Second)):
		return violation.New(path, schema.CodeOutOfRange, "must be a time in the years 1 to 9999")
	case at.After(clock):
		return violation.New(path, schema.CodeOutOfRange, "must not be in the future")
	}
	return nil
}

func checkSeconds(path string, seconds float64) error {
	if seconds < 0 || math.IsNaN(seconds) || math.IsInf(seconds, 0) {
		return violation.New(path, schema.CodeOutOfRange, "must be a number of seconds, 0 or more", "min", json.Number("0"))
	}
	return nil
}

func checkIdempotencyKey(key string) error {
	if len(key) > 255 {
		return violation.New("/idempotency_key", schema.CodeTooLong, "must have at most 255 bytes", "limit", 255, "unit", "bytes")
	}
	if !utf8.ValidString(key) || strings.ContainsRune(key, 0) {
		return violation.New("/idempotency_key", schema.CodeBadFormat, "must be text without U+0000", "format", "text")
	}
	return nil
}
