package postgres

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/storage"
)

// pendingLanes is a recursive part of a WITH list: the webhooks with pending
// deliveries and when the first of each is due. It goes from one webhook to the
// next in deliveries_due, however many deliveries each of them has.
const pendingLanes = `lanes AS (
	(SELECT d.webhook_id, d.due_at FROM formsvc.deliveries d WHERE d.attempt > 0 ORDER BY d.webhook_id, d.due_at LIMIT 1)
	UNION ALL
	SELECT n.webhook_id, n.due_at
	FROM lanes l
	CROSS JOIN LATERAL (
		SELECT d.webhook_id, d.due_at FROM formsvc.deliveries d
		WHERE d.webhook_id > l.webhook_id AND d.attempt > 0
		ORDER BY d.webhook_id, d.due_at
		LIMIT 1
	) n
)`

// claim takes the webhooks in turn, least recently served first, and of each one
// no more than it has room for, until the batch is full. What another claim is
// just taking is passed over. Nothing is sorted after the turns were, so that no
// row is locked that the batch has no room for.
//
// Deliveries are found again by where they are, which cannot change while they
// are locked. The turn is not written for webhooks that another claim serves just
// now. A claim waits for no row, so whoever waits for one of its rows does not wait
// for long. What the caller holds is an object by id, which is fast to look up
// however much that is: as a join it would be read for each webhook.
//
// An event's body comes with the first of its deliveries only; which one that is
// gets known before the bodies are read, so that no body is sorted.
//
// The bound of the batch is a subquery, and what is looked up by its id is LATERAL
// with a LIMIT: that leaves the planner the index and no other way, however little
// or much it knows about the number of rows.
const claim = `
WITH RECURSIVE ` + pendingLanes + `, turns AS MATERIALIZED (
	SELECT w.id, w.destination, w.url, w.secret, w.failures, l.room
	FROM (
		SELECT l.webhook_id, $3::bigint - COALESCE(($4::jsonb -> encode(l.webhook_id, 'hex'))::bigint, 0) AS room
		FROM lanes l
		WHERE l.due_at <= $1::timestamptz
		OFFSET 0
	) l
	JOIN formsvc.webhooks w ON w.id = l.webhook_id
	LEFT JOIN LATERAL (SELECT t.served FROM formsvc.webhook_turns t WHERE t.webhook_id = w.id LIMIT 1) t ON true
	WHERE l.room > 0 AND w.enabled AND (w.paused_until IS NULL OR w.paused_until <= $1::timestamptz)
		AND ` + webhookThere + `
	ORDER BY t.served NULLS FIRST, w.id
), picked AS MATERIALIZED (
	SELECT d.place, t.id AS webhook_id, t.destination, t.url, t.secret, t.failures
	FROM turns t
	CROSS JOIN LATERAL (
		SELECT d.ctid AS place
		FROM formsvc.deliveries d
		WHERE d.webhook_id = t.id AND d.attempt > 0 AND d.due_at <= $1::timestamptz
			AND (d.leased_until IS NULL OR d.leased_until <= clock_timestamp())
		ORDER BY d.due_at, d.event_id
		LIMIT t.room
		FOR UPDATE SKIP LOCKED
	) d
	LIMIT (SELECT $2::bigint)
), claimed AS (
	UPDATE formsvc.deliveries d
	SET token = DEFAULT, destination = p.destination, leased_until = clock_timestamp() + $5::bigint * interval '1 microsecond'
	FROM picked p
	WHERE d.ctid = p.place
	RETURNING d.webhook_id, d.event_id, d.token, d.attempt, p.url, p.secret, p.failures
), turned AS (
	SELECT t.ctid AS place
	FROM (SELECT DISTINCT p.webhook_id FROM picked p) p JOIN formsvc.webhook_turns t ON t.webhook_id = p.webhook_id
	FOR NO KEY UPDATE OF t SKIP LOCKED
), served AS (
	UPDATE formsvc.webhook_turns t SET served = DEFAULT
	FROM turned
	WHERE t.ctid = turned.place
)
SELECT c.webhook_id, c.event_id, c.token, c.attempt, c.url, c.secret, c.failures, e.submission_id, e.type,
	CASE WHEN c.first THEN e.body END
FROM (SELECT c.*, row_number() OVER (PARTITION BY c.event_id) = 1 AS first FROM claimed c) c
CROSS JOIN LATERAL (SELECT e.submission_id, e.type, e.body FROM formsvc.events e WHERE e.id = c.event_id LIMIT 1) e`

