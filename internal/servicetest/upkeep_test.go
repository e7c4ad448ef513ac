package servicetest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
	"github.com/formsvc/formsvc/storage/postgres"
)

// deployment is a service whose time a test moves, and what it logs.
type deployment struct {
	*servicetest.Bundle
	clock    *servicetest.Clock
	log      *logLines
	process  func() storage.Storage          // the data, as another process opens it
	inTx     func(do func(*formsvc.Service)) // in a host's transaction that is committed
	pass     func(time.Duration)
	form     formsvc.ID
	requests <-chan servicetest.Received
	hook     formsvc.ID
}

// logLines is a log that many may write.
type logLines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (d *deployment) warnings() int {
	d.log.mu.Lock()
	defer d.log.mu.Unlock()
	return strings.Count(d.log.b.String(), "no process is running a dispatcher")
}

// queue queues a delivery in Go.
func (d *deployment) queue() {
	d.T.Helper()
	expect.Must(d.Answer(d.form, "name", `"x"`))
}

// want fails unless so many warnings were logged until now.
func (d *deployment) want(n int, when string) {
	d.T.Helper()
	if got := d.warnings(); got != n {
		d.T.Errorf("%d warnings %s, want %d", got, when, n)
	}
}

// claims lets a dispatcher of another process look for deliveries.
func (d *deployment) claims() []storage.ClaimedDelivery {
	d.T.Helper()
	claimed, _, err := d.process().ClaimDeliveries(d.T.Context(), storage.ClaimParams{
		Lease: time.Hour, Fast: storage.Pool{MaxDeliveries: 100}, NewOrFailing: storage.Pool{MaxDeliveries: 100}, PerWebhook: 100,
	})
	expect.NoError(d.T, err)
	return claimed
}

// finish settles them.
func (d *deployment) finish(claimed []storage.ClaimedDelivery) {
	d.T.Helper()
	if len(claimed) == 0 {
		d.T.Fatal("nothing was claimed")
	}
	for _, c := range claimed {
		if _, err := d.process().FinishDeliveries(d.T.Context(), []storage.Result{{Lease: c.Lease, Delivery: &storage.Delivery{
			ID: c.Lease.EventID, WebhookID: d.hook, EventID: c.Lease.EventID, EventType: c.EventType,
			SubmissionID: c.SubmissionID, Attempt: 1, Success: true, Status: http.StatusOK, CreatedAt: d.clock.Now(),
		}, Health: storage.Health{Succeeded: true}}}); err != nil {
			d.T.Fatal(err)
		}
	}
}

// onEachDeployment runs a test in memory and on PostgreSQL.
func onEachDeployment(t *testing.T, test func(t *testing.T, d *deployment)) {
	t.Helper()
	start := time.Now() // the server of PostgreSQL has its own clock
	setup := func(t *testing.T, d *deployment, store storage.Storage) {
		d.log = &logLines{}
		d.Bundle = servicetest.SetupOn(t, store, servicetest.Loopback(), formsvc.WithoutRateLimit(),
			formsvc.WithClock(d.clock.Now), formsvc.WithLogger(slog.New(slog.NewTextHandler(d.log, nil))))
		d.form = d.Form(servicetest.TextBlock, `{}`)
		var url string
		url, d.requests = servicetest.Receiver(t)
		d.hook = d.Webhook(d.form, url, servicetest.Secret)
		test(t, d)
	}
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		d := &deployment{clock: servicetest.NewClock(start)}
		store := memory.New(memory.WithClock(d.clock.Now))
		d.process = func() storage.Storage { return store }
		d.inTx = func(do func(*formsvc.Service)) { do(d.WithStorage(store)) }
		d.pass = d.clock.Advance
		setup(t, d, store)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		d := &deployment{clock: servicetest.NewClock(start)}
		schema, pool := pgtest.Schema(t), pgtest.Pool(t, pgtest.MaxConns(8))
		store := servicetest.Migrated(t, pool, postgres.WithSchema(schema))
		d.process = func() storage.Storage { return postgres.New(pool, postgres.WithSchema(schema)) }
		d.inTx = func(do func(*formsvc.Service)) {
			expect.NoError(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
				do(d.WithStorage(store.On(tx)))
				return nil
			}))
		}
		d.pass = func(by time.Duration) {
			d.clock.Advance(by)
			move(t, pool, schema, by)
		}
		setup(t, d, store)
	})
}

// move makes what the database notes so much older.
func move(t *testing.T, pool *pgxpool.Pool, schema string, by time.Duration) {
	t.Helper()
	for _, text := range []string{
		`UPDATE %[1]s.upkeep SET since = since - %[2]s, done_at = done_at - %[2]s`,
		`UPDATE %[1]s.deliveries SET queued_at = queued_at - %[2]s`,
	} {
		expect.Must(pool.Exec(t.Context(), fmt.Sprintf(text, schema, fmt.Sprintf("interval '%d microseconds'", by.Microseconds()))))
	}
}

