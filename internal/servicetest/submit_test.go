package servicetest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
	"github.com/formsvc/formsvc/storage/postgres"
)

func TestARepeatedSubmitReturnsTheFirstResult(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	form, other := b.Form(servicetest.TextBlock, `{}`), b.Form(servicetest.TextBlock, `{}`)
	const attempts = 20
	ids := make(chan formsvc.ID, attempts)
	var wg sync.WaitGroup
	for i := range attempts {
		wg.Go(func() {
			s, err := b.Submit(t.Context(), formsvc.Response{
				FormID: form, Answers: servicetest.Answers("name", fmt.Sprintf(`"%d"`, i)), IdempotencyKey: "once",
			})
			check(t, err)
			ids <- s.ID
		})
	}
	wg.Wait()
	close(ids)
	first := <-ids
	for id := range ids {
		require(t, id == first, "two results, %s and %s", first, id)
	}
	n := b.Submissions(form)
	require(t, n == 1, "%d submissions, want 1", n)

	t.Run("even when the content is now refused", func(t *testing.T) {
		s, err := b.Submit(t.Context(), formsvc.Response{FormID: form, IdempotencyKey: "once"})
		require(t, err == nil && s.ID == first, "%s, %v; want %s", s.ID, err, first)
	})
	t.Run("even when the form has closed since", func(t *testing.T) {
		b.Do(http.MethodPatch, "/forms/"+form.String(), `{"definition":{"settings":{"closed":true}}}`, nil)
		s, err := b.Submit(t.Context(), formsvc.Response{FormID: form, Answers: servicetest.Answers("name", `"x"`), IdempotencyKey: "once"})
		require(t, err == nil && s.ID == first, "%s, %v; want %s", s.ID, err, first)
		if _, err := b.Submit(t.Context(), formsvc.Response{FormID: form, Answers: servicetest.Answers("name", `"x"`)}); !errors.Is(err, formsvc.ErrClosed) {
			t.Fatalf("a new response: %v, want ErrClosed", err)
		}
	})
	t.Run("but another form has its own keys", func(t *testing.T) {
		s, err := b.Submit(t.Context(), formsvc.Response{FormID: other, Answers: servicetest.Answers("name", `"x"`), IdempotencyKey: "once"})
		require(t, err == nil && s.ID != first, "%s, %v; want another submission", s.ID, err)
	})
}

// A form that changes under Submit's cache must be seen at once, both when it
// refuses more than before and when it refuses less.
func TestSubmitSeesTheCurrentForm(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	form := b.Form(servicetest.TextBlock, `{}`)
	submit := func(a map[string]json.RawMessage) error {
		_, err := b.Submit(t.Context(), formsvc.Response{FormID: form, Answers: a})
		return err
	}
	noError(t, submit(servicetest.Answers("name", `"x"`)))
	path := "/forms/" + form.String()

	b.Do(http.MethodPut, path+"/blocks", `{"blocks":[{"id":"age","type":"number","required":true}]}`, nil)
	var faults *formsvc.Error
	err := submit(servicetest.Answers("name", `"x"`))
	require(t, errors.As(err, &faults), "answers to the old form: %v, want an Error", err)
	expect(t, len(faults.Violations) == 2, "violations %+v, want an unknown field and a missing answer", faults.Violations)
	wantError(t, "answers to the new form", submit(servicetest.Answers("age", `7`)), nil)
	if err := submit(nil); !errors.As(err, &faults) {
		t.Errorf("no answer: %v, want an Error", err)
	}
	b.Do(http.MethodPatch, path+"/blocks/age", `{"block":{"required":false}}`, nil)
	wantError(t, "no answer to what is not required any more", submit(nil), nil)

	b.Do(http.MethodPatch, path, `{"status":"draft"}`, nil)
	if err := submit(nil); !errors.Is(err, formsvc.ErrNotFound) || !strings.Contains(err.Error(), "draft") {
		t.Errorf("a draft: %v, want an ErrNotFound that says so", err)
	}
	b.Publish(form)
	wantError(t, "published again", submit(nil), nil)
	b.Do(http.MethodDelete, path, "", nil)
	wantError(t, "in the trash", submit(nil), formsvc.ErrNotFound)
	noError(t, b.RestoreForm(t.Context(), form, formsvc.ID{}))
	wantError(t, "restored", submit(nil), nil)
}

