package postgres

import (
	"context"
	"encoding/json"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// Submit implements [storage.SubmissionStore]. On a pool, concurrent submissions are stored in one transaction, also
// for different forms. A single submission is stored immediately in one round trip. A submission is stored only with
// others of its form if another transaction holds the form's lock, or if it has a response limit or a unique answer.
// If ctx ends, the call returns immediately. If the submission may then still be stored, the error wraps
// [storage.ErrOutcomeUnknown]. On a pool, statements do not see the values of ctx, and a panic in the pool's tracer
// or hooks reaches each caller. In addition to the contract, it returns ErrConflict if the form has a submission with
// the same ID, or an event with the same ID exists.
func (s *Store) Submit(ctx context.Context, n storage.NewSubmission) (storage.Submission, bool, error) {
	if err := ctx.Err(); err != nil {
		return storage.Submission{}, false, err
	}
	sub, e := &n.Submission, &n.Event
	// Reject invalid submissions before they are part of a batch.
	err := conn.CheckArgs([]any{n.UniqueField.Block, sub.Answers, sub.Metadata, sub.Hidden, n.IdempotencyKey, e.Type, sub.SubmittedAt})
	if err != nil {
		return storage.Submission{}, false, err
	}
	// A caller that leaves can reuse its memory while the values are stored.
	conn.CopyBorrowed(&sub.Answers, &sub.Metadata, &sub.Hidden, (*json.RawMessage)(&e.Body), (*json.RawMessage)(&n.UniqueAnswer))
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
	sub.FormRevision = n.FormRevision
	sub.SubmittedAt = conn.StoredTime(sub.SubmittedAt)
	return *sub, false, nil
}
