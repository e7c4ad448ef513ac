package servicetest_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/storage/memory"
)

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
	if w.status != want {
		b.Fatalf("%s %s: %d, want %d", r.Method, r.URL, w.status, want)
	}
}

// constant is the bare alternative of a read: a chi handler that writes the same
// bytes.
func constant(body []byte) http.Handler {
	r := chi.NewRouter()
	r.Get("/v1/forms/{formId}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		_, _ = w.Write(body)
	})
	r.Get("/v1/forms/{formId}/submissions", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		_, _ = w.Write(body)
	})
	return r
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

func benchAnswers() map[string]json.RawMessage {
	m := map[string]json.RawMessage{}
	for i := range 10 {
		m[fmt.Sprintf("q%d", i)] = json.RawMessage([]string{`"A few words of answer"`, `"b"`, `7`, `42`}[i%4])
	}
	return m
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
		if _, err := formsvc.New(formsvc.WithStorage(store)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGetForm20Blocks(b *testing.B) {
	s, form := benchSetup(b, 20)
	path := "/forms/" + form.String()
	body := s.Do(http.MethodGet, path, "", nil).Body.Bytes()
	b.Run("formsvc", func(b *testing.B) { benchRead(b, s, s, path, body) })
	b.Run("bare", func(b *testing.B) { benchRead(b, s, constant(body), path, body) })
}

func BenchmarkList100Submissions(b *testing.B) {
	s, form := benchSetup(b, 12)
	for range 150 {
		if _, err := s.Submit(b.Context(), formsvc.Response{FormID: form, Answers: benchAnswers()}); err != nil {
			b.Fatal(err)
		}
	}
	path := "/forms/" + form.String() + "/submissions?limit=100"
	body := s.Do(http.MethodGet, path, "", nil).Body.Bytes()
	b.Run("formsvc", func(b *testing.B) { benchRead(b, s, s, path, body) })
	b.Run("bare", func(b *testing.B) { benchRead(b, s, constant(body), path, body) })
}

// benchRead reads path over HTTP and in process.
func benchRead(b *testing.B, s *servicetest.Bundle, h http.Handler, path string, body []byte) {
	b.Run("http", func(b *testing.B) {
		server := httptest.NewServer(h)
		defer server.Close()
		r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, server.URL+"/v1"+path, nil)
		if err != nil {
			b.Fatal(err)
		}
		r.Header.Set("X-API-Key", s.Key)
		b.ReportAllocs()
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			response, err := server.Client().Do(r)
			if err != nil {
				b.Fatal(err)
			}
			n, err := io.Copy(io.Discard, response.Body)
			response.Body.Close()
			if err != nil || n != int64(len(body)) {
				b.Fatalf("%d bytes, %v; want %d", n, err, len(body))
			}
		}
	})
	b.Run("in-process", func(b *testing.B) {
		r := s.Request(http.MethodGet, path, "")
		b.ReportAllocs()
		for b.Loop() {
			call(b, h, r, http.StatusOK)
		}
	})
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
			if err := json.Unmarshal([]byte(body), &decoded); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkSubmit10Answers(b *testing.B) {
	b.Run("formsvc", func(b *testing.B) {
		s, form := benchSetup(b, 12)
		in := benchAnswers()
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.Submit(b.Context(), formsvc.Response{FormID: form, Answers: in}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("bare", func(b *testing.B) {
		body, err := json.Marshal(benchAnswers())
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			var decoded map[string]any
			if err := json.Unmarshal(body, &decoded); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// A submit on the host's transaction makes a copy of the service for each, and
// uses the form that is compiled already.
func BenchmarkUsingSubmit21Blocks(b *testing.B) {
	for _, alternative := range []string{"using", "service"} {
		b.Run(alternative, func(b *testing.B) {
			s, form := benchSetup(b, 21)
			in := benchAnswers()
			b.ReportAllocs()
			for b.Loop() {
				on := s.Service
				if alternative == "using" {
					on = s.Using(s.Store)
				}
				if _, err := on.Submit(b.Context(), formsvc.Response{FormID: form, Answers: in}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkResolveKey(b *testing.B) {
	s, _ := benchSetup(b, 1)
	b.Run("formsvc", func(b *testing.B) {
		r := s.Request(http.MethodGet, "/me", "")
		b.ReportAllocs()
		for b.Loop() {
			call(b, s, r, http.StatusOK)
		}
	})
	b.Run("bare", func(b *testing.B) {
		keys := map[[32]byte]string{sha256.Sum256([]byte(s.Key)): "ann"}
		me := bytes.Repeat([]byte("x"), 220)
		router := chi.NewRouter()
		router.Get("/v1/me", func(w http.ResponseWriter, r *http.Request) {
			if keys[sha256.Sum256([]byte(r.Header.Get("X-API-Key")))] == "" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			w.WriteHeader(http.StatusOK)
			_, _ = w.Write(me)
		})
		r := s.Request(http.MethodGet, "/me", "")
		b.ReportAllocs()
		for b.Loop() {
			call(b, router, r, http.StatusOK)
		}
	})
}