// ClaimDeliveries implements [storage.DeliveryStore]. Deliveries of one event
// share one copy of its body.
func (s *Store) ClaimDeliveries(ctx context.Context, p storage.ClaimParams) ([]storage.Delivery, error) {
	held, err := json.Marshal(p.Held)
	if err != nil {
		return nil, err
	}
	var out []storage.Delivery
	err = s.write(ctx, func(ctx context.Context) (err error) {
		shared := false
		b := &pgx.Batch{}
		s.lookUp(b)
		s.queue(b, claim, p.Now.UTC(), int64(max(p.Max, 0)), int64(max(p.PerWebhook, 0)), string(held), p.Lease.Microseconds())
		err = s.send(ctx, b, func(rows pgx.Rows) (err error) {
			var d storage.Delivery
			var body []byte
			into := []any{ // made once for all rows
				scanID(&d.Lease.WebhookID), scanID(&d.Lease.EventID), &d.Lease.Token, &d.Attempt,
				&d.URL, &d.Secret, &d.Failures, scanID(&d.SubmissionID), &d.EventType, &body,
			}
			out, err = collectRows(rows, func(rows pgx.Rows) (storage.Delivery, error) {
				err := rows.Scan(into...)
				shared = shared || body == nil
				d.Body, d.Secret = body, noEmpty(d.Secret)
				return d, err
			})
			return err
		})
		if shared {
			share(out)
		}
		return err
	})
	return out, err
}

// share gives deliveries that came without the body of their event that of the one
// that came with it.
func share(all []storage.Delivery) {
	bodies := make(map[storage.ID][]byte, len(all))
	for _, d := range all {
		if d.Body != nil {
			bodies[d.Lease.EventID] = d.Body
		}
	}
	for i := range all {
		all[i].Body = bodies[all[i].Lease.EventID]
	}
}

const queueStats = `
WITH RECURSIVE ` + pendingLanes + `
SELECT COALESCE(sum(q.due), 0)::bigint, COALESCE(sum(q.pending - q.due), 0)::bigint, min(q.oldest)
FROM lanes l
CROSS JOIN LATERAL (
	SELECT w.id, w.paused_until FROM formsvc.webhooks w WHERE w.id = l.webhook_id AND ` + webhookThere + ` LIMIT 1
) w
CROSS JOIN LATERAL (
	SELECT count(*) AS pending,
		count(*) FILTER (WHERE d.due_at <= $1::timestamptz AND open.now) AS due,
		min(d.due_at) FILTER (WHERE d.due_at <= $1::timestamptz AND open.now) AS oldest
	FROM formsvc.deliveries d, (SELECT w.paused_until IS NULL OR w.paused_until <= $1::timestamptz AS now) open
	WHERE d.webhook_id = w.id AND d.attempt > 0
) q`

// QueueStats implements [storage.DeliveryStore]. It counts what is pending, so it
// takes longer the more that is.
func (s *Store) QueueStats(ctx context.Context, now time.Time) (storage.QueueStats, error) {
	var st storage.QueueStats
	err := s.read(ctx, func(ctx context.Context) error {
		return s.queryRow(ctx, queueStats, func(rows pgx.Rows) error {
			return rows.Scan(&st.Due, &st.Waiting, scanTime(&st.OldestDue))
		}, now.UTC())
	})
	return st, err
}