func TestMetadataThatNoStorageCouldKeepIsCleaned(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	form := b.Form(servicetest.TextBlock, `{}`)
	s, err := b.Submit(t.Context(), formsvc.Response{
		FormID: form, Answers: servicetest.Answers("name", `"x"`),
		Metadata: formsvc.Metadata{Country: "DE", UserAgent: "ab\xffc", UTM: map[string]string{"source": "mail", "other": "x"}},
	})
	noError(t, err)
	if got, want := string(s.Metadata), `{"country":"DE","user_agent":"ab`+"\ufffd"+`c","utm":{"source":"mail"}}`; got != want {
		t.Errorf("metadata %s, want %s", got, want)
	}
}

// A copy on another store sees that store's form, though it has the same id and
// revision as the one in the shared cache, and the other way round.
func TestUsingKeepsItsHandsOffTheService(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	form := b.Form(servicetest.TextBlock, `{}`)
	tx := servicetest.Setup(t) // stands for a transaction: another store, with the same form
	current := must(b.Store.Form(t.Context(), storage.AsHost(), form))
	current.WorkspaceID = tx.Workspace
	current.Definition.Blocks = json.RawMessage(`[{"id":"other","type":"number"}]`)
	noError(t, tx.Store.CreateForm(t.Context(), storage.AsHost(), current))
	for revision := int64(1); revision < current.Revision; revision++ {
		name := strings.Repeat("n", int(revision))
		must(tx.Store.UpdateForm(t.Context(), storage.AsHost(), form, storage.FormChange{Name: &name}))
	}

	_, err := b.Submit(t.Context(), formsvc.Response{FormID: form, Answers: servicetest.Answers("name", `"x"`)})
	require(t, err == nil, "on the service's own store: %v", err)
	var refused *formsvc.Error
	if _, err := b.Using(tx.Store).Submit(t.Context(), formsvc.Response{FormID: form, Answers: servicetest.Answers("name", `"x"`)}); !errors.As(err, &refused) {
		t.Errorf("an answer of the service's form on the other store: %v, want an Error", err)
	}
	if _, err := b.Using(tx.Store).Submit(t.Context(), formsvc.Response{FormID: form, Answers: servicetest.Answers("other", `1`)}); err != nil {
		t.Fatalf("on the other store: %v", err)
	}
	equal(t, b.Submissions(form), 1, "submissions in the service's own store")
	wantError(t, "on the service's own store", errorOf(b.Submit(t.Context(), formsvc.Response{FormID: form, Answers: servicetest.Answers("name", `"x"`)})), nil)
	equal(t, servicetest.Get(t, b.Using(tx.Store), "/v1/me", tx.Key), http.StatusOK, "a key of the other store on the copy")
	equal(t, servicetest.Get(t, b, "/v1/me", tx.Key), http.StatusUnauthorized, "a key of the other store on the service")
}

func TestACancelledSubmitStoresNothing(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	form := b.Form(servicetest.TextBlock, `{}`)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := b.Submit(ctx, formsvc.Response{FormID: form, Answers: servicetest.Answers("name", `"x"`)})
	expect(t, errors.Is(err, context.Canceled), "%v, want context.Canceled", err)
	equal(t, b.Submissions(form), 0, "submissions")
}

