package servicetest_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/storage/postgres"
)

// cover calls Maintain until the form is covered.
func cover(b *servicetest.Bundle, form formsvc.ID) {
	b.T.Helper()
	for range 100 {
		if err := b.Maintain(b.T.Context()); err != nil {
			b.T.Fatal(err)
		}
		f, err := b.AsHost().Form(b.T.Context(), form)
		if err != nil {
			b.T.Fatal(err)
		}
		if f.DuplicatesCovered {
			return
		}
	}
	b.T.Fatal("the form is not covered after 100 calls of Maintain")
}

func TestDuplicatesCoverEarlierResponses(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		form := b.Form(servicetest.MailBlocks, `{}`)
		var first []formsvc.Submission
		for _, mail := range []string{`"Ann@example.com"`, `"ann@EXAMPLE.com"`, `"bob@m\u00fcnchen.de"`} {
			s, err := b.Answer(form, "mail", mail)
			if err != nil {
				t.Fatal(err)
			}
			first = append(first, s)
		}
		taken := func(mail string, want bool, when string) {
			t.Helper()
			s, err := b.Answer(form, "mail", mail)
			if got := errors.Is(err, formsvc.ErrDuplicate); got != want || err != nil && !got {
				t.Errorf("%s %s: %v", mail, when, err)
			}
			if err == nil {
				if err := b.AsHost().DeleteSubmission(t.Context(), form, s.ID); err != nil {
					t.Error(err)
				}
			}
		}
		if f := b.Settings(form, `{"duplicateField":"mail"}`); f.DuplicatesCovered {
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
		if f := b.Settings(form, `{}`); f.DuplicatesCovered {
			t.Error("a form without duplicateField is covered")
		}
		if _, err := b.Answer(form, "mail", `"Dora@example.com"`); err != nil {
			t.Fatal(err)
		}
		b.Settings(form, `{"duplicateField":"name"}`)
		if _, err := b.Answer(form, "mail", `"Emil@example.com"`, "name", `"Emil"`); err != nil {
			t.Fatal(err)
		}
		b.Settings(form, `{"duplicateField":"mail"}`)
		cover(b, form)
		for _, mail := range []string{`"bob@m\u00fcnchen.de"`, `"dora@example.com"`, `"emil@example.com"`} {
			taken(mail, true, "after the setting was switched off, changed and set again")
		}
		b.Settings(form, `{"duplicateField":"name"}`)
		cover(b, form)
		if _, err := b.Answer(form, "name", `" EMIL"`); !errors.Is(err, formsvc.ErrDuplicate) {
			t.Error(err)
		}
	})
}

// Of 64 respondents who send the same address in other spellings at once, one is
// stored, and none when an old response has it. Meanwhile two processes go on entering.
func TestParallelDuplicatesByMeaning(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		form := b.Form(servicetest.MailBlocks, `{}`)
		if _, err := b.Answer(form, "mail", `"old@example.com"`); err != nil {
			t.Fatal(err)
		}
		b.Settings(form, `{"duplicateField":"mail"}`)
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
					_, err := b.Answer(form, "mail", fmt.Sprintf(spellings[i%len(spellings)], name))
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
	store := servicetest.Migrated(t, pool, postgres.WithSchema(pgtest.Schema(t)))
	b := servicetest.SetupOn(t, store)
	form := b.Form(servicetest.MailBlocks, `{"duplicateField":"mail"}`)
	for _, test := range []struct {
		end    func(pgx.Tx, context.Context) error
		stored bool
	}{{pgx.Tx.Rollback, true}, {pgx.Tx.Commit, false}} {
		tx, err := pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r := formsvc.Response{FormID: form, Answers: servicetest.Answers("mail", `"Ann@example.com"`)}
		inTx := b.Using(store.On(tx))
		if test.stored {
			if _, err := inTx.Submit(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		} else if _, err := inTx.Submit(t.Context(), formsvc.Response{FormID: form, Answers: servicetest.Answers("mail", `"bob@example.com"`)}); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() {
			mail := `"ANN@example.com"`
			if !test.stored {
				mail = `"BOB@example.com"`
			}
			_, err := b.Answer(form, "mail", mail)
			done <- err
		}()
		servicetest.WaitFor(t, "the response to wait for the host's transaction", func() bool {
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
