package servicetest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
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
	"github.com/formsvc/formsvc/storage/memory"
	"github.com/formsvc/formsvc/storage/postgres"
	"github.com/formsvc/formsvc/webhooks"
)

// by is a response of a respondent.
func by(form formsvc.ID, respondent string, pairs ...string) formsvc.SubmitParams {
	return formsvc.SubmitParams{FormID: form, Respondent: respondent, Answers: servicetest.Answers(pairs...)}
}

// respondents are the respondents of a list, in its order.
func respondents(t *testing.T, list func(yield func(formsvc.Submission, error) bool)) (all []string) {
	t.Helper()
	for s, err := range list {
		expect.NoError(t, err)
		all = append(all, s.Respondent)
	}
	return all
}

// Two users of the host have forms, and the same people respond to both.
func TestResponsesOfARespondentAcrossTenants(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		ctx := t.Context()
		bob := b.As(formsvc.UserIDFrom("bob"))
		theirs := expect.Must(b.CreateWorkspace(ctx, formsvc.UserIDFrom("bob"), "Bob's"))
		form := b.Form(servicetest.MailBlocks, `{"duplicateField":"mail"}`)
		other := expect.Must(b.AsHost().CreateForm(ctx, formsvc.FormCreate{Workspace: theirs.ID, Name: "Bob's", Definition: formsvc.Definition{Blocks: json.RawMessage(servicetest.MailBlocks)}})).ID
		expect.Must(b.AsHost().PublishForm(ctx, other))
		people := []string{"user 42", "User 42", "user 4", "user 42 ", "user 42\u0301", ""}
		ids := map[string][]formsvc.ID{}
		for i, name := range people {
			for _, f := range []formsvc.ID{form, other} {
				s := expect.Must(b.Submit(ctx, by(f, name, "mail", fmt.Sprintf(`"%d@example.com"`, i), "name", `"`+name+`"`)))
				expect.Equal(t, s.Respondent, name, "the respondent that Submit returns")
				ids[name] = append(ids[name], s.ID)
			}
		}
		for _, name := range people[:5] {
			var got []formsvc.ID
			for s, err := range b.SubmissionsOf(ctx, name, formsvc.Query{}) {
				expect.NoError(t, err)
				got = append(got, s.ID)
			}
			expect.That(t, len(got) == 2 && slices.Contains(got, ids[name][0]) && slices.Contains(got, ids[name][1]), "the submissions of %q are %v, want %v", name, got, ids[name])
			q := formsvc.SubmissionQuery{Respondent: name}
			expect.That(t, slices.Equal(respondents(t, b.As(b.User.ID).Submissions(ctx, form, q)), []string{name}), "the submissions of %q to one form", name)
			sum, err := b.As(b.User.ID).Summary(ctx, form, q)
			expect.That(t, err == nil && sum.Submissions == 1, "the summary of %q has %d, %v", name, sum.Submissions, err)
			q.Text = name[:3]
			page, err := b.As(b.User.ID).SubmissionPage(ctx, form, q, 0)
			expect.That(t, err == nil && len(page.Submissions) == 1 && page.Submissions[0].ID == ids[name][0], "a page with a text of %q: %+v, %v", name, page, err)
			for _, err := range bob.Submissions(ctx, form, q) {
				expect.Error(t, "the submissions to another user's form", err, formsvc.ErrNotFound)
			}
			s, err := b.RespondentSubmission(ctx, other, name)
			expect.That(t, err == nil && s.ID == ids[name][1], "the submission of %q is %v, %v", name, s.ID, err)
		}
		for range b.SubmissionsOf(ctx, "nobody", formsvc.Query{}) {
			t.Error("an unknown respondent has submissions")
		}
		expect.Equal(t, len(respondents(t, b.SubmissionsOf(ctx, "user 42", formsvc.Query{Limit: 1}))), 1, "submissions with a limit")
		expect.Error(t, "an unknown respondent", expect.ErrorOf(b.RespondentSubmission(ctx, form, "nobody")), formsvc.ErrNotFound)
		expect.Error(t, "an unknown form", expect.ErrorOf(b.RespondentSubmission(ctx, formsvc.ID{1}, "user 42")), formsvc.ErrNotFound)

		before := expect.Must(b.AsHost().Summary(ctx, form, formsvc.SubmissionQuery{})).Submissions
		expect.NoError(t, b.AsHost().TrashForm(ctx, other))
		n, err := b.EraseRespondentData(ctx, "user 42")
		expect.That(t, err == nil && n == 2, "erased %d, %v", n, err)
		n, err = b.EraseRespondentData(ctx, "user 42")
		expect.That(t, err == nil && n == 0, "erased again: %d, %v", n, err)
		expect.NoError(t, b.RestoreForm(ctx, other, formsvc.ID{}))
		for _, f := range []formsvc.ID{form, other} {
			left := respondents(t, b.AsHost().Submissions(ctx, f, formsvc.SubmissionQuery{}))
			slices.Sort(left)
			want := slices.Sorted(slices.Values(people[1:]))
			expect.That(t, slices.Equal(left, want), "the respondents that stay are %q, want %q", left, want)
		}
		after := expect.Must(b.AsHost().Summary(ctx, form, formsvc.SubmissionQuery{})).Submissions
		expect.Equal(t, after, before-1, "submissions in the summary")
		expect.Error(t, "the answer of an erased respondent", expect.ErrorOf(b.Submit(ctx, by(form, "user 42", "mail", `"0@example.com"`))), nil)
	})
}