// A key that stands for one content finds the first response by the same content only, on
// both storages, whatever else has changed since.
func TestAKeyThatStandsForOneContent(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]func(t *testing.T) storage.Storage{
		"memory":   func(*testing.T) storage.Storage { return memory.New() },
		"postgres": func(t *testing.T) storage.Storage { return servicetest.PostgresStore(t) },
	} {
		t.Run(name, func(t *testing.T) {
			b := servicetest.SetupOn(t, store(t))
			form := b.Form(`[{"id":"name","type":"short_text"},{"id":"n","type":"number"},{"id":"f","type":"file_upload","label":"é"},{"id":"g","type":"group","children":[{"id":"in","type":"short_text"}]}]`, `{"responseLimit":2}`)
			must(b.AsHost().UpdateForm(t.Context(), form, formsvc.FormUpdate{Definition: formsvc.Definition{HiddenFields: json.RawMessage(`["ref"]`)}}))
			file := func(id string) map[string]json.RawMessage {
				return servicetest.Answers("f", `[{"id":"`+id+`","name":"a.png","url":"https://files.example/`+id+`","mime_type":"image/png","size":1}]`)
			}
			first := formsvc.Response{
				FormID: form, IdempotencyKey: "k", OneContent: true, HostAnswers: file("a"), Hidden: map[string]string{"ref": "<x>", "other": "1"},
				Answers: servicetest.Answers("name", `" Ann\u00e9 "`, "n", `"1.50"`, "in", `"within"`),
			}
			stored := must(b.Submit(t.Context(), first))
			repeat := func(change func(*formsvc.Response)) (formsvc.Submission, error) {
				r := first
				change(&r)
				return b.Submit(t.Context(), r)
			}
			same := map[string]func(*formsvc.Response){
				"as it was": func(*formsvc.Response) {}, "a second later": func(r *formsvc.Response) { r.CompletionTime = 9; r.Metadata.Country = "NL" },
				"in another spelling": func(r *formsvc.Response) {
					r.Answers = servicetest.Answers("name", `"Anné"`, "n", `1.5`, "in", `"within"`)
				},
				"an unknown hidden field":    func(r *formsvc.Response) { r.Hidden = map[string]string{"ref": "<x>"} },
				"other words, any content":   func(r *formsvc.Response) { r.OneContent = false; r.Answers = servicetest.Answers("name", `"Bob"`) },
				"faulty words, any content":  func(r *formsvc.Response) { r.OneContent = false; r.Answers = servicetest.Answers("n", `"x"`) },
				"unknown fields any content": func(r *formsvc.Response) { r.OneContent = false; r.Answers = servicetest.Answers("nothing", `1`) },
			}
			other := map[string]func(*formsvc.Response){
				"another answer": func(r *formsvc.Response) {
					r.Answers = servicetest.Answers("name", `"Bob"`, "n", `1.5`, "in", `"within"`)
				},
				"another within": func(r *formsvc.Response) {
					r.Answers = servicetest.Answers("name", `"Anné"`, "n", `1.5`, "in", `"without"`)
				},
				"one answer less":      func(r *formsvc.Response) { r.Answers = servicetest.Answers("name", `"Anné"`) },
				"another file":         func(r *formsvc.Response) { r.HostAnswers = file("b") },
				"another hidden field": func(r *formsvc.Response) { r.Hidden = map[string]string{"ref": "y"} },
			}
			check := func(when string, refusal error) {
				for what, change := range same {
					got, err := repeat(change)
					expect(t, err == nil && got.ID == stored.ID, "%s, %s: %v, %v", when, what, got.ID, err)
				}
				for what, change := range other {
					got, err := repeat(change)
					expect(t, errors.Is(err, refusal) && got.ID.IsZero(), "%s, %s: %v, %v", when, what, got.ID, err)
				}
			}
			check("at once", formsvc.ErrKeyUsed)
			var faults *formsvc.Error
			_, err := repeat(func(r *formsvc.Response) { r.Answers = servicetest.Answers("n", `"x"`) })
			expect(t, errors.As(err, &faults), "faulty: %v", err)
			must(b.Submit(t.Context(), formsvc.Response{FormID: form}))
			check("a full form", formsvc.ErrKeyUsed)
			must(b.AsHost().UpdateForm(t.Context(), form, formsvc.FormUpdate{Definition: formsvc.Definition{Settings: json.RawMessage(`{"closed":true}`)}}))
			check("a closed form", formsvc.ErrClosed)
			if b.Submissions(form) != 2 {
				t.Errorf("%d are stored, want 2", b.Submissions(form))
			}
		})
	}
}

