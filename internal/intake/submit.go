package intake

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"reflect"
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
	cached = cached && form.committed && !i.inHostTransaction // the form can be different in a host's transaction
	for range core.MaxConflictRetries {
		if !cached {
			var err error
			if _, form, err = i.Form(ctx, r.FormID); err != nil {
				return storage.Submission{}, err
			}
		}
		n, refused := i.newSubmission(form, r)
		if refused == nil {
			stored, replayed, err := i.storeSubmission(ctx, n)
			if !errors.Is(err, storage.ErrRevisionMismatch) {
				if replayed && r.OneContent && !sameContent(stored, n.Submission.Answers, n.Submission.Hidden) {
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
	if err == nil && r.OneContent {
		in := r.Input
		in.Now = stored.SubmittedAt // as when it was checked first
		checked, faulty := form.answers.Check(in)
		if faulty != nil || !sameContent(stored, checked.List, checked.Hidden) {
			return storage.Submission{}, refused
		}
	}
	return stored, err
}

// sameContent reports whether a stored submission has the same answers and hidden fields. It ignores differences in
// whitespace and escapes, because a store can change both.
func sameContent(stored storage.Submission, list, hidden json.RawMessage) bool {
	return reflect.DeepEqual(decodeJSON(stored.Answers), decodeJSON(list)) && reflect.DeepEqual(decodeJSON(stored.Hidden), decodeJSON(hidden))
}

func decodeJSON(raw json.RawMessage) (v any) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	_ = d.Decode(&v) // written by this package
	return v
}

func (i Intake) newSubmission(form *CompiledForm, r *SubmitParams) (storage.NewSubmission, error) {
	clock, now := i.core.Clock().UTC(), i.core.Now()
	imported := !r.SubmittedAt.IsZero()
	var badTime error
	if imported {
		if r.SubmittedAt.After(clock) {
			badTime = violation.New("/submitted_at", schema.CodeOutOfRange, "must not be in the future")
		}
		now = r.SubmittedAt.UTC().Truncate(time.Second)
		if now.IsZero() || now.Year() < 1 || now.Year() > 9999 {
			badTime = violation.New("/submitted_at", schema.CodeOutOfRange, "must be a time in the years 1 to 9999")
		}
		clock = now
	}
	switch {
	case form.Status != storage.StatusPublished:
		return storage.NewSubmission{}, errDraft
	case form.Acceptance.IsClosed(false, clock):
		return storage.NewSubmission{}, schema.ErrClosed
	}
	in := r.Input
	in.Now = now
	checked, err := form.answers.Check(in)
	if err := violation.Join(err, badTime, checkMetadata(r.Metadata), checkSeconds("/completion_time", r.CompletionTime), checkIdempotencyKey(r.IdempotencyKey)); err != nil {
		return storage.NewSubmission{}, err
	}
	submission := storage.Submission{
		ID:             i.core.NewID(i.core.Now()),
		FormID:         r.FormID,
		SubmittedAt:    now,
		CompletionTime: r.CompletionTime,
		Answers:        checked.List,
		Metadata:       encodeMetadata(r.Metadata),
		Hidden:         checked.Hidden,
	}
	n := storage.NewSubmission{
		Submission:     submission,
		FormRevision:   form.Revision,
		UniqueAnswer:   checked.Unique,
		UniqueField:    storage.UniqueField{Block: form.Acceptance.Unique.Block, Rules: answers.IdentityRules},
		IdempotencyKey: r.IdempotencyKey,
	}
	if r.Partial != "" {
		n.Partial = hashToken(r.Partial)
	}
	if !imported || r.Deliver {
		event := i.core.NewID(i.core.Now())
		n.Event = storage.Event{ID: event, Type: eventResponseCompleted, Body: encodeEvent(event, submission, checked)}
	}
	return n, nil
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
