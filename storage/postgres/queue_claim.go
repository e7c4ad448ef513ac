package postgres

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// A delivery first waits for its own time (due_at), when its next attempt is due or the lease of its direct dispatch
// ends. Then it waits until its webhook is served next (destinations.next_at). A claimed delivery's lease
// (leased_until) ends no earlier than next_at.
//
// New deliveries add their webhook to arrivals. A claim reads arrivals and due deliveries, and schedules their webhooks
// (scheduleWebhooks). Then it locks due webhooks (lockDueWebhooks), divides the capacity among them (divideCapacity),
// leases their first deliveries (leaseOfWebhooks), and reschedules the webhooks (rescheduleWebhooks). It does not read
// deliveries or webhooks that are due later. Submissions write no row that other transactions write. No delivery is
// lost, because at every commit, each waiting delivery has a scheduled webhook or an arrival. A claim removes a
// schedule only if no delivery is waiting, in a statement that begins after the claim has locked the webhook's row.
// Other statements lock this row before they schedule the webhook.
//
// Claims and results skip locked rows. Other statements lock deliveries by (event_id, webhook_id), then destinations,
// attempts and events. In a WITH list, each of these steps reads the previous one, because PostgreSQL runs unread ones
// last.

const (
	// maxScheduled limits the arrivals and the due deliveries that one claim schedules. Each takes up to 20 µs, so a
	// claim delays other claims by up to 10 ms.
	maxScheduled = 500
	// maxLeasedPerPool limits the leases in one pool per claim, because they are divided among webhooks one by one. A
	// dispatcher requests one or two thousand.
	maxLeasedPerPool = 4096
)

// pollPosition is where the next poll starts, in the database's time: shortly before the first waiting row, or shortly
// before now if there is none. Without it, each poll would read the dead rows that remain in the indexes while an older
// snapshot exists.
type pollPosition struct {
	fullPollAt              time.Time // time of the last poll without a position, in this process's time
	arrivals, due, webhooks pgtype.Timestamptz
}

const (
	// pollOverlap is how late a transaction can commit so that later polls still find its rows.
	pollOverlap = `interval '1 minute'`
	// fullPollInterval is the longest wait for rows that were committed after pollOverlap.
	fullPollInterval = time.Minute
	// maxScheduleAge limits how far in the past a claim schedules a webhook. It is less than pollOverlap, so that
	// another process sees the schedule after the commit.
	maxScheduleAge = `interval '30 seconds'`
)

var beginning = pgtype.Timestamptz{InfinityModifier: pgtype.NegativeInfinity, Valid: true}

func (l *pollPosition) startPosition() pollPosition {
	if l != nil && time.Since(l.fullPollAt) < fullPollInterval {
		return *l
	}
	return pollPosition{time.Now(), beginning, beginning, beginning}
}

// pollQueue returns whether webhooks are due, whether arrivals or deliveries must be scheduled, the next poll position,
// and the table sizes. All pools share one position, because a webhook can move to another pool.
var pollQueue = `
SELECT f.turn IS NOT NULL, f.arrival IS NOT NULL OR f.due IS NOT NULL,
	LEAST(f.arrival, statement_timestamp()) - ` + pollOverlap + `, LEAST(f.due, statement_timestamp()) - ` + pollOverlap + `,
	LEAST(f.turn, statement_timestamp()) - ` + pollOverlap + `,
	` + fmt.Sprintf(tableSize, "deliveries") + `, ` + fmt.Sprintf(tableSize, "attempts") + `
FROM (SELECT
	(SELECT a.at FROM formsvc.arrivals a WHERE ` + arrivalDue + ` ORDER BY a.at LIMIT 1) AS arrival,
	(SELECT d.due_at FROM formsvc.deliveries d WHERE ` + deliveryDue + ` ORDER BY d.due_at LIMIT 1) AS due,
	(SELECT min(x.next_at) FROM (VALUES (0), (1), (2)) p (pool) CROSS JOIN LATERAL (
		SELECT x.next_at FROM formsvc.destinations x
		WHERE x.pool = p.pool AND x.next_at >= $3::timestamptz AND x.next_at <= statement_timestamp()
		ORDER BY x.next_at LIMIT 1) x) AS turn
	OFFSET 0) f`

// These conditions select the arrivals and deliveries that a claim schedules.
const (
	arrivalDue  = `a.at >= $1::timestamptz AND a.at <= statement_timestamp()`
	deliveryDue = `d.due_at >= $2::timestamptz AND d.due_at <= statement_timestamp()`
)

