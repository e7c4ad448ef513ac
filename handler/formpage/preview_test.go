package formpage_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
)

var secret = []byte("a secret of all processes")

// draft makes a form and does not publish it.
func (s *site) draft(kind, blocks, settings string) formsvc.Form {
	s.t.Helper()
	d := formsvc.Definition{Blocks: json.RawMessage(blocks)}
	if settings != "" {
		d.Settings = json.RawMessage(settings)
	}
	return expect.Must(s.service.As(s.owner).CreateForm(s.t.Context(), formsvc.FormCreate{Workspace: s.place, Name: "A draft", Type: kind, Definition: d}))
}

// link is the address of a form's preview for an hour.
func (s *site) link(form formsvc.ID) string {
	s.t.Helper()
	path := expect.Must(s.pages.PreviewPath(form, s.clock().Add(time.Hour)))
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
	s.open(form, "").about("a draft is public").require(http.StatusNotFound)
	p := s.get(s.link(form.ID)).require(http.StatusOK, holds("Name"))
	for name, want := range map[string]string{"Cache-Control": "no-store", "X-Robots-Tag": "noindex, nofollow"} {
		expect.Equal(t, p.header.Get(name), want, "%s", name)
	}
	for _, want := range []string{
		"Preview.", "checked, but not stored", "Warnings: 1", "Age", "/blocks/1", "CAPTCHA (turnstile) is not checked because it is not set up for this page", "https://elsewhere.example/thanks",
	} {
		p.expect(anyStatus, shows("fs-preview", want))
	}
	// The script counts nothing of a page that says it was counted.
	p.about("the script would count a view").expect(anyStatus, value("viewed", "1"), value("started", "1"))
	if again := p.press("next"); again.status != http.StatusUnprocessableEntity || !strings.Contains(again.text("summary"), "Name Please answer this question.") || again.bar() == "" {
		t.Errorf("a fault does not show: %d %s", again.status, again.text("fs-main"))
	}
	p.values.Del("viewed") // a page that was made by hand
	p.values.Del("started")
	second := p.fill("a.name", "Ada").press("next").require(http.StatusOK, holds("Site"))
	if again := second.fill("a.site", "no site").press("next"); again.status != http.StatusUnprocessableEntity || !strings.Contains(again.text("summary"), "Site") {
		t.Errorf("a fault on the last page does not show: %d %s", again.status, again.text("fs-main"))
	}
	// Nobody has to wait as respondents do: the clock did not move.
	end := second.fill("a.site", "example.com").press("next")
	if end.status != http.StatusOK || !strings.Contains(end.raw, "<h1>Thanks</h1>") || !strings.Contains(end.bar(), "Nothing was stored") || !strings.HasPrefix(end.url, s.server.URL) {
		t.Errorf("%d at %s: %s %s", end.status, end.url, end.bar(), end.text("fs-main"))
	}
	end.about("the ending leads to a page that is not public").expect(anyStatus, lacks("data-share"))
	expect.Equal(t, len(s.answers(form)), 0, "responses are stored")
	c := s.funnel(form)
	expect.That(t, c.Views == 0 && c.Starts == 0, "the funnel counted %+v", c)
}

// A fault of a page that was passed over shows at the end.
func TestAPreviewChecksAllAnswers(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{Secret: secret})
	p := s.get(s.link(s.draft("SINGLE", threeQuestions, "").ID))
	p.values.Set("at", "age") // the last one
	p.values.Set("a.age", "3")
	p.press("next").expect(http.StatusUnprocessableEntity, shows("summary", "Name"))
}

func TestLinksThatAreNotGood(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{Secret: secret})
	form, other := s.form("MULTI", threeQuestions, "", ""), s.draft("MULTI", threeQuestions, "")
	good, foreign := s.link(form.ID), newSite(t, formpage.Config{Secret: []byte("the secret of another host")}).link(form.ID)
	start := strings.LastIndex(good, "/") + 1
	payload, signature, _ := strings.Cut(good[start:], ".")
	raw, err := base64.RawURLEncoding.DecodeString(payload)
	expect.Require(t, err == nil && strings.Contains(string(raw), form.ID.String()), "%s %v", raw, err)
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
		expect.That(t, p.status == http.StatusNotFound && !strings.Contains(p.raw, "Hello") && p.bar() == "",
			"%s: %d", name, p.status)
	}
	s.get(good).about("the good link").require(http.StatusOK)
	p := s.get(good).press("next")
	s.wait(time.Hour - time.Millisecond)
	s.get(good).about("the link ended early").expect(http.StatusOK)
	s.wait(2 * time.Millisecond)
	s.get(good).about("after its time").expect(http.StatusNotFound, holds("Form not found"))
	p.press("next").about("sent after its time").expect(http.StatusNotFound)
	if _, err := s.pages.PreviewPath(form.ID, s.clock()); err == nil {
		t.Error("a link that has ended already")
	}
}

