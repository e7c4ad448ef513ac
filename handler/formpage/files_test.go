package formpage_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/sethvargo/go-limiter"
	"golang.org/x/net/html"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/lab/expect"
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
		part := expect.Must(w.CreateFormFile(f[0], f[1]))
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

// newDir makes a place for files, and returns its path as well.
func newDir(t *testing.T) (*formpage.Dir, string) {
	t.Helper()
	path := t.TempDir()
	dir := expect.Must(formpage.NewDir(path, "https://host.example/files/"))
	t.Cleanup(func() { _ = dir.Close() })
	return dir, path
}

func newFileSite(t *testing.T) (*site, *formpage.Dir, string) {
	t.Helper()
	dir, path := newDir(t)
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
	for name, again := range map[string]*page{
		"a file": p.attach("next", [3]string{"u.f", "a.pdf", pdfBytes + large}), "a text": s.send(http.MethodPost, p.url, typed),
	} {
		again.about(name).expect(http.StatusRequestEntityTooLarge, value("a.n", "kept"))
	}
	inJSON := `{"answers":{"n":"` + large + `"}}`
	s.send(http.MethodPost, p.url+"/submit", inJSON, "Content-Type", "application/json").about("as JSON").expect(http.StatusRequestEntityTooLarge)
}

func TestFilesAreStoredAndHandedOut(t *testing.T) {
	t.Parallel()
	s, dir, _ := newFileSite(t)
	form := s.form("MULTI", `[{"id":"f","type":"file_upload","label":"Files","required":true,"properties":{"multipleFiles":true,"allowedFiles":["pdf","image/*"]}},
		{"id":"s","type":"signature","label":"Sign"},{"id":"n","type":"short_text","label":"Name","required":true}]`, "", "")
	p := s.open(form, "")
	p.press("next").about("a required file is not asked for").expect(http.StatusUnprocessableEntity)
	// The mistake beside it comes back with the files.
	p = p.attach("next", [3]string{"u.f", `..\..\a paper.pdf`, pdfBytes}, [3]string{"u.f", "x.png", pngBytes}, [3]string{"u.s", "s.png", pngBytes})
	if p.status != http.StatusUnprocessableEntity || !strings.Contains(p.raw, "a paper.pdf") || !strings.Contains(p.raw, "x.png") || len(p.values["f.f"]) != 2 {
		t.Fatalf("%d %s", p.status, p.text("fs-main"))
	}
	s.wait(time.Minute)
	p.fill("a.n", "Ada").attach("next").require(http.StatusOK)
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
	// A file that is taken back no longer answers the question.
	p = s.open(form, "").attach("next", [3]string{"u.f", "a.pdf", pdfBytes}).fill("a.n", "Ada")
	p.values.Set("x.f", attr(p.find(func(n *html.Node) bool { return attr(n, "name") == "x.f" }), "value"))
	p = p.post(p.values)
	p.values.Del("x.f")
	p.press("next").expect(http.StatusUnprocessableEntity, shows("summary", "Files Please add a file."), lacks("a.pdf"), responses(form, 1))
	for _, bad := range []string{"/files/nothing", "/files/" + id + ".json", "/files/"} {
		w := httptest.NewRecorder()
		formpage.FileHandler(dir).ServeHTTP(w, httptest.NewRequest(http.MethodGet, bad, nil))
		expect.That(t, w.Code == http.StatusNotFound, "%s: %d", bad, w.Code)
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
		"another type":          {[3]string{"u.f", "a.exe", "MZ"}, "cannot accept this type"},
		"a page named png":      {[3]string{"u.f", "a.png", "<html><script>alert(1)</script>"}, "cannot accept this type"},
		"a signature of text":   {[3]string{"u.s", "a.png", "text"}, "cannot accept this type"},
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
		expect.That(t, p.status == want && strings.Contains(p.raw, c.want) && p.values.Get("a.n") == name && len(p.values["f.f"]) == 0,
			"%s: %d %s", name, p.status, p.text("summary"))
	}
	left, err := os.ReadDir(path)
	expect.That(t, err == nil && len(left) == 0, "%d files are left, %v", len(left), err)
	// A record is good for its own form and block, and only as it was signed.
	p := s.open(form, "").attach("upload", [3]string{"u.f", "a.pdf", pdfBytes})
	token := p.values.Get("f.f")
	expect.Require(t, p.status == http.StatusOK && token != "", "%d %s", p.status, p.text("summary"))
	s.wait(time.Minute)
	for _, forged := range []string{token, token + "x", "x.y"} {
		there := s.open(other, "")
		s.wait(time.Minute)
		there.values.Set("f.f", forged)
		there.press("next")
	}
	for _, stored := range s.answers(other) {
		expect.That(t, stored["f"] == "", "a record of another form is stored: %s", stored["f"])
	}
	// Taken back, it is gone.
	p.values.Set("x.f", strings.Split(attr(p.find(func(n *html.Node) bool { return attr(n, "name") == "x.f" }), "value"), "|")[0])
	values := p.values
	values.Del("go")
	p.post(values).expect(http.StatusOK, value("f.f", ""))
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
		sent.press("next").require(http.StatusOK)
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
	left.press("next").about("a page with a swept file").expect(http.StatusServiceUnavailable, responses(form, 1))
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
		p.press("next").about("response", i).require(want)
	}
	// The stored response's file in one that is refused.
	sent[0].fill("a.n", "Changed").press("next").expect(http.StatusConflict)
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
	entries, err := os.ReadDir(path)
	expect.That(t, err == nil && len(entries) == 2, "%d entries are stored, %v", len(entries), err)
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
		expect.That(t, w.Code == http.StatusRequestEntityTooLarge && strings.Contains(w.Body.String(), "kept") && count.n <= 48<<20,
			"%s: %d after %d MiB", name, w.Code, count.n>>20)
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
		again.about(button).expect(http.StatusUnprocessableEntity, shows("summary", "choose it again"),
			value("a.n", "kept"), value("f.f", ""))
	}
	expect.That(t, len(s.answers(form)) == 0, "a response is stored")
}

