package storagetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
)

// recorder takes the place of *testing.T, so that a case may fail.
type recorder struct {
	context func() context.Context

	mu     sync.Mutex
	failed bool
	log    []string
}

func (r *recorder) Helper()                  {}
func (r *recorder) Context() context.Context { return r.context() }

func (r *recorder) Logf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log = append(r.log, fmt.Sprintf(format, args...))
}

func (r *recorder) Errorf(format string, args ...any) {
	r.Logf(format, args...)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = true
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

// record runs a case as Run does and reports whether it failed and what it said.
func record(ctx context.Context, c Case, s storage.Storage) (failed bool, log string) {
	r := &recorder{context: func() context.Context { return ctx }}
	var wg sync.WaitGroup
	wg.Go(func() { c.exercise(r, s, s) })
	wg.Wait()
	return r.Failed(), strings.Join(r.log, "\n")
}

func find(t *testing.T, name string) Case {
	t.Helper()
	for _, c := range Cases() {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("the suite has no case %q", name)
	return Case{}
}

func TestMutants(t *testing.T) {
	t.Parallel()
	for _, m := range slices.Concat(
		accessMutants(), dataMutants(), submitMutants(), duplicateMutants(), removalMutants(),
		deliveryMutants(), contractMutants(), documentMutants(), partialMutants(), respondentMutants(), updateMutants(),
	) {
		for _, name := range m.fails {
			t.Run(m.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				c := find(t, name)
				failed, log := record(t.Context(), c, m.make(memory.New()))
				if !failed {
					t.Fatalf("the case passes on a store that %s", m.name)
				}
				if !strings.Contains(log, c.About) {
					t.Errorf("the log does not tell what the contract demands:\n%s", log)
				}
				if failed, log := record(t.Context(), c, memory.New()); failed {
					t.Errorf("the case fails on a store that is not broken:\n%s", log)
				}
			})
		}
	}
}

func TestNoCasePassesWithoutImplementation(t *testing.T) {
	t.Parallel()
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			failed, log := record(t.Context(), c, storage.Unimplemented{})
			if !failed || !strings.Contains(log, "ErrUnimplemented") {
				t.Errorf("want a failure that names ErrUnimplemented, got %v:\n%s", failed, log)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			// hollow looks at no context. A case that waits for deliveries from hollow
			// looks at its context.
			if failed, _ := record(ctx, c, newHollow(cancel)); !failed {
				t.Error("the case passes on a store that keeps nothing and never fails")
			}
		})
	}
}

func TestCasesAreNamedOnce(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile(`^[a-z]+(_[a-z]+)*/[a-z0-9]+(_[a-z0-9]+)*$`)
	seen := map[string]bool{}
	for _, c := range Cases() {
		if !name.MatchString(c.Name) {
			t.Errorf("%q is not group/case in snake case", c.Name)
		}
		if seen[c.Name] {
			t.Errorf("%q is there twice", c.Name)
		}
		seen[c.Name] = true
		if !strings.HasSuffix(c.About, ".") || strings.Count(c.About, "\n") > 0 {
			t.Errorf("%q: About is not one sentence: %q", c.Name, c.About)
		}
		if group, _, _ := strings.Cut(c.Name, "/"); c.Group() != group {
			t.Errorf("%q: Group() = %q", c.Name, c.Group())
		}
	}
}

