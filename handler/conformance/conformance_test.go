package conformance_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/formsvc/formsvc/handler/conformance"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
)

func TestCasesAreNamedOnceAndSayWhatTheyProve(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile(`^[a-z-]+/[a-zA-Z-]+$`)
	seen := make(map[string]bool)
	for _, c := range conformance.Cases() {
		expect.That(t, name.MatchString(c.Name) && !seen[c.Name], "the name %q is not group/name, or not unique", c.Name)
		seen[c.Name] = true
		expect.That(t, described(t, c.Place), "%s: %q is not a place in the description", c.Name, c.Place)
		expect.That(t, len(c.Sentence) >= 20 && strings.HasSuffix(c.Sentence, "."), "%s: %q is no sentence", c.Name, c.Sentence)
	}
	expect.That(t, len(seen) >= 100, "there are %d cases, many are missing", len(seen))
}

// described reports whether a place is there: a JSON pointer, and after a "#" a
// heading in the text that stands there.
func described(t *testing.T, place string) bool {
	t.Helper()
	pointer, heading, _ := strings.Cut(place, "#")
	var at any
	expect.NoError(t, json.Unmarshal(schema.OpenAPI(), &at))
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		o, _ := at.(map[string]any)
		at = o[strings.ReplaceAll(token, "~1", "/")]
	}
	text, _ := at.(string)
	return at != nil && (heading == "" || strings.Contains(text, "## "+heading+"\n"))
}

func TestSelectionsThatNameNothingAreRefused(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]conformance.Option{
		"an unknown case to skip":  {conformance.Skip("me/nothing", "reason")},
		"an unknown group to skip": {conformance.Skip("nothing", "reason")},
		"a part of a group's name": {conformance.Skip("webhook", "reason")},
		"a skip without a reason":  {conformance.Skip("me", " ")},
		"an unknown case to run":   {conformance.Only("me/nothing")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := conformance.Check(t.Context(), newTarget(t, nil), opts...)
			expect.That(t, err != nil, "there is no error")
		})
	}
}

func TestSkippedCasesTellTheirReason(t *testing.T) {
	t.Parallel()
	target := newTarget(t, nil)
	target.AddMember = nil
	report := expect.Must(conformance.Check(t.Context(), target,
		conformance.Only("me", "workspaces/member"), conformance.Skip("me", "the host answers /me itself")))
	want := map[string]string{
		"me/fields": "the host answers /me itself", "me/each-key": "the host answers /me itself",
		"workspaces/member": "the target offers no AddMember",
	}
	for _, r := range report.Results {
		expect.That(t, r.Outcome == conformance.Skipped && r.Reason == want[r.Case.Name],
			"%s: %s (%q), want skipped (%q)", r.Case.Name, r.Outcome, r.Reason, want[r.Case.Name])
	}
	expect.That(t, len(report.Results) == len(want) && len(report.Failures()) == 0,
		"there are %d results and %d failures, want %d and none", len(report.Results), len(report.Failures()), len(want))
}

func TestAFaultOfTheSuiteIsToldApart(t *testing.T) {
	t.Parallel()
	noKeys := newTarget(t, nil)
	noKeys.CreateKey = func(context.Context, string, []string) (string, error) { return "", errors.New("no keys today") }
	panics := newTarget(t, nil)
	panics.CreateKey = func(context.Context, string, []string) (string, error) { panic("no keys today") }
	unreachable := newTarget(t, nil)
	unreachable.URL = "http://127.0.0.1:1/v1"
	for name, target := range map[string]conformance.Target{"an error": noKeys, "a panic": panics, "no server": unreachable} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := expect.Must(conformance.Check(t.Context(), target, conformance.Only("me/fields")))
			if got := report.Results[0]; got.Outcome != conformance.Broken || !strings.Contains(got.Problems[0], "suite:") {
				t.Errorf("outcome is %s with %q, want broken by the suite", got.Outcome, got.Problems)
			}
		})
	}
	for name, change := range map[string]func(*conformance.Target){
		"no URL":           func(t *conformance.Target) { t.URL = "" },
		"no key":           func(t *conformance.Target) { t.CreateKey = nil },
		"a relative URL":   func(t *conformance.Target) { t.URL = "/v1" },
		"a trailing slash": func(t *conformance.Target) { t.URL += "/" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := newTarget(t, nil)
			change(&target)
			_, err := conformance.Check(t.Context(), target)
			expect.That(t, err != nil, "there is no error")
		})
	}
}

func TestFaultsShowRequestAndAnswerWithoutSecrets(t *testing.T) {
	t.Parallel()
	var keys []string
	target := newTarget(t, after(func(e *exchange) {
		e.header.Set("X-Debug", e.r.Header.Get("X-Api-Key"))
	}))
	create := target.CreateKey
	target.CreateKey = func(ctx context.Context, user string, scopes []string) (string, error) {
		key, err := create(ctx, user, scopes)
		keys = append(keys, key)
		return key, err
	}
	report := expect.Must(conformance.Check(t.Context(), target, conformance.Only("me/fields")))
	told := expect.Must(json.Marshal(report))
	text := string(told) + report.Results[0].String()
	expect.That(t, !slices.ContainsFunc(keys, func(key string) bool { return strings.Contains(text, key) }) && len(keys) != 0,
		"the report tells a key:\n%s", text)
	for _, want := range []string{"> GET /me", "X-Api-Key: [secret]", "< 200 OK", "contains an API key", `"outcome":"failed"`, `"name":"me/fields"`} {
		expect.That(t, strings.Contains(report.Results[0].String()+strings.ReplaceAll(string(told), `\u003e`, ">"), want),
			"the report does not tell %q:\n%s", want, text)
	}
}

func TestACancelledRunEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := conformance.Check(ctx, newTarget(t, nil))
	expect.That(t, errors.Is(err, context.Canceled), "the error is %v, want context.Canceled", err)
}

// Every operation succeeds in a case of its resource. The cases about keys, scopes and routes do
// not count: they go through all operations and look at none of them closely.
func TestEveryOperationHasACase(t *testing.T) {
	t.Parallel()
	var d struct {
		Paths map[string]map[string]json.RawMessage
	}
	expect.NoError(t, json.Unmarshal(schema.OpenAPI(), &d))
	patterns, uncalled := map[string]*regexp.Regexp{}, map[string]bool{}
	parameter := regexp.MustCompile(`\\\{[^}]*\}`)
	for path, methods := range d.Paths {
		for method, member := range methods {
			var o struct{ OperationID string }
			if json.Unmarshal(member, &o) != nil || o.OperationID == "" {
				continue // the parameters of the path
			}
			at := parameter.ReplaceAllString(regexp.QuoteMeta(path), "[^/]+")
			patterns[o.OperationID] = regexp.MustCompile("^" + strings.ToUpper(method) + " " + at + "$")
			uncalled[o.OperationID] = true
		}
	}
	var mu sync.Mutex
	target := newTarget(t, func(e *exchange) {
		e.ask()
		if e.status >= 300 {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		for id, pattern := range patterns {
			if pattern.MatchString(e.r.Method + " " + e.r.URL.Path) {
				delete(uncalled, id)
			}
		}
	})
	expect.Must(conformance.Check(t.Context(), target, conformance.Only("description/content", "me", "workspaces", "forms", "blocks",
		"submissions", "analytics", "webhooks")))
	expect.That(t, len(uncalled) == 0, "no case of a resource calls %q", slices.Sorted(maps.Keys(uncalled)))
}
