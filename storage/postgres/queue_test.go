package postgres

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
)

func count(t *testing.T, pool *pgxpool.Pool, s *Store, table string) int {
	t.Helper()
	var n int
	must(t, pool.QueryRow(t.Context(), s.db.RewriteSQL("SELECT count(*) FROM formsvc."+table)).Scan(&n))
	return n
}

// referencesAreCounted fails the test when an event of the schema counts another
// number of references than there are, or a delivery has no event.
func referencesAreCounted(t *testing.T, db DB, s *Store) {
	t.Helper()
	for what, text := range map[string]string{
		"events that count wrong": `SELECT count(*) FROM formsvc.events e WHERE e.refs <>
			(SELECT count(*) FROM formsvc.deliveries d WHERE d.event_id = e.id) +
			(SELECT count(*) FROM formsvc.attempts a WHERE a.event_id = e.id AND ` + attemptHoldsReference + `)`,
		"deliveries without their event": `SELECT count(*) FROM formsvc.deliveries d WHERE NOT EXISTS (
			SELECT FROM formsvc.events e WHERE e.id = d.event_id)`,
		"deliveries that nobody would ever look at": `SELECT count(*) FROM formsvc.deliveries d
			JOIN formsvc.destinations x ON x.webhook_id = d.webhook_id
			JOIN formsvc.webhooks w ON w.id = d.webhook_id
			WHERE ` + strandedDelivery + ` AND ` + webhookNotDeleted + `
				AND w.form_id IN (SELECT f.id FROM formsvc.forms f WHERE f.trashed_at IS NULL)`,
	} {
		var n int
		if err := db.QueryRow(context.WithoutCancel(t.Context()), s.db.RewriteSQL(text)).Scan(&n); err != nil || n > 0 {
			t.Errorf("%d %s (%v)", n, what, err)
		}
	}
}

// attemptsKeepTheirEvents fails the test when an attempt does not keep its event. It is for
// tests that delete no submission, and make attempts later than those before them.
func attemptsKeepTheirEvents(t *testing.T, db DB, s *Store) {
	t.Helper()
	var n int
	if err := db.QueryRow(t.Context(), s.db.RewriteSQL(`SELECT count(*) FROM formsvc.attempts a
		WHERE NOT EXISTS (SELECT FROM formsvc.deliveries d WHERE d.webhook_id = a.webhook_id AND d.event_id = a.event_id)
			AND NOT EXISTS (SELECT FROM formsvc.attempts b WHERE b.webhook_id = a.webhook_id AND b.event_id = a.event_id AND b.next_attempt_at IS NULL)`,
	)).Scan(&n); err != nil || n > 0 {
		t.Errorf("%d attempts do not keep their events (%v)", n, err)
	}
}

// strandedDelivery is a delivery d of the destination x that waits for a turn which will
// not come.
const strandedDelivery = `d.due_at IS NULL AND (x.next_at IS NULL OR x.next_at > GREATEST(d.leased_until, x.paused_until, now()))
	AND NOT EXISTS (SELECT FROM formsvc.arrivals a WHERE a.webhook_id = d.webhook_id)`

// everything claims what is due, of 1,000 at most.
func everything() storage.ClaimParams {
	return storage.ClaimParams{
		Lease: time.Hour, Fast: storage.Pool{MaxDeliveries: 1000}, Slow: storage.Pool{MaxDeliveries: 1000}, NewOrFailing: storage.Pool{MaxDeliveries: 1000},
		PerWebhook: 1000, Webhooks: map[storage.ID]int{pgseed.ID(pgseed.Webhook, 0): 1000},
	}
}

func claimAll(t *testing.T, s *Store) (all []storage.ClaimedDelivery) {
	t.Helper()
	for {
		got, more, err := s.ClaimDeliveries(t.Context(), everything())
		must(t, err)
		if all = append(all, got...); len(got) == 0 && !more {
			return all
		}
	}
}

func ended(d storage.ClaimedDelivery, number int) storage.Result {
	return storage.Result{Lease: d.Lease, Delivery: &storage.Delivery{
		ID: pgseed.ID(pgseed.Attempt, number), WebhookID: d.Lease.WebhookID, EventID: d.Lease.EventID, EventType: d.EventType,
		SubmissionID: d.SubmissionID, Attempt: d.Attempt, Status: 200, Success: true,
		CreatedAt: pgseed.Start().Add(time.Duration(number) * time.Second),
	}}
}

