package formpage_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// A stencil writes what html/template writes, but for "+", which needs no escape.
func TestStencilsWriteWhatTemplatesWrite(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{Files: newCosts(t).files})
	plain := s.form("MULTI", every, "", "")
	odd := `<b>'\"&amp;+\u0001</b>`
	hostile := s.form("MULTI", strings.NewReplacer(`"label":"`, `"label":"`+odd, `"description":"`, `"description":"`+odd, `"properties":{`, `"required":true,"properties":{"placeholderText":"`+odd+`",`).
		Replace(strings.NewReplacer(`"required":true,`, "", `,"placeholderText":"A word"`, "").Replace(every)), "", "")
	text := `"><script>'&+` + "\x00é\r\n"
	values, faults := url.Values{}, []schema.Violation{}
	for _, b := range strings.Split("short long email phone site number yes legal one drop date when time country inner parts", " ") {
		for _, prefix := range []string{"a.", "o.", "d.", "t.", "k.a.", "p.city."} {
			values.Set(prefix+b, text)
		}
		faults = append(faults, schema.Violation{Field: b, Code: schema.CodeRequired})
	}
	values.Set("p.city.address", text)
	values["a.many"], values["a.one"], values["k.a.rank"], values["r.r2.grid"] = []string{"id:a", "other"}, []string{"id:b"}, []string{"2"}, []string{"id:c1"}
	faults = append(faults, schema.Violation{Field: "address", Path: "/answers/address/city", Code: schema.CodeRequired}, schema.Violation{Field: "grid", Code: schema.CodeRequired})
	for _, form := range []string{plain.PublicID, hostile.PublicID} {
		public, err := s.service.PublicForm(t.Context(), form)
		if err != nil {
			t.Fatal(err)
		}
		for _, given := range []url.Values{{}, values} {
			ours, theirs, err := s.pages.DrawBoth(public, given, faults[:min(len(faults), 100*len(given))])
			if theirs = strings.ReplaceAll(theirs, "&#43;", "+"); err != nil || ours != theirs || len(ours) < 40_000 {
				at := 0
				for at < min(len(ours), len(theirs)) && ours[at] == theirs[at] {
					at++
				}
				t.Errorf("%v at %d:\n%.200s\nby html/template:\n%.200s", err, at, ours[max(0, at-50):], theirs[max(0, at-50):])
			}
		}
	}
}

// Every value that a field can have is escaped as html/template escapes it.
func TestStencilsEscapeEveryValue(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("templates/fields.html")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for _, condition := range regexp.MustCompile(`eq \.Kind((?: "\w+")+)`).FindAllStringSubmatch(string(raw), -1) {
		for _, kind := range strings.Fields(condition[1]) {
			kinds[strings.Trim(kind, `"`)] = true
		}
	}
	if len(kinds) < 25 {
		t.Errorf("only %d kinds: %v", len(kinds), kinds)
	}
	for kind := range kinds {
		for _, text := range []string{"", "plain", `"><script>alert(1)</script>`, `' onload='x' & &lt; "`, "`{}=/\\;\x00\n\u2028", "javascript:alert(1)", "{{.}} ]]> --> <!--"} {
			for _, on := range []bool{true, false} {
				ours, theirs, err := formpage.DrawFilled(kind, on, text)
				if theirs = strings.ReplaceAll(theirs, "&#43;", "+"); err != nil || ours != theirs {
					at := 0
					for at < min(len(ours), len(theirs)) && ours[at] == theirs[at] {
						at++
					}
					t.Errorf("%s with %q: %v at %d:\n%.200s\nby html/template:\n%.200s", kind, text, err, at, ours[max(0, at-90):], theirs[max(0, at-90):])
				}
			}
		}
	}
}

