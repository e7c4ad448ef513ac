package storage

import (
	"context"
	"encoding/json"
	"slices"
	"time"
)

// Submission holds one respondent's stored answers to a form.
type Submission struct {
	ID     ID
	FormID ID
	// FormRevision is the form revision against which the answers were checked. The store sets it; see [NewSubmission].
	FormRevision   int64
	SubmittedAt    time.Time
	CompletionTime float64         // seconds
	Answers        json.RawMessage // array of {field, value}
	Metadata       json.RawMessage // object
	Hidden         json.RawMessage // object of strings
	// Respondent is the host's ID of the person who submitted. It is empty if the person is unknown. Respondents are equal
	// if their bytes are equal. See [RespondentStore].
	Respondent string
	// Ending is the ID of the ending block that the respondent reached. It is empty if there was none.
	Ending string
	// Revision is 1 for a new submission. The store sets it, and [SubmissionUpdateStore] increments it.
	Revision  int64
	ChangedAt time.Time // when UpdateSubmission last changed the submission, or zero if never
}

// Event is an event for webhooks. Every attempt sends the same bytes.
type Event struct {
	ID   ID
	Type string
	Body []byte
	// Details replaces the last two bytes of Body for webhooks that have FormDetails when Submit queues the event. Later
	// changes of FormDetails do not change a queued event. If empty, all webhooks get Body. Enqueue ignores Details.
	Details []byte
	// Single applies to Enqueue. If another event without a submission is pending for the webhook, Enqueue does not
	// queue this event. Instead, the pending event becomes due immediately, as with Redeliver.
	Single bool
}

// BodyFor returns the body for a webhook, with or without Details. The caller must not change it.
func (e *Event) BodyFor(detailed bool) []byte {
	if !detailed || len(e.Details) == 0 {
		return e.Body
	}
	return slices.Concat(e.Body[:len(e.Body)-2], e.Details)
}

// NewSubmission contains the parameters of Submit.
type NewSubmission struct {
	Submission Submission
	// FormRevision is the form revision against which the answers were checked. It replaces Submission.FormRevision.
	FormRevision int64
	// UniqueAnswer is the digest of the answer to UniqueField, which must be unique within the form. If nil, nothing is
	// checked.
	UniqueAnswer []byte
	UniqueField  UniqueField
	// OnePerRespondent rejects the submission if the form has another submission with the same Submission.Respondent. It
	// has no effect without a respondent.
	OnePerRespondent bool
	IdempotencyKey   string // identifies the request within its form; empty if there is none
	// Partial is the token of the partial submission that this submission completes; see [SavePartialParams]. The step
	// that stores the submission clears the partial submission and sets its SubmissionID. The token is ignored if it is
	// unknown, belongs to another form, has expired at SubmittedAt, or was already submitted. A zero token means that
	// there is no partial submission. A store without partial submissions ignores Partial.
	Partial [32]byte
	// Event is queued for each enabled webhook of the form. An event with a zero ID is not queued.
	Event Event
	// Dispatcher immediately receives the deliveries that the store leases during the write. The store leases only
	// deliveries to webhooks that are not paused and have no waiting deliveries. A store can ignore Dispatcher. If
	// Dispatcher is nil, every delivery must be claimed.
	Dispatcher DirectDispatcher
}

// SubmissionsParams selects submissions for a list. Since and Until are inclusive. A zero time means no limit.
type SubmissionsParams struct {
	Since, Until time.Time
	Respondent   string // selects only the submissions of this respondent, unless it is empty
	Page         Page
	// MaxBytes limits the total size of Answers, Metadata and Hidden in the page. One record is always allowed. A value
	// below 1 means no limit.
	MaxBytes int
	// SummaryOnly means that the caller does not need FormRevision, Hidden, Respondent, Revision and ChangedAt. A store
	// can then leave them zero.
	SummaryOnly bool
}

// SubmissionPage is a page of submissions; see [ListSubmissions].
type SubmissionPage struct {
	Submissions []Submission
	// More reports whether the list continues. Because of MaxBytes, it can be true for a page with fewer than
	// Page.Limit records.
	More bool
}

