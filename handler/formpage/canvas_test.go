package formpage_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/schema"
)

// canvas is the page of a form for its editor, as the browser reads it.
func (s *site) canvas(form formsvc.PublicForm) (*page, *httptest.ResponseRecorder) {
	s.t.Helper()
	answer := httptest.NewRecorder()
	s.pages.Canvas(answer, httptest.NewRequest(http.MethodGet, "/forms/-/canvas/x", nil), form)
	root, err := html.Parse(strings.NewReader(answer.Body.String()))
	if err != nil || answer.Code != http.StatusOK {
		s.t.Fatalf("status %d: %v", answer.Code, err)
	}
	return &page{s: s, root: root}, answer
}

func (s *site) parts(form formsvc.PublicForm) formpage.CanvasParts {
	s.t.Helper()
	return must(s.pages.CanvasParts(httptest.NewRequest(http.MethodPost, "/forms/-/canvas/x", nil), form))
}

func publicForm(t *testing.T, kind, blocks string) formsvc.PublicForm {
	t.Helper()
	form := formsvc.PublicForm{Type: kind, Name: "A form", PublicID: "public"}
	noError(t, json.Unmarshal([]byte(blocks), &form.Blocks))
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
	form := must(s.service.PublicForm(t.Context(), stored.PublicID))
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
		if n.Data == "script" || n.Data == "form" || n.Data == "iframe" || attr(n, "name") == "state" {
			t.Errorf("there is a %s %s", n.Data, attr(n, "name"))
		}
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "autofocus" {
				t.Errorf("%s has %s", n.Data, a.Key)
			}
		}
	})
	if want := []string{"w", "a", "h", "b", "g", "c", "r", "t", "p", "e"}; !slices.Equal(blocks, want) || !slices.Equal(inEnds, []string{"e"}) {
		t.Errorf("blocks %q, in the end %q, want %q", blocks, inEnds, want)
	}
	for _, text := range []string{"Hidden", "Ruled", "Inside", "Goodbye"} {
		if !strings.Contains(answer.Body.String(), text) {
			t.Errorf("%q is not there", text)
		}
	}
	h := answer.Header()
	nonce := attr(p.find(func(n *html.Node) bool { return n.Data == "style" }), "nonce")
	if want := "default-src 'none'; base-uri 'none'; object-src 'none'; script-src 'none'; form-action 'none'; frame-ancestors 'self'; style-src 'nonce-" + nonce +
		"'; img-src 'self' data: http: https:; media-src http: https:"; h.Get("Content-Security-Policy") != want || nonce == "" || h.Get("Cache-Control") != "no-store" {
		t.Errorf("headers %v, want the policy\n%s", h, want)
	}
	if m := s.funnel(stored); m.Views != 0 || m.Starts != 0 {
		t.Errorf("%d views, %d starts", m.Views, m.Starts)
	}
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
		if !strings.Contains(body, ` data-theme>`+whole.Style) || !strings.Contains(whole.Style, "#aa0000") {
			t.Errorf("the document has not the style %s", whole.Style)
		}
		if strings.Contains(whole.Around, "data-block") || !strings.Contains(whole.Around, `class="fs-fields"`) || !strings.Contains(whole.Around, `class="fs-ends"`) {
			t.Errorf("around the blocks is %s", whole.Around)
		}
		for i, block := range form.Blocks {
			one := form
			one.Blocks = form.Blocks[i : i+1]
			part := s.parts(one)
			if part.Blocks[0] != whole.Blocks[i] || part.Blocks[0].ID != block.ID || !strings.Contains(body, part.Blocks[0].HTML) || part.Around != whole.Around {
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
	for kind := range schema.Kinds() {
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
					if n.Data == "b" && has(n, "onclick") || strings.HasPrefix(attr(n, "href"), "javascript") {
						t.Errorf("%s: %s runs", typ, n.Data)
					}
				}
				if !shows {
					t.Errorf("%s%s shows nothing", typ, rest)
				}
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
