package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/storage"
)

// Somebody holds a row that results of one webhook change, or that has to do with them.
// A call may pass over those results. All other results are recorded meanwhile, and no
// result is lost. A mutant waits.
func TestALockedRowHoldsUpNoOtherResult(t *testing.T) {
	t.Parallel()
	ofWebhook := "x.webhook_id = $1"
	ofEvents := func(table string) string {
		return "x.id IN (SELECT y.event_id FROM formsvc." + table + " y WHERE y.webhook_id = $1)"
	}
	for name, test := range map[string]struct {
		table, where string
		waits        bool // the results wait for the row
	}{
		"its deliveries":        {"deliveries", ofWebhook, true},
		"events that are sent":  {"events", ofEvents("deliveries"), false},
		"its destination":       {"destinations", ofWebhook, true},
		"its history":           {"attempts", ofWebhook, false},
		"events of its history": {"events", ofEvents("attempts"), false},
		"the webhook itself":    {"webhooks", "x.id = $1", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, pool := testStore(t)
			must(t, pgseed.Fill(t.Context(), pool, s.db.Schema, pgseed.Size{Forms: 2, AnswerBytes: 100, Webhooks: 2}))
			deliver(t, s, 1, 3)
			submit := func(form, number int) {
				t.Helper()
				n := response(number)
				n.Submission.FormID = pgseed.ID(pgseed.Form, form)
				mustSubmit(t, s, n)
			}
			submit(0, 1001)
			submit(0, 1002)
			submit(1, 1003)
			var done, healthy []storage.Result
			for i, d := range claimAll(t, s) {
				r := ended(d, 1001+i)
				if d.Lease.WebhookID == pgseed.ID(pgseed.Webhook, 0) {
					r.Delivery.Success, r.RetryIn, r.Standing = false, time.Hour, storage.Standing{Failures: 1}
				} else {
					healthy = append(healthy, r)
				}
				done = append(done, r)
			}
			if len(done) != 3 || len(healthy) != 1 {
				t.Fatalf("%d results, %d of the healthy webhook, want 3 and 1", len(done), len(healthy))
			}
			tx := begin(t, pool)
			lock := "SELECT FROM formsvc." + test.table + " x WHERE " + test.where + " FOR UPDATE"
			hook := pgseed.ID(pgseed.Webhook, 0)
			if tag, err := tx.Exec(t.Context(), s.db.SQL(lock), hook[:]); err != nil || tag.RowsAffected() == 0 {
				t.Fatal(tag, err)
			}

			if test.waits {
				mutant := s.On(edited{pool, func(text string) string {
					return strings.ReplaceAll(text, " SKIP LOCKED", "")
				}})
				ctx, cancel := context.WithCancel(t.Context())
				waits := make(chan error, 1)
				go func() {
					_, err := mutant.FinishDeliveries(ctx, done)
					waits <- err
				}()
				eventually(t, "the mutant waits", func() bool { return waited(t, pool, tx) })
				cancel()
				if err := <-waits; err == nil {
					t.Error("the mutant has recorded the results")
				}
				eventually(t, "the server has ended it, and its locks", func() bool {
					free, err := s.db.Exec(t.Context(), `SELECT FROM formsvc.deliveries d WHERE d.event_id = $1 FOR UPDATE SKIP LOCKED`,
						healthy[0].Lease.EventID[:])
					return err == nil && free == 1
				})
			}

			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			fenced, err := s.FinishDeliveries(ctx, done)
			var held *storage.HeldError
			if len(fenced) > 0 || errors.As(err, &held) != test.waits || !test.waits && err != nil {
				t.Fatalf("fenced %v, error %v; want a HeldError: %v", fenced, err, test.waits)
			}
			if test.waits && (len(held.Leases) != 2 || slices.Contains(held.Leases, healthy[0].Lease) || !errors.Is(err, storage.ErrUnavailable)) {
				t.Errorf("%v (%v), want the results of the webhook that is locked", held.Leases, err)
			}
			submit(1, 1004)
			if got := claimAll(t, s); len(got) != 1 {
				t.Errorf("%d deliveries of the healthy webhook are claimed meanwhile, want 1", len(got))
			}

			must(t, tx.Rollback(t.Context()))
			if test.waits {
				if fenced, err := s.FinishDeliveries(t.Context(), done); err != nil || len(fenced) != 1 {
					t.Errorf("all results given again: fenced %v, error %v, want the one that was recorded", fenced, err)
				}
			}
			wantRows(t, pool, s, 3+len(done), "attempts")
			referencesAreCounted(t, pool, s)
		})
	}
}

