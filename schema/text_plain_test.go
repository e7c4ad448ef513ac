package schema

import (
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/internal/lab/expect"
)

var update = flag.Bool("update", false, "write testdata/plain.json again")

// plainCase is a text with its plain text. The tests of the builder read the same cases.
type plainCase struct {
	Source     string `json:"source"`
	Formatting bool   `json:"formatting"`
	Insertions bool   `json:"insertions"`
	Plain      string `json:"plain"`
}

func TestPlainTextsOfBuilder(t *testing.T) {
	const file = "testdata/plain.json"
	if *update {
		lines := make([]string, 0, 800)
		for _, c := range plainCases() {
			c.Plain = c.parse().Plain()
			lines = append(lines, string(expect.Must(json.Marshal(c))))
		}
		expect.NoError(t, os.WriteFile(file, []byte("[\n"+strings.Join(lines, ",\n")+"\n]\n"), 0o600))
	}
	var cases []plainCase
	expect.NoError(t, json.Unmarshal(expect.Must(os.ReadFile(file)), &cases))
	expect.That(t, len(cases) >= 300, "%s has %d cases: run go test -run TestPlainTextsOfBuilder . -update", file, len(cases))
	for _, c := range cases {
		expect.Equal(t, c.parse().Plain(), c.Plain, "%q", c.Source)
	}
}

func (c plainCase) parse() Text {
	var marks TextMarks
	if c.Formatting {
		marks |= Formatting
	}
	if c.Insertions {
		marks |= Insertions
	}
	return ParseText(c.Source, marks)
}

// plainCases returns texts of random parts, and texts at the limits.
func plainCases() []plainCase {
	parts := strings.Split(`**|**|_|_|*|__|***|[|[|]|](|](https://a.example/p_q)|](https://a.example/(b))|](https://a.example/\(b)|](mailto:a@b.example)|`+
		`](javascript:alert(1))|](/x)|](https://a.example/{{today}})|](https://u@a.example)|)|(|a|b|word|.|,|!|"|«|é|日本|👍|€|\|\_|\*|\[|\\|\a|{{today}}|{{ today }}|{{answers.a_b}}|`+
		`{{variables.n:2}}|{{hidden.}}|{{x}}|{{}}|{{|}}|{|}|<b>|&amp;| | | |  |`, "|")
	parts = append(parts, "\n", "\t", "\u00a0", "\u0085", "\u2028", "\ufeff", "\u200b")
	random := rand.New(rand.NewPCG(1, 2))
	var cases []plainCase
	for _, source := range []string{
		"", "**a** _b_ [c](https://d.example)", strings.Repeat("{{today}}", MaxInsertions+1), "{{answers." + strings.Repeat("_a_ ", 296) + "}}", "{{answers." + strings.Repeat("_a_ ", 297) + "}}",
		"[a](https://a.example/" + strings.Repeat("(", maxParentheses-1) + strings.Repeat(")", maxParentheses), "[a](https://a.example/" + strings.Repeat("(", maxParentheses) + strings.Repeat(")", maxParentheses+1),
		"[a](https://a.example/é)", "[a](https://a.example/%zz)", "[a](https://a.example:99999)", "[a](https://)", "[a](tel:+49)", "[a](HTTPS://A.EXAMPLE)", "[a](ftp://a.example)", "[a](https:a.example)",
		"_a_b", "a_b_", "_a_.", "(_a_)", "**a**b", "a**b**", "**(a)**b", "a**(b)**", "**_a_**", "_**a**_", "**a _b** c_", "***a***", "\\", "a\\", "\\\\_a_",
	} {
		cases = append(cases, plainCase{Source: source, Formatting: true, Insertions: true})
	}
	for range 700 {
		var source strings.Builder
		for range 2 + random.IntN(11) {
			source.WriteString(parts[random.IntN(len(parts))])
		}
		marks := random.IntN(6)
		cases = append(cases, plainCase{Source: source.String(), Formatting: marks != 0, Insertions: marks != 1})
	}
	return cases
}
