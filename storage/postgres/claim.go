package postgres

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/storage"
)

// # How deliveries wait
//
// A delivery is ready at a time at which somebody has to look at it: when it was
// queued, when its next attempt is due, when its lease ends. Or it is parked (a null
// ready_at) in the lane of its webhook, which is a row of destinations with the time
// of the lane's next turn. Responses only insert deliveries that are ready.
//
// A claim serves the lanes that have a turn first, and then the deliveries that are
// ready: it leases those that have room and whose lane is empty, and parks the
// others. So it reads neither what waits for a later time nor what is parked in
// lanes without a turn.
//
// No delivery is forgotten, because every commit leaves each of them ready or parked
// in a lane with a turn. A transaction that parks deliveries locks the lane's row until
// it commits. One that serves a lane locks its row first and reads the parked
// deliveries in a separate statement, whose snapshot is younger than the lock: it sees
// all that was parked before, and nothing is parked between that read and the commit.
// In one statement, or in a transaction with one snapshot, it would empty the turn of a
// lane in which something was parked while it waited. A delivery that is committed late
// is ready at a time in the past, and the index is read from its beginning.
//
// A LIMIT that is an argument makes the planner expect a tenth of the table. What
// follows such a LIMIT goes through arrays, of which it expects a few rows, so that it
// looks rows up one by one.
//
// A claim waits for no row: it passes over those that are locked. Others lock
// deliveries in the order of (event_id, webhook_id), then destinations, then events.

const (
	// arrivalsAtOnce bounds the ready deliveries that one claim takes. Parking one
	// costs about 30 µs, so that this many hold up the others for 15 ms.
	arrivalsAtOnce = 500
	// lanesAside bounds the lanes of crowded host names that one claim sets aside.
	lanesAside = 200
	// stuckFor is how long ready deliveries wait that can neither be leased nor parked,
	// because somebody holds their lanes, when they are a quarter of what was taken.
	// Fewer of them are left to the next claim; many would keep others from being seen.
	stuckFor = 50 * time.Millisecond
)

// What a claim may take, as SQL, of a webhook and of a host name; x is a destination.
// Bounds are looked up in objects, which is fast however many there are; as a join
// they would be read for each webhook.
func webhookRoom(x string) string {
	return `COALESCE(($1::jsonb -> encode(` + x + `.webhook_id, 'hex'))::bigint,
		CASE WHEN ` + x + `.succeeded AND ` + x + `.failures = 0 THEN $2::bigint ELSE LEAST($2::bigint, 1) END)`
}

func hostRoom(x string) string {
	return `CASE WHEN ` + x + `.quick THEN COALESCE(($3::jsonb -> ` + x + `.host)::bigint, $4::bigint)
		ELSE COALESCE(($5::jsonb -> ` + x + `.host)::bigint, $6::bigint) END`
}

const pools = `pools (quick, room) AS (VALUES (true, $7::bigint), (false, $8::bigint))`

// dueNow reports whether there are lanes with a turn and deliveries that are ready. It
// is all that an idle process asks.
const dueNow = `
SELECT EXISTS (SELECT FROM (VALUES (true), (false)) p (quick) CROSS JOIN LATERAL (
		(SELECT x.next_at FROM formsvc.destinations x
		WHERE x.quick = p.quick AND NOT x.crowded AND x.next_at IS NOT NULL ORDER BY x.next_at LIMIT 1)
		UNION ALL
		(SELECT x.next_at FROM formsvc.destinations x
		WHERE x.quick = p.quick AND x.crowded AND x.next_at IS NOT NULL ORDER BY x.host, x.next_at LIMIT 1)
	) x WHERE x.next_at <= statement_timestamp()),
	(SELECT d.ready_at FROM formsvc.deliveries d WHERE d.ready_at IS NOT NULL ORDER BY d.ready_at LIMIT 1) <= statement_timestamp()`

