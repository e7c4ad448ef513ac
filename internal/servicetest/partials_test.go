package servicetest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
)

// onEachWithClock is OnEachStorage with a clock of the test's, which begins at now.
func onEachWithClock(t *testing.T, now time.Time, test func(t *testing.T, b *servicetest.Bundle, clock *servicetest.Clock), opts ...formsvc.Option) {
	t.Helper()
	servicetest.OnEachStore(t, func(t *testing.T, store storage.Storage) {
		clock := servicetest.NewClock(now)
		test(t, servicetest.SetupOn(t, store, append(slices.Clone(opts), formsvc.WithClock(clock.Now))...), clock)
	})
}

// save saves a half response that has to be kept as a whole, and returns its token.
func save(t *testing.T, svc *formsvc.Service, r formsvc.PartialSubmission) string {
	t.Helper()
	token, dropped, err := svc.SavePartial(t.Context(), r)
	expect.Require(t, err == nil && len(dropped) == 0, "SavePartial: dropped %q, %v", dropped, err)
	return token
}

// resumed is what is saved with a token, without its times.
func resumed(t *testing.T, svc *formsvc.Service, form formsvc.ID, token string) formsvc.PartialSubmission {
	t.Helper()
	r := expect.Must(svc.ResumePartial(t.Context(), form, token))
	r.SavedAt, r.EndsAt = time.Time{}, time.Time{}
	return r
}

func TestAHalfResponseFromItsFirstSaveToItsEnding(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 20, 8, 0, 0, 123456000, time.UTC)
	onEachWithClock(t, start, func(t *testing.T, b *servicetest.Bundle, clock *servicetest.Clock) {
		form := b.Form(servicetest.MailBlocks, `{}`)
		b.Change(form, formsvc.Definition{HiddenFields: json.RawMessage(`["ref","none"]`)})
		r := formsvc.PartialSubmission{
			FormID: form, Answers: servicetest.Answers("name", `"A \u0041"`, "mail", `"ann@"`), Hidden: map[string]string{"ref": "mail", "gone": "x", "none": ""},
			Metadata: formsvc.Metadata{Country: "NL", Device: "phone", UserAgent: "Browser", UTM: map[string]string{"source": "mail"}},
			Block:    "name", Seconds: 12.5, ShareWithOwner: true,
			SavedAt: start.Add(time.Hour), EndsAt: start.Add(time.Hour), SubmissionID: formsvc.ID{1}, // which only ResumePartial sets
		}
		token := save(t, b.Service, r)
		expect.That(t, regexp.MustCompile(`^[\w-]{22}$`).MatchString(token), "the token is %q, want 128 bits in base64url", token)
		second := save(t, b.Service, r)
		expect.That(t, second != token, "two half responses have one token")
		want := r
		want.Token, want.Revision, want.Hidden = token, 1, map[string]string{"ref": "mail"}
		want.SavedAt, want.EndsAt, want.SubmissionID = start, time.Date(2026, 12, 21, 0, 0, 0, 0, time.UTC), formsvc.ID{}
		got, err := b.ResumePartial(t.Context(), form, token)
		expect.That(t, err == nil && reflect.DeepEqual(got, want), "resumed %+v\nwant %+v\n%v", got, want, err)

		clock.Advance(24 * time.Hour)
		r = formsvc.PartialSubmission{FormID: form, Token: token, Answers: servicetest.Answers("name", `"Ann"`), Block: "gone", Seconds: 20}
		expect.Equal(t, save(t, b.Service, r), token, "a later save returned")
		want = r
		want.Revision, want.Block, want.Hidden, want.SavedAt, want.EndsAt = 2, "", map[string]string{}, start.Add(24*time.Hour), want.EndsAt.Add(24*time.Hour)
		want.EndsAt = time.Date(2026, 12, 22, 0, 0, 0, 0, time.UTC)
		got, err = b.ResumePartial(t.Context(), form, token)
		expect.That(t, err == nil && reflect.DeepEqual(got, want), "resumed after a second save %+v\nwant %+v\n%v", got, want, err)

		sent := expect.Must(b.Submit(t.Context(), formsvc.SubmitParams{FormID: form, Answers: servicetest.Answers("name", `"Ann"`), Partial: token}))
		want = formsvc.PartialSubmission{FormID: form, Token: token, Revision: 2, SavedAt: want.SavedAt, EndsAt: want.EndsAt, SubmissionID: sent.ID}
		if got, err := b.ResumePartial(t.Context(), form, token); !errors.Is(err, formsvc.ErrAlreadySubmitted) || !reflect.DeepEqual(got, want) {
			t.Errorf("resumed when it was sent %+v\nwant %+v\n%v", got, want, err)
		}
		_, _, err = b.SavePartial(t.Context(), r)
		expect.That(t, errors.Is(err, formsvc.ErrAlreadySubmitted), "saved when it was sent: %v", err)
		expect.Error(t, "a response with a spent token", expect.ErrorOf(b.Submit(t.Context(), formsvc.SubmitParams{FormID: form, Partial: token})), nil)
	})
}

