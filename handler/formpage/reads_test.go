package formpage_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
)

// reads counts the reads of forms. After each of them the form may change.
type reads struct {
	storage.Storage
	forms int
	after func()
}

func (s *reads) read() {
	s.forms++
	if s.after != nil {
		after := s.after
		s.after = nil
		after()
	}
}

func (s *reads) Form(ctx context.Context, who storage.Actor, id storage.ID) (storage.Form, error) {
	f, err := s.Storage.Form(ctx, who, id)
	s.read()
	return f, err
}

func (s *reads) FormByPublicID(ctx context.Context, publicID string) (storage.Form, error) {
	f, err := s.Storage.FormByPublicID(ctx, publicID)
	s.read()
	return f, err
}

// A page reads its form once, whether it is opened, sent or asked for its path, and also when
// the form changes right after: what is shown is one form, and not the blocks of one on the way
// through another.
func TestAPageReadsItsFormOnce(t *testing.T) {
	t.Parallel()
	store := &reads{Storage: memory.New()}
	service, err := formsvc.New(formsvc.WithStorage(store))
	if err != nil {
		t.Fatal(err)
	}
	place := must(service.CreateWorkspace(t.Context(), formsvc.UserIDFrom("owner"), "W"))
	const before = `[{"id":"a","type":"short_text","label":"Before"},{"id":"b","type":"short_text","label":"Second before"}]`
	const after = `[{"id":"c","type":"short_text","label":"Changed"},{"id":"b","type":"short_text","label":"Second changed"}]`
	form := must(service.AsHost().CreateForm(t.Context(), formsvc.FormCreate{Workspace: place.ID, Name: "F", Type: "SINGLE", Definition: formsvc.Definition{Blocks: []byte(before)}}))
	if form, err = service.AsHost().PublishForm(t.Context(), form.ID); err != nil {
		t.Fatal(err)
	}
	change := func(blocks string) {
		if _, err := service.AsHost().UpdateForm(t.Context(), form.ID, formsvc.FormUpdate{Definition: formsvc.Definition{Blocks: []byte(blocks)}}); err != nil {
			t.Error(err)
		}
	}
	ask := func(method, path, kind, body string) *httptest.ResponseRecorder {
		pages := must(formpage.New(service, formpage.Config{Secret: secret, MinFillTime: -1}))
		r := httptest.NewRequest(method, "/f/"+form.PublicID+path, strings.NewReader(body))
		r.Header.Set("Content-Type", kind)
		w := httptest.NewRecorder()
		pages.ServeHTTP(w, r)
		return w
	}
	state := url.QueryEscape(inState.FindStringSubmatch(ask(http.MethodGet, "", "", "").Body.String())[1])
	plain, _ := url.QueryUnescape(state)
	inJSON, _ := json.Marshal(map[string]any{"state": plain})
	const urlencoded = "application/x-www-form-urlencoded"
	for name, c := range map[string]struct{ method, path, kind, body, shows string }{
		"opened":         {http.MethodGet, "", "", "", ">Before"},
		"sent":           {http.MethodPost, "", urlencoded, "state=" + state + "&go=next&at=a&seen=a&a.a=x", "Second before"},
		"asked for path": {http.MethodPost, "/path", "application/json", string(inJSON), `"id":"a"`},
	} {
		change(before)
		store.forms, store.after = 0, func() { change(after) }
		w := ask(c.method, c.path, c.kind, c.body)
		// A change reads the form as well.
		if text := w.Body.String(); w.Code != http.StatusOK || !strings.Contains(text, c.shows) || strings.Contains(text, "hanged") {
			t.Errorf("%s: %d, the page is not that of one form: %s", name, w.Code, text)
		}
		change(before)
		store.forms = 0
		ask(c.method, c.path, c.kind, c.body)
		if store.forms != 1 {
			t.Errorf("%s: the form is read %d times", name, store.forms)
		}
	}
	store.forms = 0
	if w := ask(http.MethodPost, "", urlencoded, "state="+state+"&go=next&at=b&seen=b&a.a=x&a.b=y"); w.Code != http.StatusSeeOther || store.forms > 1 {
		t.Errorf("stored with %d after %d reads", w.Code, store.forms)
	}
	if _, err := (formsvc.PublicForm{ID: form.ID}).Path(nil, nil); err == nil {
		t.Error("a PublicForm of the host's has a path")
	}
}
