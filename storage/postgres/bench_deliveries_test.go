package postgres

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
)

// Deliveries of 100 webhooks are claimed and finished in the batches of a busy
// service, which end in another order than they began in, and one at a time as
// they come on an idle one. While histories are short nothing is cut off them;
// when they are full each attempt is cut off sooner or later.
//
// What is reported is the processor time that the server's session uses for 1,000
// deliveries. What other processes of the server do for it, such as writing pages,
// is not in it.
func BenchmarkDeliveries(b *testing.B) {
	for _, full := range []bool{false, true} {
		name := "short histories"
		if full {
			name = "full histories"
		}
		b.Run(name, func(b *testing.B) {
			b.Run("batches", func(b *testing.B) {
				d := newDrain(b, full)
				for b.Loop() {
					d.fill(10_000)
					d.vacuum()
					d.run(256, storage.FinishMax, 10_000)
				}
				d.report()
			})
			b.Run("a burst after a quiet time", func(b *testing.B) {
				d := newDrain(b, full)
				for range 20 { // the plans are made while the queue is nearly empty
					d.fill(1)
					d.run(16, 16, 1)
				}
				d.claims, d.finishes, d.earlier, d.finished = 0, 0, d.earlier+d.finished, 0
				for b.Loop() {
					d.fill(10_000)
					d.run(256, storage.FinishMax, 10_000)
				}
				d.report()
			})
			b.Run("one at a time", func(b *testing.B) {
				d := newDrain(b, full)
				for b.Loop() {
					for range 1000 {
						d.fill(1)
						d.run(16, 16, 1)
					}
				}
				d.report()
			})
		})
	}
}

// The webhooks of the benchmark, and the attempts that are kept of each.
const (
	benchWebhooks = 100
	benchHistory  = storage.HistoryKept
)

// drain fills a queue, empties it and notes what emptying costs.
type drain struct {
	b       *testing.B
	pool    *pgxpool.Pool
	schema  string
	s       *Store
	session process

	filled, earlier, finished int
	claims, finishes          time.Duration
}

func newDrain(b *testing.B, full bool) *drain {
	b.Helper()
	pool := pgtest.Pool(b, pgtest.MaxConns(1))
	needFsync(b, pool)
	schema := filled(b, pool, pgseed.Size{Forms: benchWebhooks, AnswerBytes: 1100, Webhooks: benchWebhooks})
	d := &drain{b: b, pool: pool, schema: schema, s: New(pool, WithSchema(schema)), session: newProcess(b, pool)}
	if full {
		d.fill(benchWebhooks * benchHistory)
		d.run(256, storage.FinishMax, benchWebhooks*benchHistory)
	}
	d.vacuum()
	d.earlier, d.finished, d.claims, d.finishes = d.finished, 0, 0, 0
	return d
}

// fill queues n deliveries, with an event each.
func (d *drain) fill(n int) {
	_, err := d.pool.Exec(d.b.Context(), d.s.db.SQL(`
		WITH pending AS (
			SELECT w.id AS webhook_id, w.form_id, decode(lpad(to_hex(n), 24, '0'), 'hex') AS event_id
			FROM generate_series($1::int, $2::int) n
			JOIN (SELECT id, form_id, row_number() OVER (ORDER BY id) - 1 AS number FROM formsvc.webhooks) w ON w.number = n % $3::int
		), told AS (
			INSERT INTO formsvc.events (id, form_id, type, body, refs) SELECT event_id, form_id, 'form.response.completed', $4::bytea, 1 FROM pending
		), arrived AS (
			INSERT INTO formsvc.arrivals (webhook_id) SELECT DISTINCT webhook_id FROM pending
		)
		INSERT INTO formsvc.deliveries (webhook_id, event_id, token, size) SELECT webhook_id, event_id, 0, octet_length($4::bytea) FROM pending`),
		d.filled+1, d.filled+n, benchWebhooks, []byte(pgseed.Answers(1100)))
	if err != nil {
		d.b.Fatal(err)
	}
	d.filled += n
}

// vacuum does what a running server does now and then.
func (d *drain) vacuum() {
	for _, table := range []string{"attempts", "destinations", "webhooks", "deliveries", "arrivals", "events"} {
		if _, err := d.pool.Exec(d.b.Context(), "VACUUM ANALYZE "+pgx.Identifier{d.schema, table}.Sanitize()); err != nil {
			d.b.Fatal(err)
		}
	}
}

