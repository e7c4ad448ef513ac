package postgres

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/internal/pgseed"
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
			change.At = time.Now()
			_, err := s.UpdateWebhook(context.Background(), storage.AsHost(), f.hook, change)
			return err
		}
	}
	purge := func(p storage.SweepParams) func(*Store, failing) error {
		return func(s *Store, _ failing) error {
			ctx := context.Background()
			if _, err := s.exec(ctx, `UPDATE formsvc.forms SET trashed_at = now(), purged_at = now()`); err != nil {
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
				tx, err := pool.Begin(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
				if _, err := tx.Exec(t.Context(), s.sql(`SELECT FROM formsvc.`+table+` FOR UPDATE`)); err != nil {
					t.Fatal(err)
				}
				done := make(chan error, 1)
				go func() { done <- test.run(s, f) }()
				eventually(t, "it waits for "+table, func() bool { return waited(t, pool, tx) })
				for _, later := range lockOrder[slices.Index(lockOrder, table)+1:] {
					if n := lockedRows(t, pool, s, later); n > 0 {
						t.Errorf("it has locked %d rows of %s before those of %s", n, later, table)
					}
				}
				if err := tx.Rollback(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// addSummaries gives the webhook as many summaries of expired deliveries as are kept, long
// ago, so that another one removes one of them.
func addSummaries(t *testing.T, s *Store, pool *pgxpool.Pool, f failing) {
	t.Helper()
	for i := range storage.ExpiredKept {
		id := pgseed.ID(pgseed.Attempt, 100+i)
		_, err := pool.Exec(t.Context(), s.sql(`
			WITH told AS (
				INSERT INTO formsvc.attempts (webhook_id, id, event_id, event_type, attempt, http_status, success, error, duration_us, created_at)
				VALUES ($1, $2, $3, 'e', 1, 0, false, 'expired', 0, $4)
			)
			UPDATE formsvc.events SET refs = refs + 1 WHERE id = $3`),
			f.hook[:], id[:], f.first.EventID[:], pgseed.Start().Add(time.Duration(i)*time.Second-time.Hour))
		if err != nil {
			t.Fatal(err)
		}
	}
}

// lockedRows counts the rows of a table that somebody has locked.
func lockedRows(t *testing.T, pool *pgxpool.Pool, s *Store, table string) int {
	t.Helper()
	var n int
	if err := pool.QueryRow(t.Context(), s.sql(`SELECT (SELECT count(*) FROM formsvc.`+table+`) - (
		SELECT count(*) FROM (SELECT FROM formsvc.`+table+` FOR UPDATE SKIP LOCKED) free)`)).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
