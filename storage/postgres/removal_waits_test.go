package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/storage"
)

// A response that a host's transaction has stored and not committed yet holds up no
// deletion of another response.
func TestDeletingASubmissionWaitsForNoResponse(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	if _, _, err := s.Submit(t.Context(), response(1)); err != nil {
		t.Fatal(err)
	}
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	if _, _, err := s.On(tx).Submit(t.Context(), response(2)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := s.DeleteSubmission(ctx, storage.AsHost(), pgseed.ID(pgseed.Form, 0), response(1).Submission.ID); err != nil {
		t.Errorf("DeleteSubmission beside a response: %v", err)
	}
}

// A redelivery that comes while its submission is deleted leaves nothing pending
// without a body.
func TestDeletingASubmissionBesideItsRedelivery(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	n := response(1)
	if _, _, err := s.Submit(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	r := ended(claimAll(t, s)[0], 1)
	if _, err := s.FinishDeliveries(t.Context(), []storage.Result{r}); err != nil {
		t.Fatal(err)
	}
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	if err := s.On(tx).Redeliver(t.Context(), r.Lease.WebhookID, r.Delivery.ID); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		done <- s.DeleteSubmission(t.Context(), storage.AsHost(), n.Submission.FormID, n.Submission.ID)
	}()
	eventually(t, "the deletion waits for the event", func() bool { return waited(t, pool, tx) })
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"deliveries", "events", "submissions"} {
		if n := count(t, pool, s, table); n != 0 {
			t.Errorf("%d rows of %s are left", n, table)
		}
	}
}

// What a purge removes may be held by somebody, who may wait for what the purge has
// removed already. So it leaves deliveries and attempts that are held to the next sweep.
func TestPurgingWaitsForNoDeliveryAndNoAttempt(t *testing.T) {
	t.Parallel()
	for _, table := range []string{"deliveries", "attempts"} {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			s, pool := seeded(t)
			failingWebhook(t, s, pool)
			if _, err := pool.Exec(t.Context(), s.db.SQL(`UPDATE formsvc.forms SET trashed_at = now(), purged_at = now()`)); err != nil {
				t.Fatal(err)
			}
			tx, err := pool.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
			held, err := tx.Exec(t.Context(), s.db.SQL(`SELECT FROM formsvc.`+table+` FOR UPDATE`))
			if err != nil || held.RowsAffected() == 0 {
				t.Fatal(held, err)
			}
			purge := func() {
				t.Helper()
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				for more := true; more; {
					if more, err = s.removePurged(ctx, storage.SweepParams{Max: 100}, nil); err != nil {
						t.Fatal(err)
					}
				}
			}
			purge()
			for _, other := range []string{"deliveries", "attempts", "submissions"} {
				want := 0
				if other == table {
					want = int(held.RowsAffected())
				}
				if n := count(t, pool, s, other); n != want {
					t.Errorf("%d rows of %s are left, want %d", n, other, want)
				}
			}
			if err := tx.Rollback(t.Context()); err != nil {
				t.Fatal(err)
			}
			purge()
			for _, all := range []string{"deliveries", "attempts", "events", "webhooks", "forms"} {
				if n := count(t, pool, s, all); n != 0 {
					t.Errorf("%d rows of %s are left after the next sweep, want none", n, all)
				}
			}
		})
	}
}
