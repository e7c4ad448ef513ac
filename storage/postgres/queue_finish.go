package postgres

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// Two statements in one transaction settle results: lockResults returns which results can be settled, and writeResults
// writes these. Neither waits for locks. If another transaction has locked the delivery, or the destination that a
// result would change, the caller must pass the result again. A claim skips webhooks with a locked destination. Results
// therefore lock a destination only to change it, and a success of a healthy destination does not change it. If only
// the destination is locked, the delivery's lease is extended, so that the delivery is not sent again while its result
// waits. Results do not update events, because a delivery that ends passes its reference to its last attempt, and a
// delivery that is retried retains its reference.

// lockResults returns each result's outcome, and how its delivery was requested. A webhook's health is determined by
// its last result for the newest URL.
var lockResults = perQueueSize(`
WITH given AS MATERIALIZED (
	SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::bytea[], $4::boolean[], $5::boolean[], $6::integer[], $7::integer[])
		WITH ORDINALITY AS r (token, webhook_id, event_id, sent, succeeded, slow_for, failures, number)
	LIMIT (SELECT cardinality($1::bigint[])) -- the planner then expects a tenth of the rows, and looks them up one by one
), held AS MATERIALIZED (
	SELECT g.*, d.generation, d.urgency
	FROM given g JOIN formsvc.deliveries d ON d.webhook_id = g.webhook_id AND d.event_id = g.event_id AND d.token = g.token
	WHERE d.token <> 0
	FOR UPDATE OF d SKIP LOCKED
), news AS MATERIALIZED (
	SELECT h.*
	FROM (SELECT DISTINCT ON (h.webhook_id) * FROM held h WHERE h.sent ORDER BY h.webhook_id, h.generation DESC, h.number DESC) h
	CROSS JOIN LATERAL (SELECT * FROM formsvc.destinations x WHERE x.webhook_id = h.webhook_id LIMIT 1) x
	WHERE x.generation = h.generation AND (h.failures > 0
		OR (x.succeeded, x.slow_for, x.failures, x.paused_until) IS DISTINCT FROM (h.succeeded, h.slow_for, 0, NULL::timestamptz))
), judged AS MATERIALIZED (
	SELECT n.number FROM news n JOIN formsvc.destinations x ON x.webhook_id = n.webhook_id AND x.generation = n.generation -- as of the lock
	FOR NO KEY UPDATE OF x SKIP LOCKED
)
SELECT h.number, h.urgency, CASE
	WHEN h.number IN (SELECT j.number FROM judged j) THEN '` + resultChangesHealth + `'
	WHEN h.sent AND h.webhook_id IN (SELECT n.webhook_id FROM news n WHERE n.number NOT IN (SELECT j.number FROM judged j)) THEN '` + resultWebhookLocked + `'
	ELSE '` + resultSettled + `' END
FROM held h
UNION ALL
SELECT g.number, 0, CASE WHEN (SELECT true FROM formsvc.deliveries d
	WHERE d.webhook_id = g.webhook_id AND d.event_id = g.event_id AND d.token = g.token AND d.token <> 0 LIMIT 1) THEN '` + resultDeliveryLocked + `'
	ELSE '` + resultFenced + `' END
FROM given g WHERE g.number NOT IN (SELECT h.number FROM held h)`)

// Outcomes of a result.
const (
	resultFenced         = "fenced"
	resultDeliveryLocked = "held"    // another transaction holds its delivery
	resultWebhookLocked  = "blocked" // another transaction holds its webhook's row
	resultSettled        = "settled"
	resultChangesHealth  = "judged" // settled, and changes the destination's health
)

