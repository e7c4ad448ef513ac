package formpage_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/handler/formpage"
)

// However many captchas a form has: of a request that brings wrong tokens one is asked about,
// and the proofs that it brings are opened once.
func TestManyCaptchasCostWhatOneDoes(t *testing.T) { //nolint:paralleltest // measures what is allocated
	v := newTokens()
	s := newSite(t, formpage.Config{MinFillTime: -1, Verifiers: map[string]formpage.Verifier{"turnstile": v}})
	var blocks []string
	for i := range 300 {
		blocks = append(blocks, fmt.Sprintf(`{"id":"c%d","type":"captcha","properties":{"captchaType":"turnstile"}}`, i))
	}
	form := s.form("MULTI", "["+strings.Join(blocks, ",")+"]", "", "")
	values := url.Values{"state": s.open(form, "").values["state"], "go": {"next"}}
	send := func() *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "/f/"+form.PublicID, strings.NewReader(values.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		s.pages.ServeHTTP(w, r)
		return w
	}
	values["sum"] = []string{"bad", "bad", "t"}
	send()
	if asked := v.asked.Load(); asked != 1 {
		t.Errorf("the service was asked %d times about wrong tokens, want 1", asked)
	}
	for range 100 {
		values.Add("proof", strings.Repeat("A", 9000)+"."+strings.Repeat("A", 43))
	}
	values.Del("sum")
	var w *httptest.ResponseRecorder
	if n := allocated(func() { w = send() }); n > mostAllocated {
		t.Errorf("%d bytes are allocated", n)
	}
	if w.Code != http.StatusUnprocessableEntity || strings.Contains(w.Body.String(), `name="proof"`) {
		t.Errorf("%d, the page has %d proofs that are none", w.Code, strings.Count(w.Body.String(), `name="proof"`))
	}
}

// What is refused after a captcha was solved anew says with what it is sent again.
func TestARefusalByJSONSaysTheNewState(t *testing.T) {
	t.Parallel()
	v := newTokens()
	s := newSite(t, formpage.Config{MinFillTime: -1, Verifiers: map[string]formpage.Verifier{"turnstile": v}})
	form := s.form("MULTI", `[{"id":"n","type":"short_text"},{"id":"c","type":"captcha","properties":{"captchaType":"turnstile"}}]`, `{"duplicateField":"n"}`, "")
	base := s.server.URL + "/f/" + form.PublicID
	var got struct{ State, Captcha, Code string }
	s.ask(http.MethodGet, base+"/form.json", "", nil, &got)
	state := got.State
	send := func(captcha, name string) int {
		got.State, got.Captcha = "", ""
		status, _ := s.ask(http.MethodPost, base+"/submit", "", map[string]any{"state": state, "captcha": captcha, "answers": map[string]any{"n": name}}, &got)
		return status
	}
	send("t1", "Ann")
	other := state
	s.ask(http.MethodGet, base+"/form.json", "", nil, &got)
	state = got.State
	send("t2", "Bob")
	state = other
	if status := send("t3", "Bob"); status != http.StatusUnprocessableEntity || got.State == "" || got.Captcha == "" {
		t.Fatalf("an answer that is not new: %d %+v", status, got)
	}
	state = got.State
	if status := send(got.Captcha, "Cid"); status != http.StatusCreated || v.asked.Load() != 3 || len(s.answers(form)) != 3 {
		t.Errorf("sent again: %d %+v, the service was asked %d times", status, got, v.asked.Load())
	}
}

// A response does not give back the space of a file that is still being read.
func TestAResponseDuringAnUpload(t *testing.T) {
	t.Parallel()
	files := &counting{}
	s := newSite(t, formpage.Config{MinFillTime: -1, MaxVisitFiles: 60000, Files: files})
	form := s.form("MULTI", manyFiles, "", "")
	p := s.open(form, "").attach("upload", [3]string{"u.f", "a.txt", "kept"})
	body := "--x\r\nContent-Disposition: form-data; name=\"state\"\r\n\r\n" + p.values.Get("state") +
		"\r\n--x\r\nContent-Disposition: form-data; name=\"u.f\"; filename=\"b.txt\"\r\n\r\n" + strings.Repeat("x", 40000)
	r := httptest.NewRequest(http.MethodPost, "/f/"+form.PublicID, &breaking{strings.NewReader(body), func() error {
		if end := p.press("next"); !strings.Contains(end.url, "/done") {
			t.Errorf("%d %s", end.status, end.text("fs-main"))
		}
		return errors.New("the visitor left")
	}})
	r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
	s.pages.ServeHTTP(httptest.NewRecorder(), r)
	before := files.bytes.Load()
	for range 20 {
		p.attach("upload", [3]string{"u.f", "c.txt", strings.Repeat("x", 10000)})
	}
	if n := files.bytes.Load() - before; n > 60000 || n == 0 {
		t.Errorf("%d bytes are stored, want at most 60,000", n)
	}
}

// breaking ends a body with an error, after something else has happened.
type breaking struct {
	*strings.Reader
	end func() error
}

func (b *breaking) Read(p []byte) (int, error) {
	if b.Len() == 0 {
		return 0, b.end()
	}
	return b.Reader.Read(p)
}

// Each captcha of a page has a token of its own.
func TestTwoCaptchasOnOnePage(t *testing.T) {
	t.Parallel()
	v := newTokens()
	s := newSite(t, formpage.Config{MinFillTime: -1, Verifiers: map[string]formpage.Verifier{"turnstile": v}})
	const captcha = `"type":"captcha","properties":{"captchaType":"turnstile"}}`
	form := s.form("MULTI", `[{"id":"c",`+captcha+`,{"id":"d",`+captcha+`]`, "", "")
	end := s.open(form, "").add("sum", "t1").add("sum", "t2").press("next")
	if len(s.answers(form)) != 1 || v.asked.Load() != 2 {
		t.Errorf("%d %s, the service was asked %d times", end.status, end.text("fs-main"), v.asked.Load())
	}
}
