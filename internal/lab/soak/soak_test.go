package main

import (
	"context"
	"testing"
	"time"

	"github.com/formsvc/formsvc/internal/lab/pgtest"
)

// The short form of the soak. Leases are short, or a killed process' deliveries
// would wait for half a minute. Those whose results were to be given again when it was
// killed have a lease of the store's, 20 s on PostgreSQL: the queue may stay as long as it
// is for longer than that.
func quick(p plan) plan {
	p.seed, p.timeout, p.lease, p.drain = 1, 2*time.Second, 3*time.Second, time.Minute
	p.inFlight = defaultInFlight
	return p
}

func TestAKilledProcessLosesNothing(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]plan{
		"alone":          {processes: 1, kills: 2, refused: refused},
		"beside another": {processes: 2, kills: 3, refused: refused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := soakOn(t, quick(p))
			if !r.ok() {
				t.Errorf("%s", r)
			}
			if r.cut+r.away == 0 {
				t.Error("every submission was acknowledged at once: nothing was killed under load")
			}
			t.Logf("%s", r)
		})
	}
}

func TestAKilledDatabaseServerLosesNothing(t *testing.T) {
	t.Parallel()
	server := pgtest.NewServer(t, pgtest.Config{})
	r := must(soak(t.Context(), quick(plan{processes: 2, serverKills: 1, refused: refused}),
		server.URL(), "soak", tested{server}, logFile(t)))
	if !r.ok() {
		t.Errorf("%s", r)
	}
	if r.cut == 0 {
		t.Error("every submission was acknowledged at once: nothing was killed under load")
	}
	t.Logf("%s", r)
}

// soakOn carries out a plan in a schema of its own.
func soakOn(t *testing.T, p plan) result {
	t.Helper()
	return must(soak(t.Context(), p, pgtest.URL(t), pgtest.Schema(t), nil, logFile(t)))
}

// tested is a test's own server.
type tested struct{ server *pgtest.Server }

func (s tested) Kill() error                   { s.server.Kill(); return nil }
func (s tested) Restart(context.Context) error { s.server.Restart(); return nil }
