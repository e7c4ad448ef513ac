package export

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/formsvc/formsvc/internal/lab/expect"
)

// restore undoes Defuse.
func restore(text string) string {
	if strings.HasPrefix(text, FormulaPrefix) && isFormula(text) {
		return text[len(FormulaPrefix):]
	}
	return text
}

func TestDefusedCells(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "a": "a", "'a": "'a", "'": "'", "''": "''", " =1": " =1", "1-1": "1-1", "a\t=": "a\t=",
		"=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@a": "'@a", "\tx": "'\tx", "\rx": "'\rx", "'=1": "''=1", "''-": "'''-",
	} {
		if got := EscapeFormula(text); got != want || restore(got) != text {
			t.Errorf("%q becomes %q and then %q, want %q", text, got, restore(got), want)
		}
	}
}

// A plain cell stands without quotes where every program reads it as one cell.
func TestPlainCells(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "-1.5": "-1.5", "+442": "+442", "a,b": `"a,b"`, "a;b": `"a;b"`, "a\tb": "\"a\tb\"", "a b": `"a b"`,
		"a\nb": "\"a\nb\"", "a\rb": "\"a\rb\"", `a"b`: `"a""b"`,
	} {
		var out bytes.Buffer
		w := csvWriter{out: bufio.NewWriter(&out), separator: ',', escapeFormulas: true}
		err := errors.Join(w.writeRow([]cell{{text, true}}), w.out.Flush())
		expect.That(t, err == nil && out.String() == want+"\r\n", "%q is written as %q, %v", text, out.String(), err)
	}
}

// Whatever the cells are, they can be read back: by a reader of CSV, after restore.
func TestEveryCellIsReadBack(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.StringOfN(rapid.RuneFrom([]rune("='+-@\t\"', \nx")), 0, 5, -1))
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(text, 1, 4).Draw(t, "texts")
		var out bytes.Buffer
		buffered := bufio.NewWriter(&out)
		w := csvWriter{out: buffered, separator: ',', escapeFormulas: true}
		line := []cell{{text: "x"}} // an empty line would be no line
		for _, text := range texts {
			line = append(line, cell{text: strings.ReplaceAll(text, "\r", "")}) // which encoding/csv changes
		}
		expect.NoError(t, w.writeRow(line))
		buffered.Flush()
		read := csv.NewReader(&out)
		records, err := read.ReadAll()
		expect.Require(t, err == nil && len(records) == 1 && len(records[0]) == len(line), "%q is read as %q, %v", texts, records, err)
		for i, c := range line {
			got := records[0][i]
			if restore(got) != c.text || got != "" && strings.IndexByte("=+-@\t", got[0]) >= 0 {
				t.Fatalf("%q is read as %q", c.text, got)
			}
		}
	})
}
