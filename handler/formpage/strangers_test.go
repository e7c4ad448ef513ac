package formpage_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
)

// What a stranger, or a person with two tabs, may send.

// The same page in two tabs: what is the same is stored once, what differs is not lost.
func TestAPageInTwoTabs(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	form := s.form("MULTI", `[{"id":"a","type":"short_text","label":"A"}]`, "", "", "ref")
	first := s.open(form, "").fill("a.a", "one")
	s.wait(time.Minute)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if end := first.press("next"); end.status != http.StatusOK {
				t.Errorf("%d %s", end.status, end.text("fs-main"))
			}
		})
	}
	all.Wait()
	if n := len(s.answers(form)); n != 1 {
		t.Fatalf("%d responses of eight clicks", n)
	}
	// Back, and something else is sent.
	if end := first.fill("a.a", "two").press("next"); end.status != http.StatusOK {
		t.Errorf("%d %s", end.status, end.text("fs-main"))
	}
	if stored := s.answers(form); len(stored) != 2 || stored[0]["a"] != `"two"` {
		t.Errorf("stored is %v", stored)
	}
}

// One filling token, sent a thousand times, is one response, one view and one start.
func TestAReplayedPageCountsOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	form := s.form("MULTI", `[{"id":"a","type":"short_text","label":"A"}]`, "", "")
	p := s.open(form, "").fill("a.a", "x")
	s.wait(time.Minute)
	values := p.values
	values.Set("go", "next")
	post := func(path, body string) int {
		r := httptest.NewRequest(http.MethodPost, "/f/"+form.PublicID+path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		s.pages.ServeHTTP(w, r)
		return w.Code
	}
	state := url.Values{"state": values["state"]}.Encode()
	for range 500 {
		if a, b := post("", values.Encode()), post("/view", state); a != http.StatusSeeOther || b != http.StatusNoContent {
			t.Fatal(a, b)
		}
		post("/start", state)
		values.Set("state", "forged.state")
		if status := post("", values.Encode()); status != http.StatusUnprocessableEntity {
			t.Fatalf("a forged page: %d", status)
		}
		values["state"] = p.values["state"]
		values.Set("state", state[len("state="):])
	}
	if n := len(s.answers(form)); n != 1 {
		t.Errorf("%d responses are stored", n)
	}
	if c := s.funnel(form); c.Views != 1 || c.Starts != 1 {
		t.Errorf("the funnel is %+v, want one view and one start", c)
	}
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
			r := httptest.NewRequest(method, "/f/"+form.PublicID+path, strings.NewReader(body))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Header.Set(name, value)
			w := httptest.NewRecorder()
			s.pages.ServeHTTP(w, r)
			return w.Code
		}
		state := s.open(form, "").values.Get("state")
		for _, got := range []int{send(http.MethodGet, "", ""), send(http.MethodHead, "", "")} {
			if got != http.StatusOK {
				t.Errorf("%s: %d", header, got)
			}
		}
		if c := s.funnel(form); c.Views+c.Starts != 0 {
			t.Errorf("%s: fetching a page counts: %+v", header, c)
		}
		for _, path := range []string{"/view", "/start"} {
			if got := send(http.MethodPost, path, url.Values{"state": {state}}.Encode()); got != http.StatusNoContent {
				t.Errorf("%s: %s is %d", header, path, got)
			}
		}
		if c := s.funnel(form); (c.Views == 1 && c.Starts == 1) != counts || c.Views > 1 {
			t.Errorf("%s: %+v", header, c)
		}
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
	after := must(formpage.New(s.service, formpage.Config{Clock: s.clock, Files: dir}))
	s.server.Config.Handler = after
	again := p.press("next")
	if again.status != http.StatusUnprocessableEntity || again.values.Get("a.n") != "kept" || !strings.Contains(again.text("summary"), "choose it again") {
		t.Errorf("%d %s", again.status, again.text("summary"))
	}
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
		old := must(formpage.New(s.service, config))
		config.Secret = after
		if former {
			config.FormerSecrets = [][]byte{before}
		}
		renewed := must(formpage.New(s.service, config))
		server := httptest.NewServer(old)
		p := s.get(server.URL+"/f/"+form.PublicID).attach("upload", [3]string{"u.f", "a.png", pngBytes}).fill("a.n", "x")
		server.Close()
		s.wait(time.Minute)
		link := must(old.PreviewPath(form.ID, s.clock().Add(time.Hour)))
		server = httptest.NewServer(renewed)
		defer server.Close()
		p.url = server.URL + "/f/" + form.PublicID
		n := len(s.answers(form))
		p = p.press("next")
		if stored := len(s.answers(form)) > n; stored != former || former && s.answers(form)[0]["f"] == "" {
			t.Errorf("with the former one %v: %d %s", former, p.status, p.text("summary"))
		}
		if preview := s.get(server.URL + link); preview.status == http.StatusOK != former {
			t.Errorf("with the former one %v: a preview: %d", former, preview.status)
		}
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
			if p = p.press("next"); strings.Contains(p.url, "/done") {
				t.Fatalf("at %q: the form is sent without its required answer", at)
			}
		}
		if !strings.Contains(p.text("summary"), "Name") {
			t.Errorf("at %q: %d %s", at, p.status, p.text("fs-main"))
		}
	}
	if len(s.answers(form)) > 0 {
		t.Error("a response is stored")
	}
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
	if p = p.press("next"); p.status != http.StatusConflict || !strings.Contains(p.text("summary"), "not mine to give") {
		t.Fatalf("text for a hidden block: %d %s", p.status, p.text("summary"))
	}
	if end := p.press("next"); end.status != http.StatusOK {
		t.Fatalf("%d %s", end.status, end.text("summary"))
	}
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
	must(s.service.AsHost().UpdateForm(t.Context(), form.ID, formsvc.FormUpdate{Definition: formsvc.Definition{Blocks: []byte(`[{"id":"n","type":"short_text"}]`)}}))
	again := p.press("next")
	if again.status != http.StatusConflict || !strings.Contains(again.text("summary"), "my paper.png") {
		t.Fatalf("%d %s", again.status, again.text("summary"))
	}
	if end := again.press("next"); end.status != http.StatusOK || s.answers(form)[0]["n"] != `"kept"` {
		t.Errorf("%d %s", end.status, end.text("summary"))
	}
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
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "fs-main") {
			t.Errorf("%q: %d", kind, w.Code)
		}
	}
}
