package postgres

import (
	"context"
	"strings"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// Large deletions have two stages: a call updates one row, which hides all rows that belong to it, and sweeps then
// delete the hidden rows in batches. No call waits for locks on these rows. An interrupted sweep repeats only one
// batch.

// lockingVariants returns two variants of a statement. The variant for false skips locked rows. The variant for true
// waits for them. Sweeps with RemovalsOnly use the second variant.
func lockingVariants(text string) map[bool]string {
	return map[bool]string{false: text, true: strings.ReplaceAll(text, " SKIP LOCKED", "")}
}

// After a workspace is deleted, endDeliveriesOfDeleted ends the pending deliveries of its forms. trashFormsOfDeleted
// then updates the rows of forms without pending deliveries. Like TrashForm, it holds the form's lock. Only these forms
// are purged later, so no submission is in progress when a form's rows are deleted.
const (
	endDeliveriesOfDeleted = `
WITH most AS (
	SELECT $1::bigint AS n
), hooks AS MATERIALIZED (
	SELECT h.id
	FROM (` + formsOfDeleted + `) f
	CROSS JOIN LATERAL (SELECT h.id FROM formsvc.webhooks h WHERE h.form_id = f.id ORDER BY h.id LIMIT (SELECT m.n FROM most m)) h
	LIMIT (SELECT m.n FROM most m)
), ` + endPending + `
SELECT count(*) FROM ended`

	trashFormsOfDeleted = `
WITH untidied AS MATERIALIZED (
	SELECT f.id FROM (` + formsOfDeleted + `) f
	WHERE NOT EXISTS (
		SELECT FROM formsvc.webhooks h
		WHERE h.form_id = f.id
			AND (SELECT d.event_id FROM formsvc.deliveries d WHERE d.webhook_id = h.id LIMIT 1) IS NOT NULL)
), locked AS MATERIALIZED (
	SELECT f.id FROM (SELECT u.id FROM untidied u LIMIT 100) f
	WHERE pg_try_advisory_xact_lock(` + lockKeyOfForm + `)
), trashed AS (
	UPDATE formsvc.forms f SET trashed_at = (SELECT o.deleted_at FROM formsvc.workspaces o WHERE o.id = f.workspace_id)
	WHERE f.id = ANY (ARRAY(SELECT l.id FROM locked l)) AND ` + rowNotTrashed + ` AND NOT ` + workspaceNotDeleted + `
	RETURNING 1
)
SELECT count(*) FROM trashed`

	formsOfDeleted = `
	SELECT f.id
	FROM (
		SELECT o.id FROM formsvc.workspaces o
		WHERE o.deleted_at IS NOT NULL AND NOT o.tidied
		ORDER BY o.deleted_at, o.id
		LIMIT (SELECT $1::bigint)
	) o
	CROSS JOIN LATERAL (
		SELECT f.id FROM formsvc.forms f
		WHERE f.workspace_id = o.id AND f.trashed_at IS NULL
		ORDER BY f.created_at DESC, f.id DESC
		LIMIT (SELECT $1::bigint)
	) f
	LIMIT (SELECT $1::bigint)`
)

// removeDeletedWorkspaces removes the rows of deleted workspaces without forms. If all of a workspace's forms are in
// the trash, it marks the workspace as tidied.
var removeDeletedWorkspaces = lockingVariants(`
WITH empty AS MATERIALIZED (
	SELECT o.id, (SELECT f.id FROM formsvc.forms f WHERE f.workspace_id = o.id LIMIT 1) IS NULL AS unused
	FROM (
		SELECT o.id FROM formsvc.workspaces o
		WHERE o.deleted_at IS NOT NULL AND NOT o.tidied
		ORDER BY o.deleted_at, o.id
		LIMIT (SELECT $1::bigint)
		FOR UPDATE SKIP LOCKED
	) o
	WHERE (SELECT f.id FROM formsvc.forms f WHERE f.workspace_id = o.id AND f.trashed_at IS NULL LIMIT 1) IS NULL
), tidied AS (
	UPDATE formsvc.workspaces o SET tidied = true
	WHERE o.id = ANY (ARRAY(SELECT e.id FROM empty e WHERE NOT e.unused))
	RETURNING 1
), gone AS (
	DELETE FROM formsvc.workspaces o
	WHERE o.id = ANY (ARRAY(SELECT e.id FROM empty e WHERE e.unused))
	RETURNING 1
)
SELECT (SELECT count(*) FROM tidied) + (SELECT count(*) FROM gone)`)

// removePurgedWorkspaces deletes the workspaces of deleted users after their last form was deleted. It ignores tidied,
// because another sweep may set tidied while the last form is being deleted.
var removePurgedWorkspaces = lockingVariants(`
WITH empty AS MATERIALIZED (
	SELECT o.id FROM formsvc.workspaces o
	WHERE o.purged AND (SELECT f.id FROM formsvc.forms f WHERE f.workspace_id = o.id LIMIT 1) IS NULL
	ORDER BY o.id
	LIMIT (SELECT $1::bigint)
	FOR UPDATE SKIP LOCKED
), gone AS (
	DELETE FROM formsvc.workspaces o
	WHERE o.id = ANY (ARRAY(SELECT e.id FROM empty e))
	RETURNING 1
)
SELECT count(*) FROM gone`)

const formNotYetTrashed = `SELECT b.id FROM (` + formsOfDeleted + `) b`

// cleanUpWorkspaces continues DeleteWorkspace. If a form has a submission in progress, it leaves the form to the next
// sweep, or waits for the submission if p.RemovalsOnly is set.
func (s *Store) cleanUpWorkspaces(ctx context.Context, p storage.SweepParams, _ *storage.SweepResult) (more bool, err error) {
	more, err = s.cleanUpWorkspacesBatch(ctx, p, storage.ID{})
	if err != nil || more || !p.RemovalsOnly {
		return more, err
	}
	busy, err := conn.ReadAll(ctx, &s.db, func(id *storage.ID) []any { return []any{id} }, formNotYetTrashed, int64(1))
	if err != nil || len(busy) == 0 {
		return false, err
	}
	return s.cleanUpWorkspacesBatch(ctx, p, busy[0])
}

// cleanUpWorkspacesBatch first waits for the form's lock, unless form is zero.
func (s *Store) cleanUpWorkspacesBatch(ctx context.Context, p storage.SweepParams, form storage.ID) (more bool, err error) {
	var ended, trashed, closed, gone int64
	var batch []conn.Statement
	if !form.IsZero() {
		batch = append(batch, s.formLockStatement(form))
	}
	err = s.db.Change(ctx, append(batch,
		conn.NewStatement(endDeliveriesOfDeleted, int64(p.Max)).ScanInto(&ended),
		conn.NewStatement(trashFormsOfDeleted, int64(p.Max), s.lockSalt(lockForms)).ScanInto(&trashed),
		conn.NewStatement(removeDeletedWorkspaces[p.RemovalsOnly], int64(p.Max)).ScanInto(&closed),
		conn.NewStatement(removePurgedWorkspaces[p.RemovalsOnly], int64(p.Max)).ScanInto(&gone))...)
	return ended+trashed+closed+gone > 0, err
}

var markPurged = lockingVariants(`
UPDATE formsvc.forms f SET purged_at = clock_timestamp()
WHERE f.id = ANY (ARRAY(
	SELECT o.id FROM formsvc.forms o
	WHERE o.trashed_at < (SELECT $1::timestamptz) AND o.purged_at IS NULL
	ORDER BY o.trashed_at
	LIMIT (SELECT $2::bigint)
	FOR UPDATE SKIP LOCKED))`)

func (s *Store) markPurged(ctx context.Context, p storage.SweepParams, swept *storage.SweepResult) (_ bool, err error) {
	if !p.TrashBefore.IsZero() {
		swept.Forms, err = s.db.ChangeRows(ctx, markPurged[p.RemovalsOnly], p.TrashBefore.UTC(), int64(p.Max))
	}
	return false, err
}

// purgeFormsOfDeleted marks forms as purged if their workspaces were purged with their owner. They are already hidden.
const purgeFormsOfDeleted = `
WITH left_over AS MATERIALIZED (
	SELECT f.id
	FROM (SELECT o.id FROM formsvc.workspaces o WHERE o.purged ORDER BY o.id) o
	CROSS JOIN LATERAL (
		SELECT f.id FROM formsvc.forms f
		WHERE f.workspace_id = o.id AND f.trashed_at IS NOT NULL AND f.purged_at IS NULL LIMIT (SELECT $1::bigint)) f
	LIMIT (SELECT $1::bigint)
)
UPDATE formsvc.forms f SET purged_at = clock_timestamp()
FROM left_over l
WHERE f.id = l.id AND f.purged_at IS NULL`

func (s *Store) purgeFormsOfDeleted(ctx context.Context, p storage.SweepParams, _ *storage.SweepResult) (bool, error) {
	n, err := s.db.ChangeRows(ctx, purgeFormsOfDeleted, int64(p.Max))
	return n > 0, err
}

const purgedForms = `
	SELECT f.id, f.workspace_id FROM formsvc.forms f
	WHERE f.purged_at IS NOT NULL
	ORDER BY f.purged_at, f.id
	LIMIT (SELECT $1::bigint)
	FOR UPDATE SKIP LOCKED`

const purgedSubmissions = `
SELECT s.form_id, s.id, CASE WHEN $2::boolean THEN s.answers END, s.revision
FROM (SELECT f.id FROM formsvc.forms f WHERE f.purged_at IS NOT NULL ORDER BY f.purged_at, f.id LIMIT (SELECT $1::bigint)) p
CROSS JOIN LATERAL (SELECT s.form_id, s.id, s.answers, s.revision FROM formsvc.submissions s WHERE s.form_id = p.id LIMIT (SELECT $1::bigint)) s
LIMIT (SELECT $1::bigint)`

// removeRows deletes rows of purged forms, at most $1 from each table. It deletes the submissions $3 to the forms $2,
// which BeforeDelete has received. It leaves locked deliveries and attempts to the next sweep. It runs under
// lockFunnels, so that foldRows does not move counts in the meantime.
var removeRows = lockingVariants(`
WITH purged AS MATERIALIZED (` + purgedForms + `
), hooks AS MATERIALIZED (
	SELECT h.id
	FROM purged p
	CROSS JOIN LATERAL (SELECT h.id FROM formsvc.webhooks h WHERE h.form_id = p.id) h
), pending AS MATERIALIZED (
	SELECT d.rel, d.place FROM hooks h
	CROSS JOIN LATERAL (
		SELECT d.tableoid AS rel, d.ctid AS place FROM formsvc.deliveries d WHERE d.webhook_id = h.id LIMIT (SELECT $1::bigint) FOR UPDATE SKIP LOCKED) d
	LIMIT (SELECT $1::bigint)
), ended AS (
	DELETE FROM formsvc.deliveries d WHERE d.ctid = ANY (ARRAY(SELECT l.place FROM pending l)) AND (d.tableoid, d.ctid) IN (SELECT l.rel, l.place FROM pending l)
	RETURNING d.event_id
), recorded AS MATERIALIZED (
	SELECT a.rel, a.place FROM hooks h
	CROSS JOIN LATERAL (
		SELECT a.tableoid AS rel, a.ctid AS place FROM formsvc.attempts a WHERE a.webhook_id = h.id LIMIT (SELECT $1::bigint) FOR UPDATE SKIP LOCKED) a
	WHERE (SELECT count(*) FROM ended) >= 0
	LIMIT (SELECT $1::bigint)
), told AS (
	DELETE FROM formsvc.attempts a WHERE a.ctid = ANY (ARRAY(SELECT l.place FROM recorded l)) AND (a.tableoid, a.ctid) IN (SELECT l.rel, l.place FROM recorded l)
	RETURNING a.event_id
), stored AS MATERIALIZED (
	SELECT s.rel, s.place, s.event_id
	FROM (SELECT * FROM unnest($2::bytea[], $3::bytea[]) AS t (form_id, id) LIMIT (SELECT cardinality($2::bytea[]))) t -- hides the length from the planner
	CROSS JOIN LATERAL (SELECT s.tableoid AS rel, s.ctid AS place, s.event_id FROM formsvc.submissions s WHERE s.form_id = t.form_id AND s.id = t.id LIMIT 1) s
	WHERE t.form_id IN (SELECT p.id FROM purged p)
), bodies AS MATERIALIZED (
	SELECT e.id FROM formsvc.events e
	WHERE e.id = ANY (ARRAY(
		SELECT d.event_id FROM ended d UNION SELECT t.event_id FROM told t UNION SELECT s.event_id FROM stored s))
	ORDER BY e.id
	FOR UPDATE OF e
), forgotten AS (
	DELETE FROM formsvc.events e WHERE e.id = ANY (ARRAY(SELECT b.id FROM bodies b))
), responses AS (
	DELETE FROM formsvc.submissions s
	WHERE s.ctid = ANY (ARRAY(SELECT l.place FROM stored l WHERE (SELECT count(*) FROM bodies) >= 0))
		AND (s.tableoid, s.ctid) IN (SELECT l.rel, l.place FROM stored l)
	RETURNING 1
), ` + deleteFormRows("partials", "FOR UPDATE SKIP LOCKED") + `, ` + deleteFormRows("submission_history", "") + `, ` + deleteFormRows("unique_answers", "") + `, ` + deleteFormRows("funnel_log", "") + `, ` + deleteFormRows("funnel_days", "") + `, ` + deleteFormRows("funnel_minutes", "") + `, ` + deleteRows("documents", documentsToDelete) + `
SELECT (SELECT count(*) FROM told) + (SELECT count(*) FROM ended) + (SELECT count(*) FROM responses) + (SELECT count(*) FROM partials) + (SELECT count(*) FROM submission_history) + (SELECT count(*) FROM unique_answers) +
	(SELECT count(*) FROM funnel_log) + (SELECT count(*) FROM funnel_days) + (SELECT count(*) FROM funnel_minutes) + (SELECT count(*) FROM documents)`)

// deleteFormRows returns part of a WITH list that deletes the purged forms' rows from a table. The part is named after
// the table. The parameter lock is set for tables whose rows other statements lock.
func deleteFormRows(table, lock string) string {
	return deleteRows(table, `
	SELECT t.rel, t.place FROM purged p
	CROSS JOIN LATERAL (SELECT t.tableoid AS rel, t.ctid AS place FROM formsvc.`+table+` t WHERE t.form_id = p.id LIMIT (SELECT $1::bigint) `+lock+`) t
	LIMIT (SELECT $1::bigint)`)
}

// documentsToDelete selects the documents to delete in one batch. Large values count as several rows.
const documentsToDelete = `
	SELECT t.rel, t.place FROM (
		SELECT t.rel, t.place, sum(t.value_bytes) OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
		FROM purged p
		CROSS JOIN LATERAL (
			SELECT t.tableoid AS rel, t.ctid AS place, t.value_bytes FROM formsvc.documents t WHERE t.form_id = p.id LIMIT (SELECT $1::bigint)) t
		LIMIT (SELECT $1::bigint)
	) t
	WHERE COALESCE(t.before, 0) < 16 << 20`

func deleteRows(table, some string) string {
	return `most_` + table + ` AS MATERIALIZED (` + some + `
), ` + table + ` AS (
	DELETE FROM formsvc.` + table + ` t WHERE t.ctid = ANY (ARRAY(SELECT l.place FROM most_` + table + ` l)) AND (t.tableoid, t.ctid) IN (SELECT l.rel, l.place FROM most_` + table + ` l)
	RETURNING 1
)`
}

// removeForms deletes purged forms that have no rows left in the tables below. Foreign keys delete their webhooks,
// limit, backfill progress and lifetime counters. It marks their deleted workspaces for cleanUpWorkspaces, because
// these workspaces may have lost their last form.
var removeForms = lockingVariants(`
WITH empty AS MATERIALIZED (
	SELECT f.id FROM (` + purgedForms + `
	) f
	WHERE NOT EXISTS (SELECT FROM formsvc.submissions s WHERE s.form_id = f.id)
		AND NOT EXISTS (SELECT FROM formsvc.partials h WHERE h.form_id = f.id)
		AND NOT EXISTS (SELECT FROM formsvc.submission_history h WHERE h.form_id = f.id)
		AND NOT EXISTS (SELECT FROM formsvc.unique_answers u WHERE u.form_id = f.id)
		AND NOT EXISTS (SELECT FROM formsvc.funnel_log g WHERE g.form_id = f.id)
		AND NOT EXISTS (SELECT FROM formsvc.funnel_days d WHERE d.form_id = f.id)
		AND NOT EXISTS (SELECT FROM formsvc.funnel_minutes m WHERE m.form_id = f.id)
		AND NOT EXISTS (SELECT FROM formsvc.documents b WHERE b.form_id = f.id)
		AND NOT EXISTS (
			SELECT FROM formsvc.webhooks h
			WHERE h.form_id = f.id
				AND ((SELECT d.event_id FROM formsvc.deliveries d WHERE d.webhook_id = h.id LIMIT 1) IS NOT NULL
					OR (SELECT a.id FROM formsvc.attempts a WHERE a.webhook_id = h.id LIMIT 1) IS NOT NULL))
), hooks AS MATERIALIZED (
	SELECT h.id FROM formsvc.webhooks h WHERE h.form_id = ANY (ARRAY(SELECT e.id FROM empty e))
), forgotten AS (
	DELETE FROM formsvc.destinations x
	WHERE x.webhook_id = ANY (ARRAY(SELECT h.id FROM hooks h))
), gone AS (
	DELETE FROM formsvc.forms f
	WHERE f.id = ANY (ARRAY(SELECT e.id FROM empty e))
	RETURNING f.workspace_id
), left_behind AS (
	UPDATE formsvc.workspaces o SET tidied = false
	WHERE o.id = ANY (ARRAY(SELECT g.workspace_id FROM gone g)) AND o.tidied
)
SELECT count(*) FROM gone`)

func (s *Store) removePurgedForms(ctx context.Context, p storage.SweepParams, _ *storage.SweepResult) (more bool, err error) {
	of, ids, err := s.callBeforeDelete(ctx, p.BeforeDelete, p.Max, purgedSubmissions)
	if err != nil {
		return false, err
	}
	var rows, forms int64
	err = s.db.Change(ctx, s.lockStatement(lockFunnels, storage.ID{}),
		conn.NewStatement(removeRows[p.RemovalsOnly], int64(p.Max), conn.IDsArg(of), conn.IDsArg(ids)).ScanInto(&rows), conn.NewStatement(removeForms[p.RemovalsOnly], int64(p.Max)).ScanInto(&forms))
	return rows+forms > 0, err
}
