package postgres

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// stranded counts the deliveries that nobody would look at in time.
func stranded(t *testing.T, db DB, s *Store) (n int) {
	t.Helper()
	if err := db.QueryRow(t.Context(), s.db.SQL(`SELECT count(*) FROM formsvc.deliveries d
		JOIN formsvc.destinations x ON x.webhook_id = d.webhook_id
		WHERE `+strandedDelivery)).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// edited is a DB that runs other statements than it is given. They wait for a lock for as long
// as it is held: a claim that goes back from a test's gate and tries again would see what has
// happened in the meantime.
type edited struct {
	DB
	edit func(text string) string
}

func (e edited) Begin(ctx context.Context) (pgx.Tx, error) {
	tx, err := e.DB.Begin(ctx)
	return editedTx{tx, e.edit}, err
}

type editedTx struct {
	pgx.Tx
	edit func(text string) string
}

func (e editedTx) Query(ctx context.Context, text string, args ...any) (pgx.Rows, error) {
	return e.Tx.Query(ctx, e.edit(text), args...)
}

func (e editedTx) Exec(ctx context.Context, text string, args ...any) (pgconn.CommandTag, error) {
	return e.Tx.Exec(ctx, e.edit(strings.Replace(text, conn.LockTimeoutSet, `set_config('lock_timeout', '0', true)`, 1)), args...)
}

// claimAtGate claims, lets somebody do something once a statement of the claim has its
// snapshot and before it locks or changes a row, and returns what is claimed. The statement
// is the one with this condition. Tests share a database, and so its locks: each has a
// number of its own.
func claimAtGate(t *testing.T, s *Store, pool *pgxpool.Pool, number int, condition string, edit func(string) string, meanwhile func()) []storage.ClaimedDelivery {
	t.Helper()
	gated := false
	at := s.On(edited{pool, func(text string) string {
		with := strings.Replace(edit(text), condition, fmt.Sprintf("(SELECT pg_advisory_xact_lock_shared(%d)) IS NOT NULL AND %s", number, condition), 1)
		gated = gated || with != edit(text)
		return with
	}})
	keeper, err := pool.Acquire(t.Context())
	must(t, err)
	defer keeper.Release()
	hold := func(lock string) {
		t.Helper()
		if _, err := keeper.Exec(t.Context(), "SELECT "+lock+"($1)", number); err != nil {
			t.Fatal(err)
		}
	}
	hold("pg_advisory_lock")
	var claimed []storage.ClaimedDelivery
	done := make(chan error, 1)
	go func() {
		var err error
		claimed, _, err = at.ClaimDeliveries(context.WithoutCancel(t.Context()), everything())
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
	must(t, <-done)
	if !gated {
		t.Fatal("the statement has changed, and this test did not")
	}
	return claimed
}

// queueAndWake submits a response, and claims without room, which gives its webhook a turn.
func queueAndWake(t *testing.T, s *Store, number int) {
	t.Helper()
	mustSubmit(t, s, response(number))
	if got, _, err := s.ClaimDeliveries(t.Context(), storage.ClaimParams{}); err != nil || len(got) > 0 {
		t.Fatal(len(got), err)
	}
}

// Something is queued for a webhook while it is served. The claim must not take the turn
// away. The mutant does not lock the webhook's row before it looks what waits.
func TestNothingIsStrandedWhileAWebhookIsServed(t *testing.T) {
	t.Parallel()
	asItIs := func(text string) string { return text }
	unlocked := func(text string) string {
		return strings.Replace(text, " FOR NO KEY UPDATE OF x SKIP LOCKED", "", 1)
	}
	for name, c := range map[string]struct {
		number    int
		condition string
		edit      func(string) string
		want      int
	}{
		"before its row is locked":         {4711, "COALESCE(($5", asItIs, 0},
		"before its deliveries are leased": {4712, "d.webhook_id = t.webhook_id", asItIs, 0},
		"before it gets its next turn":     {4713, "x.webhook_id = t.webhook_id", asItIs, 0},
		"a mutant, before its next turn":   {4714, "x.webhook_id = t.webhook_id", unlocked, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, pool := seeded(t)
			queueAndWake(t, s, 1)
			claimed := claimAtGate(t, s, pool, c.number, c.condition, c.edit, func() { queueAndWake(t, s, 2) })
			if n := stranded(t, pool, s); n != c.want {
				t.Errorf("%d deliveries are stranded, want %d", n, c.want)
			}
			if n := len(claimed) + len(claimAll(t, s)); n != 2-c.want {
				t.Errorf("%d deliveries are claimed, want %d", n, 2-c.want)
			}
		})
	}
}

// A webhook gets another URL before the claim locks it. Nothing goes to the earlier one
// under a lease that counts for the new one.
func TestAWebhookThatGetsAnotherURLWhileItIsServed(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	queueAndWake(t, s, 1)
	url := "https://new.example/"
	asItIs := func(text string) string { return text }
	claimed := claimAtGate(t, s, pool, 4731, "COALESCE(($5", asItIs, func() {
		if _, err := s.UpdateWebhook(t.Context(), storage.AsHost(), pgseed.ID(pgseed.Webhook, 0), storage.WebhookChange{URL: &url, At: pgseed.Start()}); err != nil {
			t.Error(err)
		}
	})
	for _, d := range append(claimed, claimAll(t, s)...) {
		if (d.URL == url) != (d.Generation == 1) || d.URL == url && d.Host != "new.example" {
			t.Errorf("a delivery to %q has host name %q and generation %d", d.URL, d.Host, d.Generation)
		}
	}
}

// A webhook is enabled, and something is queued for it, before a claim locks it that has
// seen it disabled. The claim must not take its turn away.
func TestAWebhookThatIsEnabledWhileItIsServed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		number int
		edit   func(string) string
		want   int
	}{
		"as it is": {4733, func(text string) string { return text }, 0},
		"a mutant": {4734, func(text string) string { // goes by what the claim saw before it locked the row
			return strings.Replace(text, "w.enabled AND", "false AND", 1)
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, pool := seeded(t)
			queueAndWake(t, s, 1)
			set := func(enabled bool) {
				t.Helper()
				if _, err := pool.Exec(t.Context(), s.db.SQL(`UPDATE formsvc.webhooks SET enabled = $1`), enabled); err != nil {
					t.Error(err)
				}
			}
			set(false)
			claimAtGate(t, s, pool, test.number, "COALESCE(($5", test.edit, func() {
				set(true)
				// Another claim takes the arrival, and writes the row that this one locks.
				queueAndWake(t, s, 2)
			})
			if n := stranded(t, pool, s); (n > 0) != (test.want > 0) {
				t.Errorf("%d deliveries are stranded", n)
			}
		})
	}
}

