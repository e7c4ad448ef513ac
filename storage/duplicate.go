package storage

import (
	"context"
	"encoding/json"
)

// DuplicateStore records which answers to a form's unique field are taken. The entry of a submission for a
// [UniqueField] is the digest of its answer. An answer is taken while any entry has its digest. If several old
// submissions have the same answer, all of them must be removed before the answer is free. Submit adds the entry of a
// new submission.
//
// Submissions from before the field was set have no entry. Callers backfill them in batches: PendingBackfill returns
// the submissions to read, because the store cannot interpret or compare answers, and BackfillAnswers stores the
// digests. After the last batch, [Form.DuplicateCheckReady] is true. Entries for previous fields are retained. If a
// previous field is set again, only the submissions since then need a backfill.
type DuplicateStore interface {
	// PendingBackfill returns the next submissions to backfill, in the order of their IDs. All belong to one form that
	// is not in the trash and whose backfill is not complete. The store can choose the form, but must not skip any form
	// permanently. It can omit submissions that already have an entry. If no form needs a backfill, the returned Cursor
	// is zero. Otherwise the caller passes the digests to BackfillAnswers, even if there are no submissions. If a
	// form's acceptance rules use an older rules version than p.Rules, the store updates it and restarts the backfill.
	// It ignores forms with a newer version.
	PendingBackfill(ctx context.Context, p PendingBackfillParams) (PendingBackfill, error)

	// BackfillAnswers adds the entries of one batch and advances to the next. After the last batch, the form's
	// duplicate check is ready. It skips submissions that no longer exist or already have an entry. If the form no
	// longer exists, or the backfill is at another cursor because another process advanced or restarted it, the call
	// does nothing.
	BackfillAnswers(ctx context.Context, at BackfillCursor, digests []AnswerDigest) error
}

// PendingBackfillParams limits a batch of PendingBackfill.
type PendingBackfillParams struct {
	// Rules is the version of the rules by which the caller compares answers.
	Rules int
	// Max limits the submissions; below 1, the call does nothing. MaxBytes limits the total size of their answers, but
	// one submission always fits; below 1, there is no limit.
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
	From, To ID    // range of the batch; To is zero in the last one
}

// SubmissionAnswers are the answers of one submission.
type SubmissionAnswers struct {
	ID      ID
	Answers json.RawMessage
}

// AnswerDigest is the digest of a submission's answer to the unique field. Submissions without an answer have none.
type AnswerDigest struct {
	Submission ID
	Digest     []byte
}
