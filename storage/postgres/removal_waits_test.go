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
	mustSubmit(t, s, response(1))
	tx := begin(t, pool)
	mustSubmit(t, s.On(tx), response(2))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := s.DeleteSubmission(ctx, storage.AsHost(), pgseed.ID(pgseed.Form, 0), response(1).Submission.ID); err != nil {
		t.Errorf("DeleteSubmission beside a response: %v", err)
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
			execute(t, pool, s, `UPDATE formsvc.forms SET trashed_at = now(), purged_at = now()`)
			tx := begin(t, pool)
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
				wantRows(t, pool, s, want, other)
			}
			must(t, tx.Rollback(t.Context()))
			purge()
			wantRows(t, pool, s, 0, "deliveries", "attempts", "events", "webhooks", "forms")
		})
	}
}
