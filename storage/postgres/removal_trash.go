package postgres

import (
	"context"
	"math"
	"time"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// endPending is part of a WITH list. It ends pending deliveries of the webhooks in the CTE hooks. The
// CTE most contains the maximum number of deliveries to end.
const endPending = `found AS MATERIALIZED (
	SELECT d.webhook_id, d.event_id
	FROM hooks h
	CROSS JOIN LATERAL (
		SELECT d.webhook_id, d.event_id FROM formsvc.deliveries d
		WHERE d.webhook_id = h.id
		ORDER BY d.event_id
		LIMIT (SELECT m.n FROM most m)
	) d
	LIMIT (SELECT m.n FROM most m)
), pending AS MATERIALIZED (
	SELECT d.webhook_id, d.event_id
	FROM found p JOIN formsvc.deliveries d ON d.event_id = p.event_id AND d.webhook_id = p.webhook_id
	ORDER BY d.event_id, d.webhook_id
	FOR UPDATE OF d
), ended AS (
	DELETE FROM formsvc.deliveries d USING pending p
	WHERE d.event_id = p.event_id AND d.webhook_id = p.webhook_id
	RETURNING d.webhook_id, d.event_id
), ` + transferReferences + `, changes AS (
	SELECT * FROM left_over
), ` + updateReferences

const lockPending = `
WITH pending AS MATERIALIZED (
	SELECT d.webhook_id
	FROM formsvc.forms f
	JOIN formsvc.webhooks w ON w.form_id = f.id
	JOIN formsvc.deliveries d ON d.webhook_id = w.id
	WHERE f.id = $1::bytea AND ` + formAccess + `
	ORDER BY d.event_id, d.webhook_id
	FOR UPDATE OF d
)
SELECT count(*) FROM pending`

// trashForm runs after lockPending, so it sees attempts that concurrent results have added. It returns no row if the
// form is not accessible.
const trashForm = `
WITH most AS (
	SELECT $5::bigint AS n
), seen AS MATERIALIZED (
	SELECT f.id, f.revision, cardinality($4::bigint[]) = 0 OR f.revision = ANY ($4::bigint[]) AS holds
	FROM formsvc.forms f
	WHERE f.id = $1::bytea AND ` + formAccess + `
	FOR NO KEY UPDATE OF f
), trashed AS (
	UPDATE formsvc.forms f SET trashed_at = $3::timestamptz
	FROM seen
	WHERE f.id = seen.id AND seen.holds
	RETURNING f.id
), hooks AS MATERIALIZED (
	SELECT h.id FROM formsvc.webhooks h JOIN trashed ON h.form_id = trashed.id
), ` + endPending + `
SELECT seen.holds, seen.revision FROM seen`

// TrashForm implements [storage.FormStore].
func (s *Store) TrashForm(ctx context.Context, actor storage.Actor, id storage.ID, p storage.TrashParams) error {
	if p.At.IsZero() {
		return storage.ErrInvalidValue
	}
	var holds bool
	var current int64
	err := s.db.Change(ctx, s.formLockStatement(id), conn.NewStatement(lockPending, id[:], userArg(actor)),
		conn.NewStatement(trashForm, id[:], userArg(actor), p.At.UTC(), conn.ListArg(p.IfRevision), int64(math.MaxInt64)).ScanInto(&holds, &current))
	if err == nil && !holds {
		return &storage.RevisionError{Current: current}
	}
	return err
}

const lockRestoreTarget = `
SELECT 1 FROM formsvc.workspaces w
WHERE w.id = COALESCE((SELECT $2::bytea), (SELECT f.workspace_id FROM formsvc.forms f WHERE f.id = $1::bytea))
FOR SHARE OF w`

// formInTrash is the condition that the form f can be restored.
const formInTrash = notPurged + ` AND (f.trashed_at IS NOT NULL OR NOT ` + workspaceNotDeleted + `)`

// restoreForm restores a form, even if it is in the trash only because of its workspace. It marks the previous
// workspace for the next sweep, because this may have been the workspace's last form. While deliveries from before the
// workspace's deletion exist, it restores nothing, because these deliveries could be sent.
const restoreForm = `
WITH seen AS MATERIALIZED (
	SELECT f.id, f.workspace_id, COALESCE($2::bytea, f.workspace_id) AS target FROM formsvc.forms f
	WHERE f.id = $1::bytea AND ` + formInTrash + `
	FOR NO KEY UPDATE OF f
), pending AS MATERIALIZED (
	SELECT EXISTS (
		SELECT FROM formsvc.webhooks h
		WHERE h.form_id = $1::bytea
			AND (SELECT d.event_id FROM formsvc.deliveries d WHERE d.webhook_id = h.id LIMIT 1) IS NOT NULL
	) AS left_over
), restored AS (
	UPDATE formsvc.forms f SET
		trashed_at = NULL,
		workspace_id = w.id,
		revision = CASE WHEN f.workspace_id = w.id THEN f.revision ELSE f.revision + 1 END,
		updated_at = CASE WHEN f.workspace_id = w.id THEN f.updated_at ELSE $3::timestamptz END
	FROM pending, seen JOIN formsvc.workspaces w ON w.id = seen.target AND w.deleted_at IS NULL
	WHERE f.id = seen.id AND NOT pending.left_over
	RETURNING f.id
), left_behind AS (
	UPDATE formsvc.workspaces o SET tidied = false
	FROM seen, restored
	WHERE o.id = seen.workspace_id AND o.tidied
)
SELECT EXISTS (
	SELECT FROM formsvc.workspaces w WHERE w.id = seen.target AND w.deleted_at IS NULL), pending.left_over
FROM seen, pending`

const endDeliveriesOfTrashed = `
WITH most AS (
	SELECT $2::bigint AS n
), hooks AS MATERIALIZED (
	SELECT h.id FROM formsvc.webhooks h JOIN formsvc.forms f ON f.id = h.form_id
	WHERE f.id = $1::bytea AND ` + formInTrash + `
), ` + endPending + `
SELECT count(*) FROM ended`

const maxEndedDeliveries = 5000

// RestoreForm implements [storage.FormStore]. If the workspace changes, UpdatedAt becomes at.
func (s *Store) RestoreForm(ctx context.Context, id, workspace storage.ID, at time.Time) error {
	for {
		var possible, pending bool
		err := s.db.Change(ctx, conn.NewStatement(lockRestoreTarget, id[:], conn.IDArg(workspace)), s.formLockStatement(id), conn.NewStatement(lockWebhooksOfForm, id[:]),
			conn.NewStatement(restoreForm, id[:], conn.IDArg(workspace), at.UTC()).ScanInto(&possible, &pending))
		switch {
		case err != nil:
			return err
		case !possible:
			return storage.ErrConflict
		case !pending:
			return nil
		}
		if err := s.db.Change(ctx, s.formLockStatement(id), conn.NewStatement(endDeliveriesOfTrashed, id[:], int64(maxEndedDeliveries))); err != nil {
			return err
		}
	}
}
