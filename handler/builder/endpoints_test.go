package builder_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/handler/builder"
)

// endpoints are the methods and paths below the door, as the source registers them.
func endpoints(t *testing.T) (found [][2]string) {
	t.Helper()
	files := must(filepath.Glob("*.go"))
	for _, file := range files {
		source := must(os.ReadFile(file))
		for _, m := range regexp.MustCompile(`mux\.HandleFunc\("([A-Z]+) (/[^"]+)"`).FindAllStringSubmatch(string(source), -1) {
			found = append(found, [2]string{m[1], m[2]})
		}
	}
	if len(found) < 20 {
		t.Fatalf("%d endpoints were found", len(found))
	}
	return found
}

// Each endpoint refuses who is not signed in, writes of foreign pages and requests beyond the limit, and no page shows
// its response in a frame.
func TestEveryEndpointIsGuarded(t *testing.T) {
	t.Parallel()
	for _, endpoint := range endpoints(t) {
		s := newSite(t, func(c *builder.Config) { c.Limits.Requests = 1 })
		t.Cleanup(func() { _ = s.owners.Close(t.Context()) })
		method, path := endpoint[0], "/forms/-/door"+regexp.MustCompile(`\{\w+\}`).ReplaceAllString(endpoint[1], "0123456789abcdef01234567")
		refused := func(what, user string, status int, headers ...string) {
			answer, body := s.do(user, method, path, "", headers...)
			if answer.StatusCode != status || !strings.Contains(answer.Header.Get("Content-Security-Policy"), "frame-ancestors 'none'") {
				t.Errorf("%s %s %s: status %d %s, %v", method, endpoint[1], what, answer.StatusCode, body, answer.Header)
			}
		}
		refused("of nobody", "", http.StatusUnauthorized)
		if method != http.MethodGet {
			refused("of a foreign page", "ann", http.StatusForbidden, "Sec-Fetch-Site", "cross-site")
			refused("of an old browser's foreign page", "ann", http.StatusForbidden, "Origin", "https://evil.example")
		}
		if answer, _ := s.do("ann", method, path, ""); answer.StatusCode == http.StatusTooManyRequests {
			t.Errorf("%s %s: the first request is refused", method, endpoint[1])
		}
		refused("beyond the limit", "ann", http.StatusTooManyRequests)
	}
}

// Bodies of a megabyte cost no endpoint more than a canvas, also eight concurrently.
func TestBodiesOfEndpointsAreBounded(t *testing.T) {
	s := newSite(t, func(c *builder.Config) { c.Limits.Requests = -1 })
	form := s.form("ann", oneQuestion)
	var entries, ids strings.Builder
	for i := 0; entries.Len() < 1<<20-100; i++ {
		fmt.Fprintf(&entries, `"%d":"",`, i)
	}
	for ids.Len() < 1<<20-100 {
		ids.WriteString(`"0123456789abcdef01234567",`)
	}
	bodies := []string{`{"take":{` + entries.String() + `"x":""}}`, `{"forms":[` + ids.String() + `""]}`, `{` + entries.String() + `"x":""}`, strings.Repeat("[", 1<<20), `{"from":"` + strings.Repeat("x", 1<<20) + `"}`}
	for _, endpoint := range endpoints(t) {
		if endpoint[0] != http.MethodPost {
			continue
		}
		path := "/forms/-/door" + regexp.MustCompile(`\{\w+\}`).ReplaceAllString(endpoint[1], form.ID.String())
		for _, body := range bodies {
			grew, largest, statuses := s.eight(t, func(int) *http.Request {
				r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
				r.Header.Set("User", "ann")
				return r
			})
			if grew > 100 || largest > 20_000 {
				t.Errorf("%s with %.20s…: grew by %d MB, %d bytes sent, %v", endpoint[1], body, grew, largest, statuses)
			}
		}
	}
}
