package conformance

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/formsvc/formsvc/internal/described"
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
			return nil, fmt.Errorf("conformance: there is no case or group %q to skip", s.name)
		}
		if strings.TrimSpace(s.reason) == "" {
			return nil, fmt.Errorf("conformance: skipping %q needs a reason", s.name)
		}
	}
	for _, name := range sel.only {
		if !known(name) {
			return nil, fmt.Errorf("conformance: there is no case or group %q", name)
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
	responses *described.Responses
	choices   []choice
	close     func()
	// destination is the url of webhooks in cases that test something else: a receiver of
	// the suite, else publicURL.
	destination string
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
	responses, err := described.NewResponses()
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

// run runs one case and returns its result.
func (r *runner) run(ctx context.Context, c choice) Result {
	result := Result{Case: c.Case()}
	if c.skip != "" {
		result.Outcome, result.Reason = Skipped, c.skip
		return result
	}
	for _, f := range c.needs {
		if !r.target.has(f) {
			result.Outcome, result.Reason = Skipped, "the target offers no "+string(f)
			return result
		}
	}
	ctx, cancel := context.WithTimeout(ctx, caseTimeout)
	defer cancel()
	s := newSession(ctx, r)
	start := time.Now()
	s.do(c.run)
	s.do((*session).tidy)
	result.Duration = time.Since(start)
	result.Outcome, result.Faults = s.outcome()
	return result
}

// Run makes one target and runs the cases against it, each as a subtest of t with the name of the
// case. The subtests are parallel unless all cases have to run as one user. A case that is skipped
// is a skipped subtest that tells why.
func Run(t *testing.T, newTarget func(t *testing.T) Target, opts ...Option) {
	t.Helper()
	r, err := newRunner(newTarget(t), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.close)
	for _, c := range r.choices {
		t.Run(c.name, func(t *testing.T) {
			// A parallel case starts when all that are not parallel have ended. Cases that
			// share one user do not run beside each other.
			if !slices.Contains(c.needs, NeedsAdvance) && r.target.CreateKey != nil {
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

// Check runs the cases one after the other and reports all results. The error is about
// the target or the options, never about a finding of a case.
func Check(ctx context.Context, target Target, opts ...Option) (Report, error) {
	r, err := newRunner(target, opts)
	if err != nil {
		return Report{}, err
	}
	defer r.close()
	var report Report
	for _, c := range r.choices {
		if err := ctx.Err(); err != nil {
			return report, err
		}
		report.Results = append(report.Results, r.run(ctx, c))
	}
	return report, nil
}
