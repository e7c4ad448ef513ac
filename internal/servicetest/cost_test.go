package servicetest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
)

// readingStore counts the reads of definitions, and the statements that a request
// makes.
type readingStore struct {
	storage.Storage
	bytes atomic.Int64
	calls atomic.Int64
}

func (s *readingStore) count(f *storage.Form) {
	if f != nil {
		s.bytes.Add(int64(len(f.Definition.Blocks) + len(f.Definition.Settings) + len(f.Definition.Theme)))
	}
}

func (s *readingStore) Form(ctx context.Context, who storage.Actor, id storage.ID) (storage.Form, error) {
	s.calls.Add(1)
	f, err := s.Storage.Form(ctx, who, id)
	s.count(&f)
	return f, err
}

func (s *readingStore) KeyByHash(ctx context.Context, hash [32]byte) (storage.Key, storage.User, error) {
	s.calls.Add(1)
	return s.Storage.KeyByHash(ctx, hash)
}

func (s *readingStore) FormForKey(ctx context.Context, p storage.FormForKeyParams) (storage.FormForKey, error) {
	s.calls.Add(1)
	found, err := s.Storage.FormForKey(ctx, p)
	s.count(found.Form)
	return found, err
}

// lending counts a call, and the bytes of the records that it lends.
func (s *readingStore) lending(each func(*storage.Submission) error) func(*storage.Submission) error {
	s.calls.Add(1)
	return func(sub *storage.Submission) error {
		s.bytes.Add(int64(len(sub.Answers)))
		return each(sub)
	}
}

func (s *readingStore) Submissions(ctx context.Context, who storage.Actor, form storage.ID, q storage.SubmissionsParams, each func(*storage.Submission) error) (bool, error) {
	return s.Storage.Submissions(ctx, who, form, q, s.lending(each))
}

func (s *readingStore) Webhooks(ctx context.Context, who storage.Actor, page storage.Page) ([]storage.Webhook, error) {
	s.calls.Add(1)
	return s.Storage.Webhooks(ctx, who, page)
}

// reset forgets what was counted.
func (s *readingStore) reset() {
	s.bytes.Store(0)
	s.calls.Store(0)
}

const largeForm = 970_000 // bytes of a definition near the largest body

// A key over its limit or without the scope reads no form, a revoked one is refused
// at once, and a valid one needs a single statement.
func TestWhatAnAnswerCostsFollowsTheOrderOfTheChecks(t *testing.T) {
	t.Parallel()
	for name, inner := range servicetest.Stores(t) {
		store := &readingStore{Storage: inner}
		const limit = 8
		b := servicetest.SetupOn(t, store, formsvc.WithRateLimit(limit, time.Hour))
		form := b.Form(bigBlocks(largeForm), `{}`) // two calls of the key
		paths := map[string]string{
			http.MethodGet: "/forms/" + form.String(), http.MethodPatch: "/forms/" + form.String(), http.MethodPut: "/forms/" + form.String() + "/blocks",
		}

		unable := b.Issue(b.User.ID, storage.ScopeSubmissionsRead)
		for range 2 { // with the key's id unknown, and known
			for method, path := range paths {
				store.reset()
				w := b.DoAs(unable.Secret, method, path, "{}")
				expect.That(t, w.Code == http.StatusForbidden && store.bytes.Load() == 0,
					"%s: %s without the scope: %d after reading %d bytes, want 403 and none", name, method, w.Code, store.bytes.Load())
			}
		}

		reader := b.Issue(b.User.ID, storage.ScopeFormsRead, storage.ScopeFormsWrite)
		for i := range limit {
			store.reset()
			w := b.DoAs(reader.Secret, http.MethodGet, paths[http.MethodGet], "")
			expect.Require(t, w.Code == http.StatusOK && store.bytes.Load() >= largeForm,
				"%s: call %d: %d after reading %d bytes", name, i, w.Code, store.bytes.Load())
			got := store.calls.Load()
			expect.That(t, i == 0 || got == 1, "%s: call %d made %d calls of the storage, want 1", name, i, got)
		}
		for method, path := range paths {
			store.reset()
			w := b.DoAs(reader.Secret, method, path, "{}")
			expect.That(t, w.Code == http.StatusTooManyRequests && store.bytes.Load() == 0,
				"%s: %s over the limit: %d after reading %d bytes, want 429 and none", name, method, w.Code, store.bytes.Load())
		}

		expect.NoError(t, b.RevokeKey(t.Context(), b.User.ID, reader.Key.ID))
		store.reset()
		w := b.DoAs(reader.Secret, http.MethodGet, paths[http.MethodGet], "")
		if w.Code != http.StatusUnauthorized || w.Header().Get("RateLimit") != "" || store.bytes.Load() != 0 {
			t.Errorf("%s: revoked and over the limit: %d with %v after reading %d bytes, want 401 and none", name, w.Code, w.Header(), store.bytes.Load())
		}
	}
}