const tableSize = `pg_relation_size('formsvc.%[1]s') + (SELECT COALESCE(sum(pg_relation_size(p.relid)), 0)::bigint FROM pg_partition_tree('formsvc.%[1]s') p)`

// scheduleWebhooks schedules the webhooks of up to $3 arrivals and up to $3 due deliveries. A paused webhook is
// scheduled for the end of its pause unless a user requested the delivery, and all others are due immediately. If a
// webhook's row is locked, its arrival moves to the end of the arrivals. The statement returns the pools of the
// scheduled webhooks, and whether more may be left to schedule.
const scheduleWebhooks = `
WITH come AS MATERIALIZED (
	SELECT a.tableoid AS rel, a.ctid AS place FROM formsvc.arrivals a WHERE ` + arrivalDue + `
	ORDER BY a.at, a.id LIMIT (SELECT $3::bigint) FOR UPDATE SKIP LOCKED
), arrived AS (
	DELETE FROM formsvc.arrivals a WHERE a.ctid = ANY (ARRAY(SELECT l.place FROM come l)) AND (a.tableoid, a.ctid) IN (SELECT l.rel, l.place FROM come l)
	RETURNING a.webhook_id, a.at, a.asked
), due AS MATERIALIZED (
	SELECT d.tableoid AS rel, d.ctid AS place FROM formsvc.deliveries d WHERE ` + deliveryDue + `
	ORDER BY d.due_at LIMIT (SELECT $3::bigint) FOR UPDATE SKIP LOCKED
), ripe AS (
	UPDATE formsvc.deliveries d SET due_at = NULL WHERE d.ctid = ANY (ARRAY(SELECT l.place FROM due l)) AND (d.tableoid, d.ctid) IN (SELECT l.rel, l.place FROM due l)
	RETURNING d.webhook_id, statement_timestamp() AS at, d.urgency > 0 AS asked
), calls AS MATERIALIZED (
	SELECT c.webhook_id, GREATEST(min(c.at), statement_timestamp() - ` + maxScheduleAge + `) AS at, bool_or(c.asked) AS asked
	FROM (SELECT * FROM arrived UNION ALL SELECT * FROM ripe) c GROUP BY c.webhook_id
), turned AS (
	UPDATE formsvc.destinations x
	SET next_at = LEAST(x.next_at, CASE WHEN c.asked THEN c.at ELSE GREATEST(c.at, x.paused_until) END)
	FROM calls c WHERE c.webhook_id = x.webhook_id AND x.webhook_id = ANY (ARRAY(
		SELECT x.webhook_id FROM formsvc.destinations x WHERE x.webhook_id = ANY (ARRAY(SELECT c.webhook_id FROM calls c)) FOR NO KEY UPDATE SKIP LOCKED))
	RETURNING x.webhook_id, x.pool
), kept AS (
	INSERT INTO formsvc.arrivals (webhook_id, asked)
	SELECT c.webhook_id, c.asked
	FROM calls c CROSS JOIN LATERAL (SELECT FROM formsvc.destinations x WHERE x.webhook_id = c.webhook_id LIMIT 1) x
	WHERE c.webhook_id NOT IN (SELECT t.webhook_id FROM turned t)
)
SELECT EXISTS (SELECT FROM turned) AND GREATEST((SELECT count(*) FROM arrived), (SELECT count(*) FROM ripe)) >= $3::bigint,
	ARRAY(SELECT DISTINCT t.pool FROM turned t)`

// lockDueWebhooks locks up to $4 of a pool's due webhooks, starting at $7 and ordered by next_at. It skips a webhook if
// the webhook, its hostname ($5) or its workspace ($6) has no capacity, or if it is local but not in $5.
const lockDueWebhooks = `
SELECT ` + webhookStateColumns + `, ` + webhookCapacity + `
FROM formsvc.destinations x CROSS JOIN LATERAL (SELECT * FROM formsvc.webhooks w WHERE w.id = x.webhook_id LIMIT 1) w
WHERE x.pool = (SELECT $3::smallint) AND x.next_at >= (SELECT $7::timestamptz) AND x.next_at <= statement_timestamp()
	AND COALESCE(($5::jsonb -> x.host)::bigint, CASE WHEN starts_with(x.host, 'local:') THEN 0 ELSE 1 END) > 0 AND w.workspace_id <> ALL ((SELECT $6::bytea[])::bytea[]) AND ` + webhookCapacity + ` > 0
ORDER BY x.next_at LIMIT (SELECT $4::bigint) FOR NO KEY UPDATE OF x SKIP LOCKED`

