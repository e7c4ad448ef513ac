package servicetest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
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
)

// rooms offers two rooms per workspace, respondent and building. A hook can run in every call.
type rooms struct {
	hook    func(context.Context) error
	renamed string // is added to labels
	calls   atomic.Int64
	last    atomic.Pointer[[]string] // IDs of the last call of Labels
}

func (r *rooms) of(q formsvc.ChoiceQuery) (list []schema.Choice) {
	for i := range 2 {
		id := fmt.Sprintf("%s.%s.%s.%d", q.Workspace.String()[:24], q.Respondent, q.By, i)
		list = append(list, schema.Choice{ID: id, Label: "Room " + id + r.renamed})
	}
	return list
}

func (r *rooms) Choices(ctx context.Context, q formsvc.ChoiceQuery) ([]schema.Choice, error) {
	if r.hook != nil {
		if err := r.hook(ctx); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(r.of(q), func(c schema.Choice) bool { return !strings.Contains(c.ID, q.Search) }), nil
}

func (r *rooms) Labels(ctx context.Context, ids []string, q formsvc.ChoiceQuery) (map[string]string, error) {
	r.calls.Add(1)
	r.last.Store(&ids)
	if r.hook != nil {
		if err := r.hook(ctx); err != nil {
			return nil, err
		}
	}
	labels := map[string]string{"unasked": "Unasked"}
	for _, c := range r.of(q) {
		labels[c.ID] = c.Label
	}
	return labels, nil
}

const (
	listOfRooms = `"properties":{"rule":{"choices":{"list":"rooms","by":"answers.building"}}}`
	roomBlocks  = `[
		{"id":"building","type":"short_text","label":"Building"},
		{"id":"room","type":"dropdown","label":"Room",` + listOfRooms + `},
		{"id":"g","type":"group","label":"More","children":[
			{"id":"more","type":"multiple_choice","label":"More",` + listOfRooms + `},
			{"id":"any","type":"picture_choice","label":"Any","properties":{"otherOption":true,"rule":{"choices":{"list":"rooms"}}}}]},
		{"id":"order","type":"short_text","label":"Order","properties":{"rule":{"check":[
			{"if":{"==":[{"var":"answers.order"},"x"]},"say":"Not x."},{"host":"order"},{"host":"second"}]}}}]`
)

// refuse refuses the answers "1" and "12".
func refuse(prefix string) func(context.Context, formsvc.CheckInput) (string, error) {
	return func(_ context.Context, in formsvc.CheckInput) (string, error) {
		if strings.HasPrefix(in.Answer.String(), prefix) {
			return fmt.Sprintf("No *%s* of {{%s}}\x00 for %s after %d", prefix, in.Block, in.Hidden["h"], len(in.Answers)), nil
		}
		return "", nil
	}
}

func hostOptions(source formsvc.ChoiceSource) []formsvc.Option {
	return []formsvc.Option{
		formsvc.WithChoices("rooms", "Rooms", source),
		formsvc.WithCheck("order", "Order", refuse("1")), formsvc.WithCheck("second", "Second", refuse("12")), formsvc.WithCheck("all", "All", refuse("")),
		servicetest.Loopback(), formsvc.WithoutRateLimit(),
	}
}

func list(ids ...string) string { return string(expect.Must(json.Marshal(ids))) }

// A change asks the host only about what changes, and what depends on it.
func TestChangesAskTheHost(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStore(t, func(t *testing.T, store storage.Storage) {
		source, refused := &rooms{}, "nothing"
		check := func(_ context.Context, in formsvc.CheckInput) (string, error) {
			bad := slices.ContainsFunc(in.Answers, func(a schema.Answer) bool { return a.String() == refused || a.String() == "late" })
			return map[bool]string{true: "No."}[bad], nil
		}
		b := servicetest.SetupOn(t, store, formsvc.WithChoices("rooms", "Rooms", source), formsvc.WithCheck("order", "Order", check), formsvc.WithCheck("second", "Second", check), servicetest.Loopback())
		form := b.Form(strings.TrimSuffix(roomBlocks, "]")+`,{"id":"note","type":"short_text"},{"id":"ours","type":"short_text","properties":{"hide":true}}]`, `{}`)
		a0 := fmt.Sprintf("%s..A.0", b.Workspace)
		s := expect.Must(b.Answer(form, "building", `"A"`, "room", `"`+a0+`"`, "more", list(a0), "order", `"1"`))
		source.hook, refused = func(context.Context) error { return errors.New("down") }, "1"
		for _, c := range [][3]string{
			{"ours", `"yes"`, "<nil>"}, {"note", `"x"`, "<nil>"}, {"room", `"` + a0 + `"`, "<nil>"}, {"building", `"B"`, "unavailable"}, {"more", list(a0, a0+"x"), "unavailable"},
			{"order", `"2"`, "<nil>"}, {"note", `"late"`, "/answers/order"}, {"order", `"1"`, "/answers/order"},
		} {
			change := formsvc.SubmissionChange{Answers: rawMap{c[0]: json.RawMessage(c[1])}}
			if c[0] == "ours" {
				change = formsvc.SubmissionChange{HostAnswers: change.Answers}
			}
			changed, err := b.AsHost().UpdateSubmission(t.Context(), form, s.ID, change)
			expect.That(t, strings.Contains(fmt.Sprint(err), c[2]), "%v: %v", c, err)
			expect.That(t, err != nil || strings.Contains(string(changed.Answers), "Room "+a0), "%v: %s", c, changed.Answers)
		}
	})
}

// A submission stores only what the host offers for its workspace, respondent and building, in every way to submit.
func TestChoicesOfTheHost(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStore(t, func(t *testing.T, store storage.Storage) {
		source := &rooms{}
		b := servicetest.SetupOn(t, store, hostOptions(source)...)
		ctx := t.Context()
		form := b.Form(roomBlocks, `{}`)
		other := expect.Must(b.CreateWorkspace(ctx, b.User.ID, "Other"))
		room := func(workspace formsvc.ID, respondent, building string, n int) string {
			return fmt.Sprintf("%s.%s.%s.%d", workspace, respondent, building, n)
		}
		a0, a1, any0 := room(b.Workspace, "", "A", 0), room(b.Workspace, "", "A", 1), room(b.Workspace, "", "", 0)
		pairs := []string{"building", `"A"`, "room", list(a0)[1 : len(list(a0))-1], "more", list(a1, a0), "any", `{"id":"` + any0 + `"}`}
		stored := expect.Must(b.Answer(form, pairs...))
		expect.Equal(t, source.calls.Load(), 2, "calls for two values")
		for _, want := range []string{`"value":{"id":"` + a0 + `","label":"Room ` + a0 + `"}`, `"value":[{"id":"` + a0 + `","label":"Room ` + a0 + `"},{"id":"` + a1 + `"`, `{"id":"` + any0 + `"`} {
			expect.That(t, strings.Contains(strings.NewReplacer(`": `, `":`, `, `, `,`).Replace(string(stored.Answers)), want), "%s is not in %s", want, stored.Answers)
		}
		for name, refused := range map[string]struct{ answer, want string }{
			"another workspace":     {`"` + room(other.ID, "", "A", 0) + `"`, "/answers/room NOT_A_CHOICE"},
			"another respondent":    {`"` + room(b.Workspace, "bob", "A", 0) + `"`, "/answers/room NOT_A_CHOICE"},
			"another building":      {`{"id":"` + room(b.Workspace, "", "B", 0) + `"}`, "/answers/room NOT_A_CHOICE"},
			"an unasked label":      {`"nothing"`, "/answers/room NOT_A_CHOICE"},
			"an own text":           {`{"other":"x"}`, "/answers/room NOT_A_CHOICE"},
			"a long ID":             {`"` + strings.Repeat("x", 201) + `"`, "/answers/room NOT_A_CHOICE"},
			"a control character":   {`"a\tb"`, "/answers/room NOT_A_CHOICE"},
			"a list for one choice": {list(a0), "/answers/room WRONG_TYPE"},
		} {
			_, err := b.Answer(form, "building", `"A"`, "room", refused.answer)
			expect.Equal(t, violations(err), refused.want, "%s", name)
		}
		anonymous := b.Form(roomBlocks, `{"anonymous":true}`)
		for _, c := range []struct {
			form             formsvc.ID
			respondent, room string
			want             string
		}{
			{form, "bob", room(b.Workspace, "bob", "", 0), "<nil>"}, {form, "eve", room(b.Workspace, "bob", "", 0), "/answers/room NOT_A_CHOICE"},
			{form, "", room(b.Workspace, "bob", "", 0), "/answers/room NOT_A_CHOICE"}, {form, "eve", any0, "/answers/room NOT_A_CHOICE"},
			{anonymous, "bob", room(b.Workspace, "bob", "", 0), "/answers/room NOT_A_CHOICE"}, {anonymous, "bob", any0, "<nil>"},
		} {
			_, err := b.Submit(ctx, formsvc.SubmitParams{FormID: c.form, Respondent: c.respondent, Answers: servicetest.Answers("room", `"`+c.room+`"`)})
			expect.Equal(t, violations(err), c.want, "%s of %q", c.room, c.respondent)
		}
		for want, answer := range map[string]string{
			"/answers/more/1 DUPLICATE":    list(a0, a0),
			"/answers/more/1 NOT_A_CHOICE": list(a0, "x", a1),
			"/answers/more TOO_MANY":       list(manyIDs(501)...),
		} {
			expect.Equal(t, violations(expect.ErrorOf(b.Answer(form, "building", `"A"`, "more", answer))), want, "several")
		}
		expect.Equal(t, b.Submissions(form), 2, "submissions")

		// A moved form offers the rooms of its new workspace, and a partial submission takes any ID.
		expect.NoError(t, expect.ErrorOf(b.AsHost().UpdateForm(ctx, form, formsvc.FormUpdate{Workspace: &other.ID})))
		expect.Equal(t, violations(expect.ErrorOf(b.Answer(form, pairs...))), "/answers/any NOT_A_CHOICE, /answers/more/0 NOT_A_CHOICE, /answers/more/1 NOT_A_CHOICE, /answers/room NOT_A_CHOICE", "the old workspace")
		before := source.calls.Load()
		moved := room(other.ID, "", "A", 1)
		_, dropped, err := b.SavePartial(ctx, formsvc.PartialSubmission{FormID: form, Answers: servicetest.Answers(pairs...)})
		expect.That(t, err == nil && len(dropped) == 0, "a partial submission: %v %v", dropped, err)
		path := expect.Must(b.Path(ctx, form, servicetest.Answers("room", `"any ID"`), nil))
		expect.Equal(t, len(path.Violations), 0, "violations of a path")
		expect.Equal(t, source.calls.Load(), before, "calls for a partial submission and a path")

		// A repeated submission returns the first one, even if the host fails in the meantime.
		params := formsvc.SubmitParams{FormID: form, IdempotencyKey: "k", Answers: servicetest.Answers("building", `"A"`, "room", `"`+moved+`"`)}
		first := expect.Must(b.Submit(ctx, params))
		source.hook = func(context.Context) error { return errors.New("down") }
		expect.Equal(t, expect.Must(b.Submit(ctx, params)).ID, first.ID, "the repeated submission")
		params.StrictIdempotency = true
		expect.Equal(t, expect.Must(b.Submit(ctx, params)).ID, first.ID, "the strictly repeated submission")
		another := params
		another.Answers = servicetest.Answers("building", `"A"`, "room", `"another"`)
		expect.Error(t, "another submission with the key", expect.ErrorOf(b.Submit(ctx, another)), formsvc.ErrUnavailable)
		source.hook = nil
		source.renamed = " renamed"
		expect.Equal(t, expect.Must(b.Submit(ctx, params)).ID, first.ID, "the repeated submission with a new label")
		another.Answers = servicetest.Answers("building", `"A"`, "room", `"`+room(other.ID, "", "A", 0)+`"`)
		expect.Error(t, "another room with the key", expect.ErrorOf(b.Submit(ctx, another)), formsvc.ErrIdempotencyKeyReused)
	})
}

func manyIDs(n int) (ids []string) {
	for i := range n {
		ids = append(ids, fmt.Sprint("id", i))
	}
	return ids
}

// The host's checks run after all others, in order, and their message is plain text.
func TestChecksOfTheHost(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStore(t, func(t *testing.T, store storage.Storage) {
		b := servicetest.SetupOn(t, store, hostOptions(&rooms{})...)
		form := b.Form(roomBlocks, `{}`)
		for answer, want := range map[string]string{"2": "<nil>", "x": "Not x.", "12": "No *1* of {{order}}  for v after 2"} {
			_, err := b.Submit(t.Context(), formsvc.SubmitParams{FormID: form, Answers: servicetest.Answers("building", `"A"`, "order", `"`+answer+`"`), Hidden: map[string]string{"h": "v"}})
			if want == "<nil>" {
				expect.NoError(t, err)
				continue
			}
			refused, ok := errors.AsType[*schema.Error](err)
			expect.Require(t, ok, "%s: %v", answer, err)
			expect.Equal(t, len(refused.Violations), 1, "violations")
			v := refused.Violations[0]
			expect.Equal(t, v.Path+" "+v.Field+" "+v.Code+" "+v.Message, "/answers/order order CHECK_FAILED "+want, "a violation")
			say, _ := v.Params["say"].(string)
			expect.Equal(t, schema.ParseText(say, schema.Formatting|schema.Insertions).Plain(), want, "its text with marks")
		}
		expect.Equal(t, b.Submissions(form), 1, "submissions")
		group := b.Form(`[{"id":"g","type":"group","properties":{"rule":{"check":[{"host":"all"}]}},"children":[{"id":"h","type":"group","children":[{"id":"a","type":"short_text","properties":{"rule":{"check":[{"host":"order"}]}}}]}]}]`, `{}`)
		expect.Equal(t, violations(expect.ErrorOf(b.Answer(group, "a", `"1"`)))+" "+violations(expect.ErrorOf(b.Answer(group, "a", `"2"`))), "/answers/a CHECK_FAILED /answers/g CHECK_FAILED", "a failed block in a group, and a group, which has no answer")
	})
}

// A failing, panicking, exiting or missing source or check stores nothing, also in a host's transaction.
func TestFailuresOfTheHost(t *testing.T) {
	t.Parallel()
	for name, hook := range map[string]func(context.Context) error{
		"error":    func(context.Context) error { return fmt.Errorf("%w: and %w", formsvc.ErrNotFound, &schema.Error{}) },
		"panic":    func(context.Context) error { panic("x") },
		"exit":     func(context.Context) error { runtime.Goexit(); return nil },
		"canceled": func(context.Context) error { return context.Canceled },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			servicetest.OnEachStore(t, func(t *testing.T, store storage.Storage) {
				b := servicetest.SetupOn(t, store,
					formsvc.WithChoices("rooms", "Rooms", &rooms{hook: hook}),
					formsvc.WithCheck("order", "Order", func(ctx context.Context, _ formsvc.CheckInput) (string, error) { return "", hook(ctx) }))
				form := b.Form(roomBlocks, `{}`)
				for _, svc := range []*formsvc.Service{b.Service, b.WithStorage(store)} {
					for _, pairs := range [][]string{{"room", `"x"`}, {"more", `["x"]`}, {"order", `"2"`}} {
						_, err := svc.Submit(t.Context(), formsvc.SubmitParams{FormID: form, Answers: servicetest.Answers(pairs...), IdempotencyKey: "k"})
						_, refused := errors.AsType[*schema.Error](err)
						expect.That(t, errors.Is(err, formsvc.ErrUnavailable) && !errors.Is(err, formsvc.ErrNotFound) && !refused, "%v: %v", pairs, err)
					}
				}
				expect.Equal(t, b.Submissions(form), 0, "submissions")
				expect.NoError(t, expect.ErrorOf(b.Answer(form, "building", `"A"`)))
			})
		})
	}
}

