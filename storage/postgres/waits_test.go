package postgres

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

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

// Moving a form and recording results of its webhooks lock those in one order: neither
// is ever the victim of a deadlock.
func TestMovesAndResultsLockInOneOrder(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	into := elsewhere(t, s).WorkspaceID
	form := pgseed.ID(pgseed.Form, 0)
	// The move goes through the webhooks in the order of their rows, the results in
	// that of their ids, unless both lock them first.
	for i := range 6 {
		w := storage.Webhook{ID: storage.ID{byte(200 - i)}, FormID: form, URL: "https://example.com/", Enabled: true}
		if err := s.CreateWebhook(t.Context(), storage.AsHost(), w, 0); err != nil {
			t.Fatal(err)
		}
	}
	// Transactions of a host's, which are not tried again after a deadlock.
	once := func(do func(on *Store) error) {
		if err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error { return do(s.On(tx)) }); err != nil {
			t.Error(err)
		}
	}
	// A gate: the row in the middle is locked, so that whoever goes from one end waits
	// with the rows before it locked.
	for i := range 6 {
		tx, err := pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		middle := storage.ID{197}
		if _, err := tx.Exec(t.Context(), s.sql("SELECT 1 FROM formsvc.webhooks WHERE id = $1 FOR UPDATE"), pgx.QueryExecModeExec, middle[:]); err != nil {
			t.Fatal(err)
		}
		for k := range 6 {
			e := storage.Event{ID: pgseed.ID(pgseed.Event, 100*i+k), Type: "t", Body: []byte("{}")}
			if err := s.Enqueue(t.Context(), storage.ID{byte(200 - k)}, e); err != nil {
				t.Fatal(err)
			}
		}
		var results []storage.Result
		for k, d := range claimAll(t, s) {
			r := ended(d, 100*i+k)
			r.Standing.Failures, r.Attempt.Success, r.RetryIn = i+1, false, time.Nanosecond
			results = append(results, r)
		}
		target := [2]storage.ID{into, pgseed.ID(pgseed.Workspace, 0)}[i%2]
		var group sync.WaitGroup
		group.Go(func() {
			once(func(on *Store) error {
				_, err := on.FinishDeliveries(t.Context(), results)
				return err
			})
		})
		group.Go(func() {
			once(func(on *Store) error {
				_, err := on.UpdateForm(t.Context(), storage.AsHost(), form, storage.FormChange{WorkspaceID: &target, At: pgseed.Start()})
				return err
			})
		})
		eventually(t, "both wait", func() bool {
			var n int
			err := pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity a
				WHERE a.wait_event_type = 'Lock' AND a.query LIKE '%' || $1 || '%'`, s.schema).Scan(&n)
			return err == nil && n >= 2
		})
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		group.Wait()
	}
}
