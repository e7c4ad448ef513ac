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

// ofSameLease finds the delivery d of the result i. A result that came too late
// finds none: a lease never returns.
const ofSameLease = `d.event_id = i.event_id AND d.webhook_id = i.webhook_id AND d.token = i.token`

// holdDeliveries locks the deliveries in the order in which they are given, which
// is that of every statement that locks several. What the next statements see of
// them stays true until the end. A single one needs no order, and endAll keeps it
// by itself.
const holdDeliveries = `
SELECT count(*)
FROM unnest($1::bytea[], $2::bytea[], $3::bigint[]) AS i (webhook_id, event_id, token)
CROSS JOIN LATERAL (
	SELECT FROM formsvc.deliveries d
	WHERE ` + ofSameLease + `
	FOR UPDATE
) d`

// release gives leases back. It tells the numbers of those that were not too late,
// unless all were in time.
const release = `
WITH released AS (
	UPDATE formsvc.deliveries d SET token = 0, leased_until = NULL
	FROM unnest($1::bytea[], $2::bytea[], $3::bigint[], $4::integer[]) AS i (webhook_id, event_id, token, number)
	WHERE ` + ofSameLease + `
	RETURNING i.number
)
SELECT CASE WHEN count(*) < cardinality($1::bytea[]) THEN COALESCE(array_agg(r.number), '{}') END FROM released r`

// The results of what was sent: each with its number among those that were given,
// and the attempt. The type of its event is one of a list that tends to be short.
const sentResults = `unnest($1::bytea[], $2::bytea[], $3::bigint[], $4::integer[], $5::bytea[], $6::integer[], $7::bytea[],
		$8::integer[], $9::integer[], $10::boolean[], $11::text[], $12::bigint[], $13::timestamptz[], $14::timestamptz[])
	AS i (webhook_id, event_id, token, number, id, event_type, submission_id,
		attempt, status, success, error, duration, created_at, next_attempt_at)`

// endAll settles results that all end their deliveries, as most do. It tells the
// numbers of those that were not too late, unless all were in time. Rows are
// locked in the order in which the results are given when the server looks them
// up one by one, as lookUp has it do.
const endAll = `
WITH settled AS (
	DELETE FROM formsvc.deliveries d
	USING ` + sentResults + `
	WHERE ` + ofSameLease + `
	RETURNING i.*, d.destination
), retried AS (
	SELECT NULL::bytea AS event_id WHERE false
), ` + recordSettled

// endOrRetry is endAll for results of which some have another attempt coming. What
// it locks is to be locked before.
const endOrRetry = `
WITH given AS MATERIALIZED (
	SELECT * FROM ` + sentResults + `
), ended AS (
	DELETE FROM formsvc.deliveries d
	USING given i
	WHERE i.next_attempt_at IS NULL AND ` + ofSameLease + `
	RETURNING i.*, d.destination
), retried AS (
	UPDATE formsvc.deliveries d
	SET token = 0, leased_until = NULL, attempt = d.attempt + 1, due_at = i.next_attempt_at
	FROM given i
	WHERE i.next_attempt_at IS NOT NULL AND ` + ofSameLease + `
	RETURNING i.*, d.destination
), settled AS (
	SELECT * FROM ended UNION ALL SELECT * FROM retried
), ` + recordSettled

// ofLookUp ends the text of a statement that relies on lookUp, so that it has a plan
// of its own: one that was made without would lock in any order.
const ofLookUp = "\n-- looked up row by row"

