package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/storage"
)

// endTrashedDeliveries is a part of a WITH list: it ends the pending deliveries
// of the forms in trashed. The rows are locked in the order that every statement
// locks them in.
const endTrashedDeliveries = `pending AS (
	SELECT d.webhook_id, d.event_id FROM formsvc.deliveries d
	WHERE d.webhook_id IN (SELECT h.id FROM formsvc.webhooks h JOIN trashed ON h.form_id = trashed.id) AND d.attempt > 0
	ORDER BY d.event_id, d.webhook_id
	FOR UPDATE OF d
), ended AS (
	DELETE FROM formsvc.deliveries d USING pending p
	WHERE d.event_id = p.event_id AND d.webhook_id = p.webhook_id
	RETURNING d.event_id
), changes AS (
	SELECT ended.event_id, -1 AS refs FROM ended
), ` + countReferences

const trashForm = `
WITH trashed AS (
	UPDATE formsvc.forms f SET trashed_at = $3::timestamptz
	WHERE f.id = $1::bytea AND f.trashed_at IS NULL AND ` + formAccess + `
	RETURNING f.id
), ` + endTrashedDeliveries + `
SELECT count(*) FROM trashed`

// TrashForm implements [storage.FormStore]. A zero time is ErrInvalidValue: it
// would say that the form is not in the trash.
func (s *Store) TrashForm(ctx context.Context, who storage.Actor, id storage.ID, at time.Time) error {
	if at.IsZero() {
		return storage.ErrInvalidValue
	}
	return s.write(ctx, func(ctx context.Context) error {
		b := &pgx.Batch{}
		s.lockForm(b, id)
		s.queue(b, trashForm, id[:], userArg(who), at.UTC())
		var trashed int64
		err := s.sendRow(ctx, b, func(rows pgx.Rows) error { return rows.Scan(&trashed) })
		if err == nil && trashed == 0 {
			return storage.ErrNotFound
		}
		return err
	})
}

// lockRestoreTarget keeps the workspace that the form goes to from being deleted
// meanwhile.
const lockRestoreTarget = `
SELECT 1 FROM formsvc.workspaces w
WHERE w.id = COALESCE($2::bytea, (SELECT f.workspace_id FROM formsvc.forms f WHERE f.id = $1::bytea))
FOR SHARE OF w`

const restoreForm = `
WITH seen AS (
	SELECT f.id, COALESCE($2::bytea, f.workspace_id) AS target FROM formsvc.forms f
	WHERE f.id = $1::bytea AND f.trashed_at IS NOT NULL
	FOR NO KEY UPDATE OF f
), restored AS (
	UPDATE formsvc.forms f SET
		trashed_at = NULL,
		workspace_id = w.id,
		revision = CASE WHEN f.workspace_id = w.id THEN f.revision ELSE f.revision + 1 END,
		updated_at = CASE WHEN f.workspace_id = w.id THEN f.updated_at ELSE $3::timestamptz END
	FROM seen JOIN formsvc.workspaces w ON w.id = seen.target AND w.deleted_at IS NULL
	WHERE f.id = seen.id
	RETURNING f.id
)
SELECT EXISTS (SELECT 1 FROM restored) FROM seen`

// RestoreForm implements [storage.FormStore]. UpdatedAt becomes at when the form
// changes its workspace, as with every other change of its revision.
func (s *Store) RestoreForm(ctx context.Context, id, workspace storage.ID, at time.Time) error {
	return s.write(ctx, func(ctx context.Context) error {
		b := &pgx.Batch{}
		s.queue(b, lockRestoreTarget, id[:], idArg(workspace))
		s.queue(b, restoreForm, id[:], idArg(workspace), at.UTC())
		var restored bool
		err := s.sendRow(ctx, b, func(rows pgx.Rows) error { return rows.Scan(&restored) })
		if err == nil && !restored {
			return storage.ErrConflict
		}
		return noRow(err, storage.ErrNotFound)
	})
}