var writeResults = perQueueSize(`
WITH settled AS MATERIALIZED (
	SELECT s.*, CASE WHEN s.asked THEN 0 WHEN s.sent THEN NULLIF(s.retry, 0) ELSE s.retry END AS wait -- null if the delivery ends
	FROM (
		SELECT s.*, s.sent AND NOT s.success AND s.urgency = 2 AS asked
		FROM unnest($1::bytea[], $2::bytea[], $3::integer[], $4::boolean[], $5::bigint[], $6::bytea[], $7::text[], $8::bytea[],
			$9::integer[], $10::integer[], $11::boolean[], $12::text[], $13::bigint[], $14::timestamptz[])
			AS s (webhook_id, event_id, urgency, sent, retry, id, event_type, submission_id, attempt, status, success, error, duration, created_at)
		LIMIT (SELECT cardinality($1::bytea[]))
	) s
), ended AS (
	DELETE FROM formsvc.deliveries d USING settled s
	WHERE d.webhook_id = s.webhook_id AND d.event_id = s.event_id AND s.wait IS NULL
), waiting AS (
	UPDATE formsvc.deliveries d SET
		token = 0, leased_until = NULL, due_at = statement_timestamp() + NULLIF(s.wait, 0) * interval '1 microsecond',
		attempt = CASE WHEN NOT s.sent THEN d.attempt WHEN s.retry = 0 THEN 1 ELSE d.attempt + 1 END,
		urgency = CASE WHEN NOT s.sent THEN LEAST(d.urgency, 1) WHEN s.asked THEN 1 ELSE 0 END
	FROM settled s
	WHERE d.webhook_id = s.webhook_id AND d.event_id = s.event_id AND s.wait IS NOT NULL
), leased AS (
	UPDATE formsvc.deliveries d SET leased_until = GREATEST(d.leased_until, statement_timestamp() + $22::bigint * interval '1 microsecond')
	FROM (SELECT * FROM unnest($23::bytea[], $24::bytea[]) AS b (webhook_id, event_id) LIMIT (SELECT cardinality($23::bytea[]))) b
	WHERE d.webhook_id = b.webhook_id AND d.event_id = b.event_id
), arrived AS (
	INSERT INTO formsvc.arrivals (webhook_id, asked)
	SELECT s.webhook_id, bool_or(s.urgency > 0) FROM settled s WHERE s.wait = 0 GROUP BY s.webhook_id
), recorded AS (
	INSERT INTO formsvc.attempts (webhook_id, event_id, id, event_type, submission_id, attempt,
		http_status, success, error, duration_us, created_at, next_attempt_at)
	SELECT s.webhook_id, s.event_id, s.id, s.event_type, s.submission_id, s.attempt,
		s.status, s.success, s.error, s.duration, s.created_at, statement_timestamp() + s.wait * interval '1 microsecond'
	FROM settled s
	WHERE s.sent
)
UPDATE formsvc.destinations x SET
	succeeded = j.succeeded, slow_for = j.slow_for, failures = j.failures,
	failing_since = CASE WHEN j.failures = 0 THEN NULL
		WHEN x.failed_at > statement_timestamp() - $21::bigint * interval '1 microsecond' THEN x.failing_since ELSE statement_timestamp() END,
	failed_at = CASE WHEN j.failures > 0 THEN statement_timestamp() END,
	paused_until = j.until, pause_reason = CASE WHEN j.until IS NOT NULL THEN j.reason END,
	next_at = CASE WHEN x.next_at IS NULL OR x.paused_until IS NULL THEN x.next_at
		ELSE LEAST(x.next_at, COALESCE(j.until, statement_timestamp())) END
FROM (
	SELECT j.*, CASE WHEN j.failures > 0 THEN statement_timestamp() + NULLIF(j.pause, 0) * interval '1 microsecond' END AS until
	FROM unnest($15::bytea[], $16::boolean[], $17::integer[], $18::integer[], $19::bigint[], $20::text[])
		AS j (webhook_id, succeeded, slow_for, failures, pause, reason)
	LIMIT (SELECT cardinality($15::bytea[]))
) j
WHERE x.webhook_id = j.webhook_id`)

// minResultLease is the minimum remaining lease time if the caller must pass the result again. A dispatcher passes the
// result again within 5 s, in a write with a timeout of 10 s. If its process is killed, the delivery waits this long.
const minResultLease = 20 * time.Second

// FinishDeliveries implements [storage.DeliveryStore]. Each batch is one transaction. Of several results with the
// same lease, the first one counts.
func (s *Store) FinishDeliveries(ctx context.Context, done []storage.Result) (fenced []storage.Lease, err error) {
	var locked []storage.Lease
	seen := make(map[storage.Lease]bool, len(done))
	done = slices.DeleteFunc(slices.Clone(done), func(r storage.Result) bool {
		again := seen[r.Lease]
		if seen[r.Lease] = true; again {
			fenced = append(fenced, r.Lease)
		}
		return again
	})
	for step := range slices.Chunk(done, storage.MaxFinishedResults) {
		var byOutcome map[string][]pendingResult
		err := s.inTransaction(ctx, func(ctx context.Context, tx *Store) (err error) {
			byOutcome, err = tx.settleResults(ctx, step)
			return err
		})
		if err == nil {
			err = cmp.Or(s.addExpiredSummaries(ctx, slices.Concat(byOutcome[resultSettled], byOutcome[resultChangesHealth])), s.truncateSomeHistories(ctx, step))
			if err != nil && !s.db.InTx { // in a host's transaction, an error loses all results; otherwise, these results are stored
				s.log.WarnContext(ctx, "formsvc: failed to update webhook delivery histories", "error", err)
				err = nil
			}
		}
		if err != nil {
			return nil, err
		}
		locked = append(locked, conn.ColumnArg(slices.Concat(byOutcome[resultDeliveryLocked], byOutcome[resultWebhookLocked]), (*pendingResult).lease)...)
		fenced = append(fenced, conn.ColumnArg(byOutcome[resultFenced], (*pendingResult).lease)...)
	}
	if len(locked) > 0 {
		fenced = slices.DeleteFunc(fenced, func(l storage.Lease) bool { return slices.Contains(locked, l) })
		return fenced, &storage.BlockedResultsError{Leases: locked}
	}
	return fenced, ctx.Err()
}

