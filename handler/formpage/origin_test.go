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
	"github.com/formsvc/formsvc/internal/lab/expect"
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
				return s.send(http.MethodPost, address, body, "Content-Type", kind, "Sec-Fetch-Site", c.site, "Origin", c.origin)
			}
			values := url.Values{"go": {"next"}}
			for name, list := range p.values {
				values[name] = list
			}
			got := send("application/x-www-form-urlencoded", values.Encode())
			if c.allowed {
				expect.That(t, got.status == http.StatusOK && (address == preview || len(s.answers(form)) == stored+1),
					"%+v: %d %s", c, got.status, got.text("fs-main"))
				continue
			}
			if got.status != http.StatusForbidden || len(s.answers(form)) != stored || asked != before {
				t.Errorf("%+v, %s: %d, %d are stored, the host was asked %d times", c, address, got.status, len(s.answers(form)), asked-before)
			}
			got.about(c).expect(anyStatus, shows("fs-main", "from another website"), shows("fs-note", "typed <b>"))
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
	p := s.open(form, "").about("the form tells its ending").expect(anyStatus, lacks("SAVE10"))
	end := p.press("next")
	at, err := url.Parse(end.url)
	expect.Require(t, err == nil && end.status == http.StatusOK && strings.Contains(end.raw, "SAVE10"),
		"%v, %d %s", err, end.status, end.raw)
	again := s.get(end.url)
	expect.That(t, again.text("fs-done") == end.text("fs-done"), "loaded again: %s", again.text("fs-main"))
	expect.Must(s.service.AsHost().UpdateForm(t.Context(), form.ID, formsvc.FormUpdate{Definition: formsvc.Definition{Settings: json.RawMessage(redirect)}}))
	const button = `<a class="fs-button" href="https://shop.example/?code=SAVE10" target="_top" data-leads>`
	s.get(end.url).about("the link redirects").expect(anyStatus, lacks("http-equiv"), holds(button))
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
	p.press("next").about("the preview").expect(anyStatus, shows("fs-done", "SAVE10"), lacks("http-equiv"))

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
		expect.Must(s.store.UpdateForm(t.Context(), storage.AsHost(), form.ID, storage.FormChange{Definition: storage.Definition{Settings: settings, Format: 1}, At: s.clock()}))
		state := inState.FindStringSubmatch(s.serve(http.MethodGet, "/f/"+form.PublicID, "").Body.String())[1]
		send := func(script string) *httptest.ResponseRecorder {
			return s.serve(http.MethodPost, "/f/"+form.PublicID, url.Values{"state": {state}, "go": {"next"}}.Encode(), "Formpage-Script", script)
		}
		if w := send("1"); w.Code != http.StatusNoContent || !strings.HasPrefix(w.Header().Get("Formpage-Location"), want) {
			t.Errorf("%q, by the script: %d %v", target, w.Code, w.Header())
		}
		w := send("")
		end := w.Body.String()
		if want != target {
			expect.That(t, w.Code == http.StatusSeeOther && strings.HasPrefix(w.Header().Get("Location"), done),
				"%q: %d %v", target, w.Code, w.Header())
			end = s.serve(http.MethodGet, "/f/"+w.Header().Get("Location"), "").Body.String()
		}
		leads := strings.Contains(end, `http-equiv="refresh"`)
		expect.That(t, leads == (want == target) && !strings.Contains(end, "evil"), "%q: the ending is %s", target, end)
		w = s.serve(http.MethodPost, "/f/"+form.PublicID+"/submit", `{"state":"`+state+`"}`, "Content-Type", "application/json")
		if w.Code != http.StatusCreated || strings.Contains(w.Body.String(), "shop.example") != (want == target) || strings.Contains(w.Body.String(), "evil") {
			t.Errorf("%q, by JSON: %d %s", target, w.Code, w.Body)
		}
	}
}

