package core

import (
	"context"
	"errors"
	"time"

	"github.com/formsvc/formsvc/internal/answers"
	"github.com/formsvc/formsvc/storage"
)

const (
	// backfillRows and backfillBytes bound a piece of the responses whose answers are entered:
	// while it is, no response to that form is stored. 1,000,000 take 40 s on PostgreSQL,
	// and the longest wait of a response meanwhile was 53 ms.
	backfillRows  = 1000
	backfillBytes = 8 << 20
	// backfillBatches bounds the pieces that one call of Maintain enters.
	backfillBatches = 10
	// endedKeyLifetime is how long a key that was revoked or expired is still listed.
	endedKeyLifetime = 90 * 24 * time.Hour
	// sweepRows bounds one transaction of maintenance. Removing so many submissions
	// with their events takes about 30 ms.
	sweepRows = 1000
	// maxSweeps bounds one call of Maintain, to about a second. Called once a
	// minute it keeps up with 300 views, starts and submissions a second.
	maxSweeps = 20
)

// Maintain does one bounded piece of the maintenance that package formsvc lists. An error is
// about one kind of work, and the others were done all the same.
func (c *Core) Maintain(ctx context.Context) error {
	_, err := c.maintain(ctx, c.Now())
	return err
}

// maintain does so, and reports whether there is more to do, unless there is an error.
func (c *Core) maintain(ctx context.Context, now time.Time) (more bool, err error) {
	more, err = c.backfillAnswers(ctx)
	for range maxSweeps {
		swept, fault := c.Storage.Sweep(ctx, storage.SweepParams{Now: now, KeysBefore: now.Add(-endedKeyLifetime), BeforeDelete: c.beforeDelete, Max: sweepRows})
		err = errors.Join(err, fault) // the next call goes on with other work
		if swept.Rescheduled > 0 {
			c.Log.WarnContext(ctx, "corrected delivery times too far in the future: check the database's clock",
				"rows", swept.Rescheduled)
		}
		switch {
		case ctx.Err() != nil:
			return false, ctx.Err()
		case fault == nil && !swept.More:
			return more, err
		}
	}
	return true, err
}

// Sweep does all the maintenance that is due, for a running dispatcher.
func (c *Core) Sweep(ctx context.Context, now time.Time) error {
	for {
		if more, err := c.maintain(ctx, now); err != nil || !more {
			return err
		}
	}
}

// backfillAnswers enters answers of responses from before their form's duplicateField was
// set, and reports whether there are more of them. A store without this work has none.
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
