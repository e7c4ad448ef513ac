package builder_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/builder"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
)

// No page of the builder is shown in a frame by another page, but by those that the host lists. Pages of its own
// origin, such as the editor's, may show the canvas.
func TestFraming(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*builder.Config){
		"'none'": func(*builder.Config) {},
		"https://crm.example https://*.crm.example": func(c *builder.Config) {
			c.FrameAncestors = []string{"https://crm.example", "https://*.crm.example"}
		},
	} {
		s := newSite(t, change)
		form := s.form("ann", oneQuestion)
		listed := want != "'none'"
		for _, user := range []string{"ann", ""} {
			for _, path := range []string{"", "/", "/" + form.ID.String(), "/" + form.ID.String() + "/results", "/-/v1/forms", "/-/builder/x", "/-/x", "/-/copy/x/forms", "/-/builder/workspaces/" + form.WorkspaceID.String() + "/trash"} {
				answer, _ := s.do(user, http.MethodGet, "/forms"+path, "")
				policy := answer.Header.Get("Content-Security-Policy")
				if !strings.HasSuffix(policy, "frame-ancestors "+want) || (answer.Header.Get("X-Frame-Options") == "DENY") == listed {
					t.Errorf("%s by %q: policy %q, X-Frame-Options %q, want %q", path, user, policy, answer.Header.Get("X-Frame-Options"), want)
				}
			}
		}
		canvas := "/forms/-/canvas/" + form.ID.String()
		answer, _ := s.do("ann", http.MethodGet, canvas, "", "Sec-Fetch-Site", "same-origin", "Sec-Fetch-Dest", "iframe")
		ancestors := "frame-ancestors 'self';"
		if listed { // the frame is below the builder's page, which is below theirs
			ancestors = "frame-ancestors 'self' " + want + ";"
		}
		if answer.StatusCode != http.StatusOK || !strings.Contains(answer.Header.Get("Content-Security-Policy"), ancestors) || (answer.Header.Get("X-Frame-Options") == "SAMEORIGIN") == listed {
			t.Errorf("the canvas: status %d, %v", answer.StatusCode, answer.Header)
		}
		for path, status := range map[string]int{"x": http.StatusNotFound, form.ID.String() + "/x": http.StatusNotFound} { // the editor offers to try again
			answer, _ := s.do("ann", http.MethodGet, "/forms/-/canvas/"+path, "")
			if policy := answer.Header.Get("Content-Security-Policy"); answer.StatusCode != status || !strings.HasPrefix(policy, "frame-ancestors 'self'") {
				t.Errorf("the canvas %s: status %d, policy %q", path, answer.StatusCode, policy)
			}
		}
		for _, site := range []string{"cross-site", "same-site"} { // a form's frame, which a foreign host has led on
			if answer, _ := s.do("ann", http.MethodGet, canvas, "", "Sec-Fetch-Site", site, "Sec-Fetch-Dest", "iframe"); answer.StatusCode != http.StatusForbidden {
				t.Errorf("the canvas in a frame that was asked for %s: status %d", site, answer.StatusCode)
			}
		}
	}
	s := newSite(t)
	for _, sources := range [][]string{{""}, {"https://a.example https://b.example"}, {"'none'", "'self'"}, {"*; script-src *"}} {
		_, err := builder.New(s.service, builder.Config{User: s.user, Pages: s.pages, FrameAncestors: sources})
		expect.That(t, err != nil && strings.Contains(err.Error(), "FrameAncestors"), "FrameAncestors %q: %v", sources, err)
	}
}

