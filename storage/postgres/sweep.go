package postgres

import (
	"context"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// sweepStep does one kind of a sweep's work. It processes one batch in one transaction, and reports whether work may
// remain.
type sweepStep func(s *Store, ctx context.Context, p storage.SweepParams, swept *storage.SweepResult) (more bool, err error)

// sweepSteps run in rotation, so that long or failing steps do not delay the others.
var sweepSteps = [...]sweepStep{
	(*Store).cleanUpWorkspaces,
	(*Store).markPurged,
	(*Store).purgeFormsOfDeleted,
	(*Store).removePurgedForms,
	(*Store).purgeKeys,
	(*Store).purgePartials,
	(*Store).purgeOldSecrets,
	(*Store).purgeEvents,
	(*Store).dropStaleCounts,
	(*Store).foldCounts,
	(*Store).correctFutureTimes,
}

// removalSteps is the number of steps at the start of sweepSteps that delete the rows of deleted records.
const removalSteps = 4

// Sweep implements [storage.Storage]. Each call processes one batch: it runs the steps until one of them has work to
// do. In a host's transaction, the rows in every batch stay locked until the transaction ends.
func (s *Store) Sweep(ctx context.Context, p storage.SweepParams) (storage.SweepResult, error) {
	if err := ctx.Err(); err != nil || p.Max < 1 {
		return storage.SweepResult{}, err
	}
	if err := conn.CheckArgs([]any{p.Now, p.TrashBefore, p.KeysBefore}); err != nil {
		return storage.SweepResult{}, err
	}
	if p.RemovalsOnly {
		// Other sweeps share the rotation, but this call must run every removal step.
		swept, err := s.runFirstStep(ctx, p, sweepSteps[:removalSteps], func(i int) int { return i })
		if err != nil || swept.More {
			return swept, err
		}
		// Concurrent sweeps hold the remaining rows. The next call waits for them.
		return conn.ReadOne(ctx, &s.db, func(left *storage.SweepResult) []any { return []any{&left.More} }, removalsLeft)
	}
	defer s.noteWork(ctx, "maintained")
	return s.runFirstStep(ctx, p, sweepSteps[:], func(int) int { return int(s.sweepPosition.step.Add(1)-1) % len(sweepSteps) })
}

func (s *Store) runFirstStep(ctx context.Context, p storage.SweepParams, steps []sweepStep, turn func(i int) int) (storage.SweepResult, error) {
	for i := range steps {
		var swept storage.SweepResult
		more, err := steps[turn(i)](s, ctx, p, &swept)
		if err != nil {
			return storage.SweepResult{}, err
		}
		if more || swept != (storage.SweepResult{}) {
			swept.More = true // more work for this step or the following steps
			return swept, nil
		}
	}
	return storage.SweepResult{}, nil
}

// removalsLeft returns whether a purged form, or a deleted workspace that no form in the trash needs, still has its
// row. A form's row is deleted after the rows that belong to the form.
const removalsLeft = `
SELECT (SELECT f.id FROM formsvc.forms f WHERE f.purged_at IS NOT NULL LIMIT 1) IS NOT NULL
	OR (SELECT o.id FROM formsvc.workspaces o WHERE o.purged LIMIT 1) IS NOT NULL
	OR (SELECT o.id FROM formsvc.workspaces o WHERE o.deleted_at IS NOT NULL AND NOT o.tidied LIMIT 1) IS NOT NULL`

const purgeKeys = `
DELETE FROM formsvc.api_keys k WHERE k.id = ANY (ARRAY(
	SELECT e.id FROM formsvc.api_keys e
	WHERE LEAST(e.revoked_at, e.expires_at) < $1::timestamptz
	ORDER BY LEAST(e.revoked_at, e.expires_at)
	LIMIT (SELECT $2::bigint)
	FOR UPDATE SKIP LOCKED))`

func (s *Store) purgeKeys(ctx context.Context, p storage.SweepParams, swept *storage.SweepResult) (_ bool, err error) {
	if !p.KeysBefore.IsZero() {
		swept.Keys, err = s.db.ChangeRows(ctx, purgeKeys, p.KeysBefore.UTC(), int64(p.Max))
	}
	return false, err
}

//nolint:gosec // a statement, not a credential
const purgeOldSecrets = `
UPDATE formsvc.webhooks w SET old_secret = NULL, old_secret_until = NULL
WHERE w.id = ANY (ARRAY(
	SELECT o.id FROM formsvc.webhooks o
	WHERE o.old_secret_until <= (SELECT $1::timestamptz)
	ORDER BY o.old_secret_until
	LIMIT (SELECT $2::bigint)
	FOR NO KEY UPDATE SKIP LOCKED))`

func (s *Store) purgeOldSecrets(ctx context.Context, p storage.SweepParams, swept *storage.SweepResult) (_ bool, err error) {
	swept.Secrets, err = s.db.ChangeRows(ctx, purgeOldSecrets, p.Now.UTC(), int64(p.Max))
	return false, err
}

// purgeEvents deletes events without references. Only a bug or a manual change causes such events, because the
// statement that removes the last reference also deletes the event.
const purgeEvents = `
DELETE FROM formsvc.events e WHERE e.id = ANY (ARRAY(
	SELECT u.id FROM formsvc.events u
	WHERE u.refs <= 0
	ORDER BY u.id
	LIMIT (SELECT $1::bigint)
	FOR UPDATE SKIP LOCKED))`

func (s *Store) purgeEvents(ctx context.Context, p storage.SweepParams, swept *storage.SweepResult) (_ bool, err error) {
	swept.Events, err = s.db.ChangeRows(ctx, purgeEvents, int64(p.Max))
	return false, err
}
