package postgres

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
)

// lockOrder is the order in which every change that waits locks the rows of the queue.
var lockOrder = []string{"deliveries", "destinations", "attempts", "events", "submissions"}

// A change that waits for the rows of one table has locked none of the tables that come
// later. So no two changes wait for each other.
func TestChangesOfTheQueueLockInOneOrder(t *testing.T) {
	t.Parallel()
	elsewhere, off := "https://elsewhere.example/", false
	update := func(change storage.WebhookChange) func(*Store, failing) error {
		return func(s *Store, f failing) error {
			change := change // several tests run it at one time
			change.At = time.Now()
			_, err := s.UpdateWebhook(context.Background(), storage.AsHost(), f.hook, change)
			return err
		}
	}
	purge := func(p storage.SweepParams) func(*Store, failing) error {
		return func(s *Store, _ failing) error {
			ctx := context.Background()
			if _, err := s.db.Exec(ctx, `UPDATE formsvc.forms SET trashed_at = now(), purged_at = now()`); err != nil {
				return err
			}
			_, err := s.removePurged(ctx, p, nil)
			return err
		}
	}
	for name, test := range map[string]struct {
		run   func(*Store, failing) error
		waits []string // the tables whose rows it waits for
	}{
		"a new URL":            {update(storage.WebhookChange{URL: &elsewhere}), []string{"deliveries", "destinations"}},
		"disabling":            {update(storage.WebhookChange{Enabled: &off}), []string{"deliveries", "attempts", "events"}},
		"disabling with a URL": {update(storage.WebhookChange{Enabled: &off, URL: &elsewhere}), []string{"deliveries", "destinations", "attempts", "events"}},
		"deleting the webhook": {func(s *Store, f failing) error {
			return s.DeleteWebhook(context.Background(), storage.AsHost(), f.hook)
		}, []string{"deliveries", "destinations", "attempts", "events"}},
		"purging":   {purge(storage.SweepParams{Max: 100}), []string{"events", "submissions"}},
		"a removal": {purge(storage.SweepParams{Max: 100, Removals: true}), []string{"deliveries", "attempts", "events", "submissions"}},
		"expiry": {func(s *Store, _ failing) error {
			got, err := s.ExpireDeliveries(context.Background(), expireParams())
			if err == nil && got.Deliveries == 0 {
				err = storage.ErrNotFound
			}
			return err
		}, []string{"deliveries", "destinations", "attempts", "events"}},
	} {
		for _, table := range test.waits {
			t.Run(name+", "+table, func(t *testing.T) {
				t.Parallel()
				s, pool := seeded(t)
				f := failingWebhook(t, s, pool)
				addSummaries(t, s, pool, f)
				tx := begin(t, pool)
				execute(t, tx, s, `SELECT FROM formsvc.`+table+` FOR UPDATE`)
				done := make(chan error, 1)
				go func() { done <- test.run(s, f) }()
				eventually(t, "it waits for "+table, func() bool { return waited(t, pool, tx) })
				for _, later := range lockOrder[slices.Index(lockOrder, table)+1:] {
					if n := lockedRows(t, pool, s, later); n > 0 {
						t.Errorf("it has locked %d rows of %s before those of %s", n, later, table)
					}
				}
				must(t, tx.Rollback(t.Context()))
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// A response is deleted while its event is redelivered twice. The first redelivery ends when
// the deletion has looked for pending deliveries. The second redelivery finds the delivery
// that the first one added. Neither it nor the deletion waits for what the other one has.
func TestDeletingAResponseBesideRedeliveries(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t, pgtest.MaxConns(6))
	deliver(t, s, 1, 1)
	hook, attempt := pgseed.ID(pgseed.Webhook, 0), pgseed.ID(pgseed.Attempt, 10)
	// inside calls f in a transaction, in which nothing is tried again.
	inside := func(tx pgx.Tx, f func(*Store) error) chan error {
		done := make(chan error, 1)
		go func() {
			err := f(s.On(tx))
			if err == nil {
				err = tx.Commit(context.Background())
			}
			done <- err
		}()
		return done
	}
	redeliver := func(s *Store) error { return s.Redeliver(context.Background(), hook, attempt) }

	first, deletion, second, response := begin(t, pool), begin(t, pool), begin(t, pool), begin(t, pool)
	execute(t, response, s, `SELECT FROM formsvc.submissions FOR UPDATE`)
	must(t, redeliver(s.On(first)))
	deleted := inside(deletion, func(s *Store) error {
		return s.DeleteSubmission(context.Background(), storage.AsHost(), pgseed.ID(pgseed.Form, 0), pgseed.ID(pgseed.Submission, 1))
	})
	eventually(t, "the deletion waits for the event", func() bool { return waited(t, pool, first) })
	must(t, first.Commit(t.Context()))
	eventually(t, "the deletion has the event, and waits for the response", func() bool { return waited(t, pool, response) })
	redelivered := inside(second, redeliver)
	eventually(t, "the second redelivery has what it waits for, or waits for the deletion", func() bool {
		return len(redelivered) > 0 || waited(t, pool, deletion)
	})
	must(t, response.Rollback(t.Context()))
	if err := <-redelivered; err != nil {
		t.Errorf("Redeliver = %v", err)
	}
	if err := <-deleted; err != nil {
		t.Errorf("DeleteSubmission = %v", err)
	}
	wantRows(t, pool, s, 0, "submissions", "deliveries", "events")
}

// addSummaries gives the webhook as many summaries of expired deliveries as are kept, long
// ago, so that another one removes one of them.
func addSummaries(t *testing.T, s *Store, pool *pgxpool.Pool, f failing) {
	t.Helper()
	for i := range storage.ExpiredKept {
		id := pgseed.ID(pgseed.Attempt, 100+i)
		_, err := pool.Exec(t.Context(), s.db.SQL(`
			WITH told AS (
				INSERT INTO formsvc.attempts (webhook_id, id, event_id, event_type, attempt, http_status, success, error, duration_us, created_at)
				VALUES ($1, $2, $3, 'e', 1, 0, false, 'expired', 0, $4)
			)
			UPDATE formsvc.events SET refs = refs + 1 WHERE id = $3`),
			f.hook[:], id[:], f.first.EventID[:], pgseed.Start().Add(time.Duration(i)*time.Second-time.Hour))
		must(t, err)
	}
}

// lockedRows counts the rows of a table that somebody has locked.
func lockedRows(t *testing.T, pool *pgxpool.Pool, s *Store, table string) int {
	t.Helper()
	var n int
	if err := pool.QueryRow(t.Context(), s.db.SQL(`SELECT (SELECT count(*) FROM formsvc.`+table+`) - (
		SELECT count(*) FROM (SELECT FROM formsvc.`+table+` FOR UPDATE SKIP LOCKED) free)`)).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
