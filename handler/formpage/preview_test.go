package formpage_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
)

var secret = []byte("a secret of all processes")

// draft makes a form and does not publish it.
func (s *site) draft(kind, blocks, settings string) formsvc.Form {
	s.t.Helper()
	d := formsvc.Definition{Blocks: json.RawMessage(blocks)}
	if settings != "" {
		d.Settings = json.RawMessage(settings)
	}
	return must(s.service.As(s.owner).CreateForm(s.t.Context(), formsvc.FormCreate{Workspace: s.place, Name: "A draft", Type: kind, Definition: d}))
}

// link is the address of a form's preview for an hour.
func (s *site) link(form formsvc.ID) string {
	s.t.Helper()
	path := must(s.pages.PreviewPath(form, s.clock().Add(time.Hour)))
	return s.server.URL + path
}

// bar is the text of the bar that says that a page is a preview.
func (p *page) bar() string {
	bar := p.find(func(n *html.Node) bool { return attr(n, "class") == "fs-preview" })
	if bar == nil {
		return ""
	}
	var text strings.Builder
	for n := range bar.Descendants() {
		if n.Type == html.TextNode {
			text.WriteString(n.Data + " ")
		}
	}
	return strings.Join(strings.Fields(text.String()), " ")
}

const draftBlocks = `[
{"id":"name","type":"short_text","label":"Name","required":true},
{"id":"age","type":"number","label":"Age","properties":{"min":5,"minVal":true,"max":1,"maxVal":true}},
{"id":"robot","type":"captcha","properties":{"captchaType":"turnstile"}},
{"id":"break","type":"page_break"},
{"id":"site","type":"website","label":"Site"},
{"id":"bye","type":"ending","label":"Thanks","properties":{"shareButtons":true}}]`

func TestADraftIsPreviewedAndNothingIsStored(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{Secret: secret})
	form := s.draft("MULTI", draftBlocks, `{"redirectUrl":"https://elsewhere.example/thanks"}`)
	if p := s.open(form, ""); p.status != http.StatusNotFound {
		t.Fatalf("a draft is public: %d", p.status)
	}
	p := s.get(s.link(form.ID))
	if p.status != http.StatusOK || !strings.Contains(p.raw, "Name") {
		t.Fatalf("%d %s", p.status, p.text("fs-main"))
	}
	for _, want := range []string{
		"Preview.", "checked and not stored", "Warnings: 1", "Age", "/blocks/1", "no verifier for it (type: turnstile)", "https://elsewhere.example/thanks",
	} {
		if !strings.Contains(p.bar(), want) {
			t.Errorf("the bar lacks %q: %s", want, p.bar())
		}
	}
	// The script counts nothing of a page that says it was counted.
	if p.values.Get("viewed") != "1" || p.values.Get("started") != "1" {
		t.Error("the script would count a view")
	}
	if again := p.press("next"); again.status != http.StatusUnprocessableEntity || !strings.Contains(again.text("summary"), "Name Please answer this question.") || again.bar() == "" {
		t.Errorf("a fault does not show: %d %s", again.status, again.text("fs-main"))
	}
	p.values.Del("viewed") // a page that was made by hand
	p.values.Del("started")
	second := p.fill("a.name", "Ada").press("next")
	if second.status != http.StatusOK || !strings.Contains(second.raw, "Site") {
		t.Fatalf("%d %s", second.status, second.text("fs-main"))
	}
	if again := second.fill("a.site", "no site").press("next"); again.status != http.StatusUnprocessableEntity || !strings.Contains(again.text("summary"), "Site") {
		t.Errorf("a fault on the last page does not show: %d %s", again.status, again.text("fs-main"))
	}
	// Nobody has to wait as respondents do: the clock did not move.
	end := second.fill("a.site", "example.com").press("next")
	if end.status != http.StatusOK || !strings.Contains(end.raw, "<h1>Thanks</h1>") || !strings.Contains(end.bar(), "Nothing was stored") || !strings.HasPrefix(end.url, s.server.URL) {
		t.Errorf("%d at %s: %s %s", end.status, end.url, end.bar(), end.text("fs-main"))
	}
	if strings.Contains(end.raw, "data-share") {
		t.Error("the ending leads to a page that is not public")
	}
	if n := len(s.answers(form)); n != 0 {
		t.Errorf("%d responses are stored", n)
	}
	if c := s.funnel(form); c.Views != 0 || c.Starts != 0 {
		t.Errorf("the funnel counted %+v", c)
	}
}

// A fault of a page that was passed over shows at the end.
func TestAPreviewChecksAllAnswers(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{Secret: secret})
	p := s.get(s.link(s.draft("SINGLE", threeQuestions, "").ID))
	p.values.Set("at", "age") // the last one
	p.values.Set("a.age", "3")
	if p = p.press("next"); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.text("summary"), "Name") {
		t.Errorf("%d %s", p.status, p.text("fs-main"))
	}
}