// The limit of the service counts for blocks that ask for one, and the page says it before.
func TestThePageKnowsTheServicesLimit(t *testing.T) {
	t.Parallel()
	dir, _ := newDir(t)
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
			expect.That(t, input != nil && attr(input, "data-bytes") == want,
				"%d, %s takes %s bytes, want %s", c.config, name, attr(input, "data-bytes"), want)
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
	dir, _ := newDir(t)
	s := newSite(t, formpage.Config{MinFillTime: -1, Files: dir})
	form := s.form("MULTI", `[{"id":"f","type":"signature"}]`, "", "")
	p := s.open(form, "")
	values := url.Values{"state": p.values["state"], "go": {"next"}}
	for range 3 {
		values.Add("f.f", p.attach("upload", [3]string{"u.f", "a.png", pngBytes}).values.Get("f.f"))
	}
	p.post(values).require(http.StatusOK, at("/done"), responses(form, 1))
	n, err := dir.Sweep(t.Context(), time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC))
	expect.That(t, n == 2 && err == nil, "%d files are in no response, %v, want 2", n, err)
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
			p.press("next").require(http.StatusOK)
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
			expect.That(t, !strings.HasPrefix(entry.Name(), sent[0]), "%s is left", entry.Name())
		}
	}
	if _, _, err := dir.Open(t.Context(), sent[0]); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is there: %v", err)
	}
	// A file that was not wholly removed is when it is asked for again.
	for _, left := range []string{unknown, unknown + ".kept-" + unknown} {
		expect.NoError(t, os.WriteFile(filepath.Join(path, left), nil, 0o600))
	}
	if err := dir.RemoveFiles(t.Context(), []string{unknown}); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(path); err != nil || len(entries) != 4 {
		t.Errorf("%d entries are left, %v: %v", len(entries), err, entries)
	}
}

// counting is a place for files that keeps their sizes only.
type counting struct {
	bytes, files atomic.Int64
	fail         error
}

func (c *counting) Save(_ context.Context, u formpage.Upload) (schema.File, error) {
	n, err := io.Copy(io.Discard, u.Body)
	if err = errors.Join(err, c.fail); err != nil {
		return schema.File{}, fmt.Errorf("bucket: %w", err)
	}
	c.bytes.Add(n)
	return schema.File{ID: fmt.Sprint("file-", c.files.Add(1)), URL: "https://files.example/x", Size: n}, nil
}

func (c *counting) Open(context.Context, string) (io.ReadCloser, schema.File, error) {
	return nil, schema.File{}, os.ErrNotExist
}

// levels keeps what was logged, with its level.
type levels struct {
	slog.Handler
	mu   sync.Mutex
	list []string
}

func (l *levels) Enabled(context.Context, slog.Level) bool { return true }
func (l *levels) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, r.Level.String()+" "+r.Message)
	return nil
}