// waited reports whether somebody waits for a lock of the transaction.
func waited(t *testing.T, pool *pgxpool.Pool, tx pgx.Tx) bool {
	t.Helper()
	var yes bool
	err := pool.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_stat_activity a WHERE $1::integer = ANY (pg_blocking_pids(a.pid)))",
		tx.Conn().PgConn().PID()).Scan(&yes)
	must(t, err)
	return yes
}

// waits begins a call and returns the end of it once it waits for a lock of the transaction.
func waits(t *testing.T, pool *pgxpool.Pool, tx pgx.Tx, call func() error) <-chan error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- call() }()
	eventually(t, "the call waits", func() bool { return waited(t, pool, tx) })
	return done
}

// deliver submits n responses to the first form and ends their deliveries, the
// attempts of which are numbered from first on.
func deliver(t *testing.T, s *Store, first, n int) {
	t.Helper()
	for i := range n {
		mustSubmit(t, s, response(first+i))
	}
	var done []storage.Result
	for i, d := range claimAll(t, s) {
		done = append(done, ended(d, first*10+i))
	}
	finish(t, s, done...)
}

// A body lives as long as the queue or a history refers to it, and no longer.
func TestBodiesGoWithTheHistory(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	for i := range 4 {
		deliver(t, s, 1+i*30, 30)
	}
	referencesAreCounted(t, pool, s)
	must(t, s.truncateHistories(t.Context(), pgseed.ID(pgseed.Webhook, 0)))
	wantRows(t, pool, s, storage.MaxHistory, "attempts", "events")
	referencesAreCounted(t, pool, s)
	must(t, s.DeleteWebhook(t.Context(), storage.AsHost(), pgseed.ID(pgseed.Webhook, 0)))
	wantRows(t, pool, s, 0, "events")
}

// What a fault leaves without a reference is found by Sweep.
func TestSweepFindsForgottenBodies(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	for i := range 30 {
		mustSubmit(t, s, response(i))
	}
	last := pgseed.ID(pgseed.Event, 9)
	for _, text := range []string{"DELETE FROM formsvc.deliveries WHERE event_id > $1", "UPDATE formsvc.events SET refs = 0 WHERE id > $1"} {
		execute(t, pool, s, text, last[:])
	}
	removed := sweepAll(t, s, storage.SweepParams{Max: 1}).Events
	if n := count(t, pool, s, "events"); removed != 20 || n != 10 {
		t.Errorf("%d bodies removed, %d left, want 20 and 10", removed, n)
	}
}

// broughtBack sweeps twice, and returns what the first sweep brought back. The second one has
// nothing more to do.
func broughtBack(t *testing.T, s *Store) int {
	t.Helper()
	n := sweepAll(t, s, storage.SweepParams{Now: time.Now(), Max: 100}).Rescheduled
	if again := sweepAll(t, s, storage.SweepParams{Now: time.Now(), Max: 100}).Rescheduled; again > 0 {
		t.Errorf("another sweep brings %d rows back", again)
	}
	return n
}

// failsOnce claims what is due and lets it fail, with a retry in 10 s and a pause of 30 s.
func failsOnce(t *testing.T, s *Store) {
	t.Helper()
	p := everything()
	p.Lease = 30 * time.Second
	claimed, _, err := s.ClaimDeliveries(t.Context(), p)
	if err != nil || len(claimed) != 1 {
		t.Fatalf("%d deliveries are claimed (%v), want 1", len(claimed), err)
	}
	r := ended(claimed[0], 1)
	r.Delivery.Success, r.RetryIn, r.Health = false, 10*time.Second, storage.Health{Succeeded: true, Failures: 1}
	r.PauseFor, r.PauseReason = 30*time.Second, storage.PauseRetryAfter
	finish(t, s, r)
}

