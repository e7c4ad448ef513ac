package postgres

import (
	"context"
	"time"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// lockWorkspacesOfUser locks the workspaces that the user owns or is a member of, including deleted ones.
const lockWorkspacesOfUser = `
SELECT 1 FROM formsvc.workspaces w
WHERE w.owner_id = $1::bytea OR w.id = ANY (ARRAY(SELECT a.workspace_id FROM formsvc.workspace_users a WHERE a.user_id = $1::bytea))
ORDER BY w.id
FOR NO KEY UPDATE`

// deleteUser makes the user's workspaces and forms inaccessible. Sweeps delete their rows.
const deleteUser = `
WITH owned AS (
	UPDATE formsvc.workspaces w SET deleted_at = COALESCE(w.deleted_at, $2::timestamptz), name = '', tidied = false, purged = true
	WHERE w.owner_id = $1::bytea
	RETURNING w.id
), ended AS (
	DELETE FROM formsvc.workspace_users a
	WHERE a.user_id = $1::bytea OR a.workspace_id = ANY (ARRAY(SELECT o.id FROM owned o))
)
DELETE FROM formsvc.api_keys k WHERE k.user_id = $1::bytea`

// DeleteUser implements [storage.RemovalStore]. Its duration does not depend on the number of forms. It does not wait
// for submissions, but sweeps do (see trashFormsOfDeleted).
func (s *Store) DeleteUser(ctx context.Context, user storage.ID, at time.Time) error {
	if at.IsZero() {
		return storage.ErrInvalidValue
	}
	return s.db.Change(ctx, s.lockStatement(lockOwners, user), s.lockStatement(lockKeys, user),
		conn.NewStatement(lockWorkspacesOfUser, user[:]), conn.NewStatement(deleteUser, user[:], at.UTC()))
}

// purgeForm requires the form's lock. It also sets trashed_at if the form is in the trash because of its workspace.
const purgeForm = `
UPDATE formsvc.forms f SET purged_at = clock_timestamp(), trashed_at = COALESCE(f.trashed_at, (
	SELECT o.deleted_at FROM formsvc.workspaces o WHERE o.id = f.workspace_id))
WHERE f.id = $1::bytea AND ` + formInTrash + `
RETURNING 1`

// PurgeForm implements [storage.RemovalStore].
func (s *Store) PurgeForm(ctx context.Context, id storage.ID) error {
	return s.db.Change(ctx, s.formLockStatement(id), conn.NewStatement(purgeForm, id[:]).ScanInto(nil))
}

// removalStatements delete accessible submissions of a form. The statement in lock locks the pending deliveries of the
// submissions' events, and then the events, which prevents redeliveries. The statement in remove runs next, and also
// deletes a delivery that a redelivery has added in the meantime. If $4 is true, the submissions still count against
// the response limit, and are included in a count in progress.
type removalStatements struct{ lock, remove string }

var (
	removalByActor = buildRemoval(formAccess)
	removalByHost  = buildRemoval(notPurged + ` AND $2::bytea IS NULL`)
)

func buildRemoval(access string) removalStatements {
	return removalStatements{`
WITH responses AS MATERIALIZED (
	SELECT s.id, s.event_id
	FROM formsvc.submissions s JOIN formsvc.forms f ON f.id = s.form_id
	WHERE s.form_id = $1::bytea AND s.id = ANY ($3::bytea[]) AND ` + access + `
), ` + eventsOf("responses") + `, pending AS MATERIALIZED (
	SELECT d.webhook_id
	FROM told r
	JOIN formsvc.webhooks w ON w.form_id = $1::bytea
	JOIN formsvc.deliveries d ON d.webhook_id = w.id AND d.event_id = r.event_id
	ORDER BY d.event_id, d.webhook_id
	FOR UPDATE OF d
)
SELECT e.id
FROM told r JOIN formsvc.events e ON e.id = r.event_id
WHERE (SELECT count(*) FROM pending) >= 0
ORDER BY e.id
FOR UPDATE OF e`, `
WITH gone AS (
	DELETE FROM formsvc.submissions s USING formsvc.forms f
	WHERE s.form_id = $1::bytea AND s.id = ANY ($3::bytea[])
		AND f.id = $1::bytea AND ` + access + `
	RETURNING s.id, s.event_id
), freed AS (
	DELETE FROM formsvc.unique_answers u USING gone
	WHERE u.form_id = $1::bytea AND u.submission_id = gone.id
), histories AS (
	DELETE FROM formsvc.submission_history h USING gone
	WHERE h.form_id = $1::bytea AND h.submission_id = gone.id
), ` + eventsOf("gone") + `, ended AS (
	DELETE FROM formsvc.deliveries d USING told, formsvc.webhooks w
	WHERE w.form_id = $1::bytea AND d.webhook_id = w.id AND d.event_id = told.event_id
	RETURNING 1
), forgotten AS (
	DELETE FROM formsvc.events e USING told
	WHERE e.id = told.event_id AND e.form_id = $1::bytea AND (SELECT count(*) FROM ended) >= 0
), room AS (
	UPDATE formsvc.form_limits l SET submission_count = l.submission_count + (
		SELECT CASE WHEN $4::boolean THEN count(*) FILTER (WHERE NOT ` + coveredByCount + `) ELSE -count(*) FILTER (WHERE ` + coveredByCount + `) END
		FROM gone response)
	WHERE l.form_id = $1::bytea AND EXISTS (SELECT FROM gone)
), counted AS (
	INSERT INTO formsvc.form_removals AS r (form_id, removed) SELECT $1::bytea, count(*) FROM gone HAVING count(*) > 0
	ON CONFLICT (form_id) DO UPDATE SET removed = r.removed + EXCLUDED.removed
), places AS (
	UPDATE formsvc.forms f SET places_kept = f.places_kept + (SELECT count(*) FROM gone)
	WHERE f.id = $1::bytea AND $4::boolean AND EXISTS (SELECT FROM gone)
)
SELECT count(*) FROM gone`}
}

// eventsOf returns part of a WITH list that selects the events of the submissions in a CTE, including the events of
// their changes. No update is in progress, because it would hold the form's exclusive lock.
func eventsOf(submissions string) string {
	return `told AS MATERIALIZED (
	SELECT r.event_id FROM ` + submissions + ` r WHERE r.event_id IS NOT NULL
	UNION ALL
	SELECT e.id FROM ` + submissions + ` r
	CROSS JOIN LATERAL (
		SELECT e.id FROM formsvc.events e WHERE e.submission_id = r.id AND e.of_change AND e.form_id = $1::bytea OFFSET 0) e -- uses the index
)`
}

// removeSubmissions deletes submissions to a form. If places is true, the deleted submissions still count against the
// response limit. Like Submit, it takes the form's shared lock, so that a count for a new limit is correct.
func (s *Store) removeSubmissions(ctx context.Context, by removalStatements, form storage.ID, user []byte, ids []storage.ID, places bool) (gone int, err error) {
	err = s.db.Change(ctx, s.sharedFormLockStatement(form), conn.NewStatement(by.lock, form[:], user, conn.IDsArg(ids)),
		conn.NewStatement(by.remove, form[:], user, conn.IDsArg(ids), places).ScanInto(&gone))
	if err != nil { // the commit may have failed
		return 0, err
	}
	return gone, nil
}

// EraseSubmissions implements [storage.RemovalStore].
func (s *Store) EraseSubmissions(ctx context.Context, form storage.ID, ids []storage.ID) (int, error) {
	if len(ids) == 0 {
		return 0, ctx.Err()
	}
	return s.removeSubmissions(ctx, removalByHost, form, nil, ids, false)
}

// maxBeforeDelete limits the submissions in memory, because their answers can have one MiB each.
const maxBeforeDelete = 100

// callBeforeDelete reads submissions with the SQL in text, passes them to hook, and returns their IDs. It holds
// no lock while hook runs. It appends two arguments to args: the limit, and whether to read the answers.
func (s *Store) callBeforeDelete(ctx context.Context, hook storage.BeforeDelete, limit int, text string, args ...any) (forms, ids []storage.ID, err error) {
	if hook != nil {
		limit = min(limit, maxBeforeDelete)
	}
	found, err := conn.ReadAll(ctx, &s.db, func(sub *storage.Submission) []any {
		return []any{&sub.FormID, &sub.ID, (*[]byte)(&sub.Answers), &sub.Revision}
	}, text, append(args, int64(limit), hook != nil)...)
	for i := range found {
		forms, ids = append(forms, found[i].FormID), append(ids, found[i].ID)
	}
	if err == nil && hook != nil && len(found) > 0 {
		err = hook(ctx, found)
	}
	for i := range found {
		if err == nil && hook != nil && found[i].Revision > 1 {
			err = s.callForEarlierStates(ctx, hook, found[i].FormID, found[i].ID)
		}
	}
	return forms, ids, err
}

const earlierAnswers = `SELECT h.answers FROM formsvc.submission_history h WHERE h.form_id = $1::bytea AND h.submission_id = $2::bytea`

// callForEarlierStates passes the earlier states of one submission to hook.
func (s *Store) callForEarlierStates(ctx context.Context, hook storage.BeforeDelete, form, id storage.ID) error {
	states, err := conn.ReadAll(ctx, &s.db, func(sub *storage.Submission) []any {
		sub.FormID, sub.ID = form, id
		return []any{(*[]byte)(&sub.Answers)}
	}, earlierAnswers, form[:], id[:])
	if err != nil || len(states) == 0 {
		return err
	}
	return hook(ctx, states)
}

// oldSubmissions selects old submissions to the first form that has any.
const oldSubmissions = `
WITH form AS MATERIALIZED (
	SELECT f.id
	FROM unnest((SELECT $1::bytea[])) WITH ORDINALITY AS g (id, place) JOIN formsvc.forms f ON f.id = g.id
	WHERE (SELECT s.id FROM formsvc.submissions s WHERE s.form_id = f.id AND s.submitted_at < $2::timestamptz LIMIT 1) IS NOT NULL
		AND ` + notPurged + `
	ORDER BY g.place
	LIMIT 1
)
SELECT form.id, old.id, CASE WHEN $4::boolean THEN old.answers END, old.revision
FROM form CROSS JOIN LATERAL (
	SELECT s.id, s.answers, s.revision FROM formsvc.submissions s
	WHERE s.form_id = form.id AND s.submitted_at < $2::timestamptz
	ORDER BY s.submitted_at, s.id
	LIMIT (SELECT $3::bigint)
) old`

// PurgeSubmissions implements [storage.RemovalStore]. Each call purges submissions to one form.
func (s *Store) PurgeSubmissions(ctx context.Context, p storage.PurgeSubmissionsParams) (storage.PurgedSubmissions, error) {
	if err := ctx.Err(); err != nil {
		return storage.PurgedSubmissions{}, err
	}
	if err := conn.CheckArgs([]any{p.Before}); err != nil || p.Max < 1 {
		return storage.PurgedSubmissions{}, err
	}
	forms, old, err := s.callBeforeDelete(ctx, p.BeforeDelete, p.Max, oldSubmissions, conn.IDsArg(p.Forms), p.Before.UTC())
	if err != nil || len(old) == 0 {
		return storage.PurgedSubmissions{}, err
	}
	gone, err := s.removeSubmissions(ctx, removalByHost, forms[0], nil, old, true)
	return storage.PurgedSubmissions{Submissions: gone, More: err == nil}, err
}