// A delivery that changes after the claim's snapshot and before its lock is served by a
// later claim, if it is still to be served.
func TestADeliveryThatChangesWhileItIsServed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change string
		number int
		later  int // how many a later claim serves
	}{
		"it is leased":        {`UPDATE formsvc.deliveries SET leased_until = now() + interval '1 hour', token = 4711`, 4715, 0},
		"it is due later":     {`UPDATE formsvc.deliveries SET due_at = now() + interval '1 hour'`, 4716, 0},
		"it is asked for":     {`UPDATE formsvc.deliveries SET urgency = 1`, 4717, 1},
		"it has ended":        {`WITH e AS (DELETE FROM formsvc.events) DELETE FROM formsvc.deliveries`, 4718, 0},
		"nothing has changed": {`SELECT 1`, 4719, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, pool := seeded(t)
			queueAndWake(t, s, 1)
			asItIs := func(text string) string { return text }
			claimed := claimAtGate(t, s, pool, test.number, "d.webhook_id = t.webhook_id", asItIs, func() {
				if _, err := pool.Exec(t.Context(), s.db.SQL(test.change)); err != nil {
					t.Fatal(err)
				}
			})
			if unchanged := name == "nothing has changed"; (len(claimed) == 1) != unchanged {
				t.Errorf("%d deliveries are claimed", len(claimed))
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
		mustSubmit(t, s, response(number))
	}
	submit(1)
	first := claimAll(t, s)[0]
	submit(2)
	tx := begin(t, pool)
	finish(t, s.On(tx), ended(first, 1))
	if got := claimAll(t, s); len(got) != 1 {
		t.Errorf("%d deliveries are claimed while results are recorded, want 1", len(got))
	}
	must(t, tx.Commit(t.Context()))
	referencesAreCounted(t, pool, s)
}

// A claim waits for nobody: what others hold is passed over and comes later.
func TestAClaimWaitsForNobody(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	for i := range 3 {
		mustSubmit(t, s, response(i))
	}
	hook := pgseed.ID(pgseed.Webhook, 0)
	for what, hold := range map[string]string{
		"the webhook's turn":       `SELECT FROM formsvc.destinations x WHERE x.webhook_id = $1 FOR UPDATE`,
		"the webhook":              `SELECT FROM formsvc.webhooks w WHERE w.id = $1 FOR UPDATE`,
		"the webhook's deliveries": `SELECT FROM formsvc.deliveries d WHERE d.webhook_id = $1 FOR UPDATE`,
	} {
		tx, err := pool.Begin(t.Context())
		must(t, err)
		execute(t, tx, s, hold, hook[:])
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
		must(t, tx.Rollback(t.Context()))
		cancel()
	}
	claimed := 0
	eventually(t, "everything is claimed once nobody holds it", func() bool {
		claimed += len(claimAll(t, s))
		return claimed == 3
	})
}