func TestEveryMethodHasAContextCase(t *testing.T) {
	t.Parallel()
	var covered []string
	for _, op := range slices.Concat(actorOperations(), hostOperations(), documentOperations(), respondentOperations(), submissionUpdateOperations(), []operation{formForKeyOperation()}) {
		covered = append(covered, op.method)
	}
	for _, op := range partialOperations() {
		covered = append(covered, op.method)
	}
	// A method that hollow does not have fails by itself, and shows nothing of a case.
	for _, op := range slices.Concat(actorOperations(), hostOperations(), documentOperations(), respondentOperations(), submissionUpdateOperations()) {
		if err := op.call(t.Context(), newHollow(func() {}), &world{}, storage.AsHost()); errors.Is(err, storage.ErrUnimplemented) {
			t.Errorf("%s is left out of hollow", op.method)
		}
	}
	actor := reflect.TypeFor[storage.Actor]()
	var withActor []string
	for _, op := range slices.Concat(actorOperations(), documentOperations(), submissionUpdateOperations()) {
		withActor = append(withActor, op.method)
	}
	for _, op := range partialOperations() {
		if op.withActor {
			withActor = append(withActor, op.method)
		}
	}
	withActor = append(withActor, "PausedWebhooks") // whose case makes a pause, which the world of the others has not
	find(t, "deliveries/paused_list_of_user")
	methods := reflect.TypeFor[storage.Storage]()
	for i := range methods.NumMethod() {
		m := methods.Method(i)
		if !m.IsExported() {
			continue
		}
		if !slices.Contains(covered, m.Name) {
			t.Errorf("%s is called by no operation: the group contexts leaves it out", m.Name)
		}
		for in := range m.Type.NumIn() {
			if m.Type.In(in) == actor && !slices.Contains(withActor, m.Name) {
				t.Errorf("%s takes an actor, but the group isolation leaves it out", m.Name)
			}
		}
	}
}

func TestSkip(t *testing.T) {
	t.Parallel()
	cases := Cases()
	for _, tt := range []struct {
		name         string
		skip, reason string
		err          string
	}{
		{"a case", "submissions/idempotency_replay", "not kept", ""},
		{"a group", "deliveries", "no queue", ""},
		{"an unknown case", "submissions/nothing", "because", `Skip("submissions/nothing"): the suite has no case`},
		{"an unknown group", "submission", "because", `Skip("submission"): the suite has no case`},
		{"nothing", "", "because", `Skip(""): the suite has no case`},
		{"no reason", "deliveries", " ", `Skip("deliveries"): a reason is needed`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, err := newPlan(cases, []Option{Skip(tt.skip, tt.reason)})
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("want an error with %q, got %v", tt.err, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range cases {
				want := c.Name == tt.skip || strings.HasPrefix(c.Name, tt.skip+"/")
				if reason, got := p.reason(c); got != want || got && reason != tt.reason {
					t.Errorf("%s: skipped %v for %q, want %v for %q", c.Name, got, reason, want, tt.reason)
				}
			}
		})
	}
}

// A skipped case is not run: the store is never made.
func TestRunSkips(t *testing.T) {
	t.Parallel()
	var opts []Option
	for _, c := range Cases() {
		opts = append(opts, Skip(c.Group(), "the test of Skip"))
	}
	Run(t, func(t *testing.T) storage.Storage {
		t.Error("newStorage was called for a case that is skipped")
		return memory.New()
	}, opts...)
}

func TestRender(t *testing.T) {
	t.Parallel()
	utc := time.Date(2026, 3, 4, 5, 6, 7, 1000, time.UTC)
	for _, tt := range []struct {
		name string
		a, b any
		same bool
	}{
		{"white space in JSON", jsonOf(`{"a": [1, 2]}`), jsonOf(`{"a":[1,2]}`), true},
		{"escapes in JSON", jsonOf(`"\u00e9"`), jsonOf(`"é"`), true},
		{"member order", jsonOf(`{"a":1,"b":2}`), jsonOf(`{"b":2,"a":1}`), false},
		{"number literals", jsonOf(`1.0`), jsonOf(`1`), false},
		{"null and a string", jsonOf(`null`), jsonOf(`"null"`), false},
		{"a string and a number", jsonOf(`1`), jsonOf(`"1"`), false},
		{"nothing and null", jsonOf(``), jsonOf(`null`), false},
		{"broken JSON", jsonOf(`{"a":1`), jsonOf(`{"a":1}`), false},
		{"nanoseconds", utc, utc.Add(999), true},
		{"microseconds", utc, utc.Add(1000), false},
		{"zones", utc, utc.In(time.FixedZone("", 3600)), false},
		{"zero times", time.Time{}, time.Time{}.In(time.FixedZone("", 0)), true},
		{"nil and empty lists", []storage.ID(nil), []storage.ID{}, true},
		{"bytes", []byte("a"), []byte("b"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := render(tt.a) == render(tt.b); got != tt.same {
				t.Errorf("rendered alike: %v, want %v\n%s\n%s", got, tt.same, render(tt.a), render(tt.b))
			}
		})
	}
}