// The default limits of requests are for each user, and count every way in below the builder.
func TestRequestsOfAUserAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		defer func() { _ = s.owners.Close(t.Context()) }()
		form := s.form("ann", oneQuestion)
		id := form.ID.String()
		ways := []string{"/", "/-/v1/forms", "/-/copy/" + id + "/forms/" + id, "/-/canvas/" + id, "/-/builder/forms/" + id + "/share", "/-/x"}
		for i := range 600 {
			if answer, body := s.do("ann", http.MethodGet, "/forms"+ways[i%len(ways)], ""); answer.StatusCode == http.StatusTooManyRequests {
				t.Fatalf("request %d: %d %s", i, answer.StatusCode, body)
			}
		}
		for _, way := range ways {
			answer, body := s.do("ann", http.MethodGet, "/forms"+way, "")
			if answer.StatusCode != http.StatusTooManyRequests || answer.Header.Get("Retry-After") == "" || !strings.Contains(body, "RATE_LIMITED") {
				t.Errorf("%s: %d %s", way, answer.StatusCode, body)
			}
		}
		if answer, _ := s.do("bob", http.MethodGet, "/forms/", ""); answer.StatusCode != http.StatusOK {
			t.Errorf("another user: %d", answer.StatusCode)
		}
		if answer, _ := s.do("", http.MethodGet, "/forms/-/assets/x", ""); answer.StatusCode != http.StatusNotFound {
			t.Errorf("an asset: %d", answer.StatusCode)
		}
	})
}

func TestLimitsAreTheHosts(t *testing.T) {
	t.Parallel()
	for most, want := range map[int]int{-1: 0, 3: 4} { // of seven requests
		s := newSite(t, func(c *builder.Config) { c.Limits.Requests = most })
		t.Cleanup(func() { _ = s.owners.Close(context.Background()) })
		refused := 0
		for range 7 {
			if answer, _ := s.do("ann", http.MethodGet, "/forms/", ""); answer.StatusCode == http.StatusTooManyRequests {
				refused++
			}
		}
		expect.That(t, refused == want, "Requests %d: %d of 7 requests were refused, want %d", most, refused, want)
	}
}

// heldForms is a storage whose reads of forms wait for a gate, if there is one.
type heldForms struct {
	storage.Storage
	gate atomic.Pointer[chan struct{}]
}

func (h *heldForms) Form(ctx context.Context, who storage.Actor, id storage.ID) (storage.Form, error) {
	if gate := h.gate.Load(); gate != nil {
		<-*gate
	}
	return h.Storage.Form(ctx, who, id)
}

// A user has two renders and two summaries in progress at most, and one read with a filter: the others wait for ten
// seconds, then they are refused.
func TestWorkOfAUserAtATime(t *testing.T) {
	t.Parallel()
	for kind, path := range map[string]string{
		"canvas": "/forms/-/canvas/%s", "changes": "/forms/-/builder/forms/%s/changes", "warnings": "/forms/-/builder/forms/%s/warnings",
		"summary": "/forms/-/builder/forms/%s/summary", "search": "/forms/-/builder/forms/%s/submissions?text=a", "condition": "/forms/-/builder/forms/%s/submissions?where=true",
		"filtered summary": "/forms/-/builder/forms/%s/summary?text=a", "filtered texts": "/forms/-/builder/forms/%s/texts?block=name&where=true",
	} {
		want := map[bool]int64{false: 1, true: 2}[strings.Contains(path, "?")]
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := &heldForms{Storage: memory.New()}
				h := newDoorHost(t, store, builder.Config{})
				defer func() { _ = h.owners.Close(t.Context()) }()
				id := h.published().ID
				expect.NoError(h.T, h.service.AddMember(t.Context(), h.place, formsvc.UserIDFrom("stranger")))
				gate := make(chan struct{})
				store.gate.Store(&gate)
				var refused, ended atomic.Int64
				var all sync.WaitGroup
				for _, user := range []string{"owner", "owner", "owner", "stranger"} {
					all.Go(func() {
						w := h.serve(user, http.MethodGet, strings.Replace(path, "%s", id.String(), 1), "")
						if ended.Add(1); w.Code == http.StatusTooManyRequests && w.Header().Get("Retry-After") == "1" && user == "owner" {
							refused.Add(1)
						}
					})
				}
				time.Sleep(9 * time.Second)
				synctest.Wait()
				expect.Equal(t, ended.Load(), 0, "ended within nine seconds")
				time.Sleep(2 * time.Second)
				synctest.Wait()
				expect.That(t, refused.Load() == want && ended.Load() == want,
					"after eleven seconds %d ended, of which %d were refused", ended.Load(), refused.Load())
				close(gate)
				all.Wait()
				expect.That(t, refused.Load() == want && ended.Load() == 4,
					"in the end %d of %d were refused", refused.Load(), ended.Load())
			})
		})
	}
}