func TestWhatIsKeptOfAHalfResponse(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		form := b.Form(`[
			{"id":"go","type":"yes_no","properties":{"rule":{"next":[{"if":{"==":[{"var":"answers.go"},false]},"to":"end"}]}}},
			{"id":"note","type":"statement"},
			{"id":"n","type":"number"},
			{"id":"box","type":"group","children":[{"id":"in","type":"email"},{"id":"file in","type":"file_upload"},{"id":"tier","type":"short_text","properties":{"hide":true}}]},
			{"id":"file","type":"file_upload"},{"id":"sign","type":"signature"},{"id":"pay","type":"payment"},
			{"id":"plan","type":"short_text","properties":{"hide":true}},
			{"id":"vip","type":"short_text","properties":{"rule":{"show":{"==":[{"var":"answers.plan"},"gold"]}}}},
			{"id":"robot","type":"captcha"},
			{"id":"end","type":"ending"}]`, `{}`)
		all := servicetest.Answers("go", `true`, "note", `"x"`, "n", ` 1.50 `, "box", `1`, "in", `"no address"`, "file in", `[]`, "file", `[{"id":"f","name":"f"}]`, "sign", `"s"`,
			"pay", `{"status":"succeeded"}`, "plan", `"gold"`, "tier", `"x"`, "vip", `{"b":1,"a":[null]}`, "robot", `"r"`, "end", `1`, "gone", `1`, "", `1`)
		kept := func(name string, answers, want map[string]json.RawMessage, wantDropped ...string) {
			t.Helper()
			token, dropped, err := b.SavePartial(t.Context(), formsvc.PartialSubmission{FormID: form, Answers: answers})
			expect.Require(t, err == nil, "%s: %v", name, err)
			expect.That(t, slices.Equal(dropped, wantDropped), "%s: dropped %q, want %q", name, dropped, wantDropped)
			got := resumed(t, b.Service, form, token).Answers
			expect.That(t, fmt.Sprintf("%s", got) == fmt.Sprintf("%s", want), "%s: kept %s, want %s", name, got, want)
		}
		kept("everything", all, servicetest.Answers("go", `true`, "n", `1.50`, "in", `"no address"`, "vip", `{"b":1,"a":[null]}`),
			"", "box", "end", "file", "file in", "gone", "note", "pay", "plan", "robot", "sign", "tier")
		delete(all, "plan")
		kept("a block is off the path", all, servicetest.Answers("go", `true`, "n", `1.50`, "in", `"no address"`),
			"", "box", "end", "file", "file in", "gone", "note", "pay", "robot", "sign", "tier", "vip")
		kept("the path passes over the rest", servicetest.Answers("go", `false`, "n", `1`, "in", `"a@b.example"`), servicetest.Answers("go", `false`), "in", "n")
		kept("unanswered", servicetest.Answers("go", `null`, "n", `""`, "in", ``), servicetest.Answers("go", `null`, "n", `""`))
		kept("no JSON", servicetest.Answers("go", `yes`, "n", "\"\xff\"", "in", `"\u0000"`), map[string]json.RawMessage{}, "go", "in", "n")
		kept("JSON that the API does not read", servicetest.Answers("go", `"\udc00"`, "n", `1e400`, "in", `{"a":1,"a":2}`), map[string]json.RawMessage{}, "go", "in", "n")
		kept("nothing", nil, map[string]json.RawMessage{})
	})
}