// What a stencil does not know of templates ends the program when it starts.
func TestStencilsRefuseWhatTheyDoNotKnow(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{{.Label | printf "%q"}}`, `{{printf .Label}}`, `{{.Required}}`, `{{.Options}}`, `{{.Nobody}}`, `{{print .Number}}`, `{{1}}`, `{{true}}`,
		`{{with .Label}}{{.}}{{else}}x{{end}}`, `{{range .Options}}{{else}}x{{end}}`, `{{range .Options}}{{break}}{{end}}`, `{{with $x := .Label}}{{$x}}{{end}}`,
		`{{if $x := .Label}}{{$x}}{{end}}`, `{{if eq .Number 1}}{{end}}`, `{{if lt .Number 1}}{{end}}`, `{{if .Label | len}}{{end}}`, `{{or .Label .Help .Fault}}`,
		`{{$x := .Label}}{{$x := .Number}}`, `{{$a := .Label}}{{$b := .Label}}{{$c := .Label}}{{$d := .Label}}{{$e := .Label}}{{$f := .Label}}`, `{{.Help.T "yes"}}{{slice .Label 1}}`,
	} {
		if formpage.CompileStencil(text) == nil {
			t.Errorf("%s is compiled", text)
		}
	}
	if unknown := formpage.CompileStencil(`{{$x := .Label}}{{range $i, $o := .Options}}{{if and $i (ne .Value "x")}}{{$x}}{{.Label}}{{end}}{{end}}{{or .Help (.T "yes")}}{{len .Options}}{{.T "required"}}`); unknown != nil {
		t.Error(unknown)
	}
}

// A form that was stored before there was a limit is drawn up to 4 MiB, and says what is
// missing.
func TestAFormThatIsTooLargeIsDrawnAsFarAsThereIsRoom(t *testing.T) {
	c := newCosts(t)
	lines := func(n int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf(`{"id":"%d","label":"Line %d"}`, i, i)
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	grid := `{"id":"%s","type":"matrix","label":"The <grid> %s","required":true,"matrix_rows":` + lines(500) + `,"matrix_columns":` + lines(500) + `}`
	blocks := `[{"id":"first","type":"short_text","label":"First"},` + fmt.Sprintf(grid, "a", "a") + "," + fmt.Sprintf(grid, "b", "b") + `,{"id":"last","type":"short_text","label":"Last"}]`
	form := c.stored(blocks)
	var page *httptest.ResponseRecorder
	get := func() {
		page = httptest.NewRecorder()
		c.pages.ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/f/"+form.PublicID, nil))
	}
	get()
	body := page.Body.String()
	if page.Code != http.StatusOK || len(body) > 4<<20 || len(body) < 3<<20 || !strings.Contains(body, "Line 499") {
		t.Errorf("%d, %d bytes", page.Code, len(body))
	}
	note := "from “The &lt;grid&gt; a” on, 3 questions or texts are missing or not shown in full."
	if !strings.Contains(body, note) || !strings.Contains(body, "First") || strings.Contains(body, "Last") || !strings.HasSuffix(body, "</body>\n</html>\n") {
		t.Errorf("the page lacks %q, or ends with %q", note, body[len(body)-300:])
	}
	if bytes := allocated(func() { c.serve(form, sent{method: http.MethodGet}) }); bytes > mostAllocated && !raceDetector {
		t.Errorf("the page allocates %d bytes", bytes)
	}
	// Five hundred wrong rows are worded without a draw.
	rows := map[string]any{}
	for i := range 500 {
		rows[fmt.Sprint(i)] = "none"
	}
	answers, _ := json.Marshal(map[string]any{"state": c.state(form), "answers": map[string]any{"a": rows}})
	var w *sink
	path := sent{http.MethodPost, "/path", "application/json", string(answers)}
	c.serve(form, path)
	if bytes := allocated(func() { w = c.serve(form, path) }); bytes > 4_000_000 || w.status != http.StatusOK || w.size < 5_000 {
		t.Errorf("status %d, %d bytes, %d allocated", w.status, w.size, bytes)
	}
}

// stored puts a form into the storage as it is.
func (c *costs) stored(blocks string) formsvc.PublicForm {
	c.tb.Helper()
	form, err := c.svc.AsHost().CreateForm(c.tb.Context(), newForm(c.place))
	if err == nil {
		form, err = c.svc.AsHost().PublishForm(c.tb.Context(), form.ID)
	}
	if err == nil {
		_, err = c.store.UpdateForm(context.Background(), storage.AsHost(), form.ID, storage.FormChange{
			Definition: storage.Definition{Blocks: json.RawMessage(blocks), Format: 1}, At: c.now,
		})
	}
	if err != nil {
		c.tb.Fatal(err)
	}
	public, err := c.svc.PublicForm(c.tb.Context(), form.PublicID)
	if err != nil {
		c.tb.Fatal(err)
	}
	return public
}
