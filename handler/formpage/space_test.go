package formpage_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/sethvargo/go-limiter"

	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/schema"
)

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
	if first.status != http.StatusRequestEntityTooLarge || files.bytes.Load() > 32<<20 || len(first.values["f.f"]) != 3 {
		t.Errorf("six files of 10 MiB: %d, %d bytes are stored", first.status, files.bytes.Load())
	}
	for range 3 { // without the records of the files
		again := p.attach("upload", list[0])
		if again.status != http.StatusRequestEntityTooLarge || again.values.Get("a.n") != "kept" || !strings.Contains(again.text("fs-fault"), "32 MB can be sent with this form") {
			t.Errorf("one more: %d %s", again.status, again.text("fs-main"))
		}
	}
	if files.bytes.Load() != 30<<20 {
		t.Errorf("%d bytes are stored, want 30 MiB", files.bytes.Load())
	}
	// What fits is taken, and another visit has space of its own.
	if small := p.attach("upload", [3]string{"u.f", "a.txt", "small"}); small.status != http.StatusOK || len(small.values["f.f"]) != 1 {
		t.Errorf("a small file: %d", small.status)
	}
	if other := s.open(form, "").attach("upload", list[0]); other.status != http.StatusOK {
		t.Errorf("another visit: %d", other.status)
	}
	// A response has the files: the visit may go back and send others.
	if end := first.press("next"); !strings.Contains(end.url, "/done") || len(s.answers(form)) != 1 {
		t.Fatalf("%d %s", end.status, end.text("fs-main"))
	}
	if again := p.attach("upload", list[0]); again.status != http.StatusOK {
		t.Errorf("after the response: %d", again.status)
	}
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
		if files.files.Load() > c.want || files.files.Load() == 0 {
			t.Errorf("%s: %d files are stored at once, want %d", name, files.files.Load(), c.want)
		}
		for range 4 { // those that were refused beside another one
			p.attach("upload", [3]string{"u.f", "a.txt", content})
		}
		if got := files.files.Load(); got < c.want || c.want == 4 && got > 4 {
			t.Errorf("%s: %d files are stored, want %d", name, got, c.want)
		}
	}
}

// A directory takes so much of files that no response has, in whichever process.
func TestTheFilesOfADirectoryAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := t.TempDir()
		open := func() *formpage.Dir {
			d := must(formpage.NewDir(path, "https://host.example/files/"))
			t.Cleanup(func() { _ = d.Close() })
			d.MaxUnsent = 50000
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
				if i < want && err != nil || i == want && !errors.Is(err, formpage.ErrNoSpace) {
					t.Errorf("%s, file %d of %d: %v", when, i, want, err)
				}
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
		noError(t, d.Keep(t.Context(), attempt, ids[:2]))
		fill(d, 0, "at once after a response") // the directory is not read for each file
		time.Sleep(5 * time.Second)
		fill(d, 2, "five seconds after it")
		noError(t, d.Release(t.Context(), attempt, ids[:2]))
		if n, err := d.Sweep(t.Context(), time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)); n != 7 || err != nil {
			t.Errorf("%d files are swept, %v", n, err)
		}
		fill(d, 5, "swept")
		other := open()
		other.MaxUnsent = -1
		for range 20 {
			if _, err := save(other); err != nil {
				t.Errorf("without a bound: %v", err)
			}
		}
		// Another process made room: this one sees it within a minute.
		must(other.Sweep(t.Context(), time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)))
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
		if n := stored.Load(); n > 5 || n == 0 {
			t.Errorf("%d files at once, want 1 to 5", n)
		}
	})
}

func TestAFullDirectoryIsAFaultOfThePage(t *testing.T) {
	t.Parallel()
	log := &levels{}
	dir := must(formpage.NewDir(t.TempDir(), "https://host.example/files/"))
	t.Cleanup(func() { _ = dir.Close() })
	dir.MaxUnsent = 10000
	s := newSite(t, formpage.Config{Files: dir, Logger: slog.New(log)})
	p := s.open(s.form("MULTI", manyFiles, "", ""), "").fill("a.n", "kept")
	log.list = nil
	p = p.attach("next", [3]string{"u.f", "a.txt", strings.Repeat("x", 9000)})
	if p.status != http.StatusUnprocessableEntity || p.values.Get("a.n") != "kept" || !strings.Contains(p.text("fs-fault"), "no room for this file") {
		t.Errorf("%d %s", p.status, p.text("fs-main"))
	}
	if got := strings.Join(log.list, "\n"); got != "WARN a file was not stored" {
		t.Errorf("logged: %s", got)
	}
}

// A visitor who leaves is no fault of the host; a place that fails is one.
func TestUploadsThatBreakOffAreNoErrors(t *testing.T) {
	t.Parallel()
	for want, fail := range map[string]error{"INFO a file was not stored": nil, "ERROR a file was not stored": errors.New("down")} {
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
	s := newSite(t, formpage.Config{MinFillTime: -1, Limiter: panicking{}, Address: func(*http.Request) string { return "x" }, Logger: slog.New(log)})
	form := s.form("MULTI", `[{"id":"n","type":"short_text"}]`, "", "")
	if end := s.open(form, "").fill("a.n", "x").press("next"); end.status != http.StatusOK || len(s.answers(form)) != 1 {
		t.Errorf("%d %s", end.status, end.text("fs-main"))
	}
	if got := strings.Join(log.list, "\n"); !strings.Contains(got, "WARN the limiter of the pages failed") {
		t.Errorf("logged: %s", got)
	}
}
