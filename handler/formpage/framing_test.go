package formpage_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/storage"
)

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
		must(s.store.UpdateForm(t.Context(), storage.AsHost(), form.ID, storage.FormChange{Definition: storage.Definition{
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
	path := must(s.pages.PreviewPath(form.ID, time.Now().Add(time.Hour)))
	public := must(s.service.PublicForm(t.Context(), form.PublicID))
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
			w := httptest.NewRecorder()
			s.pages.ServeHTTP(w, httptest.NewRequest(method, path, nil))
			if w.Code < 400 || w.Body.Len() > 50_000 {
				t.Errorf("%s %.40s…: status %d, %d bytes", method, path, w.Code, w.Body.Len())
			}
		}
	}
	for _, path := range []string{"/fx", "/f"} { // no slash behind the base path
		w := httptest.NewRecorder()
		s.pages.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != http.StatusNotFound {
			t.Errorf("%s: status %d", path, w.Code)
		}
	}
	w := httptest.NewRecorder()
	http.StripPrefix("/f/", s.pages).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/f/"+form.PublicID, nil))
	if w.Code != http.StatusOK {
		t.Errorf("stripped with its slash: status %d", w.Code)
	}
}
