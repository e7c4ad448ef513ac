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
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
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
			s, err := b.Submit(t.Context(), formsvc.SubmitParams{
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
		expect.Require(t, id == first, "two results, %s and %s", first, id)
	}
	n := b.Submissions(form)
	expect.Require(t, n == 1, "%d submissions, want 1", n)

	// Even when the content is now refused, and when the form has closed since.
	again := func(form formsvc.ID) (formsvc.ID, error) {
		s, err := b.Submit(t.Context(), formsvc.SubmitParams{FormID: form, IdempotencyKey: "once", Answers: servicetest.Answers("name", `"x"`)})
		return s.ID, err
	}
	refusedNow, err := b.Submit(t.Context(), formsvc.SubmitParams{FormID: form, IdempotencyKey: "once"})
	expect.That(t, err == nil && refusedNow.ID == first, "what is refused now: %s, %v; want %s", refusedNow.ID, err, first)
	b.Settings(form, `{"closed":true}`)
	expect.Returns(t, first, "a form that has closed since")(again(form))
	expect.Error(t, "a new response", expect.ErrorOf(b.Answer(form, "name", `"x"`)), formsvc.ErrClosed)
	another, err := again(other)
	expect.That(t, err == nil && another != first, "another form has its own keys: %s, %v", another, err)
}

// A form that changes under Submit's cache must be seen at once, both when it
// refuses more than before and when it refuses less.
func TestSubmitSeesTheCurrentForm(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	form := b.Form(servicetest.TextBlock, `{}`)
	submit := func(a map[string]json.RawMessage) error {
		_, err := b.Submit(t.Context(), formsvc.SubmitParams{FormID: form, Answers: a})
		return err
	}
	expect.NoError(t, submit(servicetest.Answers("name", `"x"`)))
	path := "/forms/" + form.String()

	b.Do(http.MethodPut, path+"/blocks", `{"blocks":[{"id":"age","type":"number","required":true}]}`, nil)
	err := submit(servicetest.Answers("name", `"x"`))
	expect.Equal(t, violations(err), "/answers/age REQUIRED, /answers/name UNKNOWN_FIELD", "answers to the old form")
	expect.Error(t, "answers to the new form", submit(servicetest.Answers("age", `7`)), nil)
	refused(t, submit(nil), "no answer")
	b.Do(http.MethodPatch, path+"/blocks/age", `{"block":{"required":false}}`, nil)
	expect.Error(t, "no answer to what is not required any more", submit(nil), nil)

	b.Do(http.MethodPatch, path, `{"status":"draft"}`, nil)
	if err := submit(nil); !errors.Is(err, formsvc.ErrNotFound) || !strings.Contains(err.Error(), "draft") {
		t.Errorf("a draft: %v, want an ErrNotFound that says so", err)
	}
	b.Publish(form)
	expect.Error(t, "published again", submit(nil), nil)
	before := b.Submissions(form)
	b.Do(http.MethodDelete, path, "", nil)
	expect.Error(t, "in the trash", submit(nil), formsvc.ErrNotFound)
	expect.NoError(t, b.RestoreForm(t.Context(), form, formsvc.ID{}))
	expect.Equal(t, b.Submissions(form), before, "the restored submissions")
	expect.Error(t, "restored", submit(nil), nil)
}