// run claims and finishes n deliveries. Up to 16 of a webhook are in flight, and
// which of them end first is chance.
func (d *drain) run(claim, finish, n int) {
	const most = 16
	p := storage.ClaimParams{Lease: time.Minute, PerWebhook: most, Webhooks: map[storage.ID]int{}}
	for i := range benchWebhooks {
		p.Webhooks[pgseed.ID(pgseed.Webhook, i)] = most
	}
	var flying []storage.ClaimedDelivery
	for n > 0 {
		p.Quick.Room = min(claim, n-len(flying))
		p.Slow.Room, p.Others.Room = p.Quick.Room, p.Quick.Room
		before := d.session.used()
		claimed, _, err := d.s.ClaimDeliveries(d.b.Context(), p)
		if err != nil {
			d.b.Fatal(err)
		}
		d.claims += d.session.used() - before
		for _, c := range claimed {
			p.Webhooks[c.Lease.WebhookID]--
		}
		flying = append(flying, claimed...)
		rand.Shuffle(len(flying), func(i, j int) { flying[i], flying[j] = flying[j], flying[i] })
		for len(claimed) < claim && len(flying) > 0 || len(flying) >= most*benchWebhooks-claim {
			done := flying[:min(finish, len(flying))]
			d.finish(done)
			for _, c := range done {
				p.Webhooks[c.Lease.WebhookID]++
			}
			n -= len(done)
			flying = flying[len(done):]
		}
	}
}

func (d *drain) finish(claimed []storage.ClaimedDelivery) {
	done := make([]storage.Result, len(claimed))
	for i, c := range claimed {
		d.finished++
		done[i] = ended(c, d.earlier+d.finished)
		done[i].Standing.Succeeded = true
	}
	before := d.session.used()
	fenced, err := d.s.FinishDeliveries(d.b.Context(), done)
	if err != nil || len(fenced) > 0 {
		d.b.Fatalf("%d fenced, %v", len(fenced), err)
	}
	d.finishes += d.session.used() - before
}

// report says what was used for a thousand deliveries.
func (d *drain) report() {
	each := func(used time.Duration) float64 { return used.Seconds() * 1e6 / float64(d.finished) }
	d.b.ReportMetric(each(d.claims), "claim-ms/1000")
	d.b.ReportMetric(each(d.finishes), "finish-ms/1000")
	d.b.ReportMetric(each(d.claims+d.finishes), "both-ms/1000")
}

// process is one of the server's, on this machine. Where there is no /proc it
// uses nothing.
type process int

// newProcess returns the process of the pool's only connection.
func newProcess(b *testing.B, pool *pgxpool.Pool) process {
	b.Helper()
	var pid int
	if err := pool.QueryRow(b.Context(), "SELECT pg_backend_pid()").Scan(&pid); err != nil {
		b.Fatal(err)
	}
	return process(pid)
}

// used returns the processor time of the process.
func (p process) used() time.Duration {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", p))
	nanoseconds, _, _ := strings.Cut(string(text), " ")
	used, _ := strconv.ParseInt(nanoseconds, 10, 64)
	return time.Duration(used)
}

