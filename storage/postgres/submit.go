package postgres

import (
	"context"
	"encoding/json"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// Submit implements [storage.SubmissionStore]. On a pool, responses that come while
// others to the same form are being stored are stored together, in one transaction. A
// response that comes alone is stored at once, in one round trip. When ctx ends the
// call returns at once; if the response may be stored by then, the error wraps
// [storage.ErrOutcomeUnknown]. Beyond the contract it returns ErrConflict when the form
// has a submission with the same id, or there is an event with the same id.
func (s *Store) Submit(ctx context.Context, n storage.NewSubmission) (storage.Submission, bool, error) {
	if err := ctx.Err(); err != nil {
		return storage.Submission{}, false, err
	}
	if err := checkResponse(n); err != nil {
		return storage.Submission{}, false, err
	}
	// A caller who leaves may write over n while it is being stored.
	n = ownResponse(n)
	var out submitted
	var err error
	if s.submits == nil {
		n.HandOver = nil // before the host's transaction is committed there is nothing to hand over
		err = s.db.Write(ctx, func(ctx context.Context) (err error) {
			out, _, err = s.submitAlone(ctx, n)
			return err
		})
	} else {
		out, err = s.submits.submit(ctx, n)
	}
	switch {
	case err != nil:
		return storage.Submission{}, false, err
	case out.err != nil:
		return storage.Submission{}, false, out.err
	case out.replayed:
		return out.submission, true, nil
	}
	n.Submission.FormRevision = n.FormRevision
	n.Submission.SubmittedAt = conn.AsStored(n.Submission.SubmittedAt)
	return n.Submission, false, nil
}

// ownResponse returns a response that shares no bytes with n.
func ownResponse(n storage.NewSubmission) storage.NewSubmission {
	conn.Own(&n.Submission.Answers, &n.Submission.Metadata, &n.Submission.Hidden, (*json.RawMessage)(&n.Event.Body), (*json.RawMessage)(&n.UniqueAnswer))
	return n
}

// checkResponse refuses a response that cannot be stored, before it is part of a group.
func checkResponse(n storage.NewSubmission) error {
	return conn.CheckArgs([]any{
		n.UniqueField.Block, n.Submission.Answers, n.Submission.Metadata, n.Submission.Hidden, n.IdempotencyKey, n.Event.Type, n.Submission.SubmittedAt,
	})
}
