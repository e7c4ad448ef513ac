package postgres

import (
	"context"
	"math/bits"
	"strconv"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// Statements identify rows by key, or by table and position (tableoid, ctid), because a ctid alone is ambiguous with
// partitions. They also compare the ctid alone, so that the planner uses it regardless of the table's assumed size.

// Each event's row counts the references to the event: pending deliveries, and attempts without a next attempt
// (attemptHoldsReference). When a delivery ends, its reference passes to its last attempt, so that results do not
// update events. If the history contains no attempt of the delivery, the reference is removed (transferReferences).
const attemptHoldsReference = `a.next_attempt_at IS NULL`

// transferReferences is part of a WITH list. It follows the CTE ended, which contains the deliveries that
// end without a new attempt. The CTE left_over lists the changes to reference counts.
const transferReferences = `heirs AS (
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

// updateReferences is part of a WITH list. It applies the rows of the CTE changes to the events' reference
// counts, and deletes events without references. All statements lock events last, in ID order.
const updateReferences = `changed AS MATERIALIZED (
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

const deleteWithoutEvent = `
WITH lost AS MATERIALIZED (
	SELECT d.rel, d.place FROM unnest((SELECT $1::bytea[]), (SELECT $2::bytea[])) AS l (webhook_id, event_id)
	CROSS JOIN LATERAL (
		SELECT d.tableoid AS rel, d.ctid AS place FROM formsvc.deliveries d
		WHERE d.webhook_id = l.webhook_id AND d.event_id = l.event_id
			AND (SELECT e.id FROM formsvc.events e WHERE e.id = d.event_id LIMIT 1) IS NULL
		LIMIT 1 FOR UPDATE SKIP LOCKED
	) d
)
DELETE FROM formsvc.deliveries d WHERE d.ctid = ANY (ARRAY(SELECT l.place FROM lost l)) AND (d.tableoid, d.ctid) IN (SELECT l.rel, l.place FROM lost l)`

// deleteWithoutEvent deletes deliveries whose event is missing, which would otherwise be claimed again and again. Only
// a bug or a manual change causes such a delivery, because deleting an event deletes its deliveries.
func (s *Store) deleteWithoutEvent(ctx context.Context, deliveries []storage.ClaimedDelivery) error {
	n, err := s.db.ChangeRows(ctx, deleteWithoutEvent,
		conn.ColumnArg(deliveries, func(d *storage.ClaimedDelivery) []byte { return d.Lease.WebhookID[:] }),
		conn.ColumnArg(deliveries, func(d *storage.ClaimedDelivery) []byte { return d.Lease.EventID[:] }))
	if n > 0 {
		s.log.ErrorContext(ctx, "formsvc: canceled deliveries without an event", "deliveries", n)
	}
	return err
}

// webhookStateColumns are the columns of the webhook w and its destination x that are part of every delivery.
const webhookStateColumns = `x.webhook_id, w.form_id, w.workspace_id, w.url, x.host,
	w.secret, CASE WHEN w.old_secret_until > statement_timestamp() THEN w.old_secret END,
	x.succeeded, x.slow_for, x.failures,
	(EXTRACT(epoch FROM statement_timestamp() - x.failing_since) * 1000000)::bigint,
	(EXTRACT(epoch FROM statement_timestamp() - x.failed_at) * 1000000)::bigint,
	(EXTRACT(epoch FROM GREATEST(x.paused_until - statement_timestamp(), interval '0')) * 1000000)::bigint, x.pause_reason, x.generation`

func webhookStateTargets(d *storage.ClaimedDelivery) []any {
	return []any{
		&d.Lease.WebhookID, &d.FormID, &d.WorkspaceID, &d.URL, &d.Host,
		&d.Secret, &d.OldSecret,
		&d.Health.Succeeded, &d.Health.SuccessesUntilFast, &d.Health.Failures,
		&d.FailingFor, &d.FailedAgo, &d.PausedFor, (*string)(&d.PauseReason), &d.Generation,
	}
}

// sizedStatement contains a statement's text for each queue size, with the size as a comment. Each size then has its
// own cached plan. Otherwise, a plan made for a nearly empty queue would later read whole tables.
type sizedStatement [32]string

func perQueueSize(text string) (all sizedStatement) {
	for size := range all {
		all[size] = text + " -- " + strconv.Itoa(size)
	}
	return all
}

func (t *sizedStatement) text(s *Store) string { return t[min(s.queueSize.Load(), int64(len(t)-1))] }

// setQueueSize sets the queue size to the sum of both table sizes' base-4 logarithms.
func (s *Store) setQueueSize(deliveries, attempts int64) {
	power := func(n int64) int64 { return int64(bits.Len64(uint64(n)/8192)+1) / 2 } // #nosec G115 -- a size
	s.queueSize.Store(power(deliveries) + power(attempts))
}

// requestedByUser is 1 if a user requested the delivery d, and 0 otherwise. An index contains the same expression.
const requestedByUser = `LEAST(d.urgency, 1)`
