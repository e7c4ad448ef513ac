package postgres

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/storage"
)

// finish settles results in one statement and returns their numbers. It waits for no
// row. A result is passed over, to be given again, when somebody else holds a row that it
// changes, or has changed it since the statement's snapshot was taken: its delivery, its
// event, or its webhook's row in destinations or histories. So what follows finds the
// rows at the places where the snapshot has them.
//
// A claim passes over a webhook whose row in destinations is locked. So that row is
// locked only when it changes: not when a destination that works goes on working.
//
// Histories counts the attempts of a webhook. Adding to a full history deletes as many,
// and neither locks nor writes the count. The attempts deleted are the oldest that nobody
// else holds, with their events, of those that were there before, which is why no more than
// HistoryKept of one webhook are kept of a step. When too few are free, the next result
// deletes the rest.
const finish = `
WITH held AS MATERIALIZED (
	SELECT h.*, h.sent AND h.retry = 0 AND NOT h.asked AS over, h.retry = 0 OR h.asked AS at_once,
		statement_timestamp() + CASE WHEN h.asked THEN 0 ELSE h.retry END * interval '1 microsecond' AS next
	FROM (
		SELECT i.*, d.ctid AS place, o.ctid AS seen, d.generation, d.urgency, i.sent AND NOT i.success AND d.urgency = 2 AS asked
		FROM (
			SELECT * FROM unnest($1::bytea[], $2::bytea[], $3::bigint[], $4::boolean[], $5::bigint[], $6::boolean[], $7::bytea[], $8::text[],
				$9::bytea[], $10::integer[], $11::integer[], $12::boolean[], $13::text[], $14::bigint[], $15::timestamptz[])
				WITH ORDINALITY AS i (webhook_id, event_id, token, sent, retry, kept, id, event_type,
					submission_id, attempt, status, success, error, duration, created_at, number)
			LIMIT (SELECT cardinality($1::bytea[])) -- the planner expects a tenth, and looks rows up one by one
		) i
		JOIN formsvc.deliveries o ON o.event_id = i.event_id AND o.webhook_id = i.webhook_id AND o.token = i.token
		JOIN formsvc.deliveries d ON d.ctid = o.ctid
		WHERE i.token <> 0
		FOR UPDATE OF d SKIP LOCKED
	) h
	WHERE h.place = h.seen
), bodies AS MATERIALIZED (
	SELECT b.* FROM (
		SELECT h.number, e.ctid AS place, o.ctid AS seen, e.refs, CASE WHEN h.over THEN -1 ELSE 1 END AS change
		FROM held h JOIN formsvc.events o ON o.id = h.event_id JOIN formsvc.events e ON e.ctid = o.ctid
		WHERE h.sent AND h.kept <> h.over
		FOR UPDATE OF e SKIP LOCKED
	) b
	WHERE b.place = b.seen
), ready AS NOT MATERIALIZED (
	SELECT h.* FROM held h WHERE NOT h.sent OR h.kept = h.over OR h.number IN (SELECT b.number FROM bodies b)
), hooks AS MATERIALIZED (
	SELECT r.webhook_id, r.added, y.kept, x.generation, st.*, x.generation = r.last[1] AND (st.failures > 0
		OR (x.succeeded, x.slow_for, x.failures, x.paused_until) IS DISTINCT FROM (st.succeeded, st.slow_for, 0, NULL::timestamptz)) AS changes
	FROM (
		SELECT r.webhook_id, count(*) FILTER (WHERE r.kept) AS added, max(ARRAY[r.generation, r.number]) AS last -- of the newest url
		FROM ready r WHERE r.sent
		GROUP BY r.webhook_id
	) r
	JOIN formsvc.destinations x ON x.webhook_id = r.webhook_id
	JOIN formsvc.histories y ON y.webhook_id = r.webhook_id
	CROSS JOIN LATERAL (
		SELECT ($16::boolean[])[r.last[2]] AS succeeded, ($17::integer[])[r.last[2]] AS slow_for, ($18::integer[])[r.last[2]] AS failures,
			NULLIF(($19::text[])[r.last[2]], '') AS reason,
			statement_timestamp() + NULLIF(($20::bigint[])[r.last[2]], 0) * interval '1 microsecond' AS pause
	) st
), judging AS MATERIALIZED (
	SELECT h.* FROM hooks h JOIN formsvc.destinations x ON x.webhook_id = h.webhook_id
	WHERE h.changes AND x.generation = h.generation -- by now
	FOR NO KEY UPDATE OF x SKIP LOCKED
), growing AS MATERIALIZED (
	SELECT h.webhook_id, y.kept FROM hooks h JOIN formsvc.histories y ON y.webhook_id = h.webhook_id
	WHERE h.kept <> $21::integer
	FOR NO KEY UPDATE OF y SKIP LOCKED
), free AS MATERIALIZED (
	SELECT h.webhook_id, h.added, COALESCE(g.kept, h.kept) + h.added - $21::integer AS excess
	FROM hooks h LEFT JOIN growing g ON g.webhook_id = h.webhook_id
	WHERE (h.kept = $21::integer OR g.kept IS NOT NULL)
		AND (NOT h.changes OR h.webhook_id IN (SELECT j.webhook_id FROM judging j))
), settled AS MATERIALIZED (
	SELECT r.* FROM ready r WHERE NOT r.sent OR r.webhook_id IN (SELECT f.webhook_id FROM free f)
), ended AS (
	DELETE FROM formsvc.deliveries d WHERE d.ctid = ANY (ARRAY(SELECT s.place FROM settled s WHERE s.over))
), waiting AS (
	UPDATE formsvc.deliveries d SET
		token = 0, leased_until = NULL, due_at = CASE WHEN NOT s.at_once THEN s.next END,
		attempt = CASE WHEN NOT s.sent THEN d.attempt WHEN s.retry = 0 THEN 1 ELSE d.attempt + 1 END,
		urgency = CASE WHEN NOT s.sent THEN LEAST(d.urgency, 1) WHEN s.asked THEN 1 ELSE 0 END
	FROM settled s
	WHERE NOT s.over AND d.ctid = s.place
), arrived AS (
	INSERT INTO formsvc.arrivals (webhook_id, asked)
	SELECT s.webhook_id, bool_or(s.asked OR s.urgency > 0) FROM settled s WHERE s.at_once AND NOT s.over GROUP BY s.webhook_id
), recorded AS (
	INSERT INTO formsvc.attempts (webhook_id, id, event_id, event_type, submission_id, attempt,
		http_status, success, error, duration_us, created_at, next_attempt_at)
	SELECT s.webhook_id, s.id, s.event_id, s.event_type, s.submission_id, s.attempt,
		s.status, s.success, s.error, s.duration, s.created_at, CASE WHEN NOT s.over THEN s.next END
	FROM settled s WHERE s.sent AND s.kept
), judged AS (
	UPDATE formsvc.destinations x SET
		succeeded = j.succeeded, slow_for = j.slow_for, failures = j.failures,
		failing_since = CASE WHEN j.failures > 0 THEN CASE
			WHEN x.failed_at > statement_timestamp() - $22::bigint * interval '1 microsecond' THEN x.failing_since
			ELSE statement_timestamp() END END,
		failed_at = CASE WHEN j.failures > 0 THEN statement_timestamp() END,
		paused_until = j.pause, pause_reason = j.reason,
		crowded = false,
		next_at = CASE WHEN x.next_at IS NOT NULL THEN
			LEAST(x.next_at, CASE WHEN x.paused_until IS NOT NULL THEN COALESCE(j.pause, statement_timestamp()) END) END
	FROM judging j JOIN free f ON f.webhook_id = j.webhook_id
	WHERE x.webhook_id = j.webhook_id
), cutting AS MATERIALIZED (
	SELECT f.webhook_id, old.* FROM free f CROSS JOIN LATERAL (
		SELECT a.place AS attempt, e.place, o.refs
		FROM (
			SELECT a.ctid AS place, a.event_id FROM formsvc.attempts a
			WHERE a.webhook_id = f.webhook_id AND a.error <> '` + storage.AttemptExpired + `'
			ORDER BY a.created_at, a.id
			LIMIT $21::integer
			FOR UPDATE SKIP LOCKED
		) a
		LEFT JOIN LATERAL (SELECT o.ctid AS place, o.refs FROM formsvc.events o WHERE o.id = a.event_id LIMIT 1) o ON true
		LEFT JOIN LATERAL (SELECT e.ctid AS place FROM formsvc.events e WHERE e.ctid = o.place FOR UPDATE SKIP LOCKED) e ON true
		WHERE e.place IS NOT DISTINCT FROM o.place -- both are null when the event is gone
		LIMIT GREATEST(0, f.excess)
	) old
), cut AS (
	DELETE FROM formsvc.attempts a WHERE a.ctid = ANY (ARRAY(SELECT c.attempt FROM cutting c))
), counted AS (
	UPDATE formsvc.histories y SET kept = y.kept + f.added - COALESCE(c.n, 0)
	FROM free f LEFT JOIN (SELECT c.webhook_id, count(*) AS n FROM cutting c GROUP BY c.webhook_id) c ON c.webhook_id = f.webhook_id
	WHERE y.webhook_id = f.webhook_id AND f.added <> COALESCE(c.n, 0)
), totals AS MATERIALIZED (
	SELECT c.place, max(c.refs) + sum(c.change) AS refs
	FROM (
		SELECT b.place, b.refs, b.change FROM bodies b WHERE b.number IN (SELECT s.number FROM settled s)
		UNION ALL
		SELECT c.place, c.refs, -1 FROM cutting c WHERE c.place IS NOT NULL
	) c
	GROUP BY c.place
	HAVING sum(c.change) <> 0
), unused AS (
	DELETE FROM formsvc.events e WHERE e.ctid = ANY (ARRAY(SELECT t.place FROM totals t WHERE t.refs <= 0))
), used AS (
	UPDATE formsvc.events e SET refs = t.refs FROM totals t WHERE e.ctid = t.place AND t.refs > 0
)
SELECT s.number FROM settled s`

