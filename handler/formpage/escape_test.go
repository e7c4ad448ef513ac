package formpage_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
)

// What stands where a text of the author or of the respondent may stand.
const (
	harmless = "plain-words"
	hostile  = `"><script>x</script>' on='x' &amp; &lt; {{x}} --> <!-- é`
)

// kept are members that choose the HTML of a page, or that have tests of their own.
var kept = []string{"type", "dateFormat", "url", "buttonLink", "videoLink", "pdfLink", "embedLink", "image"}

// withText puts a text into every member of a definition that is one.
func withText(v any, text string) any {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if _, isText := member.(string); !isText || !slices.Contains(kept, name) {
				v[name] = withText(member, text)
			}
			if id, ok := member.(string); ok && (name == "id" || name == "imageAlign") {
				v[name] = id + text
			}
		}
	case []any:
		for i := range v {
			v[i] = withText(v[i], text)
		}
	case string:
		return text
	}
	return v
}

// elements are numbers made of the ids of blocks.
var elements = regexp.MustCompile(`\b[qc]\d{9,}`)

// textDigest is the value of a legal block's input, which depends on its text.
var textDigest = regexp.MustCompile(`^(true|false)\.[\w-]{22}$`)

// tokensOf are what a browser reads of a page, but for its tokens of a visit.
func tokensOf(page string) (list []string) {
	z := html.NewTokenizer(strings.NewReader(page))
	for z.Next() != html.ErrorToken {
		t := z.Token()
		switch {
		case slices.Contains(t.Attr, html.Attribute{Key: "name", Val: "state"}):
			t.Attr = nil
		case t.Data == "style" || t.Data == "script":
			t.Attr = slices.DeleteFunc(t.Attr, func(a html.Attribute) bool { return a.Key == "nonce" })
		}
		text := t.Type.String() + " " + t.Data
		for _, a := range t.Attr {
			text += "\n" + a.Key + "=" + textDigest.ReplaceAllString(a.Val, "$1")
		}
		list = append(list, text)
	}
	return list
}

// A browser reads every text of a form, and everything typed, as the text that it is: in a
// page with hostile ones nothing else changes.
func TestEveryTextOfAPageIsEscaped(t *testing.T) {
	c := newCosts(t)
	var blocks []map[string]any
	expect.NoError(t, json.Unmarshal([]byte(every), &blocks))
	const everything = `{"placeholderText":"x","image":{"url":"https://a.example/x.png"},"imageAlt":"x","imageAlign":"x","buttonText":"x","otherText":"x","badgeType":"letter",
		"dateSeparator":"x","showTimePicker":true,"leftLabel":true,"firstLabel":"x","centerLabel":true,"secondLabel":"x","rightLabel":true,"thirdLabel":"x",
		"otherOption":true,"legalText":"x","amount":"1","currency":"EUR","quotationMarks":true,"multipleFiles":true,"maxChars":1000}`
	for i, block := range blocks {
		kept, _ := block["properties"].(map[string]any)
		if kept == nil {
			kept = map[string]any{}
		}
		_ = json.Unmarshal([]byte(everything), &kept)
		if block["type"] == "legal" && i%2 == 0 {
			kept["legalType"] = 0
		}
		delete(kept, "hide")
		block["properties"], block["description"] = kept, "x"
		for _, list := range []string{"choices", "matrix_rows", "matrix_columns"} {
			choices, _ := block[list].([]any)
			for _, choice := range choices {
				choice.(map[string]any)["alt"] = "x"
			}
		}
	}
	raw, _ := json.Marshal(blocks)
	drawn := map[string][]string{}
	for _, text := range []string{harmless, hostile} {
		var definition any
		_ = json.Unmarshal(raw, &definition)
		changed, _ := json.Marshal(withText(definition, text))
		form := c.stored(string(changed))
		ask := func(method, body string) string {
			w := httptest.NewRecorder()
			r := httptest.NewRequest(method, "/f/"+form.PublicID, strings.NewReader(body))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			c.pages.ServeHTTP(w, r)
			expect.Require(t, w.Code == http.StatusOK || w.Code == http.StatusUnprocessableEntity, "status %d", w.Code)
			return strings.ReplaceAll(w.Body.String(), form.PublicID, "")
		}
		first := ask(http.MethodGet, "")
		values := url.Values{"state": {c.state(form)}}
		z := html.NewTokenizer(strings.NewReader(first))
		for z.Next() != html.ErrorToken {
			for _, a := range z.Token().Attr {
				if a.Key == "name" && len(a.Val) > 2 && a.Val[1] == '.' && a.Val[0] != 'f' && a.Val[0] != 'u' && a.Val[0] != 'x' {
					values.Set(a.Val, text)
				}
			}
		}
		for _, press := range []string{"stay", "next"} {
			values.Set("go", press)
			drawn[press] = append(drawn[press], ask(http.MethodPost, values.Encode()))
		}
		drawn["first"] = append(drawn["first"], first)
		canvas := httptest.NewRecorder()
		c.pages.Canvas(canvas, httptest.NewRequest(http.MethodGet, "/", nil), form)
		drawn["canvas"] = append(drawn["canvas"], elements.ReplaceAllString(canvas.Body.String(), "q"))
	}
	for name, pages := range drawn {
		expect.That(t, !strings.Contains(pages[1], "on='x'"), "%s: an apostrophe is not escaped", name)
		want, got := tokensOf(pages[0]), tokensOf(pages[1])
		for i := range want {
			want[i] = strings.ReplaceAll(want[i], url.QueryEscape(harmless), harmless)
			want[i] = strings.ReplaceAll(want[i], harmless, hostile)
			want[i] = strings.ReplaceAll(want[i], strings.ToUpper(harmless), strings.ToUpper(hostile)) // the code of a country
			if i < len(got) {
				got[i] = strings.ReplaceAll(got[i], url.QueryEscape(hostile), hostile)
			}
			if i >= len(got) || got[i] != want[i] {
				t.Errorf("%s: token %d of %d is\n%q, want\n%q", name, i, len(want), got[min(i, len(got)-1)], want[i])
				break
			}
		}
		expect.That(t, len(got) == len(want) && len(want) >= 500, "%s: %d tokens, want %d", name, len(got), len(want))
	}
}

