package storage

import (
	"context"
	"encoding/json"
)

// DuplicateStore records which answers to a form's unique field are taken. A submission's entry for a [UniqueField] is
// the digest of its answer. An answer is taken as long as any entry has its digest. If several old submissions have the
// same answer, the answer becomes free only after all of these submissions are removed. Submit adds the entry for a new
// submission.
//
// Submissions stored before the field was set have no entry, so callers backfill them in batches. PendingBackfill
// returns submissions to the caller, because the store cannot interpret answers. The caller computes the digests, and
// BackfillAnswers stores them. After the last batch, [Form.DuplicateCheckReady] is true. Entries for previous fields
// are retained. If a previous field is set again, only submissions stored since it was replaced need a backfill.
type DuplicateStore interface {
	// PendingBackfill returns the next submissions to backfill, in the order of their IDs. All of them belong to one
	// form that is not in the trash and whose backfill is not complete. The store can choose the form, but must not
	// skip any form permanently. It can omit submissions that already have an entry. If no form needs a backfill, the
	// returned Cursor is zero. Otherwise the caller passes the digests to BackfillAnswers, even if the batch is empty.
	// If a form's acceptance rules use an older rules version than p.Rules, the store updates the version and restarts
	// the backfill. It ignores forms with a newer version.
	PendingBackfill(ctx context.Context, p PendingBackfillParams) (PendingBackfill, error)

	// BackfillAnswers adds the entries for one batch and advances to the next batch. After the last batch, the form's
	// duplicate check is ready. BackfillAnswers skips submissions that no longer exist or already have an entry. It
	// does nothing if the form no longer exists, or if another process has advanced or restarted the backfill.
	BackfillAnswers(ctx context.Context, at BackfillCursor, digests []AnswerDigest) error
}

// PendingBackfillParams limits a batch of PendingBackfill.
type PendingBackfillParams struct {
	// Rules is the version of the comparison rules that the caller uses.
	Rules int
	// Max limits the number of submissions. If Max is below 1, the call does nothing. MaxBytes limits the total size of
	// their answers, but one submission is always allowed. If MaxBytes is below 1, the size is not limited.
	Max, MaxBytes int
}

// PendingBackfill is a batch of a form's submissions.
type PendingBackfill struct {
	Cursor      BackfillCursor
	Submissions []SubmissionAnswers
}

// BackfillCursor identifies a batch of a form's backfill. Only the store interprets Pass, From and To.
type BackfillCursor struct {
	Form     ID
	Field    UniqueField
	Pass     int64 // changes whenever the backfill restarts
	From, To ID    // ID range of the batch; To is zero in the last batch
}

// SubmissionAnswers holds the answers of one submission.
type SubmissionAnswers struct {
	ID      ID
	Answers json.RawMessage
}

// AnswerDigest is the digest of a submission's answer to the unique field. Without an answer, there is no digest.
type AnswerDigest struct {
	Submission ID
	Digest     []byte
}
