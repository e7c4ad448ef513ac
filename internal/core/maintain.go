package core

import (
	"context"
	"errors"
	"time"

	"github.com/formsvc/formsvc/internal/answers"
	"github.com/formsvc/formsvc/storage"
)

const (
	// backfillRows and backfillBytes limit a backfill batch, because a batch blocks new submissions to the form. On
	// PostgreSQL, the backfill of 1,000,000 submissions takes 40 s, and a new submission waits at most 53 ms.
	backfillRows     = 1000
	backfillBytes    = 8 << 20
	backfillBatches  = 10                  // maximum batches in one call of Maintain
	endedKeyLifetime = 90 * 24 * time.Hour // how long revoked and expired keys stay in the list
	sweepRows        = 1000                // rows per transaction; deleting 1,000 submissions with events takes 30 ms
	// maxSweeps limits one call of Maintain to about a second. One call a minute then handles 300 views, starts and
	// submissions a second.
	maxSweeps = 20
)

// Maintain does a limited amount of the maintenance that package formsvc documents. An error in one task does not stop
// the other tasks.
func (c *Core) Maintain(ctx context.Context) error {
	_, err := c.maintain(ctx, c.Now())
	return err
}

// maintain implements Maintain and reports whether there is more work.
func (c *Core) maintain(ctx context.Context, now time.Time) (more bool, err error) {
	more, err = c.backfillAnswers(ctx)
	for range maxSweeps {
		swept, sweepErr := c.Storage.Sweep(ctx, storage.SweepParams{Now: now, KeysBefore: now.Add(-endedKeyLifetime), BeforeDelete: c.beforeDelete, Max: sweepRows})
		err = errors.Join(err, sweepErr) // the next call continues with the remaining work
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

// Sweep does all pending maintenance. A running dispatcher calls it.
func (c *Core) Sweep(ctx context.Context, now time.Time) error {
	for {
		if more, err := c.maintain(ctx, now); err != nil || !more {
			return err
		}
	}
}

// backfillAnswers indexes answers that are older than the form's duplicateField setting, and reports whether more
// remain. It does nothing if the store does not support backfills.
func (c *Core) backfillAnswers(ctx context.Context) (more bool, err error) {
	for range backfillBatches {
		batch, err := c.Storage.PendingBackfill(ctx, storage.PendingBackfillParams{Rules: answers.IdentityRules, Max: backfillRows, MaxBytes: backfillBytes})
		if err != nil || batch.Cursor.Form.IsZero() {
			if errors.Is(err, storage.ErrUnimplemented) {
				err = nil
			}
			return false, err
		}
		var entered []storage.AnswerDigest
		for _, sub := range batch.Submissions {
			if digest := answers.StoredUniqueDigest(sub.Answers, batch.Cursor.Field.Block); digest != nil {
				entered = append(entered, storage.AnswerDigest{Submission: sub.ID, Digest: digest})
			}
		}
		if err := c.Storage.BackfillAnswers(ctx, batch.Cursor, entered); err != nil {
			return false, err
		}
	}
	return true, nil
}
