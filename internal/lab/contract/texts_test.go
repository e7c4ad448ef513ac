package contract

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/yuin/goldmark"

	"github.com/formsvc/formsvc/schema"
)

// pieces make texts with the marks that form texts share with CommonMark, and no others.
var pieces = []string{
	"a", "bc", "é", "7", "日", " ", " ", " ", ".", ",", "(", ")", "\"", "'", "-", "**", "**", "**", "_", "_", "_", "[", "[", "]", "](https://a.example/x_y)", "](https://a.example/?p=(q))", "](mailto:a@b.example)",
	`\*`, `\_`, `\[`, `\]`, `\\`, `\a`, "](https://a.example x", "](x y)",
}

// withoutNested removes elements inside an element of the same name, which form texts do not have.
func withoutNested(html string) string {
	var b strings.Builder
	depth := map[string]int{}
	for html != "" {
		before, rest, _ := strings.Cut(html, "<")
		b.WriteString(before)
		tag, after, found := strings.Cut(rest, ">")
		if html = after; !found {
			break
		}
		name, isEnd := strings.CutPrefix(tag, "/")
		if isEnd {
			depth[name]--
		}
		if depth[name] == 0 || name != "strong" && name != "em" {
			b.WriteString("<" + tag + ">")
		}
		if !isEnd {
			depth[name]++
		}
	}
	return b.String()
}

// A CommonMark parser reads the marks of form texts in the same way.
func TestTextsAgainstGoldmark(t *testing.T) {
	t.Parallel()
	formatted := 0
	for seed := range uint64(50_000) {
		random := rand.New(rand.NewPCG(seed, 46))
		source := "x "
		for range 1 + random.IntN(24) {
			source += pieces[random.IntN(len(pieces))]
		}
		source += " x"
		// Form texts have no longer runs, and no links without a text or with other URLs.
		others := strings.NewReplacer("](https", "", "](mailto", "", "](x y", "").Replace(source)
		if strings.Contains(source, "***") || strings.Contains(source, "__") || strings.Contains(source, "[](") || strings.Contains(others, "](") {
			continue
		}
		var out bytes.Buffer
		noError(t, goldmark.Convert([]byte(source), &out))
		want := strings.TrimSuffix(strings.TrimPrefix(out.String(), "<p>"), "</p>\n")
		want = withoutNested(strings.NewReplacer("&quot;", "&#34;", "'", "&#39;").Replace(want))
		got := strings.ReplaceAll(schema.ParseText(source, schema.Formatting).HTML(nil), ` target="_blank" rel="noopener"`, "")
		if got != want {
			t.Fatalf("%q\n is %s\nwant %s", source, got, want)
		}
		if strings.Contains(got, "<") {
			formatted++
		}
	}
	if formatted < 5_000 {
		t.Errorf("%d texts have formats", formatted)
	}
}
