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
const finish = `
WITH given AS MATERIALIZED (
	SELECT i.number, o.ctid AS seen
	FROM (
		SELECT * FROM unnest($1::bytea[], $2::bytea[], $3::bigint[]) WITH ORDINALITY AS i (webhook_id, event_id, token, number)
		LIMIT (SELECT cardinality($1::bytea[])) -- the planner expects a tenth, and looks rows up one by one
	) i
	LEFT JOIN formsvc.deliveries o ON o.webhook_id = i.webhook_id AND o.event_id = i.event_id AND o.token = i.token AND o.token <> 0
), held AS MATERIALIZED (
	SELECT h.*, h.sent AND h.retry = 0 AND NOT h.asked AS over, h.retry = 0 OR h.asked AS at_once
	FROM (
		SELECT d.ctid AS place, g.seen, g.number, d.webhook_id, d.event_id, d.generation, d.urgency,
			($4::boolean[])[g.number] AS sent, ($5::bigint[])[g.number] AS retry,
			($4::boolean[])[g.number] AND NOT ($6::boolean[])[g.number] AND d.urgency = 2 AS asked
		FROM given g JOIN formsvc.deliveries d ON d.ctid = g.seen
		FOR UPDATE OF d SKIP LOCKED
	) h
	WHERE h.place = h.seen -- the steps below find the row where the snapshot has it
), changes AS MATERIALIZED (
	SELECT x.webhook_id, x.generation, st.*
	FROM (
		SELECT h.webhook_id, max(h.generation::bigint << 16 | h.number) AS result -- of the newest url
		FROM held h WHERE h.sent
		GROUP BY h.webhook_id
	) last
	CROSS JOIN LATERAL (SELECT * FROM formsvc.destinations x WHERE x.webhook_id = last.webhook_id LIMIT 1) x
	CROSS JOIN LATERAL (
		SELECT ($7::boolean[])[n] AS succeeded, ($8::integer[])[n] AS slow_for, ($9::integer[])[n] AS failures, NULLIF(($10::text[])[n], '') AS reason,
			statement_timestamp() + NULLIF(($11::bigint[])[n], 0) * interval '1 microsecond' AS pause
		FROM (SELECT last.result & 65535 AS n) r
	) st
	WHERE x.generation = last.result >> 16 AND (st.failures > 0
		OR (x.succeeded, x.slow_for, x.failures, x.paused_until) IS DISTINCT FROM (st.succeeded, st.slow_for, 0, NULL::timestamptz))
), judging AS MATERIALIZED (
	SELECT c.* FROM changes c JOIN formsvc.destinations x ON x.webhook_id = c.webhook_id AND x.generation = c.generation -- by now
	FOR NO KEY UPDATE OF x SKIP LOCKED
), locked_out AS MATERIALIZED (
	SELECT c.webhook_id FROM changes c EXCEPT SELECT j.webhook_id FROM judging j
), settled AS MATERIALIZED (
	SELECT h.*, CASE WHEN NOT h.over THEN statement_timestamp() + CASE WHEN h.asked THEN 0 ELSE h.retry END * interval '1 microsecond' END AS next
	FROM held h
	WHERE NOT h.sent OR h.webhook_id NOT IN (SELECT l.webhook_id FROM locked_out l)
), ended AS (
	DELETE FROM formsvc.deliveries d WHERE d.ctid = ANY (ARRAY(SELECT s.place FROM settled s WHERE s.over))
), waiting AS (
	UPDATE formsvc.deliveries d SET
		token = 0, leased_until = NULL, due_at = CASE WHEN NOT s.at_once THEN s.next END,
		attempt = CASE WHEN NOT s.sent THEN d.attempt WHEN s.retry = 0 THEN 1 ELSE d.attempt + 1 END,
		urgency = CASE WHEN NOT s.sent THEN LEAST(d.urgency, 1) WHEN s.asked THEN 1 ELSE 0 END
	FROM settled s
	WHERE NOT s.over AND d.ctid = s.place
), leased AS (
	UPDATE formsvc.deliveries d SET leased_until = GREATEST(d.leased_until, statement_timestamp() + $13::bigint * interval '1 microsecond')
	WHERE d.ctid = ANY (ARRAY(SELECT h.place FROM held h WHERE h.sent AND h.webhook_id IN (SELECT l.webhook_id FROM locked_out l)))
), arrived AS (
	INSERT INTO formsvc.arrivals (webhook_id, asked)
	SELECT s.webhook_id, bool_or(s.asked OR s.urgency > 0) FROM settled s WHERE s.at_once AND NOT s.over GROUP BY s.webhook_id
), recorded AS (
	INSERT INTO formsvc.attempts (webhook_id, event_id, id, event_type, submission_id, attempt,
		http_status, success, error, duration_us, created_at, next_attempt_at)
	SELECT s.webhook_id, s.event_id, a.id, a.event_type, a.submission_id, a.attempt,
		a.status, a.success, a.error, a.duration, a.created_at, s.next
	FROM settled s JOIN unnest($14::bytea[], $15::text[], $16::bytea[], $17::integer[], $18::integer[], $6::boolean[], $19::text[], $20::bigint[], $21::timestamptz[])
		WITH ORDINALITY AS a (id, event_type, submission_id, attempt, status, success, error, duration, created_at, number) ON a.number = s.number
	WHERE s.sent
), judged AS (
	UPDATE formsvc.destinations x SET
		succeeded = j.succeeded, slow_for = j.slow_for, failures = j.failures,
		failing_since = CASE WHEN j.failures > 0 THEN CASE
			WHEN x.failed_at > statement_timestamp() - $12::bigint * interval '1 microsecond' THEN x.failing_since
			ELSE statement_timestamp() END END,
		failed_at = CASE WHEN j.failures > 0 THEN statement_timestamp() END,
		paused_until = j.pause, pause_reason = j.reason,
		crowded = false,
		next_at = CASE WHEN x.next_at IS NOT NULL THEN
			LEAST(x.next_at, CASE WHEN x.paused_until IS NOT NULL THEN COALESCE(j.pause, statement_timestamp()) END) END
	FROM judging j
	WHERE x.webhook_id = j.webhook_id
)
SELECT g.number, g.seen IS NOT NULL FROM given g WHERE g.number NOT IN (SELECT s.number FROM settled s)`

