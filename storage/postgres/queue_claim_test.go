package postgres

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
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

// The bodies of a claim are read in part, and then the server fails. Each delivery can be
// claimed again at once.
func TestAClaimThatCannotReadEveryBodyReleasesAll(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	for i := range 3 {
		mustSubmit(t, s, response(i))
	}
	all := claimAll(t, s)
	if len(all) != 3 {
		t.Fatalf("claimed %d deliveries, want 3", len(all))
	}
	if _, err := s.FinishDeliveries(t.Context(), conn.ColumnArg(all, func(d *storage.ClaimedDelivery) storage.Result { return storage.Result{Lease: d.Lease} })); err != nil {
		t.Fatal(err)
	}
	unreadable := hex.EncodeToString(all[0].Lease.EventID[:])
	for _, text := range []string{
		`ALTER TABLE formsvc.events RENAME TO bodies`,
		// The other rows come first.
		`CREATE VIEW formsvc.events AS
		SELECT e.ctid, e.id, e.form_id, e.submission_id, e.type, e.refs, e.details, e.detailed,
			CASE WHEN e.id = '\x` + unreadable + `' THEN convert_to((1 / (0 * octet_length(e.body)))::text, 'UTF8') ELSE e.body END AS body
		FROM (SELECT e.ctid, e.* FROM formsvc.bodies e ORDER BY e.id = '\x` + unreadable + `' OFFSET 0) e`,
		// A release changes no event, but the server wants to know how.
		`CREATE FUNCTION formsvc.nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'`,
		`CREATE TRIGGER nothing INSTEAD OF UPDATE OR DELETE ON formsvc.events FOR EACH ROW EXECUTE FUNCTION formsvc.nothing()`,
	} {
		execute(t, pool, s, text)
	}
	if got, _, err := s.ClaimDeliveries(t.Context(), everything()); err == nil || conn.SQLState(err) != "22012" {
		t.Fatalf("ClaimDeliveries = %d deliveries, %v; want a division by zero", len(got), err)
	}
	for _, text := range []string{`DROP VIEW formsvc.events`, `ALTER TABLE formsvc.bodies RENAME TO events`} {
		execute(t, pool, s, text)
	}
	if n := len(claimAll(t, s)); n != 3 {
		t.Errorf("claimed %d deliveries afterwards, want 3", n)
	}
}

// Nothing of ours removes an event and leaves its delivery. One that is there all the same
// ends with the claim that finds it; the others of the claim are delivered.
func TestADeliveryWithoutItsEventEnds(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	for i := range 3 {
		mustSubmit(t, s, response(i))
	}
	lost := pgseed.ID(pgseed.Event, 1)
	execute(t, pool, s, `DELETE FROM formsvc.events WHERE id = $1`, lost[:])
	var log bytes.Buffer
	s.log = slog.New(slog.NewTextHandler(&log, nil))
	if got := claimAll(t, s); len(got) != 2 || got[0].Lease.EventID == lost || got[1].Lease.EventID == lost {
		t.Errorf("claimed %d deliveries, want the two that have their events", len(got))
	}
	wantRows(t, pool, s, 2, "deliveries")
	if !strings.Contains(log.String(), "deliveries=1") {
		t.Errorf("the log says %q, want that one delivery was ended", log.String())
	}
}

// The first try of a claim has more than it brings, and is lost at its end. Somebody else
// claims everything before the second try, which has nothing.
func TestAClaimThatIsTriedAgainForgetsTheFirstTry(t *testing.T) {
	t.Parallel()
	s, pool, p := backlogs(t, 2, 1)
	p.Fast.MaxDeliveries, p.Slow.MaxDeliveries, p.NewOrFailing.MaxDeliveries = 0, 0, 1
	execute(t, pool, s, `CREATE FUNCTION formsvc.fail() RETURNS boolean LANGUAGE plpgsql VOLATILE AS
		'BEGIN RAISE EXCEPTION SQLSTATE ''40001''; END'`)
	tries := 0
	at := s.On(edited{pool, func(text string) string {
		switch {
		case strings.Contains(text, "x.pool = (SELECT $3"):
			if tries++; tries == 2 {
				if others := len(claimAll(t, s)); others != 2 {
					t.Errorf("somebody else claims %d deliveries, want both", others)
				}
			}
		case tries == 1:
			return strings.Replace(text, "t.turn <> ''", s.db.RewriteSQL("formsvc.fail() AND t.turn <> ''"), 1)
		}
		return text
	}})
	if got, more, err := at.ClaimDeliveries(t.Context(), p); err != nil || len(got) > 0 || more || tries < 2 {
		t.Errorf("%d deliveries, more %v, error %v after %d tries; want nothing after 2", len(got), more, err, tries)
	}
}

