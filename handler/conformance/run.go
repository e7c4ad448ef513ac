package conformance

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/formsvc/formsvc/internal/apispec"
)

// caseTimeout bounds one case. It is far more than any case needs, also a case that
// waits for the window of a rate limit.
const caseTimeout = 5 * time.Minute

// Option chooses cases.
type Option func(*selection)

// Skip leaves out a case, or a whole group of them ("webhooks"), for the given
// reason. A name that no case or group has, or an empty reason, makes the run
// fail: a skip that no longer skips anything should not stay.
func Skip(name, reason string) Option {
	return func(s *selection) { s.skips = append(s.skips, skip{name, reason}) }
}

// Only runs the named cases and groups and leaves out the others without a word.
// Unknown names make the run fail. Several of them add up.
func Only(names ...string) Option {
	return func(s *selection) { s.only = append(s.only, names...) }
}

type skip struct{ name, reason string }

type selection struct {
	skips []skip
	only  []string
}

// choice is one case together with why it is not to run, when it is not.
type choice struct {
	testCase
	skip string
}

// choose applies the options to all cases.
func choose(opts []Option) ([]choice, error) {
	var sel selection
	for _, o := range opts {
		o(&sel)
	}
	all := allCases()
	known := func(name string) bool {
		return slices.ContainsFunc(all, func(c testCase) bool { return c.is(name) })
	}
	for _, s := range sel.skips {
		if !known(s.name) {
			return nil, fmt.Errorf("conformance: Skip: no case or group has the name %q", s.name)
		}
		if strings.TrimSpace(s.reason) == "" {
			return nil, fmt.Errorf("conformance: Skip: %q needs a reason", s.name)
		}
	}
	for _, name := range sel.only {
		if !known(name) {
			return nil, fmt.Errorf("conformance: no case or group has the name %q", name)
		}
	}
	var out []choice
	for _, c := range all {
		if len(sel.only) > 0 && !slices.ContainsFunc(sel.only, c.is) {
			continue
		}
		chosen := choice{testCase: c}
		for _, s := range sel.skips {
			if c.is(s.name) {
				chosen.skip = s.reason
			}
		}
		out = append(out, chosen)
	}
	return out, nil
}

// runner runs cases against one target.
type runner struct {
	target    Target
	base      *url.URL
	responses *apispec.Description
	choices   []choice
	close     func()
	// destination is the url of webhooks in cases that test something else: a receiver of
	// the suite, else publicURL.
	destination string

	holding  sync.Mutex // while holderID is asked for
	holderID string     // the user of the target's Key
}

func newRunner(target Target, opts []Option) (*runner, error) {
	choices, err := choose(opts)
	if err != nil {
		return nil, err
	}
	target, done, err := target.prepare()
	if err != nil {
		return nil, err
	}
	base, err := url.Parse(target.URL)
	if err != nil || base.Host == "" || strings.HasSuffix(base.Path, "/") {
		return nil, fmt.Errorf("conformance: Target.URL %q is not an absolute URL without a trailing slash", target.URL)
	}
	responses, err := apispec.New()
	if err != nil {
		return nil, fmt.Errorf("conformance: %w", err)
	}
	r := &runner{target: target, base: base, responses: responses, choices: choices, close: done, destination: publicURL}
	if target.ReceiverURL != nil {
		address, stop, err := listen(http.HandlerFunc(noContent))
		if err != nil {
			done()
			return nil, fmt.Errorf("conformance: %w", err)
		}
		r.destination, r.close = target.ReceiverURL(address), func() { stop(); done() }
	}
	return r, nil
}

// lacks begins the reason of a case that the target cannot serve.
const lacks = "the target offers no "

// missing returns the features that a case needs and the target has not.
func (r *runner) missing(c Case) (names []string) {
	for _, f := range c.Needs {
		if !r.target.has(f) {
			names = append(names, string(f))
		}
	}
	return names
}

// run runs one case and returns its result.
func (r *runner) run(ctx context.Context, c choice) Result {
	result := Result{Case: c.Case()}
	if c.skip != "" {
		result.Outcome, result.Reason = Skipped, c.skip
		return result
	}
	if missing := r.missing(c.Case()); len(missing) > 0 {
		result.Outcome, result.Reason = Skipped, lacks+strings.Join(missing, ", ")
		return result
	}
	ctx, cancel := context.WithTimeout(ctx, caseTimeout)
	defer cancel()
	s := newSession(ctx, r)
	start := time.Now()
	s.do(c.run)
	s.do((*session).tidy)
	result.Duration = time.Since(start)
	result.Outcome, result.Reason, result.Problems = s.outcome()
	return result
}

// alone reports whether no other case may run next to c.
func alone(c choice) bool { return slices.Contains(c.needs, NeedsAdvance) }

// Run makes one target and runs the cases against it, each as a parallel subtest of t with the
// name of the case. A case that is skipped is a skipped subtest that tells why.
func Run(t *testing.T, newTarget func(t *testing.T) Target, opts ...Option) {
	t.Helper()
	r, err := newRunner(newTarget(t), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.close)
	for _, c := range r.choices {
		t.Run(c.name, func(t *testing.T) {
			if !alone(c) { // a parallel case starts when all that are not parallel have ended
				t.Parallel()
			}
			result := r.run(t.Context(), c)
			switch result.Outcome {
			case Skipped:
				t.Skip("skipped, reason: " + result.Reason)
			case Failed, Broken:
				t.Error(result.String())
			}
		})
	}
}

// atOnce is how many cases Check runs at the same time.
const atOnce = 8

// Check runs the cases, several at a time, and reports all results. The error is about
// the target or the options, never about a finding of a case.
func Check(ctx context.Context, target Target, opts ...Option) (Report, error) {
	r, err := newRunner(target, opts)
	if err != nil {
		return Report{}, err
	}
	defer r.close()
	report := Report{Results: make([]Result, len(r.choices))}
	for i, c := range r.choices {
		if alone(c) {
			report.Results[i] = r.run(ctx, c)
		}
	}
	var wg sync.WaitGroup
	free := make(chan struct{}, atOnce)
	for i, c := range r.choices {
		if alone(c) {
			continue
		}
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			if ctx.Err() == nil {
				report.Results[i] = r.run(ctx, c)
			}
		})
	}
	wg.Wait()
	report.Summary = report.summary(r.missing)
	return report, ctx.Err()
}
