package postgres

import (
	"context"
	"encoding/json"
	"time"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// Submit implements [storage.SubmissionStore]. On a pool, it stores concurrent submissions in one transaction, even for
// different forms. A single submission is stored immediately, in one round trip. If the form is locked or has a
// response limit, or the submission has a unique answer, the batch contains only submissions of this form. Submissions
// with OnePerRespondent are stored one by one. If ctx ends, the call returns immediately. If the submission may still
// be stored afterwards, the error wraps [storage.ErrOutcomeUnknown]. In addition to the contract, Submit returns
// ErrConflict if the form already has a submission with the same ID, or if an event with the same ID exists.
func (s *Store) Submit(ctx context.Context, n storage.NewSubmission) (storage.Submission, bool, error) {
	if err := ctx.Err(); err != nil {
		return storage.Submission{}, false, err
	}
	sub, e := &n.Submission, &n.Event
	err := conn.CheckArgs([]any{n.UniqueField.Block, sub.Answers, sub.Metadata, sub.Hidden, sub.Respondent, sub.Ending, n.IdempotencyKey, e.Type, sub.SubmittedAt})
	if err != nil {
		return storage.Submission{}, false, err
	}
	// Copy the values, because a caller that has left can reuse its memory during the write.
	conn.CopyBorrowed(&sub.Answers, &sub.Metadata, &sub.Hidden, (*json.RawMessage)(&e.Body), (*json.RawMessage)(&e.Details), (*json.RawMessage)(&n.UniqueAnswer))
	var out submitResult
	if s.submitBatches == nil {
		n.Dispatcher = nil // nothing can be dispatched before the host commits
		err = s.db.Write(ctx, func(ctx context.Context) (err error) {
			out, err = s.submitSingle(ctx, n)
			return err
		})
	} else {
		out, err = s.submitInBatch(ctx, n)
	}
	switch {
	case err != nil:
		return storage.Submission{}, false, err
	case out.err != nil:
		return storage.Submission{}, false, out.err
	case out.replayed:
		return out.submission, true, nil
	}
	sub.FormRevision, sub.Revision, sub.ChangedAt = n.FormRevision, 1, time.Time{}
	sub.SubmittedAt = conn.StoredTime(sub.SubmittedAt)
	return *sub, false, nil
}