// backlogs returns a store with webhooks that have as many deliveries each, and parameters
// that claim for all of them.
func backlogs(t *testing.T, webhooks, each int) (*Store, *pgxpool.Pool, storage.ClaimParams) {
	t.Helper()
	s, pool := testStore(t)
	size := pgseed.Size{Forms: webhooks, AnswerBytes: 100, Webhooks: webhooks, Deliveries: webhooks * each}
	must(t, pgseed.Fill(t.Context(), pool, s.db.Schema, size))
	p := everything()
	for i := range webhooks {
		p.Webhooks[pgseed.ID(pgseed.Webhook, i)] = 1000
	}
	for more := true; more; { // all have a turn
		var err error
		if _, more, err = s.ClaimDeliveries(t.Context(), storage.ClaimParams{}); err != nil {
			t.Fatal(err)
		}
	}
	return s, pool, p
}

// Where a claim has bytes for one delivery only, webhooks take turns all the same.
func TestBytesAreSharedInTurns(t *testing.T) {
	t.Parallel()
	s, _, p := backlogs(t, 2, 20)
	p.MaxBytes = 1
	served := map[storage.ID]int{}
	for range 20 {
		claimed, _, err := s.ClaimDeliveries(t.Context(), p)
		if err != nil || len(claimed) != 1 {
			t.Fatalf("%d deliveries are claimed (%v), want 1", len(claimed), err)
		}
		served[claimed[0].Lease.WebhookID]++
	}
	for hook, n := range served {
		expect(t, n == 10, "webhook %s was served %d times of 20", hook, n)
	}
}

// Webhooks that have a turn and nothing to send take the room of a claim. It says that
// another one may bring more: nobody behind them waits for a poll.
func TestAClaimThatRoomWasWastedInSaysSo(t *testing.T) {
	t.Parallel()
	s, pool, p := backlogs(t, 12, 1)
	execute(t, pool, s, `DELETE FROM formsvc.deliveries d
		WHERE d.webhook_id <> (SELECT x.webhook_id FROM formsvc.destinations x ORDER BY x.next_at DESC, x.webhook_id DESC LIMIT 1)`)
	execute(t, pool, s, `UPDATE formsvc.destinations x SET next_at = now() - CASE
		WHEN EXISTS (SELECT FROM formsvc.deliveries d WHERE d.webhook_id = x.webhook_id) THEN interval '1 second' ELSE interval '2 seconds' END`)
	p.NewOrFailing.MaxDeliveries = 3
	for claims := 1; ; claims++ {
		claimed, more, err := s.ClaimDeliveries(t.Context(), p)
		must(t, err)
		if len(claimed) == 1 {
			break
		}
		if !more || claims == 12 {
			t.Fatalf("claim %d brings nothing, and says that more: %v", claims, more)
		}
	}
}

// Arrivals of webhooks that somebody holds do not keep others waiting.
func TestArrivalsOfHeldWebhooksKeepNobodyWaiting(t *testing.T) {
	t.Parallel()
	s, pool, p := backlogs(t, 2, 1)
	held, other := pgseed.ID(pgseed.Webhook, 0), pgseed.ID(pgseed.Webhook, 1)
	execute(t, pool, s, `UPDATE formsvc.destinations SET next_at = NULL`)
	execute(t, pool, s, `INSERT INTO formsvc.arrivals (at, webhook_id)
		SELECT now() - interval '2 seconds', $1::bytea FROM generate_series(1, $2::integer)
		UNION ALL SELECT now() - interval '1 second', $3::bytea`, held[:], 2*maxScheduled, other[:])
	tx := begin(t, pool)
	execute(t, tx, s, `SELECT FROM formsvc.destinations WHERE webhook_id = $1 FOR UPDATE`, held[:])
	for claims := 1; ; claims++ {
		claimed, more, err := s.ClaimDeliveries(t.Context(), p)
		must(t, err)
		if len(claimed) == 1 && claimed[0].Lease.WebhookID == other {
			break
		}
		if claims == 4 {
			t.Fatal("the other webhook is not served")
		}
		expect(t, !more, "a claim that woke nobody says that another one brings more")
	}
}

// turnsOf are the arguments with which a claim looks at the turns of the last pool.
func turnsOf(p storage.ClaimParams, without [][]byte, since any) []any {
	return []any{conn.ObjectArg(p.Webhooks), int64(1), int64(2), int64(10), conn.ObjectArg(p.NewOrFailing.Hosts), without, since, conn.ObjectArg(p.Generations)}
}