func TestWhatAHalfResponseIsRefusedFor(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t, formsvc.WithLimits(formsvc.Limits{Partial: 100}))
	form := b.Form(servicetest.MailBlocks, `{}`)
	b.Change(form, formsvc.Definition{HiddenFields: json.RawMessage(`["ref"]`)})
	text := func(n int) map[string]json.RawMessage {
		return servicetest.Answers("name", `"`+strings.Repeat("n", n-len(`{"name":""}{}`))+`"`)
	}
	for name, c := range map[string]struct {
		r          formsvc.PartialSubmission
		path, code string
	}{
		"100 bytes":             {formsvc.PartialSubmission{Answers: text(100)}, "", ""},
		"101 bytes":             {formsvc.PartialSubmission{Answers: text(101)}, "", schema.CodeTooLong},
		"101 with hidden":       {formsvc.PartialSubmission{Answers: text(100), Hidden: map[string]string{"ref": "x"}}, "", schema.CodeTooLong},
		"dropped ones":          {formsvc.PartialSubmission{Answers: servicetest.Answers("gone", `"`+strings.Repeat("n", 200)+`"`)}, "", ""},
		"a long hidden field":   {formsvc.PartialSubmission{Hidden: map[string]string{"ref": strings.Repeat("x", 10_001)}}, "/hidden/ref", schema.CodeTooLong},
		"a control character":   {formsvc.PartialSubmission{Hidden: map[string]string{"ref": "\n"}}, "/hidden/ref", schema.CodeBadFormat},
		"metadata":              {formsvc.PartialSubmission{Metadata: formsvc.Metadata{Device: "\x00"}}, "/metadata/device", schema.CodeBadFormat},
		"seconds":               {formsvc.PartialSubmission{Seconds: -1}, "/seconds", schema.CodeOutOfRange},
		"no number":             {formsvc.PartialSubmission{Seconds: math.NaN()}, "/seconds", schema.CodeOutOfRange},
		"long metadata is cut":  {formsvc.PartialSubmission{Metadata: formsvc.Metadata{UserAgent: strings.Repeat("x", 2000)}}, "", ""},
		"an undeclared hidden":  {formsvc.PartialSubmission{Hidden: map[string]string{"x": "\n"}}, "", ""},
		"a block of any length": {formsvc.PartialSubmission{Block: strings.Repeat("x\x00", 2000)}, "", ""},
	} {
		c.r.FormID = form
		_, _, err := b.SavePartial(t.Context(), c.r)
		if c.code == "" {
			expect.Error(t, name, err, nil)
			continue
		}
		got := ", " + violations(err) + ","
		expect.That(t, strings.Contains(got, ", "+c.path+" "+c.code+","), "%s: %v, want %s at %q", name, err, c.code, c.path)
	}
	expect.Equal(t, (formsvc.Limits{}).WithDefaults().Partial, 64_000, "the default of Limits.Partial")
}

// A half response ends in whole days of the service's zone.
func TestAHalfResponseEnds(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("", 5*60*60)
	start := time.Date(2026, 11, 20, 0, 30, 0, 0, zone) // the day before in UTC
	onEachWithClock(t, start, func(t *testing.T, b *servicetest.Bundle, clock *servicetest.Clock) {
		form := b.Form(servicetest.MailBlocks, `{}`)
		token := save(t, b.Service, formsvc.PartialSubmission{FormID: form})
		got, err := b.ResumePartial(t.Context(), form, token)
		end := time.Date(2026, 12, 21, 0, 0, 0, 0, zone)
		expect.That(t, err == nil && got.EndsAt.Equal(end) && got.EndsAt.Location() == time.UTC,
			"it ends at %v, want %v in UTC: %v", got.EndsAt, end, err)
		clock.Advance(end.Sub(start) - time.Microsecond)
		resumed(t, b.Service, form, token)
		clock.Advance(time.Microsecond)
		expect.Error(t, "resumed when it is over", expect.ErrorOf(b.ResumePartial(t.Context(), form, token)), formsvc.ErrNotFound)
		_, _, err = b.SavePartial(t.Context(), formsvc.PartialSubmission{FormID: form, Token: token})
		expect.That(t, errors.Is(err, formsvc.ErrNotFound), "saved when it is over: %v", err)
		check(t, expect.ErrorOf(b.Answer(form)))
		expect.Error(t, "submitted when it is over", expect.ErrorOf(b.Submit(t.Context(), formsvc.SubmitParams{FormID: form, Partial: token})), nil)
	}, formsvc.WithTimeZone(zone))
}