// SubmissionStore stores submissions.
type SubmissionStore interface {
	// Submit stores a submission atomically. It makes these checks in order:
	//
	// 1. ErrNotFound if the form does not exist or is in the trash.
	// 2. If the form has a submission with the idempotency key, Submit returns it with replayed true and changes nothing.
	// 3. A *RevisionError if FormRevision is not current.
	// 4. ErrNotFound if the form is not published.
	// 5. An *AnsweredError if OnePerRespondent is set and the form has a submission of the same respondent.
	// 6. ErrLimitReached if the response limit of the acceptance rules is reached.
	// 7. ErrDuplicate if the form already has the same UniqueAnswer for the same UniqueField.
	//
	// Then it stores the submission and its UniqueAnswer, and counts it in the funnel at SubmittedAt. It stores the
	// event's body once, and a pending delivery for each enabled webhook. If no webhook is enabled, it does not store the
	// event. If UniqueField.Rules differs from the form's acceptance rules, the backfill restarts with the newer one.
	Submit(ctx context.Context, n NewSubmission) (s Submission, replayed bool, err error)

	// SubmissionByKey returns the form's submission with this idempotency key, or ErrNotFound.
	SubmissionByKey(ctx context.Context, form ID, idempotencyKey string) (Submission, error)

	// Submission returns one submission. It returns ErrNotFound if the form has no such submission.
	Submission(ctx context.Context, actor Actor, form, id ID) (Submission, error)

	// Submissions calls each for every record on a page, newest first by (SubmittedAt, ID), and reports whether the
	// list continues. It returns ErrNotFound if the form is not accessible.
	//
	// A record is valid only during its callback, so that a store need not copy the record's bytes. The function each
	// must not change or retain the record. It must return quickly and must not call the store, which can hold a lock
	// or a connection. If each returns an error, Submissions stops and returns that error. If Submissions fails, each
	// may already have received some records, but it never receives a record twice. [ListSubmissions] returns copies.
	Submissions(ctx context.Context, actor Actor, form ID, q SubmissionsParams, each func(*Submission) error) (more bool, err error)

	// DeleteSubmission permanently removes a submission with its idempotency key, indexed answers, and the pending
	// deliveries and bodies of its events, including those of UpdateSubmission. The funnel does not change. The
	// submission no longer counts against the response limit.
	DeleteSubmission(ctx context.Context, actor Actor, form, id ID) error

	// SubmissionsRemoved returns how many of the form's submissions DeleteSubmission, EraseSubmissions and
	// PurgeSubmissions have ever removed, plus how often UpdateSubmission has changed one. The step that removes or changes
	// a submission also updates this number. As long as the number does not change, totals computed from older submissions
	// stay valid. SubmissionsRemoved returns ErrNotFound if the form is not accessible.
	SubmissionsRemoved(ctx context.Context, actor Actor, form ID) (int64, error)
}

// ListSubmissions returns a copy of a page from [SubmissionStore.Submissions]. The records of a page share memory, so
// retaining one record also retains others.
func ListSubmissions(ctx context.Context, s SubmissionStore, actor Actor, form ID, q SubmissionsParams) (SubmissionPage, error) {
	var page SubmissionPage
	var block []byte
	more, err := s.Submissions(ctx, actor, form, q, func(lent *Submission) error {
		sub := *lent
		if n := len(sub.Answers) + len(sub.Metadata) + len(sub.Hidden); n > cap(block)-len(block) {
			block = make([]byte, 0, max(n, listBlockSize))
		}
		for _, raw := range []*json.RawMessage{&sub.Answers, &sub.Metadata, &sub.Hidden} {
			if start := len(block); *raw != nil {
				block = append(block, *raw...)
				*raw = block[start:len(block):len(block)]
			}
		}
		page.Submissions = append(page.Submissions, sub)
		return nil
	})
	if err != nil {
		return SubmissionPage{}, err
	}
	page.More = more
	return page, nil
}

// listBlockSize is the size in bytes of a memory block that a page's records share. A typical page needs two or three.
const listBlockSize = 64 << 10
