package postgres

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/internal/pgseed"
	"github.com/formsvc/formsvc/storage"
)

// stranded counts the deliveries that nobody would look at in time.
func stranded(t *testing.T, db DB, s *Store) (n int) {
	t.Helper()
	if err := db.QueryRow(t.Context(), s.sql(`SELECT count(*) FROM formsvc.deliveries d
		JOIN formsvc.destinations x ON x.webhook_id = d.webhook_id
		WHERE `+strandedDelivery)).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// gate is a condition that makes a statement wait, once it has its snapshot, while
// somebody holds the lock of that number. Tests share a database, and so its locks.
func gate(number int) string {
	return fmt.Sprintf("(SELECT pg_advisory_xact_lock_shared(%d)) IS NOT NULL", number)
}

// Something is queued for a webhook that is about to be served: after the claim's
// snapshot, and before it locks the webhook's row. The claim must not take the turn away.
// The mutant serves a row that is not as in its snapshot.
func TestNothingIsStrandedWhileAWebhookIsServed(t *testing.T) {
	t.Parallel()
	mutant := strings.ReplaceAll(serve, "y.ctid = x.ctid", "y.webhook_id = x.webhook_id")
	mutant = strings.Replace(mutant, "WHERE t.place = t.seen -- unchanged", "", 1)
	mutant = strings.Replace(mutant, "WHERE x.ctid = v.lane", "WHERE x.webhook_id = (SELECT c.webhook_id FROM chosen c WHERE c.place = v.lane)", 1)
	if mutant == serve {
		t.Fatal("the statement has changed, and this test did not")
	}
	for name, c := range map[string]struct {
		serve string
		gate  int
		want  int
	}{
		"the row must be as in the snapshot": {serve, 4711, 0},
		"a mutant serves it all the same":    {mutant, 4712, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, pool := seeded(t)
			queue := func(number int) { // a claim without room gives the webhook its turn
				t.Helper()
				if _, _, err := s.Submit(t.Context(), response(number)); err != nil {
					t.Fatal(err)
				}
				if got, _, err := s.ClaimDeliveries(t.Context(), storage.ClaimParams{}); err != nil || len(got) > 0 {
					t.Fatal(len(got), err)
				}
			}
			queue(1)
			servedAtGate(t, s, pool, c.serve, c.gate, func() { queue(2) })
			if n := stranded(t, pool, s); n != c.want {
				t.Errorf("%d deliveries are stranded, want %d", n, c.want)
			}
		})
	}
}

// servedAtGate runs the statement, lets somebody do something between its snapshot and its
// locks, and returns what it has leased.
func servedAtGate(t *testing.T, s *Store, pool *pgxpool.Pool, statement string, number int, meanwhile func()) (leased []storage.Delivery) {
	t.Helper()
	const first = "WHERE x.quick = p.quick AND NOT x.crowded AND x.next_at <= statement_timestamp()"
	gated := strings.Replace(statement, first, strings.Replace(first, "WHERE", "WHERE "+gate(number)+" AND", 1), 1)
	if gated == statement {
		t.Fatal("the statement has changed, and this test did not")
	}
	keeper, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer keeper.Release()
	hold := func(lock string) {
		t.Helper()
		if _, err := keeper.Exec(t.Context(), "SELECT "+lock+"($1)", number); err != nil {
			t.Fatal(err)
		}
	}
	hold("pg_advisory_lock")
	p := everything()
	p.Lease = time.Hour
	done := make(chan error, 1)
	go func() {
		rows, err := s.query(context.WithoutCancel(t.Context()), gated, serveArgs(p))
		if err == nil {
			leased, _, err = scanServed(rows)
		}
		done <- err
	}()
	eventually(t, "the claim waits at the gate", func() bool {
		var waits bool
		err := pool.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_stat_activity a WHERE $1::integer = ANY (pg_blocking_pids(a.pid)))",
			keeper.Conn().PgConn().PID()).Scan(&waits)
		return err == nil && waits
	})
	meanwhile()
	hold("pg_advisory_unlock")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	return leased
}

