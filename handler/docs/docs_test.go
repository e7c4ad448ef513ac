package docs_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/handler/docs"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
)

// description serves an API description.
func description(document []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/openapi.json" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(document)
	})
}

func render(t *testing.T, o docs.Options) string {
	t.Helper()
	w := httptest.NewRecorder()
	docs.Handler(description(schema.OpenAPI()), "/v1/openapi.json", o).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/docs", nil))
	expect.Require(t, w.Code == http.StatusOK && w.Header().Get("Content-Type") == "text/html; charset=utf-8",
		"%d %s", w.Code, w.Header())
	if file := os.Getenv("FORMSVC_DOCS_PAGE"); file != "" {
		_ = os.WriteFile(file, w.Body.Bytes(), 0o600)
	}
	return w.Body.String()
}

func TestThePageHasEverythingOfTheDescription(t *testing.T) {
	t.Parallel()
	page := render(t, docs.Options{Key: "fs_live_demo"})
	for _, want := range []string{
		`id="createForm"`, `id="formResponseCompleted"`, `id="schema-BlockPatch"`, `id="code-INVALID_CURSOR"`,
		"curl -sS -X POST &#39;https://api.example.com/v1/workspaces&#39;", "X-API-Key: fs_live_demo", "http.NewRequestWithContext(ctx", "await fetch(",
		"/v1/forms/65a1f0c2d4e5b6a7980c1d02/blocks/stars", "RateLimit-Policy", `id="header-RateLimit"`,
		`One of <a href="#schema-TextAnswer">TextAnswer</a>`, `Map of names to <a href="#schema-VariableValue">VariableValue</a>`,
		"<code>single_choice</code></td>", `<code>expired</code> <span class="hint">and what later versions add</span>`, `id="BlockProperties-disabledDays"`,
	} {
		expect.That(t, strings.Contains(page, want) || strings.Contains(page, strings.ReplaceAll(want, `"`, "&#34;")),
			"the page has no %s", want)
	}
	want := strings.Count(string(schema.OpenAPI()), `"operationId"`) // of the operations and of the event
	expect.Equal(t, strings.Count(page, `<article class="operation"`), want, "operations and events")
}

func TestEveryLinkLeadsSomewhereAndEveryIDIsOnce(t *testing.T) {
	t.Parallel()
	page := render(t, docs.Options{})
	ids := make(map[string]int)
	for _, m := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		ids[m[1]]++
		expect.That(t, ids[m[1]] != 2, "the id %s stands twice", m[1])
	}
	links := regexp.MustCompile(` href="#([^"]*)"`).FindAllStringSubmatch(page, -1)
	expect.That(t, len(links) >= 300, "there are %d links", len(links))
	for _, m := range links {
		expect.That(t, ids[m[1]] != 0, "nothing has the id %s", m[1])
	}
}

// Nothing is loaded from anywhere, and the browser is told so.
func TestThePageIsSelfContained(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	docs.Handler(description(schema.OpenAPI()), "/v1/openapi.json", docs.Options{}).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/docs", nil))
	if policy := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'") || !strings.Contains(policy, "frame-ancestors 'none'") || strings.Contains(policy, "unsafe") {
		t.Errorf("the policy is %q", policy)
	}
	if found := regexp.MustCompile(`(?i)<(img|link|iframe|script [^>]*src)|@import|url\(`).FindString(w.Body.String()); found != "" {
		t.Errorf("the page loads something: %s", found)
	}
}

// Whatever a description says is text on the page.
func TestWhatTheDescriptionSaysIsEscaped(t *testing.T) {
	t.Parallel()
	hostile := `<script>alert(1)</script>`
	document := strings.ReplaceAll(string(schema.OpenAPI()), "Create a workspace", hostile)
	document = strings.ReplaceAll(document, "Customer research", hostile+"'`")
	w := httptest.NewRecorder()
	docs.Handler(description([]byte(document)), "/v1/openapi.json", docs.Options{Title: hostile, Key: hostile, HomeURL: "javascript:alert(1)"}).
		ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/docs", nil))
	page := w.Body.String()
	expect.That(t, !strings.Contains(page, hostile) && !strings.Contains(page, `href="javascript:`),
		"the description's markup is on the page")
}

func TestADescriptionThatIsNotThereIsAskedForAgain(t *testing.T) {
	t.Parallel()
	answers := []http.HandlerFunc{
		func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("no JSON")) },
		func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(schema.OpenAPI()) },
	}
	asked := 0
	page := docs.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answers[asked](w, r)
		asked++
	}), "/v1/openapi.json", docs.Options{})
	for i, want := range []int{502, 502, 200, 200} {
		w := httptest.NewRecorder()
		page.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/docs", nil))
		expect.That(t, w.Code == want, "answer %d is %d, want %d", i, w.Code, want)
	}
	expect.That(t, asked == 3, "the description was asked for %d times, want 3", asked)
}
