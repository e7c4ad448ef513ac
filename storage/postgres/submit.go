package postgres

import (
	"context"
	"encoding/json"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// Submit implements [storage.SubmissionStore]. On a pool, responses that come while
// others are being stored are stored together, in one transaction, whatever their forms.
// A response that comes alone is stored at once, in one round trip. One whose form is
// locked by another transaction, has a response limit, or that has a unique answer, is
// stored together with those to its form only. When ctx ends the
// call returns at once; if the response may be stored by then, the error wraps
// [storage.ErrOutcomeUnknown]. On a pool, statements do not see the values of ctx, and a
// panic of the pool's tracer or hooks is passed on to each caller. Beyond the contract it returns ErrConflict when the form
// has a submission with the same id, or there is an event with the same id.
func (s *Store) Submit(ctx context.Context, n storage.NewSubmission) (storage.Submission, bool, error) {
	if err := ctx.Err(); err != nil {
		return storage.Submission{}, false, err
	}
	sub, e := &n.Submission, &n.Event
	// A response that cannot be stored is refused before it is part of a group.
	err := conn.CheckArgs([]any{n.UniqueField.Block, sub.Answers, sub.Metadata, sub.Hidden, n.IdempotencyKey, e.Type, sub.SubmittedAt})
	if err != nil {
		return storage.Submission{}, false, err
	}
	// A caller who leaves may write over the bytes while they are being stored.
	conn.CopyBorrowed(&sub.Answers, &sub.Metadata, &sub.Hidden, (*json.RawMessage)(&e.Body), (*json.RawMessage)(&n.UniqueAnswer))
	var out submitResult
	if s.submitBatches == nil {
		n.Dispatcher = nil // before the host's transaction is committed there is nothing to hand over
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