// takeLanes locks lanes that have a turn, least recently served first, and gives
// them the time $9 instead, by which serveLanes finds them. Lanes whose host name
// has no room are set aside as crowded: nobody passes over them again, and they are
// found by their host name once that has room.
var takeLanes = `
WITH RECURSIVE ` + pools + `, hosts AS (
	SELECT p.quick, p.room, (
		SELECT x.host FROM formsvc.destinations x
		WHERE x.quick = p.quick AND x.crowded AND x.next_at IS NOT NULL
		ORDER BY x.host LIMIT 1) AS host
	FROM pools p WHERE p.room > 0
	UNION ALL
	SELECT h.quick, h.room, (
		SELECT x.host FROM formsvc.destinations x
		WHERE x.quick = h.quick AND x.crowded AND x.next_at IS NOT NULL AND x.host > h.host
		ORDER BY x.host LIMIT 1)
	FROM hosts h WHERE h.host IS NOT NULL
), turns AS MATERIALIZED (
	SELECT t.*, p.room FROM pools p CROSS JOIN LATERAL (
		SELECT x.webhook_id, x.host, x.quick, x.crowded, x.next_at FROM formsvc.destinations x
		WHERE x.quick = p.quick AND NOT x.crowded AND x.next_at <= statement_timestamp() AND ` + webhookRoom("x") + ` > 0
		ORDER BY x.next_at
		LIMIT p.room + $10::bigint
		FOR NO KEY UPDATE SKIP LOCKED) t
	WHERE p.room > 0
), waiting AS MATERIALIZED (
	SELECT t.*, h.room FROM hosts h CROSS JOIN LATERAL (
		SELECT x.webhook_id, x.host, x.quick, x.crowded, x.next_at FROM formsvc.destinations x
		WHERE x.quick = h.quick AND x.crowded AND x.host = h.host AND x.next_at <= statement_timestamp() AND ` + webhookRoom("x") + ` > 0
		ORDER BY x.next_at
		LIMIT GREATEST(0, LEAST(h.room, ` + hostRoom("h") + `))
		FOR NO KEY UPDATE SKIP LOCKED) t
	WHERE h.host IS NOT NULL
), fitting AS (
	SELECT x.*, row_number() OVER (PARTITION BY x.quick, x.host ORDER BY x.next_at) <= ` + hostRoom("x") + ` AS fits
	FROM (SELECT * FROM turns UNION ALL SELECT * FROM waiting) x
), chosen AS (
	SELECT f.*, row_number() OVER (PARTITION BY f.quick, f.fits ORDER BY f.next_at) <= f.room AS served FROM fitting f
), few AS (
	SELECT array_agg(c.webhook_id) AS webhooks, array_agg(c.fits) AS fits
	FROM chosen c WHERE c.fits AND c.served OR NOT c.fits AND NOT c.crowded
)
UPDATE formsvc.destinations x
SET crowded = NOT c.fits, next_at = CASE WHEN c.fits THEN $9::timestamptz ELSE x.next_at END
FROM few, unnest(few.webhooks, few.fits) AS c (webhook_id, fits)
WHERE x.webhook_id = c.webhook_id`

// knownOfLane is what goes with every delivery of a webhook w with its destination x.
const knownOfLane = `x.webhook_id, x.quick, x.host, x.succeeded, x.slow_for, x.failures, x.failing_since, x.paused_until, x.pause_reason, x.generation,
	COALESCE(x.paused_until > statement_timestamp(), false) AS paused,
	w.form_id, w.url, w.secret, CASE WHEN w.old_secret_until > statement_timestamp() THEN w.old_secret END AS old_secret,
	w.enabled AND ` + webhookThere + ` AS live`