// recordSettled records the attempts and changes the webhooks: what a webhook
// knows of its destination comes from the last of its results, unless that is
// about a URL that it had before, and its history grows up to $18 attempts. A
// webhook's row is written only when something changes: not when a destination
// that works goes on working and the history is full. The rows of several are
// locked in the order of their ids.
//
// The last result of a webhook is the one with the highest destination, and among
// those with the highest number, which is its place in $16 and $17; one value that
// has both spares sorting the results.
//
// That a full history is known to be full saves counting it. Whoever adds to it
// takes away as many. How many that is cutHistories learns from settings that end
// with the transaction: it is a statement of its own because only that sees the new
// attempts among the old ones.
const recordSettled = `recorded AS (
	INSERT INTO formsvc.attempts (webhook_id, id, event_id, event_type, submission_id, attempt,
		status, success, error, duration, created_at, next_attempt_at)
	SELECT s.webhook_id, s.id, s.event_id, ($15::text[])[s.event_type], s.submission_id, s.attempt,
		s.status, s.success, s.error, s.duration, s.created_at, s.next_attempt_at
	FROM settled s
), latest AS MATERIALIZED (
	SELECT l.webhook_id, l.added, l.last >> 32 AS destination,
		($16::integer[])[(l.last & 4294967295)::integer] AS failures,
		($17::timestamptz[])[(l.last & 4294967295)::integer] AS paused_until
	FROM (
		SELECT s.webhook_id, count(*) AS added, max((s.destination::bigint << 32) + s.number) AS last
		FROM settled s
		GROUP BY s.webhook_id
	) l
), changed AS MATERIALIZED (
	SELECT w.id, w.history, l.added, l.destination, l.failures, l.paused_until
	FROM latest l JOIN formsvc.webhooks w ON w.id = l.webhook_id
	WHERE w.history <> $18::bigint
		OR w.destination = l.destination AND (w.failures, w.paused_until) IS DISTINCT FROM (l.failures, l.paused_until)
	ORDER BY w.id
	FOR NO KEY UPDATE OF w
), kept AS (
	UPDATE formsvc.webhooks w SET
		history = LEAST(c.history + c.added, $18::bigint),
		failures = CASE WHEN w.destination = c.destination THEN c.failures ELSE w.failures END,
		paused_until = CASE WHEN w.destination = c.destination THEN c.paused_until ELSE w.paused_until END
	FROM changed c
	WHERE w.id = c.id
), excess AS (
	SELECT c.id AS webhook_id, c.history + c.added - $18::bigint AS n FROM changed c
	UNION ALL
	SELECT l.webhook_id, l.added FROM latest l WHERE l.webhook_id NOT IN (SELECT c.id FROM changed c)
)
SELECT CASE WHEN (SELECT count(*) FROM settled) < cardinality($1::bytea[]) THEN ARRAY(SELECT s.number FROM settled s) END,
	set_config('formsvc_settled.full', array_agg(e.webhook_id)::text, true),
	set_config('formsvc_settled.excess', array_agg(e.n)::text, true),
	set_config('formsvc_settled.retried', (SELECT array_agg(r.event_id)::text FROM retried r), true)
FROM excess e WHERE e.n > 0`

// cutHistories removes the oldest attempts of the webhooks that recordSettled
// found to have too many, and changes what the events count: one less for each of
// those, one more for each attempt that has another one coming. (One that ended its
// delivery counts in its place.) Attempts that another call is just removing are
// passed over, so that each call removes its own number.
const (
	cutHistories         = cutAttempts + countReferences + " SELECT true"
	cutHistoriesUnlocked = cutAttempts + countUnlocked + " SELECT true"
)

const cutAttempts = `
WITH cut AS (
	DELETE FROM formsvc.attempts a
	WHERE a.ctid = ANY (ARRAY(
		SELECT old.place
		FROM unnest(
			NULLIF(current_setting('formsvc_settled.full', true), '')::bytea[],
			NULLIF(current_setting('formsvc_settled.excess', true), '')::bigint[]) AS e (webhook_id, n)
		CROSS JOIN LATERAL (
			SELECT a.ctid AS place FROM formsvc.attempts a
			WHERE a.webhook_id = e.webhook_id
			ORDER BY a.created_at, a.id
			LIMIT e.n
			FOR UPDATE SKIP LOCKED
		) old))
	RETURNING a.event_id
), changes AS (
	SELECT cut.event_id, -1 AS refs FROM cut
	UNION ALL
	SELECT r.event_id, 1 FROM unnest(NULLIF(current_setting('formsvc_settled.retried', true), '')::bytea[]) AS r (event_id)
), `