// webhookCapacity is how many deliveries to the destination x a claim can lease. A limit in $1 does not apply if $8
// contains a different generation for the webhook.
const webhookCapacity = `COALESCE(
			CASE WHEN COALESCE(($8::jsonb -> encode(x.webhook_id, 'hex'))::bigint, x.generation) = x.generation
				THEN ($1::jsonb -> encode(x.webhook_id, 'hex'))::bigint END,
			CASE WHEN x.succeeded AND x.failures = 0 THEN $2::bigint ELSE LEAST($2::bigint, 1) END)`

// leaseOfWebhooks leases each webhook's first deliveries, up to its share. For a paused webhook, it leases only
// requested deliveries. If the byte limit does not allow all these deliveries, every webhook's first delivery takes
// precedence over any second delivery. It also returns how many deliveries each webhook has, up to one more than its
// share. It ignores webhooks that were disabled or got another URL since lockDueWebhooks.
var leaseOfWebhooks = perQueueSize(`
WITH found AS MATERIALIZED (
	SELECT t.number, t.generation, t.part, d.*
	FROM unnest((SELECT $1::bytea[]), (SELECT $2::bigint[]), (SELECT $3::boolean[]), (SELECT $4::text[]), (SELECT $5::bigint[])) WITH ORDINALITY AS t (webhook_id, generation, paused, url, part, number)
	CROSS JOIN LATERAL (SELECT FROM formsvc.webhooks w WHERE w.id = t.webhook_id AND w.url = t.url AND w.enabled AND ` + webhookNotDeleted + ` LIMIT 1) w
	CROSS JOIN LATERAL (SELECT d.*, row_number() OVER () AS n FROM (
		SELECT d.tableoid AS rel, d.ctid AS place, d.size FROM formsvc.deliveries d
		WHERE d.webhook_id = t.webhook_id AND d.due_at IS NULL AND ` + requestedByUser + ` >= CASE WHEN t.paused THEN 1 ELSE 0 END AND t.part > 0
			AND (d.leased_until IS NULL OR d.leased_until <= statement_timestamp())
		ORDER BY ` + requestedByUser + ` DESC, d.queued_at, d.event_id LIMIT t.part + 1 FOR UPDATE SKIP LOCKED
	) d) d
), leased AS (
	UPDATE formsvc.deliveries d
	SET token = DEFAULT, generation = f.generation, urgency = LEAST(d.urgency, 1), leased_until = statement_timestamp() + $7::bigint * interval '1 microsecond'
	FROM (SELECT f.*, sum(f.size) OVER (ORDER BY f.n, f.number) AS bytes FROM found f WHERE f.n <= f.part) f
	WHERE d.ctid = f.place AND d.tableoid = f.rel AND (f.bytes <= $6::bigint OR f.bytes = f.size OR $6::bigint < 1)
	RETURNING f.number, d.event_id, d.token, d.attempt, (EXTRACT(epoch FROM statement_timestamp() - d.queued_at) * 1000000)::bigint AS age
)
SELECT l.number, l.event_id, l.token, l.attempt, l.age FROM leased l
UNION ALL
SELECT f.number, NULL, NULL, count(*)::integer, NULL FROM found f GROUP BY f.number`)

// rescheduleWebhooks sets when webhooks are served next. A webhook without available deliveries is served when a lease
// or its pause ends. A webhook is served immediately if another transaction has locked one of its deliveries.
const rescheduleWebhooks = `
UPDATE formsvc.destinations x SET
	next_at = CASE t.turn WHEN 'last' THEN statement_timestamp() ELSE (
		SELECT LEAST(CASE WHEN x.paused_until > statement_timestamp() THEN x.paused_until END, (
			SELECT min(GREATEST(d.leased_until, statement_timestamp())) FROM formsvc.deliveries d WHERE d.webhook_id = x.webhook_id AND d.due_at IS NULL
				AND ` + requestedByUser + ` >= CASE WHEN x.paused_until > statement_timestamp() THEN 1 ELSE 0 END))
		FROM formsvc.webhooks w WHERE w.id = x.webhook_id AND w.enabled AND ` + webhookNotDeleted + `) END
FROM unnest((SELECT $1::bytea[]), (SELECT $2::text[])) AS t (webhook_id, turn) WHERE t.turn <> '' AND x.webhook_id = t.webhook_id`

var eventBodies = perQueueSize(`SELECT e.id, e.submission_id, e.type, e.body, e.details, e.detailed FROM formsvc.events e WHERE e.id = ANY ((SELECT $1::bytea[])::bytea[])`)

// releaseTimeout is the timeout for releasing leases after the caller's context has ended. Releasing takes milliseconds
// but needs a connection.
const releaseTimeout = 5 * time.Second

