package storage

import (
	"context"
	"encoding/json"
	"time"
)

// Submission is one completed response.
type Submission struct {
	ID     ID
	FormID ID
	// FormRevision is the revision of the form that the answers were checked
	// against. The store sets it; see NewSubmission.
	FormRevision   int64
	SubmittedAt    time.Time
	CompletionTime float64         // seconds
	Answers        json.RawMessage // array of {field, value}
	Metadata       json.RawMessage // object
	Hidden         json.RawMessage // object of strings
}

// Event is what webhooks are told. Body is sent as it is, byte for byte, on
// every attempt.
type Event struct {
	ID   ID
	Type string
	Body []byte
	// Single is for Enqueue: while another event that belongs to no submission is pending for the webhook,
	// this one is not queued. The pending one becomes due now, as with Redeliver.
	Single bool
}

// NewSubmission is a response to store, with all that follows from it.
type NewSubmission struct {
	Submission Submission
	// FormRevision is the revision that the answers were checked against. It is
	// kept as Submission.FormRevision, whatever that says here.
	FormRevision int64
	// UniqueAnswer is a digest of the answer that must be new for the form. Nil:
	// not checked.
	UniqueAnswer []byte
	// UniqueField is what UniqueAnswer is the digest of.
	UniqueField UniqueField
	// IdempotencyKey names the attempt within its form. Empty: none.
	IdempotencyKey string
	// Partial is the token of the half response that this one was begun with, as
	// [SavePartialParams] has it. It is emptied in the step that stores the response, and names
	// the submission until it is over. A token that is unknown, of another form, over at
	// SubmittedAt or submitted already changes nothing and refuses nothing. Zero: none. A
	// store without half responses ignores it.
	Partial [32]byte
	// Event is queued for each enabled webhook of the form. One without an ID is none.
	Event Event
	// HandOver takes deliveries right away that the store leases while it stores
	// them: those of webhooks that have nothing waiting and are not paused. A store
	// may ignore it. Nil: every delivery has to be claimed.
	Dispatcher DirectDispatcher
}

// SubmissionsParams selects submissions for a list. Since and Until are inclusive;
// zero: no bound.
type SubmissionsParams struct {
	Since, Until time.Time
	Page         Page
	// MaxBytes bounds the bytes of Answers, Metadata and Hidden of all records of
	// the page together. One record comes whatever its size. Below 1: no bound.
	MaxBytes int
	// SummaryOnly says that FormRevision and Hidden are not needed. A store may leave them
	// zero.
	SummaryOnly bool
}

// SubmissionPage is a part of a list of submissions, see [ListSubmissions].
type SubmissionPage struct {
	Submissions []Submission
	// More says that the list goes on after the last one. The page may have fewer
	// records than Page.Limit all the same, because of MaxBytes.
	More bool
}

// SubmissionStore keeps responses.
type SubmissionStore interface {
	// Submit stores a response. In this order, and atomically under any
	// concurrency:
	//
	//  1. ErrNotFound when there is no such form or it is in the trash.
	//  2. When the form has a submission with the idempotency key, that one is
	//     returned with replayed true, and nothing changes.
	//  3. A *RevisionError when FormRevision is not current.
	//  4. ErrNotFound when the form is not published.
	//  5. ErrLimitReached when the gate's response limit is reached.
	//  6. ErrDuplicate when the same UniqueAnswer is entered for the same UniqueField
	//     of the form.
	//
	// Then the row, its UniqueAnswer, one more submission in the funnel at
	// SubmittedAt, the event's body once and one pending delivery for each enabled
	// webhook of the form are all stored. Without an enabled webhook the event is not
	// kept.
	//
	// When UniqueField has other Rules than the form's gate, entering begins anew, by
	// the newer of the two.
	Submit(ctx context.Context, n NewSubmission) (s Submission, replayed bool, err error)

	// SubmissionByKey returns the form's submission with this idempotency key, or
	// ErrNotFound.
	SubmissionByKey(ctx context.Context, form ID, idempotencyKey string) (Submission, error)

	// Submission returns one submission, or ErrNotFound, also when it belongs to
	// another form.
	Submission(ctx context.Context, actor Actor, form, id ID) (Submission, error)

	// Submissions calls each for every record of a page, newest first by (SubmittedAt,
	// ID), and reports whether the list goes on after the last one. It returns
	// ErrNotFound when the form is not accessible.
	//
	// A record is lent: each neither changes it nor keeps anything of it after it has
	// returned, so that a store may pass on bytes without a copy. each returns soon and
	// does not call the store, which may hold a lock or a connection meanwhile. When it
	// returns an error, the call ends and returns that error. After any error, records
	// may have been lent already; none is lent twice. [ListSubmissions] is for callers
	// who want records of their own.
	Submissions(ctx context.Context, actor Actor, form ID, q SubmissionsParams, each func(*Submission) error) (more bool, err error)

	// DeleteSubmission removes a submission for good, with its idempotency key,
	// its entered answers, its pending deliveries and the bodies of its events. The
	// funnel stays; the response limit has room for one more.
	DeleteSubmission(ctx context.Context, actor Actor, form, id ID) error

	// SubmissionsRemoved returns how many submissions of the form were ever removed: by
	// DeleteSubmission, EraseSubmissions and PurgeSubmissions, in the step that removes them. As
	// long as it stays the same, what was counted of older submissions is still true. It returns
	// ErrNotFound when the form is not accessible.
	SubmissionsRemoved(ctx context.Context, actor Actor, form ID) (int64, error)
}

// ListSubmissions returns a page of [SubmissionStore.Submissions] as records of the
// caller's own. Records of a page share memory: whoever keeps one keeps some others.
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

// listBlockSize holds a page of ordinary records in two or three blocks.
const listBlockSize = 64 << 10
