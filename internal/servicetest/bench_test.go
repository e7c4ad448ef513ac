package servicetest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

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
		if _, err := formsvc.New(formsvc.WithStorage(store)); err != nil {
			b.Fatal(err)
		}
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
			if err := json.Unmarshal([]byte(body), &decoded); err != nil {
				b.Fatal(err)
			}
		}
	})
}
