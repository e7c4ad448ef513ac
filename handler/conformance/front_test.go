package conformance_test

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/formsvc/formsvc/handler/conformance"
	"github.com/formsvc/formsvc/internal/lab/expect"
)

// refusal answers with a page for people when the status is not 0.
func refusal(status func(r *http.Request, body []byte) int) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if code := status(r, body); code != 0 {
				w.Header().Set("Content-Type", "text/html")
				w.WriteHeader(code)
				_, _ = io.WriteString(w, "<html><h1>"+http.StatusText(code)+"</h1></html>")
				return
			}
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			next.ServeHTTP(w, r)
		})
	}
}

// proxy forwards to the server of a target. ReverseProxy may cut off a response that begins before it
// has seen the end of the request (go.dev/issue/40747), so it gets the request from memory.
func proxy(target conformance.Target) http.Handler {
	to := expect.Must(url.Parse(target.URL))
	to.Path = ""
	next := httputil.NewSingleHostReverseProxy(to)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}

// behind serves a good service behind something.
func behind(t *testing.T, front func(http.Handler) http.Handler) conformance.Target {
	t.Helper()
	target := newTarget(t, nil)
	server := httptest.NewServer(front(proxy(target)))
	t.Cleanup(server.Close)
	target.URL, target.RawPaths = server.URL+"/v1", false
	return target
}

// What a proxy, a gateway or the host's own routing answers with is no fault of the service.
func TestAnswersOfOthersSkipACase(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	mux := func(requestID bool) func(http.Handler) http.Handler {
		return func(next http.Handler) http.Handler {
			routes := http.NewServeMux()
			routes.Handle("/v1/", next)
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if requestID && strings.Contains(r.URL.Path, "//") { // the mux answers
					w.Header().Set("X-Request-Id", "of-the-host")
				}
				routes.ServeHTTP(w, r)
			})
		}
	}
	strangeHost := func(status int) func(http.Handler) http.Handler {
		return refusal(func(r *http.Request, _ []byte) int {
			if strings.HasSuffix(r.Host, ".example") {
				return status
			}
			return 0
		})
	}
	when := func(status int, refused func(r *http.Request, body []byte) bool) func(http.Handler) http.Handler {
		return refusal(func(r *http.Request, body []byte) int {
			if refused(r, body) {
				return status
			}
			return 0
		})
	}
	for name, c := range map[string]struct {
		front   func(http.Handler) http.Handler
		skipped string // "": whatever the chance hits
	}{
		"421 to another Host":           {strangeHost(421), "mounting/host-header"},
		"404 to another Host":           {strangeHost(404), "mounting/host-header"},
		"a redirect of another Host":    {strangeHost(301), "mounting/host-header"},
		"403 to another Host":           {strangeHost(403), "mounting/host-header"},
		"a mux":                         {mux(false), "routing/unclean-path"},
		"413 to large bodies":           {when(413, func(_ *http.Request, b []byte) bool { return len(b) > 500_000 }), "bodies/size"},
		"414 to long paths":             {when(414, func(r *http.Request, _ []byte) bool { return len(r.RequestURI) > 2000 }), "routing/malformed-ids"},
		"431 to long headers":           {when(431, func(r *http.Request, _ []byte) bool { return len(r.Header.Get("X-Api-Key")) > 2000 }), "auth/same-answer"},
		"400 to headers beyond ASCII":   {when(400, func(r *http.Request, _ []byte) bool { return strings.Contains(r.Header.Get("X-Api-Key"), "é") }), "auth/same-answer"},
		"403 to what looks like script": {when(403, func(_ *http.Request, b []byte) bool { return strings.Contains(string(b), "javascript:") }), "definitions/urls"},
		"400 to NUL in a query":         {when(400, func(r *http.Request, _ []byte) bool { return strings.Contains(r.URL.RawQuery, "%00") }), "parameters/limit"},
		"502 for one operation":         {when(502, func(r *http.Request, _ []byte) bool { return strings.HasSuffix(r.URL.Path, "/metrics") }), "analytics/empty"},
		"504 to a method":               {when(504, func(r *http.Request, _ []byte) bool { return r.Method == http.MethodPut }), "blocks/replace"},
		"522 of a network of proxies":   {when(522, func(r *http.Request, _ []byte) bool { return strings.HasSuffix(r.URL.Path, "/questions") }), "blocks/read"},
		"429 without a time":            {when(429, func(r *http.Request, _ []byte) bool { return strings.HasSuffix(r.URL.Path, "/openapi.json") }), "description/content"},
		"502 now and then":              {when(502, func(*http.Request, []byte) bool { return calls.Add(1)%211 == 0 }), ""},
	} {
		for _, keyAlone := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				target := behind(t, c.front)
				if keyAlone {
					key := expect.Must(target.CreateKey(t.Context(), "65a1f0c2d4e5b6a7980c1d97", allScopes))
					target = conformance.Target{URL: target.URL, Key: key}
				}
				var only []conformance.Option
				if c.skipped != "" {
					only = append(only, conformance.Only(c.skipped, "me", "mounting", "auth"))
				}
				report := expect.Must(conformance.Check(t.Context(), target, only...))
				for _, f := range report.Failures() {
					t.Errorf("%s: %.800s", f.Case.Name, f)
				}
				found := slices.ContainsFunc(report.Results, func(r conformance.Result) bool {
					return r.Outcome == conformance.Skipped && strings.Contains(r.Reason, "not a response of the service") && strings.HasPrefix(r.Case.Name, c.skipped)
				})
				expect.That(t, found, "no case like %q is skipped because of it", c.skipped)
			})
		}
	}
	t.Run("a mux and request ids of the host", func(t *testing.T) {
		t.Parallel()
		expectOutcome(t, behind(t, mux(true)), "routing/unclean-path", conformance.Skipped)
	})
}

// When nothing but the front answers, the suite has found out nothing, and says so.
func TestAFrontAloneIsNoPass(t *testing.T) {
	t.Parallel()
	expectOutcome(t, behind(t, refusal(func(*http.Request, []byte) int { return 503 })), "webhooks/create", conformance.Broken)
	expectOutcome(t, behind(t, refusal(func(*http.Request, []byte) int { return 404 })), "webhooks/create", conformance.Failed)
}

// A server that closes connections as soon as they are idle breaks no promise.
func TestClosedIdleConnectionsAreNoFault(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	target := newTarget(t, nil)
	server := httptest.NewUnstartedServer(proxy(target))
	server.Config.ConnState = func(c net.Conn, state http.ConnState) {
		if state == http.StateIdle {
			_ = c.Close()
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	target.URL = server.URL + "/v1"
	report := expect.Must(conformance.Check(t.Context(), target, conformance.Only("bodies", "webhooks", "definitions", "concurrency")))
	for _, f := range report.Failures() {
		t.Errorf("%s: %.500s", f.Case.Name, f)
	}
}