// leaseFound leases what there is room for of found, in the order of n, which counts
// the deliveries of each webhook, and then of age. It is a part of a WITH list; known
// has the webhooks.
var leaseFound = `of_host AS (
	SELECT x.*, row_number() OVER (PARTITION BY x.quick, x.host ORDER BY x.n, x.age, x.webhook_id) AS host_n
	FROM found x WHERE x.n <= ` + webhookRoom("x") + `
), of_pool AS (
	SELECT x.*, row_number() OVER (PARTITION BY x.quick ORDER BY x.n, x.age, x.webhook_id) AS pool_n
	FROM of_host x WHERE x.host_n <= ` + hostRoom("x") + `
), of_bytes AS (
	SELECT x.*, sum(x.size) OVER first AS bytes, row_number() OVER first AS all_n
	FROM of_pool x WHERE x.pool_n <= CASE WHEN x.quick THEN $7::bigint ELSE $8::bigint END
	WINDOW first AS (ORDER BY x.n, x.age, x.webhook_id, x.event_id)
), picked AS MATERIALIZED (
	SELECT x.webhook_id, x.event_id FROM of_bytes x WHERE x.bytes <= $10::bigint OR x.all_n = 1 AND $10::bigint > 0
), leased AS (
	UPDATE formsvc.deliveries d
	SET token = DEFAULT, generation = k.generation, ready_at = statement_timestamp() + $11::bigint * interval '1 microsecond'
	FROM picked p JOIN known k ON k.webhook_id = p.webhook_id
	WHERE d.event_id = p.event_id AND d.webhook_id = p.webhook_id
	RETURNING d.webhook_id, d.event_id, d.token, d.attempt, d.size
)`

const leasedColumns = `l.event_id, l.token, l.attempt, l.size,
	k.webhook_id, k.form_id, k.url, k.host, k.secret, k.old_secret, k.succeeded, k.slow_for, k.failures,
	(EXTRACT(epoch FROM statement_timestamp() - k.failing_since) * 1000000)::bigint,
	(EXTRACT(epoch FROM GREATEST(k.paused_until - statement_timestamp(), interval '0')) * 1000000)::bigint, k.pause_reason
FROM leased l JOIN known k ON k.webhook_id = l.webhook_id`

// serveLanes leases what is parked in the lanes that takeLanes locked, and gives each
// of them its next turn: after all others, or none when nothing is parked any more.
// What another transaction holds is passed over, and counts as parked.
var serveLanes = `
WITH known AS MATERIALIZED (
	SELECT ` + knownOfLane + `
	FROM formsvc.destinations x JOIN formsvc.webhooks w ON w.id = x.webhook_id
	WHERE x.quick = ANY ('{t,f}') AND NOT x.crowded AND x.next_at = $9::timestamptz
), found AS MATERIALIZED (
	SELECT x.webhook_id, x.quick, x.host, x.succeeded, x.failures, d.event_id, d.size, d.queued_at AS age,
		row_number() OVER (PARTITION BY x.webhook_id ORDER BY d.urgency DESC, d.queued_at, d.event_id) AS n
	FROM known x CROSS JOIN LATERAL (
		SELECT d.event_id, d.size, d.queued_at, d.urgency FROM formsvc.deliveries d
		WHERE d.webhook_id = x.webhook_id AND d.ready_at IS NULL AND (d.urgency > 0 OR NOT x.paused)
		ORDER BY d.urgency DESC, d.queued_at, d.event_id
		LIMIT LEAST(` + webhookRoom("x") + `, CASE WHEN x.quick THEN $7::bigint ELSE $8::bigint END)
		FOR UPDATE SKIP LOCKED
	) d
	WHERE x.live
), ` + leaseFound + `, turned AS (
	UPDATE formsvc.destinations x
	SET next_at = CASE WHEN k.live AND k.parked > k.taken THEN
		CASE WHEN k.paused AND k.asked <= k.taken THEN x.paused_until ELSE statement_timestamp() END END
	FROM (
		SELECT k.webhook_id, k.live, k.paused, t.taken, p.parked, p.asked
		FROM known k
		CROSS JOIN LATERAL (SELECT count(*) AS taken FROM picked p WHERE p.webhook_id = k.webhook_id) t
		CROSS JOIN LATERAL (
			SELECT count(*) AS parked, count(*) FILTER (WHERE d.urgency > 0) AS asked FROM (
				SELECT d.urgency FROM formsvc.deliveries d
				WHERE d.webhook_id = k.webhook_id AND d.ready_at IS NULL
				ORDER BY d.urgency DESC, d.queued_at, d.event_id
				LIMIT t.taken + 1) d
		) p
	) k
	WHERE x.webhook_id = k.webhook_id
)
SELECT ` + leasedColumns

