package servicetest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/storage/memory"
)

// hostileCells are what respondents and owners may write.
var hostileCells = []string{
	"=1+1", "+1+1", "-1+1", "@SUM(1,1)", "\t=1+1", "\r=1+1", "=HYPERLINK(\"http://example.com\",\"x\")", "=cmd|' /C calc'!A0", "'=1+1", "''=1+1",
	"'", "''", "'a", "\"", "\"\"", "a\"b", ",", "a,b", ";", "a;b", "\n", "a\nb", "a\n=1+1", "=1\n+1", "  a ", "1", "1.50", "1e5", "2026-02-28", "true", "é", "👩‍👩‍👧",
	"\u202bא", "＝1+1", "=\"", "=,", "@", "=", "+", "-", "a\tb", "{=1+1}", "#REF!", "sum(1;2)",
	"x;=1+1", "x\t=1+1", "x,=1+1", "x\";=1+1", ";=1+1",
}

// plainCells are those that are never changed, by the block that they stand in.
var plainCells = []string{"-1.5", "+442083661177", "2026-02-28T10:30:00+01:00"}

// hostileExport is a CSV with each of hostileCells in every column of text.
func hostileExport(t *testing.T, e formsvc.Export) (text string, want [][]string) {
	t.Helper()
	quote := func(s string) string { return string(must(json.Marshal(s))) }
	store := &pagesOf{Storage: memory.New(), n: len(hostileCells), answers: func(i int) string {
		c := quote(hostileCells[i])
		item := func(id, kind, value string) string {
			return `{"field":{"id":"` + id + `","type":"` + kind + `","label":` + c + `},"value":` + value + `}`
		}
		return "[" + strings.Join([]string{
			item("text", "short_text", c), item("choice", "dropdown", `{"id":"x","label":`+c+`}`), item("other", "dropdown", `{"other":`+c+`}`),
			item("row", "matrix", `{"r":{"id":"x","label":`+c+`}}`), item("file", "signature", `{"id":"f","name":`+c+`,"url":"https://example.com/","mime_type":"a/b","size":1}`),
			item("hidden", "hidden", c), item("variable", "variable", c), item("contact", "contact_info", `{"firstName":`+c+`}`),
			item("phone_as_text", "phone", c),
			item("number", "number", plainCells[0]), item("phone", "phone", quote(plainCells[1])), item("moment", "date", quote(plainCells[2])),
		}, ",") + "]"
	}}
	b := servicetest.SetupOn(t, store)
	form := b.Form(`[{"id":"=text","type":"short_text","label":"=1+1"}]`, `{}`)
	text = export(b, form, e)
	want = [][]string{{"=text", "text", "choice", "other", "row/r", "file/name", "file/url", "hidden", "variable", "contact/firstName", "phone_as_text", "number", "phone", "moment"}}
	for _, c := range hostileCells {
		want = append(want, append([]string{"", c, c, c, c, c, "https://example.com/", c, c, c, c}, plainCells...))
	}
	return text, want
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// isPrefixed reports whether a cell of text gets the prefix, as the documentation says.
func isPrefixed(text string) bool {
	rest := strings.TrimLeft(text, "'")
	return rest != "" && strings.ContainsAny(rest[:1], "=+-@\t\r")
}

// sameCells compares the columns of blocks: with the cells that the documentation
// promises, and with the answers once the prefix is undone.
func sameCells(t *testing.T, program string, got, want [][]string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d lines, want %d", program, len(got), len(want))
	}
	for i := range want {
		if len(got[i]) < 2+len(want[i]) {
			t.Fatalf("%s: line %d has %d cells", program, i, len(got[i]))
		}
		for j, answer := range want[i] {
			cell, promised := got[i][2+j], answer
			free := i == 0 || j < len(want[i])-len(plainCells)
			if free && isPrefixed(answer) {
				promised = "'" + answer
			}
			if cell != promised {
				t.Errorf("%s: line %d, column %d is %q, want %q", program, i, j, cell, promised)
			}
			undone := cell
			if free && isPrefixed(cell) {
				undone = strings.TrimPrefix(cell, "'")
			}
			if undone != answer {
				t.Errorf("%s: line %d, column %d is %q with the prefix undone, want %q", program, i, j, undone, answer)
			}
		}
	}
}

// A program that splits at one separator or at several ones reads the cells that were answered, once the
// prefix is undone, and no cell of text is a formula.
func TestHostileCells(t *testing.T) {
	t.Parallel()
	text, _ := hostileExport(t, formsvc.Export{})
	if _, lines := table(t, text); len(lines) != len(hostileCells) {
		t.Errorf("Go reads %d lines", len(lines))
	}
	for _, c := range []struct {
		e  formsvc.Export
		at string // where the program splits
	}{
		{formsvc.Export{}, ","}, {formsvc.Export{}, ",;\t"},
		{formsvc.Export{Separator: ';'}, ";"}, {formsvc.Export{Separator: ';'}, ",;\t"}, {formsvc.Export{Separator: ';'}, ";\t"},
		{formsvc.Export{Separator: '\t'}, "\t"}, {formsvc.Export{Separator: '\t'}, ",;\t"}, {formsvc.Export{Separator: '\t'}, ";\t"},
	} {
		text, want := hostileExport(t, c.e)
		sameCells(t, fmt.Sprintf("split at %q", c.at), splitAt(text, c.at), want)
	}
}

// splitAt reads a table as spreadsheet programs do that split at each of the separators:
// quotes count at the start of a cell only.
func splitAt(text, separators string) (lines [][]string) {
	var line []string
	for text != "" {
		var cell strings.Builder
		if strings.HasPrefix(text, `"`) {
			text = text[1:]
			for {
				before, after, _ := strings.Cut(text, `"`)
				cell.WriteString(before)
				text = after
				if !strings.HasPrefix(text, `"`) {
					break
				}
				cell.WriteByte('"')
				text = text[1:]
			}
		}
		end := strings.IndexAny(text, separators+"\r\n")
		if end < 0 {
			end = len(text)
		}
		cell.WriteString(text[:end])
		line = append(line, cell.String())
		if text = text[end:]; text == "" || strings.Contains(separators, text[:1]) {
			text = strings.TrimPrefix(text, text[:min(1, len(text))])
			continue
		}
		lines, line = append(lines, line), nil
		if rest, ok := strings.CutPrefix(text, "\r\n"); ok {
			text = rest
		} else {
			text = text[1:]
		}
	}
	return lines
}
