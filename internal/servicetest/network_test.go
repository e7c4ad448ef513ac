package servicetest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
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
	return patience{time.Second, 20 * time.Second, 20 * time.Second}
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
	if err := postgres.Migrate(t.Context(), pool, opts...); err != nil {
		t.Fatal(err)
	}
	return serveDoors(t, pool, forms, opts...)
}

// serveDoors is openDoors where the tables are made.
func serveDoors(t *testing.T, pool *pgxpool.Pool, forms int, opts ...postgres.Option) *doors {
	t.Helper()
	d := &doors{t: t, pool: pool, store: postgres.New(pool, opts...), longest: map[string]time.Duration{}, good: map[string]time.Time{}}
	d.Bundle = servicetest.SetupOn(t, d.store, formsvc.WithoutRateLimit())
	pages, err := formpage.New(d.Service, formpage.Config{MinFillTime: -1})
	if err != nil {
		t.Fatal(err)
	}
	d.pages = pages
	for range forms {
		form, err := d.AsHost().Form(t.Context(), d.Form(servicetest.TextBlock, `{}`))
		if err != nil {
			t.Fatal(err)
		}
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
			_, err := d.Submit(d.t.Context(), formsvc.Response{FormID: form.ID, Answers: servicetest.Answers("name", `"Ann"`)})
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
			if err != nil {
				d.t.Fatal(err)
			}
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
		if wire.Swallow() == 0 {
			t.Error("there was no connection to swallow")
		}
		t.Logf("every door works after %v", d.worksAgain(at))
	}
	stop()
	if d.failed == 0 {
		t.Error("no call was refused: nothing was swallowed in the middle of one")
	}
	d.check()
	// pgxpool's own ping of a connection that was idle keeps the connection's place for 15
	// seconds after it has failed.
	for began := time.Now(); d.pool.Stat().AcquiredConns() > 0; {
		if time.Since(began) > 20*time.Second {
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
	call := max(waits().call, 3*time.Second)
	d := openDoors(t, pgtest.Pool(t, pgtest.MaxConns(8)), 4, postgres.WithSchema(pgtest.Schema(t)), postgres.WithTimeout(call))
	held := d.forms[0]
	d.forms = d.forms[1:]
	tx, err := d.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	name := "held"
	if _, err := d.Using(d.store.On(tx)).AsHost().UpdateForm(t.Context(), held.ID, formsvc.FormUpdate{Name: &name}); err != nil {
		t.Fatal(err)
	}
	stop := d.work(4)
	var waiting sync.WaitGroup
	for range 4 { // together they wait for one lock
		waiting.Go(func() {
			if err := d.ask("PATCH", func() error {
				return answered(d.DoAs(d.Key, http.MethodPatch, "/forms/"+held.ID.String(), `{"name":"other"}`))
			}); !errors.Is(err, storage.ErrUnavailable) {
				t.Errorf("a change of the form that is held = %v, want unavailable", err)
			}
		})
	}
	waiting.Wait()
	if err := tx.Rollback(t.Context()); err != nil {
		t.Error(err)
	}
	d.through("PATCH", held, 1)
	d.worksAgain(time.Now())
	stop()
	if d.failed != 4 {
		t.Errorf("%d calls were refused, want those to the form that is held", d.failed)
	}
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
		if err := pool.QueryRow(t.Context(), `SELECT count(*) > 0 FROM pg_stat_replication WHERE sync_state = 'sync'`).Scan(&synchronous); err != nil {
			t.Fatal(err)
		}
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
	if d.failed == 0 {
		t.Error("no call was refused: nothing hung")
	}
	d.check()
	// What waits to be written needs the standby, which ends before the service does.
	if err := d.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// Behind a PgBouncer in transaction mode, whose server goes and comes back.
func TestNetworkBehindAPgBouncerWhoseServerRestarts(t *testing.T) {
	t.Parallel()
	restarts := 1
	if os.Getenv("FORMSVC_TEST_NETWORK") == "full" {
		restarts = 10
	}
	server := pgtest.NewServer(t, pgtest.Config{})
	if err := postgres.Migrate(t.Context(), pgtest.PoolAt(t, server.URL())); err != nil {
		t.Fatal(err)
	}
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
	if d.failed == 0 {
		t.Error("no call was refused: the server did not go in the middle of one")
	}
	d.check()
}

func execute(t *testing.T, pool *pgxpool.Pool, text string) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), text); err != nil {
		t.Fatal(err)
	}
}
