package servicetest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres"
)

// patience is what a test of waits expects: the time of a call, how long an answer may take,
// and when everything has to work again.
type patience struct{ call, answer, back time.Duration }

// waits are the bounds that hosts are promised, with FORMSVC_TEST_NETWORK=full. The short form
// has a short time of a call, and room for a busy machine: it finds what waits for minutes.
func waits() patience {
	if os.Getenv("FORMSVC_TEST_NETWORK") == "full" {
		return patience{postgres.DefaultTimeout, 12 * time.Second, 15 * time.Second}
	}
	return patience{time.Second, 40 * time.Second, 40 * time.Second}
}

// doors is one service behind every door that a host has, and forms to ask it about.
type doors struct {
	*servicetest.Bundle
	t     *testing.T
	pool  *pgxpool.Pool
	store *postgres.Store
	pages http.Handler
	forms []formsvc.Form

	stored atomic.Int64 // acknowledged responses

	mu      sync.Mutex
	longest map[string]time.Duration // of the calls, by door
	good    map[string]time.Time     // the last call that worked, by door
	calls   int
	failed  int // with a refusal that says so
}

// behindAWire has its database on the other side of a network.
func behindAWire(t *testing.T, forms int, maxConns int32) (*doors, *pgtest.Wire) {
	t.Helper()
	schema := pgtest.Schema(t)
	wire, address := pgtest.NewWire(t, pgtest.URL(t))
	pool := pgtest.PoolAt(t, address, pgtest.MaxConns(maxConns))
	return openDoors(t, pool, forms, postgres.WithSchema(schema), postgres.WithTimeout(waits().call)), wire
}

func openDoors(t *testing.T, pool *pgxpool.Pool, forms int, opts ...postgres.Option) *doors {
	t.Helper()
	expect.NoError(t, postgres.Migrate(t.Context(), pool, opts...))
	return serveDoors(t, pool, forms, opts...)
}

// serveDoors is openDoors where the tables are made.
func serveDoors(t *testing.T, pool *pgxpool.Pool, forms int, opts ...postgres.Option) *doors {
	t.Helper()
	d := &doors{t: t, pool: pool, store: postgres.New(pool, opts...), longest: map[string]time.Duration{}, good: map[string]time.Time{}}
	d.Bundle = servicetest.SetupOn(t, d.store, formsvc.WithoutRateLimit())
	pages := expect.Must(formpage.New(d.Service, formpage.Config{MinFillTime: -1}))
	d.pages = pages
	for range forms {
		form := expect.Must(d.AsHost().Form(t.Context(), d.Form(servicetest.TextBlock, `{}`)))
		d.forms = append(d.forms, form)
	}
	return d
}

// names are the doors, for reads and for changes.
var names = []string{"GET", "PATCH", "list in Go", "Submit", "page", "sent page"}

// through calls the service through a door.
func (d *doors) through(name string, form formsvc.Form, n int) {
	one := "/forms/" + form.ID.String()
	switch name {
	case "GET":
		d.ask(name, func() error { return answered(d.DoAs(d.Key, http.MethodGet, one, "")) })
	case "PATCH":
		d.ask(name, func() error {
			return answered(d.DoAs(d.Key, http.MethodPatch, one, fmt.Sprintf(`{"name":"Form %d"}`, n)))
		})
	case "list in Go":
		d.ask(name, func() error {
			for _, err := range d.AsHost().Submissions(d.t.Context(), form.ID, formsvc.SubmissionQuery{}) {
				return err
			}
			return nil
		})
	case "Submit":
		d.stores(d.ask(name, func() error {
			_, err := d.Submit(d.t.Context(), formsvc.SubmitParams{FormID: form.ID, Answers: servicetest.Answers("name", `"Ann"`)})
			return err
		}))
	case "page":
		d.ask(name, func() error { return answered(d.page(http.MethodGet, form.PublicID, "")) })
	case "sent page":
		var read struct{ State string }
		d.ask("page", func() error {
			w := d.page(http.MethodGet, form.PublicID+"/form.json", "")
			_ = json.Unmarshal(w.Body.Bytes(), &read) // no state: below
			return answered(w)
		})
		if read.State == "" {
			return
		}
		d.stores(d.ask(name, func() error {
			return answered(d.page(http.MethodPost, form.PublicID+"/submit", `{"state":"`+read.State+`","answers":{"name":"Ann"}}`))
		}))
	}
}

func (d *doors) stores(err error) {
	if err == nil {
		d.stored.Add(1)
	}
}

func (d *doors) page(method, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "/"+path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	d.pages.ServeHTTP(w, r)
	return w
}

