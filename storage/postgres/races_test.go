package postgres

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// Somebody holds one delivery for long. The results of the others are settled
// meanwhile, and that of the one counts when it is given again.
func TestALockedDeliveryHoldsUpNoOtherResult(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	for i := range 5 {
		if _, _, err := s.Submit(t.Context(), response(i)); err != nil {
			t.Fatal(err)
		}
	}
	var done []storage.Result
	for i, d := range claimAll(t, s) {
		done = append(done, ended(d, i))
	}
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	locked := done[2].Lease
	if _, err := tx.Exec(t.Context(), s.sql(`SELECT FROM formsvc.deliveries d WHERE d.webhook_id = $1 AND d.event_id = $2 FOR UPDATE`),
		locked.WebhookID[:], locked.EventID[:]); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	fenced, err := s.FinishDeliveries(ctx, done)
	var held *storage.HeldError
	if !errors.As(err, &held) || !slices.Equal(held.Leases, []storage.Lease{locked}) || len(fenced) > 0 || !errors.Is(err, storage.ErrUnavailable) {
		t.Fatalf("fenced %v, error %v; want a HeldError for the one that is locked", fenced, err)
	}
	if n := count(t, pool, s, "attempts"); n != 4 {
		t.Errorf("%d attempts are recorded while one delivery is locked, want 4", n)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if fenced, err := s.FinishDeliveries(t.Context(), done[2:3]); err != nil || len(fenced) > 0 {
		t.Errorf("the result given again: fenced %v, error %v", fenced, err)
	}
	if n := count(t, pool, s, "deliveries"); n != 0 {
		t.Errorf("%d deliveries are left, want none", n)
	}
}

// The URL of a webhook changes while a result for the one before is about to be
// written. It says nothing about the new URL.
func TestAResultForTheURLBeforeSaysNothingAboutTheNewOne(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	if _, _, err := s.Submit(t.Context(), response(1)); err != nil {
		t.Fatal(err)
	}
	r := ended(claimAll(t, s)[0], 1)
	r.Attempt.Success, r.RetryIn = false, time.Hour
	r.Standing, r.PauseFor = storage.Standing{Failures: 10}, time.Hour
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	elsewhere := "https://elsewhere.example/"
	if _, err := s.On(tx).UpdateWebhook(t.Context(), storage.AsHost(), r.Lease.WebhookID, storage.WebhookChange{URL: &elsewhere, At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := s.FinishDeliveries(context.WithoutCancel(t.Context()), []storage.Result{r})
		done <- err
	}()
	eventually(t, "FinishDeliveries waits for the webhook", func() bool { return waited(t, pool, tx) })
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if paused, err := s.PausedWebhooks(t.Context(), storage.AsHost(), storage.Page{Limit: 10}); err != nil || len(paused) > 0 {
		t.Errorf("paused after the result of the URL before: %v (%v)", paused, err)
	}
	if _, _, err := s.Submit(t.Context(), response(2)); err != nil {
		t.Fatal(err)
	}
	for _, d := range claimAll(t, s) {
		if d.URL != elsewhere || d.Standing != (storage.Standing{}) {
			t.Errorf("claimed for %s with the standing %+v, want a new one", d.URL, d.Standing)
		}
	}
}
