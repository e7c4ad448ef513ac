package postgres

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/storage"
)

// # How deliveries wait
//
// A delivery waits for the turn of its webhook, or first until a time of its own (due_at):
// for its next attempt, or for the end of the lease under which it was handed over. Turns
// are in destinations (next_at). A lease that was claimed ends (leased_until) no earlier
// than its webhook has a turn.
//
// Whoever queues a delivery adds the webhook to arrivals. A claim takes arrivals, and
// deliveries whose own time has come, and gives their webhooks a turn. Then it serves the
// webhooks that have one: it leases what there is room for, and determines the next turn.
// So it reads neither what waits for a later time nor what waits for a webhook without a
// turn, and responses write no row that others write.
//
// No delivery is forgotten, because at every commit each that waits for a turn has one:
// its webhook's, or an arrival. A claim takes a turn away when it sees nothing more that
// waits. That is safe although its snapshot is older than its lock of the webhook's row,
// because whoever gives a turn writes that row, even when its values stay: a claim passes
// over a row that is not as in its snapshot.
//
// Claims and results wait for no row: they pass over those that are locked. Other
// statements lock deliveries in the order of (event_id, webhook_id), then destinations,
// then attempts, then events. The order of the steps in a statement does
// not ensure that: a step that nothing reads runs last. So each of these steps reads the
// one before.

const (
	// wakeAtOnce bounds the arrivals, and the deliveries whose time has come, of one
	// claim. Each takes up to 20 µs, so that this many hold up the others for 10 ms.
	wakeAtOnce = 500
	// turnsAside bounds the turns of crowded host names that one claim sets aside, in each
	// pool. A row is locked and written for each, once until its host name has room. Fewer
	// would let one host name with many webhooks keep others waiting for more claims.
	turnsAside = 200
)

// dueNow reports whether webhooks have a turn, whether something is there that gives
// them one, and how large the tables are. It is all that an idle process asks.
const dueNow = `
SELECT EXISTS (SELECT FROM (VALUES (true), (false)) p (quick) CROSS JOIN LATERAL (
		(SELECT x.next_at FROM formsvc.destinations x
		WHERE x.quick = p.quick AND NOT x.crowded AND x.next_at IS NOT NULL ORDER BY x.next_at LIMIT 1)
		UNION ALL
		(SELECT x.next_at FROM formsvc.destinations x
		WHERE x.quick = p.quick AND x.crowded AND x.next_at IS NOT NULL ORDER BY x.host, x.next_at LIMIT 1)
	) x WHERE x.next_at <= statement_timestamp()),
	COALESCE(LEAST(
		(SELECT a.at FROM formsvc.arrivals a ORDER BY a.at LIMIT 1),
		(SELECT d.due_at FROM formsvc.deliveries d WHERE d.due_at IS NOT NULL ORDER BY d.due_at LIMIT 1)
	) <= statement_timestamp(), false),
	pg_relation_size('formsvc.deliveries'), pg_relation_size('formsvc.attempts')`

// wake gives a turn to the webhooks of $1 arrivals and of as many deliveries whose time
// has come: at once, or after the pause unless somebody asked for it. The arrival of a
// webhook whose row somebody holds stays. It reports whether there may be more.
const wake = `
WITH arrived AS (
	DELETE FROM formsvc.arrivals a
	WHERE a.ctid = ANY (ARRAY(
		SELECT a.ctid FROM formsvc.arrivals a
		WHERE a.at <= statement_timestamp()
		ORDER BY a.at, a.id
		LIMIT $1::bigint
		FOR UPDATE SKIP LOCKED))
	RETURNING a.webhook_id, a.at, a.asked
), ripe AS (
	UPDATE formsvc.deliveries d SET due_at = NULL
	WHERE d.ctid = ANY (ARRAY(
		SELECT d.ctid FROM formsvc.deliveries d
		WHERE d.due_at <= statement_timestamp()
		ORDER BY d.due_at
		LIMIT $1::bigint
		FOR UPDATE SKIP LOCKED))
	RETURNING d.webhook_id, statement_timestamp() AS at, d.urgency > 0 AS asked
), calls AS MATERIALIZED (
	SELECT c.webhook_id, min(c.at) AS at, bool_or(c.asked) AS asked
	FROM (SELECT * FROM arrived UNION ALL SELECT * FROM ripe) c
	GROUP BY c.webhook_id
), held AS MATERIALIZED (
	SELECT x.webhook_id FROM formsvc.destinations x
	WHERE x.webhook_id = ANY (ARRAY(SELECT c.webhook_id FROM calls c))
	FOR NO KEY UPDATE SKIP LOCKED
), turned AS (
	UPDATE formsvc.destinations x
	SET next_at = LEAST(x.next_at, CASE WHEN c.asked THEN c.at ELSE GREATEST(c.at, x.paused_until) END)
	FROM calls c
	WHERE x.webhook_id = ANY (ARRAY(SELECT h.webhook_id FROM held h)) AND c.webhook_id = x.webhook_id
), kept AS (
	INSERT INTO formsvc.arrivals (at, webhook_id, asked)
	SELECT c.at, c.webhook_id, c.asked FROM calls c
	WHERE c.webhook_id NOT IN (SELECT h.webhook_id FROM held h)
		AND (SELECT x.webhook_id FROM formsvc.destinations x WHERE x.webhook_id = c.webhook_id LIMIT 1) IS NOT NULL
)
SELECT (SELECT count(*) FROM arrived) >= $1::bigint OR (SELECT count(*) FROM ripe) >= $1::bigint`

