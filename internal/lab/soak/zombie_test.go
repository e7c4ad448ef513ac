//go:build unix

package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/formsvc/formsvc/internal/lab/ledger"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
)

// A process is stopped while its request is under way. Another one takes the
// delivery over when the lease has run out. Then the first goes on, with an
// answer that says something else: it must not change anything.
func TestAStoppedProcessThatGoesOnChangesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		second int // what the second process is answered; 0: nothing yet
		first  int // what the first is answered afterwards
	}{
		"it succeeds, the other has succeeded":         {http.StatusOK, http.StatusOK},
		"it fails, the other has succeeded":            {http.StatusOK, http.StatusInternalServerError},
		"it succeeds, the other has failed":            {http.StatusInternalServerError, http.StatusOK},
		"it is told to give up, the other has failed":  {http.StatusInternalServerError, http.StatusGone},
		"it is told to give up, the other has not yet": {0, http.StatusGone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			z := newZombies(t, 20*time.Second)
			// Before its lease runs out it is stopped, or it would claim the delivery again itself.
			first, log := z.start("first", 3*time.Second)
			z.submit(first, 1)
			old := z.next("first")
			sendSignal(t, first, syscall.SIGSTOP)
			second, _ := z.start("second", 0)
			current := z.next("second")
			if current.Event != old.Event || current.Body != old.Body {
				t.Error("the other process sends another event, or other bytes")
			}
			attempts := 1
			switch c.second {
			case http.StatusOK:
				current.status <- http.StatusOK
				z.drained()
			case http.StatusInternalServerError:
				attempts = 2
				current.status <- http.StatusInternalServerError
				current = z.next("second") // the next attempt, under way from now on
			}

			before := z.state()
			old.status <- c.first
			sendSignal(t, first, syscall.SIGCONT)
			z.fenced(log)
			if diff := cmp.Diff(before, z.state()); diff != "" {
				t.Errorf("the first process changed (-before +after)\n%s", diff)
			}
			if c.second != http.StatusOK {
				current.status <- http.StatusOK
				z.drained()
			}
			z.stop(first, second)
			z.checkHistory(1, attempts)
			z.checkQuiet()
		})
	}
}

// With the dispatcher's own lease, the stopped process also has deliveries that
// it had claimed and not begun. It must not send them when it goes on.
func TestAStoppedProcessThatGoesOnSendsNothing(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a lease of the dispatcher's own length takes half a minute to run out")
	}
	const events = 8
	z := newZombies(t, 5*time.Second) // the process is stopped while its requests wait
	// It sends one request at a time, so that none is about to be sent at the stop.
	z.config.InFlight, z.config.Slow = 1, 1
	first, log := z.start("first", 0)
	z.config.InFlight, z.config.Slow = 0, 0
	z.submit(first, events)
	old := z.next("first")
	sendSignal(t, first, syscall.SIGSTOP)
	second, _ := z.start("second", 0)
	for range events {
		z.next("second").status <- http.StatusOK
	}
	z.drained()

	before := z.state()
	old.status <- http.StatusOK
	sendSignal(t, first, syscall.SIGCONT)
	z.fenced(log)
	z.stop(first, second)
	if diff := cmp.Diff(before, z.state()); diff != "" {
		t.Errorf("the first process changed (-before +after)\n%s", diff)
	}
	z.checkHistory(events, 1)
	z.checkQuiet()
}

// zombies is a form with one webhook, whose requests wait for an answer.
type zombies struct {
	t       *testing.T
	config  serverConfig
	db      *database
	arrived map[string]chan request // by the process that sent it
}

// request is one that waits for its answer.
type request struct {
	ledger.Reception
	status chan int
}

func newZombies(t *testing.T, timeout time.Duration) *zombies {
	t.Helper()
	z := &zombies{t: t, arrived: map[string]chan request{
		"first": make(chan request, 100), "second": make(chan request, 100),
	}}
	url, schema := pgtest.URL(t), pgtest.Schema(t)
	receiver := httptest.NewServer(http.HandlerFunc(z.receive))
	t.Cleanup(receiver.Close)
	z.db = must(prepare(t.Context(), pgtest.Pool(t), schema, []string{receiver.URL + "/0"}))
	z.config = serverConfig{Database: url, Schema: schema, Forms: z.db.forms, Timeout: timeout}
	return z
}

