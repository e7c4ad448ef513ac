package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/conformance"
	"github.com/formsvc/formsvc/internal/lab/dialguard"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
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
	key = expect.Must(target.CreateKey(t.Context(), "65a1f0c2d4e5b6a7980c1d99", allScopes))
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
	r := expect.Must(http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader([]byte(body))))
	r.Header.Set("X-Api-Key", key)
	r.Header.Set("Content-Type", "application/json")
	res := expect.Must(http.DefaultClient.Do(r))
	defer func() { _ = res.Body.Close() }()
	var made struct{ ID string }
	err := json.NewDecoder(res.Body).Decode(&made)
	expect.Require(t, err == nil && res.StatusCode == http.StatusCreated, "%s: %d %v", url, res.StatusCode, err)
	return made.ID
}

// A running server, a key and nothing else: the cases that can do with that pass on
// an account that has data, leave nothing behind, and the others say what they lack.
func TestAKeyIsEnoughForManyCases(t *testing.T) {
	t.Parallel()
	full := newTarget(t, nil)
	key := populated(t, full)
	before := count(t, full.URL+"/workspaces?limit=100", key)
	report := expect.Must(conformance.Check(t.Context(), conformance.Target{URL: full.URL, Key: key}))
	if counts := report.Counts(); counts[conformance.Passed] < 100 || len(report.Failures()) > 0 {
		t.Errorf("want at least 100 cases to pass and none to fail:\n%s", report)
	}
	for _, r := range report.Results {
		expect.That(t, r.Outcome != conformance.Skipped || strings.HasPrefix(r.Reason, "the target offers no "),
			"%s is skipped: %s", r.Case.Name, r.Reason)
	}
	expect.Equal(t, count(t, full.URL+"/workspaces?limit=100", key), before, "workspaces, there were")
}

func TestAKeyThatLacksAScopeIsNoFaultOfTheServer(t *testing.T) {
	t.Parallel()
	const lacked = "forms:read"
	full := newTarget(t, nil)
	others := slices.DeleteFunc(slices.Clone(allScopes), func(scope string) bool { return scope == lacked })
	key := expect.Must(full.CreateKey(t.Context(), "65a1f0c2d4e5b6a7980c1d98", others))
	report := expect.Must(conformance.Check(t.Context(), conformance.Target{URL: full.URL, Key: key}, conformance.Only("me/fields")))
	if got := report.Results[0]; got.Outcome != conformance.Broken || !strings.Contains(got.String(), lacked) {
		t.Errorf("outcome is %s:\n%s", got.Outcome, got)
	}
}

func TestAHandlerIsATarget(t *testing.T) {
	t.Parallel()
	full := newTarget(t, nil)
	full.Handler = http.StripPrefix("/below", proxy(full))
	full.URL = "/below/v1"
	report := expect.Must(conformance.Check(t.Context(), full, conformance.Only("me")))
	expect.That(t, report.Counts()[conformance.Passed] == 2, "%v", report)
}

// count returns how many records a page has.
func count(t *testing.T, url, key string) int {
	t.Helper()
	r := expect.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil))
	r.Header.Set("X-Api-Key", key)
	res := expect.Must(http.DefaultClient.Do(r))
	defer func() { _ = res.Body.Close() }()
	var page struct{ Items []json.RawMessage }
	expect.NoError(t, json.NewDecoder(res.Body).Decode(&page))
	return len(page.Items)
}

// webhookLog notes the webhooks that lead to an address that is not this machine's.
type webhookLog struct {
	storage.Storage

	mu       sync.Mutex
	outside  map[storage.ID]string // those that are there
	disabled int                   // how many were made
	enabled  []string              // what a dispatcher could have sent to
}

func (l *webhookLog) note(w storage.Webhook) {
	u, err := url.Parse(w.URL)
	if err == nil {
		if addr, err := netip.ParseAddr(u.Hostname()); err == nil && addr.IsLoopback() {
			return
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.outside[w.ID] = w.URL
	if w.Enabled {
		l.enabled = append(l.enabled, w.URL)
	} else {
		l.disabled++
	}
}

func (l *webhookLog) CreateWebhook(ctx context.Context, actor storage.Actor, n storage.NewWebhook) error {
	err := l.Storage.CreateWebhook(ctx, actor, n)
	if err == nil {
		l.note(n.Webhook)
	}
	return err
}

func (l *webhookLog) UpdateWebhook(ctx context.Context, actor storage.Actor, id storage.ID, c storage.WebhookChange) (storage.Webhook, error) {
	w, err := l.Storage.UpdateWebhook(ctx, actor, id, c)
	if err == nil {
		l.note(w)
	}
	return w, err
}

func (l *webhookLog) DeleteWebhook(ctx context.Context, actor storage.Actor, id storage.ID) error {
	err := l.Storage.DeleteWebhook(ctx, actor, id)
	if err == nil {
		l.mu.Lock()
		delete(l.outside, id)
		l.mu.Unlock()
	}
	return err
}

// A service that delivers sends to the receivers of the suite alone, whether the target
// tells of its dispatcher or not, and so does one that is known by its URL and a key.
func TestTheSuiteMakesAServiceSendToNobodyElse(t *testing.T) { // not parallel: it asks for what all tests were refused
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	for name, change := range map[string]func(*conformance.Target){
		"with ReceiverURL":    func(*conformance.Target) {},
		"without ReceiverURL": func(target *conformance.Target) { target.ReceiverURL = nil },
		"with a key alone": func(target *conformance.Target) {
			*target = conformance.Target{URL: target.URL, Key: populated(t, *target), AllowedNetworks: target.AllowedNetworks}
		},
	} {
		log := &webhookLog{Storage: memory.New(), outside: map[storage.ID]string{}}
		target := newDeliveringTarget(t, nil, nil, formsvc.WithStorage(log))
		change(&target)
		log.mu.Lock()
		clear(log.outside) // what change made does not count
		log.disabled, log.enabled = 0, nil
		log.mu.Unlock()
		report := expect.Must(conformance.Check(t.Context(), target))
		failures := report.Failures()
		expect.That(t, len(failures) == 0, "%s: %v", name, failures)
		if refused := dialguard.Refused(); len(refused) > 0 {
			t.Errorf("%s: %d dials to %q", name, len(refused), slices.Compact(slices.Sorted(slices.Values(refused))))
		}
		expect.That(t, len(log.enabled) == 0,
			"%s: %d webhooks are enabled that lead elsewhere: %q", name, len(log.enabled), slices.Compact(log.enabled))
		// That a public address is accepted was shown, and nothing is left of it.
		expect.That(t, target.ReceiverURL == nil || log.disabled != 0 && len(log.outside) == 0,
			"%s: %d webhooks led elsewhere, and %d are left", name, log.disabled, len(log.outside))
	}
}