func TestAHalfResponseAndTheStateOfItsForm(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		form := b.Form(servicetest.MailBlocks, `{}`)
		token := save(t, b.Service, formsvc.PartialSubmission{FormID: form, Answers: servicetest.Answers("name", `"Ann"`)})
		state := func(name string, saves, resumes error, change func() error) {
			t.Helper()
			expect.NoError(t, change())
			for _, token := range []string{"", token} {
				if _, _, err := b.SavePartial(t.Context(), formsvc.PartialSubmission{FormID: form, Token: token, Answers: servicetest.Answers("name", `"Ann"`)}); !errors.Is(err, saves) {
					t.Errorf("%s: saved with the token %q: %v, want %v", name, token, err, saves)
				}
			}
			got, err := b.ResumePartial(t.Context(), form, token)
			if !errors.Is(err, resumes) || err == nil && string(got.Answers["name"]) != `"Ann"` {
				t.Errorf("%s: resumed %s, %v, want %v", name, got.Answers, err, resumes)
			}
		}
		update := func(u formsvc.FormUpdate) func() error {
			return func() error {
				_, err := b.AsHost().UpdateForm(t.Context(), form, u)
				return err
			}
		}
		settings := func(s string) formsvc.FormUpdate {
			return formsvc.FormUpdate{Definition: formsvc.Definition{Settings: json.RawMessage(s)}}
		}
		draft, published := formsvc.StatusDraft, formsvc.StatusPublished
		state("closed", formsvc.ErrClosed, nil, update(settings(`{"closed":true}`)))
		state("closed by time", formsvc.ErrClosed, nil, update(settings(`{"closeAt":"2020-01-01T00:00:00Z"}`)))
		state("not open yet", formsvc.ErrClosed, nil, update(settings(`{"openAt":"2999-01-01T00:00:00Z"}`)))
		state("full", formsvc.ErrClosed, nil, func() error {
			if err := update(settings(`{"responseLimit":1}`))(); err != nil {
				return err
			}
			_, err := b.Answer(form, "name", `"Bob"`)
			return err
		})
		state("a draft", formsvc.ErrNotFound, formsvc.ErrNotFound, update(formsvc.FormUpdate{Status: &draft, Definition: settings(`{"closed":true}`).Definition}))
		state("published again", nil, nil, update(formsvc.FormUpdate{Status: &published, Definition: settings(`{}`).Definition}))
		state("in the trash", formsvc.ErrNotFound, formsvc.ErrNotFound, func() error { return b.AsHost().TrashForm(t.Context(), form) })
		state("restored", nil, nil, func() error { return b.RestoreForm(t.Context(), form, formsvc.ID{}) })
		state("with another question in its place", nil, nil, update(formsvc.FormUpdate{Definition: formsvc.Definition{
			Blocks: json.RawMessage(`[{"id":"name","type":"number"},{"id":"new","type":"email"}]`)}}))
	})
}

