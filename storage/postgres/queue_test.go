package postgres

import (
	"context"
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
	must(t, pool.QueryRow(t.Context(), s.db.SQL("SELECT count(*) FROM formsvc."+table)).Scan(&n))
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
	must(t, s.cutHistories(t.Context(), pgseed.ID(pgseed.Webhook, 0)))
	wantRows(t, pool, s, storage.HistoryKept, "attempts", "events")
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