// leasedStill returns the numbers of the results whose deliveries still have the lease.
const leasedStill = `
SELECT i.number
FROM unnest($1::bytea[], $2::bytea[], $3::bigint[]) WITH ORDINALITY AS i (webhook_id, event_id, token, number)
JOIN formsvc.deliveries d ON d.event_id = i.event_id AND d.webhook_id = i.webhook_id AND d.token = i.token
WHERE i.token <> 0`

// FinishDeliveries implements [storage.DeliveryStore]. A step is one round trip and
// one transaction.
func (s *Store) FinishDeliveries(ctx context.Context, done []storage.Result) (fenced []storage.Lease, err error) {
	results, fenced := inOrder(done)
	var held []storage.Lease
	for step := range slices.Chunk(results, storage.FinishMax) {
		settled, err := s.numbered(ctx, s.write, step, s.sized(finish, true), finishArgs(step)...)
		if err != nil {
			return nil, err
		}
		if rest := slices.DeleteFunc(step, func(r storage.Result) bool { return settled[r.Lease] }); len(rest) > 0 {
			leased, err := s.numbered(ctx, s.read, rest, s.sized(leasedStill, false), finishArgs(rest)[:3]...)
			if err != nil {
				return nil, err
			}
			for _, r := range rest {
				if leased[r.Lease] {
					held = append(held, r.Lease)
				} else {
					fenced = append(fenced, r.Lease)
				}
			}
		}
	}
	if len(held) > 0 {
		return fenced, &storage.HeldError{Leases: held}
	}
	return fenced, ctx.Err()
}