// The owner sees what is there, and of what is in it what respondents were told of.
func TestTheOwnersOfAFormAndItsHalfResponses(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		form, other := b.Form(servicetest.MailBlocks, `{}`), b.Form(servicetest.MailBlocks, `{}`)
		r := formsvc.PartialSubmission{FormID: form, Answers: servicetest.Answers("name", `"Ann"`), Block: "name", Seconds: 3, Metadata: formsvc.Metadata{Country: "NL"}}
		alone := save(t, b.Service, r)
		r.ShareWithOwner = true
		shared := save(t, b.Service, r)
		save(t, b.Service, formsvc.PartialSubmission{FormID: other})
		ann, bob := b.As(b.User.ID), b.As(formsvc.UserIDFrom("bob"))
		list := func(c formsvc.Client, q formsvc.Query) (all []formsvc.Partial) {
			t.Helper()
			for p, err := range c.Partials(t.Context(), form, q) {
				expect.NoError(t, err)
				all = append(all, p)
			}
			return all
		}
		check := func(c formsvc.Client) []formsvc.Partial {
			t.Helper()
			all := list(c, formsvc.Query{})
			expect.Require(t, len(all) == 2, "%d half responses, want 2", len(all))
			for _, p := range all {
				private := p.Answers == nil && p.Hidden == nil && p.Metadata == nil && p.Block == "" && p.Seconds == 0
				if p.ID.IsZero() || p.FormID != form || p.SavedAt.IsZero() || p.EndsAt.Before(p.SavedAt) || p.Revision != 1 || private == p.Shared {
					t.Errorf("the list has %+v", p)
				}
				if p.Shared && (string(p.Answers) != `{"name":"Ann"}` || string(p.Metadata) != `{"country":"NL"}` || p.Block != "name" || p.Seconds != 3) {
					t.Errorf("a shared one: %+v", p)
				}
			}
			return all
		}
		check(b.AsHost())
		all := check(ann)
		got := list(ann, formsvc.Query{Limit: 1})
		expect.That(t, len(got) == 1 && got[0].ID == all[0].ID, "with a limit of 1: %+v", got)
		for _, err := range bob.Partials(t.Context(), form, formsvc.Query{}) {
			expect.That(t, errors.Is(err, formsvc.ErrNotFound), "a foreign form: %v", err)
		}
		for _, err := range []error{
			bob.DeletePartial(t.Context(), form, all[0].ID), ann.DeletePartial(t.Context(), other, all[0].ID), ann.DeletePartial(t.Context(), form, formsvc.ID{1}),
		} {
			expect.That(t, errors.Is(err, formsvc.ErrNotFound), "deleted: %v", err)
		}
		expect.NoError(t, ann.DeletePartial(t.Context(), form, all[0].ID))
		expect.Error(t, "deleted twice", ann.DeletePartial(t.Context(), form, all[0].ID), formsvc.ErrNotFound)
		left := list(ann, formsvc.Query{})
		expect.That(t, len(left) == 1 && left[0].ID == all[1].ID, "left are %+v", left)
		// A save that says no more that it is shared takes it back.
		token := shared
		if all[0].Shared {
			token = alone
		}
		r.ShareWithOwner, r.Token = false, token
		save(t, b.Service, r)
		left = list(ann, formsvc.Query{})
		expect.That(t, len(left) == 1 && left[0].Answers == nil && left[0].Revision == 2, "no longer shared: %+v", left)
		expect.Must(b.Submit(t.Context(), formsvc.SubmitParams{FormID: form, Partial: token}))
		expect.Equal(t, len(list(ann, formsvc.Query{})), 0, "submitted")
	})
}

func TestARespondentForgetsAHalfResponse(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		form, other := b.Form(servicetest.MailBlocks, `{}`), b.Form(servicetest.MailBlocks, `{}`)
		gone, stays := save(t, b.Service, formsvc.PartialSubmission{FormID: form}), save(t, b.Service, formsvc.PartialSubmission{FormID: form})
		for range 2 {
			check(t, b.DeletePartial(t.Context(), form, gone))
		}
		expect.Error(t, "resumed what is forgotten", expect.ErrorOf(b.ResumePartial(t.Context(), form, gone)), formsvc.ErrNotFound)
		for _, token := range []string{"", "x", gone} {
			expect.Error(t, fmt.Sprintf("the token %q", token), b.DeletePartial(t.Context(), form, token), nil)
		}
		check(t, b.DeletePartial(t.Context(), other, stays))
		resumed(t, b.Service, form, stays)
		expect.Error(t, "an unknown form", b.DeletePartial(t.Context(), formsvc.ID{1}, stays), formsvc.ErrNotFound)
	})
}

// partialCalls counts calls of the storage, and keeps the last that saved.
type partialCalls struct {
	storage.Storage
	reads, submits, half atomic.Int64
	saved                storage.SavePartialParams
	submitted            storage.NewSubmission
}

func (s *partialCalls) Form(ctx context.Context, who storage.Actor, id storage.ID) (storage.Form, error) {
	s.reads.Add(1)
	return s.Storage.Form(ctx, who, id)
}

