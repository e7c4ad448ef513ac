package postgres

import (
	"cmp"
	"context"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// A form with a response limit has a row in form_limits that says how many of its
// submissions are taken. A limit that is new begins with a count of those that are
// there. It is made in pieces, so that no response waits for more than one of them:
//
// From beginCount on, every response and every deletion of one keeps the count true for
// the ids that are counted already. Each piece takes the next ids in, with the exclusive lock
// of the form, so that none of those is in flight. (The locks of the server are given in
// the order in which they are asked for. Row locks are not: the counter could get the
// lock again ahead of a waiting response.) After the last piece the count is true for
// all ids and stays so; only then is the limit set. A count that ends early is taken up
// by the next one, or is dropped by a sweep an hour later.

// countBatchSize is how many submissions one piece of a count takes in. It bounds how
// long a response to the form waits: about 15 ms with pages in memory.
const countBatchSize = 5000

// beginCount runs with the exclusive lock of the form, so that no response is in
// flight that knows nothing of the count. An empty counted_to comes before every
// id.
const beginCount = `
WITH form AS (
	UPDATE formsvc.forms f SET counted = true
	WHERE f.id = $1::bytea AND NOT f.counted AND ` + formNotTrashed + `
	RETURNING f.id, f.places_kept
)
INSERT INTO formsvc.form_limits (form_id, submission_count, counted_to, count_at)
SELECT form.id, form.places_kept, '', clock_timestamp() FROM form
ON CONFLICT DO NOTHING`

// coveredByCount is the condition that the count in the row l of form_limits covers the
// response, and that no piece of the count is still to take it in.
const (
	coveredByCount = `(l.counted_to IS NULL OR response.id <= l.counted_to)`
	countIncrement = `CASE WHEN ` + coveredByCount + ` THEN 1 ELSE 0 END`
)

// countBatch has a row while there is something to count. The offset is a subquery, so
// that a table that was never analysed is read in the order of its index and no further:
// with the number the planner would expect few rows, and read and sort all.
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

// count counts the submissions of a form.
func (s *Store) countSubmissions(ctx context.Context, form storage.ID) error {
	err := s.db.Change(ctx, s.lockForm(form), conn.Run(beginCount, form[:]))
	for more := true; more && err == nil; {
		more, err = s.countBatch(ctx, form)
	}
	return err
}

func (s *Store) countBatch(ctx context.Context, form storage.ID) (more bool, err error) {
	err = s.db.WriteFor(ctx, s.lockForm(form).Key(), func(ctx context.Context) error {
		more = false
		return conn.NoRow(s.db.SendWrite(ctx, s.lockForm(form), conn.Run(countBatch, form[:], cmp.Or(s.countBatchSize, countBatchSize)).Into(&more)), nil)
	})
	return more, err
}

// dropStaleCounts ends counts whose limit was never set: their process died, or the
// change was finally refused. The form's lock keeps out a change that is about to rely
// on the count; where one holds it, the count is for a later sweep.
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

// maxDroppedCounts bounds how many locks a sweep takes.
const maxDroppedCounts = 100

func (s *Store) dropStaleCounts(ctx context.Context, p storage.SweepParams, _ *storage.SweepResult) (more bool, err error) {
	most := min(p.Max, maxDroppedCounts)
	n, err := s.db.ChangeRows(ctx, dropStaleCounts, int64(most), s.lockSalt(lockForms))
	return n == most, err
}