// answered is an answer over HTTP as an error.
func answered(w *httptest.ResponseRecorder) error {
	switch {
	case w.Code < 300:
		return nil
	case w.Code == http.StatusServiceUnavailable && w.Header().Get("Retry-After") != "":
		return storage.ErrUnavailable
	}
	return fmt.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
}

// ask notes how long a call took. It may only be refused because the storage is unavailable.
func (d *doors) ask(name string, call func() error) error {
	began := time.Now()
	err := call()
	took := time.Since(began)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls++
	d.longest[name] = max(d.longest[name], took)
	switch {
	case err == nil:
		d.good[name] = time.Now()
	case errors.Is(err, storage.ErrUnavailable), errors.Is(err, storage.ErrOutcomeUnknown):
		d.failed++
	default:
		d.t.Errorf("%s: %v", name, err)
	}
	return err
}

// work calls through all doors from several goroutines, until the returned function is called.
func (d *doors) work(callers int) (stop func()) {
	var running sync.WaitGroup
	done := make(chan struct{})
	for caller := range callers {
		running.Go(func() {
			for n := caller; ; n++ {
				select {
				case <-done:
					return
				default:
					d.through(names[n%len(names)], d.forms[(n/len(names)+caller)%len(d.forms)], n)
				}
			}
		})
	}
	return func() {
		close(done)
		running.Wait()
	}
}

// worksAgain waits until each door has worked after a time, and returns how long that took.
func (d *doors) worksAgain(since time.Time) time.Duration {
	d.t.Helper()
	for {
		d.mu.Lock()
		all := true
		for _, name := range names {
			all = all && d.good[name].After(since)
		}
		d.mu.Unlock()
		took := time.Since(since)
		switch {
		case all:
			return took
		case took > waits().back:
			d.t.Fatalf("not every door works after %v", took)
		}
		time.Sleep(10 * time.Millisecond) // real sockets and a real server: no fake clock
	}
}

// check compares what was acknowledged with what is there, and how long the calls took.
func (d *doors) check() {
	d.t.Helper()
	for name, took := range d.longest {
		if took > waits().answer {
			d.t.Errorf("%s: a call took %v, want at most %v", name, took, waits().answer)
		}
	}
	there := int64(0)
	for _, form := range d.forms {
		for _, err := range d.AsHost().Submissions(d.t.Context(), form.ID, formsvc.SubmissionQuery{}) {
			expect.NoError(d.t, err)
			there++
		}
	}
	if stored := d.stored.Load(); there < stored || stored == 0 {
		d.t.Errorf("%d responses were acknowledged, %d are there", stored, there)
	}
	d.t.Logf("%d calls, %d unavailable, %d responses acknowledged and %d there; longest: %v", d.calls, d.failed, d.stored.Load(), there, d.longest)
}