// The same holds for a page of responses. What is wrong with the request is still
// reported after the key, the limit and the scope.
func TestWhatAPageCostsFollowsTheOrderOfTheChecks(t *testing.T) {
	t.Parallel()
	for name, inner := range servicetest.Stores(t) {
		store := &readingStore{Storage: inner}
		b := servicetest.SetupOn(t, store, formsvc.WithRateLimit(8, time.Hour))
		form := b.Form(servicetest.TextBlock, `{}`)
		for i := range 3 {
			expect.Must(b.Submit(t.Context(), formsvc.SubmitParams{FormID: form, Answers: servicetest.Answers("name", strconv.Quote(strconv.Itoa(i)))}))
		}
		path := "/forms/" + form.String() + "/submissions"
		// ask makes a request and checks its status, and whether a response was read.
		ask := func(key, path, what string, status int, read bool) *httptest.ResponseRecorder {
			t.Helper()
			store.reset()
			w := b.DoAs(key, http.MethodGet, path, "")
			if w.Code != status || (store.bytes.Load() > 0) != read {
				t.Errorf("%s: %s: %d after reading %d bytes, want %d, and responses %v: %s", name, what, w.Code, store.bytes.Load(), status, read, w.Body)
			}
			return w
		}

		unable := b.Issue(b.User.ID, storage.ScopeFormsRead)
		for range 2 { // with the key's id unknown, and known
			ask(unable.Secret, path, "without the scope", http.StatusForbidden, false)
			ask(unable.Secret, path+"?limit=0", "without the scope and with a wrong limit", http.StatusForbidden, false)
		}

		reader := b.Issue(b.User.ID, storage.ScopeSubmissionsRead)
		first := ask(reader.Secret, path+"?limit=2", "first page", http.StatusOK, true)
		again := ask(reader.Secret, path+"?limit=2", "first page again", http.StatusOK, true)
		if got := store.calls.Load(); got != 2 || again.Body.String() != first.Body.String() {
			t.Errorf("%s: %d calls of the storage for a page, want 2; %s, want %s", name, got, again.Body, first.Body)
		}
		var page struct {
			Page struct {
				Next string `json:"next_cursor"`
			}
		}
		err := json.Unmarshal(first.Body.Bytes(), &page)
		expect.Require(t, err == nil && page.Page.Next != "", "%s: %s, %v", name, first.Body, err)
		ask(reader.Secret, path+"?limit=2&cursor="+page.Page.Next, "second page", http.StatusOK, true)
		expect.Equal(t, store.calls.Load(), 2, "%s: calls of the storage for the second page", name)
		ask(reader.Secret, path+"?limit=0", "a wrong limit", http.StatusUnprocessableEntity, false)
		ask(reader.Secret, path+"?cursor=x", "a wrong cursor", http.StatusUnprocessableEntity, false)
		ask(reader.Secret, "/forms/"+b.User.ID.String()+"/submissions", "an unknown form", http.StatusNotFound, false)
		ask(reader.Secret, "/forms/x/submissions", "a malformed id", http.StatusNotFound, false)
		ask(reader.Secret, path, "the last call", http.StatusOK, true)
		ask(reader.Secret, path, "over the limit", http.StatusTooManyRequests, false)

		expect.NoError(t, b.RevokeKey(t.Context(), b.User.ID, reader.Key.ID))
		ask(reader.Secret, path, "revoked and over the limit", http.StatusUnauthorized, false)
		ended := b.Issue(b.User.ID, storage.ScopeSubmissionsRead)
		ask(ended.Secret, path, "before it is revoked", http.StatusOK, true)
		expect.NoError(t, b.RevokeKey(t.Context(), b.User.ID, ended.Key.ID))
		ask(ended.Secret, path, "revoked", http.StatusUnauthorized, false)
	}
}