func (s *partialCalls) FormByPublicID(ctx context.Context, id string) (storage.Form, error) {
	s.reads.Add(1)
	return s.Storage.FormByPublicID(ctx, id)
}

func (s *partialCalls) SubmissionByKey(ctx context.Context, form storage.ID, key string) (storage.Submission, error) {
	s.reads.Add(1)
	return s.Storage.SubmissionByKey(ctx, form, key)
}

func (s *partialCalls) Submit(ctx context.Context, n storage.NewSubmission) (storage.Submission, bool, error) {
	s.submits.Add(1)
	s.submitted = n
	return s.Storage.Submit(ctx, n)
}

func (s *partialCalls) SavePartial(ctx context.Context, p storage.SavePartialParams) (int64, error) {
	s.half.Add(1)
	s.saved = p
	return s.Storage.SavePartial(ctx, p)
}

func (s *partialCalls) Partial(ctx context.Context, form storage.ID, token [32]byte, now time.Time) (storage.Partial, error) {
	s.half.Add(1)
	return s.Storage.Partial(ctx, form, token, now)
}

func (s *partialCalls) Partials(ctx context.Context, who storage.Actor, form storage.ID, q storage.PartialQuery, each func(*storage.Partial) error) (bool, error) {
	s.half.Add(1)
	return s.Storage.Partials(ctx, who, form, q, each)
}

func (s *partialCalls) DeletePartials(ctx context.Context, who storage.Actor, form storage.ID, p storage.DeletePartialsParams) (int, bool, error) {
	s.half.Add(1)
	return s.Storage.DeletePartials(ctx, who, form, p)
}

// Nobody pays for half responses who has none, and a token costs a response no call either. All
// tokens that are none are the same work.
func TestWhatHalfResponsesCost(t *testing.T) {
	t.Parallel()
	store := &partialCalls{Storage: memory.New()}
	clock := servicetest.NewClock(time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC))
	b := servicetest.SetupOn(t, store, formsvc.WithClock(clock.Now))
	form, other := b.Form(servicetest.MailBlocks, `{}`), b.Form(servicetest.MailBlocks, `{}`)
	f := expect.Must(b.AsHost().Form(t.Context(), form))
	costs := func(name string, reads, submits, half int64, call func() error) {
		t.Helper()
		store.reads.Store(0)
		store.submits.Store(0)
		store.half.Store(0)
		err := call()
		expect.Require(t, err == nil, "%s: %v", name, err)
		if r, s, h := store.reads.Load(), store.submits.Load(), store.half.Load(); r != reads || s != submits || h != half {
			t.Errorf("%s: %d reads, %d of Submit and %d of half responses, want %d, %d and %d", name, r, s, h, reads, submits, half)
		}
	}
	submit := func(token string) func() error {
		return func() error {
			_, err := b.Submit(t.Context(), formsvc.SubmitParams{FormID: form, Partial: token, IdempotencyKey: "key " + token})
			return err
		}
	}
	costs("a page", 1, 0, 0, func() error {
		_, err := b.PublicForm(t.Context(), f.PublicID)
		return err
	})
	costs("the first response", 0, 1, 0, submit(""))
	expect.That(t, store.submitted.Partial == [32]byte{}, "a response without a token has one")
	r := formsvc.PartialSubmission{FormID: form}
	costs("a new half response", 1, 0, 1, func() (err error) {
		r.Token, _, err = b.SavePartial(t.Context(), r)
		return err
	})
	p := store.saved
	expect.That(t, p.Max == 10_000 && p.IfRevision == 0 && p.New, "saved with %+v", p)
	costs("a later save", 1, 0, 1, func() error {
		_, _, err := b.SavePartial(t.Context(), r)
		return err
	})
	costs("a response with a token", 0, 1, 0, submit(r.Token))

	over := save(t, b.Service, formsvc.PartialSubmission{FormID: form})
	clock.Advance(31 * 24 * time.Hour)
	foreign := save(t, b.Service, formsvc.PartialSubmission{FormID: other})
	for name, token := range map[string]string{"unknown": strings.Repeat("A", 22), "foreign": foreign, "over": over, "a word": "x", "empty": "", "long": strings.Repeat("x", 1000)} {
		costs("a token that is "+name, 1, 0, 1, func() error {
			if _, err := b.ResumePartial(t.Context(), form, token); err != storage.ErrNotFound { //nolint:errorlint // it says nothing more
				t.Errorf("a token that is %s: %v", name, err)
			}
			return nil
		})
		if token == "" {
			continue
		}
		costs("a save with a token that is "+name, 1, 0, 1, func() error {
			if _, _, err := b.SavePartial(t.Context(), formsvc.PartialSubmission{FormID: form, Token: token}); err != storage.ErrNotFound { //nolint:errorlint // it says nothing more
				t.Errorf("a token that is %s: %v", name, err)
			}
			return nil
		})
	}
}

