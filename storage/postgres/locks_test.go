package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
)

func TestALockHasTheSameKeyInGoAndInSQL(t *testing.T) {
	t.Parallel()
	s, pool := testStore(t)
	ids := []storage.ID{{}, {4: 0x80}, {11: 1}, {4: 0xff, 5: 0xff, 6: 0xff, 7: 0xff, 8: 0xff, 9: 0xff, 10: 0xff, 11: 0xff}}
	for range 20 {
		var id storage.ID
		_, _ = rand.Read(id[:])
		ids = append(ids, id)
	}
	for _, id := range ids {
		var ofForm, ofWebhook int64
		err := pool.QueryRow(t.Context(), `
			SELECT `+lockKeyOfForm+`, `+lockKeyOfWebhook+`
			FROM (SELECT $1::bytea AS id) f, (SELECT $1::bytea AS form_id) w`,
			id[:], s.lockSalt(lockForms)).Scan(&ofForm, &ofWebhook)
		if want := s.lockKey(lockForms, id); err != nil || ofForm != want || ofWebhook != want {
			t.Errorf("%s: %d and %d in SQL (%v), %d in Go", id, ofForm, ofWebhook, err, want)
		}
	}
}

func TestLocksOfKindsAndSchemasDoNotMeet(t *testing.T) {
	t.Parallel()
	seen := map[int64]string{}
	for _, schema := range []string{"formsvc", "other"} {
		s := New(nil, WithSchema(schema))
		for _, kind := range []lockKind{lockForms, lockFunnels, lockOwners, lockKeys, lockValues, lockPartials, lockRequestedDeliveries, "migrations"} {
			key := s.lockKey(kind, storage.ID{10: 1})
			if other, taken := seen[key]; taken {
				t.Errorf("%s %s and %s share a lock", schema, kind, other)
			}
			seen[key] = schema + " " + string(kind)
		}
	}
}

// lockOrder is the order in which every change that waits locks the rows of the queue.
var lockOrder = []string{"deliveries", "destinations", "attempts", "events", "submissions"}

// A change that waits for the rows of one table has locked none of the tables that come
// later. So no two changes wait for each other.
func TestChangesOfTheQueueLockInOneOrder(t *testing.T) {
	t.Parallel()
	elsewhere, off := "https://elsewhere.example/", false
	update := func(change storage.WebhookChange) func(*Store, failing) error {
		return func(s *Store, f failing) error {
			change := change // several tests run it at one time
			change.At = time.Now()
			_, err := s.UpdateWebhook(context.Background(), storage.AsHost(), f.hook, change)
			return err
		}
	}
	purge := func(p storage.SweepParams) func(*Store, failing) error {
		return func(s *Store, _ failing) error {
			ctx := context.Background()
			if _, err := s.db.Exec(ctx, `UPDATE formsvc.forms SET trashed_at = now(), purged_at = now()`); err != nil {
				return err
			}
			_, err := s.removePurgedForms(ctx, p, nil)
			return err
		}
	}
	for name, test := range map[string]struct {
		run   func(*Store, failing) error
		waits []string // the tables whose rows it waits for
	}{
		"a new URL":            {update(storage.WebhookChange{URL: &elsewhere}), []string{"deliveries", "destinations"}},
		"disabling":            {update(storage.WebhookChange{Enabled: &off}), []string{"deliveries", "attempts", "events"}},
		"disabling with a URL": {update(storage.WebhookChange{Enabled: &off, URL: &elsewhere}), []string{"deliveries", "destinations", "attempts", "events"}},
		"deleting the webhook": {func(s *Store, f failing) error {
			return s.DeleteWebhook(context.Background(), storage.AsHost(), f.hook)
		}, []string{"deliveries", "destinations", "attempts", "events"}},
		"purging":   {purge(storage.SweepParams{Max: 100}), []string{"events", "submissions"}},
		"a removal": {purge(storage.SweepParams{Max: 100, RemovalsOnly: true}), []string{"deliveries", "attempts", "events", "submissions"}},
		"expiry": {func(s *Store, _ failing) error {
			got, err := s.ExpireDeliveries(context.Background(), expireParams())
			if err == nil && got.Deliveries == 0 {
				err = storage.ErrNotFound
			}
			return err
		}, []string{"deliveries", "destinations", "attempts", "events"}},
	} {
		for _, table := range test.waits {
			t.Run(name+", "+table, func(t *testing.T) {
				t.Parallel()
				s, pool := seeded(t)
				f := failingWebhook(t, s, pool)
				addSummaries(t, s, pool, f)
				tx := begin(t, pool)
				execute(t, tx, s, `SELECT FROM formsvc.`+table+` FOR UPDATE`)
				done := waits(t, pool, tx, func() error { return test.run(s, f) })
				for _, later := range lockOrder[slices.Index(lockOrder, table)+1:] {
					if n := lockedRows(t, pool, s, later); n > 0 {
						t.Errorf("it has locked %d rows of %s before those of %s", n, later, table)
					}
				}
				must(t, tx.Rollback(t.Context()))
				check(t, <-done)
			})
		}
	}
}