// ClaimDeliveries implements [storage.DeliveryStore]. Deliveries of the same event share its body. more is true if
// maxScheduled, maxLeasedPerPool or a limit shared by several webhooks limited the claim.
func (s *Store) ClaimDeliveries(ctx context.Context, p storage.ClaimParams) (claimed []storage.ClaimedDelivery, more bool, err error) {
	var waiting, arrived bool
	var deliveries, attempts int64
	lastPosition := s.pollPosition.Load()
	from := lastPosition.startPosition()
	position := pollPosition{fullPollAt: from.fullPollAt}
	err = s.db.Read(ctx, func(ctx context.Context) error {
		return s.db.QueryRow(ctx, pollQueue, conn.RowScanner(&waiting, &arrived, &position.arrivals, &position.due, &position.webhooks, &deliveries, &attempts),
			from.arrivals, from.due, from.webhooks)
	})
	if err != nil {
		return nil, false, err
	}
	s.pollPosition.CompareAndSwap(lastPosition, &position) // if this fails, another claim has polled, perhaps everything
	s.setQueueSize(deliveries, attempts)
	defer s.noteWork(ctx, "dispatched")
	if !waiting && !arrived {
		return nil, false, nil
	}
	var leased []storage.ClaimedDelivery
	err = s.inTransaction(ctx, func(ctx context.Context, tx *Store) (err error) {
		leased, more = nil, false
		var scheduled []int16 // pools of the scheduled webhooks
		if arrived {
			err = tx.db.QueryRow(ctx, scheduleWebhooks, conn.RowScanner(&more, &scheduled), position.arrivals, position.due, int64(maxScheduled))
		}
		for i, pool := range []storage.Pool{p.Fast, p.Slow, p.NewOrFailing} {
			if err == nil && pool.MaxDeliveries > 0 && (waiting || slices.Contains(scheduled, int16(i))) { // #nosec G115 -- 0 to 2
				var cut bool
				leased, cut, err = tx.leaseFromPool(ctx, p, i, pool, position.webhooks, leased)
				more = more || cut
			}
		}
		return err
	})
	if err != nil || len(leased) == 0 {
		return nil, more && err == nil, err
	}
	// Read bodies after the commit, so that a slow network does not extend locks. If this fails, release the leases.
	if claimed, err = s.addBodies(ctx, leased); err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
		defer cancel()
		_, _ = s.FinishDeliveries(ctx, conn.ColumnArg(leased, func(d *storage.ClaimedDelivery) storage.Result { return storage.Result{Lease: d.Lease} }))
		return nil, false, err
	}
	return claimed, more, nil
}

type dueWebhook struct {
	storage.ClaimedDelivery     // without event and lease
	capacity                int // from the webhook's own limit
	share                   int // part of the capacity that the pool and hostname allow
	found, leased           int
}

// nextSchedule returns how to reschedule the webhook. The parameter skipped reports whether another webhook got none.
func (w *dueWebhook) nextSchedule(skipped bool) string {
	switch {
	case w.share > 0 && w.leased == w.found:
		return "idle" // no delivery is waiting
	case w.leased > 0 && skipped:
		return "last" // other webhooks have waited longer
	}
	return "" // the schedule is unchanged
}

// claimableHosts adds the local destinations that a process serves to the limits of hostnames. Other local destinations
// have no capacity.
func claimableHosts(limits map[string]int, local []string) map[string]int {
	hosts := make(map[string]int, len(limits)+len(local))
	for _, host := range local {
		hosts[host] = 1
	}
	maps.Copy(hosts, limits)
	return hosts
}

// divideCapacity divides the capacity of a pool and its hostnames among the due webhooks. Each webhook gets one
// delivery, in order of next_at. As long as capacity is left, each then gets one more, in random order.
func divideCapacity(due []dueWebhook, pool storage.Pool) {
	perHost := map[string]int{}
	for open := conn.ColumnArg(due, func(w *dueWebhook) *dueWebhook { return w }); len(open) > 0; {
		open = slices.DeleteFunc(open, func(w *dueWebhook) bool {
			limit := cmp.Or(pool.Hosts[w.Host], pool.PerHost) // webhooks whose hostname has the limit 0 are not selected
			if w.share >= w.capacity || pool.MaxDeliveries < 1 || limit > 0 && perHost[w.Host] >= limit {
				return true
			}
			w.share, pool.MaxDeliveries, perHost[w.Host] = w.share+1, pool.MaxDeliveries-1, perHost[w.Host]+1
			return false
		})
		rand.Shuffle(len(open), func(i, k int) { open[i], open[k] = open[k], open[i] }) // #nosec G404 -- no secret
	}
}

