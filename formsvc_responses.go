package formsvc

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
	"github.com/formsvc/formsvc/internal/faults"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// Response is what a respondent submits.
type Response struct {
	FormID ID
	// Answers come from the respondent, by block id. Package schema has their
	// shapes; what is left out is unanswered.
	Answers map[string]json.RawMessage
	// HostAnswers come from the host, by block id: payment, file_upload, signature and
	// any block with properties.hide. Only the host may say these, or respondents forge
	// them.
	HostAnswers map[string]json.RawMessage
	// Hidden are the hidden fields, of at most 10,000 characters each. Control characters
	// are refused. Names that the form does not declare are dropped.
	Hidden   map[string]string
	Metadata Metadata
	// CompletionTime is how long the respondent took, in seconds.
	CompletionTime float64
	// IdempotencyKey names this attempt within the form: a repeated Submit returns
	// the first result, whatever its content. Empty: none. At most 255 bytes.
	IdempotencyKey string
	// OneContent says that the IdempotencyKey stands for this content: a repeated Submit
	// whose answers or hidden fields would be stored as others is [ErrKeyUsed].
	OneContent bool
	// SubmittedAt says when a response was submitted that the host imports from
	// elsewhere, in whole seconds. A time to come is refused. Zero: it is submitted now.
	SubmittedAt time.Time
	// Deliver queues an event for an imported response too. It is as old as its import:
	// webhooks.Config.MaxAge counts from then. It has no meaning while SubmittedAt is
	// zero.
	Deliver bool
}

// Metadata is what is known about where a response came from. Control characters are
// refused; values that are longer than 1,000 characters are cut. Of UTM the keys campaign, content, medium,
// source and term are kept.
type Metadata struct {
	Country, Device, UserAgent string
	UTM                        map[string]string
}

// Submit checks a response and stores it, in one atomic step with the funnel
// count, the response limit, the duplicate check, and one queued delivery for
// each enabled webhook of the form. The form must be published and settings.closed
// off.
//
// Errors: an [*Error] that lists every fault; [ErrNotFound] when the form
// does not exist, is a draft or is in the trash; [ErrClosed] when it takes no
// more responses; [ErrDuplicate] when the answer to settings.duplicateField is
// not new; [ErrKeyUsed], see Response.OneContent. After [ErrOutcomeUnknown] the
// response may or may not be stored: repeat the call with the same IdempotencyKey.
//
// With SubmittedAt, the host imports a response from before: it is checked against the
// form as it is now, takes its place in lists, in the metrics of its time, against the
// response limit and among the duplicates, and queues no event unless Deliver says so.
// Whether the form is closed by settings.closeAt is judged at that time. In all else an
// import is a response like any other: a draft is [ErrNotFound], and settings.closed or a
// limit that is reached is [ErrClosed]. So import first, and close the form afterwards.
func (s *Service) Submit(ctx context.Context, r Response) (Submission, error) {
	form, fresh, err := s.formForSubmit(ctx, r.FormID)
	for range core.MaxRaces {
		if err != nil {
			return Submission{}, err
		}
		n, refused := s.newSubmission(form, r)
		if refused == nil {
			// A dispatcher that runs here sends what is stored here. In the host's
			// transaction nothing is stored before the host commits.
			made := func() {}
			if !s.borrowed && !n.Event.ID.IsZero() {
				n.HandOver, made = s.handOver()
			}
			stored, replayed, err := s.storage.Submit(ctx, n)
			if !errors.Is(err, storage.ErrRevisionMismatch) {
				if err == nil && !replayed {
					made()
				}
				if replayed && r.OneContent && !sameContent(stored, n.Submission.Answers, n.Submission.Hidden) {
					return Submission{}, ErrKeyUsed
				}
				return stored, submitError(err)
			}
		} else if fresh {
			return s.replay(ctx, form, r, refused)
		}
		// The cached form may be stale: what it refuses, the current one may accept.
		form, err = s.readForm(ctx, r.FormID)
		fresh = true
	}
	return Submission{}, storage.ErrUnavailable
}