// blockOf is a block of a type with all that some type needs.
func blockOf(typ string) string {
	list := `[{"id":"x","label":"X"},{"id":"y","label":"Y"}]`
	return fmt.Sprintf(`[{"id":"b","type":%q,"label":"The label of it","choices":%s,"matrix_rows":%s,"matrix_columns":%s}]`, typ, list, list, list)
}

// notDrawn are the texts of blocks that the first page does not show, each with its reason.
var notDrawn = map[string]string{
	"number numberFormat":    "how a number is written follows from the visitor's language",
	"date dateSeparator":     "showDatePicker, which is set too, draws one input",
	"payment paymentGateway": "the host takes the payment",
	"captcha imageAlt":       "it has no picture",
	"divider imageAlt":       "it has no picture",
	"page_break imageAlt":    "nothing of it is drawn",
	"ending buttonText":      "it is shown when the response was sent",
	"ending imageAlt":        "it is shown when the response was sent",
}

// A text that an owner sets for a type of blocks is on the page, and is only text there.
func TestEveryTextOfABlockIsDrawn(t *testing.T) {
	t.Parallel()
	c := newCosts(t)
	for k := range schema.BlockTypes() {
		set := map[string]any{"image": map[string]string{"url": "https://a.example/x.png"}}
		for _, p := range k.Properties() {
			switch {
			case p.Type == schema.PropertyText:
				set[p.Name] = p.Name + "<i>"
			case p.Type == schema.PropertyBoolean && p.Name != "hide":
				set[p.Name] = true
			}
		}
		properties := expect.Must(json.Marshal(set))
		blocks := strings.Replace(blockOf(k.Type), `"id":"b"`, `"id":"b","properties":`+string(properties), 1)
		w := httptest.NewRecorder()
		c.pages.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/f/"+c.stored(blocks).PublicID, nil))
		page := w.Body.String()
		for _, p := range k.Properties() {
			if p.Type != schema.PropertyText {
				continue
			}
			place := k.Type + " " + p.Name
			drawn := strings.Contains(page, p.Name+"&lt;i")
			expect.That(t, drawn != (notDrawn[place] != ""), "the page shows %s: %t", place, drawn)
			expect.That(t, !strings.Contains(page, p.Name+"<i>"), "%s is not escaped", place)
		}
	}
}