// mutant is a store with one fault, made out of one that has none.
type mutant struct {
	name  string   // what the store does, as in "a store that …"
	fails []string // the cases that have to see it
	make  wrapper
}

type wrapper = func(storage.Storage) storage.Storage

// wrap wraps a store in one that has nothing else.
func wrap[M interface {
	~struct{ storage.Storage }
	storage.Storage
}](s storage.Storage) storage.Storage {
	return M(struct{ storage.Storage }{s})
}

func jsonOf(s string) json.RawMessage { return json.RawMessage(s) }

// rendezvous lets calls go on only when n of them have come, again and again.
type rendezvous struct {
	n    int
	mu   sync.Mutex
	here int
	gate chan struct{}
}

func newRendezvous(n int) *rendezvous { return &rendezvous{n: n, gate: make(chan struct{})} }

func (r *rendezvous) meet() {
	r.mu.Lock()
	r.here++
	gate := r.gate
	if r.here == r.n {
		close(gate)
		r.here, r.gate = 0, make(chan struct{})
	}
	r.mu.Unlock()
	<-gate
}

// What the contract leaves to a store must not fail a case.
func TestSuiteAcceptsWhatTheContractLeavesOpen(t *testing.T) {
	t.Parallel()
	Run(t, func(*testing.T) storage.Storage { return variant{memory.New()} })
}

// variant wraps errors, writes JSON with other white space, returns empty lists
// for nil ones, knows nanoseconds, and returns the deliveries of a batch in
// another order.
type variant struct{ storage.Storage }

func wrapped(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("variant: %w", err)
}

func indented(raw json.RawMessage) json.RawMessage {
	var out bytes.Buffer
	if json.Indent(&out, raw, "", "\t") != nil {
		return raw
	}
	return out.Bytes()
}

func indentedForm(f storage.Form) storage.Form {
	f.Definition.Blocks, f.Definition.Settings = indented(f.Definition.Blocks), indented(f.Definition.Settings)
	return f
}

func listed[V any](list []V, err error) ([]V, error) {
	if list == nil {
		list = []V{}
	}
	return list, wrapped(err)
}

func (m variant) CreateWorkspace(ctx context.Context, w storage.Workspace, limit int) error {
	return wrapped(m.Storage.CreateWorkspace(ctx, w, limit))
}

func (m variant) Workspace(ctx context.Context, actor storage.Actor, id storage.ID) (storage.Workspace, error) {
	w, err := m.Storage.Workspace(ctx, actor, id)
	if err == nil {
		w.CreatedAt = w.CreatedAt.Add(999 * time.Nanosecond)
	}
	return w, wrapped(err)
}

func (m variant) Workspaces(ctx context.Context, actor storage.Actor, page storage.Page) ([]storage.Workspace, error) {
	return listed(m.Storage.Workspaces(ctx, actor, page))
}

func (m variant) Form(ctx context.Context, actor storage.Actor, id storage.ID) (storage.Form, error) {
	f, err := m.Storage.Form(ctx, actor, id)
	return indentedForm(f), wrapped(err)
}

func (m variant) UpdateForm(ctx context.Context, actor storage.Actor, id storage.ID, c storage.FormChange) (storage.Form, error) {
	f, err := m.Storage.UpdateForm(ctx, actor, id, c)
	return indentedForm(f), wrapped(err)
}

func (m variant) Submit(ctx context.Context, n storage.NewSubmission) (storage.Submission, bool, error) {
	s, replayed, err := m.Storage.Submit(ctx, n)
	s.Answers = indented(s.Answers)
	return s, replayed, wrapped(err)
}

func (m variant) Deliveries(ctx context.Context, actor storage.Actor, webhook storage.ID, most int) ([]storage.Delivery, error) {
	return listed(m.Storage.Deliveries(ctx, actor, webhook, most))
}