func submitError(err error) error {
	if errors.Is(err, storage.ErrLimitReached) {
		return ErrClosed
	}
	return err
}

// replay returns the first result of an idempotency key, else the refusal.
func (s *Service) replay(ctx context.Context, form *knownForm, r Response, refused error) (Submission, error) {
	if r.IdempotencyKey == "" || checkIdempotencyKey(r.IdempotencyKey) != nil {
		return Submission{}, refused
	}
	stored, err := s.storage.SubmissionByKey(ctx, r.FormID, r.IdempotencyKey)
	if errors.Is(err, storage.ErrNotFound) {
		return Submission{}, refused
	}
	if err == nil && r.OneContent {
		checked, faulty := form.answers.Check(input(r))
		if faulty != nil || !sameContent(stored, checked.List, checked.Hidden) {
			return Submission{}, refused
		}
	}
	return stored, err
}

// sameContent reports whether a stored response has these answers and hidden fields. A
// store may change white space and escapes, and nothing else.
func sameContent(stored Submission, list, hidden json.RawMessage) bool {
	return reflect.DeepEqual(decoded(stored.Answers), decoded(list)) && reflect.DeepEqual(decoded(stored.Hidden), decoded(hidden))
}

func decoded(raw json.RawMessage) (v any) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	_ = d.Decode(&v) // it was written here
	return v
}

// input is what is checked of a response.
func input(r Response) answers.Input {
	return answers.Input{Answers: r.Answers, HostAnswers: r.HostAnswers, Hidden: r.Hidden}
}

// newSubmission checks a response against a form and makes the record of it.
func (s *Service) newSubmission(form *knownForm, r Response) (storage.NewSubmission, error) {
	clock, now := s.clock().UTC(), s.now()
	imported := !r.SubmittedAt.IsZero()
	var badTime error
	if imported {
		if r.SubmittedAt.After(clock) {
			badTime = faults.One("/submitted_at", schema.CodeOutOfRange, "must not be in the future")
		}
		now = r.SubmittedAt.UTC().Truncate(time.Second)
		if now.IsZero() || now.Year() < 1 || now.Year() > 9999 {
			badTime = faults.One("/submitted_at", schema.CodeOutOfRange, "must be a time of the years 1 to 9999")
		}
		clock = now
	}
	switch {
	case form.Status != storage.StatusPublished:
		return storage.NewSubmission{}, ErrNotFound
	case form.Gate.IsClosed(false, clock):
		return storage.NewSubmission{}, ErrClosed
	}
	checked, err := form.answers.Check(input(r))
	if err := faults.Join(err, badTime, checkMetadata(r.Metadata), checkCompletionTime(r.CompletionTime), checkIdempotencyKey(r.IdempotencyKey)); err != nil {
		return storage.NewSubmission{}, err
	}
	submission := Submission{
		ID:             s.ids.New(s.now()),
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
		UniqueField:    storage.UniqueField{Block: form.Gate.Unique.Block, Rules: answers.IdentityRules},
		IdempotencyKey: r.IdempotencyKey,
	}
	if !imported || r.Deliver {
		event := s.ids.New(s.now())
		n.Event = storage.Event{ID: event, Type: eventResponseCompleted, Body: eventBody(event, submission, checked)}
	}
	return n, nil
}

func checkCompletionTime(seconds float64) error {
	if seconds < 0 || math.IsNaN(seconds) || math.IsInf(seconds, 0) {
		return faults.One("/completion_time", schema.CodeOutOfRange, "must be a number of seconds, 0 or more", "min", json.Number("0"))
	}
	return nil
}

func checkIdempotencyKey(key string) error {
	if len(key) > 255 {
		return faults.One("/idempotency_key", schema.CodeTooLong, "must have at most 255 bytes", "limit", 255, "unit", "bytes")
	}
	if !utf8.ValidString(key) || strings.ContainsRune(key, 0) {
		return faults.One("/idempotency_key", schema.CodeBadFormat, "must be text without U+0000", "format", "text")
	}
	return nil
}