// Of responses with one such key that come at once, one is stored, and the others are told.
func TestOneContentAtOnce(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]func(t *testing.T) storage.Storage{
		"memory":   func(*testing.T) storage.Storage { return memory.New() },
		"postgres": func(t *testing.T) storage.Storage { return servicetest.PostgresStore(t) },
	} {
		t.Run(name, func(t *testing.T) {
			b := servicetest.SetupOn(t, store(t))
			form := b.Form(servicetest.TextBlock, `{}`)
			var stored, used atomic.Int64
			var wg sync.WaitGroup
			for i := range 32 {
				wg.Go(func() {
					_, err := b.Submit(t.Context(), formsvc.Response{FormID: form, IdempotencyKey: "k", OneContent: true, Answers: servicetest.Answers("name", fmt.Sprintf(`"%d"`, i))})
					switch {
					case err == nil:
						stored.Add(1)
					case errors.Is(err, formsvc.ErrKeyUsed):
						used.Add(1)
					default:
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if stored.Load() != 1 || used.Load() != 31 || b.Submissions(form) != 1 {
				t.Errorf("%d stored, %d refused, %d there; want 1, 31 and 1", stored.Load(), used.Load(), b.Submissions(form))
			}
		})
	}
}

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
			s := must(b.Answer(form, "mail", mail))
			first = append(first, s)
		}
		taken := func(mail string, want bool, when string) {
			t.Helper()
			s, err := b.Answer(form, "mail", mail)
			if got := errors.Is(err, formsvc.ErrDuplicate); got != want || err != nil && !got {
				t.Errorf("%s %s: %v", mail, when, err)
			}
			if err == nil {
				check(t, b.AsHost().DeleteSubmission(t.Context(), form, s.ID))
			}
		}
		f := b.Settings(form, `{"duplicateField":"mail"}`)
		expect(t, !f.DuplicatesCovered, "the form is covered before anything was entered")
		cover(b, form)
		for _, mail := range []string{`"ANN@example.com "`, `"ann@example.com"`, `"BOB@xn--mnchen-3ya.de"`} {
			taken(mail, true, "after entering")
		}
		taken(`"carl@example.com"`, false, "which nobody has")
		for i, s := range first[:2] {
			taken(`"ann@example.com"`, true, fmt.Sprintf("after %d of 2 are deleted", i))
			noError(t, b.AsHost().DeleteSubmission(t.Context(), form, s.ID))
		}
		taken(`"ann@example.com"`, false, "after both are deleted")

		// Switched off, responses come that are compared when it is switched on again.
		if f := b.Settings(form, `{}`); f.DuplicatesCovered {
			t.Error("a form without duplicateField is covered")
		}
		must(b.Answer(form, "mail", `"Dora@example.com"`))
		b.Settings(form, `{"duplicateField":"name"}`)
		must(b.Answer(form, "mail", `"Emil@example.com"`, "name", `"Emil"`))
		b.Settings(form, `{"duplicateField":"mail"}`)
		cover(b, form)
		for _, mail := range []string{`"bob@m\u00fcnchen.de"`, `"dora@example.com"`, `"emil@example.com"`} {
			taken(mail, true, "after the setting was switched off, changed and set again")
		}
		b.Settings(form, `{"duplicateField":"name"}`)
		cover(b, form)
		wantError(t, "Answer", errorOf(b.Answer(form, "name", `" EMIL"`)), formsvc.ErrDuplicate)
	})
}

