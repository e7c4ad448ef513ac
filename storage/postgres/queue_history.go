package postgres

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// A webhook's history consists of its newest MaxHistory attempts and its summaries of expired deliveries, which
// truncateSummaries limits. Recording an attempt does not truncate the history, so that concurrent results never write
// the same row. Instead, the history is truncated after each recorded attempt with a probability of 1 in MaxHistory. On
// average, the table therefore contains about MaxHistory additional attempts for the webhook, and more than ten times
// as many with a probability of 4 in 100,000.

const webhookHistory = `(
	(SELECT * FROM formsvc.attempts a
	WHERE a.webhook_id = w.id AND a.error <> '` + storage.DeliveryExpired + `'
	ORDER BY a.created_at DESC, a.id DESC
	LIMIT (SELECT $3::bigint))
	UNION ALL
	(SELECT * FROM formsvc.attempts a WHERE a.webhook_id = w.id AND a.error = '` + storage.DeliveryExpired + `')
)`

// maxTruncated limits how many of one webhook's attempts a call deletes. Each takes about 10 µs.
const maxTruncated = 5 * storage.MaxHistory

// truncateHistories deletes attempts outside of the history, and events without other references. It skips locked
// attempts and attempts with a locked event.
var truncateHistories = perQueueSize(`
WITH old AS MATERIALIZED (
	SELECT a.rel, a.place
	FROM (SELECT * FROM unnest($1::bytea[]) AS w (id) LIMIT (SELECT cardinality($1::bytea[]))) w -- hides the length from the planner
	CROSS JOIN LATERAL (
		SELECT a.tableoid AS rel, a.ctid AS place FROM formsvc.attempts a
		WHERE a.webhook_id = w.id AND a.error <> '` + storage.DeliveryExpired + `'
		ORDER BY a.created_at DESC, a.id DESC
		LIMIT (SELECT $2::bigint) OFFSET $3::bigint
	) a
), held AS MATERIALIZED (
	SELECT h.* FROM (
		SELECT o.rel, a.ctid AS place, o.place AS seen, a.event_id, ` + attemptHoldsReference + ` AS refers
		FROM old o JOIN formsvc.attempts a ON a.ctid = o.place AND a.tableoid = o.rel
		FOR UPDATE OF a SKIP LOCKED
	) h
	WHERE ` + rowUnchanged + ` -- because gone finds rows by their place in the snapshot
), bodies AS MATERIALIZED (
	SELECT e.id, e.refs FROM formsvc.events e
	WHERE e.id = ANY (ARRAY(SELECT h.event_id FROM held h WHERE h.refers))
	FOR UPDATE SKIP LOCKED
), going AS MATERIALIZED (
	SELECT h.* FROM held h
	WHERE NOT h.refers OR h.event_id IN (SELECT b.id FROM bodies b)
		OR (SELECT e.id FROM formsvc.events e WHERE e.id = h.event_id LIMIT 1) IS NULL
), gone AS (
	DELETE FROM formsvc.attempts a WHERE a.ctid = ANY (ARRAY(SELECT l.place FROM going l)) AND (a.tableoid, a.ctid) IN (SELECT l.rel, l.place FROM going l)
), totals AS MATERIALIZED (
	SELECT b.id, b.refs - count(*) AS refs
	FROM bodies b JOIN going g ON g.event_id = b.id AND g.refers
	GROUP BY b.id, b.refs
), unused AS (
	DELETE FROM formsvc.events e WHERE e.id = ANY (ARRAY(SELECT t.id FROM totals t WHERE t.refs <= 0))
)
UPDATE formsvc.events e SET refs = t.refs FROM totals t WHERE e.id = t.id AND t.refs > 0`)

// rowUnchanged is the condition that h's row did not change between the statement's snapshot and the lock. Servers
// without the updates of November 2025 recheck a condition on a ctid after locking only if it is in a CASE.
const rowUnchanged = `CASE WHEN h.place = h.seen THEN true ELSE false END`

func (s *Store) truncateSomeHistories(ctx context.Context, recorded []storage.Result) error {
	var webhooks []storage.ID
	for i := range recorded {
		of := recorded[i].Lease.WebhookID
		if recorded[i].Delivery != nil && rand.N(storage.MaxHistory) == 0 && !slices.Contains(webhooks, of) { // #nosec G404 -- no secret
			webhooks = append(webhooks, of)
		}
	}
	if len(webhooks) == 0 {
		return nil
	}
	return s.truncateHistories(ctx, webhooks...)
}

func (s *Store) truncateHistories(ctx context.Context, webhooks ...storage.ID) error {
	_, err := s.db.ChangeRows(ctx, truncateHistories.text(s), conn.IDsArg(webhooks), int64(maxTruncated), int64(storage.MaxHistory))
	return err
}
