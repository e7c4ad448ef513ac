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

// holdDeliveries locks the deliveries in the order in which they are given. What
// the next statement sees of them stays true until the end.
const holdDeliveries = `
SELECT count(*)
FROM unnest($1::bytea[], $2::bytea[]) AS i (webhook_id, event_id)
CROSS JOIN LATERAL (
	SELECT 1 FROM formsvc.deliveries d
	WHERE d.webhook_id = i.webhook_id AND d.event_id = i.event_id
	FOR UPDATE
) d`

// settle records the attempts, ends or reschedules their deliveries and keeps the
// state of the webhooks, of several results for one the last, unless it is about
// a URL that the webhook had before. Its rows are the
// results that came too late, by their number. A webhook's row is written only
// when its state changes.
const settle = `
WITH results AS MATERIALIZED (
	SELECT i.*, d.place, d.destination
	FROM unnest($1::bytea[], $2::bytea[], $3::bigint[], $4::bigint[], $5::boolean[], $6::timestamptz[],
		$7::bigint[], $8::timestamptz[], $9::bytea[], $10::text[], $11::bytea[], $12::bigint[],
		$13::bigint[], $14::boolean[], $15::text[], $16::bigint[], $17::timestamptz[])
		AS i (webhook_id, event_id, token, number, sent, next_attempt_at,
			failures, paused_until, id, event_type, submission_id, attempt,
			status, success, error, duration, created_at)
	LEFT JOIN LATERAL (
		SELECT d.ctid AS place, d.destination FROM formsvc.deliveries d
		WHERE d.webhook_id = i.webhook_id AND d.event_id = i.event_id AND d.token = i.token AND d.token <> 0
		LIMIT 1
	) d ON true
), ended AS (
	DELETE FROM formsvc.deliveries d
	WHERE d.ctid = ANY (ARRAY(SELECT r.place FROM results r WHERE r.place IS NOT NULL AND r.sent AND r.next_attempt_at IS NULL))
), rescheduled AS (
	UPDATE formsvc.deliveries d
	SET token = 0, leased_until = NULL, attempt = d.attempt + 1, due_at = r.next_attempt_at
	FROM results r
	WHERE d.ctid = ANY (ARRAY(SELECT r.place FROM results r WHERE r.place IS NOT NULL AND r.sent AND r.next_attempt_at IS NOT NULL))
		AND r.place = d.ctid
), released AS (
	UPDATE formsvc.deliveries d
	SET token = 0, leased_until = NULL
	WHERE d.ctid = ANY (ARRAY(SELECT r.place FROM results r WHERE r.place IS NOT NULL AND NOT r.sent))
), recorded AS (
	INSERT INTO formsvc.attempts (webhook_id, id, event_id, event_type, submission_id, attempt,
		status, success, error, duration, created_at, next_attempt_at)
	SELECT r.webhook_id, r.id, r.event_id, r.event_type, r.submission_id, r.attempt,
		r.status, r.success, r.error, r.duration, r.created_at, r.next_attempt_at
	FROM results r
	WHERE r.place IS NOT NULL AND r.sent
	ON CONFLICT DO NOTHING
), states AS (
	SELECT DISTINCT ON (r.webhook_id, r.destination) r.webhook_id, r.destination, r.failures, r.paused_until
	FROM results r
	WHERE r.place IS NOT NULL AND r.sent
	ORDER BY r.webhook_id, r.destination, r.number DESC
), changed AS (
	SELECT w.id, s.failures, s.paused_until
	FROM states s
	CROSS JOIN LATERAL (
		SELECT w.id FROM formsvc.webhooks w
		WHERE w.id = s.webhook_id AND w.destination = s.destination
			AND (w.failures, w.paused_until) IS DISTINCT FROM (s.failures, s.paused_until)
		FOR NO KEY UPDATE
	) w
), kept AS (
	UPDATE formsvc.webhooks w SET failures = c.failures, paused_until = c.paused_until
	FROM changed c
	WHERE w.id = c.id AND w.id = ANY (ARRAY(SELECT c.id FROM changed c))
)
SELECT r.number FROM results r WHERE r.place IS NULL`

// cutHistories leaves the newest attempts of each webhook and drops the bodies
// that nothing refers to any more. An event that was queued again meanwhile has
// changed, and stays.
//
// Two calls at once for one webhook do not see each other's attempts: until the
// next one its history may be longer by those.
const cutHistories = `
WITH cut AS (
	DELETE FROM formsvc.attempts a
	WHERE a.ctid = ANY (ARRAY(
		SELECT old.place
		FROM unnest($1::bytea[]) AS w (id)
		CROSS JOIN LATERAL (
			SELECT a.created_at, a.id FROM formsvc.attempts a
			WHERE a.webhook_id = w.id
			ORDER BY a.created_at DESC, a.id DESC
			OFFSET $2::bigint LIMIT 1
		) first
		CROSS JOIN LATERAL (
			SELECT a.ctid AS place FROM formsvc.attempts a
			WHERE a.webhook_id = w.id AND (a.created_at, a.id) <= (first.created_at, first.id)
			OFFSET 0
		) old))
	RETURNING a.event_id
), unused AS MATERIALIZED (
	SELECT e.place, e.requeued
	FROM (SELECT cut.event_id, count(*) AS attempts FROM cut GROUP BY cut.event_id) c
	CROSS JOIN LATERAL (
		SELECT e.ctid AS place, e.id, e.form_id, e.requeued FROM formsvc.events e WHERE e.id = c.event_id LIMIT 1) e
	WHERE (SELECT true FROM formsvc.webhooks w JOIN formsvc.deliveries d ON d.webhook_id = w.id AND d.event_id = e.id
			WHERE w.form_id = e.form_id LIMIT 1) IS NULL
		AND c.attempts = (SELECT count(*) FROM formsvc.attempts a WHERE a.event_id = e.id) -- those that were cut included
)
DELETE FROM formsvc.events e USING unused u
WHERE e.ctid = ANY (ARRAY(SELECT u.place FROM unused u)) AND e.ctid = u.place AND e.requeued = u.requeued`