// Of each webhook one test event is pending at most, and a user sends ten in a minute.
func TestTestEventsAreLimited(t *testing.T) {
	t.Parallel()
	store := memory.New()
	h := newDoorHost(t, store, builder.Config{})
	form := h.published()
	var hooks []formsvc.Webhook
	for i := range 2 {
		hook := expect.Must(h.service.As(formsvc.UserIDFrom("owner")).CreateWebhook(t.Context(), formsvc.WebhookCreate{Form: form.ID, URL: "https://127.0.0.1/" + strconv.Itoa(i)}))
		hooks = append(hooks, hook)
	}
	statuses := map[int]int{}
	for i := range 12 {
		statuses[h.as("owner", http.MethodPost, "/webhooks/"+hooks[i%2].ID.String()+"/test", "")]++
	}
	expect.That(t, statuses[http.StatusOK] == 10 && statuses[http.StatusTooManyRequests] == 2, "the statuses are %v", statuses)
	expect.NoError(h.T, h.service.SendTestEvent(t.Context(), hooks[0].ID)) // a Go call of the host
	pool := storage.Pool{MaxDeliveries: 100}
	claimed, _, err := store.ClaimDeliveries(t.Context(), storage.ClaimParams{Lease: time.Minute, Fast: pool, Slow: pool, NewOrFailing: pool, PerWebhook: 10})
	expect.NoError(h.T, err)
	expect.That(t, len(claimed) == 2, "%d deliveries are pending", len(claimed))
}

// endpoints are the methods and paths below the door, as the source registers them.
func endpoints(t *testing.T) (found [][2]string) {
	t.Helper()
	files := expect.Must(filepath.Glob("*.go"))
	for _, file := range files {
		source := expect.Must(os.ReadFile(file))
		for _, m := range regexp.MustCompile(`(?m)^\t\t\{"([A-Z]+) (/[^"]+)", \w+, `).FindAllStringSubmatch(string(source), -1) {
			found = append(found, [2]string{m[1], m[2]})
		}
	}
	expect.Require(t, len(found) >= 20, "%d endpoints were found", len(found))
	return found
}

// Each endpoint refuses who is not signed in, writes of foreign pages and requests beyond the limit, and no page shows
// its response in a frame.
func TestEveryEndpointIsGuarded(t *testing.T) {
	t.Parallel()
	for _, endpoint := range endpoints(t) {
		s := newSite(t, func(c *builder.Config) { c.Limits.Requests = 1 })
		t.Cleanup(func() { _ = s.owners.Close(t.Context()) })
		method, path := endpoint[0], "/forms/-/builder"+regexp.MustCompile(`\{\w+\}`).ReplaceAllString(endpoint[1], "0123456789abcdef01234567")
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
		path := "/forms/-/builder" + regexp.MustCompile(`\{\w+\}`).ReplaceAllString(endpoint[1], form.ID.String())
		for _, body := range bodies {
			grew, largest, statuses := s.eight(t, func(int) *http.Request {
				r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
				r.Header.Set("User", "ann")
				return r
			})
			expect.That(t, grew <= mostGrown && largest <= 20_000,
				"%s with %.20s…: grew by %d MB, %d bytes sent, %v", endpoint[1], body, grew, largest, statuses)
		}
	}
}