func TestWhatARespondentCanBe(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	form := b.Form(servicetest.MailBlocks, `{}`)
	anonymous := b.Form(servicetest.MailBlocks, `{"anonymous":true}`)
	ctx := t.Context()
	first := func(list func(yield func(formsvc.Submission, error) bool)) (err error) {
		for _, err = range list {
			break
		}
		return err
	}
	calls := map[string]func(respondent string) error{
		"Submit":              func(r string) error { return expect.ErrorOf(b.Submit(ctx, by(form, r))) },
		"Submit, anonymous":   func(r string) error { return expect.ErrorOf(b.Submit(ctx, by(anonymous, r))) },
		"SubmissionsOf":       func(r string) error { return first(b.SubmissionsOf(ctx, r, formsvc.Query{})) },
		"EraseRespondentData": func(r string) error { return expect.ErrorOf(b.EraseRespondentData(ctx, r)) },
		"Submissions": func(r string) error {
			return first(b.AsHost().Submissions(ctx, form, formsvc.SubmissionQuery{Respondent: r}))
		},
		"Summary": func(r string) error {
			return expect.ErrorOf(b.AsHost().Summary(ctx, form, formsvc.SubmissionQuery{Respondent: r}))
		},
		"SubmissionPage": func(r string) error {
			return expect.ErrorOf(b.AsHost().SubmissionPage(ctx, form, formsvc.SubmissionQuery{Respondent: r, Text: "x"}, 0))
		},
		"RespondentSubmission": func(r string) error {
			if err := expect.ErrorOf(b.RespondentSubmission(ctx, anonymous, r)); !errors.Is(err, formsvc.ErrNotFound) {
				return err
			}
			return nil
		},
		"SavePartial": func(r string) error {
			_, _, err := b.SavePartial(ctx, formsvc.PartialSubmission{FormID: form, Respondent: r})
			return err
		},
	}
	optional := []string{"Submit", "Submit, anonymous", "Submissions", "Summary", "SubmissionPage", "SavePartial"}
	for name, call := range calls {
		for respondent, want := range map[string]string{
			strings.Repeat("x", 200): "<nil>", strings.Repeat("é", 100): "<nil>", "ann@example.com": "<nil>", "\u202e \u200b": "<nil>", "=1+1": "<nil>", "'; --": "<nil>",
			strings.Repeat("x", 201): "/respondent TOO_LONG", strings.Repeat("é", 100) + "x": "/respondent TOO_LONG",
			"a\x00": "/respondent BAD_FORMAT", "a\n": "/respondent BAD_FORMAT", "\u0085": "/respondent BAD_FORMAT", "\xff": "/respondent BAD_FORMAT", "a\xc3": "/respondent BAD_FORMAT",
			"": map[bool]string{true: "<nil>", false: "/respondent REQUIRED"}[slices.Contains(optional, name)],
		} {
			expect.Equal(t, violations(call(respondent)), want, "%s of %q", name, respondent)
		}
	}
}