func TestMetadataThatNoStorageCouldKeepIsCleaned(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	form := b.Form(servicetest.TextBlock, `{}`)
	s, err := b.Submit(t.Context(), formsvc.SubmitParams{
		FormID: form, Answers: servicetest.Answers("name", `"x"`),
		Metadata: formsvc.Metadata{Country: "DE", UserAgent: "ab\xffc", UTM: map[string]string{"source": "mail", "other": "x"}},
	})
	expect.NoError(t, err)
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
	current := expect.Must(b.Store.Form(t.Context(), storage.AsHost(), form))
	current.WorkspaceID = tx.Workspace
	current.Definition.Blocks = json.RawMessage(`[{"id":"other","type":"number"}]`)
	expect.NoError(t, tx.Store.CreateForm(t.Context(), storage.AsHost(), current))
	for revision := int64(1); revision < current.Revision; revision++ {
		name := strings.Repeat("n", int(revision))
		expect.Must(tx.Store.UpdateForm(t.Context(), storage.AsHost(), form, storage.FormChange{Name: &name}))
	}

	_, err := b.Submit(t.Context(), formsvc.SubmitParams{FormID: form, Answers: servicetest.Answers("name", `"x"`)})
	expect.Require(t, err == nil, "on the service's own store: %v", err)
	_, err = b.WithStorage(tx.Store).Submit(t.Context(), formsvc.SubmitParams{FormID: form, Answers: servicetest.Answers("name", `"x"`)})
	refused(t, err, "an answer of the service's form on the other store")
	_, err = b.WithStorage(tx.Store).Submit(t.Context(), formsvc.SubmitParams{FormID: form, Answers: servicetest.Answers("other", `1`)})
	expect.Require(t, err == nil, "on the other store: %v", err)
	expect.Equal(t, b.Submissions(form), 1, "submissions in the service's own store")
	expect.Error(t, "on the service's own store", expect.ErrorOf(b.Submit(t.Context(), formsvc.SubmitParams{FormID: form, Answers: servicetest.Answers("name", `"x"`)})), nil)
	expect.Equal(t, servicetest.Get(t, b.WithStorage(tx.Store), "/v1/me", tx.Key), http.StatusOK, "a key of the other store on the copy")
	expect.Equal(t, servicetest.Get(t, b, "/v1/me", tx.Key), http.StatusUnauthorized, "a key of the other store on the service")
}

func TestACancelledSubmitStoresNothing(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	form := b.Form(servicetest.TextBlock, `{}`)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := b.Submit(ctx, formsvc.SubmitParams{FormID: form, Answers: servicetest.Answers("name", `"x"`)})
	expect.That(t, errors.Is(err, context.Canceled), "%v, want context.Canceled", err)
	expect.Equal(t, b.Submissions(form), 0, "submissions")
}