// bigBlocks are blocks of about n bytes.
func bigBlocks(n int) string {
	var blocks []string
	for size := 0; size < n; size += 4900 {
		blocks = append(blocks, `{"id":"b`+strings.Repeat("x", len(blocks)/10)+string(rune('0'+len(blocks)%10))+`","type":"statement","description":"`+strings.Repeat("d", 4900)+`"}`)
	}
	return "[" + strings.Join(blocks, ",") + "]"
}

// Each benchmark has a sub-benchmark "bare": the least that anyone would have to
// do, in the same run. What counts is the ratio.

// discard is a ResponseWriter that keeps nothing.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }
func (d *discard) WriteHeader(status int)      { d.status = status }

// call serves one request in process.
func call(b *testing.B, h http.Handler, r *http.Request, want int) {
	w := &discard{header: http.Header{}}
	h.ServeHTTP(w, r)
	expect.Require(b, w.status == want, "%s %s: %d, want %d", r.Method, r.URL, w.status, want)
}

func benchBlocks(n int) string {
	blocks := make([]string, n)
	for i := range blocks {
		switch i % 4 {
		case 0:
			blocks[i] = fmt.Sprintf(`{"id":"q%d","type":"short_text","label":"Question number %d","description":"What you would like to tell us","required":false,"properties":{"maxChars":200,"placeholderText":"Type here"}}`, i, i)
		case 1:
			blocks[i] = fmt.Sprintf(`{"id":"q%d","type":"single_choice","label":"Question number %d","choices":[{"id":"a","label":"Never"},{"id":"b","label":"Sometimes"},{"id":"c","label":"Always"}],"properties":{"otherOption":true,"randomize":false}}`, i, i)
		case 2:
			blocks[i] = fmt.Sprintf(`{"id":"q%d","type":"opinion_scale","label":"Question number %d","properties":{"from":0,"to":10,"scaleStep":1,"firstLabel":"Not at all","thirdLabel":"Very much"}}`, i, i)
		default:
			blocks[i] = fmt.Sprintf(`{"id":"q%d","type":"number","label":"Question number %d","properties":{"min":0,"max":120,"minVal":true,"maxVal":true}}`, i, i)
		}
	}
	return "[" + strings.Join(blocks, ",") + "]"
}

func benchSetup(b *testing.B, blocks int) (*servicetest.Bundle, formsvc.ID) {
	s := servicetest.Setup(b, formsvc.WithRateLimit(1<<40, 1<<40))
	return s, s.Form(benchBlocks(blocks), `{}`)
}

// BenchmarkNew is what starting a service costs after the first in a process, which
// also reads the description. It is to stay under 3 ms.
func BenchmarkNew(b *testing.B) {
	store := memory.New()
	b.ReportAllocs()
	for b.Loop() {
		expect.Must(formsvc.New(formsvc.WithStorage(store)))
	}
}

func BenchmarkPatchForm50Blocks(b *testing.B) {
	s, form := benchSetup(b, 1)
	body := `{"definition":{"blocks":` + benchBlocks(50) + `}}`
	b.Run("formsvc", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			call(b, s, s.Request(http.MethodPatch, "/forms/"+form.String(), body), http.StatusOK)
		}
	})
	b.Run("bare", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			var decoded any
			expect.NoError(b, json.Unmarshal([]byte(body), &decoded))
		}
	})
}