// noPartials is a storage that keeps no half responses.
type noPartials struct {
	storage.PartialStore
	beneath
}

func TestAStorageWithoutHalfResponses(t *testing.T) {
	t.Parallel()
	b := servicetest.SetupOn(t, noPartials{storage.Unimplemented{}, beneath{memory.New()}})
	form := b.Form(servicetest.MailBlocks, `{}`)
	_, _, saves := b.SavePartial(t.Context(), formsvc.PartialSubmission{FormID: form})
	_, resumes := b.ResumePartial(t.Context(), form, "x")
	var lists error
	for _, lists = range b.AsHost().Partials(t.Context(), form, formsvc.Query{}) {
	}
	for name, err := range map[string]error{
		"SavePartial": saves, "ResumePartial": resumes, "Partials": lists,
		"DeletePartial": b.AsHost().DeletePartial(t.Context(), form, formsvc.ID{1}), "DeletePartial by token": b.DeletePartial(t.Context(), form, "x"),
	} {
		expect.That(t, errors.Is(err, formsvc.ErrUnsupported), "%s: %v", name, err)
	}
	check(t, expect.ErrorOf(b.Submit(t.Context(), formsvc.SubmitParams{FormID: form, Answers: servicetest.Answers("name", `"Ann"`), Partial: "x"})))
	expect.Returns(t, 1, "EraseRespondent")(b.EraseRespondent(t.Context(), form, map[string]string{"name": "ann"}))
	expect.Returns(t, 0, "PurgeSubmissions")(b.PurgeSubmissions(t.Context(), time.Now(), form))
}

