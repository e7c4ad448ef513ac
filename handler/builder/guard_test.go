package builder_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/builder"
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
			for _, path := range []string{"", "/", "/" + form.ID.String(), "/" + form.ID.String() + "/results", "/-/v1/forms", "/-/door/x", "/-/x", "/-/copy/x/forms", "/-/door/workspaces/" + form.WorkspaceID.String() + "/trash"} {
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
		if _, err := builder.New(s.service, builder.Config{User: s.user, Pages: s.pages, FrameAncestors: sources}); err == nil || !strings.Contains(err.Error(), "FrameAncestors") {
			t.Errorf("FrameAncestors %q: %v", sources, err)
		}
	}
}

// The default limits of requests are for each user, and count every way in below the builder.
func TestRequestsOfAUserAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		defer func() { _ = s.owners.Close(t.Context()) }()
		form := s.form("ann", oneQuestion)
		id := form.ID.String()
		ways := []string{"/", "/-/v1/forms", "/-/copy/" + id + "/forms/" + id, "/-/canvas/" + id, "/-/door/forms/" + id + "/share", "/-/x"}
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
		if refused != want {
			t.Errorf("Requests %d: %d of 7 requests were refused, want %d", most, refused, want)
		}
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

// A user has two renders and two summaries in progress at most: the third one waits for ten seconds, then it is
// refused. All the others get their response.
func TestWorkOfAUserAtATime(t *testing.T) {
	t.Parallel()
	for kind, path := range map[string]string{
		"canvas": "/forms/-/canvas/%s", "changes": "/forms/-/door/forms/%s/changes", "warnings": "/forms/-/door/forms/%s/warnings",
		"summary": "/forms/-/door/forms/%s/summary",
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := &heldForms{Storage: memory.New()}
				h := newDoorHost(t, store, builder.Config{})
				defer func() { _ = h.handler.(*builder.Handler).Close(t.Context()) }()
				id := h.published().ID
				noError(h.T, h.service.AddMember(t.Context(), h.place, formsvc.UserIDFrom("stranger")))
				gate := make(chan struct{})
				store.gate.Store(&gate)
				var refused, ended atomic.Int64
				var all sync.WaitGroup
				for _, user := range []string{"owner", "owner", "owner", "stranger"} {
					all.Go(func() {
						r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, strings.Replace(path, "%s", id.String(), 1), nil)
						r.Header.Set("User", user)
						w := httptest.NewRecorder()
						h.handler.ServeHTTP(w, r)
						if ended.Add(1); w.Code == http.StatusTooManyRequests && w.Header().Get("Retry-After") == "1" && user == "owner" {
							refused.Add(1)
						}
					})
				}
				time.Sleep(9 * time.Second)
				synctest.Wait()
				if n := ended.Load(); n != 0 {
					t.Errorf("%d ended within nine seconds", n)
				}
				time.Sleep(2 * time.Second)
				synctest.Wait()
				if refused.Load() != 1 || ended.Load() != 1 {
					t.Errorf("after eleven seconds %d ended, of which %d were refused", ended.Load(), refused.Load())
				}
				close(gate)
				all.Wait()
				if refused.Load() != 1 || ended.Load() != 4 {
					t.Errorf("in the end %d of %d were refused", refused.Load(), ended.Load())
				}
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
		hook := must(h.service.As(formsvc.UserIDFrom("owner")).CreateWebhook(t.Context(), formsvc.WebhookCreate{Form: form.ID, URL: "https://127.0.0.1/" + strconv.Itoa(i)}))
		hooks = append(hooks, hook)
	}
	statuses := map[int]int{}
	for i := range 12 {
		r := httptest.NewRequest(http.MethodPost, "/forms/-/door/webhooks/"+hooks[i%2].ID.String()+"/test", nil)
		r.Header.Set("User", "owner")
		w := httptest.NewRecorder()
		h.handler.ServeHTTP(w, r)
		statuses[w.Code]++
	}
	if statuses[http.StatusOK] != 10 || statuses[http.StatusTooManyRequests] != 2 {
		t.Errorf("the statuses are %v", statuses)
	}
	noError(h.T, h.service.SendTestEvent(t.Context(), hooks[0].ID)) // a Go call of the host
	pool := storage.Pool{Room: 100}
	claimed, _, err := store.ClaimDeliveries(t.Context(), storage.ClaimParams{Lease: time.Minute, Quick: pool, Slow: pool, Others: pool, PerWebhook: 10})
	noError(h.T, err)
	if len(claimed) != 2 {
		t.Errorf("%d deliveries are pending", len(claimed))
	}
}
