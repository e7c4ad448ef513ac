package postgres

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/internal/pgseed"
	"github.com/formsvc/formsvc/internal/pgtest"
	"github.com/formsvc/formsvc/storage"
)

func count(t *testing.T, pool *pgxpool.Pool, s *Store, table string) int {
	t.Helper()
	var n int
	if err := pool.QueryRow(t.Context(), s.sql("SELECT count(*) FROM formsvc."+table)).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// referencesAreCounted fails the test when an event of the schema counts another
// number of references than there are, or a delivery has no event.
func referencesAreCounted(t *testing.T, db DB, s *Store) {
	t.Helper()
	for what, text := range map[string]string{
		"events that count wrong": `SELECT count(*) FROM formsvc.events e WHERE e.refs <>
			(SELECT count(*) FROM formsvc.deliveries d WHERE d.event_id = e.id) +
			(SELECT count(*) FROM formsvc.attempts a WHERE a.event_id = e.id)`,
		"deliveries without their event": `SELECT count(*) FROM formsvc.deliveries d WHERE NOT EXISTS (
			SELECT FROM formsvc.events e WHERE e.id = d.event_id)`,
	} {
		var n int
		if err := db.QueryRow(context.WithoutCancel(t.Context()), s.sql(text)).Scan(&n); err != nil || n > 0 {
			t.Errorf("%d %s (%v)", n, what, err)
		}
	}
}

func claimAll(t *testing.T, s *Store) []storage.Delivery {
	t.Helper()
	got, err := s.ClaimDeliveries(t.Context(), storage.ClaimParams{
		Now: pgseed.Start().AddDate(1, 0, 0), Lease: time.Hour, Max: 1000, PerWebhook: 1000,
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func ended(d storage.Delivery, number int) storage.Result {
	return storage.Result{Lease: d.Lease, Attempt: &storage.Attempt{
		ID: pgseed.ID(pgseed.Attempt, number), WebhookID: d.Lease.WebhookID, EventID: d.Lease.EventID, EventType: d.EventType,
		SubmissionID: d.SubmissionID, Attempt: d.Attempt, Status: 200, Success: true,
		CreatedAt: pgseed.Start().Add(time.Duration(number) * time.Second),
	}}
}

// A body lives as long as the queue or a history refers to it, and no longer.
func TestBodiesGoWithTheHistory(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	for i := range 5 {
		if _, _, err := s.Submit(t.Context(), response(i)); err != nil {
			t.Fatal(err)
		}
	}
	for i, d := range claimAll(t, s) {
		if fenced, err := s.FinishDeliveries(t.Context(), []storage.Result{ended(d, i)}, 2); err != nil || len(fenced) > 0 {
			t.Fatal(fenced, err)
		}
	}
	if n := count(t, pool, s, "attempts"); n != 2 {
		t.Errorf("%d attempts, want 2", n)
	}
	if n := count(t, pool, s, "events"); n != 2 {
		t.Errorf("%d bodies, want 2", n)
	}
	if err := s.DeleteWebhook(t.Context(), storage.AsHost(), pgseed.ID(pgseed.Webhook, 0)); err != nil {
		t.Fatal(err)
	}
	if n := count(t, pool, s, "events"); n != 0 {
		t.Errorf("%d bodies after the only webhook went, want none", n)
	}
}

// Redeliver and the cut of the history meet at the event: whichever comes first,
// no delivery is left without its body.
func TestRedeliverBesideTheCutOfTheHistory(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	host := storage.AsHost()
	for i := range 2 {
		if _, _, err := s.Submit(t.Context(), response(i)); err != nil {
			t.Fatal(err)
		}
	}
	claimed := claimAll(t, s)
	first := ended(claimed[0], 0)
	if _, err := s.FinishDeliveries(t.Context(), []storage.Result{first}, 1); err != nil {
		t.Fatal(err)
	}
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	if err := s.On(tx).Redeliver(t.Context(), first.Lease.WebhookID, first.Attempt.ID, pgseed.Start()); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { // cuts the attempt, and would drop the event
		_, err := s.FinishDeliveries(context.WithoutCancel(t.Context()), []storage.Result{ended(claimed[1], 1)}, 1)
		done <- err
	}()
	eventually(t, "FinishDeliveries waits for the event", func() bool { return waited(t, pool, tx) })
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	got := claimAll(t, s)
	if len(got) != 1 || string(got[0].Body) != `{}` {
		t.Errorf("claimed %d deliveries after the redelivery, want one with its body", len(got))
	}
	if attempts, err := s.Attempts(t.Context(), host, first.Lease.WebhookID, 9); err != nil || len(attempts) != 1 {
		t.Errorf("%d attempts, %v", len(attempts), err)
	}
	referencesAreCounted(t, pool, s)
}

// Whoever records a result holds the row of its webhook for a while. The webhook's
// turn counts all the same, else it would come first again and again.
func TestATurnCountsWhileAResultIsRecorded(t *testing.T) {
	t.Parallel()
	s, pool := testStore(t)
	if err := pgseed.Fill(t.Context(), pool, s.schema, pgseed.Size{Forms: 1, AnswerBytes: 100, Webhooks: 2}); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if _, _, err := s.Submit(t.Context(), response(i)); err != nil {
			t.Fatal(err)
		}
	}
	claimOne := func() storage.Delivery {
		t.Helper()
		got, err := s.ClaimDeliveries(t.Context(), storage.ClaimParams{
			Now: pgseed.Start().AddDate(1, 0, 0), Lease: time.Hour, Max: 1, PerWebhook: 9,
		})
		if err != nil || len(got) != 1 {
			t.Fatal(len(got), err)
		}
		return got[0]
	}
	first, second := claimOne(), claimOne()
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	for i, d := range []storage.Delivery{first, second} {
		if _, err := s.On(tx).FinishDeliveries(t.Context(), []storage.Result{ended(d, i)}, 100); err != nil {
			t.Fatal(err)
		}
	}
	if a, b := claimOne().Lease.WebhookID, claimOne().Lease.WebhookID; a != first.Lease.WebhookID || b != second.Lease.WebhookID {
		t.Error("one webhook was served twice in a row")
	}
}

// The last two attempts of an event are cut at the same time. Neither call can
// remove the event, and a sweep does.
func TestTheLastReferencesGoAtOnce(t *testing.T) {
	t.Parallel()
	s, pool := testStore(t)
	if err := pgseed.Fill(t.Context(), pool, s.schema, pgseed.Size{Forms: 1, AnswerBytes: 100, Webhooks: 2}); err != nil {
		t.Fatal(err)
	}
	var later []storage.Delivery
	for i := range 2 {
		if _, _, err := s.Submit(t.Context(), response(i)); err != nil {
			t.Fatal(err)
		}
		later = claimAll(t, s)
		if len(later) != 2 {
			t.Fatalf("claimed %d deliveries, want 2", len(later))
		}
		if i == 0 {
			for n, d := range later {
				if _, err := s.FinishDeliveries(t.Context(), []storage.Result{ended(d, n)}, 1); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	if _, err := s.On(tx).FinishDeliveries(t.Context(), []storage.Result{ended(later[0], 2)}, 1); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := s.FinishDeliveries(context.WithoutCancel(t.Context()), []storage.Result{ended(later[1], 3)}, 1)
		done <- err
	}()
	eventually(t, "the other one waits for the event", func() bool { return waited(t, pool, tx) })
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	referencesAreCounted(t, pool, s)
	swept, err := s.Sweep(t.Context(), storage.SweepParams{Max: 10})
	if err != nil || swept.Events != 1 {
		t.Errorf("%d bodies are swept, %v, want 1", swept.Events, err)
	}
	if n := count(t, pool, s, "events"); n != 1 {
		t.Errorf("%d bodies are left, want 1", n)
	}
}

// waited reports whether somebody waits for a lock of the transaction.
func waited(t *testing.T, pool *pgxpool.Pool, tx pgx.Tx) bool {
	t.Helper()
	var yes bool
	err := pool.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_stat_activity a WHERE $1::integer = ANY (pg_blocking_pids(a.pid)))",
		tx.Conn().PgConn().PID()).Scan(&yes)
	if err != nil {
		t.Fatal(err)
	}
	return yes
}

// What no call could drop because of another one is found by Sweep.
func TestSweepFindsForgottenBodies(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	for i := range 30 {
		if _, _, err := s.Submit(t.Context(), response(i)); err != nil {
			t.Fatal(err)
		}
	}
	last := pgseed.ID(pgseed.Event, 9)
	for _, text := range []string{"DELETE FROM formsvc.deliveries WHERE event_id > $1", "UPDATE formsvc.events SET refs = 0 WHERE id > $1"} {
		if _, err := pool.Exec(t.Context(), s.sql(text), last[:]); err != nil {
			t.Fatal(err)
		}
	}
	removed := sweepAll(t, s, storage.SweepParams{Max: 1}).Events
	if n := count(t, pool, s, "events"); removed != 20 || n != 10 {
		t.Errorf("%d bodies removed, %d left, want 20 and 10", removed, n)
	}
}

func TestAResultThatIsGivenTwiceCountsOnce(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	if _, _, err := s.Submit(t.Context(), response(1)); err != nil {
		t.Fatal(err)
	}
	r := ended(claimAll(t, s)[0], 1)
	fenced, err := s.FinishDeliveries(t.Context(), []storage.Result{r, r, {Lease: r.Lease}}, 100)
	if err != nil || len(fenced) != 2 {
		t.Errorf("fenced %v, %v; want the two that came again", fenced, err)
	}
	if n := count(t, pool, s, "attempts"); n != 1 {
		t.Errorf("%d attempts, want 1", n)
	}
	if _, err := s.FinishDeliveries(t.Context(), nil, 100); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.FinishDeliveries(ctx, nil, 100); !errors.Is(err, context.Canceled) {
		t.Errorf("without results and with a cancelled context: %v", err)
	}
}

// Nothing but these statements removes the attempts of a webhook that goes.
func TestAttemptsGoWithTheirWebhook(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(*Store) error{
		"DeleteWebhook": func(s *Store) error {
			return s.DeleteWebhook(t.Context(), storage.AsHost(), pgseed.ID(pgseed.Webhook, 0))
		},
		"the purge of its form": func(s *Store) error {
			at := pgseed.Start()
			if err := s.TrashForm(t.Context(), storage.AsHost(), pgseed.ID(pgseed.Form, 0), storage.TrashParams{At: at}); err != nil {
				return err
			}
			sweepAll(t, s, storage.SweepParams{TrashBefore: at.Add(time.Second), Max: 10})
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, pool := seeded(t)
			for i := range 3 {
				if _, _, err := s.Submit(t.Context(), response(i)); err != nil {
					t.Fatal(err)
				}
			}
			for i, d := range claimAll(t, s) {
				r := ended(d, i)
				if i == 0 { // stays pending
					r.Attempt.NextAttemptAt = pgseed.Start()
				}
				if _, err := s.FinishDeliveries(t.Context(), []storage.Result{r}, 100); err != nil {
					t.Fatal(err)
				}
			}
			if n := count(t, pool, s, "attempts"); n != 3 {
				t.Fatalf("%d attempts, want 3", n)
			}
			if err := remove(s); err != nil {
				t.Fatal(err)
			}
			for _, table := range []string{"webhooks", "attempts", "deliveries", "events"} {
				if n := count(t, pool, s, table); n != 0 {
					t.Errorf("%d %s left", n, table)
				}
			}
		})
	}
}

// A webhook's row knows how long its history is, whatever was to be kept before.
func TestHistoriesFollowWhatIsToBeKept(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	tx, err := pool.Begin(t.Context()) // the settings of a call last longer in it than the call
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	inTx := s.On(tx)
	number := 0
	for step, c := range []struct{ add, keep, want int }{
		{add: 2, keep: 3, want: 2},
		{add: 2, keep: 3, want: 3},
		{add: 1, keep: 3, want: 3},
		{add: 1, keep: 5, want: 4},
		{add: 1, keep: 5, want: 5},
		{add: 1, keep: 9, want: 6},
		{add: 1, keep: 3, want: 3},
		{add: 4, keep: 3, want: 3},
		{add: 1, keep: 0, want: 0},
		{add: 2, keep: 0, want: 0},
		{add: 1, keep: 1, want: 1},
	} {
		for range c.add {
			number++
			if _, _, err := inTx.Submit(t.Context(), response(number)); err != nil {
				t.Fatal(err)
			}
		}
		var done []storage.Result
		for i, d := range claimAll(t, inTx) {
			done = append(done, ended(d, number-i))
		}
		if fenced, err := inTx.FinishDeliveries(t.Context(), done, c.keep); err != nil || len(fenced) > 0 {
			t.Fatal(fenced, err)
		}
		var kept, known int
		if err := tx.QueryRow(t.Context(), s.sql(`SELECT (SELECT count(*) FROM formsvc.attempts), history FROM formsvc.webhooks`)).Scan(&kept, &known); err != nil {
			t.Fatal(err)
		}
		if kept != c.want || known != c.want {
			t.Errorf("step %d: %d attempts are kept and %d known, want %d", step+1, kept, known, c.want)
		}
	}
}

// What a call sets for its own statements ends with it, and is not set at all
// inside a host's transaction.
func TestNoSettingOutlivesItsCall(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t, pgtest.MaxConns(1))
	deliver := func(s *Store, number int) {
		t.Helper()
		if _, _, err := s.Submit(t.Context(), response(number)); err != nil {
			t.Fatal(err)
		}
		for _, d := range claimAll(t, s) {
			if _, err := s.FinishDeliveries(t.Context(), []storage.Result{ended(d, number)}, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	check := func(db DB, when string) {
		t.Helper()
		var plans, settled string
		if err := db.QueryRow(t.Context(), `
			SELECT concat_ws(' ', current_setting('enable_seqscan'), current_setting('enable_hashjoin'), current_setting('enable_mergejoin')),
				concat(current_setting('formsvc_settled.full', true), current_setting('formsvc_settled.excess', true),
					current_setting('formsvc_settled.retried', true))`).Scan(&plans, &settled); err != nil {
			t.Fatal(err)
		}
		if plans != "on on on" {
			t.Errorf("%s: the settings of the planner are %s", when, plans)
		}
		if settled != "" && when == "after the calls" {
			t.Errorf("%s: %q is left", when, settled)
		}
	}
	deliver(s, 1)
	check(pool, "after the calls")
	if err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		deliver(s.On(tx), 2)
		check(tx, "in a host's transaction")
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
