package postgres

import (
	"context"
	"fmt"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// If the database's clock is set back, deliveries would stop until the clock reaches their times again. A sweep
// corrects these times. If a row contains the time when it was written, and this time is in the future, the difference
// from now is the clock's error. In other rows, a time is wrong if it is further ahead than the longest possible wait.

const (
	// futureFrom is the time after which the recorded time of a past event counts as being in the future. It allows for
	// clock differences after a failover.
	futureFrom = `statement_timestamp() + interval '1 minute'`
	// The following times are now plus the longest possible wait, with a margin. Retry-After is limited to a day. A delay
	// is at most 30 days, plus a jitter of less than 30 days. A lease is twice a timeout of at most an hour, plus 30 s.
	maxPausedUntil = `statement_timestamp() + interval '25 hours'`
	maxDueAt       = `statement_timestamp() + interval '61 days'`
	maxLeasedUntil = `statement_timestamp() + interval '3 hours'`
)

// tooFarAheadCondition returns the condition that a time is after the limit, or that it and its row's write time
// are in the
// future.
func tooFarAheadCondition(time, written, limit string) string {
	return fmt.Sprintf(`(%[1]s > %[2]s AND %[2]s > %[3]s OR %[1]s > %[4]s)`, time, written, futureFrom, limit)
}

// correctedTimeExpression returns the time moved back by the clock's error, or now if the error is unknown.
func correctedTimeExpression(time, written, limit string) string {
	return fmt.Sprintf(`CASE WHEN NOT COALESCE(%[1]s, false) THEN %[2]s
		WHEN %[3]s > %[4]s THEN %[2]s - (%[3]s - statement_timestamp()) ELSE statement_timestamp() END`,
		tooFarAheadCondition(time, written, limit), time, written, futureFrom)
}

// clampToNow returns the time, or now if the time is in the future.
func clampToNow(time string) string {
	return fmt.Sprintf(`CASE WHEN %[1]s > statement_timestamp() THEN statement_timestamp() ELSE %[1]s END`, time)
}

var leaseTooFarAhead = tooFarAheadCondition("d.leased_until", "d.queued_at", maxLeasedUntil)

// correctFutureTimes corrects about $1 times of each kind. If a webhook has available deliveries but is scheduled for
// the future, the webhook becomes due, and a claim reschedules it. Deliveries from the last minute are ignored, because
// claims may not have read their arrivals yet. Locked rows are skipped.
var correctFutureTimes = `
WITH come AS MATERIALIZED (
	SELECT a.tableoid AS rel, a.ctid AS place FROM formsvc.arrivals a WHERE a.at > ` + futureFrom + `
	ORDER BY a.at, a.id LIMIT (SELECT $1::bigint) FOR UPDATE SKIP LOCKED
), arrived AS (
	UPDATE formsvc.arrivals a SET at = statement_timestamp()
	WHERE a.ctid = ANY (ARRAY(SELECT l.place FROM come l)) AND (a.tableoid, a.ctid) IN (SELECT l.rel, l.place FROM come l)
	RETURNING true
), waiting AS MATERIALIZED (
	SELECT x.webhook_id, d.rel, d.place, d.too_far
	FROM (VALUES (0), (1), (2)) p (pool)
	CROSS JOIN LATERAL (SELECT * FROM formsvc.destinations x WHERE x.pool = p.pool AND x.next_at > ` + futureFrom + `) x
	CROSS JOIN LATERAL (
		SELECT d.tableoid AS rel, d.ctid AS place, ` + leaseTooFarAhead + ` AS too_far FROM formsvc.deliveries d
		WHERE d.webhook_id = x.webhook_id AND d.due_at IS NULL AND ` + requestedByUser + ` >= CASE WHEN x.paused_until > statement_timestamp() THEN 1 ELSE 0 END
			AND (` + leaseTooFarAhead + ` OR COALESCE(d.leased_until, '-infinity') <= statement_timestamp()
				AND d.queued_at NOT BETWEEN statement_timestamp() - interval '1 minute' AND statement_timestamp())
		LIMIT (SELECT $1::bigint) FOR UPDATE SKIP LOCKED
	) d
	LIMIT (SELECT $1::bigint)
), late AS MATERIALIZED (
	SELECT d.tableoid AS rel, d.ctid AS place FROM formsvc.deliveries d
	WHERE d.due_at > ` + futureFrom + ` AND ` + tooFarAheadCondition("d.due_at", "d.queued_at", maxDueAt) + `
	LIMIT (SELECT $1::bigint) FOR UPDATE SKIP LOCKED
), places AS MATERIALIZED (
	SELECT l.rel, l.place FROM late l
	UNION ALL
	SELECT w.rel, w.place FROM waiting w WHERE w.too_far
), moved AS (
	UPDATE formsvc.deliveries d SET queued_at = ` + clampToNow("d.queued_at") + `,
		due_at = ` + correctedTimeExpression("d.due_at", "d.queued_at", maxDueAt) + `,
		leased_until = ` + correctedTimeExpression("d.leased_until", "d.queued_at", maxLeasedUntil) + `
	WHERE d.ctid = ANY (ARRAY(SELECT l.place FROM places l)) AND (d.tableoid, d.ctid) IN (SELECT l.rel, l.place FROM places l)
	RETURNING true
), held AS MATERIALIZED (
	SELECT x.webhook_id FROM formsvc.destinations x WHERE x.webhook_id = ANY (ARRAY(
		SELECT w.webhook_id FROM waiting w
		UNION
		(SELECT x.webhook_id FROM formsvc.destinations x WHERE x.failing_since IS NOT NULL
			AND (GREATEST(x.failed_at, x.expired_at) > ` + futureFrom + ` OR x.paused_until > ` + maxPausedUntil + `) LIMIT (SELECT $1::bigint))))
	FOR NO KEY UPDATE SKIP LOCKED
), turned AS (
	UPDATE formsvc.destinations x SET next_at = ` + clampToNow("x.next_at") + `,
		paused_until = ` + correctedTimeExpression("x.paused_until", "x.failed_at", maxPausedUntil) + `,
		failing_since = ` + clampToNow("x.failing_since") + `, failed_at = ` + clampToNow("x.failed_at") + `, expired_at = ` + clampToNow("x.expired_at") + `
	WHERE x.webhook_id = ANY (ARRAY(SELECT h.webhook_id FROM held h))
	RETURNING true
)
SELECT (SELECT count(*) FROM arrived) + (SELECT count(*) FROM moved) + (SELECT count(*) FROM turned)`

func (s *Store) correctFutureTimes(ctx context.Context, p storage.SweepParams, swept *storage.SweepResult) (_ bool, err error) {
	return false, s.db.Write(ctx, func(ctx context.Context) error {
		return s.db.QueryRow(ctx, correctFutureTimes, conn.RowScanner(&swept.Rescheduled), int64(p.Max))
	})
}
