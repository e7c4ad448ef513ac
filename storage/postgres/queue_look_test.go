package postgres

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
)

// at is a DB whose clock is off by an interval in our statements.
type at struct{ edited }

func clockAt(db DB, interval string) at {
	return at{edited{db, func(text string) string { return timeAt(text, interval) }}}
}

func timeAt(text, interval string) string {
	return strings.ReplaceAll(text, "statement_timestamp()", "(statement_timestamp() + interval '"+interval+"')")
}

func (a at) Query(ctx context.Context, text string, args ...any) (pgx.Rows, error) {
	return a.DB.Query(ctx, a.edit(text), args...)
}

// claimEach claims until nothing more comes, and returns how many deliveries came.
func claimEach(t *testing.T, s *Store) (n int) {
	t.Helper()
	for {
		claimed, more, err := s.ClaimDeliveries(t.Context(), everything())
		must(t, err)
		n += len(claimed)
		if !more && len(claimed) == 0 {
			return n
		}
	}
}

// Somebody holds a snapshot while deliveries come and go. A minute later a look passes
// nothing of what they left in the indexes.
func TestALookBesideAHeldSnapshot(t *testing.T) {
	t.Parallel()
	const webhooks, rounds = 300, 8
	pool := pgtest.Pool(t)
	s := New(pool, WithSchema(filled(t, pool, pgseed.Size{Forms: webhooks, AnswerBytes: 100, Webhooks: webhooks, Deliveries: webhooks})))
	tx, err := pgtest.Pool(t, pgtest.MaxConns(1)).BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	must(t, err)
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	execute(t, tx, s, `SELECT FROM formsvc.arrivals`)
	for range rounds {
		execute(t, pool, s, `WITH a AS (INSERT INTO formsvc.arrivals (webhook_id) SELECT x.webhook_id FROM formsvc.destinations x)
			UPDATE formsvc.deliveries SET leased_until = NULL, due_at = statement_timestamp()`)
		if n := claimEach(t, s); n != webhooks {
			t.Fatalf("%d deliveries are claimed, want %d", n, webhooks)
		}
	}

	const later = "2 minutes"
	polled := s.On(clockAt(pool, later))
	if n := claimEach(t, polled); n > 0 {
		t.Fatalf("%d deliveries are claimed, want none", n)
	}
	since := s.looked.Load()
	read := func(l *looked, generic bool) map[string]int64 {
		t.Helper()
		p := everything()
		found := map[string]int64{}
		for name, statement := range map[string]struct {
			text string
			args []any
		}{
			"a poll":             {dueNow, []any{l.arrivals, l.due, l.turns}},
			"a claim's arrivals": {wake, []any{l.arrivals, l.due, int64(wakeAtOnce)}},
			"a claim's turns":    {dueTurns, turnsOf(p, [][]byte{}, l.turns)},
		} {
			n, err := buffers(t.Context(), pool, timeAt(s.db.SQL(statement.text), later), statement.args, generic)
			if err != nil {
				t.Fatal(name, err)
			}
			found[name] = n
		}
		return found
	}
	for _, generic := range []bool{false, true} {
		all, few := read(&looked{arrivals: ever, due: ever, turns: ever}, generic), read(since, generic)
		for name, n := range few {
			t.Logf("%s, generic %v: %d pages, %d for everything", name, generic, n, all[name])
			if n > 30 {
				t.Errorf("%s, generic %v, reads %d pages beside a held snapshot", name, generic, n)
			}
			if all[name] < 60 {
				t.Errorf("%s, generic %v, reads %d pages when it looks at everything: the test sees nothing", name, generic, all[name])
			}
		}
	}
}

// A transaction that was open for 90 s commits an arrival: it is found at the next look at
// everything, within a minute, and served at once. One that was open for less than a minute
// is found by the next look.
func TestWhatIsCommittedLateIsFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		open  string
		first int
	}{"after 90 s": {"90 seconds", 0}, "after 50 s": {"50 seconds", 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, pool := seeded(t)
			tx := begin(t, pool)
			mustSubmit(t, s.On(tx), response(1))
			execute(t, tx, s, `UPDATE formsvc.arrivals SET at = at - $1::interval`, c.open)
			if n := claimEach(t, s); n != 0 {
				t.Fatalf("%d deliveries are claimed before the commit", n)
			}
			must(t, tx.Commit(t.Context()))
			if n := claimEach(t, s); n != c.first {
				t.Errorf("the next looks find %d deliveries, want %d", n, c.first)
			}
			s.looked.Load().all = time.Now().Add(-lookAgain)
			if n := claimEach(t, s); n != 1-c.first {
				t.Errorf("a look at everything finds %d deliveries, want %d", n, 1-c.first)
			}
		})
	}
}

// A claim finds what was committed late, and has no room for it. Another process, which does
// not look at everything now, serves it.
func TestATurnThatComesLateIsSeenByOthers(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	other := New(pool, WithSchema(s.db.Schema))
	if n := claimEach(t, other); n != 0 {
		t.Fatalf("%d deliveries are claimed, want none", n)
	}
	mustSubmit(t, s, response(1))
	execute(t, pool, s, `UPDATE formsvc.arrivals SET at = at - interval '10 minutes'`)
	if _, _, err := s.ClaimDeliveries(t.Context(), storage.ClaimParams{}); err != nil {
		t.Fatal(err)
	}
	if n := claimEach(t, other); n != 1 {
		t.Errorf("%d deliveries are claimed by another process, want 1", n)
	}
}

// A webhook that has waited long for room changes its pool: its turn is found there.
func TestAnOldTurnInAnotherPool(t *testing.T) {
	t.Parallel()
	s, pool, _ := backlogs(t, 2, 1)
	turned, quick := pgseed.ID(pgseed.Webhook, 0), `UPDATE formsvc.destinations SET succeeded = true, failures = 0, slow_for = 0 WHERE webhook_id = $1`
	execute(t, pool, s, `UPDATE formsvc.destinations SET succeeded = false, next_at = CASE WHEN webhook_id = $1 THEN next_at - interval '10 minutes' ELSE next_at END`, turned[:])
	other := pgseed.ID(pgseed.Webhook, 1)
	execute(t, pool, s, quick, other[:])
	s.looked.Store(nil)
	if _, _, err := s.ClaimDeliveries(t.Context(), storage.ClaimParams{}); err != nil {
		t.Fatal(err)
	}
	execute(t, pool, s, quick, turned[:])
	if n := claimEach(t, s); n != 2 {
		t.Errorf("%d deliveries are claimed, want 2", n)
	}
}

// A full queue is emptied by claims one after the other, however long it has waited.
func TestABacklogOfArrivalsIsTakenInARow(t *testing.T) {
	t.Parallel()
	const webhooks = wakeAtOnce + 100
	pool := pgtest.Pool(t)
	s := New(pool, WithSchema(filled(t, pool, pgseed.Size{Forms: webhooks, AnswerBytes: 100, Webhooks: webhooks, Deliveries: webhooks})))
	execute(t, pool, s, `UPDATE formsvc.arrivals SET at = at - interval '1 hour'`)
	if n := claimEach(t, s); n != webhooks {
		t.Errorf("%d deliveries are claimed, want %d", n, webhooks)
	}
}