// Answers to a list or check that does not exist are refused, and there is a warning.
func TestUnknownListsAndChecks(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		form := b.Form(strings.Replace(roomBlocks, `{"id":"building"`, `{"id":"n","type":"ranking","label":"N","choices":[{"id":"a","label":"A"}],`+listOfRooms+`},{"id":"building"`, 1), `{}`)
		for _, pairs := range [][]string{{"room", `"x"`}, {"more", `["x"]`}, {"order", `"2"`}} {
			expect.Error(t, pairs[0], expect.ErrorOf(b.Answer(form, pairs...)), formsvc.ErrUnavailable)
		}
		expect.NoError(t, expect.ErrorOf(b.Answer(form)))
		var got []string
		for _, w := range expect.Must(b.AsHost().Warnings(t.Context(), form)) {
			got = append(got, fmt.Sprint(w.Path, " ", w.Code, " ", w.Params["reason"]))
		}
		expect.Same(t, []string{
			"/blocks/0/properties/rule/choices NO_EFFECT list_type",
			"/blocks/2/properties/rule/choices/list UNKNOWN_NAME list",
			"/blocks/3/children/0/properties/rule/choices/list UNKNOWN_NAME list",
			"/blocks/3/children/1/properties/rule/choices/list UNKNOWN_NAME list",
			"/blocks/4/properties/rule/check/1/host UNKNOWN_NAME host_check",
			"/blocks/4/properties/rule/check/2/host UNKNOWN_NAME host_check",
		}, got, "warnings")
	})
}