// A file that a preview took is not one of the form.
func TestFilesOfAPreviewAreNotKept(t *testing.T) {
	t.Parallel()
	dir, path := newDir(t)
	s := newSite(t, formpage.Config{Secret: secret, Files: dir, MaxFileSize: 1000})
	form := s.form("MULTI", `[{"id":"f","type":"file_upload","label":"File","required":true}]`, "", "")
	p := s.get(s.link(form.ID))
	large := p.attach("next", [3]string{"u.f", "a.pdf", pdfBytes + strings.Repeat("x", 1001)})
	expect.That(t, strings.Contains(large.text("summary"), "too large"), "%d %s", large.status, large.text("summary"))
	p = p.attach("upload", [3]string{"u.f", "a.pdf", pdfBytes})
	token := p.values.Get("f.f")
	expect.Require(t, p.status == http.StatusOK && token != "" && strings.Contains(p.raw, "a.pdf"),
		"%d %s", p.status, p.text("fs-main"))
	p.attach("next").expect(http.StatusOK, shows("fs-preview", "Nothing was stored"))
	left, err := os.ReadDir(path)
	expect.That(t, err == nil && len(left) == 0, "%d files are stored, %v", len(left), err)
	public := s.open(form, "")
	s.wait(time.Minute)
	public.values.Set("f.f", token)
	public.press("next").about("the form took the file of a preview").expect(http.StatusUnprocessableEntity, responses(form, 0))
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
		path, err := s.pages.PreviewPath(form.ID, s.clock().Add(time.Hour))
		expect.That(t, errors.Is(err, formpage.ErrNoSecret) && path == "", "%q %v", path, err)
	}
	expect.That(t, len(log.list) == 1 && strings.Contains(log.list[0], "links to previews and edits are disabled"), "logged: %q", log.list)
	with := newSite(t, formpage.Config{Secret: secret})
	link := strings.TrimPrefix(with.link(form.ID), with.server.URL)
	s.get(s.server.URL + link).expect(http.StatusNotFound)
}

// An author sees a closed form, and that it is closed.
func TestAPreviewOfAClosedForm(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{Secret: secret})
	form := s.form("MULTI", `[{"id":"a","type":"short_text","label":"Question"}]`, `{"closed":true,"closedMessage":"Too late"}`, "")
	p := s.get(s.link(form.ID) + "?lang=de")
	p.expect(http.StatusOK, shows("fs-preview", "Das Formular ist geschlossen"), holds("Question"))
	real := s.open(form, "")
	expect.That(t, real.bar() == "", "the real page has the bar of a preview")
}

// An author sees a form that is not open yet, and when it opens.
func TestAPreviewOfAFormThatIsNotOpenYet(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{Secret: secret, MinFillTime: -1})
	form := s.form("MULTI", `[{"id":"a","type":"short_text","label":"Question"}]`, `{"openAt":"2026-08-03T11:00:00Z"}`, "")
	p := s.get(s.link(form.ID)).require(http.StatusOK, shows("fs-preview", "The form opens on 3 August 2026 at 11:00 (UTC)."), lacks("is closed"), holds("Question"))
	p.fill("a.a", "x").press("next").expect(http.StatusOK, shows("fs-preview", "Nothing was stored"))
	expect.That(t, len(s.answers(form)) == 0, "a preview is stored")
}

// canvas is the page of a form for its editor, as the browser reads it.
func (s *site) canvas(form formsvc.PublicForm) (*page, *httptest.ResponseRecorder) {
	s.t.Helper()
	answer := httptest.NewRecorder()
	s.pages.Canvas(answer, httptest.NewRequest(http.MethodGet, "/forms/-/canvas/x", nil), form)
	root, err := html.Parse(strings.NewReader(answer.Body.String()))
	expect.Require(s.t, err == nil && answer.Code == http.StatusOK, "status %d: %v", answer.Code, err)
	return &page{s: s, root: root}, answer
}

func (s *site) parts(form formsvc.PublicForm) formpage.CanvasParts {
	s.t.Helper()
	return expect.Must(s.pages.CanvasParts(httptest.NewRequest(http.MethodPost, "/forms/-/canvas/x", nil), form))
}

