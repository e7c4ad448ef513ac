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
	failed.Standing, failed.PauseFor = storage.Standing{Failures: 10}, time.Hour
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
			_, err := tx.Exec(t.Context(), s.db.SQL(`SELECT FROM formsvc.deliveries FOR UPDATE`))
			return err
		}, 2, 1},
		"it is redelivered": {func(t *testing.T, s *Store, tx pgx.Tx, f failing) error {
			return s.On(tx).Redeliver(t.Context(), f.hook, f.first.ID)
		}, 1, 2},
		"it is redelivered and fails once more": {func(t *testing.T, s *Store, tx pgx.Tx, f failing) error {
			if err := s.On(tx).Redeliver(t.Context(), f.hook, f.first.ID); err != nil {
				return err
			}
			_, err := tx.Exec(t.Context(), s.db.SQL(`UPDATE formsvc.deliveries SET urgency = 0`))
			return err
		}, 1, 2},
		"its webhook gets a new URL": {func(t *testing.T, s *Store, tx pgx.Tx, f failing) error {
			_, err := s.On(tx).UpdateWebhook(t.Context(), storage.AsHost(), f.hook, storage.WebhookChange{URL: &elsewhere, At: time.Now()})
			return err
		}, 0, 3},
		"another one succeeds": {func(t *testing.T, s *Store, tx pgx.Tx, f failing) error {
			r := ended(f.leased, 1)
			r.Standing = storage.Standing{Succeeded: true}
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
			type answer struct {
				storage.Expired
				error
			}
			done := make(chan answer, 1)
			go func() {
				got, err := s.ExpireDeliveries(context.WithoutCancel(t.Context()), expireParams())
				done <- answer{got, err}
			}()
			eventually(t, "ExpireDeliveries waits for the change", func() bool { return waited(t, pool, tx) })
			must(t, tx.Commit(t.Context()))
			got := <-done
			if got.error != nil {
				t.Fatal(got.error)
			}
			if got.Deliveries != test.ended || len(got.Summaries) != min(test.ended, 1) {
				t.Errorf("%d deliveries ended with %d summaries, want %d", got.Deliveries, len(got.Summaries), test.ended)
			}
			wantRows(t, pool, s, test.left, "deliveries")
			referencesAreCounted(t, pool, s)
			attemptsKeepTheirEvents(t, pool, s)
		})
	}
}