// Behind every door, whoever queues deliveries says that nobody sends them.
func TestDeliveriesThatNobodySendsAreLogged(t *testing.T) {
	t.Parallel()
	doors := map[string]func(t *testing.T, d *deployment){
		"Go": func(_ *testing.T, d *deployment) { d.queue() },
		"a host's transaction": func(t *testing.T, d *deployment) {
			d.inTx(func(svc *formsvc.Service) {
				check(t, expect.ErrorOf(svc.Submit(t.Context(), formsvc.SubmitParams{FormID: d.form, Answers: servicetest.Answers("name", `"x"`)})))
			})
		},
		"a test event": func(t *testing.T, d *deployment) {
			check(t, d.SendTestEvent(t.Context(), d.hook))
		},
		"a redelivery": func(t *testing.T, d *deployment) {
			attempts, err := d.AsHost().Deliveries(t.Context(), d.hook)
			expect.Require(t, err == nil && len(attempts) != 0, "%d attempts, %v", len(attempts), err)
			check(t, d.Redeliver(t.Context(), d.hook, attempts[0].ID))
		},
	}
	for name, queue := range doors {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEachDeployment(t, func(t *testing.T, d *deployment) {
				d.queue() // the first one of the process, which does not look
				d.finish(d.claims())
				d.queue() // and nobody sends it
				d.pass(5*time.Minute - time.Second)
				queue(t, d)
				d.want(0, "before five minutes have passed")
				d.pass(time.Second)
				queue(t, d)
				d.want(1, "after five minutes")
				d.pass(5*time.Minute - time.Second)
				queue(t, d)
				d.want(1, "within five minutes of the first")
				d.pass(time.Second)
				queue(t, d)
				d.want(2, "after five minutes more")
			})
		})
	}
}

// Nothing is wrong while some process runs a dispatcher, when nothing waits, or when what
// waits came a moment ago.
func TestNobodyIsWarnedForNothing(t *testing.T) {
	t.Parallel()
	onEachDeployment(t, func(t *testing.T, d *deployment) {
		d.pass(time.Hour)
		d.queue() // long after the tables were made; a dispatcher starts a second later
		d.want(0, "for the first delivery of a process")
		d.claims()
		for range 3 {
			d.pass(6 * time.Minute)
			d.claims()
			d.queue()
			d.want(0, "while another process claims")
		}
		expect.Error(t, "Check", d.Check(t.Context()), nil)
		d.claims()
		d.pass(6 * time.Minute)
		expect.Must(d.process().ExpireDeliveries(t.Context(), storage.ExpireParams{MaxAge: time.Hour, Max: 1, At: d.clock.Now(), NewID: func() storage.ID { return storage.ID{9} }}))
		d.pass(4 * time.Minute)
		d.queue()
		d.want(0, "while another process has no room to claim")
	})
}

func TestCheck(t *testing.T) {
	t.Parallel()
	onEachDeployment(t, func(t *testing.T, d *deployment) {
		check := func(when string, want ...error) {
			t.Helper()
			err := d.Check(t.Context())
			for _, fault := range []error{formsvc.ErrNoDispatcher, formsvc.ErrNoMaintenance} {
				expect.That(t, errors.Is(err, fault) == slices.Contains(want, fault), "%s: Check = %v, want %v", when, err, want)
			}
			expect.That(t, !errors.Is(err, formsvc.ErrUnavailable) && (err == nil) == (len(want) == 0),
				"%s: Check = %v, want %v", when, err, want)
		}
		check("new tables")
		d.queue()
		check("a delivery waits")
		d.pass(5*time.Minute - time.Second)
		check("it waits for almost five minutes")
		d.pass(time.Second)
		check("it waits for five minutes", formsvc.ErrNoDispatcher)
		d.pass(24*time.Hour - 5*time.Minute)
		check("a day has passed", formsvc.ErrNoDispatcher, formsvc.ErrNoMaintenance)
		expect.NoError(t, d.Maintain(t.Context()))
		check("maintenance was done", formsvc.ErrNoDispatcher)
		d.finish(d.claims())
		check("the delivery was sent")
		d.pass(6 * time.Minute)
		d.queue()
		check("a dispatcher that has stopped left nothing that waits for long")

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		expect.Error(t, "Check with a canceled context", d.Check(ctx), context.Canceled)
	})
}

// Without tables that is what is said, once.
func TestCheckWithoutTables(t *testing.T) {
	t.Parallel()
	svc := servicetest.New(t, postgres.New(pgtest.Pool(t), postgres.WithSchema(pgtest.Schema(t))))
	err := svc.Check(t.Context())
	var version *postgres.VersionError
	expect.That(t, errors.As(err, &version) && errors.Is(err, formsvc.ErrUnavailable) && strings.Count(err.Error(), "\n") <= 0,
		"Check = %v", err)
}

// A standby, or a role that may only read, passes every other check.
func TestCheckFindsASessionThatCannotWrite(t *testing.T) {
	t.Parallel()
	schema := pgtest.Schema(t)
	servicetest.Migrated(t, pgtest.Pool(t), postgres.WithSchema(schema))
	pool := pgtest.Pool(t, func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["default_transaction_read_only"] = "on" })
	err := servicetest.New(t, postgres.New(pool, postgres.WithSchema(schema))).Check(t.Context())
	var setup *postgres.SetupError
	expect.That(t, errors.As(err, &setup) && strings.Contains(err.Error(), "nothing can be written"), "Check = %v", err)
}

// A look that fails is no fault of the call, nor of the host's transaction.
func TestALookThatFailsHarmsNothing(t *testing.T) {
	t.Parallel()
	schema, pool := pgtest.Schema(t), pgtest.Pool(t)
	store := servicetest.Migrated(t, pool, postgres.WithSchema(schema))
	clock := servicetest.NewClock(time.Now())
	b := servicetest.SetupOn(t, store, formsvc.WithClock(clock.Now))
	form := b.Form(servicetest.TextBlock, `{}`)
	expect.Must(pool.Exec(t.Context(), `DROP TABLE `+schema+`.upkeep`))
	for range 2 {
		err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
			_, err := b.WithStorage(store.On(tx)).Submit(t.Context(), formsvc.SubmitParams{FormID: form, Answers: servicetest.Answers("name", `"x"`)})
			return err
		})
		check(t, err)
		clock.Advance(time.Hour)
	}
	expect.Equal(t, b.Submissions(form), 2, "submissions")
}
