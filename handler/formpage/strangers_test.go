package formpage_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sethvargo/go-limiter/memorystore"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/lab/expect"
)

// What a stranger, or a person with two tabs, may send.

// One filling token, sent a thousand times, is one response, one view and one start.
func TestAReplayedPageCountsOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	form := s.form("MULTI", `[{"id":"a","type":"short_text","label":"A"}]`, "", "")
	p := s.open(form, "").fill("a.a", "x")
	s.wait(time.Minute)
	values := p.values
	values.Set("go", "next")
	post := func(path, body string) int { return s.serve(http.MethodPost, "/f/"+form.PublicID+path, body).Code }
	state := url.Values{"state": values["state"]}.Encode()
	for range 500 {
		if a, b := post("", values.Encode()), post("/view", state); a != http.StatusSeeOther || b != http.StatusNoContent {
			t.Fatal(a, b)
		}
		post("/start", state)
		values.Set("state", "forged.state")
		status := post("", values.Encode())
		expect.Require(t, status == http.StatusUnprocessableEntity, "a forged page: %d", status)
		values["state"] = p.values["state"]
		values.Set("state", state[len("state="):])
	}
	expect.Equal(t, len(s.answers(form)), 1, "responses are stored")
	c := s.funnel(form)
	expect.That(t, c.Views == 1 && c.Starts == 1, "the funnel is %+v, want one view and one start", c)
}

// A view is that of a person, who does not load pages ahead.
func TestProgramsAreNotCounted(t *testing.T) {
	t.Parallel()
	for header, counts := range map[string]bool{
		"Sec-Purpose: prefetch": false, "Sec-Purpose: prefetch;prerender": false, "Purpose: prefetch": false, "X-Moz: prefetch": false, "X-Purpose: preview": false,
		"User-Agent: Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Googlebot/2.1; +http://www.google.com/bot.html) Chrome/140 Safari/537.36": false,
		"User-Agent: Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)":                                                                              false,
		"User-Agent: facebookexternalhit/1.1": false, "User-Agent: WhatsApp/2.23": false, "User-Agent: Mozilla/5.0 (compatible; bingbot/2.0)": false,
		"User-Agent: Mozilla/5.0 (Linux; Android 13; CUBOT NOTE 50) AppleWebKit/537.36 Chrome/140 Mobile Safari/537.36": true,
		"User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0":                            true,
	} {
		s := newSite(t, formpage.Config{})
		form := s.form("MULTI", `[{"id":"a","type":"short_text","label":"A"}]`, "", "")
		name, value, _ := strings.Cut(header, ": ")
		send := func(method, path, body string) int {
			return s.serve(method, "/f/"+form.PublicID+path, body, name, value).Code
		}
		state := s.open(form, "").values.Get("state")
		for _, got := range []int{send(http.MethodGet, "", ""), send(http.MethodHead, "", "")} {
			expect.That(t, got == http.StatusOK, "%s: %d", header, got)
		}
		c := s.funnel(form)
		expect.That(t, c.Views+c.Starts == 0, "%s: fetching a page counts: %+v", header, c)
		for _, path := range []string{"/view", "/start"} {
			expect.Equal(t, send(http.MethodPost, path, url.Values{"state": {state}}.Encode()), http.StatusNoContent, "%v %v", header, path)
		}
		c = s.funnel(form)
		expect.That(t, (c.Views == 1 && c.Starts == 1) == counts && c.Views <= 1, "%s: %+v", header, c)
	}
}

// Without a secret of the host's, a new process knows no page of the one before. Everything
// comes back, and files are asked for again.
func TestAPageOfAProcessThatEnded(t *testing.T) {
	t.Parallel()
	s, dir, _ := newFileSite(t)
	form := s.form("MULTI", `[{"id":"f","type":"file_upload","label":"File"},{"id":"n","type":"short_text","label":"Name"}]`, "", "")
	p := s.open(form, "").attach("upload", [3]string{"u.f", "a.png", pngBytes}).fill("a.n", "kept")
	plain := s.open(form, "").fill("a.n", "kept too")
	s.wait(time.Minute)
	after := expect.Must(formpage.New(s.service, formpage.Config{Clock: s.clock, Files: dir}))
	s.server.Config.Handler = after
	again := p.press("next")
	again.expect(http.StatusUnprocessableEntity, value("a.n", "kept"), shows("summary", "choose it again"))
	s.wait(time.Minute)
	if end := again.attach("next", [3]string{"u.f", "a.png", pngBytes}); end.status != http.StatusOK || !strings.Contains(s.answers(form)[0]["f"], "a.png") {
		t.Errorf("%d %s", end.status, end.text("summary"))
	}
	again = plain.press("next")
	s.wait(time.Minute)
	if again.status != http.StatusUnprocessableEntity || again.press("next").status != http.StatusOK || s.answers(form)[0]["n"] != `"kept too"` {
		t.Errorf("%d %s", again.status, again.text("summary"))
	}
}

