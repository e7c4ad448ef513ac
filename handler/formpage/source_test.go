package formpage_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
)

// Pages are compared with those of a handler that remembers no form.

// tenants are two owners, each with the three forms of the quickstart.
type tenants struct {
	*site
	forms  []formsvc.Form
	blocks [][]schema.Block
}

func newTenants(t *testing.T) *tenants {
	t.Helper()
	files := expect.Must(formpage.NewDir(t.TempDir(), "https://files.example/"))
	t.Cleanup(func() { _ = files.Close() })
	s := &tenants{site: newSite(t, formpage.Config{
		Secret: secret, Files: files, Brand: formpage.Link{Text: "Made here"},
	})}
	for _, owner := range []string{"owner", "another"} {
		client := s.service.As(formsvc.UserIDFrom(owner))
		place := expect.Must(client.CreateWorkspace(t.Context(), formsvc.WorkspaceCreate{Name: owner}))
		for _, file := range []string{"every", "feedback", "finder"} {
			raw, err := os.ReadFile("../../examples/quickstart/forms/" + file + ".json")
			expect.NoError(t, err)
			var given struct {
				Name, Type string
				Definition formsvc.Definition
			}
			expect.NoError(t, json.Unmarshal(raw, &given))
			form := expect.Must(client.CreateForm(t.Context(), formsvc.FormCreate{
				Workspace: place.ID, Name: given.Name + " of " + owner, Type: given.Type, Definition: given.Definition,
			}))
			form, err = client.PublishForm(t.Context(), form.ID)
			expect.NoError(t, err)
			blocks := expect.Must(schema.DecodeBlocks(form.Definition.Blocks))
			s.forms, s.blocks = append(s.forms, form), append(s.blocks, blocks)
		}
	}
	return s
}

// visitRequest is what a browser sends.
type visitRequest struct {
	form     formsvc.Form
	language string
	query    url.Values
	values   url.Values // of a POST
}

// ask sends a request to a handler, and returns all of the answer but what is new in each.
func (v visitRequest) ask(h http.Handler) (answer, nonce, state string) {
	address := "/f/" + v.form.PublicID
	if len(v.query) > 0 {
		address += "?" + v.query.Encode()
	}
	r := httptest.NewRequest(http.MethodGet, address, nil)
	if v.values != nil {
		r = httptest.NewRequest(http.MethodPost, address, strings.NewReader(v.values.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	r.Header.Set("Accept-Language", v.language)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	answer = fmt.Sprint(w.Code, w.Header(), w.Body)
	if found := inPolicy.FindStringSubmatch(w.Header().Get("Content-Security-Policy")); found != nil {
		nonce = found[1]
		answer = strings.ReplaceAll(answer, nonce, "NONCE")
	}
	if found := inState.FindStringSubmatch(w.Body.String()); found != nil {
		state = found[1]
		answer = strings.Replace(answer, state, "STATE", 1)
	}
	return answer, nonce, state
}

var (
	inPolicy = regexp.MustCompile(`'nonce-(\w+)'`)
	inState  = regexp.MustCompile(`name="state" value="([^"]+)"`)
)

// drawRequest makes any request for one of the forms.
func (s *tenants) drawRequest(t *rapid.T, states map[string]string) visitRequest {
	n := rapid.IntRange(0, len(s.forms)-1).Draw(t, "form")
	v := visitRequest{form: s.forms[n], query: url.Values{}, language: rapid.SampledFrom([]string{"", "de", "ar", "fr-CH,fr;q=0.9", "ja", "tlh"}).Draw(t, "language")}
	text := rapid.SampledFrom([]string{"", "x", "3", "id:a", "other", "2026-02-28", `"><b>`, "é\u202e", "DE"})
	ids := []string{"gone"}
	var inputs []string
	var collect func(blocks []schema.Block)
	collect = func(blocks []schema.Block) {
		for _, b := range blocks {
			ids = append(ids, b.ID)
			for _, prefix := range []string{"a.", "o.", "d.", "t.", "p.city.", "f."} {
				inputs = append(inputs, prefix+b.ID)
			}
			for _, c := range b.Choices {
				inputs = append(inputs, "a."+b.ID+"=id:"+c.ID, "k."+c.ID+"."+b.ID)
			}
			collect(b.Children)
		}
	}
	collect(s.blocks[n])
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"lang", "embed", "utm_source", "ref", "ending", "go"}), 0, 2, rapid.ID).Draw(t, "parameters") {
		v.query.Set(name, rapid.SampledFrom([]string{"1", "de", "x y"}).Draw(t, name))
	}
	if !rapid.Bool().Draw(t, "post") {
		if rapid.Bool().Draw(t, "prefilled") {
			v.query.Set(rapid.SampledFrom(ids).Draw(t, "block"), text.Draw(t, "answer"))
		}
		return v
	}
	v.values = url.Values{
		"state": {states[v.form.PublicID]}, "at": {rapid.SampledFrom(ids).Draw(t, "at")},
		"go": {rapid.SampledFrom([]string{"next", "back", "stay", "upload", ""}).Draw(t, "go")},
	}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(inputs), 0, 6, rapid.ID).Draw(t, "inputs") {
		name, value, chosen := strings.Cut(name, "=")
		if !chosen {
			value = text.Draw(t, name)
		}
		v.values.Add(name, value)
	}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"lang", "embed", "more_info", "lost", "seen", "viewed", "h.ref", "x.a"}), 0, 2, rapid.ID).Draw(t, "controls") {
		v.values.Set(name, rapid.SampledFrom([]string{"1", "de"}).Draw(t, name))
	}
	return v
}

