package formpage_test

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/internal/lab/expect"
)

// fuzzed serves a form with a block of each type, of which nothing is kept between requests.
type fuzzed struct {
	*costs
	path  string
	state string
}

func newFuzzed(f *testing.F) *fuzzed {
	f.Helper()
	c := newCosts(f)
	c.pages = c.saves // they do more
	form := c.form(every)
	return &fuzzed{c, "/f/" + form.PublicID, c.state(form)}
}

// marker is markup that a body may carry; a page may show it as text only.
const marker = "<script>mark"

// post sends a body, and holds what every answer has to be.
func (z *fuzzed) post(t *testing.T, path, kind string, body []byte) {
	r := httptest.NewRequest(http.MethodPost, z.path+path, bytes.NewReader(body))
	r.Header.Set("Content-Type", kind)
	w := httptest.NewRecorder()
	n := allocated(func() { z.pages.ServeHTTP(w, r) })
	expect.That(t, n <= mostAllocated || raceDetector, "%d bytes are allocated for a body of %d", n, len(body))
	expect.That(t, w.Code < http.StatusInternalServerError, "status %d: %q", w.Code, w.Body)
	expect.That(t, !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") || !strings.Contains(w.Body.String(), marker),
		"the page has the marker: %q", body)
	expect.That(t, w.Body.Len() <= 1<<20+6*len(body), "%d bytes for a body of %d", w.Body.Len(), len(body))
}

// filled is a page on which everything is filled in.
func (z *fuzzed) filled() url.Values {
	return url.Values{
		"state": {z.state}, "at": {"welcome"}, "go": {"next"}, "lang": {"de"}, "seen": {"short", "long"}, "took": {"3.5"}, "embed": {"1"},
		"a.short": {marker}, "a.long": {marker + "\r\nx"}, "a.email": {"a@b"}, "a.phone": {"+49 30 123"}, "a.site": {"x"}, "a.number": {"1.234,5"},
		"a.rating": {"3"}, "a.scale": {"1,5"}, "a.nps": {"11"}, "a.yes": {"true"}, "a.legal": {"false"}, "a.one": {"id:a", "other"}, "o.one": {marker},
		"a.many": {"id:a", "id:a", "id:x"}, "a.drop": {"other"}, "o.drop": {""}, "k.a.rank": {"1"}, "k.b%2Ec.rank": {"٢"}, "r.r%2E1.grid": {"id:c1", "id:c2"},
		"a.date": {"2026-02-30"}, "d.parts": {"31"}, "m.parts": {"2"}, "y.parts": {"99999"}, "t.when": {"25:00"}, "z.when": {marker}, "a.time": {"9"},
		"p.city.address": {marker}, "p.country.address": {"XX"}, "p.phone.contact": {"0"}, "a.country": {marker}, "a.inner": {"x"}, "a.gone": {marker},
		"h.ref": {marker}, "utm_source": {marker}, "f.file": {"x.y"}, "x.file": {"x"}, "proof": {"x.y"}, "more_info": {""}, "lost": {"1"}, "viewed": {marker},
	}
}

func FuzzURLEncodedPage(f *testing.F) {
	z := newFuzzed(f)
	values := z.filled()
	for _, state := range []string{z.state, "", "x.y", z.state[:len(z.state)-2], strings.ToUpper(z.state)} {
		for _, action := range []string{"next", "back", "stay", "upload", "save", "later", "forget"} {
			values.Set("state", state)
			values.Set("go", action)
			f.Add(values.Encode())
		}
	}
	f.Add("go=resume&link=" + marker)
	f.Add("go=forget&link=%23" + marker)
	f.Add("a.short=%ff%&;&=&a.long=%00&%00=x")
	f.Fuzz(func(t *testing.T, body string) {
		z.post(t, "", "application/x-www-form-urlencoded", []byte(body))
	})
}

func FuzzMultipartPage(f *testing.F) {
	z := newFuzzed(f)
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	_ = w.SetBoundary("b")
	_ = w.WriteField("state", z.state)
	for name, values := range z.filled() {
		for _, text := range values {
			_ = w.WriteField(name, text)
		}
	}
	_ = w.Close()
	f.Add(body.String())
	head := "--b\r\nContent-Disposition: form-data; name=\"state\"\r\n\r\n" + z.state + "\r\n"
	for _, part := range []string{
		"--b\r\nContent-Disposition: form-data; name=\"u.file\"; filename=\"../x.png\"\r\nContent-Type: text/html\r\n\r\n\x89PNG\r\n\x1a\n" + marker + "\r\n--b--",
		"--b\r\nContent-Disposition: form-data; name=\"\"; filename=\"\"\r\n\r\nx\r\n--b--", "--b\r\nContent-Disposition: form-data; filename*=utf-8''%ff\r\n\r\n",
		"--b\r\nX:" + strings.Repeat("y", 2000) + "\r\n\r\n--b--\r\n", "--b\r\n\r\n", "--b--", "",
	} {
		f.Add(head + part)
	}
	f.Fuzz(func(t *testing.T, body string) {
		z.post(t, "", "multipart/form-data; boundary=b", []byte(body))
	})
}

func FuzzJSONPage(f *testing.F) {
	z := newFuzzed(f)
	for _, state := range []string{z.state, "", "x.y", z.state + "x"} {
		f.Add(true, `{"state":"`+state+`","answers":{"short":"`+marker+`","one":{"id":"a"},"many":["a","a"],"rank":["a","a"],"grid":{"r.1":"c1","x":1},"number":1e400,
			"date":"2026-02-30","address":{"city":1},"file":[],"pay":{},"hidden":"x","gone":null},"hidden":{"ref":"x"},"utm":{"source":"x"},"captcha":"x","took":-1}`)
	}
	for _, body := range []string{"{}", "[]", `{"state":"a","state":"b"}`, `{"answers":{"":[[[[]]]]}}`, `{"took":"1"}`, `{"hidden":{"a":null}}`, "\xff", `"` + marker} {
		f.Add(false, strings.Replace(body, "{", `{"state":"`+z.state+`",`, 1))
		f.Add(true, body)
	}
	f.Fuzz(func(t *testing.T, submit bool, body string) {
		path := "/path"
		if submit {
			path = "/submit"
		}
		z.post(t, path, "application/json", []byte(body))
	})
}

// Tokens are opened before anything of them is believed.
func FuzzPageTokens(f *testing.F) {
	z := newFuzzed(f)
	f.Add(z.state, z.state, z.state, z.state)
	f.Add(strings.Replace(z.state, ".", "..", 1), "x.", ".", z.state+"=")
	f.Fuzz(func(t *testing.T, state, proof, file, preview string) {
		values := url.Values{"state": {state}, "proof": {proof}, "half": {proof}, "f.file": {file}, "go": {"next"}, "a.short": {marker}}
		for _, action := range []string{"next", "save"} {
			values.Set("go", action)
			z.post(t, "", "application/x-www-form-urlencoded", []byte(values.Encode()))
		}
		for _, path := range []string{"/view", "/start"} {
			z.post(t, path, "application/x-www-form-urlencoded", []byte(values.Encode()))
		}
		w := httptest.NewRecorder()
		z.pages.ServeHTTP(w, &http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/f/-/preview/" + preview}, Header: http.Header{}, Body: http.NoBody})
		expect.That(t, w.Code == http.StatusNotFound || preview == "", "a preview by %q: %d", preview, w.Code)
	})
}