// takeArrivals takes $9 ready deliveries and leases those of webhooks that are not
// paused and have an empty lane, and those that somebody asked for. The others are
// parked, in a lane whose turn counts from when they were ready, unless somebody holds
// that lane. Deliveries of a webhook that is gone are parked without a turn: they are
// deleted together with the webhook. A row without a delivery says that more may be
// ready.
var takeArrivals = `
WITH taken AS MATERIALIZED (
	SELECT d.webhook_id, d.event_id, d.ready_at, d.size, d.urgency > 0 AS asked FROM formsvc.deliveries d
	WHERE d.ready_at <= statement_timestamp()
	ORDER BY d.ready_at
	LIMIT $9::bigint
	FOR UPDATE SKIP LOCKED
), arrived AS MATERIALIZED (
	SELECT a.* FROM (
		SELECT array_agg(t.webhook_id) AS webhooks, array_agg(t.event_id) AS events, array_agg(t.ready_at) AS ready,
			array_agg(t.size) AS sizes, array_agg(t.asked) AS asked
		FROM taken t
	) t, unnest(t.webhooks, t.events, t.ready, t.sizes, t.asked) AS a (webhook_id, event_id, ready_at, size, asked)
), known AS MATERIALIZED (
	SELECT ` + knownOfLane + `, x.next_at IS NULL AND COALESCE(x.paused_until <= statement_timestamp(), true) AS open
	FROM (SELECT DISTINCT a.webhook_id FROM arrived a) a
	CROSS JOIN LATERAL (SELECT * FROM formsvc.destinations x WHERE x.webhook_id = a.webhook_id LIMIT 1) x
	CROSS JOIN LATERAL (SELECT * FROM formsvc.webhooks w WHERE w.id = a.webhook_id LIMIT 1) w
), found AS MATERIALIZED (
	SELECT x.webhook_id, x.quick, x.host, x.succeeded, x.failures, a.event_id, a.size, a.ready_at AS age,
		row_number() OVER (PARTITION BY x.webhook_id ORDER BY a.asked DESC, a.ready_at, a.event_id) AS n
	FROM known x JOIN arrived a ON a.webhook_id = x.webhook_id
	WHERE x.live AND (x.open OR a.asked)
), ` + leaseFound + `, rest AS MATERIALIZED (
	SELECT a.*, COALESCE(k.live, false) AS live FROM arrived a LEFT JOIN known k ON k.webhook_id = a.webhook_id
	WHERE (a.webhook_id, a.event_id) NOT IN (SELECT p.webhook_id, p.event_id FROM picked p)
), lanes AS MATERIALIZED (
	SELECT x.webhook_id FROM formsvc.destinations x
	WHERE x.webhook_id IN (SELECT r.webhook_id FROM rest r WHERE r.live)
	FOR NO KEY UPDATE SKIP LOCKED
), turned AS (
	UPDATE formsvc.destinations x
	SET next_at = LEAST(x.next_at, CASE WHEN r.asked THEN r.ready_at ELSE GREATEST(r.ready_at, x.paused_until) END),
		crowded = CASE WHEN x.next_at IS NULL
			THEN ` + hostRoom("x") + ` < 1 AND (x.paused_until IS NULL OR x.paused_until <= statement_timestamp())
			ELSE x.crowded END
	FROM lanes l JOIN (
		SELECT r.webhook_id, min(r.ready_at) AS ready_at, bool_or(r.asked) AS asked FROM rest r GROUP BY r.webhook_id
	) r ON r.webhook_id = l.webhook_id
	WHERE x.webhook_id = l.webhook_id
), placed AS MATERIALIZED (
	SELECT r.webhook_id, r.event_id, r.live AND r.webhook_id NOT IN (SELECT l.webhook_id FROM lanes l) AS stuck FROM rest r
), parked AS (
	UPDATE formsvc.deliveries d
	SET ready_at = CASE WHEN p.stuck THEN statement_timestamp() + $12::bigint * interval '1 microsecond' END
	FROM placed p
	WHERE d.event_id = p.event_id AND d.webhook_id = p.webhook_id
		AND (NOT p.stuck OR (SELECT count(*) FROM placed s WHERE s.stuck) > $9::bigint / 4)
)
SELECT ` + leasedColumns + `
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
WHERE (SELECT count(*) FROM arrived) = $9::bigint`