// Connections that die without a word, as behind a firewall that forgets them, while new ones
// work. Every call is answered in its time, and then the pool has other connections.
func TestNetworkThatSwallowsConnections(t *testing.T) {
	t.Parallel()
	d, wire := behindAWire(t, 6, 16)
	stop := d.work(12)
	d.worksAgain(time.Now())
	for range 2 {
		at := time.Now()
		expect.That(t, wire.Swallow() != 0, "there was no connection to swallow")
		t.Logf("every door works after %v", d.worksAgain(at))
	}
	stop()
	expect.That(t, d.failed != 0, "no call was refused: nothing was swallowed in the middle of one")
	d.check()
	// pgxpool's own ping of a connection that was idle keeps the connection's place for 15
	// seconds after it has failed.
	for began := time.Now(); d.pool.Stat().AcquiredConns() > 0; {
		if time.Since(began) > 40*time.Second {
			t.Fatalf("%d connections were not given back", d.pool.Stat().AcquiredConns())
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// A host's transaction that nobody ends holds a form. Whoever changes that form is refused in
// time, and the others do not notice.
func TestNetworkBesideATransactionThatNobodyEnds(t *testing.T) {
	t.Parallel()
	// So long, because on a busy machine the others are not to run out of their time.
	call := max(waits().call, 8*time.Second)
	d := openDoors(t, pgtest.Pool(t, pgtest.MaxConns(8)), 4, postgres.WithSchema(pgtest.Schema(t)), postgres.WithTimeout(call))
	held := d.forms[0]
	d.forms = d.forms[1:]
	tx := expect.Must(d.pool.Begin(t.Context()))
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	name := "held"
	expect.Must(d.WithStorage(d.store.On(tx)).AsHost().UpdateForm(t.Context(), held.ID, formsvc.FormUpdate{Name: &name}))
	stop := d.work(4)
	var waiting sync.WaitGroup
	for range 4 { // together they wait for one lock
		waiting.Go(func() {
			expect.Error(t, "a change of the form that is held", d.ask("PATCH", func() error {
				return answered(d.DoAs(d.Key, http.MethodPatch, "/forms/"+held.ID.String(), `{"name":"other"}`))
			}), storage.ErrUnavailable)
		})
	}
	waiting.Wait()
	check(t, tx.Rollback(t.Context()))
	d.through("PATCH", held, 1)
	d.worksAgain(time.Now())
	stop()
	expect.That(t, d.failed == 4, "%d calls were refused, want those to the form that is held", d.failed)
	d.check()
}

// A synchronous standby that does not answer holds every commit of its primary, and a server
// that hangs holds everything.
func TestNetworkToAStandbyThatHangs(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	primary := pgtest.NewServer(t, pgtest.Config{NoSync: true})
	pool := pgtest.PoolAt(t, primary.URL(), pgtest.MaxConns(8))
	d := openDoors(t, pool, 6, postgres.WithTimeout(waits().call))
	standby := primary.Standby()
	execute(t, pool, `ALTER SYSTEM SET synchronous_standby_names = '*'`)
	execute(t, pool, `SELECT pg_reload_conf()`)
	for synchronous := false; !synchronous; {
		expect.NoError(t, pool.QueryRow(t.Context(), `SELECT count(*) > 0 FROM pg_stat_replication WHERE sync_state = 'sync'`).Scan(&synchronous))
	}
	stop := d.work(12)
	for name, server := range map[string]*pgtest.Server{"the standby": standby, "the primary": primary} {
		d.worksAgain(time.Now())
		server.Pause()
		time.Sleep(3 * waits().call) // what goes on meanwhile is looked at below
		server.Resume()
		t.Logf("every door works %v after %s does", d.worksAgain(time.Now()), name)
	}
	stop()
	expect.That(t, d.failed != 0, "no call was refused: nothing hung")
	d.check()
	// What waits to be written needs the standby, which ends before the service does.
	check(t, d.Close(t.Context()))
}

// Behind a PgBouncer in transaction mode, whose server goes and comes back.
func TestNetworkBehindAPgBouncerWhoseServerRestarts(t *testing.T) {
	t.Parallel()
	restarts := 1
	if os.Getenv("FORMSVC_TEST_NETWORK") == "full" {
		restarts = 10
	}
	server := pgtest.NewServer(t, pgtest.Config{})
	expect.NoError(t, postgres.Migrate(t.Context(), pgtest.PoolAt(t, server.URL())))
	pool := pgtest.PoolAt(t, pgtest.PgBouncer(t, server.URL(), "server_login_retry = 1"), pgtest.MaxConns(16), pgtest.Mode(pgx.QueryExecModeExec))
	d := serveDoors(t, pool, 6, postgres.WithTimeout(waits().call))
	stop := d.work(12)
	for n := range restarts {
		d.worksAgain(time.Now())
		if n%2 == 0 {
			server.Kill()
		}
		server.Restart()
		t.Logf("every door works after %v", d.worksAgain(time.Now()))
	}
	stop()
	expect.That(t, d.failed != 0, "no call was refused: the server did not go in the middle of one")
	d.check()
}

func execute(t *testing.T, pool *pgxpool.Pool, text string) {
	t.Helper()
	expect.Must(pool.Exec(t.Context(), text))
}

// The short forms of these two are TestTimesThatLieAheadAreBroughtBack and TestALookBesideAHeldSnapshot of
// package postgres, which move the times that statements see.
func unlessLong(t *testing.T) {
	t.Helper()
	if os.Getenv("FORMSVC_TEST_NETWORK") != "full" {
		t.Skip("takes minutes of real time: make test-network")
	}
}

// faketime finds the library that lets a program see another time: Debian's package
// libfaketime.
func faketime(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/*/faketime/libfaketime.so.1")
	expect.Require(t, err == nil && len(found) != 0, "libfaketime is missing: apt-get install libfaketime")
	return found[0]
}

// A receiver that refuses what comes while refuses is true.
func receiver(t *testing.T, refuses func(n int) bool) (url string, got <-chan bool) {
	t.Helper()
	requests := make(chan bool, 1000)
	n := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		refused := refuses(n)
		n++
		if refused {
			w.WriteHeader(http.StatusInternalServerError)
		}
		requests <- !refused
	}))
	server.Config.SetKeepAlivesEnabled(false)
	t.Cleanup(server.Close)
	return server.URL, requests
}

// The clock of a real server is set back by an hour after a healthy webhook has failed once.
func TestNetworkLongTheServersClockIsSetBack(t *testing.T) {
	t.Parallel()
	unlessLong(t)
	// The server, which is another user, cannot enter t.TempDir.
	dir, err := os.MkdirTemp("", "formsvc-clock-") //nolint:usetesting // the reason is above
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	expect.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	clock := filepath.Join(dir, "clock")
	set := func(offset string) {
		expect.NoError(t, os.WriteFile(clock, []byte(offset+"\n"), 0o644))
	}
	set("+0")
	server := pgtest.NewServer(t, pgtest.Config{NoSync: true, Env: []string{
		"LD_PRELOAD=" + faketime(t), "FAKETIME_TIMESTAMP_FILE=" + clock, "FAKETIME_NO_CACHE=1", "FAKETIME_DONT_FAKE_MONOTONIC=1",
	}})
	pool := pgtest.PoolAt(t, server.URL(), pgtest.MaxConns(8))
	url, got := receiver(t, func(n int) bool { return n == 0 })
	b := servicetest.SetupOn(t, servicetest.Migrated(t, pool), formsvc.WithoutRateLimit(), servicetest.Loopback())
	form := b.Form(servicetest.TextBlock, `{}`)
	b.Webhook(form, url, servicetest.Secret)
	b.Dispatch()
	submit(t, b.Service, form, 1)
	if <-got {
		t.Fatal("the first attempt did not fail")
	}
	set("-3600")
	var behind float64
	err = pool.QueryRow(t.Context(), `SELECT $1 - extract(epoch FROM clock_timestamp())::float8`, float64(time.Now().Unix())).Scan(&behind)
	expect.Require(t, err == nil && behind >= 3000, "the server's clock is %v seconds behind (%v)", behind, err)
	began := time.Now()
	submit(t, b.Service, form, 2)
	for range 2 {
		select {
		case ok := <-got:
			expect.That(t, ok, "a later attempt failed")
		case <-time.After(5 * time.Minute):
			t.Fatal("five minutes after the clock was set back something still waits")
		}
	}
	t.Logf("both deliveries arrived within %v", time.Since(began))
}

// A transaction of the host's is open for 90 seconds, with a response in it, while other
// responses come and go. The dispatcher finds its delivery within a minute of the commit,
// and delivers the others at once.
func TestNetworkLongASnapshotIsHeld(t *testing.T) {
	t.Parallel()
	unlessLong(t)
	schema := pgtest.Schema(t)
	pool := pgtest.Pool(t, pgtest.MaxConns(8))
	store := servicetest.Migrated(t, pool, postgres.WithSchema(schema))
	b := servicetest.SetupOn(t, store, formsvc.WithoutRateLimit(), servicetest.Loopback())
	url, got := receiver(t, func(int) bool { return false })
	held, other := b.Form(servicetest.TextBlock, `{}`), b.Form(servicetest.TextBlock, `{}`)
	b.Webhook(held, url, servicetest.Secret)
	b.Webhook(other, url, servicetest.Secret)
	b.Dispatch()

	tx := expect.Must(pool.Begin(t.Context()))
	submit(t, b.WithStorage(store.On(tx)), held, 0)
	before := buffers(t, pool, schema)
	began := time.Now()
	others := 0
	var slowest time.Duration
	for ; time.Since(began) < 90*time.Second; others++ {
		at := time.Now()
		submit(t, b.Service, other, others)
		<-got
		slowest = max(slowest, time.Since(at))
	}
	t.Logf("%d deliveries beside it, the slowest after %v; the queue has %d pages, %d before", others, slowest, buffers(t, pool, schema), before)
	expect.NoError(t, tx.Commit(t.Context()))
	committed := time.Now()
	select {
	case <-got:
		t.Logf("found %v after its commit", time.Since(committed))
	case <-time.After(time.Minute):
		t.Error("a minute after its commit the delivery is not found")
	}
}

// buffers is how many pages the queue's table has.
func buffers(t *testing.T, pool *pgxpool.Pool, schema string) (pages int) {
	t.Helper()
	expect.NoError(t, pool.QueryRow(t.Context(), `SELECT pg_relation_size(format('%I.deliveries', $1::text)::regclass) / 8192`, schema).Scan(&pages))
	return pages
}

func submit(t *testing.T, svc *formsvc.Service, form formsvc.ID, n int) {
	t.Helper()
	expect.Must(svc.Submit(t.Context(), formsvc.SubmitParams{FormID: form, Answers: servicetest.Answers("name", fmt.Sprintf(`"%d"`, n))}))
}