// A response is deleted while its event is redelivered twice. The first redelivery ends when
// the deletion has looked for pending deliveries. The second redelivery finds the delivery
// that the first one added. Neither it nor the deletion waits for what the other one has.
func TestDeletingAResponseBesideRedeliveries(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t, pgtest.MaxConns(6))
	deliver(t, s, 1, 1)
	hook, attempt := pgseed.ID(pgseed.Webhook, 0), pgseed.ID(pgseed.Attempt, 10)
	// inside calls f in a transaction, in which nothing is tried again.
	inside := func(tx pgx.Tx, f func(*Store) error) chan error {
		done := make(chan error, 1)
		go func() {
			err := f(s.On(tx))
			if err == nil {
				err = tx.Commit(context.Background())
			}
			done <- err
		}()
		return done
	}
	redeliver := func(s *Store) error { return s.Redeliver(context.Background(), hook, attempt) }

	first, deletion, second, response := begin(t, pool), begin(t, pool), begin(t, pool), begin(t, pool)
	execute(t, response, s, `SELECT FROM formsvc.submissions FOR UPDATE`)
	must(t, redeliver(s.On(first)))
	deleted := inside(deletion, func(s *Store) error {
		return s.DeleteSubmission(context.Background(), storage.AsHost(), pgseed.ID(pgseed.Form, 0), pgseed.ID(pgseed.Submission, 1))
	})
	eventually(t, "the deletion waits for the event", func() bool { return waited(t, pool, first) })
	must(t, first.Commit(t.Context()))
	eventually(t, "the deletion has the event, and waits for the response", func() bool { return waited(t, pool, response) })
	redelivered := inside(second, redeliver)
	eventually(t, "the second redelivery has what it waits for, or waits for the deletion", func() bool {
		return len(redelivered) > 0 || waited(t, pool, deletion)
	})
	must(t, response.Rollback(t.Context()))
	wantError(t, "Redeliver", <-redelivered, nil)
	wantError(t, "DeleteSubmission", <-deleted, nil)
	wantRows(t, pool, s, 0, "submissions", "deliveries", "events")
}

// addSummaries gives the webhook as many summaries of expired deliveries as are kept, long
// ago, so that another one removes one of them.
func addSummaries(t *testing.T, s *Store, pool *pgxpool.Pool, f failing) {
	t.Helper()
	for i := range storage.MaxExpiredSummaries {
		id := pgseed.ID(pgseed.Attempt, 100+i)
		_, err := pool.Exec(t.Context(), s.db.RewriteSQL(`
			WITH told AS (
				INSERT INTO formsvc.attempts (webhook_id, id, event_id, event_type, attempt, http_status, success, error, duration_us, created_at)
				VALUES ($1, $2, $3, 'e', 1, 0, false, 'expired', 0, $4)
			)
			UPDATE formsvc.events SET refs = refs + 1 WHERE id = $3`),
			f.hook[:], id[:], f.first.EventID[:], pgseed.Start().Add(time.Duration(i)*time.Second-time.Hour))
		must(t, err)
	}
}

