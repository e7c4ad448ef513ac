package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/storage"
)

// pendingLanes is a recursive part of a WITH list: the webhooks with pending
// deliveries and when the first of each is due. It goes from one webhook to the
// next in deliveries_due, however many deliveries each of them has.
const pendingLanes = `lanes AS (
	(SELECT d.webhook_id, d.due_at FROM formsvc.deliveries d ORDER BY d.webhook_id, d.due_at LIMIT 1)
	UNION ALL
	SELECT n.webhook_id, n.due_at
	FROM lanes l
	CROSS JOIN LATERAL (
		SELECT d.webhook_id, d.due_at FROM formsvc.deliveries d
		WHERE d.webhook_id > l.webhook_id
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
// are locked. The turn is not written for webhooks whose row is locked: then
// another claim serves them now, or a result is recorded.
//
// An event's body comes with the first of its deliveries only. What is looked up
// by its id is LATERAL with a LIMIT, which leaves the planner the index and no
// other way, however little it knows about the number of rows.
const claim = `
WITH RECURSIVE ` + pendingLanes + `, turns AS MATERIALIZED (
	SELECT w.id, w.destination, $3::bigint - COALESCE(held.n, 0) AS room
	FROM lanes l
	CROSS JOIN LATERAL (SELECT w.id, w.enabled, w.destination, w.paused_until, w.served FROM formsvc.webhooks w WHERE w.id = l.webhook_id LIMIT 1) w
	LEFT JOIN unnest($4::bytea[], $5::bigint[]) AS held (id, n) ON held.id = w.id
	WHERE l.due_at <= $1::timestamptz AND w.enabled AND (w.paused_until IS NULL OR w.paused_until <= $1::timestamptz)
		AND $3::bigint > COALESCE(held.n, 0)
	ORDER BY w.served, w.id
), picked AS MATERIALIZED (
	SELECT d.place, t.id AS webhook_id, t.destination
	FROM turns t
	CROSS JOIN LATERAL (
		SELECT d.ctid AS place
		FROM formsvc.deliveries d
		WHERE d.webhook_id = t.id AND d.due_at <= $1::timestamptz
			AND (d.leased_until IS NULL OR d.leased_until <= clock_timestamp())
		ORDER BY d.due_at, d.event_id
		LIMIT t.room
		FOR UPDATE SKIP LOCKED
	) d
	LIMIT $2::bigint
), claimed AS (
	UPDATE formsvc.deliveries d
	SET token = DEFAULT, destination = p.destination, leased_until = clock_timestamp() + $6::bigint * interval '1 microsecond'
	FROM picked p
	WHERE p.place = d.ctid AND d.ctid = ANY (ARRAY(SELECT p.place FROM picked p))
	RETURNING d.webhook_id, d.event_id, d.token, d.attempt
), turned AS (
	SELECT w.id FROM formsvc.webhooks w
	WHERE w.id = ANY (ARRAY(SELECT p.webhook_id FROM picked p))
	ORDER BY w.id
	FOR NO KEY UPDATE SKIP LOCKED
), served AS (
	UPDATE formsvc.webhooks w SET served = DEFAULT
	WHERE w.id = ANY (ARRAY(SELECT t.id FROM turned t))
)
SELECT c.webhook_id, c.event_id, c.token, c.attempt, w.url, w.secret, w.failures, e.submission_id, e.type,
	CASE WHEN row_number() OVER (PARTITION BY c.event_id) = 1 THEN e.body END
FROM claimed c
CROSS JOIN LATERAL (SELECT w.url, w.secret, w.failures FROM formsvc.webhooks w WHERE w.id = c.webhook_id LIMIT 1) w
CROSS JOIN LATERAL (SELECT e.submission_id, e.type, e.body FROM formsvc.events e WHERE e.id = c.event_id LIMIT 1) e`

// ClaimDeliveries implements [storage.DeliveryStore]. Deliveries of one event
// share one copy of its body.
func (s *Store) ClaimDeliveries(ctx context.Context, p storage.ClaimParams) ([]storage.Delivery, error) {
	held := make([][]byte, 0, len(p.Held))
	counts := make([]int64, 0, len(p.Held))
	for id, n := range p.Held {
		held = append(held, id[:])
		counts = append(counts, int64(n))
	}
	var out []storage.Delivery
	err := s.write(ctx, func(ctx context.Context) (err error) {
		bodies := map[storage.ID][]byte{}
		out, err = collect(ctx, s, claim, func(rows pgx.Rows) (storage.Delivery, error) {
			var d storage.Delivery
			var body []byte
			err := rows.Scan(scanID(&d.Lease.WebhookID), scanID(&d.Lease.EventID), &d.Lease.Token, &d.Attempt,
				&d.URL, &d.Secret, &d.Failures, scanID(&d.SubmissionID), &d.EventType, &body)
			if body != nil {
				bodies[d.Lease.EventID] = body
			}
			d.Secret = noEmpty(d.Secret)
			return d, err
		}, p.Now.UTC(), int64(max(p.Max, 0)), int64(max(p.PerWebhook, 0)), held, counts, p.Lease.Microseconds())
		for i := range out {
			out[i].Body = bodies[out[i].Lease.EventID]
		}
		return err
	})
	return out, err
}

const queueStats = `
WITH RECURSIVE ` + pendingLanes + `
SELECT COALESCE(sum(q.due), 0)::bigint, COALESCE(sum(q.pending - q.due), 0)::bigint, min(q.oldest)
FROM lanes l
CROSS JOIN LATERAL (SELECT w.id, w.paused_until FROM formsvc.webhooks w WHERE w.id = l.webhook_id LIMIT 1) w
CROSS JOIN LATERAL (
	SELECT count(*) AS pending,
		count(*) FILTER (WHERE d.due_at <= $1::timestamptz AND open.now) AS due,
		min(d.due_at) FILTER (WHERE d.due_at <= $1::timestamptz AND open.now) AS oldest
	FROM formsvc.deliveries d, (SELECT w.paused_until IS NULL OR w.paused_until <= $1::timestamptz AS now) open
	WHERE d.webhook_id = w.id
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