func TestAPreviewIsNotKeptByAnybody(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{Secret: secret})
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, s.link(s.draft("MULTI", draftBlocks, "").ID), nil)
	answer := must(http.DefaultClient.Do(r))
	_ = answer.Body.Close()
	for name, want := range map[string]string{"Cache-Control": "no-store", "X-Robots-Tag": "noindex, nofollow"} {
		if got := answer.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestLinksThatAreNotGood(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{Secret: secret})
	form, other := s.form("MULTI", threeQuestions, "", ""), s.draft("MULTI", threeQuestions, "")
	good, foreign := s.link(form.ID), newSite(t, formpage.Config{Secret: []byte("the secret of another host")}).link(form.ID)
	start := strings.LastIndex(good, "/") + 1
	payload, signature, _ := strings.Cut(good[start:], ".")
	raw, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil || !strings.Contains(string(raw), form.ID.String()) {
		t.Fatalf("%s %v", raw, err)
	}
	swapped := base64.RawURLEncoding.EncodeToString([]byte(strings.ReplaceAll(string(raw), form.ID.String(), other.ID.String())))
	bad := map[string]string{
		"another form":         swapped + "." + signature,
		"no signature":         payload + ".",
		"a payload alone":      payload,
		"nothing":              "",
		"another secret":       foreign[strings.LastIndex(foreign, "/")+1:],
		"the token of a visit": s.open(form, "").values.Get("state"),
		"a route below":        good[start:] + "/submit",
	}
	for i := range good[start:] { // every character counts
		altered := []byte(good[start:])
		if altered[i]++; altered[i] == '%' || altered[i] == '/' {
			altered[i]++
		}
		if i%7 == 0 || i == len(altered)-1 {
			bad["altered at "+string(rune('0'+i/100))+string(rune('0'+i/10%10))+string(rune('0'+i%10))] = string(altered)
		}
	}
	for name, token := range bad {
		p := s.get(good[:start] + strings.ReplaceAll(token, "`", "%60"))
		if p.status != http.StatusNotFound || strings.Contains(p.raw, "Hello") || p.bar() != "" {
			t.Errorf("%s: %d", name, p.status)
		}
	}
	if p := s.get(good); p.status != http.StatusOK {
		t.Fatalf("the good link: %d", p.status)
	}
	p := s.get(good).press("next")
	s.wait(time.Hour - time.Millisecond)
	if s.get(good).status != http.StatusOK {
		t.Error("the link ended early")
	}
	s.wait(2 * time.Millisecond)
	if got := s.get(good); got.status != http.StatusNotFound || !strings.Contains(got.raw, "There is no form here") {
		t.Errorf("after its time: %d", got.status)
	}
	if got := p.press("next"); got.status != http.StatusNotFound {
		t.Errorf("sent after its time: %d", got.status)
	}
	if _, err := s.pages.PreviewPath(form.ID, s.clock()); err == nil {
		t.Error("a link that has ended already")
	}
}

// A file that a preview took is not one of the form.
func TestFilesOfAPreviewAreNotKept(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	dir := must(formpage.NewDir(path, "https://host.example/files/"))
	t.Cleanup(func() { _ = dir.Close() })
	s := newSite(t, formpage.Config{Secret: secret, Files: dir, MaxFileSize: 1000})
	form := s.form("MULTI", `[{"id":"f","type":"file_upload","label":"File","required":true}]`, "", "")
	p := s.get(s.link(form.ID))
	if large := p.attach("next", [3]string{"u.f", "a.pdf", pdfBytes + strings.Repeat("x", 1001)}); !strings.Contains(large.text("summary"), "too large") {
		t.Errorf("%d %s", large.status, large.text("summary"))
	}
	p = p.attach("upload", [3]string{"u.f", "a.pdf", pdfBytes})
	token := p.values.Get("f.f")
	if p.status != http.StatusOK || token == "" || !strings.Contains(p.raw, "a.pdf") {
		t.Fatalf("%d %s", p.status, p.text("fs-main"))
	}
	if end := p.attach("next"); end.status != http.StatusOK || !strings.Contains(end.bar(), "Nothing was stored") {
		t.Errorf("%d %s", end.status, end.text("fs-main"))
	}
	if left, err := os.ReadDir(path); err != nil || len(left) > 0 {
		t.Errorf("%d files are stored, %v", len(left), err)
	}
	public := s.open(form, "")
	s.wait(time.Minute)
	public.values.Set("f.f", token)
	if got := public.press("next"); got.status != http.StatusUnprocessableEntity || len(s.answers(form)) > 0 {
		t.Errorf("the form took the file of a preview: %d", got.status)
	}
}

// warnings counts what is logged.
type warnings struct {
	slog.Handler
	list []string
}

func (w *warnings) Enabled(context.Context, slog.Level) bool { return true }
func (w *warnings) Handle(_ context.Context, r slog.Record) error {
	w.list = append(w.list, r.Message)
	return nil
}

func TestPreviewsAreOffWithoutASecret(t *testing.T) {
	t.Parallel()
	var log warnings
	s := newSite(t, formpage.Config{Logger: slog.New(&log)})
	form := s.draft("MULTI", draftBlocks, "")
	for range 2 {
		if path, err := s.pages.PreviewPath(form.ID, s.clock().Add(time.Hour)); !errors.Is(err, formpage.ErrNoPreview) || path != "" {
			t.Errorf("%q %v", path, err)
		}
	}
	if len(log.list) != 1 || !strings.Contains(log.list[0], "previews are off") {
		t.Errorf("logged: %q", log.list)
	}
	with := newSite(t, formpage.Config{Secret: secret})
	link := strings.TrimPrefix(with.link(form.ID), with.server.URL)
	if p := s.get(s.server.URL + link); p.status != http.StatusNotFound {
		t.Errorf("status %d", p.status)
	}
}

// An author sees a closed form, and that it is closed.
func TestAPreviewOfAClosedForm(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{Secret: secret})
	form := s.form("MULTI", `[{"id":"a","type":"short_text","label":"Question"}]`, `{"closed":true,"closedMessage":"Too late"}`, "")
	p := s.get(s.link(form.ID) + "?lang=de")
	if p.status != http.StatusOK || !strings.Contains(p.bar(), "Das Formular ist geschlossen") || !strings.Contains(p.raw, "Question") {
		t.Errorf("%d %s %s", p.status, p.bar(), p.text("fs-main"))
	}
	if real := s.open(form, ""); real.bar() != "" {
		t.Error("the real page has the bar of a preview")
	}
}
