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

// finish settles results in one statement. Deliveries are locked in the order of all
// statements, and what follows finds them by their keys; then the rows of their
// webhooks in destinations and in histories, each in the order of ids, and then events.
// It returns the numbers of the results that were not too late, and says of each whether
// somebody else holds its delivery, so that it was passed over.
//
// A claim passes over a webhook whose row in destinations is locked. So that row is
// locked only when it changes: not when a destination that works goes on working.
//
// Histories counts the attempts of a webhook up to HistoryKept; adding to a full history
// deletes as many, and neither locks nor writes the count. The attempts deleted are the
// oldest of those that were there before, which is why no more than HistoryKept of one
// webhook are kept of a step. Attempts that another call is just removing are passed over.
const finish = `
WITH given AS MATERIALIZED (
	SELECT i.* FROM unnest($1::bytea[], $2::bytea[], $3::bigint[], $4::integer[], $5::boolean[], $6::bigint[], $7::bytea[], $8::integer[],
			$9::bytea[], $10::integer[], $11::integer[], $12::boolean[], $13::text[], $14::bigint[], $15::timestamptz[], $24::boolean[])
		AS i (webhook_id, event_id, token, number, sent, retry, id, event_type,
			submission_id, attempt, status, success, error, duration, created_at, kept)
	LIMIT (SELECT cardinality($1::bytea[])) -- the planner expects a tenth, and looks rows up one by one
), held AS MATERIALIZED (
	SELECT i.*, i.sent AND NOT i.success AND d.urgency = 2 AS asked, d.generation, d.urgency
	FROM given i
	JOIN formsvc.deliveries d ON d.event_id = i.event_id AND d.webhook_id = i.webhook_id AND d.token = i.token
	ORDER BY d.event_id, d.webhook_id
	FOR UPDATE OF d SKIP LOCKED
), settled AS MATERIALIZED (
	SELECT h.*, h.sent AND h.retry = 0 AND NOT h.asked AS over,
		h.retry = 0 OR h.asked AS at_once,
		statement_timestamp() + CASE WHEN h.asked THEN 0 ELSE h.retry END * interval '1 microsecond' AS next
	FROM held h
), ended AS (
	DELETE FROM formsvc.deliveries d USING settled s
	WHERE s.over AND d.event_id = s.event_id AND d.webhook_id = s.webhook_id
), waiting AS (
	UPDATE formsvc.deliveries d SET
		token = 0, leased_until = NULL, due_at = CASE WHEN NOT s.at_once THEN s.next END,
		attempt = CASE WHEN NOT s.sent THEN d.attempt WHEN s.retry = 0 THEN 1 ELSE d.attempt + 1 END,
		urgency = CASE WHEN NOT s.sent THEN LEAST(d.urgency, 1) WHEN s.asked THEN 1 ELSE 0 END
	FROM settled s
	WHERE NOT s.over AND d.event_id = s.event_id AND d.webhook_id = s.webhook_id
), arrived AS (
	INSERT INTO formsvc.arrivals (webhook_id, asked)
	SELECT s.webhook_id, bool_or(s.asked OR s.urgency > 0) FROM settled s WHERE s.at_once AND NOT s.over GROUP BY s.webhook_id
), recorded AS (
	INSERT INTO formsvc.attempts (webhook_id, id, event_id, event_type, submission_id, attempt,
		http_status, success, error, duration_us, created_at, next_attempt_at)
	SELECT s.webhook_id, s.id, s.event_id, ($16::text[])[s.event_type], s.submission_id, s.attempt,
		s.status, s.success, s.error, s.duration, s.created_at, CASE WHEN NOT s.over THEN s.next END
	FROM settled s WHERE s.kept
), hooks AS MATERIALIZED (
	SELECT x.webhook_id, x.added, x.generation, st.*
	FROM (
		SELECT x.webhook_id, x.generation, sum(s.added) AS added, max(s.last) FILTER (WHERE s.generation = x.generation) AS last
		FROM (
			SELECT s.webhook_id, s.generation, count(*) FILTER (WHERE s.kept) AS added, max(s.number) AS last
			FROM settled s WHERE s.sent
			GROUP BY s.webhook_id, s.generation
		) s JOIN formsvc.destinations x ON x.webhook_id = s.webhook_id
		GROUP BY x.webhook_id
	) x
	CROSS JOIN LATERAL (
		SELECT x.last IS NOT NULL AS judged, ($17::boolean[])[x.last] AS succeeded, ($18::integer[])[x.last] AS slow_for,
			($19::integer[])[x.last] AS failures, ($20::text[])[x.last] AS reason,
			statement_timestamp() + ($21::bigint[])[x.last] * interval '1 microsecond' AS pause
	) st
), judging AS MATERIALIZED (
	SELECT h.webhook_id, h.succeeded, h.slow_for, h.failures, h.reason, h.pause
	FROM hooks h JOIN formsvc.destinations x ON x.webhook_id = h.webhook_id
	WHERE h.judged AND h.generation = x.generation -- as it is by now
		AND (h.failures > 0
			OR (x.succeeded, x.slow_for, x.failures, x.paused_until) IS DISTINCT FROM (h.succeeded, h.slow_for, 0, NULL::timestamptz))
	ORDER BY x.webhook_id
	FOR NO KEY UPDATE OF x
), judged AS (
	UPDATE formsvc.destinations x SET
		succeeded = c.succeeded, slow_for = c.slow_for, failures = c.failures,
		failing_since = CASE WHEN c.failures > 0 THEN CASE
			WHEN x.failed_at > statement_timestamp() - $23::bigint * interval '1 microsecond' THEN x.failing_since
			ELSE statement_timestamp() END END,
		failed_at = CASE WHEN c.failures > 0 THEN statement_timestamp() END,
		paused_until = c.pause, pause_reason = c.reason,
		crowded = false,
		next_at = CASE WHEN x.next_at IS NOT NULL THEN
			LEAST(x.next_at, CASE WHEN x.paused_until IS NOT NULL THEN COALESCE(c.pause, statement_timestamp()) END) END
	FROM judging c
	WHERE x.webhook_id = c.webhook_id
), growing AS MATERIALIZED (
	SELECT h.webhook_id, y.kept, h.added
	FROM (SELECT * FROM hooks WHERE (SELECT count(*) FROM judging) >= 0 ORDER BY webhook_id) h -- after the destinations
	CROSS JOIN LATERAL (
		SELECT y.kept FROM formsvc.histories y
		WHERE y.webhook_id = h.webhook_id AND y.kept < $22::integer
		LIMIT 1
		FOR NO KEY UPDATE
	) y
), grown AS (
	UPDATE formsvc.histories y SET kept = LEAST(g.kept + g.added, $22::integer)
	FROM growing g
	WHERE y.webhook_id = g.webhook_id
), cut AS (
	DELETE FROM formsvc.attempts a
	WHERE a.ctid = ANY (ARRAY(
		SELECT old.place
		FROM hooks h LEFT JOIN growing g ON g.webhook_id = h.webhook_id
		CROSS JOIN LATERAL (
			SELECT a.ctid AS place FROM formsvc.attempts a
			WHERE a.webhook_id = h.webhook_id AND a.error <> 'expired'
			ORDER BY a.created_at, a.id
			LIMIT GREATEST(0, COALESCE(g.kept, $22::integer) + h.added - $22::integer)
			FOR UPDATE SKIP LOCKED
		) old))
	RETURNING a.event_id
), changes AS (
	SELECT cut.event_id, -1 AS refs FROM cut
	UNION ALL
	SELECT s.event_id, CASE WHEN s.over THEN -1 ELSE 1 END FROM settled s WHERE s.sent AND s.kept = NOT s.over
), ` + countReferences + `
SELECT s.number, false FROM settled s
UNION ALL
SELECT i.number, true FROM given i
JOIN formsvc.deliveries d ON d.event_id = i.event_id AND d.webhook_id = i.webhook_id AND d.token = i.token
WHERE i.number NOT IN (SELECT s.number FROM settled s) AND (SELECT count(*) FROM settled) < cardinality($1::bytea[])`

