package postgres

import (
	"cmp"
	"context"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// A form with a response limit has a row in form_limits with its number of submissions. Before a new limit is set, the
// stored submissions are counted in batches, so that a new submission waits for at most one batch. After beginCount,
// each new or deleted submission updates the count if its ID is in the range counted so far. Each batch adds the next
// IDs under the form's exclusive advisory lock, so that none of these submissions is in progress. A row lock would not
// suffice, because the server grants only advisory locks in order. The limit is set after the last batch. If the count
// is interrupted, a later call continues it, or a sweep drops it after an hour.

// countBatchSize limits how long a submission to the form waits for a batch, which takes about 15 ms if the pages are
// in memory.
const countBatchSize = 5000

// beginCount runs under the form's exclusive lock, so that every later submission sees the count. An empty counted_to
// precedes every ID.
const beginCount = `
WITH form AS (
	UPDATE formsvc.forms f SET counted = true
	WHERE f.id = $1::bytea AND NOT f.counted AND ` + formNotTrashed + `
	RETURNING f.id, f.places_kept
)
INSERT INTO formsvc.form_limits (form_id, submission_count, counted_to, count_at)
SELECT form.id, form.places_kept, '', clock_timestamp() FROM form
ON CONFLICT DO NOTHING`

// coveredByCount is the condition that the count in the row l of form_limits includes the submission's ID.
const (
	coveredByCount = `(l.counted_to IS NULL OR response.id <= l.counted_to)`
	countIncrement = `CASE WHEN ` + coveredByCount + ` THEN 1 ELSE 0 END`
)

// countBatch returns a row as long as submissions remain to be counted. The offset is a subquery that hides its value
// from the planner, which without statistics would read and sort the whole table.
const countBatch = `
WITH before AS MATERIALIZED (
	SELECT l.counted_to FROM formsvc.form_limits l WHERE l.form_id = $1::bytea AND l.counted_to IS NOT NULL
), edge AS MATERIALIZED (
	SELECT s.id FROM formsvc.submissions s
	WHERE s.form_id = $1::bytea AND s.id > (SELECT b.counted_to FROM before b)
	ORDER BY s.id
	OFFSET (SELECT $2::bigint - 1) LIMIT 1
)
UPDATE formsvc.form_limits l
SET count_at = clock_timestamp(), counted_to = (SELECT e.id FROM edge e), submission_count = l.submission_count + (
	SELECT count(*) FROM formsvc.submissions s
	WHERE s.form_id = $1::bytea AND s.id > (SELECT b.counted_to FROM before b)
		AND s.id <= COALESCE((SELECT e.id FROM edge e), '\xffffffffffffffffffffffffff'))
FROM before
WHERE l.form_id = $1::bytea
RETURNING l.counted_to IS NOT NULL`

func (s *Store) countSubmissions(ctx context.Context, form storage.ID) error {
	err := s.db.Change(ctx, s.formLockStatement(form), conn.NewStatement(beginCount, form[:]))
	for more := true; more && err == nil; {
		more, err = s.countBatch(ctx, form)
	}
	return err
}

func (s *Store) countBatch(ctx context.Context, form storage.ID) (more bool, err error) {
	err = s.db.WriteFor(ctx, s.formLockStatement(form).Key(), func(ctx context.Context) error {
		more = false
		return conn.TranslateNoRow(s.db.SendWrite(ctx, s.formLockStatement(form), conn.NewStatement(countBatch, form[:], cmp.Or(s.countBatchSize, countBatchSize)).ScanInto(&more)), nil)
	})
	return more, err
}

// dropStaleCounts ends counts whose limit was never set, because their process died or the change was rejected. It
// skips forms whose lock is held, because a change in progress may need the count.
const dropStaleCounts = `
WITH left_over AS MATERIALIZED (
	SELECT f.id FROM (
		SELECT l.form_id AS id FROM formsvc.form_limits l
		WHERE l.count_at < clock_timestamp() - interval '1 hour'
		ORDER BY l.count_at
		LIMIT (SELECT $1::bigint)
	) f
	WHERE pg_try_advisory_xact_lock(` + lockKeyOfForm + `)
), gone AS (
	DELETE FROM formsvc.form_limits l
	WHERE l.form_id = ANY (ARRAY(SELECT o.id FROM left_over o)) AND l.count_at IS NOT NULL
	RETURNING l.form_id
)
UPDATE formsvc.forms f SET counted = false
WHERE f.id = ANY (ARRAY(SELECT g.form_id FROM gone g))`

const maxDroppedCounts = 100

func (s *Store) dropStaleCounts(ctx context.Context, p storage.SweepParams, _ *storage.SweepResult) (more bool, err error) {
	most := min(p.Max, maxDroppedCounts)
	n, err := s.db.ChangeRows(ctx, dropStaleCounts, int64(most), s.lockSalt(lockForms))
	return n == most, err
}
