package formsvc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/pgtest"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
	"github.com/formsvc/formsvc/storage/postgres"
)

// onEachStorage runs a test on a service with memory and one with PostgreSQL.
func onEachStorage(t *testing.T, test func(t *testing.T, b *bundle)) {
	t.Helper()
	for name, open := range map[string]func(*testing.T) storage.Storage{
		"memory":   func(*testing.T) storage.Storage { return memory.New() },
		"postgres": func(t *testing.T) storage.Storage { return postgresStore(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, setupOn(t, open(t), loopback(), formsvc.WithoutRateLimit()))
		})
	}
}

// settings replaces the settings of a form.
func (b *bundle) settings(form formsvc.ID, settings string) formsvc.Form {
	b.t.Helper()
	f, err := b.AsHost().UpdateForm(b.t.Context(), form, formsvc.FormUpdate{Definition: formsvc.Definition{Settings: json.RawMessage(settings)}})
	if err != nil {
		b.t.Fatal(err)
	}
	return f
}

// cover calls Maintain until the form is covered.
func cover(b *bundle, form formsvc.ID) {
	b.t.Helper()
	for range 100 {
		if err := b.Maintain(b.t.Context()); err != nil {
			b.t.Fatal(err)
		}
		f, err := b.AsHost().Form(b.t.Context(), form)
		if err != nil {
			b.t.Fatal(err)
		}
		if f.DuplicatesCovered {
			return
		}
	}
	b.t.Fatal("the form is not covered after 100 calls of Maintain")
}

func (b *bundle) submit(form formsvc.ID, pairs ...string) (formsvc.Submission, error) {
	return b.Submit(b.t.Context(), formsvc.Response{FormID: form, Answers: answers(pairs...)})
}

const mailBlocks = `[{"id":"mail","type":"email"},{"id":"name","type":"short_text"}]`

func TestDuplicatesCoverEarlierResponses(t *testing.T) {
	t.Parallel()
	onEachStorage(t, func(t *testing.T, b *bundle) {
		form := b.form(mailBlocks, `{}`)
		var first []formsvc.Submission
		for _, mail := range []string{`"Ann@example.com"`, `"ann@EXAMPLE.com"`, `"bob@m\u00fcnchen.de"`} {
			s, err := b.submit(form, "mail", mail)
			if err != nil {
				t.Fatal(err)
			}
			first = append(first, s)
		}
		taken := func(mail string, want bool, when string) {
			t.Helper()
			s, err := b.submit(form, "mail", mail)
			if got := errors.Is(err, formsvc.ErrDuplicate); got != want || err != nil && !got {
				t.Errorf("%s %s: %v", mail, when, err)
			}
			if err == nil {
				if err := b.AsHost().DeleteSubmission(t.Context(), form, s.ID); err != nil {
					t.Error(err)
				}
			}
		}
		if f := b.settings(form, `{"duplicateField":"mail"}`); f.DuplicatesCovered {
			t.Error("the form is covered before anything was entered")
		}
		cover(b, form)
		for _, mail := range []string{`"ANN@example.com "`, `"ann@example.com"`, `"BOB@xn--mnchen-3ya.de"`} {
			taken(mail, true, "after entering")
		}
		taken(`"carl@example.com"`, false, "which nobody has")
		for i, s := range first[:2] {
			taken(`"ann@example.com"`, true, fmt.Sprintf("after %d of 2 are deleted", i))
			if err := b.AsHost().DeleteSubmission(t.Context(), form, s.ID); err != nil {
				t.Fatal(err)
			}
		}
		taken(`"ann@example.com"`, false, "after both are deleted")

		// Switched off, responses come that are compared when it is switched on again.
		if f := b.settings(form, `{}`); f.DuplicatesCovered {
			t.Error("a form without duplicateField is covered")
		}
		if _, err := b.submit(form, "mail", `"Dora@example.com"`); err != nil {
			t.Fatal(err)
		}
		b.settings(form, `{"duplicateField":"name"}`)
		if _, err := b.submit(form, "mail", `"Emil@example.com"`, "name", `"Emil"`); err != nil {
			t.Fatal(err)
		}
		b.settings(form, `{"duplicateField":"mail"}`)
		cover(b, form)
		for _, mail := range []string{`"bob@m\u00fcnchen.de"`, `"dora@example.com"`, `"emil@example.com"`} {
			taken(mail, true, "after the setting was switched off, changed and set again")
		}
		b.settings(form, `{"duplicateField":"name"}`)
		cover(b, form)
		if _, err := b.submit(form, "name", `" EMIL"`); !errors.Is(err, formsvc.ErrDuplicate) {
			t.Error(err)
		}
	})
}

// Of 64 respondents who send the same address in other spellings at once, one is
// stored, and none when an old response has it. Meanwhile two processes go on entering.
func TestParallelDuplicatesByMeaning(t *testing.T) {
	t.Parallel()
	onEachStorage(t, func(t *testing.T, b *bundle) {
		form := b.form(mailBlocks, `{}`)
		if _, err := b.submit(form, "mail", `"old@example.com"`); err != nil {
			t.Fatal(err)
		}
		b.settings(form, `{"duplicateField":"mail"}`)
		cover(b, form)
		spellings := []string{`"%s@example.com"`, `" %s@EXAMPLE.com"`, `"%s@Example.COM"`}
		for name, want := range map[string]int64{"new": 1, "OLD": 0} {
			var stored atomic.Int64
			var wg sync.WaitGroup
			for range 2 {
				wg.Go(func() {
					if err := b.Maintain(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			for i := range 64 {
				wg.Go(func() {
					_, err := b.submit(form, "mail", fmt.Sprintf(spellings[i%len(spellings)], name))
					if err == nil {
						stored.Add(1)
					} else if !errors.Is(err, formsvc.ErrDuplicate) {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if got := stored.Load(); got != want {
				t.Errorf("%s: %d of 64 stored, want %d", name, got, want)
			}
		}
	})
}

// An answer of a response that the host rolled back is free, and one that is not
// committed yet is waited for.
func TestARolledBackResponseFreesItsAnswer(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t, pgtest.MaxConns(8))
	store := migrated(t, pool, postgres.WithSchema(pgtest.Schema(t)))
	b := setupOn(t, store)
	form := b.form(mailBlocks, `{"duplicateField":"mail"}`)
	for _, test := range []struct {
		end    func(pgx.Tx, context.Context) error
		stored bool
	}{{pgx.Tx.Rollback, true}, {pgx.Tx.Commit, false}} {
		tx, err := pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r := formsvc.Response{FormID: form, Answers: answers("mail", `"Ann@example.com"`)}
		inTx := b.Using(store.On(tx))
		if test.stored {
			if _, err := inTx.Submit(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		} else if _, err := inTx.Submit(t.Context(), formsvc.Response{FormID: form, Answers: answers("mail", `"bob@example.com"`)}); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() {
			mail := `"ANN@example.com"`
			if !test.stored {
				mail = `"BOB@example.com"`
			}
			_, err := b.submit(form, "mail", mail)
			done <- err
		}()
		waitFor(t, "the response to wait for the host's transaction", func() bool {
			var waiting bool
			err := pool.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_locks
				WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`).Scan(&waiting)
			return err == nil && waiting
		})
		if err := test.end(tx, t.Context()); err != nil {
			t.Fatal(err)
		}
		err = <-done
		if test.stored && err != nil || !test.stored && !errors.Is(err, formsvc.ErrDuplicate) {
			t.Errorf("stored %v: %v", test.stored, err)
		}
	}
}

// waitFor polls a condition.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited 20 s for %s", what)
		}
	}
}
