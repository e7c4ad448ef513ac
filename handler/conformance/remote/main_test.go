package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/conformance"
	"github.com/formsvc/formsvc/internal/lab/dialguard"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
	"github.com/formsvc/formsvc/webhooks"
)

// start serves a service, through a change of its answers' headers if there is one,
// and returns its URL and a key.
func start(t *testing.T, change func(http.Header), allowed ...netip.Prefix) (url, key string) {
	t.Helper()
	svc, err := formsvc.New(formsvc.WithStorage(memory.New()), formsvc.WithoutRateLimit(),
		formsvc.WithWebhookConfig(webhooks.Config{AllowedNetworks: allowed, Resolver: dialguard.Names{}}))
	expect.NoError(t, err)
	issued, err := svc.CreateKey(t.Context(), formsvc.KeyRequest{
		User: formsvc.User{ID: formsvc.UserIDFrom("remote"), Name: "Remote"}, Name: "remote", Scopes: storage.Scopes(),
	})
	expect.NoError(t, err)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := httptest.NewRecorder()
		svc.ServeHTTP(rec, r)
		if change != nil {
			change(rec.Header())
		}
		for name, values := range rec.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(rec.Code)
		_, _ = w.Write(rec.Body.Bytes()) // the suite may be gone
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1", issued.Secret
}

func TestRun(t *testing.T) {
	t.Parallel()
	good, key := start(t, nil)
	allowing, allowingKey := start(t, nil, netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128"), netip.MustParsePrefix("fd00::/8"))
	bad, badKey := start(t, func(h http.Header) { h.Del("Cache-Control") })
	environment := func(name string) string {
		if name == "FORMS_KEY" {
			return key
		}
		return ""
	}
	nothing := func(string) string { return "" }
	for _, c := range []struct {
		name   string
		args   []string
		getenv func(string) string
		status int
		says   string
	}{
		{"a good server", []string{"-url", good, "-key", key, "-only", "me"}, nothing, 0, "1 passed, 0 failed"},
		{"the key in the environment", []string{"-url", good, "-only", "me"}, environment, 0, "1 passed"},
		{"a case that is left out", []string{"-url", good, "-only", "me/fields", "-skip", "me=for a reason", "-key", key}, nothing, 0, "skipped, for a reason: me/fields"},
		{"a bad server", []string{"-url", bad, "-key", badKey, "-only", "me"}, nothing, 1, "no-store"},
		{"no server", []string{"-url", "http://127.0.0.1:1/v1", "-key", key, "-only", "me"}, nothing, 2, "could not check"},
		{"no key", []string{"-url", good}, nothing, 2, "needs"},
		{"a key of nobody", []string{"-url", good, "-key", "nonsense", "-only", "me"}, nothing, 1, "401"},
		{"a network that is none", []string{"-url", good, "-key", key, "-allow", "nonsense"}, nothing, 2, "nonsense"},
		{"an unknown case", []string{"-url", good, "-key", key, "-only", "nothing"}, nothing, 2, "no case or group"},
		{"how many ran", []string{"-url", good, "-key", key, "-only", "me"}, nothing, 0, "1 of 2; the rest needs more of the Target: CreateKey (1)"},
		{"networks that are not allowed", []string{"-url", good, "-key", key, "-only", "webhooks/url-rejected"}, nothing, 0, "1 passed"},
		{"networks that the server does allow", []string{"-url", allowing, "-key", allowingKey, "-only", "webhooks/url-rejected", "-allow", "127.0.0.0/8,::1", "-allow", "fd00::/8"}, nothing, 0, "1 passed"},
		{"networks that were not named", []string{"-url", allowing, "-key", allowingKey, "-only", "webhooks/url-rejected"}, nothing, 1, "201"},
		{"an unknown flag", []string{"-nothing"}, nothing, 2, "nothing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			if status := run(t.Context(), c.args, c.getenv, &out, &out); status != c.status || !strings.Contains(out.String(), c.says) {
				t.Errorf("status is %d, want %d, and %q in\n%s", status, c.status, c.says, &out)
			}
			expect.That(t, !strings.Contains(out.String(), key) && !strings.Contains(out.String(), badKey),
				"the report has a key in it:\n%s", &out)
		})
	}
	t.Run("as JSON", func(t *testing.T) {
		t.Parallel()
		var out, faults bytes.Buffer
		status := run(t.Context(), []string{"-url", good, "-key", key, "-only", "me/fields", "-json"}, nothing, &out, &faults)
		var report conformance.Report
		if err := json.Unmarshal(out.Bytes(), &report); err != nil || status != 0 || faults.Len() > 0 {
			t.Fatalf("%d %v\n%s%s", status, err, &out, &faults)
		}
		if got := report.Results[0]; got.Case.Name != "me/fields" || got.Case.Place != "/paths/~1v1~1me/get" || got.Outcome != conformance.Passed {
			t.Errorf("%+v", got)
		}
	})
}

func TestMain(m *testing.M) { os.Exit(dialguard.Guard(m).Run()) }