// resultLease is the least that is left of the lease of a delivery whose result is to be
// given again. A dispatcher gives it again within 5 s, and has 10 s for that. It is short,
// because when the process is killed meanwhile the delivery waits for as long.
const resultLease = 20 * time.Second

// FinishDeliveries implements [storage.DeliveryStore]. A step is one round trip and
// one transaction.
func (s *Store) FinishDeliveries(ctx context.Context, done []storage.Result) (fenced []storage.Lease, err error) {
	var held []storage.Lease
	results, fenced := once(done)
	for step := range slices.Chunk(results, storage.FinishMax) {
		type unsettled struct {
			number int64
			leased bool
		}
		var rest []unsettled
		err := s.write(ctx, func(ctx context.Context) (err error) {
			rest, err = collect(ctx, s, s.sized(finish, false), func(rows pgx.Rows) (u unsettled, err error) {
				return u, scanRow(rows, scanInt(&u.number), scanBool(&u.leased))
			}, finishArgs(step)...)
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, u := range rest {
			if lease := step[u.number-1].Lease; u.leased {
				held = append(held, lease)
			} else {
				fenced = append(fenced, lease)
			}
		}
		if err := s.cutSome(ctx, step); err != nil {
			return nil, err
		}
	}
	if len(held) > 0 {
		return fenced, &storage.HeldError{Leases: held}
	}
	return fenced, ctx.Err()
}

// once returns the first result of each lease, with a reason if it pauses its webhook and
// only then, and the leases that came again.
func once(done []storage.Result) (results []storage.Result, repeated []storage.Lease) {
	seen := make(map[storage.Lease]bool, len(done))
	results = make([]storage.Result, 0, len(done))
	for _, r := range done {
		if seen[r.Lease] {
			repeated = append(repeated, r.Lease)
			continue
		}
		seen[r.Lease] = true
		if r.PauseReason = cmp.Or(r.PauseReason, storage.PauseFailures); r.PauseFor <= 0 || r.Standing.Failures == 0 {
			r.PauseFor, r.PauseReason = 0, ""
		}
		results = append(results, r)
	}
	return results, repeated
}

// finishArgs returns the arguments of finish: a column for each array.
func finishArgs(results []storage.Result) []any {
	attempts := column(results, func(r *storage.Result) storage.Attempt {
		if r.Attempt == nil {
			return storage.Attempt{}
		}
		return *r.Attempt
	})
	return []any{
		column(results, func(r *storage.Result) []byte { return r.Lease.WebhookID[:] }),
		column(results, func(r *storage.Result) []byte { return r.Lease.EventID[:] }),
		column(results, func(r *storage.Result) int64 { return r.Lease.Token }),
		column(results, func(r *storage.Result) bool { return r.Attempt != nil }),
		column(results, func(r *storage.Result) int64 { return microsArg(r.RetryIn) }),
		column(attempts, func(a *storage.Attempt) bool { return a.Success }),
		column(results, func(r *storage.Result) bool { return r.Standing.Succeeded }),
		column(results, func(r *storage.Result) int { return r.Standing.SlowFor }),
		column(results, func(r *storage.Result) int { return r.Standing.Failures }),
		column(results, func(r *storage.Result) string { return string(r.PauseReason) }),
		column(results, func(r *storage.Result) int64 { return microsArg(r.PauseFor) }),
		storage.FailureGap.Microseconds(), resultLease.Microseconds(),
		column(attempts, func(a *storage.Attempt) []byte { return a.ID[:] }),
		column(attempts, func(a *storage.Attempt) string { return a.EventType }),
		column(attempts, func(a *storage.Attempt) []byte { return idArg(a.SubmissionID) }),
		column(attempts, func(a *storage.Attempt) int { return a.Attempt }),
		column(attempts, func(a *storage.Attempt) int { return a.Status }),
		column(attempts, func(a *storage.Attempt) string { return a.Error }),
		column(attempts, func(a *storage.Attempt) int64 { return a.Duration.Microseconds() }),
		column(attempts, func(a *storage.Attempt) time.Time { return a.CreatedAt.UTC() }),
	}
}