// A source or check that ignores its context delays a submission by two seconds, and holds at most 64 goroutines.
func TestASourceThatHangs(t *testing.T) {
	t.Parallel()
	for _, block := range []string{"room", "order"} {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			source := &rooms{hook: func(context.Context) error { <-release; return nil }}
			check := func(ctx context.Context, _ formsvc.CheckInput) (string, error) {
				return "", expect.ErrorOf(source.Labels(ctx, nil, formsvc.ChoiceQuery{}))
			}
			b := servicetest.SetupOn(t, memory.New(), formsvc.WithChoices("rooms", "Rooms", source), formsvc.WithCheck("order", "Order", check), formsvc.WithCheck("second", "Second", check))
			form := b.Form(roomBlocks, `{}`)
			began := time.Now()
			results := make(chan error)
			answer := `"` + b.Workspace.String() + `...0"`
			for range 200 {
				go func() { results <- expect.ErrorOf(b.Answer(form, block, answer)) }()
			}
			for range 200 {
				expect.Error(t, "a submission", <-results, formsvc.ErrUnavailable)
			}
			expect.Equal(t, time.Since(began), 2*time.Second, "time of 200 submissions")
			expect.Equal(t, source.calls.Load(), 64, "calls in progress")
			expect.Equal(t, b.Submissions(form), 0, "submissions")
			close(release)
			synctest.Wait()
			expect.NoError(t, expect.ErrorOf(b.Answer(form, block, answer)))
		})
	}
}