// A form shows no page of its own host in a frame, whatever name leads to the host: such a page would act as
// who looks at the form. The link stays.
func TestAFormEmbedsNoPageOfItsHost(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{AllowedOrigins: []string{"https://www.forms.example", "https://second.example:8443"}})
	for _, test := range []struct {
		host, link string
		framed     bool
		headers    []string
	}{
		{"forms.example", "https://other.example/x", true, nil},
		{"forms.example", "https://notforms.example/x", true, nil},
		{"forms.example", "https://forms.example.evil.example/", true, nil},
		{"forms.example", "https://forms.example/forms/", false, nil},
		{"forms.example", "http://forms.example/", false, nil},
		{"forms.example", "https://forms.example./forms/", false, nil},
		{"forms.example.", "https://forms.example/forms/", false, nil},
		{"forms.example", "https://FORMS.Example:8443/forms/", false, nil},
		{"forms.example:8080", "https://forms.example/forms/", false, nil},
		{"FORMS.EXAMPLE:8080", "https://forms.example:9090/forms/", false, nil},
		{"forms.example", "https://ｆｏｒｍｓ。example/forms/", false, nil},
		{"xn--bcher-kva.example", "https://bücher.example/", false, nil},
		{"xn--bcher-kva.example", "https://BÜCHER.example./", false, nil},
		{"forms.example", "https://user@forms.example/", false, nil},
		{"forms.example", "https://other.example@forms.example/", false, nil},
		{"forms.example", "https://www.forms.example/", false, nil}, // one of AllowedOrigins
		{"forms.example", "https://second.example/", false, nil},
		{"inside:8080", "https://public.example/", false, []string{"X-Forwarded-Host", "public.example"}},
		{"inside:8080", "https://public.example/", false, []string{"X-Forwarded-Host", "public.example:443, proxy.example"}},
		{"inside:8080", "https://public.example/", false, []string{"Forwarded", `for=192.0.2.1;proto=https;Host="public.example:443"`}},
		{"127.0.0.1:8080", "http://localhost:8080/", false, nil},
		{"localhost:8080", "http://2130706433/", false, nil},
		{"localhost:8080", "http://0x7f.1/", false, nil},
		{"localhost:8080", "http://017700000001/", false, nil},
		{"localhost:8080", "http://[::1]/", false, nil},
		{"localhost:8080", "http://[::ffff:127.0.0.1]/", false, nil},
		{"localhost:8080", "http://0/", false, nil},
		{"localhost:8080", "http://app.localhost/", false, nil},
		{"192.0.2.7", "http://3221225991/", false, nil},
		{"192.0.2.7", "http://192.0.519/", false, nil},
		{"192.0.2.7", "http://[::ffff:c000:207]/", false, nil},
		{"192.0.2.7", "http://192.0.2.8/", true, nil},
		{"[2001:db8::1]:80", "http://[2001:DB8:0::1]/", false, nil},
	} {
		form := s.form("MULTI", `[]`, "", "")
		// Into the storage, because a write refuses some of the addresses.
		expect.Must(s.store.UpdateForm(t.Context(), storage.AsHost(), form.ID, storage.FormChange{Definition: storage.Definition{
			Blocks: json.RawMessage(`[{"id":"e","type":"embed","label":"Look","properties":{"embedLink":"` + test.link + `"}}]`), Format: 1,
		}, At: s.clock()}))
		r := httptest.NewRequest(http.MethodGet, "/f/"+form.PublicID, nil)
		r.Host = test.host
		for i := 0; i < len(test.headers); i += 2 {
			r.Header.Set(test.headers[i], test.headers[i+1])
		}
		w := httptest.NewRecorder()
		s.pages.ServeHTTP(w, r)
		csp := w.Header().Get("Content-Security-Policy")
		if w.Code != http.StatusOK || strings.Contains(w.Body.String(), "data-frame") != test.framed || strings.Contains(csp, "frame-src") != test.framed {
			t.Errorf("%s shows %s in a frame: %v, want %v; status %d, policy %s", test.host, test.link, !test.framed, test.framed, w.Code, csp)
		}
	}
}

// A preview and a canvas are shown in a frame by pages of their origin alone, also after a redirect.
func TestPreviewsAndCanvasesAreFramedByTheirOrigin(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{Secret: secret, FrameAncestors: []string{"https://a.example"}})
	form := s.form("MULTI", `[{"id":"a","type":"short_text"}]`, "", "")
	path := expect.Must(s.pages.PreviewPath(form.ID, time.Now().Add(time.Hour)))
	public := expect.Must(s.service.PublicForm(t.Context(), form.PublicID))
	for name, handler := range map[string]http.HandlerFunc{
		"preview": s.pages.ServeHTTP,
		"ending":  func(w http.ResponseWriter, r *http.Request) { r.URL.Path += "/done"; s.pages.ServeHTTP(w, r) },
		"canvas":  func(w http.ResponseWriter, r *http.Request) { s.pages.Canvas(w, r, public) },
	} {
		for _, from := range []struct {
			site, kind string
			status     int
		}{
			{"", "", http.StatusOK}, {"same-origin", "iframe", http.StatusOK}, {"none", "document", http.StatusOK}, {"cross-site", "document", http.StatusOK},
			{"cross-site", "iframe", http.StatusForbidden}, {"same-site", "frame", http.StatusForbidden}, {"cross-site", "embed", http.StatusForbidden}, {"cross-site", "object", http.StatusForbidden},
		} {
			r := httptest.NewRequest(http.MethodGet, path, nil)
			r.Header.Set("Sec-Fetch-Site", from.site)
			r.Header.Set("Sec-Fetch-Dest", from.kind)
			w := httptest.NewRecorder()
			handler(w, r)
			if w.Code != from.status || from.status == http.StatusOK && !strings.Contains(w.Header().Get("Content-Security-Policy"), "frame-ancestors 'self';") {
				t.Errorf("%s for a %s of %s: status %d, policy %s", name, from.kind, from.site, w.Code, w.Header().Get("Content-Security-Policy"))
			}
		}
	}
}

// A path that is deeper than that of any page is refused: a page would have a way up in each link.
func TestDeepPathsAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{Secret: secret})
	form := s.form("MULTI", `[{"id":"a","type":"short_text"}]`, "", "")
	const size = 1 << 20
	for _, path := range []string{
		"/f/" + strings.Repeat("/", size), "/f/" + form.PublicID + "/" + strings.Repeat("x/", size/2), "/f/-/" + strings.Repeat("x/", size/2), "/f/-/preview/" + strings.Repeat("x/", size/2),
		"/f/" + strings.Repeat("x", size), "/f/-/preview/" + strings.Repeat("x", size), "/f/" + form.PublicID + "/" + strings.Repeat("x", size), "/fx" + strings.Repeat("/", size),
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			w := s.serve(method, path, "")
			expect.That(t, w.Code >= 400 && w.Body.Len() <= 50_000,
				"%s %.40s…: status %d, %d bytes", method, path, w.Code, w.Body.Len())
		}
	}
	for _, path := range []string{"/fx", "/f"} { // no slash behind the base path
		expect.Equal(t, s.serve(http.MethodGet, path, "").Code, http.StatusNotFound, "%s", path)
	}
	w := httptest.NewRecorder()
	http.StripPrefix("/f/", s.pages).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/f/"+form.PublicID, nil))
	expect.That(t, w.Code == http.StatusOK, "stripped with its slash: status %d", w.Code)
}
