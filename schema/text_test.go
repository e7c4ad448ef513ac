package schema

import (
	"strings"
	"testing"

	"github.com/formsvc/formsvc/internal/lab/expect"
)

func TestTextsAsHTML(t *testing.T) {
	values := func(name string) string {
		return map[string]string{"answers.n": "**x** [a](javascript:alert(1))", "hidden.lines": "one\n\ttwo\u2003\u2028three", "variables.euros": " 1\u202f234\u00a0€\n", "today": "1 May 2027"}[name]
	}
	for source, want := range map[string]string{
		"":                             "",
		"plain & <b>":                  "plain &amp; &lt;b&gt;",
		"**strong** _em_":              "<strong>strong</strong> <em>em</em>",
		"_**both**_ after":             "<em><strong>both</strong></em> after",
		"**a _b_ c**":                  "<strong>a <em>b</em> c</strong>",
		"**a _b** c_":                  "<strong>a _b</strong> c_",
		"snake_case_name and __init__": "snake_case_name and __init__",
		"2 * 3 ** 4":                   "2 * 3 ** 4",
		"Name: ____ **":                "Name: ____ **",
		`\**no\** \_no\_ \[a](https://a.example) \{{today}} \\ \a`: `**no** _no_ [a](https://a.example) {{today}} \ \a`,
		"[privacy](https://a.example/p_q_r?a=1&b=2)":               `<a href="https://a.example/p_q_r?a=1&amp;b=2" target="_blank" rel="noopener">privacy</a>`,
		"[**a** _b_](mailto:a@b.example)c":                         `<a href="mailto:a@b.example" target="_blank" rel="noopener"><strong>a</strong> <em>b</em></a>c`,
		"**see [a](https://a.example)**":                           `<strong>see <a href="https://a.example" target="_blank" rel="noopener">a</a></strong>`,
		"**a [b** c](https://a.example)":                           `**a <a href="https://a.example" target="_blank" rel="noopener">b** c</a>`,
		"[a](https://a.example/(b))!":                              `<a href="https://a.example/(b)" target="_blank" rel="noopener">a</a>!`,
		"[a [b](https://b.example)](https://a.example)":            `[a <a href="https://b.example" target="_blank" rel="noopener">b</a>](https://a.example)`,
		"[a](https://a.example)[b](https://a.example)":             `<a href="https://a.example" target="_blank" rel="noopener">a</a><a href="https://a.example" target="_blank" rel="noopener">b</a>`,
		"[x](javascript:alert(1)) [y](/relative) [z](https://a b)": "[x](javascript:alert(1)) [y](/relative) [z](https://a b)",
		"[](https://a.example) [a] (b) [c]":                        "[](https://a.example) [a] (b) [c]",
		"[a](https://a.example/{{answers.n}})":                     "[a](https://a.example/<bdi>**x** [a](javascript:alert(1))</bdi>)",
		"**{{answers.n}}**, {{hidden.lines}}":                      "<strong><bdi>**x** [a](javascript:alert(1))</bdi></strong>, <bdi>one two three</bdi>",
		"{{variables.euros}}":                                      "<bdi>1\u202f234\u00a0€</bdi>", // a browser must not break the number
		"{{today}}{{answers.none}}{{}}{{open":                      "<bdi>1 May 2027</bdi>{{}}{{open",
		"**{{today**}} {{x}} {{ today }}":                          "<strong>{{today</strong>}} {{x}} ",
	} {
		expect.Equal(t, ParseText(source, Formatting|Insertions).HTML(values), want, "%s", source)
	}
}

func TestTextsAsPlainText(t *testing.T) {
	text := ParseText(`I agree to the [**privacy** policy](https://a.example) and [terms](https://b.example)\_{{today}}.`, Formatting)
	expect.Equal(t, text.Plain(), "I agree to the privacy policy and terms_{{today}}.", "the plain text")
	expect.Equal(t, text.PlainWithLinks(), "I agree to the privacy policy (https://a.example) and terms (https://b.example)_{{today}}.", "with links")
	expect.That(t, ParseText("a {{today}}", Formatting).IsPlain() && !ParseText("a {{today}}", Insertions).IsPlain(), "insertions are not plain")
	expect.Equal(t, ParseText("**a** {{today}} [b](https://c.example)", Insertions).Insert(func(string) string { return "now" }), "**a** now [b](https://c.example)", "of a button")
}

