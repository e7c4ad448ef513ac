package formpage_test

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/formsvc/formsvc/handler/formpage"
)

// attach sends the page with files: the input's name, the file's name and its content.
func (p *page) attach(button string, files ...[3]string) *page {
	p.s.t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for name, list := range p.values {
		for _, text := range list {
			_ = w.WriteField(name, text)
		}
	}
	_ = w.WriteField("go", button)
	for _, f := range files {
		part, err := w.CreateFormFile(f[0], f[1])
		if err != nil {
			p.s.t.Fatal(err)
		}
		_, _ = io.WriteString(part, f[2])
	}
	_ = w.Close()
	r, _ := http.NewRequestWithContext(p.s.t.Context(), http.MethodPost, p.url, &body)
	r.Header.Set("Content-Type", w.FormDataContentType())
	return p.s.do(r)
}

const (
	pngBytes = "\x89PNG\r\n\x1a\n0000"
	pdfBytes = "%PDF-1.7 …"
)

func newFileSite(t *testing.T) (*site, *formpage.Dir, string) {
	t.Helper()
	path := t.TempDir()
	dir, err := formpage.NewDir(path, "https://host.example/files/")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dir.Close() })
	return newSite(t, formpage.Config{Files: dir, MaxFileSize: 1000}), dir, path
}

func TestFilesAreStoredAndHandedOut(t *testing.T) {
	t.Parallel()
	s, dir, _ := newFileSite(t)
	form := s.form("MULTI", `[{"id":"f","type":"file_upload","label":"Files","required":true,"properties":{"multipleFiles":true,"allowedFiles":["pdf","image/*"]}},
		{"id":"s","type":"signature","label":"Sign"},{"id":"n","type":"short_text","label":"Name","required":true}]`, "", "")
	p := s.open(form, "")
	if p.press("next").status != http.StatusUnprocessableEntity {
		t.Error("a required file is not asked for")
	}
	// The mistake beside it comes back with the files.
	p = p.attach("next", [3]string{"u.f", `..\..\a paper.pdf`, pdfBytes}, [3]string{"u.f", "x.png", pngBytes}, [3]string{"u.s", "s.png", pngBytes})
	if p.status != http.StatusUnprocessableEntity || !strings.Contains(p.raw, "a paper.pdf") || !strings.Contains(p.raw, "x.png") || len(p.values["f.f"]) != 2 {
		t.Fatalf("%d %s", p.status, p.text("fs-main"))
	}
	s.wait(time.Minute)
	if end := p.fill("a.n", "Ada").attach("next"); end.status != http.StatusOK {
		t.Fatalf("%d %s", end.status, end.text("fs-main"))
	}
	stored := s.answers(form)
	if len(stored) != 1 || !strings.Contains(stored[0]["f"], `"name":"a paper.pdf"`) || !strings.Contains(stored[0]["f"], `"mime_type":"application/pdf"`) || !strings.Contains(stored[0]["s"], "https://host.example/files/") {
		t.Fatalf("stored is %v", stored)
	}
	_, rest, _ := strings.Cut(stored[0]["f"], "https://host.example/files/")
	id, _, _ := strings.Cut(rest, `"`)
	w := httptest.NewRecorder()
	formpage.FileHandler(dir).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/files/"+id, nil))
	if w.Code != http.StatusOK || w.Body.String() != pdfBytes || !strings.HasPrefix(w.Header().Get("Content-Disposition"), "attachment") ||
		w.Header().Get("X-Content-Type-Options") != "nosniff" || w.Header().Get("Content-Type") != "application/octet-stream" {
		t.Errorf("%d %v %q", w.Code, w.Header(), w.Body)
	}
	for _, bad := range []string{"/files/nothing", "/files/" + id + ".json", "/files/"} {
		w := httptest.NewRecorder()
		formpage.FileHandler(dir).ServeHTTP(w, httptest.NewRequest(http.MethodGet, bad, nil))
		if w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", bad, w.Code)
		}
	}
}

func TestFilesThatAreNotTaken(t *testing.T) {
	t.Parallel()
	s, _, path := newFileSite(t)
	form := s.form("MULTI", `[{"id":"f","type":"file_upload","label":"Files","properties":{"allowedFiles":["pdf","png"]}},{"id":"s","type":"signature"},{"id":"n","type":"short_text","label":"Name"}]`, "", "")
	other := s.form("MULTI", `[{"id":"f","type":"file_upload"}]`, "", "")
	for name, c := range map[string]struct {
		file [3]string
		want string
	}{
		"too large":             {[3]string{"u.f", "a.pdf", pdfBytes + strings.Repeat("x", 1001)}, "too large"},
		"another type":          {[3]string{"u.f", "a.exe", "MZ"}, "cannot be taken"},
		"a page named png":      {[3]string{"u.f", "a.png", "<html><script>alert(1)</script>"}, "cannot be taken"},
		"a signature of text":   {[3]string{"u.s", "a.png", "text"}, "cannot be taken"},
		"no such block":         {[3]string{"u.n", "a.pdf", pdfBytes}, ""},
		"a block that is gone":  {[3]string{"u.gone", "a.pdf", pdfBytes}, ""},
		"a page without a sign": {[3]string{"u.f", "a.pdf", pdfBytes}, "could not be stored"},
	} {
		p := s.open(form, "").fill("a.n", name)
		if strings.HasPrefix(name, "a page without") {
			p.values.Del("state")
		}
		p = p.attach("next", c.file)
		if p.status != http.StatusUnprocessableEntity || !strings.Contains(p.raw, c.want) || p.values.Get("a.n") != name || len(p.values["f.f"]) > 0 {
			t.Errorf("%s: %d %s", name, p.status, p.text("summary"))
		}
	}
	if left, err := os.ReadDir(path); err != nil || len(left) > 0 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
	// A record is good for its own form and block, and only as it was signed.
	p := s.open(form, "").attach("upload", [3]string{"u.f", "a.pdf", pdfBytes})
	token := p.values.Get("f.f")
	if p.status != http.StatusOK || token == "" {
		t.Fatalf("%d %s", p.status, p.text("summary"))
	}
	s.wait(time.Minute)
	for _, forged := range []string{token, token + "x", "x.y"} {
		there := s.open(other, "")
		s.wait(time.Minute)
		there.values.Set("f.f", forged)
		there.press("next")
	}
	for _, stored := range s.answers(other) {
		if stored["f"] != "" {
			t.Errorf("a record of another form is stored: %s", stored["f"])
		}
	}
	// Taken back, it is gone.
	p.values.Set("x.f", strings.Split(attr(p.find(func(n *html.Node) bool { return attr(n, "name") == "x.f" }), "value"), "|")[0])
	values := p.values
	values.Del("go")
	if p = p.post(values); p.status != http.StatusOK || p.values.Get("f.f") != "" {
		t.Errorf("%d, still there: %q", p.status, p.values.Get("f.f"))
	}
}