// What a claim may take, as SQL, of a webhook and of a host name; x is a destination.
// Bounds are looked up in objects, which is fast however many there are; as a join
// they would be read for each webhook.
const (
	webhookRoom = `COALESCE(($1::jsonb -> encode(x.webhook_id, 'hex'))::bigint,
			CASE WHEN x.succeeded AND x.failures = 0 THEN $2::bigint ELSE LEAST($2::bigint, 1) END)`
	hostRoom = `CASE WHEN x.quick THEN COALESCE(($3::jsonb -> x.host)::bigint, $4::bigint)
			ELSE COALESCE(($5::jsonb -> x.host)::bigint, $6::bigint) END`
)

// knownOfWebhook is what goes with every delivery of a webhook w with its destination x.
const knownOfWebhook = `x.webhook_id, x.quick, x.host, x.succeeded, x.slow_for, x.failures, x.failing_since,
	x.paused_until, x.pause_reason, x.generation, COALESCE(x.paused_until > statement_timestamp(), false) AS paused,
	w.form_id, w.url, w.secret, CASE WHEN w.old_secret_until > statement_timestamp() THEN w.old_secret END AS old_secret,
	w.enabled AND ` + webhookThere + ` AS live`

const knownColumns = `k.webhook_id, k.form_id, k.url, k.host, k.secret, k.old_secret, k.succeeded, k.slow_for, k.failures,
	(EXTRACT(epoch FROM statement_timestamp() - k.failing_since) * 1000000)::bigint,
	(EXTRACT(epoch FROM GREATEST(k.paused_until - statement_timestamp(), interval '0')) * 1000000)::bigint, k.pause_reason, k.generation`

const leasedColumns = `l.event_id, l.token, l.attempt, ` + knownColumns + `
FROM leased l JOIN known k ON k.webhook_id = l.webhook_id`