// change makes any change of one of the forms.
func (s *tenants) change(t *rapid.T) {
	n := rapid.IntRange(0, len(s.forms)-1).Draw(t, "changed")
	var update formsvc.FormUpdate
	word := rapid.SampledFrom([]string{"red", "blue", "green"}).Draw(t, "word")
	switch rapid.SampledFrom([]string{"blocks", "theme", "settings", "name"}).Draw(t, "section") {
	case "blocks":
		s.blocks[n][1].Label = "What is " + word + "?"
		update.Definition.Blocks, _ = json.Marshal(s.blocks[n])
	case "theme":
		update.Definition.Theme = json.RawMessage(`{"customCss":".fs-label{color:` + word + `}","colors":{"primary":"#123456"}}`)
	case "settings":
		update.Definition.Settings = json.RawMessage(`{"submitLabel":"` + word + `","numberedQuestions":true}`)
	case "name":
		update.Name = &word
	}
	expect.Must(s.service.AsHost().UpdateForm(s.t.Context(), s.forms[n].ID, update))
}

// What is remembered of a form changes nothing of its pages.
func TestAPageIsThatOfTheFormAsItIs(t *testing.T) {
	t.Parallel()
	s := newTenants(t)
	states := map[string]string{}
	for _, form := range s.forms {
		_, _, states[form.PublicID] = visitRequest{form: form}.ask(s.pages)
	}
	s.wait(time.Minute)
	rapid.Check(t, func(t *rapid.T) {
		for range rapid.IntRange(1, 6).Draw(t, "requests") {
			if rapid.IntRange(0, 4).Draw(t, "kind") == 0 {
				s.change(t)
				continue
			}
			v := s.drawRequest(t, states)
			for range 2 {
				got, want := differ(s.pages, s.pages.Uncached(), v)
				expect.Require(t, got == want, "%+v:\n%s\nwith nothing remembered:\n%s", v, got, want)
			}
		}
	})
}

func differ(a, b http.Handler, v visitRequest) (first, second string) {
	first, _, _ = v.ask(a)
	second, _, _ = v.ask(b)
	return first, second
}