// numbered runs a statement that returns numbers of results, and returns their leases.
func (s *Store) numbered(ctx context.Context, try func(context.Context, func(context.Context) error) error,
	results []storage.Result, text string, args ...any,
) (leases map[storage.Lease]bool, err error) {
	err = try(ctx, func(ctx context.Context) error {
		leases = make(map[storage.Lease]bool, len(results))
		_, err := collect(ctx, s, text, func(rows pgx.Rows) (none struct{}, err error) {
			var number int64
			if err = scanRow(rows, scanInt(&number)); err == nil {
				leases[results[number-1].Lease] = true
			}
			return none, err
		}, args...)
		return err
	})
	return leases, err
}

// inOrder returns each lease once, those of a webhook together and in the order in
// which they were given, and the leases that came again.
func inOrder(done []storage.Result) (results []storage.Result, repeated []storage.Lease) {
	seen := make(map[storage.Lease]bool, len(done))
	for _, r := range done {
		if seen[r.Lease] {
			repeated = append(repeated, r.Lease)
			continue
		}
		seen[r.Lease] = true
		results = append(results, r)
	}
	slices.SortStableFunc(results, func(a, b storage.Result) int {
		return bytes.Compare(a.Lease.WebhookID[:], b.Lease.WebhookID[:])
	})
	return results, repeated
}