// serve leases deliveries of the webhooks that have a turn, least recently served first,
// and gives each of them its next turn.
//
// Webhooks whose host name has no room are set aside as crowded, so that nobody passes
// over them again; they are found by their host name (hosts) once that has room.
//
// Each webhook has an equal part of the room of its pool and of its host name. As many of
// its deliveries are found, and one more, which says whether it is to have another turn at
// once. When the bytes have no room for all, the first of each come before the second of
// any. Rows are found by their places: one that has changed since the snapshot has another
// place, which the snapshot does not have, so that the step that would write it passes
// over it.
//
// It returns the deliveries with the id of their webhook only, and what is known of each
// webhook once, in rows without a delivery. They also say whether a webhook has room for
// more than its part.
const serve = `
WITH RECURSIVE pools (quick, room) AS (VALUES (true, $7::bigint), (false, $8::bigint)), hosts AS (
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
	SELECT t.*, p.room AS pool_room FROM pools p CROSS JOIN LATERAL (
		SELECT x.*, x.ctid AS place, y.ctid AS seen, ` + webhookRoom + ` AS room, ` + hostRoom + ` AS host_room
		FROM formsvc.destinations x JOIN formsvc.destinations y ON y.ctid = x.ctid
		WHERE x.quick = p.quick AND NOT x.crowded AND x.next_at <= statement_timestamp() AND ` + webhookRoom + ` > 0
		ORDER BY x.next_at
		LIMIT p.room + $9::bigint
		FOR NO KEY UPDATE OF x SKIP LOCKED) t
	WHERE p.room > 0
), crowd AS MATERIALIZED (
	SELECT t.*, h.room AS pool_room FROM hosts h CROSS JOIN LATERAL (
		SELECT x.*, x.ctid AS place, y.ctid AS seen, ` + webhookRoom + ` AS room, ` + hostRoom + ` AS host_room
		FROM formsvc.destinations x JOIN formsvc.destinations y ON y.ctid = x.ctid
		WHERE x.quick = h.quick AND x.crowded AND x.host = h.host AND x.next_at <= statement_timestamp() AND ` + webhookRoom + ` > 0
		ORDER BY x.next_at
		LIMIT GREATEST(0, LEAST(h.room, CASE WHEN h.quick THEN COALESCE(($3::jsonb -> h.host)::bigint, $4::bigint)
			ELSE COALESCE(($5::jsonb -> h.host)::bigint, $6::bigint) END))
		FOR NO KEY UPDATE OF x SKIP LOCKED) t
	WHERE h.host IS NOT NULL
), chosen AS MATERIALIZED (
	SELECT f.*, f.host_turn <= f.host_room AS fits, row_number() OVER (PARTITION BY f.quick, f.host_turn <= f.host_room ORDER BY f.next_at) AS turn
	FROM (
		SELECT t.*, row_number() OVER (PARTITION BY t.quick, t.host ORDER BY t.next_at) AS host_turn
		FROM (SELECT * FROM turns UNION ALL SELECT * FROM crowd) t
		WHERE t.place = t.seen -- unchanged
	) f
), aside AS (
	UPDATE formsvc.destinations x SET crowded = true
	WHERE x.ctid = ANY (ARRAY(SELECT c.place FROM chosen c WHERE NOT c.fits AND NOT c.crowded))
), known AS MATERIALIZED (
	SELECT ` + knownOfWebhook + `, x.place AS lane, x.room, x.part,
		CASE WHEN x.paused_until > statement_timestamp() THEN 1 ELSE 0 END AS least_urgency
	FROM (
		SELECT c.*, LEAST(c.room, (c.host_room + c.of_host - c.host_turn) / c.of_host, (c.pool_room + c.of_pool - c.turn) / c.of_pool) AS part -- of 5 for 3: 2, 2, 1
		FROM (
			SELECT c.*, count(*) OVER (PARTITION BY c.quick, c.host) AS of_host, count(*) OVER (PARTITION BY c.quick) AS of_pool
			FROM chosen c WHERE c.fits AND c.turn <= c.pool_room
		) c
	) x CROSS JOIN LATERAL (SELECT * FROM formsvc.webhooks w WHERE w.id = x.webhook_id LIMIT 1) w
), found AS MATERIALIZED (
	SELECT d.*, k.lane, k.generation, k.part
	FROM known k CROSS JOIN LATERAL (
		SELECT d.ctid AS place, d.size, row_number() OVER (ORDER BY d.urgency DESC, d.queued_at, d.event_id) AS n
		FROM formsvc.deliveries d
		WHERE d.webhook_id = k.webhook_id AND d.due_at IS NULL AND d.urgency >= k.least_urgency
			AND (d.leased_until IS NULL OR d.leased_until <= statement_timestamp())
		ORDER BY d.urgency DESC, d.queued_at, d.event_id
		LIMIT k.part + 1
	) d
	WHERE k.live
), held AS MATERIALIZED (
	SELECT d.ctid AS place, f.lane, f.generation
	FROM (
		SELECT f.*, sum(f.size) OVER first AS bytes, row_number() OVER first AS number
		FROM found f WHERE f.n <= f.part
		WINDOW first AS (ORDER BY f.n ROWS UNBOUNDED PRECEDING)
	) f JOIN formsvc.deliveries d ON d.ctid = f.place
	WHERE f.bytes <= $10::bigint OR f.number = 1
	FOR UPDATE OF d SKIP LOCKED
), leased AS (
	UPDATE formsvc.deliveries d
	SET token = DEFAULT, generation = h.generation, leased_until = statement_timestamp() + $11::bigint * interval '1 microsecond'
	FROM held h
	WHERE d.ctid = h.place
	RETURNING d.webhook_id, d.event_id, d.token, d.attempt, d.leased_until, h.lane
), served AS MATERIALIZED (
	SELECT b.lane, bool_or(b.live) AS live, max(b.paused_until) AS paused_until,
		COALESCE(sum(b.waiting), 0) AS waiting, min(b.leased_until) AS leased_until, bool_or(b.cut) AS cut
	FROM (
		SELECT k.lane, k.live, CASE WHEN k.paused THEN k.paused_until END AS paused_until,
			NULL::integer AS waiting, NULL::timestamptz AS leased_until, k.part < k.room AS cut
		FROM known k
		UNION ALL
		SELECT f.lane, NULL, NULL, 1, NULL, NULL FROM found f
		UNION ALL
		SELECT l.lane, NULL, NULL, -1, l.leased_until, NULL FROM leased l
	) b GROUP BY b.lane
), turned AS (
	UPDATE formsvc.destinations x SET crowded = false, next_at = CASE
		WHEN v.waiting > 0 THEN CASE WHEN v.leased_until IS NULL THEN x.next_at ELSE statement_timestamp() END
		WHEN v.live THEN LEAST(v.paused_until, v.leased_until, (
			SELECT min(d.leased_until) FROM formsvc.deliveries d
			WHERE d.webhook_id = x.webhook_id AND d.due_at IS NULL AND d.leased_until > statement_timestamp()
				AND d.urgency >= CASE WHEN v.paused_until IS NULL THEN 0 ELSE 1 END)) END
	FROM served v
	WHERE x.ctid = v.lane
)
SELECT l.event_id, l.token, l.attempt, l.webhook_id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL::boolean
FROM leased l
UNION ALL
SELECT NULL, NULL, NULL, ` + knownColumns + `, EXISTS (SELECT FROM served v WHERE v.cut AND v.waiting > 0)
FROM known k`