// A half response is erased by what is in it, faulty or off the path as it may be, and by
// nothing else; by age, with its form and with its owner.
func TestHalfResponsesAreErased(t *testing.T) {
	t.Parallel()
	onEachSearched(t, func(t *testing.T, b *servicetest.Bundle, find search) {
		const blocks = `[{"id":"mail","type":"email"},{"id":"who","type":"contact_info","properties":{"addressOrContact":{"email":{"required":true},"lastName":{"required":true}}}},
			{"id":"pick","type":"single_choice","choices":[{"id":"a","label":"A"},{"id":"b","label":"B"}]},{"id":"old","type":"short_text"},{"id":"note","type":"long_text"}]`
		form, other := b.Form(blocks, `{}`), b.Form(blocks, `{}`)
		withHidden := formsvc.Definition{HiddenFields: json.RawMessage(`["ref"]`)}
		b.Change(form, withHidden)
		add := func(form formsvc.ID, note string, hidden map[string]string, pairs ...string) {
			t.Helper()
			save(t, b.Service, formsvc.PartialSubmission{
				FormID: form, Answers: servicetest.Answers(append(pairs, "note", `"note `+note+`"`)...), Hidden: hidden, Metadata: formsvc.Metadata{UserAgent: "browser of " + note},
			})
		}
		add(form, "one", nil, "mail", `"ANN@answers.example"`)
		add(form, "two", nil, "who", `{"email":"ann@ANSWERS.example"}`) // without its name, which Submit asks for
		add(form, "three", map[string]string{"ref": "user 1"}, "old", `"ann"`)
		add(form, "four", nil, "mail", `"ann@answers.example and more"`)
		add(form, "five", nil, "pick", `"b"`)
		add(form, "six", nil, "old", `"ann@answers.example"`, "mail", `7`)
		add(other, "seven", nil, "mail", `"ann@answers.example"`)
		gone := func(name string, wanted map[string]string, notes ...string) {
			t.Helper()
			in := func(want bool, when string) {
				t.Helper()
				list := needles{}
				for _, note := range notes {
					list["the note"+note], list["the browser"+note] = []byte("note "+note), []byte("browser of "+note)
				}
				list.there(t, find, want, name+": "+when)
			}
			in(true, "before")
			expect.Returns(t, 0, "%s", name)(b.EraseRespondent(t.Context(), form, wanted))
			in(false, "after")
		}
		gone("by what nobody has", map[string]string{"mail": "ann@answers.example", "old": "bob"})
		gone("by an answer", map[string]string{"mail": " Ann@answers.example"}, "one")
		gone("by a part of a faulty answer", map[string]string{"who/email": "ann@answers.example"}, "two")
		gone("by a choice", map[string]string{"pick": "b"}, "five")
		gone("by a hidden field", map[string]string{"ref": "user 1", "old": "Ann"}, "three")
		needles{"faulty": []byte("note four"), "another form's": []byte("note seven")}.there(t, find, true, "so far")
		b.Change(form, formsvc.Definition{Blocks: json.RawMessage(`[{"id":"note","type":"long_text"},{"id":"mail","type":"email","properties":{"rule":{"show":{"==":[1,2]}}}}]`)})
		gone("by a block that is gone", map[string]string{"old": "ann@answers.example"}, "six")
		add(form, "late", nil)
		gone("by an answer that is faulty, to a block that is off the path now", map[string]string{"mail": "ann@answers.example and more"}, "four")

		refused(t, expect.ErrorOf(b.EraseRespondent(t.Context(), form, map[string]string{"never": "x"})), "a name that nothing has")
		list := needles{"of the form": []byte("note late"), "of another form": []byte("note seven")}
		expect.Returns(t, 0, "PurgeSubmissions")(b.PurgeSubmissions(t.Context(), time.Now().Add(-time.Hour), form))
		list.there(t, find, true, "after a purge of older ones")
		expect.Returns(t, 0, "PurgeSubmissions")(b.PurgeSubmissions(t.Context(), time.Now().Add(time.Hour), form))
		needles{"of the form": []byte("note late")}.there(t, find, false, "after PurgeSubmissions")
		needles{"of another form": []byte("note seven")}.there(t, find, true, "after PurgeSubmissions")
		expect.NoError(t, b.AsHost().TrashForm(t.Context(), other))
		expect.Returns(t, 0, "PurgeAllSubmissions")(b.PurgeAllSubmissions(t.Context(), time.Now().Add(time.Hour)))
		needles{"of a form in the trash": []byte("note seven")}.there(t, find, false, "after PurgeAllSubmissions")
	})
}

// More than a page of them, also those that are over and not swept yet, and an interruption.
func TestManyHalfResponsesAreErased(t *testing.T) {
	t.Parallel()
	onEachWithClock(t, time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC), func(t *testing.T, b *servicetest.Bundle, clock *servicetest.Clock) {
		form := b.Form(servicetest.MailBlocks, `{}`)
		var over string
		for i := range 120 {
			token := save(t, b.Service, formsvc.PartialSubmission{FormID: form, Answers: servicetest.Answers("mail", fmt.Sprintf(`"%d@example.com"`, i%2))})
			if i == 0 {
				over = token
				clock.Advance(40 * 24 * time.Hour)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		n, err := b.EraseRespondent(ctx, form, map[string]string{"mail": "0@example.com"})
		expect.That(t, n == 0 && errors.Is(err, context.Canceled), "%d, %v", n, err)
		expect.Returns(t, 0, "EraseRespondent")(b.EraseRespondent(t.Context(), form, map[string]string{"mail": "0@example.com"}))
		left := 0
		for _, err := range b.AsHost().Partials(t.Context(), form, formsvc.Query{}) {
			expect.NoError(t, err)
			left++
		}
		expect.That(t, left == 60, "%d half responses are left, want 60", left)
		clock.Advance(-40 * 24 * time.Hour)
		expect.Error(t, "one that was over when it was erased", expect.ErrorOf(b.ResumePartial(t.Context(), form, over)), formsvc.ErrNotFound)
	})
}