// pendingResult is a result with the urgency of its delivery.
type pendingResult struct {
	storage.Result
	urgency int
}

func (r *pendingResult) lease() storage.Lease { return r.Lease }
func (r *pendingResult) webhook() []byte      { return r.Lease.WebhookID[:] }
func (r *pendingResult) event() []byte        { return r.Lease.EventID[:] }
func (r *pendingResult) sent() bool           { return r.Delivery != nil }

// settleResults settles the results whose rows are not locked, and returns all results by outcome.
func (s *Store) settleResults(ctx context.Context, step []storage.Result) (map[string][]pendingResult, error) {
	all := conn.ColumnArg(step, func(r *storage.Result) pendingResult { return pendingResult{Result: *r} })
	byOutcome := map[string][]pendingResult{}
	var number, urgency int
	var outcome string
	err := s.db.Each(ctx, lockResults.text(s), []any{&number, &urgency, &outcome}, func() {
		all[number-1].urgency = urgency
		byOutcome[outcome] = append(byOutcome[outcome], all[number-1])
	}, conn.ColumnArg(all, func(r *pendingResult) int64 { return r.Lease.Token }), conn.ColumnArg(all, (*pendingResult).webhook), conn.ColumnArg(all, (*pendingResult).event), conn.ColumnArg(all, (*pendingResult).sent),
		conn.ColumnArg(all, func(r *pendingResult) bool { return r.Health.Succeeded }),
		conn.ColumnArg(all, func(r *pendingResult) int { return r.Health.SuccessesUntilFast }),
		conn.ColumnArg(all, func(r *pendingResult) int { return r.Health.Failures }))
	settled, changed, blocked := slices.Concat(byOutcome[resultSettled], byOutcome[resultChangesHealth]), byOutcome[resultChangesHealth], byOutcome[resultWebhookLocked]
	if err != nil || len(settled)+len(blocked) == 0 {
		return byOutcome, err
	}
	none := new(storage.Delivery)
	attempts := conn.ColumnArg(settled, func(r *pendingResult) storage.Delivery { return *cmp.Or(r.Delivery, none) })
	_, err = s.db.Exec(ctx, writeResults.text(s),
		conn.ColumnArg(settled, (*pendingResult).webhook), conn.ColumnArg(settled, (*pendingResult).event), conn.ColumnArg(settled, func(r *pendingResult) int { return r.urgency }),
		conn.ColumnArg(settled, (*pendingResult).sent), conn.ColumnArg(settled, func(r *pendingResult) int64 { return conn.MicrosArg(r.RetryIn) }),
		conn.ColumnArg(attempts, func(a *storage.Delivery) []byte { return a.ID[:] }),
		conn.ColumnArg(attempts, func(a *storage.Delivery) string { return a.EventType }),
		conn.ColumnArg(attempts, func(a *storage.Delivery) []byte { return conn.IDArg(a.SubmissionID) }),
		conn.ColumnArg(attempts, func(a *storage.Delivery) int { return a.Attempt }),
		conn.ColumnArg(attempts, func(a *storage.Delivery) int { return a.Status }),
		conn.ColumnArg(attempts, func(a *storage.Delivery) bool { return a.Success }),
		conn.ColumnArg(attempts, func(a *storage.Delivery) string { return a.Error }),
		conn.ColumnArg(attempts, func(a *storage.Delivery) int64 { return a.Duration.Microseconds() }),
		conn.ColumnArg(attempts, func(a *storage.Delivery) time.Time { return a.CreatedAt.UTC() }),
		conn.ColumnArg(changed, (*pendingResult).webhook),
		conn.ColumnArg(changed, func(r *pendingResult) bool { return r.Health.Succeeded }),
		conn.ColumnArg(changed, func(r *pendingResult) int { return r.Health.SuccessesUntilFast }),
		conn.ColumnArg(changed, func(r *pendingResult) int { return r.Health.Failures }),
		conn.ColumnArg(changed, func(r *pendingResult) int64 { return conn.MicrosArg(r.PauseFor) }),
		conn.ColumnArg(changed, func(r *pendingResult) string { return string(cmp.Or(r.PauseReason, storage.PauseFailures)) }),
		storage.MaxFailureGap.Microseconds(), minResultLease.Microseconds(),
		conn.ColumnArg(blocked, (*pendingResult).webhook), conn.ColumnArg(blocked, (*pendingResult).event))
	return byOutcome, err
}