// A source that returns too much is truncated, and invalid choices are omitted.
func TestAListOf100000Choices(t *testing.T) {
	t.Parallel()
	all := []schema.Choice{{ID: ""}, {ID: "a\n"}, {ID: "a"}, {ID: "a"}, {ID: "b", Label: strings.Repeat("é", 2000)}, {ID: "c", Label: "x\xff\x00y"}}
	for i := range 100_000 {
		all = append(all, schema.Choice{ID: fmt.Sprint(i), Label: "L"})
	}
	source := sourceFunc(func() []schema.Choice { return all })
	b := servicetest.Setup(t, hostOptions(source)...)
	got := expect.Must(b.Choices(t.Context(), "rooms", formsvc.ChoiceQuery{Limit: 20}))
	expect.Equal(t, len(got), 20, "choices")
	expect.Same(t, []schema.Choice{{ID: "a", Label: "a"}, {ID: "b", Label: strings.Repeat("é", 999) + "…"}, {ID: "c", Label: "x  y"}}, got[:3], "the first choices")
	expect.Error(t, "another list", expect.ErrorOf(b.Choices(t.Context(), "x", formsvc.ChoiceQuery{})), formsvc.ErrUnavailable)
	form := b.Form(roomBlocks, `{}`)
	stored := expect.Must(b.Answer(form, "room", `"c"`))
	expect.That(t, strings.Contains(string(stored.Answers), "x  y"), "a label in %s", stored.Answers)
	for i := range 60 {
		expect.Must(b.Answer(form, "room", fmt.Sprintf(`"%d"`, i)))
	}
	expect.Must(b.Answer(form, "room", `"59"`))
	for limit := range 2 { // cached and uncached
		room := expect.Must(b.AsHost().Summary(t.Context(), form, formsvc.SubmissionQuery{Limit: 1000 * limit})).Blocks[1]
		expect.Equal(t, fmt.Sprint(len(room.Choices), room.Choices[0], room.Uncounted, room.Answered), "50 {59 L 2 0} 11 62", "a summary")
	}
}

