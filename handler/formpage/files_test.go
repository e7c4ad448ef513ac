package formpage_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/schema"
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
		part := must(w.CreateFormFile(f[0], f[1]))
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
	dir := must(formpage.NewDir(path, "https://host.example/files/"))
	t.Cleanup(func() { _ = dir.Close() })
	return newSite(t, formpage.Config{Files: dir, MaxFileSize: 1000}), dir, path
}

// A host's own bound on bodies, which is below those of the page, loses nothing that was typed.
func TestABodyBeyondTheHostsBoundComesBackAsThePage(t *testing.T) {
	t.Parallel()
	s, _, _ := newFileSite(t)
	s.server.Config.Handler = http.MaxBytesHandler(s.server.Config.Handler, 3000)
	form := s.form("MULTI", `[{"id":"n","type":"short_text"},{"id":"f","type":"file_upload"}]`, "", "")
	p := s.open(form, "").fill("a.n", "kept")
	large := strings.Repeat("x", 3000)
	typed := p.values.Encode() + "&a.more=" + large
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url, strings.NewReader(typed))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for name, again := range map[string]*page{"a file": p.attach("next", [3]string{"u.f", "a.pdf", pdfBytes + large}), "a text": s.do(r)} {
		if again.status != http.StatusRequestEntityTooLarge || again.values.Get("a.n") != "kept" {
			t.Errorf("%s: %d, n is %q", name, again.status, again.values.Get("a.n"))
		}
	}
	r, _ = http.NewRequestWithContext(t.Context(), http.MethodPost, s.server.URL+"/f/"+form.PublicID+"/submit", strings.NewReader(`{"answers":{"n":"`+large+`"}}`))
	r.Header.Set("Content-Type", "application/json")
	if answer := s.do(r); answer.status != http.StatusRequestEntityTooLarge {
		t.Errorf("as JSON: %d %s", answer.status, answer.raw)
	}
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
		"another type":          {[3]string{"u.f", "a.exe", "MZ"}, "cannot take this type"},
		"a page named png":      {[3]string{"u.f", "a.png", "<html><script>alert(1)</script>"}, "cannot take this type"},
		"a signature of text":   {[3]string{"u.s", "a.png", "text"}, "cannot take this type"},
		"an empty file":         {[3]string{"u.f", "a.pdf", ""}, "This file is empty"},
		"an empty signature":    {[3]string{"u.s", "a.png", ""}, "This file is empty"},
		"an empty file of any":  {[3]string{"u.f", "a.xyz", ""}, "This file is empty"},
		"no such block":         {[3]string{"u.n", "a.pdf", pdfBytes}, ""},
		"a block that is gone":  {[3]string{"u.gone", "a.pdf", pdfBytes}, ""},
		"a page without a sign": {[3]string{"u.f", "a.pdf", pdfBytes}, "could not save the file"},
	} {
		p := s.open(form, "").fill("a.n", name)
		if strings.HasPrefix(name, "a page without") {
			p.values.Del("state")
		}
		p = p.attach("next", c.file)
		want := http.StatusUnprocessableEntity
		if name == "too large" {
			want = http.StatusRequestEntityTooLarge
		}
		if p.status != want || !strings.Contains(p.raw, c.want) || p.values.Get("a.n") != name || len(p.values["f.f"]) > 0 {
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

// Files that were sent with a page and never with a response go when they are swept, and
// no others.
func TestFilesThatNobodySentAreSwept(t *testing.T) {
	t.Parallel()
	s, dir, path := newFileSite(t)
	form := s.form("MULTI", `[{"id":"f","type":"file_upload","label":"File"},{"id":"s","type":"signature","label":"Sign"},{"id":"n","type":"short_text","label":"Name"}]`, "", "")
	sent := s.open(form, "").attach("upload", [3]string{"u.f", "sent.png", pngBytes}, [3]string{"u.s", "sign.png", pngBytes})
	left := s.open(form, "").attach("upload", [3]string{"u.f", "left.png", pngBytes})
	s.wait(time.Minute)
	for range 2 { // a double click keeps them once
		if end := sent.press("next"); end.status != http.StatusOK {
			t.Fatalf("%d %s", end.status, end.text("summary"))
		}
	}
	now := time.Now()
	if n, err := dir.Sweep(t.Context(), now.Add(-time.Hour)); n != 0 || err != nil {
		t.Errorf("%d files of now are swept, %v", n, err)
	}
	if n, err := dir.Sweep(t.Context(), now.Add(time.Hour)); n != 1 || err != nil {
		t.Errorf("%d files are swept, %v, want 1", n, err)
	}
	entries, err := os.ReadDir(path)
	if err != nil || len(entries) != 8 { // two files, each with its record and two attempts
		t.Errorf("%d entries are left, %v: %v", len(entries), err, entries)
	}
	// What is gone by a host's own mistake is no response with a file that is not there.
	s.wait(time.Minute)
	if p := left.press("next"); p.status != http.StatusServiceUnavailable || len(s.answers(form)) != 1 {
		t.Errorf("a page with a swept file: %d", p.status)
	}
}

// Files of a response that was refused go when they are swept, and those of one that is
// stored stay, though another response with them was refused.
func TestFilesOfARefusedResponseAreSwept(t *testing.T) {
	t.Parallel()
	s, dir, path := newFileSite(t)
	form := s.form("MULTI", `[{"id":"f","type":"file_upload","label":"File"},{"id":"m","type":"email","label":"Mail"},{"id":"n","type":"short_text","label":"Name"}]`, `{"duplicateField":"m"}`, "")
	var sent []*page
	for i, want := range []int{http.StatusOK, http.StatusConflict} {
		p := s.open(form, "").fill("a.m", "ada@example.com")
		s.wait(time.Minute)
		p = p.attach("upload", [3]string{"u.f", "a.png", pngBytes})
		sent = append(sent, p)
		if end := p.press("next"); end.status != want {
			t.Fatalf("response %d: %d %s", i, end.status, end.text("summary"))
		}
	}
	// The stored response's file in one that is refused.
	if again := sent[0].fill("a.n", "Changed").press("next"); again.status != http.StatusConflict {
		t.Errorf("%d %s", again.status, again.text("summary"))
	}
	if n, err := dir.Sweep(t.Context(), time.Now().Add(time.Hour)); n != 1 || err != nil {
		t.Errorf("%d files are swept, %v, want 1", n, err)
	}
	entries, err := os.ReadDir(path)
	if err != nil || len(entries) != 3 { // the file, its record and its attempt
		t.Errorf("%d entries are left, %v: %v", len(entries), err, entries)
	}
}

// One request brings so much and no more.
func TestAPageWithFilesIsBounded(t *testing.T) {
	t.Parallel()
	s, _, path := newFileSite(t)
	form := s.form("MULTI", `[{"id":"f","type":"file_upload","label":"File"},{"id":"n","type":"short_text","label":"Name"}]`, "", "")
	p := s.open(form, "").fill("a.n", "kept")
	var files [][3]string
	for range 30 {
		files = append(files, [3]string{"u.f", "a.png", pngBytes})
	}
	if p := p.attach("upload", files...); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.text("summary"), "too many files") {
		t.Errorf("30 files for one place: %d %s", p.status, p.text("summary"))
	}
	if entries, err := os.ReadDir(path); err != nil || len(entries) != 2 {
		t.Errorf("%d entries are stored, %v", len(entries), err)
	}
	const part = "--B\r\nContent-Disposition: form-data; name="
	head := part + "state\r\n\r\n" + p.values.Get("state") + "\r\n" + part + "a.n\r\n\r\nkept\r\n"
	for name, body := range map[string]io.Reader{
		"a file without an end":   io.MultiReader(strings.NewReader(head+part+"u.f; filename=a\r\n\r\n"), &forever{text: "x"}),
		"parts of files, unnamed": io.MultiReader(strings.NewReader(head), &forever{text: part + "u.f\r\n\r\n\r\n"}),
		"empty parts":             io.MultiReader(strings.NewReader(head), &forever{text: part + "\"\"\r\n\r\n\r\n"}),
	} {
		count := &counted{r: body}
		r := httptest.NewRequest(http.MethodPost, "/f/"+form.PublicID, count)
		r.Header.Set("Content-Type", "multipart/form-data; boundary=B")
		w := httptest.NewRecorder()
		s.pages.ServeHTTP(w, r)
		if w.Code != http.StatusRequestEntityTooLarge || !strings.Contains(w.Body.String(), "kept") || count.n > 48<<20 {
			t.Errorf("%s: %d after %d MiB", name, w.Code, count.n>>20)
		}
	}
}

// forever repeats a text without an end.
type forever struct {
	text string
	at   int
}

func (f *forever) Read(p []byte) (n int, err error) {
	for n < len(p) {
		k := copy(p[n:], f.text[f.at:])
		n, f.at = n+k, (f.at+k)%len(f.text)
	}
	return n, nil
}

type counted struct {
	r io.Reader
	n int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if c.n += int64(n); c.n > 64<<20 {
		return n, io.ErrUnexpectedEOF // the test ends, whatever the handler does
	}
	return n, err
}

// A response takes a file for as long as its page is valid, so the file may be swept
// after that time.
func TestFilesOfAnOldPageAreAskedForAgain(t *testing.T) {
	t.Parallel()
	s, _, _ := newFileSite(t)
	form := s.form("MULTI", `[{"id":"f","type":"file_upload","label":"File"},{"id":"b","type":"page_break"},{"id":"n","type":"short_text","label":"Name"}]`, "", "")
	for _, button := range []string{"next", "back"} {
		p := s.open(form, "").attach("next", [3]string{"u.f", "a.png", pngBytes}).fill("a.n", "kept")
		s.wait(7 * 24 * time.Hour)
		again := p.press(button)
		if again.status != http.StatusUnprocessableEntity || !strings.Contains(again.text("summary"), "choose it again") || again.values.Get("a.n") != "kept" || again.values.Get("f.f") != "" {
			t.Errorf("%s: %d %s", button, again.status, again.text("summary"))
		}
	}
	if len(s.answers(form)) > 0 {
		t.Error("a response is stored")
	}
}

// The limit of the service counts for blocks that ask for one, and the page says it before.
func TestThePageKnowsTheServicesLimit(t *testing.T) {
	t.Parallel()
	dir := must(formpage.NewDir(t.TempDir(), "https://host.example/files/"))
	t.Cleanup(func() { _ = dir.Close() })
	limits := formsvc.WithLimits(formsvc.Limits{FileSize: 2 << 20})
	for _, c := range []struct {
		config          int64
		bounded, others string // what the two blocks take
	}{{0, "2097152", "2097152"}, {3 << 20, "2097152", "3145728"}, {1 << 20, "1048576", "1048576"}} {
		s := newSite(t, formpage.Config{Files: dir, MaxFileSize: c.config}, limits)
		form := s.form("MULTI", `[{"id":"f","type":"file_upload","label":"File","properties":{"maxFileSize":true,"allowedFiles":["*.PNG",".pdf"]}},{"id":"g","type":"file_upload","label":"Other"}]`, "", "")
		p := s.open(form, "")
		for name, want := range map[string]string{"u.f": c.bounded, "u.g": c.others} {
			input := p.find(func(n *html.Node) bool { return attr(n, "name") == name })
			if input == nil || attr(input, "data-bytes") != want {
				t.Errorf("%d, %s takes %s bytes, want %s", c.config, name, attr(input, "data-bytes"), want)
			}
		}
		large := pngBytes + strings.Repeat("x", 2<<20)
		p = p.attach("upload", [3]string{"u.f", "a.png", large}, [3]string{"u.g", "b.png", large})
		if p.status != http.StatusRequestEntityTooLarge || p.values.Get("f.f") != "" || (p.values.Get("f.g") != "") != (c.config == 3<<20) {
			t.Errorf("%d: status %d, %s", c.config, p.status, p.text("summary"))
		}
		if !strings.Contains(p.text("summary"), "Please choose one of up to "+map[string]string{"2097152": "2", "1048576": "1"}[c.bounded]) {
			t.Errorf("%d: %s", c.config, p.text("summary"))
		}
	}
}

// A response keeps the files that it has, whatever else is sent with it.
func TestAResponseKeepsNoOtherFiles(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	dir := must(formpage.NewDir(path, "https://host.example/files/"))
	t.Cleanup(func() { _ = dir.Close() })
	s := newSite(t, formpage.Config{MinFillTime: -1, Files: dir})
	form := s.form("MULTI", `[{"id":"f","type":"signature"}]`, "", "")
	p := s.open(form, "")
	values := url.Values{"state": p.values["state"], "go": {"next"}}
	for range 3 {
		values.Add("f.f", p.attach("upload", [3]string{"u.f", "a.png", pngBytes}).values.Get("f.f"))
	}
	if end := p.post(values); !strings.Contains(end.url, "/done") || len(s.answers(form)) != 1 {
		t.Fatalf("%d %s", end.status, end.text("fs-main"))
	}
	if n, err := dir.Sweep(t.Context(), time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)); n != 2 || err != nil {
		t.Errorf("%d files are in no response, %v, want 2", n, err)
	}
}