// A delivery that changes after the claim's snapshot and before its lock is served by a
// later claim, if it is still to be served.
func TestADeliveryThatChangesWhileItIsServed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change string
		gate   int
		later  int // how many a later claim serves
	}{
		"it is leased":        {`UPDATE formsvc.deliveries SET leased_until = now() + interval '1 hour', token = 4711`, 4713, 0},
		"it is due later":     {`UPDATE formsvc.deliveries SET due_at = now() + interval '1 hour'`, 4714, 0},
		"it is asked for":     {`UPDATE formsvc.deliveries SET urgency = 1`, 4715, 1},
		"it has ended":        {`WITH e AS (DELETE FROM formsvc.events) DELETE FROM formsvc.deliveries`, 4716, 0},
		"nothing has changed": {`SELECT 1`, 4717, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, pool := seeded(t)
			if _, _, err := s.Submit(t.Context(), response(1)); err != nil {
				t.Fatal(err)
			}
			if got, _, err := s.ClaimDeliveries(t.Context(), storage.ClaimParams{}); err != nil || len(got) > 0 { // its turn
				t.Fatal(len(got), err)
			}
			leased := servedAtGate(t, s, pool, serve, test.gate, func() {
				if _, err := pool.Exec(t.Context(), s.sql(test.change)); err != nil {
					t.Fatal(err)
				}
			})
			if unchanged := name == "nothing has changed"; (len(leased) == 1) != unchanged {
				t.Errorf("%d deliveries are leased", len(leased))
			}
			if got := claimAll(t, s); len(got) != test.later {
				t.Errorf("a later claim serves %d deliveries, want %d", len(got), test.later)
			}
		})
	}
}

// A webhook that works is served while its results are recorded.
func TestAWebhookIsServedWhileItsResultsAreRecorded(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	submit := func(number int) {
		t.Helper()
		if _, _, err := s.Submit(t.Context(), response(number)); err != nil {
			t.Fatal(err)
		}
	}
	submit(1)
	first := claimAll(t, s)[0]
	submit(2)
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	if fenced, err := s.On(tx).FinishDeliveries(t.Context(), []storage.Result{ended(first, 1)}); err != nil || len(fenced) > 0 {
		t.Fatal(fenced, err)
	}
	if got := claimAll(t, s); len(got) != 1 {
		t.Errorf("%d deliveries are claimed while results are recorded, want 1", len(got))
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	referencesAreCounted(t, pool, s)
}

// A claim waits for nobody: what others hold is passed over and comes later.
func TestAClaimWaitsForNobody(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	for i := range 3 {
		if _, _, err := s.Submit(t.Context(), response(i)); err != nil {
			t.Fatal(err)
		}
	}
	hook := pgseed.ID(pgseed.Webhook, 0)
	for what, hold := range map[string]string{
		"the webhook's turn":       `SELECT FROM formsvc.destinations x WHERE x.webhook_id = $1 FOR UPDATE`,
		"the webhook":              `SELECT FROM formsvc.webhooks w WHERE w.id = $1 FOR UPDATE`,
		"the webhook's deliveries": `SELECT FROM formsvc.deliveries d WHERE d.webhook_id = $1 FOR UPDATE`,
	} {
		tx, err := pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(t.Context(), s.sql(hold), hook[:]); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		for _, p := range []storage.ClaimParams{{}, everything()} { // without room, and with
			p.Lease = time.Millisecond
			got, _, err := s.ClaimDeliveries(ctx, p)
			if err != nil {
				t.Errorf("while somebody holds %s: %v", what, err)
			}
			if what == "the webhook's deliveries" && len(got) > 0 {
				t.Errorf("%d deliveries are claimed that somebody holds", len(got))
			}
		}
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		cancel()
	}
	claimed := 0
	eventually(t, "everything is claimed once nobody holds it", func() bool {
		claimed += len(claimAll(t, s))
		return claimed == 3
	})
}