// The page works at every path below which a host may mount it, also without a slash before the rest.
func TestPathsWithoutASlash(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, test := range []struct {
		name     string
		mounted  http.Handler
		path     string
		status   int
		contains string // of the page, or the Location
	}{
		{"next to the base path", s.owners, "/formsx", http.StatusNotFound, "not found"},
		{"next to the base path, deeper", s.owners, "/forms-old/x", http.StatusNotFound, "not found"},
		{"stripped with its slash, list", http.StripPrefix("/forms/", s.owners), "/forms/", http.StatusOK, `src="./-/assets/`},
		{"stripped with its slash, form", http.StripPrefix("/forms/", s.owners), "/forms/0123456789abcdef01234567", http.StatusOK, `src="./-/assets/`},
		{"stripped with its slash, results", http.StripPrefix("/forms/", s.owners), "/forms/0123456789abcdef01234567/results", http.StatusOK, `src="../-/assets/`},
		{"stripped with its slash, API", http.StripPrefix("/forms/", s.owners), "/forms/-/v1/forms", http.StatusOK, `"items"`},
		{"stripped, a query", http.StripPrefix("/forms/", s.owners), "/forms/?a=/b", http.StatusOK, `src="./-/assets/`},
		{"stripped", http.StripPrefix("/forms", s.owners), "/forms", http.StatusMovedPermanently, "./forms/"},
		{"stripped, list", http.StripPrefix("/forms", s.owners), "/forms/", http.StatusOK, `src="./-/assets/`},
	} {
		r := httptest.NewRequest(http.MethodGet, test.path, nil)
		r.Header.Set("User", "ann")
		w := httptest.NewRecorder()
		test.mounted.ServeHTTP(w, r)
		expect.That(t, w.Code == test.status && strings.Contains(w.Body.String()+w.Header().Get("Location"), test.contains),
			"%s: GET %s: status %d, Location %q, %.300s", test.name, test.path, w.Code, w.Header().Get("Location"), w.Body)
	}
}

// The first request that comes at another path than BasePath says is logged, with both.
func TestAWrongMountIsLogged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path   string
		strip  string
		logged bool
	}{
		"another prefix":          {"/admin/forms/", "", true},
		"another prefix, a form":  {"/owners/0123456789abcdef01234567", "", true},
		"what is left of a strip": {"/app/admin/forms/", "/app", true},
		"the base path":           {"/forms/", "", false},
		"no page's path":          {"/forms/x/y", "", false},
		"stripped":                {"/app/w/0123456789abcdef01234567", "/app", false},
	} {
		var log bytes.Buffer
		s := newSite(t, func(b *builder.Config) { b.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
		for range 2 {
			r := httptest.NewRequest(http.MethodGet, c.path, nil)
			r.Header.Set("User", "ann")
			http.StripPrefix(c.strip, s.owners).ServeHTTP(httptest.NewRecorder(), r)
		}
		want := map[bool]int{true: 1}[c.logged]
		if strings.Count(log.String(), "base_path=/forms") != want || strings.Count(log.String(), "path="+strings.TrimPrefix(c.path, c.strip)) != want {
			t.Errorf("%s: %s", name, log.String())
		}
	}
}

// A path that is deeper or longer than that of any page is refused: nothing of it comes back.
func TestLongPathsAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const size = 1 << 20
	for _, path := range []string{
		"/forms/" + strings.Repeat("/", size), "/forms/" + strings.Repeat("x/", size/2), "/forms/" + strings.Repeat("x", size), "/" + strings.Repeat("x", size),
		"/forms/-/v1/" + strings.Repeat("x/", size/2), "/forms/-/builder/" + strings.Repeat("x/", size/2), "/forms/-/canvas/" + strings.Repeat("x/", size/2),
		"/forms/-/copy/" + strings.Repeat("x/", size/2), "/forms/-/assets/" + strings.Repeat("x/", size/2), "/forms/-/v1/forms/0123456789abcdef01234567/blocks/" + strings.Repeat("x", size),
	} {
		for _, user := range []string{"ann", ""} {
			answer, body := s.do(user, http.MethodGet, path, "")
			expect.That(t, answer.StatusCode >= 400 && len(body) <= 1000,
				"GET %.60s… by %q: status %d, %d bytes", path, user, answer.StatusCode, len(body))
		}
	}
	r := httptest.NewRequest(http.MethodGet, "/"+strings.Repeat("x", size), nil)
	w := httptest.NewRecorder()
	http.StripPrefix("/"+strings.Repeat("x", size), s.owners).ServeHTTP(w, r)
	location := w.Header().Get("Location")
	expect.That(t, len(location) <= 1000, "it is led to an address of %d bytes", len(location))
}
