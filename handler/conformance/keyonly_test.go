package conformance_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/conformance"
)

// allScopes are all scopes.
var allScopes = func() (names []string) {
	for _, scope := range formsvc.Scopes() {
		names = append(names, string(scope))
	}
	return names
}()

// populated makes a user with data of its own and returns a key of all scopes.
func populated(t *testing.T, target conformance.Target) (key string) {
	t.Helper()
	key = must(target.CreateKey(t.Context(), "65a1f0c2d4e5b6a7980c1d99", allScopes))
	for range 25 {
		workspace := post(t, target.URL+"/workspaces", key, `{"name":"Of the user"}`)
		form := post(t, target.URL+"/forms", key, `{"workspace_id":"`+workspace+`","name":"Of the user"}`)
		post(t, target.URL+"/webhooks", key, `{"form_id":"`+form+`","url":"https://93.184.215.14/","enabled":false}`)
	}
	return key
}

// post creates something and returns its id.
func post(t *testing.T, url, key, body string) string {
	t.Helper()
	r := must(http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader([]byte(body))))
	r.Header.Set("X-Api-Key", key)
	r.Header.Set("Content-Type", "application/json")
	res := must(http.DefaultClient.Do(r))
	defer func() { _ = res.Body.Close() }()
	var made struct{ ID string }
	if err := json.NewDecoder(res.Body).Decode(&made); err != nil || res.StatusCode != http.StatusCreated {
		t.Fatalf("%s: %d %v", url, res.StatusCode, err)
	}
	return made.ID
}

// A running server, a key and nothing else: the cases that can do with that pass on
// an account that has data, leave nothing behind, and the others say what they lack.
func TestAKeyIsEnoughForManyCases(t *testing.T) {
	t.Parallel()
	full := newTarget(t, nil)
	key := populated(t, full)
	before := count(t, full.URL+"/workspaces?limit=100", key)
	report := must(conformance.Check(t.Context(), conformance.Target{URL: full.URL, Key: key}))
	if counts := report.Counts(); counts[conformance.Passed] < 100 || len(report.Failures()) > 0 {
		t.Errorf("want at least 100 cases to pass and none to fail:\n%s", report)
	}
	for _, r := range report.Results {
		if r.Outcome == conformance.Skipped && !strings.HasPrefix(r.Reason, "the target offers no ") {
			t.Errorf("%s is skipped: %s", r.Case.Name, r.Reason)
		}
	}
	if now := count(t, full.URL+"/workspaces?limit=100", key); now != before {
		t.Errorf("there are %d workspaces, there were %d before", now, before)
	}
}

func TestAKeyThatLacksAScopeIsNoFaultOfTheServer(t *testing.T) {
	t.Parallel()
	const lacked = "forms:read"
	full := newTarget(t, nil)
	others := slices.DeleteFunc(slices.Clone(allScopes), func(scope string) bool { return scope == lacked })
	key := must(full.CreateKey(t.Context(), "65a1f0c2d4e5b6a7980c1d98", others))
	report := must(conformance.Check(t.Context(), conformance.Target{URL: full.URL, Key: key}, conformance.Only("me/fields")))
	if got := report.Results[0]; got.Outcome != conformance.Broken || !strings.Contains(got.String(), lacked) {
		t.Errorf("outcome is %s:\n%s", got.Outcome, got)
	}
}

func TestAHandlerIsATarget(t *testing.T) {
	t.Parallel()
	full := newTarget(t, nil)
	base := must(url.Parse(full.URL))
	base.Path = ""
	full.Handler = http.StripPrefix("/below", httputil.NewSingleHostReverseProxy(base))
	full.URL = "/below/v1"
	report := must(conformance.Check(t.Context(), full, conformance.Only("me")))
	if report.Counts()[conformance.Passed] != 2 {
		t.Error(report)
	}
}

// count returns how many records a page has.
func count(t *testing.T, url, key string) int {
	t.Helper()
	r := must(http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil))
	r.Header.Set("X-Api-Key", key)
	res := must(http.DefaultClient.Do(r))
	defer func() { _ = res.Body.Close() }()
	var page struct{ Items []json.RawMessage }
	noError(t, json.NewDecoder(res.Body).Decode(&page))
	return len(page.Items)
}