// A secret is changed without a page that comes back, a file that is lost or a preview that
// is void.
func TestASecretIsChanged(t *testing.T) {
	t.Parallel()
	s, dir, _ := newFileSite(t)
	form := s.form("MULTI", `[{"id":"f","type":"file_upload","label":"File"},{"id":"n","type":"short_text","label":"Name"}]`, "", "")
	for _, former := range []bool{true, false} {
		before, after := []byte("the secret of yesterday"), []byte("the secret of tomorrow")
		config := formpage.Config{Secret: before, Files: dir, Clock: s.clock}
		old := expect.Must(formpage.New(s.service, config))
		config.Secret = after
		if former {
			config.PreviousSecrets = [][]byte{before}
		}
		renewed := expect.Must(formpage.New(s.service, config))
		server := httptest.NewServer(old)
		p := s.get(server.URL+"/f/"+form.PublicID).attach("upload", [3]string{"u.f", "a.png", pngBytes}).fill("a.n", "x")
		server.Close()
		s.wait(time.Minute)
		link := expect.Must(old.PreviewPath(form.ID, s.clock().Add(time.Hour)))
		server = httptest.NewServer(renewed)
		defer server.Close()
		p.url = server.URL + "/f/" + form.PublicID
		n := len(s.answers(form))
		p = p.press("next")
		if stored := len(s.answers(form)) > n; stored != former || former && s.answers(form)[0]["f"] == "" {
			t.Errorf("with the former one %v: %d %s", former, p.status, p.text("summary"))
		}
		preview := s.get(server.URL + link)
		expect.That(t, preview.status == http.StatusOK == former, "with the former one %v: a preview: %d", former, preview.status)
	}
}

// Who names another page than the one that was shown passes nothing over.
func TestATamperedPageSkipsNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	form := s.form("SINGLE", threeQuestions, "", "")
	for _, at := range []string{"age", "color", "bye", "nothing", "", "__proto__", "\x00"} {
		p := s.open(form, "")
		s.wait(time.Minute)
		p.values.Set("at", at)
		for range 5 {
			p = p.press("next")
			expect.Require(t, !strings.Contains(p.url, "/done"), "at %q: the form is sent without its required answer", at)
		}
		p.about("at", at).expect(anyStatus, shows("summary", "Name"))
	}
	expect.That(t, len(s.answers(form)) == 0, "a response is stored")
}

// Names and values of any kind come back or are stored, and break nothing.
func TestFieldsOfAnyKind(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	form := s.form("MULTI", `[{"id":"__proto__","type":"short_text","label":"P"},{"id":"constructor","type":"single_choice","label":"C","choices":[{"id":"toString","label":"T"}]},
		{"id":"a.b&c=\"<","type":"short_text","label":"Odd"},{"id":"hid","type":"short_text","label":"H","properties":{"hide":true}},{"id":"n","type":"short_text","label":"N"}]`, "", "", "prototype")
	open := func(query string) *page {
		p := s.open(form, query)
		s.wait(time.Minute)
		return p
	}
	p := open("prototype=x&__proto__=y")
	p.values.Set("a.hid", "not mine to give")
	p.fill("a.constructor", "id:toString", `a.a.b&c="<`, "odd")
	p = p.press("next").about("text for a hidden block").require(http.StatusConflict, shows("summary", "not mine to give"))
	p.press("next").require(http.StatusOK)
	if got := s.answers(form)[0]; got["__proto__"] != `"y"` || got["constructor"] != `{"id":"toString","label":"T"}` || got[`a.b&c="<`] != `"odd"` || got["prototype"] != `"x"` || got["hid"] != "" {
		t.Errorf("stored is %v", got)
	}
	// A link with such bytes makes a page that can be sent.
	odd := open("prototype=%ff%00&n=%ff&utm_source=%ff&%ff=%ff")
	if end := odd.press("next"); end.status != http.StatusOK && end.status != http.StatusUnprocessableEntity {
		t.Errorf("%d %s", end.status, end.text("summary"))
	}
}

