package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/storage"
)

// liveWebhook is a part of a WITH list: the webhook $1, unless its form is in the
// trash.
const liveWebhook = `hook AS (
	SELECT w.id, w.form_id, w.enabled
	FROM formsvc.webhooks w JOIN formsvc.forms f ON f.id = w.form_id
	WHERE w.id = $1::bytea AND f.trashed_at IS NULL
)`

// enqueue has no row when there is no such webhook.
const enqueue = `
WITH ` + liveWebhook + `, told AS (
	INSERT INTO formsvc.events (id, form_id, type, body)
	SELECT $2::bytea, hook.form_id, $3::text, $4::bytea FROM hook WHERE hook.enabled
	ON CONFLICT DO NOTHING
), queued AS (
	INSERT INTO formsvc.deliveries (webhook_id, event_id, due_at, token)
	SELECT hook.id, $2::bytea, $5::timestamptz, 0 FROM hook WHERE hook.enabled
	ON CONFLICT DO NOTHING
)
SELECT hook.enabled FROM hook`

// Enqueue implements [storage.DeliveryStore]. When the event is already pending
// for the webhook, nothing changes.
func (s *Store) Enqueue(ctx context.Context, webhook storage.ID, e storage.Event, due time.Time) error {
	return s.write(ctx, func(ctx context.Context) error {
		b := &pgx.Batch{}
		s.queue(b, lockFormOfWebhookShared, webhook[:], s.lockSalt(lockForms))
		s.queue(b, enqueue, webhook[:], e.ID[:], e.Type, bytesArg(e.Body), due.UTC())
		var enabled bool
		err := s.sendRow(ctx, b, func(rows pgx.Rows) error { return rows.Scan(&enabled) })
		if err == nil && !enabled {
			return storage.ErrConflict
		}
		return noRow(err, storage.ErrNotFound)
	})
}

// redeliver changes the event, too, so that nobody who sees it without its
// delivery can remove it. A delivery that is pending is locked before that: whoever
// ends one removes it first, and then its event. There is no row when there is no
// such webhook.
const redeliver = `
WITH ` + liveWebhook + `, body AS (
	SELECT e.id
	FROM hook
	JOIN formsvc.attempts a ON a.webhook_id = hook.id AND a.id = $2::bytea
	JOIN formsvc.events e ON e.id = a.event_id
), pending AS MATERIALIZED (
	SELECT d.event_id
	FROM hook CROSS JOIN body JOIN formsvc.deliveries d ON d.event_id = body.id AND d.webhook_id = hook.id
	FOR UPDATE OF d
), requeued AS (
	UPDATE formsvc.events e SET requeued = e.requeued + 1
	FROM body, hook
	WHERE e.id = body.id AND hook.enabled AND (SELECT count(*) FROM pending) >= 0
	RETURNING e.id
), queued AS (
	INSERT INTO formsvc.deliveries AS d (webhook_id, event_id, due_at, token)
	SELECT hook.id, requeued.id, $3::timestamptz, 0 FROM hook, requeued
	ON CONFLICT (webhook_id, event_id) DO UPDATE SET due_at = EXCLUDED.due_at
	RETURNING 1
)
SELECT hook.enabled, EXISTS (SELECT FROM body), EXISTS (SELECT FROM queued) FROM hook`

// Redeliver implements [storage.DeliveryStore].
func (s *Store) Redeliver(ctx context.Context, webhook, attempt storage.ID, due time.Time) error {
	return s.write(ctx, func(ctx context.Context) error {
		b := &pgx.Batch{}
		s.queue(b, lockFormOfWebhookShared, webhook[:], s.lockSalt(lockForms))
		s.queue(b, redeliver, webhook[:], attempt[:], due.UTC())
		var enabled, found, queued bool
		err := s.sendRow(ctx, b, func(rows pgx.Rows) error { return rows.Scan(&enabled, &found, &queued) })
		switch {
		case err != nil:
			return noRow(err, storage.ErrNotFound)
		case !found:
			return storage.ErrNotFound
		case !enabled:
			return storage.ErrConflict
		case !queued: // the body went at this moment
			return storage.ErrNotFound
		}
		return nil
	})
}