const manyFiles = `[{"id":"f","type":"file_upload","label":"Files","properties":{"multipleFiles":true}},{"id":"n","type":"short_text","label":"Name"}]`

// A visit stores 32 MiB of files, however many requests it sends them with and whatever it
// says of those before.
func TestTheFilesOfAVisitAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	files := &counting{}
	s := newSite(t, formpage.Config{MinFillTime: -1, Files: files})
	form := s.form("MULTI", manyFiles, "", "")
	content := strings.Repeat("x", 10<<20)
	p := s.open(form, "").fill("a.n", "kept")
	var list [][3]string
	for i := range 6 {
		list = append(list, [3]string{"u.f", fmt.Sprint(i, ".txt"), content})
	}
	first := p.attach("upload", list...)
	expect.That(t, first.status == http.StatusRequestEntityTooLarge && files.bytes.Load() <= 32<<20 && len(first.values["f.f"]) == 3,
		"six files of 10 MiB: %d, %d bytes are stored", first.status, files.bytes.Load())
	for range 3 { // without the records of the files
		again := p.attach("upload", list[0])
		again.about("one more").expect(http.StatusRequestEntityTooLarge, value("a.n", "kept"),
			shows("fs-fault", "You can upload up to 32 MB in total"))
	}
	expect.That(t, files.bytes.Load() == 30<<20, "%d bytes are stored, want 30 MiB", files.bytes.Load())
	// What fits is taken, and another visit has space of its own.
	small := p.attach("upload", [3]string{"u.f", "a.txt", "small"})
	expect.That(t, small.status == http.StatusOK && len(small.values["f.f"]) == 1, "a small file: %d", small.status)
	s.open(form, "").attach("upload", list[0]).about("another visit").expect(http.StatusOK)
	// A response has the files: the visit may go back and send others.
	first.press("next").require(http.StatusOK, at("/done"), responses(form, 1))
	p.attach("upload", list[0]).about("after the response").expect(http.StatusOK)
}

func TestTheBoundOfAVisit(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("x", 10000)
	for name, c := range map[string]struct {
		config formpage.Config
		want   int64
	}{
		"a bound of its own": {formpage.Config{MaxVisitFiles: 60000}, 4}, "none": {formpage.Config{MaxVisitFiles: -1}, 16},
		"one large file": {formpage.Config{MaxFileSize: 1 << 30}, 16},
	} {
		files := &counting{}
		c.config.Files, c.config.MinFillTime = files, -1
		s := newSite(t, c.config)
		p := s.open(s.form("MULTI", manyFiles, "", ""), "")
		// What is not stored takes no space.
		files.fail = errors.New("broken")
		for range 10 {
			p.attach("upload", [3]string{"u.f", "a.txt", content})
		}
		files.fail = nil
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() { p.attach("upload", [3]string{"u.f", "a.txt", content}) })
		}
		wg.Wait()
		expect.That(t, files.files.Load() <= c.want && files.files.Load() != 0,
			"%s: %d files are stored at once, want %d", name, files.files.Load(), c.want)
		for range 4 { // those that were refused beside another one
			p.attach("upload", [3]string{"u.f", "a.txt", content})
		}
		got := files.files.Load()
		expect.That(t, got >= c.want && (c.want != 4 || got <= 4), "%s: %d files are stored, want %d", name, got, c.want)
	}
}