// A key that stands for one content finds the first response by the same content only, on
// both storages, whatever else has changed since.
func TestAKeyThatStandsForOneContent(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		form := b.Form(`[{"id":"name","type":"short_text"},{"id":"n","type":"number"},{"id":"f","type":"file_upload","label":"é"},{"id":"g","type":"group","children":[{"id":"in","type":"short_text"}]}]`, `{"responseLimit":2}`)
		b.Change(form, formsvc.Definition{HiddenFields: json.RawMessage(`["ref"]`)})
		file := func(id string) map[string]json.RawMessage {
			return servicetest.Answers("f", `[{"id":"`+id+`","name":"a.png","url":"https://files.example/`+id+`","mime_type":"image/png","size":1}]`)
		}
		first := formsvc.SubmitParams{
			FormID: form, IdempotencyKey: "k", StrictIdempotency: true, HostAnswers: file("a"), Hidden: map[string]string{"ref": "<x>", "other": "1"},
			Answers: servicetest.Answers("name", `" Ann\u00e9 "`, "n", `"1.50"`, "in", `"within"`),
		}
		stored := expect.Must(b.Submit(t.Context(), first))
		repeat := func(change func(*formsvc.SubmitParams)) (formsvc.Submission, error) {
			r := first
			change(&r)
			return b.Submit(t.Context(), r)
		}
		same := map[string]func(*formsvc.SubmitParams){
			"as it was": func(*formsvc.SubmitParams) {}, "a second later": func(r *formsvc.SubmitParams) { r.CompletionTime = 9; r.Metadata.Country = "NL" },
			"in another spelling": func(r *formsvc.SubmitParams) {
				r.Answers = servicetest.Answers("name", `"Anné"`, "n", `1.5`, "in", `"within"`)
			},
			"an unknown hidden field": func(r *formsvc.SubmitParams) { r.Hidden = map[string]string{"ref": "<x>"} },
			"other words, any content": func(r *formsvc.SubmitParams) {
				r.StrictIdempotency = false
				r.Answers = servicetest.Answers("name", `"Bob"`)
			},
			"faulty words, any content": func(r *formsvc.SubmitParams) {
				r.StrictIdempotency = false
				r.Answers = servicetest.Answers("n", `"x"`)
			},
			"unknown fields any content": func(r *formsvc.SubmitParams) {
				r.StrictIdempotency = false
				r.Answers = servicetest.Answers("nothing", `1`)
			},
		}
		other := map[string]func(*formsvc.SubmitParams){
			"another answer": func(r *formsvc.SubmitParams) {
				r.Answers = servicetest.Answers("name", `"Bob"`, "n", `1.5`, "in", `"within"`)
			},
			"another within": func(r *formsvc.SubmitParams) {
				r.Answers = servicetest.Answers("name", `"Anné"`, "n", `1.5`, "in", `"without"`)
			},
			"one answer less":      func(r *formsvc.SubmitParams) { r.Answers = servicetest.Answers("name", `"Anné"`) },
			"another file":         func(r *formsvc.SubmitParams) { r.HostAnswers = file("b") },
			"another hidden field": func(r *formsvc.SubmitParams) { r.Hidden = map[string]string{"ref": "y"} },
		}
		check := func(when string, refusal error) {
			for what, change := range same {
				got, err := repeat(change)
				expect.That(t, err == nil && got.ID == stored.ID, "%s, %s: %v, %v", when, what, got.ID, err)
			}
			for what, change := range other {
				got, err := repeat(change)
				expect.That(t, errors.Is(err, refusal) && got.ID.IsZero(), "%s, %s: %v, %v", when, what, got.ID, err)
			}
		}
		check("at once", formsvc.ErrIdempotencyKeyReused)
		faulty := func(r *formsvc.SubmitParams) { r.Answers = servicetest.Answers("n", `"x"`) }
		refused(t, expect.ErrorOf(repeat(faulty)), "faulty")
		expect.Must(b.Submit(t.Context(), formsvc.SubmitParams{FormID: form}))
		check("a full form", formsvc.ErrIdempotencyKeyReused)
		b.Settings(form, `{"closed":true}`)
		check("a closed form", formsvc.ErrClosed)
		if b.Submissions(form) != 2 {
			t.Errorf("%d are stored, want 2", b.Submissions(form))
		}
	})
}