func TestOneSubmissionPerRespondent(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		ctx := t.Context()
		form := b.Form(servicetest.MailBlocks, `{"duplicateField":"mail"}`)
		answered := func(err error, first formsvc.Submission, what string) {
			t.Helper()
			got, ok := errors.AsType[*formsvc.AnsweredError](err)
			expect.That(t, ok && errors.Is(err, formsvc.ErrDuplicate) && got.SubmittedAt.Equal(first.SubmittedAt), "%s: %v, want an AnsweredError at %v", what, err, first.SubmittedAt)
		}
		old := expect.Must(b.Submit(ctx, by(form, "ann", "mail", `"a@example.com"`)))
		expect.Must(b.Submit(ctx, by(form, "ann", "mail", `"b@example.com"`)))
		b.Settings(form, `{"duplicateField":"mail","onePerRespondent":true}`)
		answered(expect.ErrorOf(b.Submit(ctx, by(form, "ann"))), old, "a respondent from before the setting")
		answered(expect.ErrorOf(b.Submit(ctx, by(form, "ann", "mail", `"a@example.com"`))), old, "a known answer too")
		expect.Equal(t, violations(expect.ErrorOf(b.Submit(ctx, by(form, "")))), "/respondent REQUIRED", "without a respondent")
		expect.Equal(t, violations(expect.ErrorOf(b.Submit(ctx, by(form, "", "mail", `1`)))), "/answers/mail WRONG_TYPE, /respondent REQUIRED", "without a respondent and with another violation")

		r := by(form, "bob", "mail", `"bob@example.com"`)
		r.IdempotencyKey = "once"
		bob := expect.Must(b.Submit(ctx, r))
		replay, err := b.Submit(ctx, r)
		expect.That(t, err == nil && replay.ID == bob.ID, "a repeated submission: %v, %v", replay.ID, err)
		answered(expect.ErrorOf(b.Submit(ctx, by(form, "bob"))), bob, "another submission")
		err = expect.ErrorOf(b.Submit(ctx, by(form, "eve", "mail", `"BOB@example.com"`)))
		_, isAnswered := errors.AsType[*formsvc.AnsweredError](err)
		expect.That(t, errors.Is(err, formsvc.ErrDuplicate) && !isAnswered, "a known answer of another respondent: %v", err)
		s, err := b.RespondentSubmission(ctx, form, "bob")
		expect.That(t, err == nil && s.ID == bob.ID && s.SubmittedAt.Equal(bob.SubmittedAt), "the submission of bob: %+v, %v", s, err)

		expect.NoError(t, b.AsHost().DeleteSubmission(ctx, form, bob.ID))
		bob = expect.Must(b.Submit(ctx, by(form, "bob", "mail", `"bob@example.com"`)))
		answered(expect.ErrorOf(b.Submit(ctx, by(form, "bob"))), bob, "after a deletion")
		expect.Must(b.EraseRespondentData(ctx, "bob"))
		expect.Must(b.Submit(ctx, by(form, "bob", "mail", `"bob@example.com"`)))

		imported := by(form, "old", "name", `"x"`)
		imported.SubmittedAt = time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
		first := expect.Must(b.Submit(ctx, imported))
		answered(expect.ErrorOf(b.Submit(ctx, by(form, "old"))), first, "after an import")

		b.Settings(form, `{"onePerRespondent":true,"anonymous":true}`)
		for _, name := range []string{"bob", "bob", "", "new"} {
			s, err := b.Submit(ctx, by(form, name))
			expect.That(t, err == nil && s.Respondent == "", "an anonymous submission of %q: %q, %v", name, s.Respondent, err)
		}
		b.Settings(form, `{"onePerRespondent":true}`)
		expect.Error(t, "who was anonymous", expect.ErrorOf(b.Submit(ctx, by(form, "new"))), nil)
		b.Settings(form, `{"onePerRespondent":true,"closed":true}`)
		expect.Error(t, "a closed form", expect.ErrorOf(b.Submit(ctx, by(form, "bob"))), formsvc.ErrClosed)
	})
}

func TestWarningsAboutRespondents(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	for settings, want := range map[string]int{`{"onePerRespondent":true,"anonymous":true}`: 1, `{"onePerRespondent":true}`: 0, `{"anonymous":true}`: 0, `{"onePerRespondent":false,"anonymous":true}`: 0} {
		found := expect.Must(b.Warnings(formsvc.Definition{Blocks: json.RawMessage(servicetest.TextBlock), Settings: json.RawMessage(settings)}))
		found = slices.DeleteFunc(found, func(w schema.Warning) bool {
			return w.Path != "/settings/onePerRespondent" || w.Code != schema.WarnNoEffect
		})
		expect.Equal(t, len(found), want, "warnings for %s", settings)
	}
}

