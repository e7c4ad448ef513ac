package storagetest

import (
	"context"
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
	var all []mutant
	all = append(all, accessMutants()...)
	all = append(all, dataMutants()...)
	all = append(all, submitMutants()...)
	all = append(all, duplicateMutants()...)
	all = append(all, removalMutants()...)
	all = append(all, deliveryMutants()...)
	all = append(all, contractMutants()...)
	all = append(all, documentMutants()...)
	all = append(all, partialMutants()...)
	if len(all) < 20 {
		t.Errorf("want at least 20 mutants, got %d", len(all))
	}
	for _, m := range all {
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
	for _, op := range slices.Concat(actorOperations(), hostOperations(), documentOperations(), []operation{formForKeyOperation()}) {
		covered = append(covered, op.method)
	}
	for _, op := range partialOperations() {
		covered = append(covered, op.method)
	}
	// A method that hollow does not have fails by itself, and shows nothing of a case.
	for _, op := range slices.Concat(actorOperations(), hostOperations(), documentOperations()) {
		if err := op.call(t.Context(), newHollow(func() {}), &world{}, storage.AsHost()); errors.Is(err, storage.ErrUnimplemented) {
			t.Errorf("%s is left out of hollow", op.method)
		}
	}
	actor := reflect.TypeFor[storage.Actor]()
	var withActor []string
	for _, op := range append(actorOperations(), documentOperations()...) {
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
