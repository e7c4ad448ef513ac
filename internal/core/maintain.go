package core

import (
	"context"
	"errors"
	"time"

	"github.com/formsvc/formsvc/internal/answers"
	"github.com/formsvc/formsvc/storage"
)

const (
	// backfillRows and backfillBytes limit a backfill batch, which blocks the form's submissions. Indexing
	// 1,000,000 submissions takes 40 s on PostgreSQL, and a submission waited at most 53 ms.
	backfillRows  = 1000
	backfillBytes = 8 << 20
	// backfillBatches limits the batches in one call of Maintain.
	backfillBatches = 10
	// endedKeyLifetime is how long revoked and expired keys are still listed.
	endedKeyLifetime = 90 * 24 * time.Hour
	// sweepRows limits one maintenance transaction. Deleting this many submissions with their events takes about 30 ms.
	sweepRows = 1000
	// maxSweeps limits one call of Maintain to about a second. With one call a minute, it handles 300 views, starts and
	// submissions a second.
	maxSweeps = 20
)

// Maintain does one limited batch of the maintenance that package formsvc describes. An error in one kind of work does
// not stop the other work.
func (c *Core) Maintain(ctx context.Context) error {
	_, err := c.maintain(ctx, c.Now())
	return err
}

// maintain reports whether there is more work, unless there is an error.
func (c *Core) maintain(ctx context.Context, now time.Time) (more bool, err error) {
	more, err = c.backfillAnswers(ctx)
	for range maxSweeps {
		swept, sweepErr := c.Storage.Sweep(ctx, storage.SweepParams{Now: now, KeysBefore: now.Add(-endedKeyLifetime), BeforeDelete: c.beforeDelete, Max: sweepRows})
		err = errors.Join(err, sweepErr) // the next call continues with other work
		if swept.Rescheduled > 0 {
			c.Log.WarnContext(ctx, "corrected delivery times too far in the future: check the database's clock",
				"rows", swept.Rescheduled)
		}
		switch {
		case ctx.Err() != nil:
			return false, ctx.Err()
		case sweepErr == nil && !swept.More:
			return more, err
		}
	}
	return true, err
}

// Sweep does all due maintenance for a running dispatcher.
func (c *Core) Sweep(ctx context.Context, now time.Time) error {
	for {
		if more, err := c.maintain(ctx, now); err != nil || !more {
			return err
		}
	}
}

// backfillAnswers indexes answers from before the form's duplicateField was set. It reports whether there is more work.
// Stores without a backfill have no work.
func (c *Core) backfillAnswers(ctx context.Context) (more bool, err error) {
	for range backfillBatches {
		piece, err := c.Storage.PendingBackfill(ctx, storage.PendingBackfillParams{Rules: answers.IdentityRules, Max: backfillRows, MaxBytes: backfillBytes})
		if err != nil || piece.Cursor.Form.IsZero() {
			if errors.Is(err, storage.ErrUnimplemented) {
				err = nil
			}
			return false, err
		}
		var entered []storage.AnswerDigest
		for _, sub := range piece.Submissions {
			if digest := answers.StoredUnique(sub.Answers, piece.Cursor.Field.Block); digest != nil {
				entered = append(entered, storage.AnswerDigest{Submission: sub.ID, Digest: digest})
			}
		}
		if err := c.Storage.BackfillAnswers(ctx, piece.Cursor, entered); err != nil {
			return false, err
		}
	}
	return true, nil
}