// BenchmarkIdle polls beside webhooks that all have something pending of which
// nothing can be claimed: it is due later, or waits while they are paused. It
// reports the processor time of the server's session for a poll.
func BenchmarkIdle(b *testing.B) {
	for _, hooks := range []int{100, 10_000, 20_000, 50_000} {
		for _, state := range []string{"due later", "paused"} {
			b.Run(fmt.Sprintf("%d webhooks/%s", hooks, state), func(b *testing.B) {
				pool := pgtest.Pool(b, pgtest.MaxConns(1))
				schema := filled(b, pool, pgseed.Size{Forms: hooks, AnswerBytes: 100, Webhooks: hooks, Deliveries: hooks})
				s := New(pool, WithSchema(schema))
				text := `WITH a AS (DELETE FROM formsvc.arrivals) UPDATE formsvc.deliveries SET due_at = statement_timestamp() + interval '1 hour'`
				if state == "paused" {
					text = `WITH a AS (DELETE FROM formsvc.arrivals)
						UPDATE formsvc.destinations SET failures = 10, failing_since = statement_timestamp(), failed_at = statement_timestamp(),
							paused_until = statement_timestamp() + interval '1 hour', pause_reason = 'failures',
							next_at = statement_timestamp() + interval '1 hour'`
				}
				if _, err := pool.Exec(b.Context(), s.db.SQL(text)); err != nil {
					b.Fatal(err)
				}
				for _, table := range []string{"destinations", "deliveries"} {
					if _, err := pool.Exec(b.Context(), "VACUUM ANALYZE "+pgx.Identifier{schema, table}.Sanitize()); err != nil {
						b.Fatal(err)
					}
				}
				p := storage.ClaimParams{Lease: time.Minute, Quick: storage.Pool{Room: 64}, Slow: storage.Pool{Room: 64}, Others: storage.Pool{Room: 64}, PerWebhook: 4}
				session := newProcess(b, pool)
				before := session.used()
				for b.Loop() {
					if got, _, err := s.ClaimDeliveries(b.Context(), p); err != nil || len(got) > 0 {
						b.Fatal(len(got), err)
					}
				}
				b.ReportMetric(float64((session.used()-before).Microseconds())/float64(b.N), "server-µs/poll")
			})
		}
	}
}

// BenchmarkClaim claims and gives back 16 deliveries of webhooks that all have
// something due.
func BenchmarkClaim(b *testing.B) {
	for _, hooks := range []int{100, 10_000, 50_000} {
		b.Run(fmt.Sprintf("%d webhooks", hooks), func(b *testing.B) {
			pool := pgtest.Pool(b, pgtest.MaxConns(1))
			schema := filled(b, pool, pgseed.Size{Forms: hooks, AnswerBytes: 1100, Webhooks: hooks, Deliveries: hooks})
			s := New(pool, WithSchema(schema))
			for _, table := range []string{"destinations", "deliveries", "events", "webhooks"} {
				if _, err := pool.Exec(b.Context(), "VACUUM ANALYZE "+pgx.Identifier{schema, table}.Sanitize()); err != nil {
					b.Fatal(err)
				}
			}
			p := storage.ClaimParams{Lease: time.Minute, Others: storage.Pool{Room: 16}, PerWebhook: 1}
			for more := true; more; { // give all of them a turn
				var err error
				if _, more, err = s.ClaimDeliveries(b.Context(), storage.ClaimParams{}); err != nil {
					b.Fatal(err)
				}
			}
			session := newProcess(b, pool)
			var used time.Duration
			for b.Loop() {
				before := session.used()
				got, _, err := s.ClaimDeliveries(b.Context(), p)
				used += session.used() - before
				if err != nil || len(got) != 16 {
					b.Fatal(len(got), err)
				}
				var back []storage.Result
				for _, d := range got {
					back = append(back, storage.Result{Lease: d.Lease})
				}
				if _, err := s.FinishDeliveries(b.Context(), back); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(used.Microseconds())/float64(b.N), "server-µs/claim")
		})
	}
}

// BenchmarkLongTransaction polls an empty queue while a transaction is open that is
// older than many deliveries which came and went: nothing of them can be vacuumed.
func BenchmarkLongTransaction(b *testing.B) {
	for _, gone := range []int{0, 10_000, 50_000} {
		b.Run(fmt.Sprintf("%d deliveries", gone), func(b *testing.B) {
			d := newDrain(b, false)
			tx, err := pgtest.Pool(b, pgtest.MaxConns(1)).Begin(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = tx.Rollback(b.Context()) }()
			if _, err := tx.Exec(b.Context(), "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class"); err != nil {
				b.Fatal(err)
			}
			for range gone / 10_000 {
				d.fill(10_000)
				d.run(256, storage.FinishMax, 10_000)
			}
			p := storage.ClaimParams{Lease: time.Minute, Quick: storage.Pool{Room: 64}, Slow: storage.Pool{Room: 64}, Others: storage.Pool{Room: 64}, PerWebhook: 4}
			before := d.session.used()
			for b.Loop() {
				if got, _, err := d.s.ClaimDeliveries(b.Context(), p); err != nil || len(got) > 0 {
					b.Fatal(len(got), err)
				}
			}
			b.ReportMetric(float64((d.session.used()-before).Microseconds())/float64(b.N), "server-µs/poll")
		})
	}
}
