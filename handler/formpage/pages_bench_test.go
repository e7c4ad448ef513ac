package formpage_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/internal/lab/expect"
)

// BenchmarkPages measures a page of twenty questions in memory: with plain texts, and with formats and insertions.
func BenchmarkPages(b *testing.B) {
	c := newCosts(b)
	marked := strings.ReplaceAll(twentyQuestions(), `What do you think`, `What do **you**, {{answers.question_0}}, think [here](https://a.example)`)
	for name, blocks := range map[string]string{"plain": twentyQuestions(), "marked": marked} {
		form := c.form(blocks)
		body := url.Values{"state": {c.state(form)}, "a.question_0": {"Ann"}, "go": {"stay"}}.Encode()
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r := httptest.NewRequest(http.MethodPost, "/f/"+form.PublicID, strings.NewReader(body))
				r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				w := &sink{header: http.Header{}, status: http.StatusOK}
				c.pages.ServeHTTP(w, r)
				expect.Equal(b, w.status, http.StatusOK, "the status")
			}
		})
	}
}
