package formpage_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// A page of another origin sends no form, though the browser adds the visitor's cookies, by
// which the host would answer.
func TestForeignPostsAreRefused(t *testing.T) {
	t.Parallel()
	asked := 0
	files := &counting{}
	s := newSite(t, formpage.Config{
		MinFillTime: -1, Secret: secret, Files: files, AllowedOrigins: []string{"https://app.example", "*"},
		HostAnswers: func(*http.Request, formsvc.PublicForm) (map[string]json.RawMessage, error) { asked++; return nil, nil },
	})
	form := s.form("MULTI", `[{"id":"n","type":"short_text","label":"Name"},{"id":"f","type":"file_upload"}]`, "", "")
	own := s.server.URL
	secure := strings.Replace(own, "http:", "https:", 1)
	preview := s.link(form.ID)
	for _, c := range []struct {
		site, origin string
		allowed      bool
	}{
		{"same-origin", own, true}, {"same-origin", "null", true}, {"none", "", true}, {"", "", true}, {"", own, true}, {"", secure, true},
		{"cross-site", "https://app.example", true}, {"", "https://app.example", true},
		{"cross-site", "https://evil.example", false}, {"same-site", "https://other.example", false}, {"cross-site", "null", false},
		{"cross-site", "", false}, {"cross-site", own, false}, {"", "null", false}, {"", "https://evil.example", false}, {"", own + "0", false}, {"", "%", false},
	} {
		for _, address := range []string{own + "/f/" + form.PublicID, preview} {
			p := s.get(address).fill("a.n", "typed <b>")
			before, stored, kept := asked, len(s.answers(form)), files.files.Load()
			send := func(kind, body string) *page {
				r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
				r.Header.Set("Content-Type", kind)
				for name, value := range map[string]string{"Sec-Fetch-Site": c.site, "Origin": c.origin} {
					if value != "" {
						r.Header.Set(name, value)
					}
				}
				return s.do(r)
			}
			values := url.Values{"go": {"next"}}
			for name, list := range p.values {
				values[name] = list
			}
			got := send("application/x-www-form-urlencoded", values.Encode())
			if c.allowed {
				if got.status != http.StatusOK || address != preview && len(s.answers(form)) != stored+1 {
					t.Errorf("%+v: %d %s", c, got.status, got.text("fs-main"))
				}
				continue
			}
			if got.status != http.StatusForbidden || len(s.answers(form)) != stored || asked != before {
				t.Errorf("%+v, %s: %d, %d are stored, the host was asked %d times", c, address, got.status, len(s.answers(form)), asked-before)
			}
			if !strings.Contains(got.text("fs-main"), "from another website") || !strings.Contains(got.text("fs-note"), "typed <b>") {
				t.Errorf("%+v: the page shows %s", c, got.text("fs-main"))
			}
			upload := "--x\r\nContent-Disposition: form-data; name=\"state\"\r\n\r\n" + p.values.Get("state") +
				"\r\n--x\r\nContent-Disposition: form-data; name=\"u.f\"; filename=\"a.txt\"\r\n\r\ntext\r\n--x--\r\n"
			if got := send("multipart/form-data; boundary=x", upload); got.status != http.StatusForbidden || files.files.Load() != kept {
				t.Errorf("%+v: a file: %d, %d are stored", c, got.status, files.files.Load()-kept)
			}
		}
	}
}

