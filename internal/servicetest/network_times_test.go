package servicetest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/storage/postgres"
)

// The short forms of these two are TestTheClockIsSetBack and TestALookBesideAHeldSnapshot of
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
	if err != nil || len(found) == 0 {
		t.Fatal("libfaketime is missing: apt-get install libfaketime")
	}
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
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	clock := filepath.Join(dir, "clock")
	set := func(offset string) {
		if err := os.WriteFile(clock, []byte(offset+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
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
	if err := pool.QueryRow(t.Context(), `SELECT $1 - extract(epoch FROM clock_timestamp())::float8`, float64(time.Now().Unix())).Scan(&behind); err != nil || behind < 3000 {
		t.Fatalf("the server's clock is %v seconds behind (%v)", behind, err)
	}
	began := time.Now()
	submit(t, b.Service, form, 2)
	for range 2 {
		select {
		case ok := <-got:
			if !ok {
				t.Error("a later attempt failed")
			}
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

	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	submit(t, b.Using(store.On(tx)), held, 0)
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
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
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
	if err := pool.QueryRow(t.Context(), `SELECT pg_relation_size(format('%I.deliveries', $1::text)::regclass) / 8192`, schema).Scan(&pages); err != nil {
		t.Fatal(err)
	}
	return pages
}

func submit(t *testing.T, svc *formsvc.Service, form formsvc.ID, n int) {
	t.Helper()
	if _, err := svc.Submit(t.Context(), formsvc.Response{FormID: form, Answers: servicetest.Answers("name", fmt.Sprintf(`"%d"`, n))}); err != nil {
		t.Fatal(err)
	}
}