func publicForm(t *testing.T, kind, blocks string) formsvc.PublicForm {
	t.Helper()
	form := formsvc.PublicForm{Type: kind, Name: "A form", PublicID: "public"}
	expect.NoError(t, json.Unmarshal([]byte(blocks), &form.Blocks))
	return form
}

// An editor sees every block, in order, also those that respondents may not see, and endings
// last. Nothing runs, nothing can be sent, nothing counts.
func TestACanvasHasAllBlocks(t *testing.T) {
	s := newSite(t, formpage.Config{Verifiers: map[string]formpage.Verifier{"turnstile": sums{}}})
	stored := s.form("MULTI", `[{"id":"w","type":"welcome","label":"Hello"},{"id":"a","type":"short_text","label":"A"},
		{"id":"e","type":"ending","label":"Goodbye","properties":{"buttonLink":"https://x.example/","buttonText":"On"}},
		{"id":"h","type":"short_text","label":"Hidden","properties":{"hide":true}},{"id":"b","type":"page_break"},
		{"id":"g","type":"group","label":"G","children":[{"id":"c","type":"short_text","label":"Inside"}]},
		{"id":"r","type":"short_text","label":"Ruled","properties":{"rule":{"visible":{"==":[{"var":"answers.a"},"x"]}}}},
		{"id":"t","type":"captcha","properties":{"captchaType":"turnstile"}},
		{"id":"p","type":"statement","label":"","properties":{"image":{"url":"https://img.example/x.png"},"imageWidth":200}}]`, `{"branding":true}`, "")
	form := expect.Must(s.service.PublicForm(t.Context(), stored.PublicID))
	p, answer := s.canvas(form)
	var blocks, inEnds []string
	p.each(func(n *html.Node) {
		if has(n, "data-block") {
			blocks = append(blocks, attr(n, "data-block"))
		}
		if attr(n, "class") == "fs-ends" {
			for child := range n.Descendants() {
				if has(child, "data-block") {
					inEnds = append(inEnds, attr(child, "data-block"))
				}
			}
		}
		expect.That(t, n.Data != "script" && n.Data != "form" && n.Data != "iframe" && attr(n, "name") != "state",
			"there is a %s %s", n.Data, attr(n, "name"))
		for _, a := range n.Attr {
			expect.That(t, !strings.HasPrefix(a.Key, "on") && a.Key != "style" && a.Key != "autofocus", "%s has %s", n.Data, a.Key)
		}
	})
	if want := []string{"w", "a", "h", "b", "g", "c", "r", "t", "p", "e"}; !slices.Equal(blocks, want) || !slices.Equal(inEnds, []string{"e"}) {
		t.Errorf("blocks %q, in the end %q, want %q", blocks, inEnds, want)
	}
	for _, text := range []string{"Hidden", "Ruled", "Inside", "Goodbye"} {
		expect.That(t, strings.Contains(answer.Body.String(), text), "%q is not there", text)
	}
	h := answer.Header()
	nonce := attr(p.find(func(n *html.Node) bool { return n.Data == "style" }), "nonce")
	if want := "default-src 'none'; base-uri 'none'; object-src 'none'; script-src 'none'; form-action 'none'; frame-ancestors 'self'; style-src 'nonce-" + nonce +
		"'; img-src 'self' data: http: https:; media-src http: https:"; h.Get("Content-Security-Policy") != want || nonce == "" || h.Get("Cache-Control") != "no-store" {
		t.Errorf("headers %v, want the policy\n%s", h, want)
	}
	m := s.funnel(stored)
	expect.That(t, m.Views == 0 && m.Starts == 0, "%d views, %d starts", m.Views, m.Starts)
	rules := p.find(func(n *html.Node) bool { return has(n, "data-style") })
	id, rest, _ := strings.Cut(attr(rules, "data-style"), " ")
	if strings.TrimSpace(rest) != ".pic img{width:200px}" || p.find(func(n *html.Node) bool { return "#"+attr(n, "id") == id }) == nil {
		t.Errorf("the width of the picture is %q", attr(rules, "data-style"))
	}
}