// The routes for other front ends go by the same rule; "*" is for these.
func TestForeignJSONAndCounts(t *testing.T) {
	t.Parallel()
	for allowed, origins := range map[string][]string{"": nil, "https://app.example": {"https://app.example"}, "*": {"*"}} {
		s := newSite(t, formpage.Config{MinFillTime: -1, AllowedOrigins: origins})
		form := s.form("MULTI", `[{"id":"n","type":"short_text"}]`, "", "")
		base := s.server.URL + "/f/" + form.PublicID
		for _, origin := range []string{"https://app.example", "https://evil.example", s.server.URL} {
			ok := allowed == "*" || origin == allowed || origin == s.server.URL
			var got struct{ State, Code, Message string }
			s.ask(http.MethodGet, base+"/form.json", "", nil, &got)
			for path, want := range map[string]int{"/path": http.StatusOK, "/submit": http.StatusCreated} {
				status, _ := s.ask(http.MethodPost, base+path, origin, map[string]any{"state": got.State}, &got)
				if ok && status != want || !ok && (status != http.StatusForbidden || got.Code != "FOREIGN_ORIGIN" || got.Message == "") {
					t.Errorf("%q, %s%s: %d %+v", allowed, origin, path, status, got)
				}
			}
			for _, path := range []string{"/view", "/start"} {
				r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, base+path, strings.NewReader(url.Values{"state": {got.State}}.Encode()))
				r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				r.Header.Set("Origin", origin)
				if p := s.do(r); ok != (p.status == http.StatusNoContent) || !ok && p.status != http.StatusForbidden {
					t.Errorf("%q, %s%s: %d", allowed, origin, path, p.status)
				}
			}
		}
		if want := map[string]int{"": 1, "https://app.example": 2, "*": 3}[allowed]; len(s.answers(form)) != want || s.funnel(form).Starts != int64(want) {
			t.Errorf("%q: %d are stored, %+v", allowed, len(s.answers(form)), s.funnel(form))
		}
	}
}

// An ending is for those who sent a response, and so is where the form leads to.
func TestEndingsAreForThoseWhoSent(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{MinFillTime: -1, Secret: secret})
	const blocks = `[{"id":"n","type":"short_text","label":"Name"},{"id":"e","type":"ending","label":"Your code is SAVE10","properties":{"shareButtons":true}}]`
	const redirect = `{"redirectUrl":"https://shop.example/?code=SAVE10"}`
	form := s.form("MULTI", blocks, "", "")
	other := s.form("MULTI", blocks, `{"redirectUrl":"https://other.example/"}`, "")
	p := s.open(form, "")
	if strings.Contains(p.raw, "SAVE10") {
		t.Error("the form tells its ending")
	}
	end := p.press("next")
	at, err := url.Parse(end.url)
	if err != nil || end.status != http.StatusOK || !strings.Contains(end.raw, "SAVE10") {
		t.Fatalf("%v, %d %s", err, end.status, end.raw)
	}
	if again := s.get(end.url); again.text("fs-done") != end.text("fs-done") {
		t.Errorf("loaded again: %s", again.text("fs-main"))
	}
	must(s.service.AsHost().UpdateForm(t.Context(), form.ID, formsvc.FormUpdate{Definition: formsvc.Definition{Settings: json.RawMessage(redirect)}}))
	const button = `<a class="fs-button" href="https://shop.example/?code=SAVE10" target="_top" data-leads>`
	if again := s.get(end.url); strings.Contains(again.raw, "http-equiv") || !strings.Contains(again.raw, button) {
		t.Errorf("the link redirects: %s", again.raw)
	}
	if sent := s.open(form, "").press("next"); !strings.Contains(sent.raw, `content="0;url=https://shop.example/?code=SAVE10"`) || !strings.Contains(sent.raw, button) {
		t.Errorf("the browser that submitted is not redirected: %s", sent.raw)
	}
	token := at.Query().Get("sent")
	base := s.server.URL + "/f/"
	previewed := strings.TrimPrefix(s.link(form.ID), base+"-/preview/")
	plain := func(what, address string) {
		t.Helper()
		got := s.get(address)
		if got.status != http.StatusOK || !strings.HasPrefix(got.text("fs-done"), "Thank you!") || strings.Contains(got.raw, "SAVE10") || strings.Contains(got.raw, ".example") {
			t.Errorf("%s: %d %s", what, got.status, got.raw)
		}
	}
	for what, query := range map[string]string{
		"no token": "", "an ending by its id": "ending=e", "a forged one": "sent=" + token + "x", "of a visit": "sent=" + p.values.Get("state"),
		"of a preview": "sent=" + previewed, "nothing": "sent=",
	} {
		plain(what, base+form.PublicID+"/done?"+query)
	}
	plain("of another form", base+other.PublicID+"/done?sent="+token)
	s.wait(8 * 24 * time.Hour)
	plain("an old one", end.url)

	// The preview shows the ending, and leads nowhere.
	p = s.get(s.link(form.ID))
	if p = p.press("next"); !strings.Contains(p.text("fs-done"), "SAVE10") || strings.Contains(p.raw, "http-equiv") {
		t.Errorf("the preview: %s", p.raw)
	}

	// A front end is told when its response is stored.
	var got struct {
		State       string
		Ending      string
		RedirectURL string `json:"redirect_url"`
		Block       struct{ Type, Label string }
		Blocks      []map[string]any
		Settings    map[string]any
	}
	s.ask(http.MethodGet, base+form.PublicID+"/form.json", "", nil, &got)
	if raw, _ := json.Marshal(got); strings.Contains(string(raw), "SAVE10") || len(got.Blocks) != 2 || got.Blocks[1]["id"] != "e" || got.Blocks[1]["type"] != "ending" {
		t.Errorf("form.json is %s", raw)
	}
	status, _ := s.ask(http.MethodPost, base+form.PublicID+"/submit", "", map[string]any{"state": got.State}, &got)
	if status != http.StatusCreated || got.Ending != "e" || got.Block.Label != "Your code is SAVE10" || got.RedirectURL != "https://shop.example/?code=SAVE10" {
		t.Errorf("%d %+v", status, got)
	}
}

