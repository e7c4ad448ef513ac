package builder_test

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/builder"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/storage/memory"
)

// The host's sessions say who is signed in, and its own document stands around the pages.
func Example() {
	service, err := formsvc.New(formsvc.WithStorage(memory.New()))
	if err != nil {
		fmt.Println(err)
		return
	}
	pages, err := formpage.New(service, formpage.Config{Secret: []byte("of all processes, 16 bytes or more")})
	if err != nil {
		fmt.Println(err)
		return
	}
	layout := template.Must(template.New("").Parse(
		`<!doctype html><html lang="{{.Language}}"><head><title>{{.Title}}</title>{{.Head}}</head><body>{{.Body}}</body></html>`))
	if err := layout.Execute(io.Discard, builder.Document{}); err != nil { // now, and not with the first page
		fmt.Println(err)
		return
	}
	owners, err := builder.New(service, builder.Config{
		User: func(r *http.Request) (formsvc.ID, error) {
			session, err := r.Cookie("session")
			if err != nil || session.Value != "that of user 42" {
				return formsvc.ID{}, errors.New("nobody is signed in")
			}
			return formsvc.UserIDFrom("42"), nil
		},
		SignIn:       http.RedirectHandler("/login", http.StatusSeeOther),
		Pages:        pages,
		Name:         "Lumen",
		Accent:       "#7a3e9d",
		Layout:       layout,
		Translations: map[string]map[string]string{"en": {"forms.new": "New survey"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = owners.Close(context.Background()) }() // when the host stops
	mux := http.NewServeMux()
	mux.Handle("/f/", pages)
	mux.Handle("/forms/", owners)

	for _, session := range []string{"", "that of user 42"} {
		r := httptest.NewRequest(http.MethodGet, "/forms/", nil)
		r.AddCookie(&http.Cookie{Name: "session", Value: session})
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		fmt.Println(w.Code, w.Header().Get("Location"), strings.Contains(w.Body.String(), "<title>Lumen</title>"))
	}
	// Output:
	// 303 /login false
	// 200  true
}

// A read-only report is a second mount with two scopes: users can look at forms and their results, and change nothing.
func ExampleConfig_scopes() {
	service, err := formsvc.New(formsvc.WithStorage(memory.New()))
	if err != nil {
		fmt.Println(err)
		return
	}
	pages, err := formpage.New(service, formpage.Config{Secret: []byte("of all processes, 16 bytes or more")})
	if err != nil {
		fmt.Println(err)
		return
	}
	user := formsvc.UserIDFrom("42")
	reports, err := builder.New(service, builder.Config{
		BasePath: "/reports",
		User:     func(*http.Request) (formsvc.ID, error) { return user, nil },
		Pages:    pages,
		Scopes: func(*http.Request, formsvc.ID, formsvc.ID) ([]formsvc.Scope, error) {
			return []formsvc.Scope{formsvc.ScopeFormsRead, formsvc.ScopeSubmissionsRead}, nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = reports.Close(context.Background()) }()

	ctx := context.Background()
	workspace, err := service.As(user).CreateWorkspace(ctx, formsvc.WorkspaceCreate{Name: "Research"})
	if err != nil {
		fmt.Println(err)
		return
	}
	form, err := service.As(user).CreateForm(ctx, formsvc.FormCreate{Workspace: workspace.ID, Name: "Survey"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, at := range []string{
		"GET " + reports.ResultsPath(form.ID), // for a link on the host's own pages
		"GET " + reports.SubmissionPath(form.ID, formsvc.ID{}),
		"GET /reports/-/builder/forms/" + form.ID.String() + "/summary",
		"GET " + reports.FormPath(form.ID) + "/webhooks",
		"DELETE /reports/-/v1/forms/" + form.ID.String(),
	} {
		method, path, _ := strings.Cut(at, " ")
		w := httptest.NewRecorder()
		reports.ServeHTTP(w, httptest.NewRequest(method, path, nil))
		fmt.Println(w.Code)
	}
	// Output:
	// 200
	// 200
	// 200
	// 403
	// 403
}