// The files of one response go with all that a Dir keeps of them, and no others; again is no error.
func TestTheFilesOfAResponseAreRemoved(t *testing.T) {
	t.Parallel()
	s, dir, path := newFileSite(t)
	form := s.form("MULTI", `[{"id":"f","type":"file_upload","label":"File"},{"id":"n","type":"short_text","label":"Name"}]`, "", "")
	var sent []string
	for _, name := range []string{"gone.png", "kept.png"} {
		p := s.open(form, "").attach("upload", [3]string{"u.f", name, pngBytes})
		s.wait(time.Minute)
		for range 2 { // two attempts keep it
			if end := p.press("next"); end.status != http.StatusOK {
				t.Fatalf("%d %s", end.status, end.text("summary"))
			}
		}
	}
	for _, stored := range s.answers(form) {
		var files []schema.File
		if err := json.Unmarshal([]byte(stored["f"]), &files); err != nil || len(files) != 1 {
			t.Fatalf("%s: %v", stored["f"], err)
		}
		if files[0].Name == "gone.png" {
			sent = append(sent, files[0].ID)
		}
	}
	unknown := strings.Repeat("a", 26)
	for range 2 {
		if err := dir.RemoveFiles(t.Context(), append(sent, "../escape", "", "host-1", unknown, sent[0]+".json")); err != nil {
			t.Error(err)
		}
		entries, err := os.ReadDir(path)
		if err != nil || len(entries) != 4 { // one file, its record and two attempts
			t.Errorf("%d entries are left, %v: %v", len(entries), err, entries)
		}
		for _, entry := range entries {
			if strings.HasPrefix(entry.Name(), sent[0]) {
				t.Errorf("%s is left", entry.Name())
			}
		}
	}
	if _, _, err := dir.Open(t.Context(), sent[0]); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is there: %v", err)
	}
	// A file that was not wholly removed is when it is asked for again.
	for _, left := range []string{unknown, unknown + ".kept-" + unknown} {
		noError(t, os.WriteFile(filepath.Join(path, left), nil, 0o600))
	}
	if err := dir.RemoveFiles(t.Context(), []string{unknown}); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(path); err != nil || len(entries) != 4 {
		t.Errorf("%d entries are left, %v: %v", len(entries), err, entries)
	}
}