// Each time that lies ahead is brought back, also where nothing else of its row shows by how
// much: then it is farther ahead than any wait of its kind.
func TestTimesThatLieAheadAreBroughtBack(t *testing.T) {
	t.Parallel()
	const (
		alone   = `UPDATE formsvc.deliveries SET queued_at = queued_at - interval '2 minutes'`
		turn    = `UPDATE formsvc.destinations SET next_at = next_at + `
		arrival = `UPDATE formsvc.arrivals SET at = at + `
		lease   = `UPDATE formsvc.deliveries SET leased_until = leased_until + `
		due     = `UPDATE formsvc.deliveries SET due_at = due_at + `
		queued  = `UPDATE formsvc.deliveries SET queued_at = queued_at + `
		pause   = `UPDATE formsvc.destinations SET paused_until = paused_until + `
		failed  = `UPDATE formsvc.destinations SET failing_since = failing_since + interval '1 hour', failed_at = failed_at + interval '1 hour'`
		ready   = `UPDATE formsvc.deliveries SET due_at = NULL`
		hour    = `interval '1 hour'`
		years   = `interval '3 years'`
	)
	woken := func(t *testing.T, s *Store) {
		must(t, lastError(s.ClaimDeliveries(t.Context(), storage.ClaimParams{})))
	}
	leased := func(t *testing.T, s *Store) {
		p := everything()
		p.Lease = 30 * time.Second
		if claimed, _, err := s.ClaimDeliveries(t.Context(), p); err != nil || len(claimed) != 1 {
			t.Fatalf("%d deliveries are claimed (%v), want 1", len(claimed), err)
		}
	}
	for name, c := range map[string]struct {
		state func(*testing.T, *Store)
		ahead []string
	}{
		"an arrival":                 {nil, []string{arrival + hour}},
		"an arrival, by years":       {nil, []string{arrival + years}},
		"a turn":                     {woken, []string{alone, turn + hour}},
		"a turn, by years":           {woken, []string{alone, turn + years}},
		"a turn and its delivery":    {woken, []string{queued + hour, turn + hour}},
		"a lease":                    {leased, []string{queued + hour, lease + hour, turn + hour}},
		"a lease alone, by years":    {leased, []string{alone, lease + years, turn + years}},
		"an attempt":                 {failsOnce, []string{queued + hour, due + hour}},
		"an attempt alone, by years": {failsOnce, []string{due + years}},
		"a pause":                    {failsOnce, []string{ready, failed, pause + hour, turn + hour}},
		"a pause alone, by years":    {failsOnce, []string{ready, pause + years}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, pool := seeded(t)
			mustSubmit(t, s, response(1))
			if c.state != nil {
				c.state(t, s)
			}
			for _, text := range c.ahead {
				execute(t, pool, s, text)
			}
			if c.ahead[0] == ready { // the attempt waits for the end of the pause
				execute(t, pool, s, `INSERT INTO formsvc.arrivals (webhook_id) SELECT d.webhook_id FROM formsvc.deliveries d`)
			}
			over := s.On(clockAt(pool, "40 seconds")) // leases and pauses
			if n := claimEach(t, over); n > 0 {
				t.Fatal("the delivery is claimed before the sweep: the test sees nothing")
			}
			if n := broughtBack(t, s); n == 0 {
				t.Error("the sweep brings nothing back")
			}
			if n := claimEach(t, over); n != 1 {
				t.Errorf("%d deliveries are claimed after the sweep, want 1", n)
			}
		})
	}
}

// The longest waits that there are stay as they are.
func TestLegalWaitsAreNotBroughtBack(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a pause of a day":      `UPDATE formsvc.destinations SET paused_until = now() + interval '1 day', next_at = now() + interval '1 day'`,
		"an attempt in 60 days": `UPDATE formsvc.deliveries SET due_at = now() + interval '60 days'`,
		"a lease of two hours": `WITH x AS (UPDATE formsvc.destinations SET next_at = now() + interval '2 hours')
			UPDATE formsvc.deliveries SET due_at = NULL, leased_until = now() + interval '2 hours'`,
		"a first delivery for a webhook that waits for the end of a lease": `UPDATE formsvc.destinations
			SET next_at = now() + interval '2 hours', paused_until = NULL, pause_reason = NULL`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, pool := seeded(t)
			mustSubmit(t, s, response(1))
			failsOnce(t, s)
			execute(t, pool, s, text)
			mustSubmit(t, s, response(2))
			if n := broughtBack(t, s); n != 0 {
				t.Errorf("the sweep brings %d rows back", n)
			}
		})
	}
}

