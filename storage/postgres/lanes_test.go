package postgres

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/internal/pgseed"
	"github.com/formsvc/formsvc/storage"
)

// stranded counts the deliveries that nobody would ever look at.
func stranded(t *testing.T, db DB, s *Store) (n int) {
	t.Helper()
	if err := db.QueryRow(t.Context(), s.sql(`SELECT count(*) FROM formsvc.deliveries d
		JOIN formsvc.destinations x ON x.webhook_id = d.webhook_id
		WHERE d.ready_at IS NULL AND x.next_at IS NULL`)).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// gate makes a statement wait, once it has its snapshot, for whoever holds the lock.
const (
	gate     = `(SELECT pg_advisory_xact_lock_shared(4711)) IS NOT NULL`
	shutGate = `SELECT pg_advisory_lock(4711)`
	openGate = `SELECT pg_advisory_unlock(4711)`
)

// Something is parked in a lane while a claim is about to serve it: after the claim's
// first snapshot, and before it locks the lane. The claim must not take the lane's
// turn away. The mutant looks for what is parked in the statement that locks.
func TestNothingIsStrandedInALaneThatIsServed(t *testing.T) {
	t.Parallel()
	takeLater := strings.Replace(takeLanes, "WHERE x.quick = p.quick AND NOT x.crowded AND", "WHERE "+gate+" AND x.quick = p.quick AND NOT x.crowded AND", 1)
	const due = "x.quick = ANY ('{t,f}') AND NOT x.crowded AND x.next_at = $9::timestamptz"
	inOne := strings.Replace(serveLanes, due, gate+" AND x.next_at <= $9::timestamptz FOR NO KEY UPDATE OF x SKIP LOCKED", 1)
	if takeLater == takeLanes || inOne == serveLanes {
		t.Fatal("the statements have changed, and this test did not")
	}
	for name, c := range map[string]struct {
		claim func(s *Store, b *pgx.Batch, r *room)
		want  int
	}{
		"the lane is locked first": {func(s *Store, b *pgx.Batch, r *room) {
			mark := time.Date(9000, 1, 1, 0, 0, 0, 0, time.UTC)
			s.queue(b, takeLater, r.args(mark, int64(lanesAside))...)
			s.queue(b, serveLanes, r.args(mark, int64(r.MaxBytes), time.Hour.Microseconds())...)
		}, 0},
		"a mutant with one statement": {func(s *Store, b *pgx.Batch, r *room) {
			s.queue(b, inOne, r.args(time.Now(), int64(r.MaxBytes), time.Hour.Microseconds())...)
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, pool := seeded(t)
			park := func(number int) { // a claim without room parks what is ready
				t.Helper()
				if _, _, err := s.Submit(t.Context(), response(number)); err != nil {
					t.Fatal(err)
				}
				if got, _, err := s.ClaimDeliveries(t.Context(), storage.ClaimParams{}); err != nil || len(got) > 0 {
					t.Fatal(len(got), err)
				}
			}
			park(1)
			keeper, err := pool.Acquire(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer keeper.Release()
			gated(t, keeper, shutGate)
			r := newRoom(everything())
			done := make(chan error, 1)
			go func() {
				b := &pgx.Batch{}
				c.claim(s, b, r)
				done <- s.send(context.WithoutCancel(t.Context()), b, func(rows pgx.Rows) error {
					_, err := r.take(rows)
					return err
				})
			}()
			eventually(t, "the claim waits at the gate", func() bool {
				var waits bool
				err := pool.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_stat_activity a WHERE $1::integer = ANY (pg_blocking_pids(a.pid)))",
					keeper.Conn().PgConn().PID()).Scan(&waits)
				return err == nil && waits
			})
			park(2)
			gated(t, keeper, openGate)
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			if len(r.claimed) == 0 {
				t.Error("the claim has served nothing")
			}
			if n := stranded(t, pool, s); n != c.want {
				t.Errorf("%d deliveries are stranded, want %d", n, c.want)
			}
		})
	}
}

// gated takes the lock in the session of a connection. Other tests share the server,
// so the lock is one of the test's own database session.
func gated(t *testing.T, conn *pgxpool.Conn, text string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), text); err != nil {
		t.Fatal(err)
	}
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
		"the webhook's lane":       `SELECT FROM formsvc.destinations x WHERE x.webhook_id = $1 FOR UPDATE`,
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
		for _, p := range []storage.ClaimParams{{}, everything()} { // parks, and serves lanes
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