// A sourceFunc offers the same choices for all queries.
type sourceFunc func() []schema.Choice

func (f sourceFunc) Choices(context.Context, formsvc.ChoiceQuery) ([]schema.Choice, error) {
	return f(), nil
}

func (f sourceFunc) Labels(_ context.Context, ids []string, _ formsvc.ChoiceQuery) (map[string]string, error) {
	labels := map[string]string{}
	for _, c := range f() {
		if slices.Contains(ids, c.ID) {
			labels[c.ID] = c.Label
		}
	}
	return labels, nil
}

// Names of lists and checks are unique and visible.
func TestNamesOfListsAndChecks(t *testing.T) {
	t.Parallel()
	with := func(opts ...formsvc.Option) string {
		return fmt.Sprint(expect.ErrorOf(formsvc.New(append(opts, formsvc.WithStorage(memory.New()))...)))
	}
	check := func(context.Context, formsvc.CheckInput) (string, error) { return "", nil }
	expect.Equal(t, with(formsvc.WithChoices("a", "A", &rooms{}), formsvc.WithChoices("b", "A", &rooms{}), formsvc.WithCheck("a", "A", check)), "<nil>", "different names")
	for name, got := range map[string]string{
		"used":    with(formsvc.WithChoices("a", "A", &rooms{}), formsvc.WithChoices("a", "B", &rooms{})),
		"again":   with(formsvc.WithCheck("a", "A", check), formsvc.WithCheck("a", "B", check)),
		"empty":   with(formsvc.WithChoices("", "A", &rooms{})),
		"title":   with(formsvc.WithCheck("a", "", check)),
		"space":   with(formsvc.WithCheck(" a", "A", check)),
		"long":    with(formsvc.WithChoices(strings.Repeat("a", 101), "A", &rooms{})),
		"control": with(formsvc.WithChoices("a\n", "A", &rooms{})),
		"nil":     with(formsvc.WithChoices("a", "A", nil)),
		"check":   with(formsvc.WithCheck("a", "A", nil)),
	} {
		expect.That(t, strings.HasPrefix(got, "formsvc: With"), "%s: %s", name, got)
	}
	expect.That(t, strings.Contains(with(formsvc.WithChoices("a", "A", nil)), "nil"), "a nil source")
}

// A refusal by the host leaves the host's own transaction usable.
func TestTheHostIsAskedInItsTransaction(t *testing.T) {
	t.Parallel()
	pool, options := pgtest.Pool(t, pgtest.MaxConns(8)), postgres.WithSchema(pgtest.Schema(t))
	store := servicetest.Migrated(t, pool, options)
	b := servicetest.SetupOn(t, store, hostOptions(&rooms{})...)
	form := b.Form(roomBlocks, `{}`)
	expect.NoError(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		inTx := b.WithStorage(store.On(tx))
		for pairs, want := range map[[2]string]string{
			{"room", `"x"`}: "/answers/room NOT_A_CHOICE", {"order", `"1"`}: "/answers/order CHECK_FAILED", {"any", `"` + b.Workspace.String() + `...1"`}: "<nil>",
		} {
			_, err := inTx.Submit(t.Context(), formsvc.SubmitParams{FormID: form, Answers: servicetest.Answers(pairs[:]...)})
			expect.Equal(t, violations(err), want, "%s", pairs)
		}
		return nil
	}))
	expect.Equal(t, b.Submissions(form), 1, "submissions")
}
