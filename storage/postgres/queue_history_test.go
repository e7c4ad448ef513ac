package postgres

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/storage"
)

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
	if err != nil || len(got) != storage.HistoryKept {
		t.Errorf("%d attempts are shown (%v), want %d", len(got), err, storage.HistoryKept)
	}
	referencesAreCounted(t, pool, s)
}

// Results are recorded although the history cannot be cut: that is for the log.
func TestACutThatFailsIsNoFaultOfTheResults(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	var log bytes.Buffer
	s.log = slog.New(slog.NewTextHandler(&log, nil))
	earlier(t, s, pool, storage.HistoryKept+1)
	execute(t, pool, s, `
		CREATE FUNCTION formsvc.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused'; END $$;
		CREATE TRIGGER refuse BEFORE DELETE ON formsvc.attempts FOR EACH ROW EXECUTE FUNCTION formsvc.refuse()`)
	number := 1000
	eventually(t, "the log says so", func() bool {
		deliver(t, s, number, 20)
		number += 20
		return strings.Contains(log.String(), "not brought up to date") && strings.Contains(log.String(), "refused")
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
			earlier(t, s, pool, storage.HistoryKept+beyond)
			tx := begin(t, pool)
			if _, err := tx.Exec(t.Context(), s.db.SQL(test.hold)); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			waits := make(chan error, 1)
			go func() {
				_, err := s.db.Exec(ctx, strings.ReplaceAll(cutHistories[0], " SKIP LOCKED", ""), [][]byte{hook[:]}, int64(cutMost), int64(storage.HistoryKept))
				waits <- err
			}()
			eventually(t, "the mutant waits", func() bool { return waited(t, pool, tx) })
			cancel()
			<-waits
			eventually(t, "the server has ended it, and its locks", func() bool {
				var others bool // that have a transaction in this schema
				err := pool.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_locks l WHERE l.relation = $1::text::regclass AND l.pid NOT IN ($2, pg_backend_pid()))`,
					s.db.SQL("formsvc.attempts"), int32(tx.Conn().PgConn().PID())).Scan(&others) // #nosec G115 -- a process id
				return err == nil && !others
			})

			for _, want := range []int{test.left, 0} {
				must(t, s.cutHistories(t.Context(), hook))
				wantRows(t, pool, s, storage.HistoryKept+want, "attempts", "events")
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
	earlier(t, s, pool, storage.HistoryKept)
	tx := begin(t, pool)
	must(t, s.On(tx).Redeliver(t.Context(), hook, earlierAttempt(1)))
	deliver(t, s, 500, 2) // two are beyond the history now, and one of them is redelivered
	must(t, s.cutHistories(t.Context(), hook))
	must(t, tx.Commit(t.Context()))
	got := claimAll(t, s)
	if len(got) != 1 || string(got[0].Body) != `{}` {
		t.Errorf("claimed %d deliveries after the redelivery, want one with its body", len(got))
	}
	wantRows(t, pool, s, storage.HistoryKept+1, "attempts")
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
			r.Delivery.Success, r.RetryIn, r.Standing = false, time.Hour, storage.Standing{Failures: 1}
			tx := begin(t, pool)
			finish(t, s.On(tx), r)
			done := make(chan error, 1)
			go func() { done <- end(s, r.Lease.WebhookID) }()
			eventually(t, "it waits for the result", func() bool { return waited(t, pool, tx) })
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
	earlier(t, s, pool, storage.HistoryKept+1)
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
	must(t, s.On(tx).cutHistories(t.Context(), hook))
	deleted := make(chan error, 1)
	go func() { deleted <- s.DeleteWebhook(context.Background(), storage.AsHost(), other.ID) }()
	eventually(t, "the second waits for the first", func() bool { return waited(t, pool, tx) })
	must(t, tx.Commit(t.Context()))
	must(t, <-deleted)
	wantRows(t, pool, s, storage.HistoryKept, "attempts", "events")
	referencesAreCounted(t, pool, s)
}
