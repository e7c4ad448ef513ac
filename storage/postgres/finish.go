package postgres

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/storage"
)

// finish settles results in one statement and returns those that it could not settle,
// with whether they still have their lease. It waits for no row. A result is passed over,
// to be given again, when somebody else holds its delivery, or the row of its webhook in
// destinations and the result changes that. So no result waits for what another one needs.
//
// A claim passes over a webhook whose row in destinations is locked. So that row is
// locked only when it changes: not when a destination that works goes on working.
//
// What could be locked and not settled keeps its lease for a while: so nobody sends it again
// while its result waits.
//
// Events are not touched: a delivery that ends leaves its reference to the attempt that
// ended it, and one that is tried again keeps it.
var finish = forSizes(`
WITH given AS MATERIALIZED (
	SELECT r.number, d.tableoid AS rel, d.ctid AS seen, r.sent, r.success, r.retry
	FROM (
		SELECT * FROM unnest($1::bigint[], $2::boolean[], $3::bigint[], $4::boolean[], $5::bytea[], $6::bytea[])
			WITH ORDINALITY AS r (token, sent, retry, success, webhook_id, event_id, number)
		LIMIT (SELECT cardinality($1::bigint[])) -- the planner expects a tenth, and looks rows up one by one
	) r
	LEFT JOIN formsvc.deliveries d ON d.webhook_id = r.webhook_id AND d.event_id = r.event_id AND d.token = r.token AND d.token <> 0
), held AS MATERIALIZED (
	SELECT h.*, CASE WHEN h.asked THEN 0 WHEN h.sent THEN NULLIF(h.retry, 0) ELSE h.retry END AS wait -- null: it ends
	FROM (
		SELECT g.*, d.ctid AS place, d.webhook_id, d.event_id, d.generation, d.urgency, g.sent AND NOT g.success AND d.urgency = 2 AS asked
		FROM given g JOIN formsvc.deliveries d ON d.ctid = g.seen AND d.tableoid = g.rel
		FOR UPDATE OF d SKIP LOCKED
	) h
	WHERE ` + heldUnchanged + ` -- the steps below find the row where the snapshot has it
), changes AS MATERIALIZED (
	SELECT x.webhook_id, x.generation, r.*, CASE WHEN r.failures > 0 THEN statement_timestamp() + NULLIF(r.pause, 0) * interval '1 microsecond' END AS until
	FROM (
		SELECT h.webhook_id, max(h.generation::bigint << 16 | h.number) AS result FROM held h WHERE h.sent GROUP BY h.webhook_id -- of the newest url
	) last
	CROSS JOIN LATERAL (SELECT * FROM formsvc.destinations x WHERE x.webhook_id = last.webhook_id LIMIT 1) x
	CROSS JOIN LATERAL (
		SELECT ($7::boolean[])[n] AS succeeded, ($8::integer[])[n] AS slow_for, ($9::integer[])[n] AS failures, ($10::bigint[])[n] AS pause, ($11::text[])[n] AS reason
		FROM (SELECT last.result & 65535 AS n) number
	) r
	WHERE x.generation = last.result >> 16 AND (r.failures > 0
		OR (x.succeeded, x.slow_for, x.failures, x.paused_until) IS DISTINCT FROM (r.succeeded, r.slow_for, 0, NULL::timestamptz))
), judging AS MATERIALIZED (
	SELECT c.* FROM changes c JOIN formsvc.destinations x ON x.webhook_id = c.webhook_id AND x.generation = c.generation -- by now
	FOR NO KEY UPDATE OF x SKIP LOCKED
), settled AS MATERIALIZED (
	SELECT h.* FROM held h
	WHERE NOT h.sent OR h.webhook_id NOT IN (SELECT c.webhook_id FROM changes c EXCEPT SELECT j.webhook_id FROM judging j)
), ended AS (
	DELETE FROM formsvc.deliveries d WHERE d.ctid = ANY (ARRAY(SELECT s.place FROM settled s))
		AND (d.tableoid, d.ctid) IN (SELECT s.rel, s.place FROM settled s WHERE s.wait IS NULL)
), waiting AS (
	UPDATE formsvc.deliveries d SET
		token = 0, leased_until = NULL, due_at = statement_timestamp() + NULLIF(s.wait, 0) * interval '1 microsecond',
		attempt = CASE WHEN NOT s.sent THEN d.attempt WHEN s.retry = 0 THEN 1 ELSE d.attempt + 1 END,
		urgency = CASE WHEN NOT s.sent THEN LEAST(d.urgency, 1) WHEN s.asked THEN 1 ELSE 0 END
	FROM settled s
	WHERE s.wait IS NOT NULL AND d.ctid = s.place AND d.tableoid = s.rel
), leased AS (
	UPDATE formsvc.deliveries d SET leased_until = GREATEST(d.leased_until, statement_timestamp() + $20::bigint * interval '1 microsecond')
	WHERE d.ctid = ANY (ARRAY(SELECT h.place FROM held h))
		AND (d.tableoid, d.ctid) IN (SELECT h.rel, h.place FROM held h WHERE h.number NOT IN (SELECT s.number FROM settled s))
), arrived AS (
	INSERT INTO formsvc.arrivals (webhook_id, asked)
	SELECT s.webhook_id, bool_or(s.urgency > 0) FROM settled s WHERE s.wait = 0 GROUP BY s.webhook_id
), recorded AS (
	INSERT INTO formsvc.attempts (webhook_id, event_id, id, event_type, submission_id, attempt,
		http_status, success, error, duration_us, created_at, next_attempt_at)
	SELECT s.webhook_id, s.event_id, a.id, a.event_type, a.submission_id, a.attempt,
		a.status, s.success, a.error, a.duration, a.created_at, statement_timestamp() + s.wait * interval '1 microsecond'
	FROM settled s JOIN unnest($12::bytea[], $13::text[], $14::bytea[], $15::integer[], $16::integer[], $17::text[], $18::bigint[], $19::timestamptz[])
		WITH ORDINALITY AS a (id, event_type, submission_id, attempt, status, error, duration, created_at, number) ON a.number = s.number
	WHERE s.sent
), judged AS (
	UPDATE formsvc.destinations x SET
		succeeded = j.succeeded, slow_for = j.slow_for, failures = j.failures,
		failing_since = CASE WHEN j.failures = 0 THEN NULL
			WHEN x.failed_at > statement_timestamp() - $21::bigint * interval '1 microsecond' THEN x.failing_since ELSE statement_timestamp() END,
		failed_at = CASE WHEN j.failures > 0 THEN statement_timestamp() END,
		paused_until = j.until, pause_reason = CASE WHEN j.until IS NOT NULL THEN j.reason END,
		next_at = CASE WHEN x.next_at IS NULL OR x.paused_until IS NULL THEN x.next_at
			ELSE LEAST(x.next_at, COALESCE(j.until, statement_timestamp())) END
	FROM judging j
	WHERE x.webhook_id = j.webhook_id
)
SELECT g.number, g.seen IS NOT NULL FROM given g WHERE g.number NOT IN (SELECT s.number FROM settled s)`)

