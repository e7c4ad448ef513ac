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

	"github.com/formsvc/formsvc/internal/pgseed"
	"github.com/formsvc/formsvc/internal/pgtest"
	"github.com/formsvc/formsvc/storage"
)

// Deliveries of 100 webhooks are claimed and finished in the batches of a busy
// service, which end in another order than they began in, and one at a time as
// they come on an idle one. While histories are short nothing is cut off them;
// when they are full every attempt cuts one off.
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
					d.run(256, 128, 10_000)
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
					d.run(256, 128, 10_000)
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
	benchHistory  = 100
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
		d.run(256, 128, benchWebhooks*benchHistory)
	}
	d.vacuum()
	d.earlier, d.finished, d.claims, d.finishes = d.finished, 0, 0, 0
	return d
}

// fill queues n deliveries, with an event each.
func (d *drain) fill(n int) {
	_, err := d.pool.Exec(d.b.Context(), d.s.sql(`
		WITH pending AS (
			SELECT w.id AS webhook_id, w.form_id, decode(lpad(to_hex(n), 24, '0'), 'hex') AS event_id
			FROM generate_series($1::int, $2::int) n
			JOIN (SELECT id, form_id, row_number() OVER (ORDER BY id) - 1 AS number FROM formsvc.webhooks) w ON w.number = n % $3::int
		), told AS (
			INSERT INTO formsvc.events (id, form_id, type, body, refs) SELECT event_id, form_id, 'form.response.completed', $4::bytea, 1 FROM pending
		)
		INSERT INTO formsvc.deliveries (webhook_id, event_id, due_at, token) SELECT webhook_id, event_id, $5::timestamptz, 0 FROM pending`),
		d.filled+1, d.filled+n, benchWebhooks, []byte(pgseed.Answers(1100)), pgseed.Start())
	if err != nil {
		d.b.Fatal(err)
	}
	d.filled += n
}

// vacuum does what a running server does now and then.
func (d *drain) vacuum() {
	for _, table := range []string{"attempts", "webhooks", "deliveries", "events"} {
		if _, err := d.pool.Exec(d.b.Context(), "VACUUM ANALYZE "+pgx.Identifier{d.schema, table}.Sanitize()); err != nil {
			d.b.Fatal(err)
		}
	}
}

// run claims and finishes n deliveries. Up to 16 of a webhook are in flight, and
// which of them end first is chance.
func (d *drain) run(claim, finish, n int) {
	p := storage.ClaimParams{
		Now: pgseed.Start().AddDate(1, 0, 0), Lease: time.Minute, PerWebhook: 16, Held: map[storage.ID]int{},
	}
	var flying []storage.Delivery
	for n > 0 {
		p.Max = min(claim, n-len(flying))
		before := d.session.used()
		claimed, err := d.s.ClaimDeliveries(d.b.Context(), p)
		if err != nil || len(flying)+len(claimed) == 0 {
			d.b.Fatalf("claimed %d of %d, %v", len(claimed), n, err)
		}
		d.claims += d.session.used() - before
		for _, c := range claimed {
			p.Held[c.Lease.WebhookID]++
		}
		flying = append(flying, claimed...)
		rand.Shuffle(len(flying), func(i, j int) { flying[i], flying[j] = flying[j], flying[i] })
		for len(claimed) < claim && len(flying) > 0 || len(flying) >= 16*benchWebhooks-claim {
			done := flying[:min(finish, len(flying))]
			d.finish(done)
			for _, c := range done {
				if p.Held[c.Lease.WebhookID]--; p.Held[c.Lease.WebhookID] == 0 {
					delete(p.Held, c.Lease.WebhookID)
				}
			}
			n -= len(done)
			flying = flying[len(done):]
		}
	}
}

func (d *drain) finish(claimed []storage.Delivery) {
	done := make([]storage.Result, len(claimed))
	for i, c := range claimed {
		d.finished++
		done[i] = ended(c, d.earlier+d.finished)
	}
	before := d.session.used()
	fenced, err := d.s.FinishDeliveries(d.b.Context(), done, benchHistory)
	if err != nil || len(fenced) > 0 {
		d.b.Fatalf("%d fenced, %v", len(fenced), err)
	}
	d.finishes += d.session.used() - before
}

// report tells what was used for a thousand deliveries.
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