// A file for a block that is gone is named before the rest is sent.
func TestAFileWithoutAPlaceIsNamed(t *testing.T) {
	t.Parallel()
	s, _, _ := newFileSite(t)
	form := s.form("MULTI", `[{"id":"f","type":"file_upload","label":"File"},{"id":"n","type":"short_text","label":"N"}]`, "", "")
	p := s.open(form, "").attach("upload", [3]string{"u.f", "my paper.png", pngBytes}).fill("a.n", "kept")
	s.wait(time.Minute)
	expect.Must(s.service.AsHost().UpdateForm(t.Context(), form.ID, formsvc.FormUpdate{Definition: formsvc.Definition{Blocks: []byte(`[{"id":"n","type":"short_text"}]`)}}))
	again := p.press("next").require(http.StatusConflict, shows("summary", "my paper.png"))
	again.press("next").expect(http.StatusOK, answered(form, "n", `"kept"`))
}

// A body that no page sends is answered by a page that says so.
func TestBodiesOfAnyKind(t *testing.T) {
	t.Parallel()
	s, _, _ := newFileSite(t)
	form := s.form("MULTI", `[{"id":"f","type":"file_upload","label":"File"},{"id":"n","type":"short_text","label":"N"}]`, "", "")
	for kind, body := range map[string]string{
		"multipart/form-data":                  "--x\r\n",
		"multipart/form-data; boundary=x":      "--x\r\nContent-Disposition: form-data; name=\"a.n\"\r\n\r\ncut",
		"text/plain":                           "a.n=x",
		"":                                     "a.n=x",
		"multipart/mixed; boundary=x":          "--x--\r\n",
		"application/x-www-form-urlencoded;;=": "a.n=x",
	} {
		r := httptest.NewRequest(http.MethodPost, "/f/"+form.PublicID, strings.NewReader(body))
		r.Header.Set("Content-Type", kind)
		w := httptest.NewRecorder()
		s.pages.ServeHTTP(w, r)
		expect.That(t, w.Code == http.StatusBadRequest && strings.Contains(w.Body.String(), "fs-main"), "%q: %d", kind, w.Code)
	}
}

func TestTrapsShowTheFormAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	form := s.form("MULTI", `[{"id":"a","type":"short_text"}]`, "", "")
	for name, spring := range map[string]func(p *page){
		"too fast":     func(*page) {},
		"the honeypot": func(p *page) { s.wait(time.Minute); p.values.Set("more_info", "buy") },
		"no token":     func(p *page) { s.wait(time.Minute); p.values.Del("state") },
		"a forged one": func(p *page) { s.wait(time.Minute); p.values.Set("state", p.values.Get("state")+"x") },
		"an old one":   func(p *page) { s.wait(8 * 24 * time.Hour) },
		"another form": func(p *page) {
			p.values.Set("state", s.open(s.form("MULTI", `[]`, "", ""), "").values.Get("state"))
			s.wait(time.Minute)
		},
	} {
		before := len(s.answers(form))
		p := s.open(form, "").fill("a.a", name)
		spring(p)
		p = p.press("next")
		if p.status != http.StatusUnprocessableEntity || p.values.Get("a.a") != name || p.text("summary") == "" {
			t.Errorf("%s: %d, %q, %s", name, p.status, p.values.Get("a.a"), p.text("summary"))
			continue
		}
		s.wait(time.Minute)
		p.press("next").about(name).expect(http.StatusOK, responses(form, before+1))
	}
}