func TestMalformedMarksOfTexts(t *testing.T) {
	for source, want := range map[string]int{
		"snake_case __init__ ____ * ** [a] (b)": 0, "**open": 1, "closed**": 1, "_open": 1, "**a _b** c_": 2,
		"[a](javascript:x)": 1, "[a](https://a.example": 1, "[](https://a.example)": 1, "**ok** _ok_ [ok](tel:+4930)": 0,
		strings.Repeat("{{today}}", MaxInsertions): 0, strings.Repeat("{{today}}", MaxInsertions+2): 2, strings.Repeat("_a ", 50): 10,
	} {
		expect.Equal(t, len(ParseText(source, Formatting|Insertions).Malformed()), want, "%s", source)
	}
}

func TestInsertedValuesAreLimited(t *testing.T) {
	long := func(string) string { return strings.Repeat("ä", 600) }
	expect.Equal(t, ParseText("{{today}}", Insertions).Insert(long), strings.Repeat("ä", MaxInsertedCharacters), "one value")
	many := ParseText(strings.Repeat("{{today}}", MaxInsertions), Insertions).Insert(long)
	expect.Equal(t, many, strings.Repeat("ä", MaxInsertedTotal), "all values")
}

// The only markup of a text's HTML are the elements that its marks stand for, and plain texts stay as they are.
func FuzzText(f *testing.F) {
	for _, seed := range []string{"**a _b_ [c](https://d.example)**", `\*_[]({{today}}`, "<script>{{answers.a}}</script>", "[[a](b)](c)", "**_**_**"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		text := ParseText(source, Formatting|Insertions)
		checkElements(t, text.HTML(func(name string) string { return "<b>" + name + `" onclick="` }))
		checkElements(t, text.HTML(nil))
		if text.IsPlain() && !strings.Contains(source, `\`) {
			expect.Equal(t, text.Plain(), source, "the plain text")
		}
		escaped := escapeAll(text.Plain())
		expect.Equal(t, ParseText(escaped, Formatting|Insertions).Plain(), text.Plain(), "the escaped plain text")
	})
}

// escapeAll escapes all ASCII punctuation.
func escapeAll(text string) string {
	var b strings.Builder
	for i := range len(text) {
		if isASCIIPunctuation(text[i]) {
			b.WriteByte('\\')
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// checkElements checks that HTML has only balanced elements of texts.
func checkElements(t *testing.T, html string) {
	t.Helper()
	var open []string
	for rest := html; ; {
		before, after, found := strings.Cut(rest, "<")
		expect.Require(t, !strings.ContainsAny(before, `"'>`) || strings.Contains(before, "&#34;") || !found && !strings.ContainsAny(before, `"'`), "%s contains %s", html, before)
		if !found {
			break
		}
		tag, next, closed := strings.Cut(after, ">")
		expect.Require(t, closed, "%s has an open tag", html)
		rest = next
		name, attributes, _ := strings.Cut(tag, " ")
		if ended, isEnd := strings.CutPrefix(name, "/"); isEnd {
			expect.Require(t, len(open) > 0 && open[len(open)-1] == ended, "%s closes %s", html, ended)
			open = open[:len(open)-1]
			continue
		}
		isLink := strings.HasPrefix(attributes, `href="`) && strings.HasSuffix(attributes, `" target="_blank" rel="noopener"`) && strings.Count(attributes, `"`) == 6
		expect.Require(t, name == "a" && isLink || attributes == "" && (name == "strong" || name == "em" || name == "bdi"), "%s contains <%s>", html, tag)
		open = append(open, name)
	}
	expect.Require(t, len(open) == 0, "%s leaves %v open", html, open)
}

// manyMarks are repeated in long texts.
var manyMarks = map[string]string{
	"strong": "**a** ", "open": "**a ", "links": "[a](https://a.example) ", "brackets": "[[a](", "parentheses": "[](", "escapes": `\*`, "braces": "{{a",
	"nested": "_**", "mixed": "**a _b [c](https://d.example/", "insertions": "{{today}}",
}

func BenchmarkText(b *testing.B) {
	for name, unit := range manyMarks {
		for _, n := range []int{500, 5000} {
			source := strings.Repeat(unit, n)
			b.Run(name+"/"+map[int]string{500: "500", 5000: "5000"}[n], func(b *testing.B) {
				for b.Loop() {
					ParseText(source, Formatting|Insertions).HTML(nil)
				}
			})
		}
	}
}