// strangers sends pages of many visitors at once, each with a mark of its own wherever a
// visitor can put one, and reports whatever is in the page of another one.
func (s *tenants) strangers(h http.Handler, link func(until time.Duration) string) []string {
	var (
		mu     sync.Mutex
		faults []string
		owners = map[string]string{} // of nonces and states
		all    sync.WaitGroup
	)
	mark := regexp.MustCompile(`mark\d+x`)
	for n := range 8 {
		all.Go(func() {
			own := fmt.Sprintf("mark%dx", n)
			preview := link(time.Duration(n+1) * time.Hour)
			check := func(what string, r *http.Request) {
				r.Header.Set("User-Agent", own)
				r.Header.Set("X-Address", own)
				r.Header.Set("Referer", "https://"+own+".example/")
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				answer := fmt.Sprint(w.Header(), w.Body)
				mu.Lock()
				defer mu.Unlock()
				for _, found := range mark.FindAllString(answer, -1) {
					if found != own {
						faults = append(faults, fmt.Sprintf("%s of %s has %s", what, own, found))
					}
				}
				if strings.Contains(answer, "/-/preview/") && !strings.Contains(answer, preview) {
					faults = append(faults, what+" has the link of a preview")
				}
				secrets := inPolicy.FindStringSubmatch(w.Header().Get("Content-Security-Policy"))
				if r.Method == http.MethodGet {
					secrets = append(secrets, inState.FindStringSubmatch(w.Body.String())...)
				}
				for i, secret := range secrets {
					if i%2 == 1 {
						if owner, there := owners[secret]; there {
							faults = append(faults, fmt.Sprintf("%s of %s has the nonce or state of %s", what, own, owner))
						}
						owners[secret] = own
					}
				}
			}
			for i := range 4 {
				form := s.forms[(n+i)%len(s.forms)]
				blocks := s.blocks[(n+i)%len(s.forms)]
				address := "/f/" + form.PublicID
				check("a plain page", httptest.NewRequest(http.MethodGet, address, nil))
				query := url.Values{"ref": {own}, "utm_source": {own}, "any": {own}, "embed": {own}}
				check("a link", httptest.NewRequest(http.MethodGet, address+"?"+query.Encode(), nil))
				values := url.Values{"h.ref": {own}, "took": {own}, "at": {own}, "proof": {own}}
				for _, b := range blocks {
					query.Set(b.ID, own)
					values.Set("a."+b.ID, own)
					values.Set("o."+b.ID, own)
				}
				check("a filled link", httptest.NewRequest(http.MethodGet, address+"?"+query.Encode(), nil))
				for _, to := range []string{address, preview} {
					r := httptest.NewRequest(http.MethodPost, to, strings.NewReader(values.Encode()))
					r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
					check("a sent page", r)
				}
				check("a preview", httptest.NewRequest(http.MethodGet, preview, nil))
			}
		})
	}
	all.Wait()
	return faults
}

func (s *tenants) previewLink(until time.Duration) string {
	path, err := s.pages.PreviewPath(s.forms[1].ID, s.clock().Add(until))
	expect.That(s.t, err == nil, "%v", err)
	return path
}

func TestNothingOfAVisitorGetsIntoThePageOfAnother(t *testing.T) {
	t.Parallel()
	s := newTenants(t)
	for _, fault := range s.strangers(s.pages, s.previewLink) {
		t.Error(fault)
	}
}

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
	expect.NoError(t, err)
	place := expect.Must(service.CreateWorkspace(t.Context(), formsvc.UserIDFrom("owner"), "W"))
	const before = `[{"id":"a","type":"short_text","label":"Before"},{"id":"b","type":"short_text","label":"Second before"}]`
	const after = `[{"id":"c","type":"short_text","label":"Changed"},{"id":"b","type":"short_text","label":"Second changed"}]`
	form := expect.Must(service.AsHost().CreateForm(t.Context(), formsvc.FormCreate{Workspace: place.ID, Name: "F", Type: "SINGLE", Definition: formsvc.Definition{Blocks: []byte(before)}}))
	form, err = service.AsHost().PublishForm(t.Context(), form.ID)
	expect.NoError(t, err)
	change := func(blocks string) {
		if _, err := service.AsHost().UpdateForm(t.Context(), form.ID, formsvc.FormUpdate{Definition: formsvc.Definition{Blocks: []byte(blocks)}}); err != nil {
			t.Error(err)
		}
	}
	ask := func(method, path, kind, body string) *httptest.ResponseRecorder {
		pages := expect.Must(formpage.New(service, formpage.Config{Secret: secret, MinFillTime: -1}))
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
		expect.That(t, store.forms == 1, "%s: the form is read %d times", name, store.forms)
	}
	store.forms = 0
	if w := ask(http.MethodPost, "", urlencoded, "state="+state+"&go=next&at=b&seen=b&a.a=x&a.b=y"); w.Code != http.StatusSeeOther || store.forms > 1 {
		t.Errorf("stored with %d after %d reads", w.Code, store.forms)
	}
	if _, err := (formsvc.PublicForm{ID: form.ID}).Path(nil, nil); err == nil {
		t.Error("a PublicForm of the host's has a path")
	}
}