// A sweep waits for nobody: what somebody holds is for the next one.
func TestASweepOfTimesWaitsForNobody(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	mustSubmit(t, s, response(1))
	failsOnce(t, s)
	mustSubmit(t, s, response(2))
	execute(t, pool, s, `UPDATE formsvc.arrivals SET at = at + interval '1 hour'`)
	execute(t, pool, s, `UPDATE formsvc.deliveries SET due_at = due_at + interval '1 year'`)
	execute(t, pool, s, `UPDATE formsvc.destinations SET paused_until = paused_until + interval '1 year'`)
	tx := begin(t, pool)
	for _, table := range []string{"arrivals", "deliveries", "destinations"} {
		execute(t, tx, s, `SELECT FROM formsvc.`+table+` FOR UPDATE`)
	}
	if n := broughtBack(t, s); n != 0 {
		t.Errorf("the sweep brings %d rows back that somebody holds", n)
	}
	must(t, tx.Rollback(t.Context()))
	if n := broughtBack(t, s); n != 3 {
		t.Errorf("the sweep brings %d rows back, want 3", n)
	}
	if n := count(t, pool, s, "destinations WHERE webhook_id = '\\x"+pgseed.ID(pgseed.Webhook, 0).String()+"' AND paused_until > now() + interval '1 day'"); n != 0 {
		t.Error("the pause is as long as before")
	}
}

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
	since := s.pollPosition.Load()
	read := func(l *pollPosition, generic bool) map[string]int64 {
		t.Helper()
		p := everything()
		found := map[string]int64{}
		for name, statement := range map[string]struct {
			text string
			args []any
		}{
			"a poll":             {pollQueue, []any{l.arrivals, l.due, l.webhooks}},
			"a claim's arrivals": {scheduleWebhooks, []any{l.arrivals, l.due, int64(maxScheduled)}},
			"a claim's turns":    {lockDueWebhooks, turnsOf(p, [][]byte{}, l.webhooks)},
		} {
			n, err := buffers(t.Context(), pool, timeAt(s.db.RewriteSQL(statement.text), later), statement.args, generic)
			if err != nil {
				t.Fatal(name, err)
			}
			found[name] = n
		}
		return found
	}
	for _, generic := range []bool{false, true} {
		all, few := read(&pollPosition{arrivals: beginning, due: beginning, webhooks: beginning}, generic), read(since, generic)
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
			s.pollPosition.Load().fullPollAt = time.Now().Add(-fullPollInterval)
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
	must(t, lastError(s.ClaimDeliveries(t.Context(), storage.ClaimParams{})))
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
	s.pollPosition.Store(nil)
	must(t, lastError(s.ClaimDeliveries(t.Context(), storage.ClaimParams{})))
	execute(t, pool, s, quick, turned[:])
	if n := claimEach(t, s); n != 2 {
		t.Errorf("%d deliveries are claimed, want 2", n)
	}
}

// A full queue is emptied by claims one after the other, however long it has waited.
func TestABacklogOfArrivalsIsTakenInARow(t *testing.T) {
	t.Parallel()
	const webhooks = maxScheduled + 100
	pool := pgtest.Pool(t)
	s := New(pool, WithSchema(filled(t, pool, pgseed.Size{Forms: webhooks, AnswerBytes: 100, Webhooks: webhooks, Deliveries: webhooks})))
	execute(t, pool, s, `UPDATE formsvc.arrivals SET at = at - interval '1 hour'`)
	if n := claimEach(t, s); n != webhooks {
		t.Errorf("%d deliveries are claimed, want %d", n, webhooks)
	}
}

// failing is a webhook that has failed for an hour and is paused, with three deliveries
// of that age.
type failing struct {
	hook   storage.ID
	first  storage.Delivery        // in the history; its delivery waits
	leased storage.ClaimedDelivery // to be finished; the third one waits like the first
}

