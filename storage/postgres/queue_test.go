package postgres

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/storage"
)

func count(t *testing.T, pool *pgxpool.Pool, s *Store, table string) int {
	t.Helper()
	var n int
	if err := pool.QueryRow(t.Context(), s.db.SQL("SELECT count(*) FROM formsvc."+table)).Scan(&n); err != nil {
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
			(SELECT count(*) FROM formsvc.attempts a WHERE a.event_id = e.id AND ` + attemptRefers + `)`,
		"deliveries without their event": `SELECT count(*) FROM formsvc.deliveries d WHERE NOT EXISTS (
			SELECT FROM formsvc.events e WHERE e.id = d.event_id)`,
		"deliveries that nobody would ever look at": `SELECT count(*) FROM formsvc.deliveries d
			JOIN formsvc.destinations x ON x.webhook_id = d.webhook_id
			JOIN formsvc.webhooks w ON w.id = d.webhook_id
			WHERE ` + strandedDelivery + ` AND ` + webhookThere + `
				AND w.form_id IN (SELECT f.id FROM formsvc.forms f WHERE f.trashed_at IS NULL)`,
	} {
		var n int
		if err := db.QueryRow(context.WithoutCancel(t.Context()), s.db.SQL(text)).Scan(&n); err != nil || n > 0 {
			t.Errorf("%d %s (%v)", n, what, err)
		}
	}
}

// attemptsKeepTheirEvents fails the test when an attempt does not keep its event. It is for
// tests that delete no submission, and make attempts later than those before them.
func attemptsKeepTheirEvents(t *testing.T, db DB, s *Store) {
	t.Helper()
	var n int
	if err := db.QueryRow(t.Context(), s.db.SQL(`SELECT count(*) FROM formsvc.attempts a
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
func everything(hooks ...storage.ID) storage.ClaimParams {
	p := storage.ClaimParams{
		Lease: time.Hour, Quick: storage.Pool{Room: 1000}, Slow: storage.Pool{Room: 1000}, Others: storage.Pool{Room: 1000},
		PerWebhook: 1000, Webhooks: map[storage.ID]int{},
	}
	for _, w := range append(hooks, pgseed.ID(pgseed.Webhook, 0)) {
		p.Webhooks[w] = 1000
	}
	return p
}

func claimAll(t *testing.T, s *Store) (all []storage.ClaimedDelivery) {
	t.Helper()
	for {
		got, more, err := s.ClaimDeliveries(t.Context(), everything())
		if err != nil {
			t.Fatal(err)
		}
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
	if err != nil {
		t.Fatal(err)
	}
	return yes
}

// deliver submits n responses to the first form and ends their deliveries, the
// attempts of which are numbered from first on.
func deliver(t *testing.T, s *Store, first, n int) {
	t.Helper()
	for i := range n {
		if _, _, err := s.Submit(t.Context(), response(first+i)); err != nil {
			t.Fatal(err)
		}
	}
	var done []storage.Result
	for i, d := range claimAll(t, s) {
		done = append(done, ended(d, first*10+i))
	}
	if fenced, err := s.FinishDeliveries(t.Context(), done); err != nil || len(fenced) > 0 {
		t.Fatal(fenced, err)
	}
}

// A body lives as long as the queue or a history refers to it, and no longer.
func TestBodiesGoWithTheHistory(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	for i := range 4 {
		deliver(t, s, 1+i*30, 30)
	}
	referencesAreCounted(t, pool, s)
	if err := s.cutHistories(t.Context(), pgseed.ID(pgseed.Webhook, 0)); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"attempts", "events"} {
		if n := count(t, pool, s, table); n != storage.HistoryKept {
			t.Errorf("%d %s, want %d", n, table, storage.HistoryKept)
		}
	}
	referencesAreCounted(t, pool, s)
	if err := s.DeleteWebhook(t.Context(), storage.AsHost(), pgseed.ID(pgseed.Webhook, 0)); err != nil {
		t.Fatal(err)
	}
	if n := count(t, pool, s, "events"); n != 0 {
		t.Errorf("%d bodies after the only webhook went, want none", n)
	}
}

// What a fault leaves without a reference is found by Sweep.
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
		if _, err := pool.Exec(t.Context(), s.db.SQL(text), last[:]); err != nil {
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
	fenced, err := s.FinishDeliveries(t.Context(), []storage.Result{r, r, {Lease: r.Lease}})
	if err != nil || len(fenced) != 2 {
		t.Errorf("fenced %v, %v; want the two that came again", fenced, err)
	}
	if n := count(t, pool, s, "attempts"); n != 1 {
		t.Errorf("%d attempts, want 1", n)
	}
	if _, err := s.FinishDeliveries(t.Context(), nil); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.FinishDeliveries(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("without results and with a cancelled context: %v", err)
	}
}

// Nothing but these statements removes what is kept of a webhook that goes.
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
					r.RetryIn = time.Hour
				}
				if _, err := s.FinishDeliveries(t.Context(), []storage.Result{r}); err != nil {
					t.Fatal(err)
				}
			}
			if n := count(t, pool, s, "attempts"); n != 3 {
				t.Fatalf("%d attempts, want 3", n)
			}
			if err := remove(s); err != nil {
				t.Fatal(err)
			}
			for _, table := range []string{"webhooks", "destinations", "attempts", "deliveries", "events"} {
				if n := count(t, pool, s, table); n != 0 {
					t.Errorf("%d %s left", n, table)
				}
			}
		})
	}
}