const bodiesOf = `SELECT e.id, e.submission_id, e.type, e.body FROM formsvc.events e WHERE e.id = ANY ($1::bytea[])`

// ClaimDeliveries implements [storage.DeliveryStore]. Deliveries of one event share
// one copy of its body. more is true when arrivalsAtOnce cut the claim.
func (s *Store) ClaimDeliveries(ctx context.Context, p storage.ClaimParams) (claimed []storage.Delivery, more bool, err error) {
	var lanes, arrivals bool
	err = s.read(ctx, func(ctx context.Context) error {
		return s.queryRow(ctx, dueNow, func(rows pgx.Rows) error { return rows.Scan(scanBool(&lanes), scanBool(&arrivals)) })
	})
	if err != nil || !lanes && !arrivals {
		return nil, false, err
	}
	free := newRoom(p)
	if lanes {
		// A time that no other claim gives, and at which nothing is due.
		mark := time.Date(9000, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(rand.Int64N(1<<40)) * time.Microsecond) // #nosec G404 -- a name, no secret
		err = s.write(ctx, func(ctx context.Context) error {
			b := &pgx.Batch{}
			s.queue(b, takeLanes, free.args(mark, int64(lanesAside))...)
			s.queue(b, serveLanes, free.args(mark, int64(free.MaxBytes), p.Lease.Microseconds())...)
			try := free.copy() // what a try took that was rolled back is not leased
			err := s.send(ctx, b, func(rows pgx.Rows) error {
				_, err := try.take(rows)
				return err
			})
			if err == nil {
				free = try
			}
			return err
		})
	}
	if err == nil && arrivals {
		err = s.write(ctx, func(ctx context.Context) error {
			rows, err := s.query(ctx, takeArrivals,
				free.args(int64(arrivalsAtOnce), int64(free.MaxBytes), p.Lease.Microseconds(), stuckFor.Microseconds()))
			if err != nil {
				return err
			}
			try := free.copy()
			if more, err = try.take(rows); err == nil {
				free = try
			}
			return err
		})
	}
	if len(free.claimed) == 0 {
		return nil, more, err
	}
	// The bodies are read when the leases are committed, so that no lock waits for a
	// slow reader. If they cannot be read, the leases are released.
	if err == nil {
		claimed, err = s.withBodies(ctx, free.claimed)
	}
	if err != nil {
		s.release(ctx, free.claimed)
		return nil, false, err
	}
	return claimed, more, nil
}

// withBodies leaves out deliveries whose event was deleted since.
func (s *Store) withBodies(ctx context.Context, leased []storage.Delivery) ([]storage.Delivery, error) {
	events := make(map[storage.ID]storage.Delivery, len(leased))
	var ids [][]byte
	for _, d := range leased {
		if _, known := events[d.Lease.EventID]; !known {
			events[d.Lease.EventID] = storage.Delivery{}
			ids = append(ids, d.Lease.EventID[:])
		}
	}
	err := s.read(ctx, func(ctx context.Context) error {
		_, err := collect(ctx, s, bodiesOf, func(rows pgx.Rows) (none struct{}, err error) {
			var d storage.Delivery
			err = rows.Scan(scanID(&d.Lease.EventID), scanID(&d.SubmissionID), &d.EventType, &d.Body)
			events[d.Lease.EventID] = d
			return none, err
		}, ids)
		return err
	})
	out := leased[:0]
	for _, d := range leased {
		if e := events[d.Lease.EventID]; e.EventType != "" {
			d.SubmissionID, d.EventType, d.Body = e.SubmissionID, e.EventType, e.Body
			out = append(out, d)
		}
	}
	return out, err
}