// A directory takes so much of files that no response has, in whichever process.
func TestTheFilesOfADirectoryAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := t.TempDir()
		open := func() *formpage.Dir {
			d := expect.Must(formpage.NewDir(path, "https://host.example/files/"))
			t.Cleanup(func() { _ = d.Close() })
			d.MaxUnsubmitted = 50000
			return d
		}
		d, attempt := open(), strings.Repeat("a", 26)
		save := func(d *formpage.Dir) (string, error) {
			file, err := d.Save(t.Context(), formpage.Upload{Name: "a", Body: strings.NewReader(strings.Repeat("x", 5000))})
			return file.ID, err
		}
		var ids []string
		fill := func(d *formpage.Dir, want int, when string) {
			t.Helper()
			for i := range want + 1 {
				id, err := save(d)
				expect.That(t, (i >= want || err == nil) && (i != want || errors.Is(err, formpage.ErrNoSpace)),
					"%s, file %d of %d: %v", when, i, want, err)
				if err == nil {
					ids = append(ids, id)
				}
			}
		}
		fill(d, 5, "at first")
		if entries, err := os.ReadDir(path); err != nil || len(entries) != 10 {
			t.Errorf("%d entries, %v: something is left of the file that was refused", len(entries), err)
		}
		fill(open(), 0, "started anew")
		expect.NoError(t, d.Retain(t.Context(), attempt, ids[:2]))
		fill(d, 0, "at once after a response") // the directory is not read for each file
		time.Sleep(5 * time.Second)
		fill(d, 2, "five seconds after it")
		expect.NoError(t, d.Release(t.Context(), attempt, ids[:2]))
		if n, err := d.Sweep(t.Context(), time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)); n != 7 || err != nil {
			t.Errorf("%d files are swept, %v", n, err)
		}
		fill(d, 5, "swept")
		other := open()
		other.MaxUnsubmitted = -1
		for range 20 {
			if _, err := save(other); err != nil {
				t.Errorf("without a bound: %v", err)
			}
		}
		// Another process made room: this one sees it within a minute.
		expect.Must(other.Sweep(t.Context(), time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)))
		time.Sleep(time.Minute)
		var wg sync.WaitGroup
		var stored atomic.Int64
		for range 20 {
			wg.Go(func() {
				if _, err := save(d); err == nil {
					stored.Add(1)
				}
			})
		}
		wg.Wait()
		n := stored.Load()
		expect.That(t, n <= 5 && n != 0, "%d files at once, want 1 to 5", n)
	})
}

func TestAFullDirectoryIsAFaultOfThePage(t *testing.T) {
	t.Parallel()
	log := &levels{}
	dir, _ := newDir(t)
	dir.MaxUnsubmitted = 10000
	s := newSite(t, formpage.Config{Files: dir, Logger: slog.New(log)})
	p := s.open(s.form("MULTI", manyFiles, "", ""), "").fill("a.n", "kept")
	log.list = nil
	p = p.attach("next", [3]string{"u.f", "a.txt", strings.Repeat("x", 9000)})
	p.expect(http.StatusUnprocessableEntity, value("a.n", "kept"), shows("fs-fault", "cannot store this file"))
	expect.Equal(t, strings.Join(log.list, "\n"), "WARN failed to store file", "logged")
}

// A visitor who leaves is no fault of the host; a place that fails is one.
func TestUploadsThatBreakOffAreNoErrors(t *testing.T) {
	t.Parallel()
	for want, fail := range map[string]error{"INFO failed to store file": nil, "ERROR failed to store file": errors.New("down")} {
		log, files := &levels{}, &counting{fail: fail}
		s := newSite(t, formpage.Config{Files: files, Logger: slog.New(log)})
		form := s.form("MULTI", manyFiles, "", "")
		p := s.open(form, "")
		log.list = nil
		var body bytes.Buffer
		w := multipart.NewWriter(&body)
		_ = w.WriteField("state", p.values.Get("state"))
		part, _ := w.CreateFormFile("u.f", "a.txt")
		_, _ = part.Write(bytes.Repeat([]byte("x"), 5000))
		end := iotest.ErrReader(io.ErrUnexpectedEOF)
		if fail != nil {
			end = strings.NewReader("\r\n--" + w.Boundary() + "--\r\n")
		}
		r := httptest.NewRequest(http.MethodPost, "/f/"+form.PublicID, io.MultiReader(&body, end))
		r.Header.Set("Content-Type", w.FormDataContentType())
		s.pages.ServeHTTP(httptest.NewRecorder(), r)
		if got := strings.Join(log.list, "\n"); !strings.HasPrefix(got, want) || strings.Contains(got, "ERROR") != (fail != nil) {
			t.Errorf("logged, want %s: %s", want, got)
		}
	}
}

// panicking is a limiter's store that panics.
type panicking struct{ limiter.Store }

func (panicking) Take(context.Context, string) (tokens, remaining, reset uint64, ok bool, err error) {
	panic("no connection")
}

func TestALimiterThatPanicsLetsVisitorsPass(t *testing.T) {
	t.Parallel()
	log := &levels{}
	s := newSite(t, formpage.Config{MinFillTime: -1, Limiter: panicking{}, ClientIP: func(*http.Request) string { return "x" }, Logger: slog.New(log)})
	form := s.form("MULTI", `[{"id":"n","type":"short_text"}]`, "", "")
	s.open(form, "").fill("a.n", "x").press("next").expect(http.StatusOK, responses(form, 1))
	got := strings.Join(log.list, "\n")
	expect.That(t, strings.Contains(got, "WARN rate limiter of the form pages failed"), "logged: %s", got)
}