// heldUnchanged is the condition that nobody has changed the row of h between the snapshot of
// the statement and the lock. Servers before the updates of November 2025 do not ask a plain
// condition on a ctid again when they have locked the row, and they do ask a CASE.
const heldUnchanged = `CASE WHEN h.place = h.seen THEN true ELSE false END`

// resultLease is the least that is left of the lease of a delivery whose result is to be
// given again. A dispatcher gives it again within 5 s, in a write that has 10 s. It is short,
// because when the process is killed meanwhile the delivery waits for as long.
const resultLease = 20 * time.Second

// FinishDeliveries implements [storage.DeliveryStore]. A step is one round trip and
// one transaction. Of results with the same lease the first one counts.
func (s *Store) FinishDeliveries(ctx context.Context, done []storage.Result) (fenced []storage.Lease, err error) {
	var held []storage.Lease
	seen := make(map[storage.Lease]bool, len(done))
	done = slices.DeleteFunc(slices.Clone(done), func(r storage.Result) bool {
		again := seen[r.Lease]
		if seen[r.Lease] = true; again {
			fenced = append(fenced, r.Lease)
		}
		return again
	})
	for step := range slices.Chunk(done, storage.FinishMax) {
		unsettled := map[bool][]storage.Lease{} // by whether they still have their lease
		err := s.write(ctx, func(ctx context.Context) error {
			clear(unsettled)
			_, err := collect(ctx, s, finish.now(s), func(rows pgx.Rows) (none struct{}, err error) {
				var number int64
				var leased bool
				if err = scanRow(rows, scanInt(&number), scanBool(&leased)); err == nil {
					unsettled[leased] = append(unsettled[leased], step[number-1].Lease)
				}
				return none, err
			}, finishArgs(step)...)
			return err
		})
		if err == nil {
			err = s.cutSome(ctx, step)
		}
		if err != nil {
			return nil, err
		}
		held, fenced = append(held, unsettled[true]...), append(fenced, unsettled[false]...)
	}
	if len(held) > 0 {
		fenced = slices.DeleteFunc(fenced, func(l storage.Lease) bool { return slices.Contains(held, l) })
		return fenced, &storage.HeldError{Leases: held}
	}
	return fenced, ctx.Err()
}

// finishArgs returns the arguments of finish: a column for each array.
func finishArgs(results []storage.Result) []any {
	none := new(storage.Attempt)
	attempts := column(results, func(r *storage.Result) storage.Attempt { return *cmp.Or(r.Attempt, none) })
	return []any{
		column(results, func(r *storage.Result) int64 { return r.Lease.Token }),
		column(results, func(r *storage.Result) bool { return r.Attempt != nil }),
		column(results, func(r *storage.Result) int64 { return microsArg(r.RetryIn) }),
		column(attempts, func(a *storage.Attempt) bool { return a.Success }),
		column(results, func(r *storage.Result) []byte { return r.Lease.WebhookID[:] }),
		column(results, func(r *storage.Result) []byte { return r.Lease.EventID[:] }),
		column(results, func(r *storage.Result) bool { return r.Standing.Succeeded }),
		column(results, func(r *storage.Result) int { return r.Standing.SlowFor }),
		column(results, func(r *storage.Result) int { return r.Standing.Failures }),
		column(results, func(r *storage.Result) int64 { return microsArg(r.PauseFor) }),
		column(results, func(r *storage.Result) string { return string(cmp.Or(r.PauseReason, storage.PauseFailures)) }),
		column(attempts, func(a *storage.Attempt) []byte { return a.ID[:] }),
		column(attempts, func(a *storage.Attempt) string { return a.EventType }),
		column(attempts, func(a *storage.Attempt) []byte { return idArg(a.SubmissionID) }),
		column(attempts, func(a *storage.Attempt) int { return a.Attempt }),
		column(attempts, func(a *storage.Attempt) int { return a.Status }),
		column(attempts, func(a *storage.Attempt) string { return a.Error }),
		column(attempts, func(a *storage.Attempt) int64 { return a.Duration.Microseconds() }),
		column(attempts, func(a *storage.Attempt) time.Time { return a.CreatedAt.UTC() }),
		resultLease.Microseconds(), storage.FailureGap.Microseconds(),
	}
}