const bodiesOf = `SELECT e.id, e.submission_id, e.type, e.body FROM formsvc.events e WHERE e.id = ANY ($1::bytea[])`

// ClaimDeliveries implements [storage.DeliveryStore]. Deliveries of one event share
// one copy of its body. more is true when wakeAtOnce cut the claim.
func (s *Store) ClaimDeliveries(ctx context.Context, p storage.ClaimParams) (claimed []storage.Delivery, more bool, err error) {
	var turns, calls bool
	var deliveries, attempts int64
	err = s.read(ctx, func(ctx context.Context) error {
		return s.queryRow(ctx, dueNow, func(rows pgx.Rows) error {
			return rows.Scan(scanBool(&turns), scanBool(&calls), &deliveries, &attempts)
		})
	})
	if err == nil {
		s.noteSizes(deliveries, attempts)
	}
	if err == nil && calls {
		err = s.write(ctx, func(ctx context.Context) error {
			return s.queryRow(ctx, wake, func(rows pgx.Rows) error { return rows.Scan(scanBool(&more)) }, int64(wakeAtOnce))
		})
	}
	if err != nil || !turns && !calls || p.Quick.Room < 1 && p.Others.Room < 1 {
		return nil, more, err
	}
	var leased []storage.Delivery
	var cut bool
	err = s.write(ctx, func(ctx context.Context) error {
		rows, err := s.query(ctx, s.sized(serve, false), serveArgs(p))
		if err == nil {
			leased, cut, err = scanServed(rows)
		}
		return err
	})
	if more = more || cut && len(leased) > 0; err != nil || len(leased) == 0 {
		return nil, more, err
	}
	// The bodies are read when the leases are committed, so that no lock waits for a
	// slow reader. If they cannot be read, the leases are released.
	if claimed, err = s.withBodies(ctx, leased); err != nil {
		s.release(ctx, leased)
		return nil, false, err
	}
	return claimed, more, nil
}

// sized returns a statement with a comment that says how large the table deliveries is,
// and attempts for a statement that reads that too, each to a power of four. A connection
// keeps the plan of a statement, and one that was made while the queue was nearly empty
// reads whole tables when it is not. So there is a plan for each size, and no more than a
// few of them.
func (s *Store) sized(text string, attemptsToo bool) string {
	sizes := s.sizes.Load()
	if !attemptsToo {
		return fmt.Sprintf("%s -- %d", text, sizes>>8)
	}
	return fmt.Sprintf("%s -- %d %d", text, sizes>>8, sizes&0xff)
}