// A result is to be given again, because somebody holds its webhook's row, and its lease
// runs out meanwhile. The delivery is not sent again while the result waits, and it is when
// the result never comes.
func TestADeliveryWhoseResultWaitsIsNotSentAgain(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	mustSubmit(t, s, response(1))
	p := everything()
	p.Lease = time.Microsecond
	got, _, err := s.ClaimDeliveries(t.Context(), p)
	if err != nil || len(got) != 1 {
		t.Fatal(len(got), err)
	}
	r := ended(got[0], 1)
	r.Delivery.Success, r.RetryIn, r.Standing = false, time.Hour, storage.Standing{Failures: 1}
	tx := begin(t, pool)
	execute(t, tx, s, `SELECT FROM formsvc.destinations FOR UPDATE`)
	held := new(storage.HeldError)
	if _, err := s.FinishDeliveries(t.Context(), []storage.Result{r}); !errors.As(err, &held) {
		t.Fatalf("%v, want a HeldError", err)
	}
	must(t, tx.Rollback(t.Context()))
	if again := claimAll(t, s); len(again) > 0 {
		t.Error("it is sent again while its result waits")
	}
	if n := stranded(t, pool, s); n > 0 {
		t.Error("nobody would look at it again")
	}
	wantRows(t, pool, s, 0, "deliveries WHERE leased_until > now() + interval '20 seconds'")
	for _, text := range []string{ // the lease ends, and its webhook's turn comes
		`UPDATE formsvc.destinations x SET next_at = now() FROM formsvc.deliveries d WHERE d.webhook_id = x.webhook_id AND x.next_at <= d.leased_until`,
		`UPDATE formsvc.deliveries SET leased_until = now()`,
	} {
		execute(t, pool, s, text)
	}
	if again := claimAll(t, s); len(again) != 1 {
		t.Errorf("%d deliveries are claimed when the lease is over, want 1", len(again))
	}
	if fenced, err := s.FinishDeliveries(t.Context(), []storage.Result{r}); err != nil || len(fenced) != 1 {
		t.Errorf("the result comes after all: fenced %v, error %v", fenced, err)
	}
}

// A result comes twice in a call while somebody holds its delivery: it is to be given again,
// and not fenced.
func TestARepeatedResultThatIsHeldIsNotFenced(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	mustSubmit(t, s, response(1))
	r := ended(claimAll(t, s)[0], 1)
	tx := begin(t, pool)
	execute(t, tx, s, `SELECT FROM formsvc.deliveries FOR UPDATE`)
	var held *storage.HeldError
	fenced, err := s.FinishDeliveries(t.Context(), []storage.Result{r, r})
	if !errors.As(err, &held) || len(held.Leases) != 1 || len(fenced) > 0 {
		t.Errorf("fenced %v, error %v; want one held result and none fenced", fenced, err)
	}
}

// The event of a delivery is purged while a request for it fails.
func TestAResultSettlesWithoutItsEvent(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	mustSubmit(t, s, response(1))
	r := ended(claimAll(t, s)[0], 1)
	r.Delivery.Success, r.RetryIn, r.Standing = false, time.Hour, storage.Standing{Failures: 1}
	execute(t, pool, s, `DELETE FROM formsvc.events`)
	if fenced, err := s.FinishDeliveries(t.Context(), []storage.Result{r}); err != nil || len(fenced) > 0 {
		t.Errorf("fenced %v, error %v", fenced, err)
	}
	wantRows(t, pool, s, 1, "attempts")
}