func failingWebhook(t *testing.T, s *Store, pool *pgxpool.Pool) failing {
	t.Helper()
	for i := range 3 {
		mustSubmit(t, s, response(i))
	}
	got := claimAll(t, s)
	if len(got) != 3 {
		t.Fatalf("claimed %d deliveries, want 3", len(got))
	}
	failed := ended(got[0], 0)
	failed.Delivery.Success, failed.RetryIn = false, time.Microsecond
	failed.Health, failed.PauseFor = storage.Health{Failures: 10}, time.Hour
	finish(t, s, failed, storage.Result{Lease: got[2].Lease})
	if early := claimAll(t, s); len(early) > 0 { // its time has come, but not its turn
		t.Fatalf("claimed %d deliveries in the pause", len(early))
	}
	for _, text := range []string{
		`UPDATE formsvc.deliveries SET queued_at = queued_at - interval '1 hour'`,
		`UPDATE formsvc.destinations SET failing_since = failing_since - interval '1 hour' WHERE failing_since IS NOT NULL`,
	} {
		execute(t, pool, s, text)
	}
	return failing{hook: got[0].Lease.WebhookID, first: *failed.Delivery, leased: got[1]}
}

func expireParams() storage.ExpireParams {
	n := 1_000
	return storage.ExpireParams{MaxAge: 30 * time.Minute, Max: 100, At: time.Now(), NewID: func() storage.ID {
		n++
		return pgseed.ID(pgseed.Attempt, n)
	}}
}

// What expires is found before it is locked. Whatever changes in between is not lost.
func TestADeliveryThatChangesWhileItExpires(t *testing.T) {
	t.Parallel()
	elsewhere := "https://elsewhere.example/"
	for name, test := range map[string]struct {
		change      func(t *testing.T, s *Store, tx pgx.Tx, f failing) error
		ended, left int
	}{
		"nothing changes": {func(t *testing.T, s *Store, tx pgx.Tx, f failing) error {
			_, err := tx.Exec(t.Context(), s.db.RewriteSQL(`SELECT FROM formsvc.deliveries FOR UPDATE`))
			return err
		}, 2, 1},
		"it is redelivered": {func(t *testing.T, s *Store, tx pgx.Tx, f failing) error {
			return s.On(tx).Redeliver(t.Context(), f.hook, f.first.ID)
		}, 1, 2},
		"it is redelivered and fails once more": {func(t *testing.T, s *Store, tx pgx.Tx, f failing) error {
			if err := s.On(tx).Redeliver(t.Context(), f.hook, f.first.ID); err != nil {
				return err
			}
			_, err := tx.Exec(t.Context(), s.db.RewriteSQL(`UPDATE formsvc.deliveries SET urgency = 0`))
			return err
		}, 1, 2},
		"its webhook gets a new URL": {func(t *testing.T, s *Store, tx pgx.Tx, f failing) error {
			_, err := s.On(tx).UpdateWebhook(t.Context(), storage.AsHost(), f.hook, storage.WebhookChange{URL: &elsewhere, At: time.Now()})
			return err
		}, 0, 3},
		"another one succeeds": {func(t *testing.T, s *Store, tx pgx.Tx, f failing) error {
			r := ended(f.leased, 1)
			r.Health = storage.Health{Succeeded: true}
			_, err := s.On(tx).FinishDeliveries(t.Context(), []storage.Result{r})
			return err
		}, 0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, pool := seeded(t)
			f := failingWebhook(t, s, pool)
			tx := begin(t, pool)
			must(t, test.change(t, s, tx, f))
			var got storage.Expired
			done := waits(t, pool, tx, func() (err error) {
				got, err = s.ExpireDeliveries(context.WithoutCancel(t.Context()), expireParams())
				return err
			})
			must(t, tx.Commit(t.Context()))
			must(t, <-done)
			if got.Deliveries != test.ended || len(got.Summaries) != min(test.ended, 1) {
				t.Errorf("%d deliveries ended with %d summaries, want %d", got.Deliveries, len(got.Summaries), test.ended)
			}
			wantRows(t, pool, s, test.left, "deliveries")
			referencesAreCounted(t, pool, s)
			attemptsKeepTheirEvents(t, pool, s)
		})
	}
}
