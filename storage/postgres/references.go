package postgres

import (
	"context"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// A statement names the rows that it has found by their key, or by their table and their
// place in it: (tableoid, ctid). With partitions a ctid alone may be that of another row. The
// list of places comes first, for it is what the rows are looked up by, whatever the planner
// takes the size of a table for.

// An event counts its references: its pending deliveries, and the attempts after which no
// other one follows (attemptRefers). A delivery that ends leaves its reference to the
// attempt that ended it. So results write no event. A delivery that ends otherwise leaves
// it to its last attempt, if it has one in the history (leaveReferences).
const attemptRefers = `a.next_attempt_at IS NULL`

// leaveReferences is a part of a WITH list. It follows ended, the deliveries that end
// without an attempt, and makes the list references of what that changes. Attempts are
// locked after deliveries.
const leaveReferences = `heirs AS (
	UPDATE formsvc.attempts a SET next_attempt_at = NULL
	FROM (
		SELECT DISTINCT ON (a.webhook_id, a.event_id) a.rel, a.place, a.next_attempt_at
		FROM (SELECT DISTINCT d.webhook_id FROM ended d) d CROSS JOIN LATERAL (
			SELECT a.*, a.tableoid AS rel, a.ctid AS place FROM formsvc.attempts a WHERE a.webhook_id = d.webhook_id OFFSET 0
		) a
		WHERE (a.webhook_id, a.event_id) IN (SELECT d.webhook_id, d.event_id FROM ended d)
		ORDER BY a.webhook_id, a.event_id, a.created_at DESC, a.id DESC
	) last
	WHERE a.ctid = last.place AND a.tableoid = last.rel AND last.next_attempt_at IS NOT NULL
	RETURNING a.event_id
), left_over AS (
	SELECT d.event_id, -1 AS refs FROM ended d
	UNION ALL
	SELECT h.event_id, 1 FROM heirs h
)`

// countReferences is a part of a WITH list. It adds what the rows of changes say to
// the references that their events count, and removes the events that have none
// left. All statements lock events in the order of their ids, and after deliveries and
// attempts.
const countReferences = `changed AS MATERIALIZED (
	SELECT c.event_id, sum(c.refs)::integer AS refs
	FROM changes c
	GROUP BY c.event_id
	HAVING sum(c.refs) <> 0
), locked AS MATERIALIZED (
	SELECT e.id, e.refs + c.refs AS refs
	FROM changed c JOIN formsvc.events e ON e.id = c.event_id
	ORDER BY e.id
	FOR UPDATE OF e
), unused AS (
	DELETE FROM formsvc.events e
	USING locked l
	WHERE e.id = l.id AND l.refs <= 0
), counted AS (
	UPDATE formsvc.events e SET refs = l.refs
	FROM locked l
	WHERE e.id = l.id AND l.refs > 0
)`

// endWithoutEvent ends deliveries whose event is gone. It waits for no row.
const endWithoutEvent = `
WITH lost AS MATERIALIZED (
	SELECT d.rel, d.place FROM unnest($1::bytea[], $2::bytea[]) AS l (webhook_id, event_id)
	CROSS JOIN LATERAL (
		SELECT d.tableoid AS rel, d.ctid AS place FROM formsvc.deliveries d
		WHERE d.webhook_id = l.webhook_id AND d.event_id = l.event_id
			AND (SELECT e.id FROM formsvc.events e WHERE e.id = d.event_id LIMIT 1) IS NULL
		LIMIT 1 FOR UPDATE SKIP LOCKED
	) d
)
DELETE FROM formsvc.deliveries d WHERE d.ctid = ANY (ARRAY(SELECT l.place FROM lost l)) AND (d.tableoid, d.ctid) IN (SELECT l.rel, l.place FROM lost l)`

// endWithoutEvent ends those of the deliveries that are still there without their event.
// An event that is deleted takes its deliveries with it, so that only a fault or a
// statement by hand can leave one. It would be claimed again and again.
func (s *Store) endWithoutEvent(ctx context.Context, deliveries []storage.ClaimedDelivery) error {
	var n int64
	err := s.db.Write(ctx, func(ctx context.Context) (err error) {
		n, err = s.db.Exec(ctx, endWithoutEvent, conn.Column(deliveries, func(d *storage.ClaimedDelivery) []byte { return d.Lease.WebhookID[:] }),
			conn.Column(deliveries, func(d *storage.ClaimedDelivery) []byte { return d.Lease.EventID[:] }))
		return err
	})
	if n > 0 {
		s.log.ErrorContext(ctx, "formsvc: deliveries without their event were ended", "deliveries", n)
	}
	return err
}
