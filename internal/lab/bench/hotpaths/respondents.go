package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
)

// respondents read a page of 20 questions, of one form or of any of 50, beside a handler that
// reads the same bytes from a row, and send it as a browser without a script does, beside Submit
// of the same answers.
func respondents() suite {
	return suite{
		concurrency: "16",
		prepare:     prepareRespondents,
		alternatives: []alternative{
			{"bytes of the page", openBytes(1)},
			{"formsvc page", openFormPage(1)},
			{"bytes of 50 forms", openBytes(mostPages)},
			{"pages of 50 forms", openFormPage(mostPages)},
			{"Submit", openSubmit(onPage, "plain", 1, false)},
			{"sent page", openSentPage},
		},
	}
}

const (
	onPage    = 20 // questions
	mostPages = 50 // forms
)

func prepareRespondents(ctx context.Context, db *database, _ options) error {
	if err := db.run(ctx, factsTable+`; CREATE TABLE formsvc.bare_pages (id text PRIMARY KEY, body bytea NOT NULL)`); err != nil {
		return err
	}
	service, err := newService(db.store())
	if err != nil {
		return err
	}
	defer func() { _ = service.Close(ctx) }()
	owner, err := newOwner(ctx, service)
	if err != nil {
		return err
	}
	blocks := make([]map[string]any, onPage)
	for i := range blocks {
		blocks[i] = map[string]any{"id": question(i), "type": "short_text", "label": fmt.Sprintf("Question number %d", i)}
	}
	list, err := json.Marshal(blocks)
	if err != nil {
		return err
	}
	host := service.AsHost()
	pages, err := newPages(service)
	for i := 0; err == nil && i < mostPages; i++ {
		var form formsvc.Form
		form, err = host.CreateForm(ctx, formsvc.FormCreate{Workspace: owner.workspace, Name: "Twenty questions", Type: "MULTI", Definition: formsvc.Definition{Blocks: list}})
		if err == nil {
			form, err = host.PublishForm(ctx, form.ID)
		}
		if err != nil {
			return err
		}
		_, err = db.pool.Exec(ctx, db.sql(`INSERT INTO formsvc.bare_pages VALUES ($1, $2)`), form.PublicID, answer(ctx, pages, "", "/f/"+form.PublicID).Body.Bytes())
		err = errors.Join(err, db.note(ctx, numbered("plain", i), form.ID.String()), db.note(ctx, numbered("public", i), form.PublicID))
	}
	return errorOf(err, db.run(ctx, `VACUUM ANALYZE formsvc.forms`))
}

func newPages(service *formsvc.Service) (*formpage.Handler, error) {
	return formpage.New(service, formpage.Config{Secret: []byte(strings.Repeat("s", 32)), MinFillTime: -1})
}

// openPages is a service with its pages, which are those of the first forms.
func openPages(ctx context.Context, db *database, forms int) (*formpage.Handler, served, error) {
	service, err := newService(db.store())
	if err != nil {
		return nil, served{}, err
	}
	pages, err := newPages(service)
	if err != nil {
		return nil, served{}, err
	}
	s, err := ofForms(ctx, db, forms, pages)
	s.close = func() error { return service.Close(context.WithoutCancel(ctx)) }
	return pages, s, err
}

// ofForms serves the pages of the first forms, each request one picked at random.
func ofForms(ctx context.Context, db *database, forms int, pages http.Handler) (served, error) {
	paths := make([]string, forms)
	for i := range paths {
		public, err := db.fact(ctx, numbered("public", i))
		if err != nil {
			return served{}, err
		}
		paths[i] = "/f/" + public
	}
	request, err := get(paths[0], "")
	return served{handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.URL.Path = paths[mathrand.IntN(forms)]
		pages.ServeHTTP(w, r)
	}), request: request}, err
}

func openFormPage(forms int) func(context.Context, *database) (served, error) {
	return func(ctx context.Context, db *database) (served, error) {
		_, s, err := openPages(ctx, db, forms)
		return s, err
	}
}

// openBytes passes on the bytes of a page, which are found by its key.
func openBytes(forms int) func(context.Context, *database) (served, error) {
	return func(ctx context.Context, db *database) (served, error) {
		return ofForms(ctx, db, forms, passOn(db, "/f/{id}", `SELECT body FROM formsvc.bare_pages WHERE id = $1`, "text/html; charset=utf-8"))
	}
}

var inState = regexp.MustCompile(`name="state" value="([^"]+)"`)

// mostSent is how many pages a process can take: each is a visit of its own, or the second
// would be the first one sent again.
const mostSent = 60_000

// openSentPage stores the answers of pages that visitors have open.
func openSentPage(ctx context.Context, db *database) (served, error) {
	pages, s, err := openPages(ctx, db, 1)
	if err != nil {
		return served{}, err
	}
	path := s.request.URL.Path
	states := make([]string, mostSent)
	for i := range states {
		found := inState.FindStringSubmatch(answer(ctx, pages, "", path).Body.String())
		if found == nil {
			return served{}, errors.New("a page without a state")
		}
		states[i] = found[1]
	}
	body := url.Values{"at": {"0"}}
	for i := range onPage {
		body.Set("a."+question(i), placeholder+" is an answer of some length")
	}
	request, err := http.NewRequest(http.MethodPost, "http://localhost"+path, strings.NewReader(body.Encode())) //nolint:noctx // it is written, not sent
	if err != nil {
		return served{}, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	var next atomic.Int64
	s.request = request
	s.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i := next.Add(1) - 1
		if i >= mostSent {
			http.Error(w, "no page is left", http.StatusInternalServerError)
			return
		}
		state := "state=" + url.QueryEscape(states[i]) + "&"
		r.Body, r.ContentLength = io.NopCloser(io.MultiReader(strings.NewReader(state), r.Body)), r.ContentLength+int64(len(state))
		answered := httptest.NewRecorder()
		pages.ServeHTTP(answered, r)
		if answered.Code != http.StatusSeeOther {
			http.Error(w, http.StatusText(answered.Code), http.StatusInternalServerError)
			return
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, "stored")
	})
	return s, nil
}
