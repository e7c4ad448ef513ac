// Package storagetest tests whether a [storage.Storage] fulfills the contract of
// package storage.
//
// The test of a store runs the whole suite with one call:
//
//	func TestStorage(t *testing.T) {
//		storagetest.Run(t, func(t *testing.T) storage.Storage {
//			return mystore.New()
//		})
//	}
//
// Every case gets its own store and runs in parallel with the others. A case also fails if the caller or the
// store modifies a definition that the store returned; see [ReadOnly]. If a store cannot pass a case, use [Skip]
// with the name and a reason. [Cases] lists the names, which are stable, with the sentence of the contract that
// each case tests.
//
// The suite uses only the methods of [storage.Storage]. Its times are fixed, and are in the past or future of the
// real clock. Deliveries use the store's own clock, so their cases use leases and delays of a few milliseconds.
package storagetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/storage"
)

// Case is one case of the suite.
type Case struct {
	// Name is "group/case", both in snake case. It does not change between
	// releases.
	Name string
	// About is what the contract demands, in one sentence. It is printed when the
	// case fails.
	About string

	run func(b *bundle)
}

// Group returns the first part of the name.
func (c Case) Group() string {
	group, _, _ := strings.Cut(c.Name, "/")
	return group
}

// Cases returns every case in the order in which [Run] starts them.
func Cases() []Case {
	groups := []struct {
		name  string
		cases []Case
	}{
		{"workspaces", workspaceCases()},
		{"members", memberCases()},
		{"forms", formCases()},
		{"forms", formUpdateCases()},
		{"trash", trashCases()},
		{"submissions", submitCases()},
		{"submissions", submissionCases()},
		{"duplicates", duplicateCases()},
		{"removal", removalCases()},
		{"removal", leavingCases()},
		{"metrics", metricsCases()},
		{"webhooks", webhookCases()},
		{"local", localCases()},
		{"keys", keyCases()},
		{"form_for_key", formForKeyCases()},
		{"sweep", sweepCases()},
		{"upkeep", upkeepCases()},
		{"isolation", isolationCases()},
		{"paging", pagingCases()},
		{"values", valueCases()},
		{"values", copyCases()},
		{"values", invalidCases()},
		{"contexts", contextCases()},
		{"concurrency", concurrentLimitCases()},
		{"concurrency", concurrentFormCases()},
		{"concurrency", concurrentDuplicateCases()},
		{"concurrency", concurrentDeliveryCases()},
		{"deliveries", claimCases()},
		{"deliveries", turnCases()},
		{"deliveries", pauseCases()},
		{"deliveries", leaseCases()},
		{"deliveries", finishCases()},
		{"deliveries", failedCases()},
		{"deliveries", endingCases()},
		{"deliveries", expiryCases()},
		{"deliveries", handOverCases()},
		{"deliveries", queueCases()},
		{"documents", documentCases()},
		{"partials", partialCases()},
		{"respondents", respondentCases()},
		{"submission_updates", submissionUpdateCases()},
		{"respondent_partials", respondentPartialCases()},
	}
	var all []Case
	for _, g := range groups {
		for _, c := range g.cases {
			c.Name = g.name + "/" + c.Name
			all = append(all, c)
		}
	}
	return all
}

// Option changes what [Run] does.
type Option func(*plan)

// Skip leaves out a case ("submissions/idempotency_replay") or a whole group
// ("deliveries"). The reason is printed with each case that is left out. A name
// that the suite does not have fails the run, so that a renamed case does not
// stay skipped unseen, and so does an empty reason.
func Skip(name, reason string) Option {
	return func(p *plan) { p.skips = append(p.skips, skip{name, reason}) }
}

// SecondHandle lets cases about several processes use another handle on the data
// of a store: open returns one, as another process would open it. Without this
// option they use the store itself for both.
func SecondHandle(open func(t *testing.T, first storage.Storage) storage.Storage) Option {
	return func(p *plan) { p.second = open }
}

// Run runs every case against a store that newStorage makes for it. The store
// has to be empty and shared with no other case; newStorage registers what
// undoes it with t.Cleanup. It is called at the same time from several
// goroutines.
//
// A method that returns [storage.ErrUnimplemented] fails the cases that need it.
// One method can: FormForKey, if the store gains nothing from it. Such a store skips the group
// "form_for_key". A store that has only the stubs of a role that it may leave out does not have to
// skip that group: its cases report themselves as unsupported, and the others run.
func Run(t *testing.T, newStorage func(t *testing.T) storage.Storage, opts ...Option) {
	t.Helper()
	cases := Cases()
	p, err := newPlan(cases, opts)
	if err != nil {
		t.Fatalf("storagetest: %v", err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			if reason, ok := p.reason(c); ok {
				t.Skipf("skipped: %s", reason)
			}
			store := newStorage(t)
			if reason := c.unsupported(t.Context(), store); reason != "" {
				t.Skipf("unsupported: %s", reason)
			}
			second := store
			if p.second != nil {
				second = p.second(t, store)
			}
			c.exercise(t, store, second)
		})
	}
}

// optional are the groups about a role that a store may leave out, each with what says that it
// did.
var optional = map[string]func(context.Context, storage.Storage) string{
	"documents":          noDocuments,
	"partials":           noPartials,
	"respondents":        noRespondents,
	"submission_updates": noSubmissionUpdates,
	"respondent_partials": func(ctx context.Context, s storage.Storage) string {
		return cmp.Or(noRespondents(ctx, s), noPartials(ctx, s))
	},
}

// unsupported says why the case is not for this store, or nothing.
func (c Case) unsupported(ctx context.Context, s storage.Storage) string {
	if lacks := optional[c.Group()]; lacks != nil {
		return lacks(ctx, s)
	}
	return ""
}

// exercise runs the case against an empty store and another handle on it.
func (c Case) exercise(r reporter, store, second storage.Storage) {
	defer func() {
		if r.Failed() {
			r.Logf("%s: %s", c.Name, c.About)
		}
	}()
	var seen definitions
	defer func() { seen.check(r.Errorf) }()
	c.run(&bundle{reporter: r, store: readOnly{store, &seen}, second: readOnly{second, &seen}})
}

// reporter is the part of *testing.T that a case uses. The suite's own tests
// put a recorder in its place.
type reporter interface {
	Helper()
	Context() context.Context
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Failed() bool
}

type skip struct{ name, reason string }

type plan struct {
	skips  []skip
	second func(t *testing.T, first storage.Storage) storage.Storage
}

func newPlan(cases []Case, opts []Option) (*plan, error) {
	p := &plan{}
	for _, o := range opts {
		o(p)
	}
	var faults []error
	for _, s := range p.skips {
		known := slices.ContainsFunc(cases, s.covers)
		if !known {
			faults = append(faults, fmt.Errorf("Skip(%q): the suite has no case and no group of this name", s.name))
		}
		if strings.TrimSpace(s.reason) == "" {
			faults = append(faults, fmt.Errorf("Skip(%q): a reason is needed", s.name))
		}
	}
	return p, errors.Join(faults...)
}

func (p *plan) reason(c Case) (string, bool) {
	for _, s := range p.skips {
		if s.covers(c) {
			return s.reason, true
		}
	}
	return "", false
}

func (s skip) covers(c Case) bool { return s.name == c.Name || s.name == c.Group() }