// release gives leases back, as well as it can: the others run out.
func (s *Store) release(ctx context.Context, leased []storage.Delivery) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	back := make([]storage.Result, len(leased))
	for i, d := range leased {
		back[i].Lease = d.Lease
	}
	_, _ = s.FinishDeliveries(ctx, back)
}

// room is what a claim may still take, and what it took.
type room struct {
	storage.ClaimParams
	claimed []storage.Delivery
}

func newRoom(p storage.ClaimParams) *room {
	if p.MaxBytes < 1 {
		p.MaxBytes = math.MaxInt
	}
	p.Webhooks = cloned(p.Webhooks)
	for _, pool := range []*storage.Pool{&p.Quick, &p.Others} {
		pool.Hosts, pool.Room = cloned(pool.Hosts), max(pool.Room, 0)
		if pool.PerHost < 1 {
			pool.PerHost = math.MaxInt32
		}
	}
	return &room{ClaimParams: p}
}

// cloned returns a copy that is not nil.
func cloned[K comparable](m map[K]int) map[K]int {
	c := make(map[K]int, len(m))
	maps.Copy(c, m)
	return c
}

func (r *room) copy() *room {
	c := *r
	c.Webhooks, c.Quick.Hosts, c.Others.Hosts = cloned(r.Webhooks), cloned(r.Quick.Hosts), cloned(r.Others.Hosts)
	c.claimed = slices.Clone(r.claimed)
	return &c
}

// args are $1 to $8 of the statements.
func (r *room) args(more ...any) []any {
	object := func(m any) json.RawMessage {
		raw, _ := json.Marshal(m) //nolint:errchkjson // of texts and numbers: never fails
		return raw
	}
	return append([]any{
		object(r.Webhooks), int64(r.PerWebhook), object(r.Quick.Hosts), int64(r.Quick.PerHost),
		object(r.Others.Hosts), int64(r.Others.PerHost), int64(r.Quick.Room), int64(r.Others.Room),
	}, more...)
}

// leasedTargets are what leasedColumns are scanned into. A row of nulls leaves the
// attempt zero.
func leasedTargets(d *storage.Delivery, size *int) []any {
	return []any{
		scanID(&d.Lease.EventID), scanInt(&d.Lease.Token), scanSize(&d.Attempt), scanSize(size),
		scanID(&d.Lease.WebhookID), scanID(&d.FormID), scanText(&d.URL), scanText(&d.Host),
		(*secretColumn)(&d.Secret), (*secretColumn)(&d.OldSecret),
		scanBool(&d.Standing.Succeeded), scanSize(&d.Standing.SlowFor), scanSize(&d.Standing.Failures),
		scanMicros(&d.FailingFor), scanMicros(&d.PausedFor), scanText((*string)(&d.PauseReason)),
	}
}

// secretColumn scans a bytea; an empty one is nil.
type secretColumn []byte

// ScanBytes implements [pgtype.BytesScanner].
func (c *secretColumn) ScanBytes(b []byte) error {
	*c = noEmpty(bytes.Clone(b))
	return nil
}

// take notes the deliveries in rows. Their webhooks get nothing more in this claim.
// It reports whether there is a row without a delivery.
func (r *room) take(rows pgx.Rows) (more bool, err error) {
	_, err = collectRows(rows, func(rows pgx.Rows) (none struct{}, err error) {
		var d storage.Delivery
		var size int
		err = rows.Scan(leasedTargets(&d, &size)...)
		if err != nil || d.Attempt == 0 {
			more = more || err == nil
			return none, err
		}
		r.claimed = append(r.claimed, d)
		pool := &r.Others
		if d.Standing.Quick() {
			pool = &r.Quick
		}
		most, named := pool.Hosts[d.Host]
		if !named {
			most = pool.PerHost
		}
		pool.Hosts[d.Host] = most - 1
		pool.Room--
		r.Webhooks[d.Lease.WebhookID] = 0
		r.MaxBytes -= size
		return none, nil
	})
	return more, err
}
