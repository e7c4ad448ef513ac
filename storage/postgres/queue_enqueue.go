package postgres

import (
	"context"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// liveWebhook is part of a WITH list. It selects the webhook $1, unless its form is in the trash.
const liveWebhook = `hook AS (
	SELECT w.id, w.form_id, w.enabled
	FROM formsvc.webhooks w JOIN formsvc.forms f ON f.id = w.form_id
	WHERE w.id = $1::bytea AND ` + formNotTrashed + `
)`

// makeDueNow is part of a WITH list. It makes the delivery in the CTE pending due immediately.
const makeDueNow = `hastened AS (
	UPDATE formsvc.deliveries d SET
		queued_at = statement_timestamp(),
		due_at = CASE WHEN p.leased THEN d.due_at END,
		urgency = CASE WHEN p.result_may_come THEN 2 ELSE 1 END
	FROM pending p, hook
	WHERE d.event_id = p.event_id AND d.webhook_id = p.webhook_id AND hook.enabled
)`

// enqueue returns no row if the webhook does not exist. If $5 is true, the CTE pending contains an event
// without a submission that already waits for the webhook. A lock serializes a webhook's calls, so each call sees the
// events of earlier calls.
const enqueue = `
WITH ` + liveWebhook + `, pending AS MATERIALIZED (
	SELECT d.event_id, d.webhook_id, COALESCE(d.leased_until > statement_timestamp(), false) AS leased, d.token <> 0 AS result_may_come
	FROM hook
	JOIN formsvc.events e ON e.form_id = hook.form_id AND e.submission_id IS NULL
	JOIN formsvc.deliveries d ON d.webhook_id = hook.id AND d.event_id = e.id
	WHERE (SELECT $5::boolean) AND hook.enabled
	LIMIT 1
	FOR UPDATE OF d
), ` + makeDueNow + `, queued AS (
	INSERT INTO formsvc.deliveries (webhook_id, event_id, token, size, urgency)
	SELECT hook.id, $2::bytea, 0, octet_length($4::bytea), 1 FROM hook WHERE hook.enabled AND NOT EXISTS (SELECT FROM pending)
	ON CONFLICT DO NOTHING
	RETURNING event_id, webhook_id
), arrived AS (
	INSERT INTO formsvc.arrivals (webhook_id, asked)
	SELECT queued.webhook_id, true FROM queued UNION ALL SELECT pending.webhook_id, true FROM pending
), told AS (
	INSERT INTO formsvc.events AS e (id, form_id, type, body, refs)
	SELECT queued.event_id, hook.form_id, $3::text, $4::bytea, 1 FROM hook, queued
	ON CONFLICT (id) DO UPDATE SET refs = e.refs + 1
)
SELECT hook.enabled FROM hook`

// Enqueue implements [storage.DeliveryStore]. If the event is already pending for the webhook, nothing changes.
func (s *Store) Enqueue(ctx context.Context, webhook storage.ID, e storage.Event) error {
	var enabled bool
	err := s.db.Change(ctx, conn.NewStatement(lockFormOfWebhookShared, webhook[:], s.lockSalt(lockForms)), s.lockStatement(lockRequestedDeliveries, webhook),
		conn.NewStatement(enqueue, webhook[:], e.ID[:], e.Type, conn.ListArg(e.Body), e.Single).ScanInto(&enabled))
	if err == nil && !enabled {
		return storage.ErrConflict
	}
	return err
}

// redeliver returns no row if the webhook does not exist. It locks the pending delivery, or the event if there is none,
// so that the event is not deleted before the new delivery counts as a reference. It does not lock both, because a
// concurrent deletion can lock the event before a new delivery. If $4 is true, it applies only to failed deliveries. A
// concurrent result deletes the delivery and adds its attempt in one step, so the statement's snapshot contains either
// the delivery or the attempt.
const redeliver = `
WITH ` + liveWebhook + `, told AS MATERIALIZED (
	SELECT w.id AS webhook_id, a.event_id FROM hook w CROSS JOIN LATERAL ` + webhookHistory + ` a
	WHERE a.id = $2::bytea AND (NOT (SELECT $4::boolean) OR NOT a.success
		AND NOT EXISTS (SELECT FROM formsvc.deliveries d WHERE d.webhook_id = w.id AND d.event_id = a.event_id)
		AND NOT EXISTS (
			SELECT FROM formsvc.attempts b
			WHERE b.webhook_id = w.id AND b.event_id = a.event_id AND (b.created_at, b.id) > (a.created_at, a.id)))
), pending AS MATERIALIZED (
	SELECT d.event_id, d.webhook_id, COALESCE(d.leased_until > statement_timestamp(), false) AS leased, d.token <> 0 AS result_may_come
	FROM told t JOIN formsvc.deliveries d ON d.webhook_id = t.webhook_id AND d.event_id = t.event_id
	FOR UPDATE OF d
), body AS MATERIALIZED (
	SELECT e.id, octet_length(e.body) AS size
	FROM told t JOIN formsvc.events e ON e.id = t.event_id
	WHERE (SELECT count(*) FROM pending) = 0
	FOR UPDATE OF e
), ` + makeDueNow + `, queued AS (
	INSERT INTO formsvc.deliveries AS d (webhook_id, event_id, token, size, urgency)
	SELECT hook.id, body.id, 0, body.size, 1 FROM hook, body WHERE hook.enabled
	ON CONFLICT DO NOTHING
	RETURNING event_id
), arrived AS (
	INSERT INTO formsvc.arrivals (webhook_id, asked) SELECT hook.id, true FROM hook, told WHERE hook.enabled
), counted AS (
	UPDATE formsvc.events e SET refs = e.refs + 1
	FROM queued
	WHERE e.id = queued.event_id
)
SELECT hook.enabled, EXISTS (SELECT FROM pending) OR EXISTS (SELECT FROM body) FROM hook`

// Redeliver implements [storage.DeliveryStore].
func (s *Store) Redeliver(ctx context.Context, webhook, attempt storage.ID) error {
	return s.redeliver(ctx, webhook, attempt, false)
}

// RedeliverFailed implements [storage.DeliveryStore].
func (s *Store) RedeliverFailed(ctx context.Context, webhook, attempt storage.ID) error {
	return s.redeliver(ctx, webhook, attempt, true)
}

func (s *Store) redeliver(ctx context.Context, webhook, attempt storage.ID, onlyFailed bool) error {
	var enabled, found bool
	err := s.db.Change(ctx, conn.NewStatement(lockFormOfWebhookShared, webhook[:], s.lockSalt(lockForms)), s.lockStatement(lockRequestedDeliveries, webhook),
		conn.NewStatement(redeliver, webhook[:], attempt[:], int64(storage.MaxHistory), onlyFailed).ScanInto(&enabled, &found))
	switch {
	case err != nil:
		return err
	case !found:
		return storage.ErrNotFound
	case !enabled:
		return storage.ErrConflict
	}
	return nil
}