// A block that is drawn alone is drawn as it is among the others, so it can take its own place.
func TestPartsOfACanvasFitIn(t *testing.T) {
	for _, kind := range []string{"MULTI", "SINGLE"} {
		s := newSite(t, formpage.Config{})
		form := publicForm(t, kind, every)
		form.Theme.Colors = &schema.Colors{Palette: schema.Palette{Primary: "#aa0000"}}
		_, answer := s.canvas(form)
		whole := s.parts(form)
		body := answer.Body.String()
		expect.That(t, strings.Contains(body, ` data-theme>`+whole.Style) && strings.Contains(whole.Style, "#aa0000"),
			"the document has not the style %s", whole.Style)
		if strings.Contains(whole.Frame, "data-block") || !strings.Contains(whole.Frame, `class="fs-fields"`) || !strings.Contains(whole.Frame, `class="fs-ends"`) {
			t.Errorf("around the blocks is %s", whole.Frame)
		}
		for i, block := range form.Blocks {
			one := form
			one.Blocks = form.Blocks[i : i+1]
			part := s.parts(one)
			if part.Blocks[0] != whole.Blocks[i] || part.Blocks[0].ID != block.ID || !strings.Contains(body, part.Blocks[0].HTML) || part.Frame != whole.Frame {
				t.Errorf("%s: %q is alone\n%s\nand among others\n%s", kind, block.ID, part.Blocks[0], whole.Blocks[i])
			}
		}
	}
}

// What is not finished yet is shown: each type without anything, with empty properties and lists, and
// with properties of other types. An unknown type, and a block without an id, are too.
func TestACanvasOfUnfinishedBlocks(t *testing.T) {
	s := newSite(t, formpage.Config{})
	types := []string{"", "unheard_of"}
	for kind := range schema.BlockTypes() {
		types = append(types, kind.Type)
	}
	for _, rest := range []string{
		"", `,"properties":{}`, `,"choices":[],"children":[],"matrix_rows":[],"matrix_columns":[]`,
		`,"choices":[{"id":""}],"children":[{"id":"x"}],"matrix_rows":[{"id":"r"}],"matrix_columns":[{"id":"c"}]`,
		`,"label":"<b onclick=x>","properties":{"from":5,"to":-5,"scaleStep":-1,"min":9,"max":1,"minVal":true,"maxVal":true,"perRow":-3,"limit":-1,"dateFormat":"","image":[1],
		"icon":"none","captchaType":"turnstile","videoLink":"javascript:x","embedLink":":","pdfLink":"x","imageWidth":-1,"timeFormat":9,"legalType":7,"maxChars":-1}`,
	} {
		for _, kind := range []string{"MULTI", "SINGLE"} {
			var blocks []string
			for _, typ := range types {
				blocks = append(blocks, fmt.Sprintf(`{"id":"it %s","type":%q%s}`, typ, typ, rest))
			}
			p, _ := s.canvas(publicForm(t, kind, "["+strings.Join(blocks, ",")+"]"))
			for _, typ := range types {
				block := p.find(func(n *html.Node) bool { return attr(n, "data-block") == "it "+typ })
				shows := false
				for n := range block.Descendants() {
					shows = shows || strings.TrimSpace(n.Data) != "" && n.Type == html.TextNode || attr(n, "class") == "fs-none" || n.Data == "hr" || n.Data == "fieldset"
					expect.That(t, (n.Data != "b" || !has(n, "onclick")) && !strings.HasPrefix(attr(n, "href"), "javascript"),
						"%s: %s runs", typ, n.Data)
				}
				expect.That(t, shows, "%s%s shows nothing", typ, rest)
			}
		}
	}
}

// A canvas is bounded as a page is, and has an element for every block.
func TestACanvasThatIsTooLarge(t *testing.T) {
	s := newSite(t, formpage.Config{})
	lines := make([]string, 500)
	for i := range lines {
		lines[i] = fmt.Sprintf(`{"id":"%d","label":"Line %d"}`, i, i)
	}
	list := "[" + strings.Join(lines, ",") + "]"
	var grids []string
	for i := range 3 {
		grids = append(grids, fmt.Sprintf(`{"id":"g%d","type":"matrix","matrix_rows":%s,"matrix_columns":%s}`, i, list, list))
	}
	parts := s.parts(publicForm(t, "MULTI", "["+strings.Join(grids, ",")+"]"))
	size := 0
	for _, part := range parts.Blocks {
		size += len(part.HTML)
	}
	if len(parts.Blocks) != 3 || size > 4<<20 || size < 3<<20 || !strings.Contains(parts.Blocks[2].HTML, `data-block="g2"`) || !strings.Contains(parts.Blocks[2].HTML, "fs-none") {
		t.Errorf("%d blocks, %d bytes, the last %s", len(parts.Blocks), size, parts.Blocks[2].HTML)
	}
}