// Many webhooks of a host name, or of a workspace, that may have nothing come before another
// one. The first claim passes over them: it reads their rows, and locks and writes none.
func TestWhoMayHaveNothingIsPassedOver(t *testing.T) {
	t.Parallel()
	const webhooks = 1000
	for name, elsewhere := range map[string]string{
		"a host name": `UPDATE formsvc.destinations SET host = CASE WHEN webhook_id = $1 THEN host ELSE 'one.example' END`,
		"a workspace": `WITH elsewhere AS (INSERT INTO formsvc.workspaces (id, public_id, owner_id, name, created_at, updated_at)
				SELECT '\x0102030405060708090a0b0c', 'elsewhere', w.owner_id, 'w', w.created_at, w.created_at FROM formsvc.workspaces w LIMIT 1 RETURNING id)
			UPDATE formsvc.forms f SET workspace_id = (SELECT id FROM elsewhere) WHERE f.id = (SELECT w.form_id FROM formsvc.webhooks w WHERE w.id = $1)`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, pool, p := backlogs(t, webhooks, 1)
			other := pgseed.ID(pgseed.Webhook, webhooks-1)
			execute(t, pool, s, elsewhere, other[:])
			execute(t, pool, s, `UPDATE formsvc.destinations SET next_at = next_at - CASE WHEN webhook_id = $1 THEN interval '0' ELSE interval '1 second' END`, other[:])
			execute(t, pool, s, `ANALYZE formsvc.destinations`)
			p.NewOrFailing = storage.Pool{MaxDeliveries: 10}
			without := [][]byte{}
			if name == "a host name" {
				p.NewOrFailing.Hosts = map[string]int{"one.example": 0}
			} else {
				var workspace storage.ID
				must(t, pool.QueryRow(t.Context(), s.db.RewriteSQL(`SELECT w.workspace_id FROM formsvc.webhooks w WHERE w.id <> $1 LIMIT 1`), other[:]).Scan(&workspace))
				p.NewOrFailing.ExcludedWorkspaces, without = []storage.ID{workspace}, append(without, workspace[:])
			}
			n, err := buffers(t.Context(), pool, s.db.RewriteSQL(lockDueWebhooks), turnsOf(p, without, beginning), true)
			if err != nil || n > 4*webhooks {
				t.Errorf("a claim beside %d that may have nothing reads %d pages (%v)", webhooks-1, n, err)
			}
			claimed, _, err := s.ClaimDeliveries(t.Context(), p)
			if err != nil || len(claimed) != 1 || claimed[0].Lease.WebhookID != other {
				t.Fatalf("%d deliveries are claimed, want that of the other webhook (%v)", len(claimed), err)
			}
		})
	}
}

// A claim that is given up between its statements leases nothing, and what it locked is
// free.
func TestAClaimThatIsCancelledLeasesNothing(t *testing.T) {
	t.Parallel()
	for name, part := range map[string]string{
		"before it takes arrivals":    "WITH come AS",
		"before it locks webhooks":    "x.pool = (SELECT $3",
		"before it leases deliveries": "WITH found AS",
		"before it gives new turns":   ".destinations x SET\n\tnext_at = CASE t.turn",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, pool := seeded(t)
			mustSubmit(t, s, response(1))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			_, _, err := s.On(edited{pool, func(text string) string {
				if strings.Contains(text, part) {
					cancel()
				}
				return text
			}}).ClaimDeliveries(ctx, everything())
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("ClaimDeliveries = %v", err)
			}
			eventually(t, "everything can be claimed", func() bool {
				got, _, err := s.ClaimDeliveries(t.Context(), everything())
				return err == nil && len(got) == 1
			})
		})
	}
}

// In a host's transaction whose statements all see what was there when it began, a claim
// is refused rather than that it forgets what came since.
func TestAClaimInATransactionWithOneSnapshot(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	queueAndWake(t, s, 1)
	tx, err := pool.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	must(t, err)
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	execute(t, tx, s, `SELECT count(*) FROM formsvc.destinations`)
	queueAndWake(t, s, 2)
	if got, _, err := s.On(tx).ClaimDeliveries(t.Context(), everything()); !errors.Is(err, storage.ErrUnavailable) {
		t.Fatalf("ClaimDeliveries = %d deliveries, %v", len(got), err)
	}
	must(t, tx.Rollback(t.Context()))
	if n := len(claimAll(t, s)); n != 2 {
		t.Errorf("%d deliveries are claimed afterwards, want 2", n)
	}
}

// stranded counts the deliveries that nobody would look at in time.
func stranded(t *testing.T, db DB, s *Store) (n int) {
	t.Helper()
	if err := db.QueryRow(t.Context(), s.db.RewriteSQL(`SELECT count(*) FROM formsvc.deliveries d
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
		run(t, keeper, "SELECT "+lock+"($1)", number)
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
	unlocked := func(text string) string { return strings.Replace(text, " FOR NO KEY UPDATE OF x SKIP LOCKED", "", 1) }
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
				check(t, errorOf(pool.Exec(t.Context(), s.db.RewriteSQL(`UPDATE formsvc.webhooks SET enabled = $1`), enabled)))
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
				run(t, pool, s.db.RewriteSQL(test.change))
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
		tx := begin(t, pool)
		execute(t, tx, s, hold, hook[:])
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		for _, p := range []storage.ClaimParams{{}, everything()} { // without room, and with
			p.Lease = time.Millisecond
			got, _, err := s.ClaimDeliveries(ctx, p)
			expect(t, err == nil, "while somebody holds %s: %v", what, err)
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
