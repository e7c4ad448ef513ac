package servicetest_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/storage"
)

// A filter that cannot be read must not widen the answer.
func TestAMalformedQueryIsRefusedWhereverOneIsRead(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	form := b.Form(servicetest.TextBlock, `{}`).String()
	for _, path := range []string{"/workspaces", "/forms", "/forms/" + form + "/submissions", "/forms/" + form + "/analytics/metrics"} {
		for _, query := range []string{"period=7d;x", "limit=5&period=7d;x", "workspace_id=%zz", "%", "a=%", ";"} {
			w := b.Do(http.MethodGet, path+"?"+query, "", nil)
			if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), `"path":"query"`) {
				t.Errorf("%s?%s: %d %s", path, query, w.Code, w.Body)
			}
		}
	}
}

func TestNoAnswerButTheDescriptionMayBeCached(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	for _, c := range []struct {
		method, path string
		status       int
		want         string
	}{
		{"GET", "/me", 200, "no-store"},
		{"GET", "/nothing", 404, "no-store"},
		{"GET", "/me/", 404, "no-store"},
		{"PUT", "/me", 405, "no-store"},
		{"POST", "/openapi.json", 405, "no-store"},
		{"OPTIONS", "/me", 204, "no-store"},
		{"GET", "/openapi.json", 200, "public, max-age=300"},
	} {
		w := b.Do(c.method, c.path, "", nil)
		if got := w.Header().Get("Cache-Control"); w.Code != c.status || got != c.want {
			t.Errorf("%s %s: %d with Cache-Control %q, want %d with %q", c.method, c.path, w.Code, got, c.status, c.want)
		}
	}
	if code := servicetest.Get(t, b, "/v1/me", "nonsense"); code != http.StatusUnauthorized {
		t.Errorf("a wrong key: %d", code)
	}
}

// A mistyped path is not taken for a form that is somebody else's.
func TestAPathWithoutAnOperationLeadsToTheDescription(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t, formsvc.WithBaseURL("https://example.com/api"))
	const leads = "GET https://example.com/api/v1/openapi.json lists them."
	for path, want := range map[string]bool{"/form": true, "/me/": true, "/forms/1": false, "/forms/65a1f0c2d4e5b6a7980c1d02": false} {
		if w := b.Do(http.MethodGet, path, "", nil); w.Code != http.StatusNotFound || strings.Contains(w.Body.String(), leads) != want {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

func TestAnUnavailableServiceSaysWhenToTryAgain(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	for err, want := range map[error]string{storage.ErrUnavailable: "1", errors.New("a bug"): ""} {
		svc := servicetest.New(t, failingStore{b.Store, err}, formsvc.WithoutRateLimit())
		r := b.Request(http.MethodGet, "/workspaces", "")
		w := httptest.NewRecorder()
		servicetest.Serve(t, svc, w, r)
		if got := w.Header().Get("Retry-After"); got != want {
			t.Errorf("%v: %d with Retry-After %q, want %q", err, w.Code, got, want)
		}
	}
}

// The digest of a cursor is no secret, so a caller can write one for any time.
func TestCursorsAtTheEndsOfTimeAreInvalid(t *testing.T) {
	t.Parallel()
	for name, store := range servicetest.Stores(t) {
		b := servicetest.SetupOn(t, store)
		form := b.Form(servicetest.TextBlock, `{}`)
		for path, list := range map[string]string{
			"/workspaces": "workspaces",
			"/forms":      "forms",
			"/forms/" + form.String() + "/submissions": "submissions " + form.String(),
		} {
			filters := ""
			if strings.HasPrefix(list, "submissions") {
				filters = "0001-01-01T00:00:00Z 0001-01-01T00:00:00Z"
			}
			for _, micros := range []int64{math.MinInt64, math.MaxInt64, -1 << 62, 1 << 62, 253_402_300_800_000_000} {
				w := b.Do(http.MethodGet, path+"?cursor="+forgedCursor(list, b.User.ID, filters, micros), "", nil)
				if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), "INVALID_CURSOR") {
					t.Errorf("%s: %s at %d: %d %s", name, path, micros, w.Code, w.Body)
				}
			}
			// The forgery itself is good: a time that can be compared with is accepted.
			if w := b.Do(http.MethodGet, path+"?cursor="+forgedCursor(list, b.User.ID, filters, 1_700_000_000_000_000), "", nil); w.Code != http.StatusOK {
				t.Errorf("%s: %s at an ordinary time: %d %s", name, path, w.Code, w.Body)
			}
		}
	}
}

// forgedCursor writes a cursor as package cursor does.
func forgedCursor(list string, owner formsvc.ID, filters string, micros int64) string {
	raw := binary.BigEndian.AppendUint64([]byte{1}, uint64(micros))
	raw = append(raw, make([]byte, 12)...)
	digested := append(append([]byte(nil), raw...), owner[:]...)
	digested = binary.BigEndian.AppendUint32(digested, uint32(len(list)))
	digested = append(append(digested, list...), filters...)
	digest := sha256.Sum256(digested)
	return base64.RawURLEncoding.EncodeToString(append(raw, digest[:11]...))
}

func TestAPublicIDThatNoStoreCanHaveIsNotFound(t *testing.T) {
	t.Parallel()
	for name, store := range servicetest.Stores(t) {
		b := servicetest.SetupOn(t, store)
		for _, id := range []string{"", "a\x00bcdefghijk", "\xff\xfebcdefghij", strings.Repeat("a", 12), strings.Repeat("a", 1<<20)} {
			if _, err := b.PublicForm(t.Context(), id); !errors.Is(err, formsvc.ErrNotFound) {
				t.Errorf("%s: %.20q: %v, want ErrNotFound", name, id, err)
			}
		}
	}
}

func TestWhereAKeyCounts(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	for name, c := range map[string]struct {
		header http.Header
		query  string
		status int
	}{
		"X-API-Key":                      {http.Header{"X-Api-Key": {b.Key}}, "", 200},
		"X-API-Key twice":                {http.Header{"X-Api-Key": {b.Key, b.Key}}, "", 401},
		"Bearer":                         {http.Header{"Authorization": {"Bearer " + b.Key}}, "", 200},
		"Basic":                          {http.Header{"Authorization": {"Basic " + b.Key}}, "", 401},
		"no scheme":                      {http.Header{"Authorization": {b.Key}}, "", 401},
		"X-API-Key beside Basic":         {http.Header{"X-Api-Key": {b.Key}, "Authorization": {"Basic dTpw"}}, "", 200},
		"a wrong X-API-Key beats":        {http.Header{"X-Api-Key": {"nonsense"}, "Authorization": {"Bearer " + b.Key}}, "", 401},
		"a query":                        {http.Header{}, "?api_key=" + b.Key + "&key=" + b.Key + "&x-api-key=" + b.Key + "&access_token=" + b.Key, 401},
		"a cookie, without a host's say": {http.Header{"Cookie": {"X-API-Key=" + b.Key}}, "", 401},
	} {
		r := httptest.NewRequest(http.MethodGet, "/v1/me"+c.query, nil)
		r.Header = c.header
		w := httptest.NewRecorder()
		servicetest.Serve(t, b.Service, w, r)
		if w.Code != c.status {
			t.Errorf("%s: %d, want %d", name, w.Code, c.status)
		}
	}
}