func (m variant) ClaimDeliveries(ctx context.Context, p storage.ClaimParams) ([]storage.ClaimedDelivery, bool, error) {
	got, more, err := m.Storage.ClaimDeliveries(ctx, p)
	slices.Reverse(got)
	got, err = listed(got, err)
	return got, more, err
}

func (m variant) FinishDeliveries(ctx context.Context, done []storage.Result) ([]storage.Lease, error) {
	return listed(m.Storage.FinishDeliveries(ctx, done))
}

// Whoever writes to what a store returned is found, whichever method it was of, and nobody
// else is.
func TestReadOnlyFindsWhoWrites(t *testing.T) {
	t.Parallel()
	reads := map[string]func(b *bundle, s storage.Storage, w *world) (storage.Form, error){
		"Form": func(b *bundle, s storage.Storage, w *world) (storage.Form, error) {
			return s.Form(b.Context(), storage.AsHost(), w.form.ID)
		},
		"FormByPublicID": func(b *bundle, s storage.Storage, w *world) (storage.Form, error) {
			return s.FormByPublicID(b.Context(), w.form.PublicID)
		},
		"UpdateForm": func(b *bundle, s storage.Storage, w *world) (storage.Form, error) {
			return s.UpdateForm(b.Context(), storage.AsHost(), w.form.ID, storage.FormChange{Name: ptr("another"), At: w.now})
		},
		"FormForKey": func(b *bundle, s storage.Storage, w *world) (storage.Form, error) {
			got, err := s.FormForKey(b.Context(), storage.FormForKeyParams{Hash: w.hash, Form: w.form.ID, At: at(0)})
			if err == nil && got.Form == nil {
				err = storage.ErrNotFound
			}
			if err != nil {
				return storage.Form{}, err
			}
			return *got.Form, nil
		},
	}
	callers := map[string]struct {
		write func(d storage.Definition)
		found string // the section
	}{
		"reads":            {func(d storage.Definition) { _ = string(d.Blocks) }, ""},
		"copies":           {func(d storage.Definition) { _ = append(d.Blocks[:len(d.Blocks):len(d.Blocks)], 'x') }, ""},
		"writes blocks":    {func(d storage.Definition) { d.Blocks[1] = 'x' }, "blocks"},
		"writes settings":  {func(d storage.Definition) { clear(d.Settings) }, "settings"},
		"writes the theme": {func(d storage.Definition) { copy(d.Theme, "[]") }, "theme"},
		"appends":          {func(d storage.Definition) { _ = append(d.Variables, 'x') }, "variables"},
		"writes hidden":    {func(d storage.Definition) { spoil(d.HiddenFields) }, "hidden_fields"},
	}
	for method, read := range reads {
		for name, caller := range callers {
			if name == "appends" && method != "Form" {
				continue // which alone is roomy: all methods are watched in the same way
			}
			t.Run(method+"/"+name, func(t *testing.T) {
				t.Parallel()
				r := &recorder{context: t.Context}
				b := &bundle{reporter: r, store: memory.New()}
				w := b.furnish()
				var seen definitions
				f, err := read(b, readOnly{roomy{b.store}, &seen}, w)
				if err != nil || r.Failed() {
					t.Fatal(err, r.log)
				}
				caller.write(f.Definition)
				seen.check(r.Errorf)
				log := strings.Join(r.log, "\n")
				if found := strings.HasPrefix(log, caller.found+" of a definition that "+method+" returned"); found != r.Failed() || r.Failed() != (caller.found != "") || len(r.log) > 1 {
					t.Errorf("it reports: %s", log)
				}
			})
		}
	}
}

// roomy returns a definition with room behind each section.
type roomy struct{ storage.Storage }

func (s roomy) Form(ctx context.Context, actor storage.Actor, id storage.ID) (storage.Form, error) {
	f, err := s.Storage.Form(ctx, actor, id)
	for _, section := range f.Definition.Sections() {
		*section.Value = append(make([]byte, 0, len(*section.Value)+8), *section.Value...)
	}
	return f, err
}