// Of 64 respondents who send the same address in other spellings at once, one is
// stored, and none when an old response has it. Meanwhile two processes go on entering.
func TestParallelDuplicatesByMeaning(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		form := b.Form(servicetest.MailBlocks, `{}`)
		must(b.Answer(form, "mail", `"old@example.com"`))
		b.Settings(form, `{"duplicateField":"mail"}`)
		cover(b, form)
		spellings := []string{`"%s@example.com"`, `" %s@EXAMPLE.com"`, `"%s@Example.COM"`}
		for name, want := range map[string]int64{"new": 1, "OLD": 0} {
			var stored atomic.Int64
			var wg sync.WaitGroup
			for range 2 {
				wg.Go(func() {
					check(t, b.Maintain(t.Context()))
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
			equal(t, stored.Load(), want, "%s: of 64 stored", name)
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
		noError(t, err)
		r := formsvc.Response{FormID: form, Answers: servicetest.Answers("mail", `"Ann@example.com"`)}
		inTx := b.Using(store.On(tx))
		if test.stored {
			must(inTx.Submit(t.Context(), r))
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
		noError(t, test.end(tx, t.Context()))
		err = <-done
		if test.stored && err != nil || !test.stored && !errors.Is(err, formsvc.ErrDuplicate) {
			t.Errorf("stored %v: %v", test.stored, err)
		}
	}
}

func TestImportOfOldResponses(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		settings := `{"duplicateField":"mail","responseLimit":6,"closeAt":"2020-01-01T00:00:00Z"}`
		form := b.Form(servicetest.MailBlocks, `{"duplicateField":"mail"}`)
		url, _ := servicetest.Receiver(t)
		b.Webhook(form, url, servicetest.Secret)
		old := time.Date(2019, 3, 4, 5, 6, 7, 890_000_000, time.FixedZone("", 3600))
		imported := func(at time.Time, mail string, deliver bool) (formsvc.Submission, error) {
			return b.Submit(t.Context(), formsvc.Response{
				FormID: form, Answers: servicetest.Answers("mail", mail), SubmittedAt: at, Deliver: deliver, IdempotencyKey: mail,
			})
		}
		pending := func() int64 {
			stats := must(b.Store.QueueStats(t.Context()))
			return stats.Due + stats.Waiting
		}

		now := must(b.Answer(form, "mail", `"now@example.com"`))
		b.Settings(form, settings)
		wantError(t, "a response of today to a form that is closed", errorOf(b.Answer(form, "mail", `"late@example.com"`)), formsvc.ErrClosed)
		if pending() != 1 {
			t.Fatalf("%d deliveries are pending", pending())
		}
		want := []formsvc.ID{now.ID}
		var order []formsvc.ID
		for i := range 4 {
			s := must(imported(old.AddDate(0, -i, 0), fmt.Sprintf(`"%d@example.com"`, i), i == 3))
			if !s.SubmittedAt.Equal(old.AddDate(0, -i, 0).Truncate(time.Second)) || s.SubmittedAt.Location() != time.UTC || s.FormRevision == 0 {
				t.Errorf("submitted at %v, of revision %d", s.SubmittedAt, s.FormRevision)
			}
			want = append(want, s.ID)
		}
		if pending() != 2 {
			t.Errorf("%d deliveries are pending after one of 4 was imported with its event, want 2", pending())
		}
		for s, err := range b.AsHost().Submissions(t.Context(), form, formsvc.SubmissionQuery{}) {
			noError(t, err)
			order = append(order, s.ID)
		}
		expect(t, slices.Equal(order, want), "listed %v, want %v", order, want)
		for period, n := range map[formsvc.Period]int64{formsvc.PeriodAll: 5, formsvc.Period12m: 1, formsvc.PeriodToday: 1} {
			m, err := b.AsHost().Metrics(t.Context(), form, period)
			expect(t, err == nil && m.Submissions == n, "%s: %d submissions, %v, want %d", period, m.Submissions, err, n)
		}

		again, err := imported(old, `"0@example.com"`, false)
		expect(t, err == nil && again.ID == want[1], "a repeated import: %v, %v", again.ID, err)
		if _, err := b.Submit(t.Context(), formsvc.Response{FormID: form, Answers: servicetest.Answers("mail", `"1@EXAMPLE.com"`), SubmittedAt: old}); !errors.Is(err, formsvc.ErrDuplicate) {
			t.Errorf("an address that is taken: %v", err)
		}
		if _, err := imported(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), `"closed@example.com"`, false); !errors.Is(err, formsvc.ErrClosed) {
			t.Errorf("a response of the moment of closing: %v", err)
		}
		var faults *formsvc.Error
		b.Settings(form, `{}`)
		_, err = imported(time.Now().Add(time.Minute), `"future@example.com"`, false)
		if !errors.As(err, &faults) || len(faults.Violations) != 1 || faults.Violations[0].Path != "/submitted_at" || faults.Violations[0].Code != schema.CodeOutOfRange {
			t.Errorf("a response of the future: %v", err)
		}
		b.Settings(form, settings)
		check(t, errorOf(imported(old, `"5@example.com"`, false)))
		wantError(t, "a response beyond the limit", errorOf(imported(old, `"6@example.com"`, false)), formsvc.ErrClosed)
	})
}

// Faults of a response beside its answers are named and have their parameters.
func TestSubmitRefusesWhatStandsBesideTheAnswers(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	form := b.Form(`[{"id":"a","type":"number"}]`, `{}`)
	for path, r := range map[string]formsvc.Response{
		"/submitted_at":    {SubmittedAt: time.Time{}.Add(time.Nanosecond)},
		"/idempotency_key": {IdempotencyKey: strings.Repeat("k", 256)},
		"/completion_time": {CompletionTime: -1},
	} {
		for _, key := range []string{r.IdempotencyKey, "\x00"} {
			if key == "\x00" && path != "/idempotency_key" {
				continue
			}
			r.FormID, r.IdempotencyKey = form, key
			_, err := b.Submit(t.Context(), r)
			var invalid *formsvc.Error
			if !errors.As(err, &invalid) || len(invalid.Violations) != 1 || invalid.Violations[0].Path != path {
				t.Errorf("%s: %v", path, err)
				continue
			}
			v := invalid.Violations[0]
			always, _ := schema.CodeParams(v.Code)
			for _, name := range always {
				expect(t, v.Params[name] != nil, "%s %s has no %s", path, v.Code, name)
			}
		}
	}
	for _, at := range []time.Time{time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC)} {
		var invalid *formsvc.Error
		_, err := b.Submit(t.Context(), formsvc.Response{FormID: form, SubmittedAt: at})
		expect(t, errors.As(err, &invalid), "%v: %v", at, err)
	}
}
