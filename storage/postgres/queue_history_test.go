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
		if _, err := pool.Exec(t.Context(), s.db.SQL(text), hook[:], form[:], n); err != nil {
			t.Fatal(err)
		}
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
	if _, err := pool.Exec(t.Context(), s.db.SQL(`
		CREATE FUNCTION formsvc.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused'; END $$;
		CREATE TRIGGER refuse BEFORE DELETE ON formsvc.attempts FOR EACH ROW EXECUTE FUNCTION formsvc.refuse()`)); err != nil {
		t.Fatal(err)
	}
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
			tx, err := pool.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
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
				if err := s.cutHistories(t.Context(), hook); err != nil {
					t.Fatal(err)
				}
				for _, table := range []string{"attempts", "events"} {
					if n := count(t, pool, s, table); n != storage.HistoryKept+want {
						t.Errorf("%d %s are left, want %d", n, table, storage.HistoryKept+want)
					}
				}
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
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	if err := s.On(tx).Redeliver(t.Context(), hook, earlierAttempt(1)); err != nil {
		t.Fatal(err)
	}
	deliver(t, s, 500, 2) // two are beyond the history now, and one of them is redelivered
	if err := s.cutHistories(t.Context(), hook); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := claimAll(t, s)
	if len(got) != 1 || string(got[0].Body) != `{}` {
		t.Errorf("claimed %d deliveries after the redelivery, want one with its body", len(got))
	}
	if n := count(t, pool, s, "attempts"); n != storage.HistoryKept+1 {
		t.Errorf("%d attempts, want %d: that which is redelivered stays for now", n, storage.HistoryKept+1)
	}
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
			if _, _, err := s.Submit(t.Context(), response(1)); err != nil {
				t.Fatal(err)
			}
			r := ended(claimAll(t, s)[0], 1)
			r.Delivery.Success, r.RetryIn, r.Standing = false, time.Hour, storage.Standing{Failures: 1}
			tx, err := pool.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
			if fenced, err := s.On(tx).FinishDeliveries(t.Context(), []storage.Result{r}); err != nil || len(fenced) > 0 {
				t.Fatal(fenced, err)
			}
			done := make(chan error, 1)
			go func() { done <- end(s, r.Lease.WebhookID) }()
			eventually(t, "it waits for the result", func() bool { return waited(t, pool, tx) })
			if err := tx.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			if n := count(t, pool, s, "deliveries"); n > 0 {
				t.Errorf("%d deliveries are pending", n)
			}
			referencesAreCounted(t, pool, s)
			attemptsKeepTheirEvents(t, pool, s)
		})
	}
}

// An attempt changes while its history is cut: it gets to refer to its event. It stays with
// its event for a later cut.
func TestTheCutOfAHistoryPassesOverWhatChanges(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	hook := pgseed.ID(pgseed.Webhook, 0)
	earlier(t, s, pool, storage.HistoryKept+1)
	oldest := earlierAttempt(1)
	if _, err := pool.Exec(t.Context(), s.db.SQL(`
		WITH told AS (UPDATE formsvc.attempts SET next_attempt_at = now() WHERE id = $1 RETURNING webhook_id, event_id)
		INSERT INTO formsvc.deliveries (webhook_id, event_id, token, size, due_at) SELECT webhook_id, event_id, 0, 2, now() + interval '1 hour' FROM told`), oldest[:]); err != nil {
		t.Fatal(err)
	}
	referencesAreCounted(t, pool, s)

	// It waits when it has taken its snapshot, and before it locks attempts. And it finds
	// them as a server does that looks at a row's new version without asking again whether
	// its ctid is the one that was asked for.
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	if _, err := tx.Exec(t.Context(), `SELECT pg_advisory_xact_lock(hashtext($1))`, s.db.Schema); err != nil {
		t.Fatal(err)
	}
	const join = "FROM old o JOIN formsvc.attempts a ON a.ctid = o.place"
	if !strings.Contains(cutHistories[0], join) {
		t.Fatal("the statement has changed")
	}
	slowly := strings.Replace(cutHistories[0], join, `FROM (SELECT o.*, pg_advisory_xact_lock_shared(hashtext('`+s.db.Schema+`')) FROM old o OFFSET 0) o
		JOIN formsvc.attempts a ON a.id = (SELECT b.id FROM formsvc.attempts b WHERE b.ctid = o.place)`, 1)
	cut := make(chan error, 1)
	go func() {
		_, err := s.db.Exec(context.Background(), slowly, [][]byte{hook[:]}, int64(cutMost), int64(storage.HistoryKept))
		cut <- err
	}()
	eventually(t, "the cut waits", func() bool { return waited(t, pool, tx) })
	off := false
	if _, err := s.UpdateWebhook(t.Context(), storage.AsHost(), hook, storage.WebhookChange{Enabled: &off, At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-cut; err != nil {
		t.Fatal(err)
	}
	referencesAreCounted(t, pool, s)
	attemptsKeepTheirEvents(t, pool, s)
	for _, table := range []string{"attempts", "events"} {
		if n := count(t, pool, s, table); n != storage.HistoryKept+1 {
			t.Errorf("%d %s, want %d: that which changed stays for now", n, table, storage.HistoryKept+1)
		}
	}
	if err := s.cutHistories(t.Context(), hook); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"attempts", "events"} {
		if n := count(t, pool, s, table); n != storage.HistoryKept {
			t.Errorf("%d %s are left, want %d", n, table, storage.HistoryKept)
		}
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
	if err := s.CreateWebhook(t.Context(), storage.AsHost(), storage.NewWebhook{Webhook: other}); err != nil {
		t.Fatal(err)
	}
	oldest := earlierAttempt(1)
	if _, err := pool.Exec(t.Context(), s.db.SQL(`
		WITH told AS (
			INSERT INTO formsvc.attempts (webhook_id, id, event_id, event_type, attempt, http_status, success, error, duration_us, created_at)
			SELECT $1, id, event_id, event_type, attempt, http_status, success, error, duration_us, created_at FROM formsvc.attempts WHERE id = $2
			RETURNING event_id
		)
		UPDATE formsvc.events SET refs = 2 WHERE id = (SELECT event_id FROM told)`), other.ID[:], oldest[:]); err != nil {
		t.Fatal(err)
	}
	referencesAreCounted(t, pool, s)
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	if err := s.On(tx).cutHistories(t.Context(), hook); err != nil {
		t.Fatal(err)
	}
	deleted := make(chan error, 1)
	go func() { deleted <- s.DeleteWebhook(context.Background(), storage.AsHost(), other.ID) }()
	eventually(t, "the second waits for the first", func() bool { return waited(t, pool, tx) })
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-deleted; err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"attempts", "events"} {
		if n := count(t, pool, s, table); n != storage.HistoryKept {
			t.Errorf("%d %s are left, want %d", n, table, storage.HistoryKept)
		}
	}
	referencesAreCounted(t, pool, s)
}