func TestALimitPerAddress(t *testing.T) {
	t.Parallel()
	store := expect.Must(memorystore.New(&memorystore.Config{Tokens: 2, Interval: time.Hour}))
	t.Cleanup(func() { _ = store.Close(t.Context()) })
	address := "192.0.2.1"
	s := newSite(t, formpage.Config{Limiter: store, ClientIP: func(*http.Request) string { return address }})
	form := s.form("MULTI", `[{"id":"n","type":"short_text"}]`, "", "")
	var p *page
	for range 3 {
		p = s.open(form, "").fill("a.n", "kept")
		s.wait(time.Minute)
		p = p.press("next")
	}
	expect.That(t, p.status == http.StatusTooManyRequests && p.header.Get("Retry-After") != "" && p.values.Get("a.n") == "kept",
		"the third page: %d", p.status)
	expect.Equal(t, len(s.answers(form)), 2, "responses are stored, want 2")
	address = "192.0.2.2"
	p.press("next").about("another address").expect(http.StatusOK)
	for forged, want := range []int{http.StatusOK, http.StatusTooManyRequests, http.StatusTooManyRequests} { // the proxy appends .2
		address = fmt.Sprintf("198.51.100.%d, 192.0.2.2", forged)
		p = s.open(form, "").fill("a.n", "kept")
		s.wait(time.Minute)
		p.press("next").about(address).expect(want)
	}
	_ = store.Close(t.Context())
	if p := s.open(form, "").fill("a.n", "x"); p != nil {
		s.wait(time.Minute)
		p.press("next").about("a limiter that fails holds visitors up").expect(http.StatusOK)
	}
}

// The limit is for what is stored. Steps are free, a request with files takes one token, and
// what is counted has a budget of its own.
func TestWhatTheLimitIsFor(t *testing.T) {
	t.Parallel()
	store := expect.Must(memorystore.New(&memorystore.Config{Tokens: 2, Interval: time.Hour}))
	t.Cleanup(func() { _ = store.Close(t.Context()) })
	dir, _ := newDir(t)
	s := newSite(t, formpage.Config{MinFillTime: -1, Files: dir, Limiter: store, ClientIP: func(*http.Request) string { return "192.0.2.1" }})
	blocks := `[{"id":"f","type":"file_upload","properties":{"multipleFiles":true}}`
	for i := range 11 {
		blocks += fmt.Sprintf(`,{"id":"b%d","type":"short_text"}`, i)
	}
	form := s.form("SINGLE", blocks+"]", "", "")
	p := s.open(form, "").attach("next", [3]string{"u.f", "a.png", pngBytes}, [3]string{"u.f", "b.png", pngBytes}, [3]string{"u.f", "c.png", pngBytes})
	for i := range 11 {
		p.about("step", i).require(http.StatusOK)
		p = p.press("next")
	}
	p.require(http.StatusOK, responses(form, 1))
	late := s.open(form, "").attach("next", [3]string{"u.f", "a.png", pngBytes})
	expect.That(t, late.status == http.StatusTooManyRequests && late.header.Get("Retry-After") != "",
		"a file beyond the limit: %d %s", late.status, late.text("summary"))
	// Views and starts, of pages that were shown.
	for range 5 {
		beacon := s.open(form, "")
		beacon.url += "/view"
		beacon.post(url.Values{"state": beacon.values["state"]})
	}
	for range 20 {
		p := s.open(form, "")
		p.post(url.Values{"go": {"stay"}})
	}
	c := s.funnel(form)
	expect.That(t, c.Views == 2 && c.Starts <= 2, "the funnel of an address with two tokens is %+v", c)
}

func TestTheFunnelCountsPeople(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	form := s.form("SINGLE", threeQuestions, "", "")
	p := s.open(form, "")
	c := s.funnel(form)
	expect.That(t, c.Views == 0, "fetching the page counted %+v", c)
	beacon := func(what, state string) int {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, s.server.URL+"/f/"+form.PublicID+"/"+what, strings.NewReader(url.Values{"state": {state}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		return s.do(r).status
	}
	expect.Equal(t, beacon("view", "forged.token"), http.StatusForbidden, "a forged view")
	expect.Equal(t, beacon("view", p.values.Get("state")), http.StatusNoContent, "a view")
	p.values.Set("viewed", "1") // as the script does
	p.press("next").fill("a.name", "x").press("next").press("next")
	c = s.funnel(form)
	expect.That(t, c.Views == 1 && c.Starts == 1, "the funnel is %+v, want one view and one start", c)
	// Without a script the first page that is sent counts for both.
	s.open(form, "").press("next").press("back").press("next")
	c = s.funnel(form)
	expect.That(t, c.Views == 2 && c.Starts == 2, "the funnel is %+v, want two of each", c)
}