// lockedRows counts the rows of a table that somebody has locked.
func lockedRows(t *testing.T, pool *pgxpool.Pool, s *Store, table string) int {
	t.Helper()
	var n int
	if err := pool.QueryRow(t.Context(), s.db.RewriteSQL(`SELECT (SELECT count(*) FROM formsvc.`+table+`) - (
		SELECT count(*) FROM (SELECT FROM formsvc.`+table+` FOR UPDATE SKIP LOCKED) free)`)).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// holdAll locks all that a write to a form may wait for.
func holdAll(t *testing.T, s *Store, form int) pgx.Tx {
	t.Helper()
	tx := begin(t, pgtest.Pool(t, pgtest.MaxConns(1)))
	id := pgseed.ID(pgseed.Form, form)
	for _, kind := range []lockKind{lockForms, lockPartials} {
		run(t, tx, lockExclusive, s.lockKey(kind, id))
	}
	for _, rows := range []string{"forms f WHERE f.id", "partials p WHERE p.form_id", "webhooks w WHERE w.form_id", "submissions s WHERE s.form_id"} {
		run(t, tx, s.db.RewriteSQL("SELECT FROM formsvc."+rows+" = $1::bytea FOR UPDATE"), id[:])
	}
	return tx
}

// writesTo are the writes that wait for a form: each has a lock of the form or one of its rows.
// Their number makes what they write differ.
func writesTo(form int) map[string]func(context.Context, *Store, int) error {
	id, hook, host := pgseed.ID(pgseed.Form, form), pgseed.ID(pgseed.Webhook, form), storage.AsHost()
	update := func(c storage.FormChange) func(context.Context, *Store, int) error {
		return func(ctx context.Context, s *Store, _ int) error {
			c := c
			c.At = pgseed.Start()
			_, err := s.UpdateForm(ctx, host, id, c)
			return err
		}
	}
	document := storage.DocumentChange{Kind: "working-copy", Key: "k", Value: []byte(`{}`), At: pgseed.Start()}
	return map[string]func(context.Context, *Store, int) error{
		"a name":                   update(storage.FormChange{Name: ptr("n")}),
		"blocks":                   update(storage.FormChange{Definition: storage.Definition{Blocks: []byte(`[]`)}}),
		"a limit":                  update(storage.FormChange{Acceptance: &storage.AcceptanceRules{ResponseLimit: 1000}}),
		"a form and its documents": update(storage.FormChange{Name: ptr("m"), Documents: []storage.DocumentChange{document}}),
		"a document": func(ctx context.Context, s *Store, _ int) error {
			return errorOf(s.PutDocument(ctx, host, id, document))
		},
		"one partial submission": func(ctx context.Context, s *Store, n int) error {
			_, err := s.SavePartial(ctx, later(half(form, form), 100+n))
			return err
		},
		"new partial submissions": func(ctx context.Context, s *Store, n int) error {
			_, err := s.SavePartial(ctx, half(form, 1000*(form+1)+n))
			return err
		},
		"submissions": func(ctx context.Context, s *Store, n int) error {
			_, _, err := s.Submit(ctx, responseTo(form, 1000*(form+1)+n))
			return err
		},
		"submissions with an answer of their own": func(ctx context.Context, s *Store, n int) error {
			r := responseTo(form, 1000*(form+1)+n)
			r.UniqueAnswer = []byte(fmt.Sprint(n))
			_, _, err := s.Submit(ctx, r)
			return err
		},
		"deleted submissions": func(ctx context.Context, s *Store, _ int) error {
			return s.DeleteSubmission(ctx, host, id, pgseed.ID(pgseed.Submission, form))
		},
		"a webhook": func(ctx context.Context, s *Store, n int) error {
			_, err := s.UpdateWebhook(ctx, host, hook, storage.WebhookChange{Enabled: ptr(true), At: pgseed.Start()})
			return err
		},
		"the trash": func(ctx context.Context, s *Store, _ int) error {
			return s.TrashForm(ctx, host, id, storage.TrashParams{At: pgseed.Start()})
		},
		"lifetime counters": func(ctx context.Context, s *Store, n int) error {
			return s.SetLifetimeCounters(ctx, id, storage.Counters{Views: int64(n)})
		},
	}
}

// seededFor has forms of which each has a webhook, a submission and a partial submission.
func seededFor(t *testing.T, s *Store, forms int) {
	t.Helper()
	for form := range forms {
		keep(t, s, half(form, form))
		mustSubmit(t, s, responseTo(form, form))
	}
}

// othersWithin is how long a call may take that nothing holds up. It is half a second, which a
// machine that does other work at the same time may miss: then the test only tells whether calls
// wait for the locks of others, which end far later.
func othersWithin() time.Duration {
	if strictTimes() {
		return 500 * time.Millisecond
	}
	return 10 * time.Second
}

// strictTimes reports whether nothing else runs on the machine, so that no slowness is excused.
func strictTimes() bool { return os.Getenv("FORMSVC_TEST_TIMES") == "strict" }

// Whatever waits for forms that are held, calls to other forms do not wait for these, and all
// that waits is written when the forms are released.
func TestHeldFormsDelayNoOther(t *testing.T) {
	t.Parallel()
	kinds := slices.Sorted(maps.Keys(writesTo(0)))
	kinds = append(kinds, "all kinds at once")
	pools := []struct {
		most int32
		held int
	}{{4, 3}, {12, 1}} // with the fewest and the most connections that no held form needs
	if testing.Short() {
		pools = pools[:1]
	}
	for _, p := range pools {
		most, held := p.most, p.held
		for _, kind := range kinds {
			t.Run(fmt.Sprintf("%d connections, %d held, %s", most, held, kind), func(t *testing.T) {
				t.Parallel()
				pool := pgtest.Pool(t, pgtest.MaxConns(most))
				s := New(pool, WithSchema(filled(t, pool, pgseed.Size{Forms: held + 2, Webhooks: held + 2})), WithTimeout(time.Minute))
				seededFor(t, s, held+2)
				var group sync.WaitGroup
				var txs []pgx.Tx
				for form := range held {
					txs = append(txs, holdAll(t, s, form))
					for n := range 16 {
						for name, write := range writesTo(form) {
							if name != kind && (kind != "all kinds at once" || n > 2) {
								continue
							}
							group.Go(func() {
								err := write(context.WithoutCancel(t.Context()), s, n)
								missing := errors.Is(err, storage.ErrNotFound) || errors.Is(err, storage.ErrConflict) || errors.Is(err, storage.ErrRevisionMismatch)
								if err != nil && !missing {
									t.Errorf("%s: %v", name, err)
								}
							})
						}
					}
				}
				eventually(t, "writes wait", func() bool { return pool.Stat().AcquiredConns() > 0 })
				var slowest time.Duration
				var which string
				end := time.After(1500 * time.Millisecond)
				for n, over := 0, false; !over; n++ {
					for name, call := range map[string]func() error{
						"a read":       func() error { return errorOf(s.Form(t.Context(), storage.AsHost(), pgseed.ID(pgseed.Form, held))) },
						"a submission": func() error { return writesTo(held)["submissions"](t.Context(), s, n) },
						"an edit":      func() error { return writesTo(held + 1)["a name"](t.Context(), s, n) },
						"a document":   func() error { return writesTo(held + 1)["a document"](t.Context(), s, n) },
					} {
						began := time.Now()
						wantError(t, name, call(), nil)
						if took := time.Since(began); took > slowest {
							slowest, which = took, name
						}
					}
					select {
					case <-end:
						over = true
					default:
					}
				}
				t.Logf("slowest: %s, %v", which, slowest)
				expect(t, slowest <= othersWithin(), "%s took %v", which, slowest)
				for _, tx := range txs {
					must(t, tx.Rollback(t.Context()))
				}
				group.Wait()
			})
		}
	}
}

// A write whose form is held until the end of its time has not been made, and its caller
// knows.
func TestAHeldFormEndsInUnavailable(t *testing.T) {
	t.Parallel()
	for kind := range writesTo(0) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			pool := pgtest.Pool(t, pgtest.MaxConns(4))
			s := New(pool, WithSchema(filled(t, pool, pgseed.Size{Forms: 1, Webhooks: 1})), WithTimeout(2*time.Second))
			seededFor(t, s, 1)
			holdAll(t, s, 0)
			var group sync.WaitGroup
			for n := range 3 {
				group.Go(func() {
					for end := time.Now().Add(time.Minute); ; {
						began := time.Now()
						err := writesTo(0)[kind](t.Context(), s, n)
						took := time.Since(began)
						unknown := errors.Is(err, storage.ErrOutcomeUnknown)
						if (unknown || took > 3*time.Second) && !strictTimes() && time.Now().Before(end) {
							continue // the machine was too busy for the last attempt to end in its time
						}
						if !errors.Is(err, storage.ErrUnavailable) || unknown {
							t.Errorf("%v, want ErrUnavailable alone", err)
						}
						if took < time.Second || took > 3*time.Second {
							t.Errorf("it took %v of 2 s", took)
						}
						return
					}
				})
			}
			group.Wait()
		})
	}
}

// While commits wait for a silent standby, writes have half of the pool and reads go on.
func TestASilentStandbyLeavesHalfOfThePool(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	s, pool, standby := withStandby(t, WithTimeout(time.Minute))
	seededFor(t, s, 1)
	standby.Pause()
	var group sync.WaitGroup
	for _, write := range writesTo(0) {
		for n := range 4 {
			group.Go(func() { _ = write(t.Context(), s, n) })
		}
	}
	half := pool.Config().MaxConns / 2
	eventually(t, "commits wait", func() bool { return pool.Stat().AcquiredConns() == half })
	for range 20 {
		began := time.Now()
		check(t, errorOf(s.Form(t.Context(), storage.AsHost(), pgseed.ID(pgseed.Form, 0))))
		if took := time.Since(began); took > othersWithin() {
			t.Errorf("a read took %v", took)
		}
		if n := pool.Stat().AcquiredConns(); n > half {
			t.Errorf("writes have %d of %d connections", n, pool.Config().MaxConns)
		}
	}
	standby.Resume()
	group.Wait()
}
