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

	"github.com/formsvc/formsvc/internal/pgtest"
)

// A process is stopped while its requests are under way. Another one takes its
// deliveries over when the leases have run out. Then the first goes on, with an
// answer that says the opposite: it must not change anything.
func TestAStoppedProcessThatGoesOnChangesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		second int // what the second process is answered
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
			z := newZombies(t)
			first, log := z.start(time.Second)
			z.submit(first)
			old := z.requests()

			sendSignal(t, first, syscall.SIGSTOP)
			second, _ := z.start(0)
			current := z.requests()
			for event, r := range current {
				if was, ok := old[event]; !ok || was.body != r.body {
					t.Errorf("event %s is new or has other bytes", event)
				}
			}
			if c.second != 0 {
				answer(current, c.second)
			}
			switch c.second {
			case http.StatusOK:
				z.drained()
			case http.StatusInternalServerError:
				current = z.requests() // the second attempt, under way now
			}

			before := z.state()
			answer(old, c.first)
			sendSignal(t, first, syscall.SIGCONT)
			z.fenced(log)
			if diff := cmp.Diff(before, z.state()); diff != "" {
				t.Errorf("the first process changed (-before +after)\n%s", diff)
			}

			attempts := 1
			if c.second != http.StatusOK {
				answer(current, http.StatusOK)
				z.drained()
			}
			if c.second == http.StatusInternalServerError {
				attempts = 2
			}
			for _, p := range []*process{first, second} {
				if err := p.stop(); err != nil {
					t.Error(err)
				}
			}
			z.checkHistory(attempts)
			if len(z.arrived) != 0 {
				t.Errorf("%d more requests came", len(z.arrived))
			}
		})
	}
}

// zombies is a form with one webhook, whose requests wait for an answer.
type zombies struct {
	t       *testing.T
	config  serverConfig
	db      *database
	arrived chan request
}

// request is one that waits for its answer.
type request struct {
	reception
	status chan int
}

func newZombies(t *testing.T) *zombies {
	t.Helper()
	z := &zombies{t: t, arrived: make(chan request, 100)}
	url, schema := pgtest.URL(t), pgtest.Schema(t)
	receiver := httptest.NewServer(http.HandlerFunc(z.receive))
	t.Cleanup(receiver.Close)
	var err error
	z.db, err = prepare(t.Context(), pgtest.Pool(t), schema, []string{receiver.URL + "/0"})
	if err != nil {
		t.Fatal(err)
	}
	z.config = serverConfig{Database: url, Schema: schema, Form: z.db.form, Timeout: 20 * time.Second}
	return z
}

func (z *zombies) receive(w http.ResponseWriter, r *http.Request) {
	got, ok := readReception(r)
	if !ok {
		return
	}
	waiting := request{got, make(chan int, 1)}
	z.arrived <- waiting
	select {
	case status := <-waiting.status:
		w.WriteHeader(status)
	case <-r.Context().Done():
	}
}

// start starts a process with leases of this length, and returns its log.
func (z *zombies) start(lease time.Duration) (*process, *os.File) {
	z.t.Helper()
	c := z.config
	c.Lease = lease
	log := logFile(z.t)
	p, err := startProcess(c, log)
	if err != nil {
		z.t.Fatal(err)
	}
	z.t.Cleanup(func() {
		if p.command.ProcessState == nil { // the test failed before it was stopped
			_ = p.kill()
		}
	})
	return p, log
}

// submit submits as many as can be under way at once.
func (z *zombies) submit(p *process) {
	z.t.Helper()
	l := newLoad(func() []string { return []string{p.url} })
	defer l.client.CloseIdleConnections()
	for i := range inFlightWebhook {
		if _, ok := l.send(z.t.Context(), p.url, string(rune('a'+i))); !ok {
			z.t.Fatalf("submission %d is not acknowledged: %q", i, l.unexpected)
		}
	}
}

// requests waits for one request for each submission and returns them by event.
func (z *zombies) requests() map[string]request {
	z.t.Helper()
	found := map[string]request{}
	for len(found) < inFlightWebhook {
		select {
		case r := <-z.arrived:
			if !r.signed {
				z.t.Error("the signature is wrong")
			}
			if _, ok := found[r.event]; ok {
				z.t.Fatalf("event %s is sent twice at once", r.event)
			}
			found[r.event] = r
		case <-time.After(30 * time.Second):
			z.t.Fatalf("%d requests came, want %d", len(found), inFlightWebhook)
		}
	}
	return found
}

func answer(requests map[string]request, status int) {
	for _, r := range requests {
		r.status <- status
	}
}

// drained waits until the queue is empty.
func (z *zombies) drained() {
	z.t.Helper()
	if _, err := drain(z.t.Context(), z.db, 30*time.Second); err != nil {
		z.t.Fatal(err)
	}
	if n, err := z.db.pending(z.t.Context()); err != nil || n != 0 {
		z.t.Fatalf("%d deliveries are left: %v", n, err)
	}
}

// fenced waits until the log says that each result came too late.
func (z *zombies) fenced(log *os.File) {
	z.t.Helper()
	ctx, cancel := context.WithTimeout(z.t.Context(), 30*time.Second)
	defer cancel()
	for bytes.Count(readLog(z.t, log), []byte("came too late")) < inFlightWebhook {
		if ctx.Err() != nil {
			z.t.Fatal("the results of the first process did not come too late")
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
		`SELECT 'webhook ' || w.failures || ' ' || COALESCE(w.paused_until::text, '') FROM formsvc.webhooks w`,
		`SELECT 'event ' || row_to_json(e)::text FROM formsvc.events e ORDER BY id`,
	} {
		found, err := z.db.pool.Query(z.t.Context(), z.db.sql(query))
		if err != nil {
			z.t.Fatal(err)
		}
		for found.Next() {
			var row string
			if err := found.Scan(&row); err != nil {
				z.t.Fatal(err)
			}
			rows = append(rows, row)
		}
		if err := found.Err(); err != nil {
			z.t.Fatal(err)
		}
	}
	return rows
}

// checkHistory: each event has so many attempts, and one success.
func (z *zombies) checkHistory(attempts int) {
	z.t.Helper()
	var events, least, most, successes int
	err := z.db.pool.QueryRow(z.t.Context(), z.db.sql(`
		SELECT count(*), min(n), max(n), sum(successes)
		FROM (SELECT count(*) AS n, count(*) FILTER (WHERE success) AS successes FROM formsvc.attempts GROUP BY event_id) e`)).
		Scan(&events, &least, &most, &successes)
	if err != nil {
		z.t.Fatal(err)
	}
	if events != inFlightWebhook || least != attempts || most != attempts || successes != events {
		z.t.Errorf("%d events with %d to %d attempts and %d successes in all, want %d with %d and as many",
			events, least, most, successes, inFlightWebhook, attempts)
	}
}

func sendSignal(t *testing.T, p *process, s os.Signal) {
	t.Helper()
	if err := p.command.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}
