package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

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
					r.Delivery.Success, r.RetryIn, r.Health = false, time.Hour, storage.Health{Failures: 1}
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
			if tag, err := tx.Exec(t.Context(), s.db.RewriteSQL(lock), hook[:]); err != nil || tag.RowsAffected() == 0 {
				t.Fatal(tag, err)
			}

			if test.waits {
				mutant := s.On(edited{pool, func(text string) string {
					return strings.ReplaceAll(text, " SKIP LOCKED", "")
				}})
				ctx, cancel := context.WithCancel(t.Context())
				ended := waits(t, pool, tx, func() error { return errorOf(mutant.FinishDeliveries(ctx, done)) })
				cancel()
				if err := <-ended; err == nil {
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
			var held *storage.BlockedResultsError
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
	r.Delivery.Success, r.RetryIn, r.Health = false, time.Hour, storage.Health{Failures: 1}
	tx := begin(t, pool)
	execute(t, tx, s, `SELECT FROM formsvc.destinations FOR UPDATE`)
	held := new(storage.BlockedResultsError)
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
	var held *storage.BlockedResultsError
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
	r.Delivery.Success, r.RetryIn, r.Health = false, time.Hour, storage.Health{Failures: 1}
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
	r.Health, r.PauseFor = storage.Health{Failures: 10}, time.Hour
	tx := begin(t, pool)
	elsewhere := "https://elsewhere.example/"
	if _, err := s.On(tx).UpdateWebhook(t.Context(), storage.AsHost(), r.Lease.WebhookID, storage.WebhookChange{URL: &elsewhere, At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	_, err := s.FinishDeliveries(t.Context(), []storage.Result{r})
	if held := new(storage.BlockedResultsError); !errors.As(err, &held) {
		t.Fatalf("%v, want a HeldError while the URL is changed", err)
	}
	must(t, tx.Commit(t.Context()))
	finish(t, s, r)
	if paused, err := s.PausedWebhooks(t.Context(), storage.AsHost(), storage.Page{Limit: 10}); err != nil || len(paused) > 0 {
		t.Errorf("paused after the result of the URL before: %v (%v)", paused, err)
	}
	mustSubmit(t, s, response(2))
	for _, d := range claimAll(t, s) {
		if d.URL != elsewhere || d.Health != (storage.Health{}) {
			t.Errorf("claimed for %s with the standing %+v, want a new one", d.URL, d.Health)
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
			r.Delivery.Success, r.RetryIn, r.Health = false, time.Hour, storage.Health{Failures: 1}
			tx := begin(t, pool)
			run(t, tx, "SELECT pg_advisory_xact_lock($1)", test.lock)
			slow := s.On(edited{pool, func(text string) string {
				text = strings.Replace(text, "g.*, d.generation, d.urgency", s.db.RewriteSQL("g.*, d.generation, "+test.urgency), 1)
				return strings.Replace(text, "WHERE d.token <> 0", fmt.Sprintf("WHERE d.token <> 0 AND (SELECT pg_advisory_xact_lock_shared(%d)) IS NOT NULL", test.lock), 1)
			}})
			done := waits(t, pool, tx, func() error { // it has its snapshot then
				fenced, err := slow.FinishDeliveries(context.WithoutCancel(t.Context()), []storage.Result{r})
				if len(fenced) > 0 {
					err = fmt.Errorf("fenced %v (%w)", fenced, err)
				}
				return err
			})
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
		return lastError(s.ClaimDeliveries(context.Background(), everything()))
	}
	results := func(s *Store, done []storage.Result) error {
		return errorOf(s.FinishDeliveries(context.Background(), done))
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

// earlier gives the first webhook n attempts of the past, after each of which none follows,
// with their events. They are numbered from 1 on.
func earlier(t *testing.T, s *Store, pool *pgxpool.Pool, n int) {
	t.Helper()
	hook, form := pgseed.ID(pgseed.Webhook, 0), pgseed.ID(pgseed.Form, 0)
	for _, text := range []string{`
		INSERT INTO formsvc.events (id, form_id, type, body, refs)
		SELECT '\x0e000000'::bytea || int8send(i), $2::bytea, 'e', '{}', 1 FROM generate_series(1, $3::integer) i WHERE $1::bytea <> ''`, `
		INSERT INTO formsvc.attempts (webhook_id, id, event_id, event_type, attempt, http_status, success, error, duration_us, created_at)
		SELECT $1::bytea, '\x0a000000'::bytea || int8send(i), '\x0e000000'::bytea || int8send(i), 'e', 1, 200, true, '', 1,
			'2025-01-01'::timestamptz + i * interval '1 second'
		FROM generate_series(1, $3::integer) i WHERE $2::bytea <> ''`} {
		execute(t, pool, s, text, hook[:], form[:], n)
	}
}

// earlierAttempt is the id of one of them.
func earlierAttempt(number int) storage.ID {
	return storage.ID{0x0a, 10: byte(number >> 8), 11: byte(number)}
}

// Sooner or later a history is cut.
func TestResultsCutTheHistory(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	const before = 300
	earlier(t, s, pool, before)
	number := 1000
	eventually(t, "the history is cut", func() bool {
		deliver(t, s, number, 20)
		number += 20
		return count(t, pool, s, "attempts") < before
	})
	got, err := s.Deliveries(t.Context(), storage.AsHost(), pgseed.ID(pgseed.Webhook, 0), 1000)
	if err != nil || len(got) != storage.MaxHistory {
		t.Errorf("%d attempts are shown (%v), want %d", len(got), err, storage.MaxHistory)
	}
	referencesAreCounted(t, pool, s)
}

// Results are recorded although the history cannot be cut: that is for the log.
func TestACutThatFailsIsNoFaultOfTheResults(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	var log bytes.Buffer
	s.log = slog.New(slog.NewTextHandler(&log, nil))
	earlier(t, s, pool, storage.MaxHistory+1)
	execute(t, pool, s, `
		CREATE FUNCTION formsvc.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused'; END $$;
		CREATE TRIGGER refuse BEFORE DELETE ON formsvc.attempts FOR EACH ROW EXECUTE FUNCTION formsvc.refuse()`)
	number := 1000
	eventually(t, "the log says so", func() bool {
		deliver(t, s, number, 20)
		number += 20
		return strings.Contains(log.String(), "failed to update webhook delivery histories") && strings.Contains(log.String(), "refused")
	})
}

// Somebody holds attempts or events of the history. What they hold stays, and nobody waits.
// A mutant does.
func TestTheCutOfAHistoryWaitsForNobody(t *testing.T) {
	t.Parallel()
	const beyond = 7
	for name, test := range map[string]struct {
		hold string
		left int
	}{
		"all attempts": {`SELECT FROM formsvc.attempts FOR UPDATE`, beyond},
		"all events":   {`SELECT FROM formsvc.events FOR UPDATE`, beyond},
		"one attempt":  {`SELECT FROM formsvc.attempts ORDER BY created_at LIMIT 1 FOR UPDATE`, 1},
		"one event":    {`SELECT FROM formsvc.events ORDER BY id LIMIT 1 FOR UPDATE`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, pool := seeded(t)
			hook := pgseed.ID(pgseed.Webhook, 0)
			earlier(t, s, pool, storage.MaxHistory+beyond)
			tx := begin(t, pool)
			run(t, tx, s.db.RewriteSQL(test.hold))
			ctx, cancel := context.WithCancel(t.Context())
			mutant := strings.ReplaceAll(truncateHistories[0], " SKIP LOCKED", "")
			ended := waits(t, pool, tx, func() error {
				return errorOf(s.db.Exec(ctx, mutant, [][]byte{hook[:]}, int64(maxTruncated), int64(storage.MaxHistory)))
			})
			cancel()
			<-ended
			eventually(t, "the server has ended it, and its locks", func() bool {
				var others bool // that have a transaction in this schema
				err := pool.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_locks l WHERE l.relation = $1::text::regclass AND l.pid NOT IN ($2, pg_backend_pid()))`,
					s.db.RewriteSQL("formsvc.attempts"), int32(tx.Conn().PgConn().PID())).Scan(&others) // #nosec G115 -- a process id
				return err == nil && !others
			})

			for _, want := range []int{test.left, 0} {
				must(t, s.truncateHistories(t.Context(), hook))
				wantRows(t, pool, s, storage.MaxHistory+want, "attempts", "events")
				referencesAreCounted(t, pool, s)
				if err := tx.Rollback(t.Context()); err != nil && want > 0 {
					t.Fatal(err)
				}
			}
		})
	}
}

// Redeliver and the cut of the history meet at the event: no delivery is left without its
// body.
func TestRedeliverBesideTheCutOfTheHistory(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	hook := pgseed.ID(pgseed.Webhook, 0)
	earlier(t, s, pool, storage.MaxHistory)
	tx := begin(t, pool)
	must(t, s.On(tx).Redeliver(t.Context(), hook, earlierAttempt(1)))
	deliver(t, s, 500, 2) // two are beyond the history now, and one of them is redelivered
	must(t, s.truncateHistories(t.Context(), hook))
	must(t, tx.Commit(t.Context()))
	got := claimAll(t, s)
	if len(got) != 1 || string(got[0].Body) != `{}` {
		t.Errorf("claimed %d deliveries after the redelivery, want one with its body", len(got))
	}
	wantRows(t, pool, s, storage.MaxHistory+1, "attempts")
	referencesAreCounted(t, pool, s)
	for _, number := range []int{1, 2} {
		if err := s.Redeliver(t.Context(), hook, earlierAttempt(number)); !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("attempt %d is beyond the history: %v, want ErrNotFound", number, err)
		}
	}
}

// A webhook is disabled while one of its deliveries fails. The attempt that is recorded
// can be redelivered when the webhook is enabled again.
func TestAnAttemptKeepsTheEventOfADeliveryThatEndsMeanwhile(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(s *Store, hook storage.ID) error{
		"disabled": func(s *Store, hook storage.ID) error {
			off := false
			_, err := s.UpdateWebhook(context.Background(), storage.AsHost(), hook, storage.WebhookChange{Enabled: &off, At: time.Now()})
			return err
		},
		"trashed": func(s *Store, _ storage.ID) error {
			return s.TrashForm(context.Background(), storage.AsHost(), pgseed.ID(pgseed.Form, 0), storage.TrashParams{At: time.Now()})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, pool := seeded(t)
			mustSubmit(t, s, response(1))
			r := ended(claimAll(t, s)[0], 1)
			r.Delivery.Success, r.RetryIn, r.Health = false, time.Hour, storage.Health{Failures: 1}
			tx := begin(t, pool)
			finish(t, s.On(tx), r)
			done := waits(t, pool, tx, func() error { return end(s, r.Lease.WebhookID) })
			must(t, tx.Commit(t.Context()))
			must(t, <-done)
			wantRows(t, pool, s, 0, "deliveries")
			referencesAreCounted(t, pool, s)
			attemptsKeepTheirEvents(t, pool, s)
		})
	}
}

// Two calls at once remove the last two references to an event. The later one removes the
// event too.
func TestTheLastTwoReferencesGoAtOnce(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	hook, form := pgseed.ID(pgseed.Webhook, 0), pgseed.ID(pgseed.Form, 0)
	earlier(t, s, pool, storage.MaxHistory+1)
	other := storage.Webhook{ID: pgseed.ID(pgseed.Webhook, 1), FormID: form, URL: "https://other.example/", Enabled: true, CreatedAt: pgseed.Start(), UpdatedAt: pgseed.Start()}
	must(t, s.CreateWebhook(t.Context(), storage.AsHost(), storage.NewWebhook{Webhook: other}))
	oldest := earlierAttempt(1)
	execute(t, pool, s, `
		WITH told AS (
			INSERT INTO formsvc.attempts (webhook_id, id, event_id, event_type, attempt, http_status, success, error, duration_us, created_at)
			SELECT $1, id, event_id, event_type, attempt, http_status, success, error, duration_us, created_at FROM formsvc.attempts WHERE id = $2
			RETURNING event_id
		)
		UPDATE formsvc.events SET refs = 2 WHERE id = (SELECT event_id FROM told)`, other.ID[:], oldest[:])
	referencesAreCounted(t, pool, s)
	tx := begin(t, pool)
	must(t, s.On(tx).truncateHistories(t.Context(), hook))
	deleted := waits(t, pool, tx, func() error { return s.DeleteWebhook(context.Background(), storage.AsHost(), other.ID) })
	must(t, tx.Commit(t.Context()))
	must(t, <-deleted)
	wantRows(t, pool, s, storage.MaxHistory, "attempts", "events")
	referencesAreCounted(t, pool, s)
}
