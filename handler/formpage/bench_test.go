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
// share of its speed.
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
	for name, d := range map[string]formsvc.Definition{
		"20questions":       {Blocks: json.RawMessage(twentyQuestions())},
		"20questions+theme": {Blocks: json.RawMessage(twentyQuestions()), Theme: theme},
		"every":             {Blocks: json.RawMessage(every)},
	} {
		form, err := svc.As(owner).CreateForm(b.Context(), formsvc.NewForm{Workspace: workspace.ID, Name: "Bench", Type: "MULTI", Definition: d})
		if err == nil {
			form, err = svc.As(owner).PublishForm(b.Context(), form.ID)
		}
		if err != nil {
			b.Fatal(err)
		}
		w := httptest.NewRecorder()
		pages.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/f/"+form.PublicID, nil))
		page := w.Body.Bytes()
		constant := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write(page)
		})
		for kind, h := range map[string]http.Handler{"page": pages, "constant": constant} {
			b.Run(name+"/"+kind, func(b *testing.B) { serve(b, h, "/f/"+form.PublicID, len(page)) })
		}
	}
}

// serve asks for a page over one connection.
func serve(b *testing.B, h http.Handler, path string, size int) {
	server := httptest.NewServer(h)
	defer server.Close()
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		answer, err := server.Client().Get(server.URL + path)
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
