package servicetest_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/servicetest"
)

func TestAnAnswerThatIsNotDescribedIsSeen(t *testing.T) {
	t.Parallel()
	good := func() (*http.Request, http.Header) {
		r := expect.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/me", nil))
		return r, http.Header{"X-Request-Id": {"a"}, "Cache-Control": {"no-store"}, "Content-Type": {"application/json"}}
	}
	const problem = `{"type":"server_error","code":"UNAVAILABLE","message":"m","status":503,"request_id":"a"}`
	r, h := good()
	err := servicetest.AsDescribed(r, 503, h, []byte(problem))
	expect.Require(t, err == nil, "a good answer: %v", err)
	for name, change := range map[string]func(r *http.Request, h http.Header) (int, string){
		"an undeclared status": func(*http.Request, http.Header) (int, string) { return 409, problem },
		"an unknown code": func(*http.Request, http.Header) (int, string) {
			return 503, strings.Replace(problem, "UNAVAILABLE", "AWAY", 1)
		},
		"another status inside": func(*http.Request, http.Header) (int, string) { return 500, problem },
		"another id inside":     func(_ *http.Request, h http.Header) (int, string) { h["X-Request-Id"][0] = "b"; return 503, problem },
		"no id":                 func(_ *http.Request, h http.Header) (int, string) { delete(h, "X-Request-Id"); return 503, problem },
		"the caller's id ignored": func(r *http.Request, _ http.Header) (int, string) {
			r.Header["X-Request-Id"] = []string{"c"}
			return 503, problem
		},
		"no Cache-Control": func(_ *http.Request, h http.Header) (int, string) { delete(h, "Cache-Control"); return 503, problem },
		"details": func(*http.Request, http.Header) (int, string) {
			return 503, strings.Replace(problem, `"request_id"`, `"details":[{"path":"","code":"c","message":"m"}],"request_id"`, 1)
		},
	} {
		r, h := good()
		status, body := change(r, h)
		expect.That(t, servicetest.AsDescribed(r, status, h, []byte(body)) != nil, "%s is not seen", name)
	}
}
