package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/formsvc/formsvc/internal/pgseed"
	"github.com/formsvc/formsvc/storage"
)

// A response that a host's transaction has stored and not committed yet holds up no
// deletion of another one.
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
	if err := s.On(tx).Redeliver(t.Context(), r.Lease.WebhookID, r.Attempt.ID); err != nil {
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