// FinishDeliveries implements [storage.DeliveryStore]. The whole batch is one
// round trip and one transaction.
func (s *Store) FinishDeliveries(ctx context.Context, done []storage.Result, keep int) ([]storage.Lease, error) {
	if err := ctx.Err(); err != nil || len(done) == 0 {
		return nil, err
	}
	results, repeated := inOrder(done)
	args := finishArgs(results)
	webhooks, events := args[0], args[1]

	var fenced []storage.Lease
	err := s.write(ctx, func(ctx context.Context) error {
		b := &pgx.Batch{}
		s.queue(b, holdDeliveries, webhooks, events)
		s.queue(b, settle, args...)
		s.queue(b, cutHistories, attempted(results), int64(max(keep, 0)))
		fenced = slices.Clone(repeated)
		return s.sendEach(ctx, b, nil, func(rows pgx.Rows) error {
			late, err := collectRows(rows, func(rows pgx.Rows) (n int64, err error) {
				err = rows.Scan(&n)
				return n, err
			})
			for _, n := range late {
				fenced = append(fenced, done[n].Lease)
			}
			return err
		}, nil)
	})
	if err != nil {
		return nil, err
	}
	return fenced, nil
}

// numbered is a result with its place among those that were given.
type numbered struct {
	storage.Result
	number int
}

// inOrder returns the results in the order in which deliveries are locked, each
// lease once, and the leases that came again.
func inOrder(done []storage.Result) (results []numbered, repeated []storage.Lease) {
	results = make([]numbered, len(done))
	for i, r := range done {
		results[i] = numbered{r, i}
	}
	slices.SortFunc(results, func(a, b numbered) int {
		return cmp.Or(
			bytes.Compare(a.Lease.WebhookID[:], b.Lease.WebhookID[:]),
			bytes.Compare(a.Lease.EventID[:], b.Lease.EventID[:]),
			cmp.Compare(a.Lease.Token, b.Lease.Token),
			cmp.Compare(a.number, b.number))
	})
	return slices.CompactFunc(results, func(a, b numbered) bool {
		if a.Lease != b.Lease {
			return false
		}
		repeated = append(repeated, b.Lease)
		return true
	}), repeated
}

// attempted returns the webhooks to which something was sent, each once.
func attempted(results []numbered) [][]byte {
	ids := [][]byte{}
	for _, r := range results {
		if n := len(ids); r.Attempt != nil && (n == 0 || !bytes.Equal(ids[n-1], r.Lease.WebhookID[:])) {
			ids = append(ids, bytes.Clone(r.Lease.WebhookID[:]))
		}
	}
	return ids
}

// finishArgs returns the arguments of settle: a column each.
func finishArgs(results []numbered) []any {
	n := len(results)
	var (
		webhooks    = make([][]byte, n)
		events      = make([][]byte, n)
		tokens      = make([]int64, n)
		numbers     = make([]int64, n)
		sent        = make([]bool, n)
		next        = make([]*time.Time, n)
		failures    = make([]int64, n)
		pauses      = make([]*time.Time, n)
		ids         = make([][]byte, n)
		types       = make([]string, n)
		submissions = make([][]byte, n)
		attempts    = make([]int64, n)
		statuses    = make([]int64, n)
		successes   = make([]bool, n)
		errs        = make([]string, n)
		durations   = make([]int64, n)
		created     = make([]*time.Time, n)
	)
	for i := range results {
		r := &results[i]
		webhooks[i], events[i] = r.Lease.WebhookID[:], r.Lease.EventID[:]
		tokens[i], numbers[i] = r.Lease.Token, int64(r.number)
		a := r.Attempt
		if a == nil {
			continue
		}
		sent[i] = true
		next[i], failures[i], pauses[i] = timeArg(a.NextAttemptAt), int64(r.Failures), timeArg(r.PausedUntil)
		ids[i], types[i], submissions[i] = a.ID[:], a.EventType, idArg(a.SubmissionID)
		attempts[i], statuses[i], successes[i] = int64(a.Attempt), int64(a.Status), a.Success
		at := a.CreatedAt.UTC()
		errs[i], durations[i], created[i] = a.Error, int64(a.Duration), &at
	}
	return []any{
		webhooks, events, tokens, numbers, sent, next, failures, pauses, ids,
		types, submissions, attempts, statuses, successes, errs, durations, created,
	}
}