// With the script, a form that redirects leads there at once, and one without to its
// ending. An address with a user name that was stored before is not followed.
func TestWhereAResponseLeads(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{MinFillTime: -1, Secret: secret})
	form := s.form("MULTI", `[]`, "", "")
	done := form.PublicID + "/done?"
	for target, want := range map[string]string{
		"": done, "https://shop.example/": "https://shop.example/", "https://known.example@evil.example/": done, "https://known.example:x@evil.example/": done,
	} {
		settings, _ := json.Marshal(schema.Settings{RedirectURL: target})
		// Into the storage, because a write refuses an address with a user name.
		must(s.store.UpdateForm(t.Context(), storage.AsHost(), form.ID, storage.FormChange{Definition: storage.Definition{Settings: settings, Format: 1}, At: s.clock()}))
		ask := func(r *http.Request) *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			s.pages.ServeHTTP(w, r)
			return w
		}
		state := inState.FindStringSubmatch(ask(httptest.NewRequest(http.MethodGet, "/f/"+form.PublicID, nil)).Body.String())[1]
		send := func(script string) *httptest.ResponseRecorder {
			r := httptest.NewRequest(http.MethodPost, "/f/"+form.PublicID, strings.NewReader(url.Values{"state": {state}, "go": {"next"}}.Encode()))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Header.Set("Formpage-Script", script)
			return ask(r)
		}
		if w := send("1"); w.Code != http.StatusNoContent || !strings.HasPrefix(w.Header().Get("Formpage-Location"), want) {
			t.Errorf("%q, by the script: %d %v", target, w.Code, w.Header())
		}
		w := send("")
		end := w.Body.String()
		if want != target {
			if w.Code != http.StatusSeeOther || !strings.HasPrefix(w.Header().Get("Location"), done) {
				t.Errorf("%q: %d %v", target, w.Code, w.Header())
			}
			end = ask(httptest.NewRequest(http.MethodGet, "/f/"+w.Header().Get("Location"), nil)).Body.String()
		}
		if leads := strings.Contains(end, `http-equiv="refresh"`); leads != (want == target) || strings.Contains(end, "evil") {
			t.Errorf("%q: the ending is %s", target, end)
		}
		r := httptest.NewRequest(http.MethodPost, "/f/"+form.PublicID+"/submit", strings.NewReader(`{"state":"`+state+`"}`))
		r.Header.Set("Content-Type", "application/json")
		if w := ask(r); w.Code != http.StatusCreated || strings.Contains(w.Body.String(), "shop.example") != (want == target) || strings.Contains(w.Body.String(), "evil") {
			t.Errorf("%q, by JSON: %d %s", target, w.Code, w.Body)
		}
	}
}