// FinishDeliveries implements [storage.DeliveryStore]. The whole batch is one
// round trip and one transaction.
func (s *Store) FinishDeliveries(ctx context.Context, done []storage.Result, keep int) ([]storage.Lease, error) {
	if err := ctx.Err(); err != nil || len(done) == 0 {
		return nil, err
	}
	results, repeated := inOrder(done)
	var sent, released []numbered
	retry := false
	for _, r := range results {
		if r.Attempt == nil {
			released = append(released, r)
			continue
		}
		sent = append(sent, r)
		retry = retry || !r.Attempt.NextAttemptAt.IsZero()
	}

	var fenced []storage.Lease
	err := s.write(ctx, func(ctx context.Context) error {
		fenced = slices.Clone(repeated)
		// Each statement begins its row with the numbers of those of its results that
		// were settled, or null when all were.
		fence := func(given []numbered, others ...any) func(pgx.Rows) error {
			return func(rows pgx.Rows) error {
				return firstRow(rows, func(rows pgx.Rows) error {
					var settled []int
					if err := rows.Scan(append([]any{&settled}, others...)...); err != nil || settled == nil {
						return err
					}
					for _, r := range given {
						if !slices.Contains(settled, r.number) {
							fenced = append(fenced, r.Lease)
						}
					}
					return nil
				})
			}
		}
		b := &pgx.Batch{}
		var read []func(pgx.Rows) error
		ordered := s.lookUp(b)
		if ordered {
			read = append(read, nil)
		}
		if len(results) > 1 && (!ordered || retry || len(released) > 0) {
			s.queue(b, holdDeliveries, leaseArgs(results)[:3]...)
			read = append(read, nil)
		}
		if len(released) > 0 {
			s.queue(b, release, leaseArgs(released)...)
			read = append(read, fence(released))
		}
		if len(sent) > 0 {
			text, cut := endAll, cutHistories
			if retry {
				text = endOrRetry
			}
			if ordered {
				text, cut = text+ofLookUp, cutHistoriesUnlocked
			}
			args := append(leaseArgs(sent), attemptArgs(sent)...)
			args = append(args, webhookArgs(done)...)
			s.queue(b, text, append(args, int64(max(keep, 0)))...)
			s.queue(b, cut)
			read = append(read, fence(sent, nil, nil, nil), nil)
		}
		return s.sendEach(ctx, b, read...)
	})
	if err != nil {
		return nil, err
	}
	return fenced, nil
}

// numbered is a result with its place among those that were given, from 1 on.
type numbered struct {
	storage.Result
	number int
}

// inOrder returns the results in the order in which deliveries are locked, each
// lease once, and the leases that came again.
func inOrder(done []storage.Result) (results []numbered, repeated []storage.Lease) {
	results = make([]numbered, len(done))
	for i, r := range done {
		results[i] = numbered{r, i + 1}
	}
	slices.SortFunc(results, func(a, b numbered) int {
		return cmp.Or(
			bytes.Compare(a.Lease.EventID[:], b.Lease.EventID[:]),
			bytes.Compare(a.Lease.WebhookID[:], b.Lease.WebhookID[:]),
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

// leaseArgs returns the leases and numbers of the results: an array for each
// column.
func leaseArgs(results []numbered) []any {
	n := len(results)
	var (
		webhooks = make([][]byte, n)
		events   = make([][]byte, n)
		tokens   = make([]*int64, n)
		numbers  = make([]int, n)
	)
	for i := range results {
		r := &results[i]
		webhooks[i], events[i], numbers[i] = r.Lease.WebhookID[:], r.Lease.EventID[:], r.number
		if r.Lease.Token != 0 { // that of no lease: a null equals nothing
			tokens[i] = &r.Lease.Token
		}
	}
	return []any{webhooks, events, tokens, numbers}
}

// attemptArgs returns what follows the leases in sentResults, and the types of
// their events.
func attemptArgs(results []numbered) []any {
	n := len(results)
	var (
		ids         = make([][]byte, n)
		types       = make([]int, n)
		submissions = make([][]byte, n)
		attempts    = make([]int, n)
		statuses    = make([]int, n)
		successes   = make([]bool, n)
		errs        = make([]string, n)
		durations   = make([]int64, n)
		created     = make([]time.Time, n)
		next        = make([]*time.Time, n)
		typeNames   []string
	)
	for i := range results {
		a := results[i].Attempt
		known := slices.Index(typeNames, a.EventType)
		if known < 0 {
			known, typeNames = len(typeNames), append(typeNames, a.EventType)
		}
		ids[i], types[i], submissions[i] = a.ID[:], known+1, idArg(a.SubmissionID)
		attempts[i], statuses[i], successes[i] = a.Attempt, a.Status, a.Success
		errs[i], durations[i] = a.Error, int64(a.Duration)
		created[i], next[i] = a.CreatedAt.UTC(), timeArg(a.NextAttemptAt)
	}
	return []any{ids, types, submissions, attempts, statuses, successes, errs, durations, created, next, typeNames}
}

// webhookArgs returns what the results say of their webhooks, each at its number.
// The pauses are null when there is none.
func webhookArgs(done []storage.Result) []any {
	failures := make([]int, len(done))
	var pauses []*time.Time
	for i, r := range done {
		failures[i] = r.Failures
		if !r.PausedUntil.IsZero() {
			if pauses == nil {
				pauses = make([]*time.Time, len(done))
			}
			pauses[i] = timeArg(r.PausedUntil)
		}
	}
	return []any{failures, pauses}
}