// FinishDeliveries implements [storage.DeliveryStore]. A step is one round trip and
// one transaction.
func (s *Store) FinishDeliveries(ctx context.Context, done []storage.Result) ([]storage.Lease, error) {
	results, fenced := inOrder(done)
	var later []storage.Lease
	for step := range slices.Chunk(results, storage.FinishMax) {
		known := make([]bool, len(step))
		var locked []storage.Lease
		err := s.write(ctx, func(ctx context.Context) error {
			clear(known)
			locked = nil
			_, err := collect(ctx, s, s.sized(finish), func(rows pgx.Rows) (none struct{}, err error) {
				var number int
				var held bool
				if err := rows.Scan(&number, &held); err != nil {
					return none, err
				}
				if known[number-1] = true; held {
					locked = append(locked, step[number-1].Lease)
				}
				return none, nil
			}, finishArgs(step)...)
			return err
		})
		if err != nil {
			return nil, err
		}
		later = append(later, locked...)
		for i := range step {
			if !known[i] {
				fenced = append(fenced, step[i].Lease)
			}
		}
	}
	if len(later) > 0 {
		return fenced, &storage.HeldError{Leases: later}
	}
	return fenced, ctx.Err()
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

// finishArgs returns the arguments of finish: an array for each column.
func finishArgs(results []storage.Result) []any {
	n := len(results)
	var (
		webhooks, events, ids, submissions = make([][]byte, n), make([][]byte, n), make([][]byte, n), make([][]byte, n)
		tokens, pauses                     = make([]*int64, n), make([]*int64, n)
		retries, durations                 = make([]int64, n), make([]int64, n)
		numbers, types, attempts, statuses = make([]int, n), make([]int, n), make([]int, n), make([]int, n)
		slowFor, failures                  = make([]int, n), make([]int, n)
		sent, successes, succeeded         = make([]bool, n), make([]bool, n), make([]bool, n)
		errs                               = make([]string, n)
		reasons                            = make([]*string, n)
		created                            = make([]time.Time, n)
		typeNames                          []string
	)
	for i := range results {
		r := &results[i]
		webhooks[i], events[i], numbers[i] = r.Lease.WebhookID[:], r.Lease.EventID[:], i+1
		if r.Lease.Token != 0 { // that of no lease: a null equals nothing
			tokens[i] = &r.Lease.Token
		}
		if r.RetryIn > 0 {
			retries[i] = max(1, r.RetryIn.Microseconds())
		}
		a := r.Attempt
		if a == nil {
			continue
		}
		kind := slices.Index(typeNames, a.EventType)
		if kind < 0 {
			kind, typeNames = len(typeNames), append(typeNames, a.EventType)
		}
		sent[i], ids[i], types[i], submissions[i] = true, a.ID[:], kind+1, idArg(a.SubmissionID)
		attempts[i], statuses[i], successes[i] = a.Attempt, a.Status, a.Success
		errs[i], durations[i], created[i] = a.Error, a.Duration.Microseconds(), a.CreatedAt.UTC()
		succeeded[i], slowFor[i], failures[i] = r.Standing.Succeeded, r.Standing.SlowFor, r.Standing.Failures
		if r.PauseFor > 0 && r.Standing.Failures > 0 {
			pause, reason := max(1, r.PauseFor.Microseconds()), string(cmp.Or(r.PauseReason, storage.PauseFailures))
			pauses[i], reasons[i] = &pause, &reason
		}
	}
	return []any{
		webhooks, events, tokens, numbers, sent, retries, ids, types, submissions, attempts, statuses, successes, errs, durations, created,
		typeNames, succeeded, slowFor, failures, reasons, pauses, storage.HistoryKept, storage.FailureGap.Microseconds(), keptOf(results),
	}
}
