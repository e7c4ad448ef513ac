package formpage_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/storage/memory"
)

// BenchmarkPage serves the first page of a form over HTTP from memory storage, beside a
// handler that writes the same bytes: ns/op of constant divided by ns/op of page is the
// share of its speed. "link" is a page whose address has a campaign in it, "typed" one
// whose address has an answer.
func BenchmarkPage(b *testing.B) {
	svc, err := formsvc.New(formsvc.WithStorage(memory.New()))
	if err != nil {
		b.Fatal(err)
	}
	owner := formsvc.UserIDFrom("owner")
	workspace, err := svc.CreateWorkspace(b.Context(), owner, "Bench")
	if err != nil {
		b.Fatal(err)
	}
	pages, err := formpage.New(svc, formpage.Config{})
	if err != nil {
		b.Fatal(err)
	}
	css := strings.Repeat(".fs-label { color: rgb(10 20 30 / 50%); padding: 1rem 2px }\n", 20)
	theme, _ := json.Marshal(map[string]any{"customCss": css})
	twenty := formsvc.Definition{Blocks: json.RawMessage(twentyQuestions())}
	for _, c := range []struct {
		name, query string
		definition  formsvc.Definition
	}{
		{"20questions", "", twenty},
		{"20questions+theme", "", formsvc.Definition{Blocks: twenty.Blocks, Theme: theme}},
		{"20questions+link", "?utm_source=mail&utm_campaign=spring&ref=42", twenty},
		{"20questions+typed", "?question_0=x", twenty},
		{"every", "", formsvc.Definition{Blocks: json.RawMessage(every)}},
	} {
		form, err := svc.As(owner).CreateForm(b.Context(), formsvc.FormCreate{Workspace: workspace.ID, Name: "Bench", Type: "MULTI", Definition: c.definition})
		if err == nil {
			form, err = svc.As(owner).PublishForm(b.Context(), form.ID)
		}
		if err != nil {
			b.Fatal(err)
		}
		address := "/f/" + form.PublicID + c.query
		w := httptest.NewRecorder()
		pages.ServeHTTP(w, httptest.NewRequest(http.MethodGet, address, nil))
		page := w.Body.Bytes()
		constant := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write(page)
		})
		b.Run(c.name+"/constant", func(b *testing.B) { serve(b, constant, address, len(page)) })
		b.Run(c.name+"/page", func(b *testing.B) { serve(b, pages, address, len(page)) })
	}
}

// serve asks for a page over one connection, as a browser does.
func serve(b *testing.B, h http.Handler, address string, size int) {
	server := httptest.NewServer(h)
	defer server.Close()
	r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, server.URL+address, nil)
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Accept-Language", "en-GB,en;q=0.9,de;q=0.8")
	r.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		answer, err := server.Client().Do(r)
		if err != nil {
			b.Fatal(err)
		}
		n, err := io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusOK || n < int64(size)*9/10 {
			b.Fatal(answer.StatusCode, n, err)
		}
	}
}