// keptOf reports for each result whether its attempt is recorded: the newest of each
// webhook are, as many as a history has. Those of a webhook stand together.
func keptOf(results []storage.Result) []bool {
	kept := make([]bool, len(results))
	for begin := 0; begin < len(results); {
		var sent []int
		end := begin
		for ; end < len(results) && results[end].Lease.WebhookID == results[begin].Lease.WebhookID; end++ {
			if results[end].Attempt != nil {
				sent = append(sent, end)
			}
		}
		if len(sent) > storage.HistoryKept {
			slices.SortFunc(sent, func(i, j int) int {
				a, b := results[i].Attempt, results[j].Attempt
				return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), bytes.Compare(b.ID[:], a.ID[:]))
			})
			sent = sent[:storage.HistoryKept]
		}
		for _, i := range sent {
			kept[i] = true
		}
		begin = end
	}
	return kept
}

// finishArgs returns the arguments of finish: a column for each array.
func finishArgs(results []storage.Result) []any {
	attempts := column(results, func(r *storage.Result) storage.Attempt {
		if r.Attempt == nil {
			return storage.Attempt{}
		}
		return *r.Attempt
	})
	paused := func(r *storage.Result) bool { return r.Attempt != nil && r.PauseFor > 0 && r.Standing.Failures > 0 }
	return []any{
		column(results, func(r *storage.Result) []byte { return r.Lease.WebhookID[:] }),
		column(results, func(r *storage.Result) []byte { return r.Lease.EventID[:] }),
		column(results, func(r *storage.Result) int64 { return r.Lease.Token }),
		column(results, func(r *storage.Result) bool { return r.Attempt != nil }),
		column(results, func(r *storage.Result) int64 { return microsArg(r.RetryIn) }),
		keptOf(results),
		column(attempts, func(a *storage.Attempt) []byte { return a.ID[:] }),
		column(attempts, func(a *storage.Attempt) string { return a.EventType }),
		column(attempts, func(a *storage.Attempt) []byte { return idArg(a.SubmissionID) }),
		column(attempts, func(a *storage.Attempt) int { return a.Attempt }),
		column(attempts, func(a *storage.Attempt) int { return a.Status }),
		column(attempts, func(a *storage.Attempt) bool { return a.Success }),
		column(attempts, func(a *storage.Attempt) string { return a.Error }),
		column(attempts, func(a *storage.Attempt) int64 { return a.Duration.Microseconds() }),
		column(attempts, func(a *storage.Attempt) time.Time { return a.CreatedAt.UTC() }),
		column(results, func(r *storage.Result) bool { return r.Standing.Succeeded }),
		column(results, func(r *storage.Result) int { return r.Standing.SlowFor }),
		column(results, func(r *storage.Result) int { return r.Standing.Failures }),
		column(results, func(r *storage.Result) string {
			if !paused(r) {
				return ""
			}
			return string(cmp.Or(r.PauseReason, storage.PauseFailures))
		}),
		column(results, func(r *storage.Result) int64 {
			if !paused(r) {
				return 0
			}
			return microsArg(r.PauseFor)
		}),
		storage.HistoryKept, storage.FailureGap.Microseconds(),
	}
}