// noteSizes takes the sizes of the tables deliveries and attempts in bytes.
func (s *Store) noteSizes(deliveries, attempts int64) {
	power := func(n int64) int64 { return int64(bits.Len64(uint64(n)/8192)+1) / 2 } // #nosec G115 -- a size
	s.sizes.Store(power(deliveries)<<8 | power(attempts))
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
		_, err := collect(ctx, s, s.sized(bodiesOf, false), func(rows pgx.Rows) (none struct{}, err error) {
			var d storage.Delivery
			err = rows.Scan(scanID(&d.Lease.EventID), scanID(&d.SubmissionID), &d.EventType, &d.Body)
			events[d.Lease.EventID] = d
			return none, err
		}, ids)
		return err
	})
	if err != nil {
		return nil, err // leased is whole, to be released
	}
	out := leased[:0]
	for _, d := range leased {
		if e := events[d.Lease.EventID]; e.EventType != "" {
			d.SubmissionID, d.EventType, d.Body = e.SubmissionID, e.EventType, e.Body
			out = append(out, d)
		}
	}
	return out, nil
}

// releaseFor bounds what a caller whose context may have ended waits for a release. One
// takes milliseconds, but needs a connection of the pool.
const releaseFor = 5 * time.Second

// release gives leases back, as well as it can: the others run out.
func (s *Store) release(ctx context.Context, leased []storage.Delivery) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseFor)
	defer cancel()
	back := make([]storage.Result, len(leased))
	for i, d := range leased {
		back[i].Lease = d.Lease
	}
	_, _ = s.FinishDeliveries(ctx, back)
}

// serveArgs are the arguments of serve.
func serveArgs(p storage.ClaimParams) []any {
	bound := func(n int) int64 { // below 1: none
		if n < 1 {
			return math.MaxInt32
		}
		return int64(n)
	}
	return []any{
		object(p.Webhooks), int64(p.PerWebhook), object(p.Quick.Hosts), bound(p.Quick.PerHost), object(p.Others.Hosts), bound(p.Others.PerHost),
		int64(max(p.Quick.Room, 0)), int64(max(p.Others.Room, 0)), int64(turnsAside), bound(p.MaxBytes), p.Lease.Microseconds(),
	}
}

func object[K comparable](m map[K]int) json.RawMessage {
	if len(m) == 0 {
		return json.RawMessage(`{}`)
	}
	raw, _ := json.Marshal(m) //nolint:errchkjson // of texts and numbers: never fails
	return raw
}

// scanServed reads the rows of serve.
func scanServed(rows pgx.Rows) (leased []storage.Delivery, cut bool, err error) {
	known := map[storage.ID]storage.Delivery{}
	all, err := collectRows(rows, func(rows pgx.Rows) (d storage.Delivery, err error) {
		var isCut bool
		if err = scanRow(rows, append(leasedTargets(&d), scanBool(&isCut))...); err == nil && d.Attempt == 0 {
			known[d.Lease.WebhookID] = d
			cut = cut || isCut
		}
		return d, err
	})
	leased = slices.DeleteFunc(all, func(d storage.Delivery) bool { return d.Attempt == 0 })
	for i, d := range leased {
		leased[i] = known[d.Lease.WebhookID]
		leased[i].Lease, leased[i].Attempt = d.Lease, d.Attempt
	}
	return leased, cut, err
}

// leasedTargets are what leasedColumns are scanned into. A row of nulls leaves the
// attempt zero.
func leasedTargets(d *storage.Delivery) []any {
	return []any{
		scanID(&d.Lease.EventID), scanInt(&d.Lease.Token), scanSize(&d.Attempt),
		scanID(&d.Lease.WebhookID), scanID(&d.FormID), scanText(&d.URL), scanText(&d.Host),
		(*secretColumn)(&d.Secret), (*secretColumn)(&d.OldSecret),
		scanBool(&d.Standing.Succeeded), scanSize(&d.Standing.SlowFor), scanSize(&d.Standing.Failures),
		scanMicros(&d.FailingFor), scanMicros(&d.PausedFor), scanText((*string)(&d.PauseReason)), scanInt(&d.Generation),
	}
}

// secretColumn scans a bytea; an empty one is nil.
type secretColumn []byte

// ScanBytes implements [pgtype.BytesScanner].
func (c *secretColumn) ScanBytes(b []byte) error {
	*c = noEmpty(bytes.Clone(b))
	return nil
}