// The URL of a webhook changes while a result for the one before is about to be
// written. It says nothing about the new URL.
func TestAResultForTheURLBeforeSaysNothingAboutTheNewOne(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	mustSubmit(t, s, response(1))
	r := ended(claimAll(t, s)[0], 1)
	r.Delivery.Success, r.RetryIn = false, time.Hour
	r.Standing, r.PauseFor = storage.Standing{Failures: 10}, time.Hour
	tx := begin(t, pool)
	elsewhere := "https://elsewhere.example/"
	if _, err := s.On(tx).UpdateWebhook(t.Context(), storage.AsHost(), r.Lease.WebhookID, storage.WebhookChange{URL: &elsewhere, At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	_, err := s.FinishDeliveries(t.Context(), []storage.Result{r})
	if held := new(storage.HeldError); !errors.As(err, &held) {
		t.Fatalf("%v, want a HeldError while the URL is changed", err)
	}
	must(t, tx.Commit(t.Context()))
	finish(t, s, r)
	if paused, err := s.PausedWebhooks(t.Context(), storage.AsHost(), storage.Page{Limit: 10}); err != nil || len(paused) > 0 {
		t.Errorf("paused after the result of the URL before: %v (%v)", paused, err)
	}
	mustSubmit(t, s, response(2))
	for _, d := range claimAll(t, s) {
		if d.URL != elsewhere || d.Standing != (storage.Standing{}) {
			t.Errorf("claimed for %s with the standing %+v, want a new one", d.URL, d.Standing)
		}
	}
}

// Somebody asks for a delivery when lockResults has seen it, and before it is locked. The
// result is settled, and the delivery is sent again at once. A mutant takes the delivery for
// what it saw.
func TestADeliveryThatChangesWhileItsResultIsRecorded(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		lock    int
		urgency string
		again   int
	}{
		"as it is": {4741, "d.urgency", 1},
		"a mutant": {4742, "(SELECT e.urgency FROM formsvc.deliveries e WHERE e.webhook_id = g.webhook_id AND e.event_id = g.event_id) AS urgency", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, pool := seeded(t)
			mustSubmit(t, s, response(1))
			r := ended(claimAll(t, s)[0], 1)
			r.Delivery.Success, r.RetryIn, r.Standing = false, time.Hour, storage.Standing{Failures: 1}
			tx := begin(t, pool)
			if _, err := tx.Exec(t.Context(), "SELECT pg_advisory_xact_lock($1)", test.lock); err != nil {
				t.Fatal(err)
			}
			slow := s.On(edited{pool, func(text string) string {
				text = strings.Replace(text, "g.*, d.generation, d.urgency", s.db.SQL("g.*, d.generation, "+test.urgency), 1)
				return strings.Replace(text, "WHERE d.token <> 0", fmt.Sprintf("WHERE d.token <> 0 AND (SELECT pg_advisory_xact_lock_shared(%d)) IS NOT NULL", test.lock), 1)
			}})
			done := make(chan error, 1)
			go func() {
				fenced, err := slow.FinishDeliveries(context.WithoutCancel(t.Context()), []storage.Result{r})
				if len(fenced) > 0 {
					err = fmt.Errorf("fenced %v (%w)", fenced, err)
				}
				done <- err
			}()
			eventually(t, "the statement has its snapshot", func() bool { return waited(t, pool, tx) })
			execute(t, pool, s, `UPDATE formsvc.deliveries SET urgency = 2`)
			must(t, tx.Rollback(t.Context()))
			must(t, <-done)
			wantRows(t, pool, s, 1, "attempts")
			if got := claimAll(t, s); len(got) != test.again {
				t.Errorf("%d deliveries are claimed, want %d", len(got), test.again)
			}
			referencesAreCounted(t, pool, s)
		})
	}
}

// A process that is cut off between two statements of a claim, or of its results, does not keep
// their locks. Others go on.
func TestTheServerEndsWhatIsCutOff(t *testing.T) {
	t.Parallel()
	claims := func(s *Store, _ []storage.Result) error {
		_, _, err := s.ClaimDeliveries(context.Background(), everything())
		return err
	}
	results := func(s *Store, done []storage.Result) error {
		_, err := s.FinishDeliveries(context.Background(), done)
		return err
	}
	for name, test := range map[string]struct {
		part string // of the statement before which it is cut off
		call func(*Store, []storage.Result) error
	}{"a claim": {"WITH found AS", claims}, "results": {"WITH settled AS", results}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, pool := seeded(t)
			mustSubmit(t, s, response(1))
			var done []storage.Result
			if name == "results" {
				done = append(done, ended(claimAll(t, s)[0], 1))
			}
			cutOff, reached, returned := make(chan struct{}), make(chan struct{}, 1), make(chan error, 1)
			at := s.On(edited{pool, func(text string) string {
				switch {
				case strings.Contains(text, "idle_in_transaction_session_timeout"):
					return strings.Replace(text, "10s", "100ms", 1)
				case strings.Contains(text, test.part):
					select {
					case reached <- struct{}{}:
						<-cutOff
					default: // it is tried again
					}
				}
				return text
			}})
			go func() { returned <- test.call(at, done) }()
			<-reached
			eventually(t, "the delivery is free", func() bool {
				if name == "a claim" {
					return len(claimAll(t, s)) == 1
				}
				return test.call(s, done) == nil
			})
			close(cutOff)
			if err := <-returned; err != nil && !errors.Is(err, storage.ErrUnavailable) && !errors.Is(err, storage.ErrOutcomeUnknown) {
				t.Errorf("what was cut off: %v", err)
			}
			wantRows(t, pool, s, len(done), "attempts")
		})
	}
}