func (z *zombies) receive(w http.ResponseWriter, r *http.Request) {
	got, ok := ledger.ReadReception(r)
	if !ok {
		return
	}
	waiting := request{got, make(chan int, 1)}
	z.arrived[r.UserAgent()] <- waiting
	select {
	case status := <-waiting.status:
		w.WriteHeader(status)
	case <-r.Context().Done():
	}
}

// start starts a process with leases of this length, and returns its log.
func (z *zombies) start(name string, lease time.Duration) (*process, *os.File) {
	z.t.Helper()
	c := z.config
	c.Name, c.Lease = name, lease
	log := logFile(z.t)
	p := must(startProcess(c, log))
	z.t.Cleanup(func() {
		if p.command.ProcessState == nil { // the test failed before it was stopped
			_ = p.kill()
		}
	})
	return p, log
}

func (z *zombies) stop(processes ...*process) {
	z.t.Helper()
	for _, p := range processes {
		if err := p.stop(); err != nil {
			z.t.Error(err)
		}
	}
}

func (z *zombies) submit(p *process, n int) {
	z.t.Helper()
	l := newLoad(func() []string { return []string{p.url} })
	defer l.client.CloseIdleConnections()
	for i := range n {
		if _, ok := l.send(z.t.Context(), p.url, string(rune('a'+i))); !ok {
			z.t.Fatalf("submission %d is not acknowledged: %q", i, l.unexpected)
		}
	}
}

// next waits for the next request of a process.
func (z *zombies) next(process string) request {
	z.t.Helper()
	select {
	case r := <-z.arrived[process]:
		if !r.Signed {
			z.t.Error("the signature is wrong")
		}
		return r
	case <-time.After(2 * time.Minute):
		z.t.Fatalf("no request of the %s process", process)
		return request{}
	}
}

// checkQuiet: all requests have been looked at.
func (z *zombies) checkQuiet() {
	z.t.Helper()
	for name, arrived := range z.arrived {
		if n := len(arrived); n != 0 {
			z.t.Errorf("%d more requests came from the %s process", n, name)
		}
	}
}

// drained waits until the queue is empty.
func (z *zombies) drained() {
	z.t.Helper()
	must(drain(z.t.Context(), z.db, time.Minute))
	if n, err := z.db.pending(z.t.Context()); err != nil || n != 0 {
		z.t.Fatalf("%d deliveries are left: %v", n, err)
	}
}

// fenced waits until the log says that a result changed nothing.
func (z *zombies) fenced(log *os.File) {
	z.t.Helper()
	ctx, cancel := context.WithTimeout(z.t.Context(), time.Minute)
	defer cancel()
	for !bytes.Contains(readLog(z.t, log), []byte("webhook result ignored")) {
		if ctx.Err() != nil {
			z.t.Fatal("the result of the first process did not come")
		}
		pause(ctx, drainPoll)
	}
}

// state is everything that a result may change.
func (z *zombies) state() (rows []string) {
	z.t.Helper()
	for _, query := range []string{
		`SELECT 'attempt ' || row_to_json(a)::text FROM formsvc.attempts a ORDER BY id`,
		`SELECT 'delivery ' || row_to_json(d)::text FROM formsvc.deliveries d ORDER BY event_id`,
		`SELECT 'webhook ' || x.failures || ' ' || COALESCE(x.paused_until::text, '') FROM formsvc.destinations x`,
		`SELECT 'event ' || row_to_json(e)::text FROM formsvc.events e ORDER BY id`,
	} {
		found := must(z.db.pool.Query(z.t.Context(), z.db.sql(query)))
		for found.Next() {
			var row string
			noError(z.t, found.Scan(&row))
			rows = append(rows, row)
		}
		noError(z.t, found.Err())
	}
	return rows
}

// checkHistory: so many events have so many attempts and one success each.
func (z *zombies) checkHistory(events, attempts int) {
	z.t.Helper()
	var n, least, most, successes int
	noError(z.t, z.db.pool.QueryRow(z.t.Context(), z.db.sql(`
		SELECT count(*), min(n), max(n), sum(successes)
		FROM (SELECT count(*) AS n, count(*) FILTER (WHERE success) AS successes FROM formsvc.attempts GROUP BY event_id) e`)).
		Scan(&n, &least, &most, &successes))
	if n != events || least != attempts || most != attempts || successes != events {
		z.t.Errorf("%d events with %d to %d attempts and %d successes in all, want %d events with %d and one each",
			n, least, most, successes, events, attempts)
	}
}

func sendSignal(t *testing.T, p *process, s os.Signal) {
	t.Helper()
	noError(t, p.command.Process.Signal(s))
}