// Of concurrent submissions by one respondent to one form, exactly one is stored. With
// FORMSVC_REQUESTS, as in make test-random, there are 129,600 submissions.
func TestRacedSubmissionsOfRespondents(t *testing.T) {
	t.Parallel()
	forms, people, tries := 6, 20, 5
	if os.Getenv("FORMSVC_REQUESTS") != "" {
		forms, people, tries = 18, 400, 18
	} else if !testing.Short() {
		people, tries = 40, 18
	}
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		ids := make([]formsvc.ID, forms)
		for i := range ids {
			ids[i] = b.Form(servicetest.TextBlock, []string{`{"onePerRespondent":true}`, `{"onePerRespondent":true,"responseLimit":100000}`, `{"onePerRespondent":true,"duplicateField":"name"}`}[i%3])
		}
		var next, stored, refused atomic.Int64
		var wg sync.WaitGroup
		for range 64 {
			wg.Go(func() {
				for {
					n := int(next.Add(1)) - 1
					if n >= forms*people*tries {
						return
					}
					person := n / tries % people
					_, err := b.Submit(context.Background(), by(ids[n/tries/people], fmt.Sprint("person ", person), "name", fmt.Sprintf(`"%d"`, n)))
					if _, ok := errors.AsType[*formsvc.AnsweredError](err); ok {
						refused.Add(1)
					} else if err == nil {
						stored.Add(1)
					} else {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		expect.Equal(t, stored.Load(), int64(forms*people), "submissions that were stored")
		expect.Equal(t, refused.Load(), int64(forms*people*(tries-1)), "submissions that were refused")
		for _, id := range ids {
			all := respondents(t, b.AsHost().Submissions(t.Context(), id, formsvc.SubmissionQuery{}))
			slices.Sort(all)
			expect.That(t, len(all) == people && len(slices.Compact(all)) == people, "%d submissions", len(all))
		}
	})
}

// A host submits and erases in a transaction of its own.
func TestRespondentsInTheHostsTransaction(t *testing.T) {
	t.Parallel()
	ctx, schema, pool := t.Context(), pgtest.Schema(t), pgtest.Pool(t, pgtest.MaxConns(8))
	store := servicetest.Migrated(t, pool, postgres.WithSchema(schema))
	b := servicetest.SetupOn(t, store, formsvc.WithoutRateLimit())
	form := b.Form(servicetest.TextBlock, `{"onePerRespondent":true}`)
	r := by(form, "ann", "name", `"x"`)
	in := func(commit bool, do func(*formsvc.Service)) {
		tx := expect.Must(pool.Begin(ctx))
		do(b.WithStorage(store.On(tx)))
		if commit {
			expect.NoError(t, tx.Commit(ctx))
		} else {
			expect.NoError(t, tx.Rollback(ctx))
		}
	}
	in(false, func(svc *formsvc.Service) {
		expect.Must(svc.Submit(ctx, r))
		expect.Error(t, "a second submission in the transaction", expect.ErrorOf(svc.Submit(ctx, r)), formsvc.ErrDuplicate)
		expect.Equal(t, len(respondents(t, svc.SubmissionsOf(ctx, "ann", formsvc.Query{}))), 1, "submissions in the transaction")
	})
	expect.Equal(t, len(respondents(t, b.SubmissionsOf(ctx, "ann", formsvc.Query{}))), 0, "submissions after a rollback")

	// A submission on the pool waits for the one in the transaction.
	waits := make(chan error, 1)
	in(true, func(svc *formsvc.Service) {
		expect.Must(svc.Submit(ctx, r))
		go func() { waits <- expect.ErrorOf(b.Submit(context.WithoutCancel(ctx), r)) }()
		servicetest.WaitFor(t, "a waiting submission", func() bool {
			var n int
			expect.NoError(t, pool.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'advisory' AND query LIKE '%pg_advisory_xact_lock(v.lock)%'`).Scan(&n))
			return n > 0
		})
	})
	expect.Error(t, "the submission that waited", <-waits, formsvc.ErrDuplicate)
	expect.Equal(t, b.Submissions(form), 1, "submissions")
	in(false, func(svc *formsvc.Service) {
		n, err := svc.EraseRespondentData(ctx, "ann")
		expect.That(t, n == 1 && err == nil, "erased %d, %v", n, err)
	})
	expect.Equal(t, b.Submissions(form), 1, "submissions after a rolled back erasure")
	in(true, func(svc *formsvc.Service) { expect.Must(svc.EraseRespondentData(ctx, "ann")) })
	expect.Equal(t, b.Submissions(form), 0, "submissions after an erasure")
	expect.NoError(t, pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		_, _, err := b.WithStorage(store.On(tx)).SavePartial(ctx, formsvc.PartialSubmission{FormID: form, Respondent: "ann"})
		return err
	}))
	expect.Must(b.RespondentPartial(ctx, form, "ann"))
}

func TestHalfResponsesOfARespondent(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	onEachWithClock(t, start, func(t *testing.T, b *servicetest.Bundle, clock *servicetest.Clock) {
		ctx, form, other := t.Context(), b.Form(servicetest.MailBlocks, `{}`), b.Form(servicetest.MailBlocks, `{}`)
		of := func(name string, revision int64, answer string) formsvc.PartialSubmission {
			return formsvc.PartialSubmission{FormID: form, Respondent: name, Revision: revision, Answers: servicetest.Answers("name", `"`+answer+`"`), Visit: "visit", Token: ""}
		}
		saves := func(p formsvc.PartialSubmission, want error, what string) {
			t.Helper()
			token, _, err := b.SavePartial(ctx, p)
			expect.Error(t, what, err, want)
			expect.Equal(t, token, "", "%s: the token", what)
		}
		has := func(name string, revision int64, answer string) {
			t.Helper()
			got, err := b.RespondentPartial(ctx, form, name)
			expect.That(t, err == nil && got.Revision == revision && got.Respondent == name && got.Token == "" && string(got.Answers["name"]) == `"`+answer+`"`, "%s has %+v, %v", name, got, err)
		}
		none := func(form formsvc.ID, name, what string) {
			t.Helper()
			expect.Error(t, what, expect.ErrorOf(b.RespondentPartial(ctx, form, name)), formsvc.ErrNotFound)
		}
		none(form, "ann", "before a save")
		none(form, "", "without a respondent")
		saves(of("ann", 0, "phone"), nil, "the first save")
		saves(of("Ann", 0, "another"), nil, "the first save of another respondent")
		has("ann", 1, "phone")
		for p, err := range b.AsHost().Partials(ctx, form, formsvc.Query{}) {
			expect.That(t, err == nil && p.LinkIssued, "a partial submission of a respondent can be replaced by any other: %v", err)
		}
		none(other, "ann", "of another form")

		saves(of("ann", 0, "laptop"), storage.ErrRevisionMismatch, "another device that begins")
		saves(of("ann", 1, "laptop"), nil, "another device that has read it")
		saves(of("ann", 1, "phone again"), storage.ErrRevisionMismatch, "the first device again")
		has("ann", 2, "laptop")
		saves(of("ann", 2, "phone again"), nil, "the first device, after it has read it")

		// A token, a visit or a link of another person does not lead to it.
		for _, token := range []string{"ann", "formsvc respondent " + form.String() + " ann", form.String() + " ann"} {
			expect.Error(t, "a guessed token", expect.ErrorOf(b.ResumePartial(ctx, form, token)), formsvc.ErrNotFound)
			_, _, err := b.SavePartial(ctx, formsvc.PartialSubmission{FormID: form, Token: token})
			expect.Error(t, "a save with a guessed token", err, formsvc.ErrNotFound)
			expect.NoError(t, b.DeletePartial(ctx, form, token))
		}
		expect.Must(b.Submit(ctx, by(form, "bob")))
		expect.Must(b.Submit(ctx, by(other, "ann")))
		expect.Must(b.Submit(ctx, by(form, "")))
		has("ann", 3, "phone again")
		has("Ann", 1, "another")

		expect.Must(b.Submit(ctx, by(form, "ann", "name", `"sent"`)))
		none(form, "ann", "after it was sent")
		saves(of("ann", 3, "late"), formsvc.ErrAlreadySubmitted, "a device that does not know that it was sent")
		has("Ann", 1, "another")
		saves(of("ann", 0, "next"), nil, "the next one")
		has("ann", 1, "next")

		expect.NoError(t, b.DeleteRespondentPartial(ctx, form, "ann"))
		expect.NoError(t, b.DeleteRespondentPartial(ctx, form, "ann"))
		none(form, "ann", "after it was deleted")
		saves(of("ann", 1, "late"), formsvc.ErrNotFound, "a device that does not know that it was deleted")
		saves(of("ann", 0, "next"), nil, "the one after")
		clock.Advance(32 * 24 * time.Hour)
		none(form, "ann", "after its end")
		saves(of("ann", 1, "late"), formsvc.ErrNotFound, "a device after the end")
		saves(of("ann", 0, "again"), nil, "one after the end, without a sweep")
		has("ann", 1, "again")

		_, err := b.EraseRespondentData(ctx, "ann")
		expect.NoError(t, err)
		none(form, "ann", "after it was erased")

		b.Settings(form, `{"anonymous":true}`)
		p := of("ann", 0, "hidden")
		token, _, err := b.SavePartial(ctx, p)
		expect.That(t, err == nil && len(token) == 22, "a save of an anonymous respondent: %q, %v", token, err)
		none(form, "ann", "of an anonymous form")
		got := expect.Must(b.ResumePartial(ctx, form, token))
		expect.Equal(t, got.Respondent, "", "the respondent of an anonymous partial submission")
		b.Settings(form, `{"closed":true}`)
		saves(of("Ann", 1, "closed"), formsvc.ErrClosed, "a save when the form is closed")
	})
}

// Many devices of many respondents begin and continue at the same time.
func TestRacedHalfResponsesOfRespondents(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		form, ctx := b.Form(servicetest.MailBlocks, `{}`), context.Background()
		const people, devices, saves = 6, 5, 4
		var wg sync.WaitGroup
		var made [people]atomic.Int64
		for i := range people * devices {
			wg.Go(func() {
				name := fmt.Sprint("person ", i%people)
				for done, revision := 0, int64(0); done < saves; {
					_, _, err := b.SavePartial(ctx, formsvc.PartialSubmission{FormID: form, Respondent: name, Revision: revision})
					mismatch, again := errors.AsType[*formsvc.RevisionError](err)
					switch {
					case err == nil:
						made[i%people].Add(1)
						done, revision = done+1, revision+1
					case again:
						revision = mismatch.Current
					default:
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		for i := range people {
			p, err := b.RespondentPartial(ctx, form, fmt.Sprint("person ", i))
			expect.That(t, err == nil && p.Revision == devices*saves && made[i].Load() == devices*saves, "person %d: revision %d after %d saves, %v", i, p.Revision, made[i].Load(), err)
		}
		listed := 0
		for p, err := range b.AsHost().Partials(ctx, form, formsvc.Query{}) {
			expect.That(t, err == nil && p.Respondent == "", "a partial submission that is not shared has the respondent %q, %v", p.Respondent, err)
			listed++
		}
		expect.Equal(t, listed, people, "partial submissions")
	})
}

const marker = "respondent-7f3a"

// The respondent of an anonymous form is nowhere, and that of any form in no answer of the HTTP API.
func TestWhereARespondentIsStoredAndShown(t *testing.T) {
	t.Parallel()
	for _, anonymous := range []bool{true, false} {
		for _, include := range []bool{true, false} {
			t.Run(fmt.Sprintf("anonymous=%t, included=%t", anonymous, include), func(t *testing.T) {
				t.Parallel()
				onEachSearched(t, func(t *testing.T, b *servicetest.Bundle, find search) {
					config := formsvc.WithWebhookConfig(webhooks.Config{IncludeRespondent: include, AllowedNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
					b.Service = servicetest.New(t, b.Store, config, formsvc.WithoutRateLimit())
					form := b.Form(servicetest.MailBlocks, fmt.Sprintf(`{"anonymous":%t}`, anonymous))
					b.Webhook(form, "http://127.0.0.1:8080/hook", servicetest.Secret)
					ctx := t.Context()
					const agent = "agent-7f3a"
					metadata := formsvc.Metadata{UserAgent: agent, Device: agent, Country: "DE"}
					s := by(form, marker, "name", `"Ann"`)
					s.Metadata = metadata
					expect.Must(b.Submit(ctx, s))
					_, _, err := b.SavePartial(ctx, formsvc.PartialSubmission{FormID: form, Respondent: marker, ShareWithOwner: true, Metadata: metadata})
					expect.NoError(t, err)
					showsNoRespondent(t, b, form)
					for options, want := range map[formsvc.Export]bool{
						{}: false, {Respondent: true}: true, {Format: formsvc.NDJSON}: false, {Format: formsvc.NDJSON, Respondent: true}: true,
					} {
						var out bytes.Buffer
						expect.NoError(t, b.AsHost().Export(ctx, &out, form, options))
						expect.Equal(t, strings.Contains(out.String(), marker), want && !anonymous, "%+v: the respondent is in the export", options)
						expect.Equal(t, strings.Contains(out.String(), "respondent"), want, "%+v: respondents are in the export", options)
					}
					found := find([]byte(marker))
					expect.Equal(t, len(found) > 0, !anonymous, "the store has the respondent (in %q)", found)
					found = find([]byte(`"respondent":"` + marker + `"`))
					expect.Equal(t, len(found) > 0, include && !anonymous, "an event has the respondent (in %q)", found)
					line := `{"answers":[],"submitted_at":"2020-01-01T00:00:00Z","metadata":{"user_agent":"` + agent + `","device":"` + agent + `","country":"FR","imported":true}}`
					expect.Must(b.AsHost().Import(ctx, form, strings.NewReader(line), formsvc.Import{}))
					expect.Equal(t, len(find([]byte(agent))) > 0, !anonymous, "the store has the device")
					for _, kept := range []string{`"country":"DE"`, `"country":"FR"`, `"imported":true`} {
						expect.That(t, len(find([]byte(kept))) > 0, "the store lacks %s", kept)
					}
				})
			})
		}
	}
}

// showsNoRespondent asks for all that users and browsers can read of a form.
func showsNoRespondent(t *testing.T, b *servicetest.Bundle, form formsvc.ID) {
	t.Helper()
	var page struct{ Items []struct{ ID formsvc.ID } }
	b.Do(http.MethodGet, "/forms/"+form.String()+"/submissions", "", &page)
	var hooks struct{ Items []struct{ ID formsvc.ID } }
	b.Do(http.MethodGet, "/webhooks", "", &hooks)
	expect.Require(t, len(page.Items) == 1 && len(hooks.Items) == 1, "%d submissions and %d webhooks", len(page.Items), len(hooks.Items))
	stranger := b.Issue(formsvc.UserIDFrom("stranger"), storage.Scopes()...).Secret
	for _, key := range []string{b.Key, stranger} {
		for _, path := range []string{
			"/me", "/workspaces", "/forms", "/forms/" + form.String(), "/forms/" + form.String() + "/blocks", "/forms/" + form.String() + "/submissions",
			"/forms/" + form.String() + "/submissions?limit=1&respondent=" + marker, "/forms/" + form.String() + "/submissions/" + page.Items[0].ID.String(),
			"/forms/" + form.String() + "/analytics", "/webhooks", "/webhooks/" + hooks.Items[0].ID.String(), "/webhooks/" + hooks.Items[0].ID.String() + "/deliveries",
		} {
			w := b.DoAs(key, http.MethodGet, path, "")
			expect.That(t, !strings.Contains(w.Body.String()+fmt.Sprint(w.Header()), "respondent"), "%s: %s", path, w.Body)
		}
		for _, query := range []string{"", "?format=ndjson", "?respondent=true", "?format=ndjson&respondent=1", "?Respondent=true"} {
			r := httptest.NewRequest(http.MethodGet, "/"+form.String()+".csv"+query, nil)
			r.Header.Set("X-API-Key", key)
			w := httptest.NewRecorder()
			b.ExportHandler().ServeHTTP(w, r)
			expect.That(t, !strings.Contains(w.Body.String(), marker), "the export %q: %s", query, w.Body)
		}
	}
}

// withoutRespondents ignores respondents, as a store of an earlier release does.
type withoutRespondents struct {
	storage.Storage
	seen *atomic.Bool
}

func (s withoutRespondents) Submit(ctx context.Context, n storage.NewSubmission) (storage.Submission, bool, error) {
	s.seen.Store(s.seen.Load() || n.Submission.Respondent != "")
	n.Submission.Respondent, n.OnePerRespondent = "", false
	return s.Storage.Submit(ctx, n)
}

func (withoutRespondents) RespondentSubmissions(ctx context.Context, q storage.SubmissionsParams, each func(*storage.Submission) error) (bool, error) {
	return storage.Unimplemented{}.RespondentSubmissions(ctx, q, each)
}

func (withoutRespondents) EraseRespondent(ctx context.Context, p storage.EraseRespondentParams) (storage.ErasedRespondent, error) {
	return storage.Unimplemented{}.EraseRespondent(ctx, p)
}

func TestAStoreWithoutRespondentsRefusesThem(t *testing.T) {
	t.Parallel()
	var seen atomic.Bool
	b := servicetest.SetupOn(t, withoutRespondents{memory.New(), &seen})
	ctx, form := t.Context(), b.Form(servicetest.MailBlocks, `{}`)
	anonymous, one := b.Form(servicetest.MailBlocks, `{"anonymous":true}`), b.Form(servicetest.MailBlocks, `{"onePerRespondent":true}`)
	for what, call := range map[string]func() error{
		"Submit":      func() error { return expect.ErrorOf(b.Submit(ctx, by(form, "ann"))) },
		"Submit, one": func() error { return expect.ErrorOf(b.Submit(ctx, by(one, "ann"))) },
		"SavePartial": func() error {
			_, _, err := b.SavePartial(ctx, formsvc.PartialSubmission{FormID: form, Respondent: "ann"})
			return err
		},
		"RespondentSubmission": func() error { return expect.ErrorOf(b.RespondentSubmission(ctx, form, "ann")) },
		"EraseRespondentData":  func() error { return expect.ErrorOf(b.EraseRespondentData(ctx, "ann")) },
		"Summary": func() error {
			return expect.ErrorOf(b.AsHost().Summary(ctx, form, formsvc.SubmissionQuery{Respondent: "ann"}))
		},
		"SubmissionPage": func() error {
			return expect.ErrorOf(b.AsHost().SubmissionPage(ctx, form, formsvc.SubmissionQuery{Respondent: "ann"}, 0))
		},
		"SubmissionsOf": func() (err error) {
			for _, err = range b.SubmissionsOf(ctx, "ann", formsvc.Query{}) {
				break
			}
			return err
		},
		"Submissions": func() (err error) {
			for _, err = range b.AsHost().Submissions(ctx, form, formsvc.SubmissionQuery{Respondent: "ann"}) {
				break
			}
			return err
		},
	} {
		expect.Error(t, what, call(), formsvc.ErrUnsupported)
	}
	expect.Equal(t, violations(expect.ErrorOf(b.Submit(ctx, by(one, "")))), "/respondent REQUIRED", "a form for one submission per respondent")
	expect.Error(t, "without a respondent", expect.ErrorOf(b.Submit(ctx, by(form, ""))), nil)
	expect.Error(t, "an anonymous form", expect.ErrorOf(b.Submit(ctx, by(anonymous, "ann"))), nil)
	expect.Equal(t, b.Submissions(form), 1, "submissions")
	expect.That(t, !seen.Load(), "the store received a respondent")
}

// smallBatches erases one record per call, and fails once after some calls.
type smallBatches struct {
	storage.Storage
	left *atomic.Int64
}

func (s smallBatches) EraseRespondent(ctx context.Context, p storage.EraseRespondentParams) (storage.ErasedRespondent, error) {
	if s.left.Add(-1) == 0 {
		return storage.ErasedRespondent{}, storage.ErrUnavailable
	}
	p.Max = 1
	return s.Storage.EraseRespondent(ctx, p)
}

func TestAnErasureOfARespondentContinues(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStore(t, func(t *testing.T, store storage.Storage) {
		var left atomic.Int64
		b := servicetest.SetupOn(t, smallBatches{store, &left})
		ctx, erased := t.Context(), 0
		for range 3 {
			form := b.Form(servicetest.MailBlocks, `{}`)
			for _, name := range []string{"ann", "ann", "bob"} {
				expect.Must(b.Submit(ctx, by(form, name)))
			}
			_, _, err := b.SavePartial(ctx, formsvc.PartialSubmission{FormID: form, Respondent: "ann"})
			expect.NoError(t, err)
		}
		for calls := int64(1); calls <= 3; calls++ {
			left.Store(calls)
			n, err := b.EraseRespondentData(ctx, "ann")
			expect.Error(t, "an interrupted erasure", err, formsvc.ErrUnavailable)
			expect.Equal(t, int64(n), calls-1, "submissions that an interrupted erasure removed")
			erased += n
		}
		canceled, cancel := context.WithCancel(ctx)
		cancel()
		n, err := b.EraseRespondentData(canceled, "ann")
		expect.That(t, n == 0 && errors.Is(err, context.Canceled), "a canceled erasure: %d, %v", n, err)
		n, err = b.EraseRespondentData(ctx, "ann")
		expect.That(t, err == nil && n+erased == 6, "the rest of the erasure: %d of 6, %v", n+erased, err)
		expect.Equal(t, len(respondents(t, b.SubmissionsOf(ctx, "ann", formsvc.Query{}))), 0, "submissions that are left")
		expect.Equal(t, len(respondents(t, b.SubmissionsOf(ctx, "bob", formsvc.Query{}))), 3, "submissions of another respondent")
		var partials int
		for f := range b.AsHost().Forms(ctx, formsvc.FormQuery{}) {
			for range b.AsHost().Partials(ctx, f.ID, formsvc.Query{}) {
				partials++
			}
		}
		expect.Equal(t, partials, 0, "partial submissions that are left")
	})
}

// Submissions, saves and erasures of the same respondents run at the same time.
func TestErasuresDuringSubmissions(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		ctx, people := context.Background(), []string{"ann", "bob", "eve"}
		forms := []formsvc.ID{b.Form(servicetest.MailBlocks, `{"onePerRespondent":true}`), b.Form(servicetest.MailBlocks, `{}`), b.Form(servicetest.MailBlocks, `{"onePerRespondent":true,"responseLimit":1000}`)}
		var stored, erased atomic.Int64
		var wg sync.WaitGroup
		for i := range 12 {
			wg.Go(func() {
				name := people[i%3]
				for n := range 15 {
					form := forms[n%3]
					_, _, err := b.SavePartial(ctx, formsvc.PartialSubmission{FormID: form, Respondent: name})
					expect.That(t, err == nil || errors.Is(err, storage.ErrRevisionMismatch) || errors.Is(err, formsvc.ErrNotFound), "a save: %v", err)
					_, err = b.Submit(ctx, by(form, name))
					expect.That(t, err == nil || errors.Is(err, formsvc.ErrDuplicate), "a submission: %v", err)
					if err == nil {
						stored.Add(1)
					}
					if i%4 == 0 {
						gone, err := b.EraseRespondentData(ctx, name)
						expect.NoError(t, err)
						erased.Add(int64(gone))
					}
				}
			})
		}
		wg.Wait()
		for _, name := range people {
			erased.Add(int64(expect.Must(b.EraseRespondentData(ctx, name))))
		}
		expect.Equal(t, erased.Load(), stored.Load(), "submissions that were erased")
		for _, form := range forms {
			expect.Equal(t, b.Submissions(form), 0, "submissions that are left")
		}
	})
}

// An export has the respondent of each submission in its own column, as text.
func TestRespondentsInExports(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	ctx, form := t.Context(), b.Form(`[{"id":"respondent","type":"short_text"}]`, `{}`)
	want := map[string]string{"=1+1": `"'=1+1"`, `a"b`: `"a""b"`, "": "", "12": `"12"`, "ann, bob": `"ann, bob"`}
	for name := range want {
		expect.Must(b.Submit(ctx, by(form, name, "respondent", `"the answer"`)))
	}
	var table, lines bytes.Buffer
	expect.NoError(t, b.AsHost().Export(ctx, &table, form, formsvc.Export{Respondent: true}))
	rows := strings.Split(strings.TrimSpace(table.String()), "\r\n")
	expect.That(t, strings.HasPrefix(rows[0], `submission_id,submitted_at,respondent,"respondent (2)",completion_time`), "the header is %s", rows[0])
	for name, cell := range want {
		expect.That(t, slices.ContainsFunc(rows, func(row string) bool { return strings.Contains(row, "Z,"+cell+`,"the answer",`) }), "no row of %q has %s: %q", name, cell, rows)
	}
	expect.NoError(t, b.AsHost().Export(ctx, &lines, form, formsvc.Export{Format: formsvc.NDJSON, Respondent: true, CompletionLine: true}))
	got := map[string]bool{}
	for line := range strings.Lines(lines.String()) {
		var s struct{ Respondent *string }
		expect.NoError(t, json.Unmarshal([]byte(line), &s))
		if s.Respondent != nil {
			got[*s.Respondent] = true
		}
	}
	expect.That(t, slices.Equal(slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want))), "the lines have %v", got)
}