// lockDueWebhooks locks due webhooks, up to one more than the capacity, and divides the capacity among them.
func (s *Store) lockDueWebhooks(ctx context.Context, p storage.ClaimParams, class int, pool storage.Pool, since pgtype.Timestamptz) (due []dueWebhook, err error) {
	pool.MaxDeliveries = min(pool.MaxDeliveries, maxLeasedPerPool)
	due, err = conn.Collect(ctx, &s.db, lockDueWebhooks, func(w *dueWebhook) []any {
		return append(webhookStateTargets(&w.ClaimedDelivery), &w.capacity)
	}, conn.ObjectArg(p.Webhooks), int64(p.PerWebhook), int64(class), int64(pool.MaxDeliveries)+1, conn.ObjectArg(claimableHosts(pool.Hosts, p.Local)),
		conn.ColumnArg(pool.ExcludedWorkspaces, func(id *storage.ID) []byte { return id[:] }), since, conn.ObjectArg(p.Generations))
	divideCapacity(due, pool)
	return due, err
}

// leaseFromPool leases deliveries for a pool's due webhooks, and appends them to leased. The result cut reports whether
// another claim could immediately find more deliveries. This is the case if a webhook got no delivery and the schedules
// changed, or if a webhook got some deliveries and has more within its own limit.
func (s *Store) leaseFromPool(ctx context.Context, p storage.ClaimParams, class int, pool storage.Pool, since pgtype.Timestamptz, leased []storage.ClaimedDelivery) (_ []storage.ClaimedDelivery, cut bool, err error) {
	due, err := s.lockDueWebhooks(ctx, p, class, pool, since)
	if err != nil || len(due) == 0 {
		return leased, false, err
	}
	ids := conn.ColumnArg(due, func(w *dueWebhook) []byte { return w.Lease.WebhookID[:] })
	var number, token int64
	var event storage.ID
	var n int
	var age time.Duration
	err = s.db.Each(ctx, leaseOfWebhooks.text(s), []any{&number, &event, &token, &n, &age}, func() {
		w := &due[number-1]
		if token == 0 {
			w.found = n
			return
		}
		d := w.ClaimedDelivery
		d.Lease.EventID, d.Lease.Token, d.Attempt, d.Age = event, token, n, age
		leased, w.leased = append(leased, d), w.leased+1
	}, ids,
		conn.ColumnArg(due, func(w *dueWebhook) int64 { return w.Generation }),
		conn.ColumnArg(due, func(w *dueWebhook) bool { return w.PausedFor > 0 }),
		conn.ColumnArg(due, func(w *dueWebhook) string { return w.URL }),
		conn.ColumnArg(due, func(w *dueWebhook) int { return w.share }),
		int64(p.MaxBytes), p.Lease.Microseconds())
	if err != nil {
		return nil, false, err
	}
	skipped := slices.ContainsFunc(due, func(w dueWebhook) bool { return w.leased == 0 && (w.share == 0 || w.found > 0) })
	next := conn.ColumnArg(due, func(w *dueWebhook) string { return w.nextSchedule(skipped) })
	changed := slices.ContainsFunc(next, func(turn string) bool { return turn != "" })
	cut = slices.ContainsFunc(due, func(w dueWebhook) bool {
		return w.share < w.capacity && (w.share == 0 && changed || 0 < w.leased && w.leased < w.found)
	})
	if changed {
		_, err = s.db.Exec(ctx, rescheduleWebhooks, ids, next)
	}
	return leased, cut, err
}

func (s *Store) addBodies(ctx context.Context, leased []storage.ClaimedDelivery) (whole []storage.ClaimedDelivery, err error) {
	type event struct {
		storage.Event
		submission storage.ID
		detailed   []storage.ID
	}
	events := make(map[storage.ID]event, len(leased))
	err = s.db.Read(ctx, func(ctx context.Context) error {
		var e event
		return s.db.Each(ctx, eventBodies.text(s), []any{&e.ID, &e.submission, &e.Type, &e.Body, &e.Details, &e.detailed}, func() { events[e.ID] = e },
			conn.ColumnArg(leased, func(d *storage.ClaimedDelivery) []byte { return d.Lease.EventID[:] }))
	})
	whole = make([]storage.ClaimedDelivery, 0, len(leased))
	for _, d := range leased {
		if e, there := events[d.Lease.EventID]; there {
			d.SubmissionID, d.EventType, d.Body = e.submission, e.Type, e.BodyFor(slices.Contains(e.detailed, d.Lease.WebhookID))
			whole = append(whole, d)
		}
	}
	if err == nil && len(whole) < len(leased) {
		err = s.deleteWithoutEvent(ctx, leased)
	}
	return whole, err
}