// Of responses with one such key that come at once, one is stored, and the others are told.
func TestOneContentAtOnce(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		form := b.Form(servicetest.TextBlock, `{}`)
		var stored, used atomic.Int64
		var wg sync.WaitGroup
		for i := range 32 {
			wg.Go(func() {
				_, err := b.Submit(t.Context(), formsvc.SubmitParams{FormID: form, IdempotencyKey: "k", StrictIdempotency: true, Answers: servicetest.Answers("name", fmt.Sprintf(`"%d"`, i))})
				switch {
				case err == nil:
					stored.Add(1)
				case errors.Is(err, formsvc.ErrIdempotencyKeyReused):
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

// cover calls Maintain until the form is covered.
func cover(b *servicetest.Bundle, form formsvc.ID) {
	b.T.Helper()
	for range 100 {
		expect.NoError(b.T, b.Maintain(b.T.Context()))
		f, err := b.AsHost().Form(b.T.Context(), form)
		expect.NoError(b.T, err)
		if f.DuplicateCheckReady {
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
			s := expect.Must(b.Answer(form, "mail", mail))
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
		expect.That(t, !f.DuplicateCheckReady, "the form is covered before anything was entered")
		cover(b, form)
		for _, mail := range []string{`"ANN@example.com "`, `"ann@example.com"`, `"BOB@xn--mnchen-3ya.de"`} {
			taken(mail, true, "after entering")
		}
		taken(`"carl@example.com"`, false, "which nobody has")
		for i, s := range first[:2] {
			taken(`"ann@example.com"`, true, fmt.Sprintf("after %d of 2 are deleted", i))
			expect.NoError(t, b.AsHost().DeleteSubmission(t.Context(), form, s.ID))
		}
		taken(`"ann@example.com"`, false, "after both are deleted")

		// Switched off, responses come that are compared when it is switched on again.
		f = b.Settings(form, `{}`)
		expect.That(t, !f.DuplicateCheckReady, "a form without duplicateField is covered")
		expect.Must(b.Answer(form, "mail", `"Dora@example.com"`))
		b.Settings(form, `{"duplicateField":"name"}`)
		expect.Must(b.Answer(form, "mail", `"Emil@example.com"`, "name", `"Emil"`))
		b.Settings(form, `{"duplicateField":"mail"}`)
		cover(b, form)
		for _, mail := range []string{`"bob@m\u00fcnchen.de"`, `"dora@example.com"`, `"emil@example.com"`} {
			taken(mail, true, "after the setting was switched off, changed and set again")
		}
		b.Settings(form, `{"duplicateField":"name"}`)
		cover(b, form)
		expect.Error(t, "Answer", expect.ErrorOf(b.Answer(form, "name", `" EMIL"`)), formsvc.ErrDuplicate)
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
		expect.NoError(t, err)
		r := formsvc.SubmitParams{FormID: form, Answers: servicetest.Answers("mail", `"Ann@example.com"`)}
		inTx := b.WithStorage(store.On(tx))
		if test.stored {
			expect.Must(inTx.Submit(t.Context(), r))
		} else if _, err := inTx.Submit(t.Context(), formsvc.SubmitParams{FormID: form, Answers: servicetest.Answers("mail", `"bob@example.com"`)}); err != nil {
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
		expect.NoError(t, test.end(tx, t.Context()))
		err = <-done
		if test.stored && err != nil || !test.stored && !errors.Is(err, formsvc.ErrDuplicate) {
			t.Errorf("stored %v: %v", test.stored, err)
		}
	}
}

// A form opens at settings.openAt, in every process, whatever each of them has cached.
func TestAFormOpensInTime(t *testing.T) {
	t.Parallel()
	opens := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	onEachWithClock(t, opens.Add(-time.Second), func(t *testing.T, b *servicetest.Bundle, clock *servicetest.Clock) {
		form, other := b.Form(servicetest.MailBlocks, `{}`), b.Form(servicetest.MailBlocks, `{}`)
		expect.Must(b.Answer(form, "name", `"before the setting"`)) // caches the form
		stored := expect.Must(b.AsHost().UpdateForm(t.Context(), form, formsvc.FormUpdate{
			Definition: formsvc.Definition{Settings: json.RawMessage(`{"openAt":"2026-11-20T09:00:00+01:00"}`)}}))
		check := func(closed bool, opensAt time.Time) {
			t.Helper()
			expect.Equal(t, stored.IsClosed(clock.Now()), closed, "IsClosed")
			expect.Equal(t, stored.OpensAt(clock.Now()), opensAt, "Form.OpensAt")
			public := expect.Must(b.PublicForm(t.Context(), stored.PublicID))
			expect.Equal(t, public.Closed, closed, "PublicForm.Closed")
			expect.Equal(t, public.OpensAt, opensAt, "PublicForm.OpensAt")
			_, err := b.Answer(form, "name", `"Ann"`)
			expect.That(t, closed == errors.Is(err, formsvc.ErrClosed) && closed == (err != nil), "Submit: %v", err)
			expect.Must(b.Answer(other, "name", `"another form"`))
		}
		check(true, opens)
		clock.Advance(time.Second)
		check(false, time.Time{})
		clock.Advance(-time.Nanosecond)
		check(true, opens)
		b.Settings(form, `{"openAt":"2026-11-20T08:00:00Z","closeAt":"2026-11-20T08:00:00Z"}`)
		stored = expect.Must(b.AsHost().Form(t.Context(), form))
		check(true, time.Time{})
		b.Settings(form, `{"openAt":"2026-11-20T08:00:00Z","closed":true}`)
		stored = expect.Must(b.AsHost().Form(t.Context(), form))
		check(true, time.Time{})
	})
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
			return b.Submit(t.Context(), formsvc.SubmitParams{
				FormID: form, Answers: servicetest.Answers("mail", mail), SubmittedAt: at, Deliver: deliver, IdempotencyKey: mail,
			})
		}
		pending := func() int64 {
			stats := expect.Must(b.Store.QueueStats(t.Context()))
			return stats.Due + stats.Waiting
		}

		now := expect.Must(b.Answer(form, "mail", `"now@example.com"`))
		b.Settings(form, settings)
		expect.Error(t, "a response of today to a form that is closed", expect.ErrorOf(b.Answer(form, "mail", `"late@example.com"`)), formsvc.ErrClosed)
		if pending() != 1 {
			t.Fatalf("%d deliveries are pending", pending())
		}
		want := []formsvc.ID{now.ID}
		var order []formsvc.ID
		for i := range 4 {
			s := expect.Must(imported(old.AddDate(0, -i, 0), fmt.Sprintf(`"%d@example.com"`, i), i == 3))
			if !s.SubmittedAt.Equal(old.AddDate(0, -i, 0).Truncate(time.Second)) || s.SubmittedAt.Location() != time.UTC || s.FormRevision == 0 {
				t.Errorf("submitted at %v, of revision %d", s.SubmittedAt, s.FormRevision)
			}
			want = append(want, s.ID)
		}
		if pending() != 2 {
			t.Errorf("%d deliveries are pending after one of 4 was imported with its event, want 2", pending())
		}
		for s, err := range b.AsHost().Submissions(t.Context(), form, formsvc.SubmissionQuery{}) {
			expect.NoError(t, err)
			order = append(order, s.ID)
		}
		expect.That(t, slices.Equal(order, want), "listed %v, want %v", order, want)
		for period, n := range map[formsvc.Period]int64{formsvc.PeriodAll: 5, formsvc.Period12m: 1, formsvc.PeriodToday: 1} {
			m, err := b.AsHost().Metrics(t.Context(), form, period)
			expect.That(t, err == nil && m.Submissions == n, "%s: %d submissions, %v, want %d", period, m.Submissions, err, n)
		}

		again, err := imported(old, `"0@example.com"`, false)
		expect.That(t, err == nil && again.ID == want[1], "a repeated import: %v, %v", again.ID, err)
		if _, err := b.Submit(t.Context(), formsvc.SubmitParams{FormID: form, Answers: servicetest.Answers("mail", `"1@EXAMPLE.com"`), SubmittedAt: old}); !errors.Is(err, formsvc.ErrDuplicate) {
			t.Errorf("an address that is taken: %v", err)
		}
		if _, err := imported(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), `"closed@example.com"`, false); !errors.Is(err, formsvc.ErrClosed) {
			t.Errorf("a response of the moment of closing: %v", err)
		}
		b.Settings(form, `{"openAt":"2019-01-01T00:00:00Z"}`)
		if _, err := imported(time.Date(2018, 12, 31, 23, 59, 59, 0, time.UTC), `"early@example.com"`, false); !errors.Is(err, formsvc.ErrClosed) {
			t.Errorf("a response before the opening time: %v", err)
		}
		b.Settings(form, `{}`)
		_, err = imported(time.Now().Add(time.Minute), `"future@example.com"`, false)
		expect.Equal(t, violations(err), "/submitted_at OUT_OF_RANGE", "a response of the future")
		b.Settings(form, settings)
		check(t, expect.ErrorOf(imported(old, `"5@example.com"`, false)))
		expect.Error(t, "a response beyond the limit", expect.ErrorOf(imported(old, `"6@example.com"`, false)), formsvc.ErrClosed)
	})
}

// Faults of a response beside its answers are named and have their parameters.
func TestSubmitRefusesWhatStandsBesideTheAnswers(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	form := b.Form(`[{"id":"a","type":"number"}]`, `{}`)
	for path, r := range map[string]formsvc.SubmitParams{
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
				expect.That(t, v.Params[name] != nil, "%s %s has no %s", path, v.Code, name)
			}
		}
	}
	for _, at := range []time.Time{time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC)} {
		refused(t, expect.ErrorOf(b.Submit(t.Context(), formsvc.SubmitParams{FormID: form, SubmittedAt: at})), "%v", at)
	}
}
