package servicetest_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/expect"
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
	quote := func(s string) string { return string(expect.Must(json.Marshal(s))) }
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

// isPrefixed reports whether a cell of text gets the prefix, as the documentation says.
func isPrefixed(text string) bool {
	rest := strings.TrimLeft(text, "'")
	return rest != "" && strings.ContainsAny(rest[:1], "=+-@\t\r")
}

// sameCells compares the columns of blocks: with the cells that the documentation
// promises, and with the answers once the prefix is undone. kept is what the program
// keeps of a text.
func sameCells(t *testing.T, program string, got, want [][]string, kept func(string) string) {
	t.Helper()
	expect.Require(t, len(got) == len(want), "%s: %d lines, want %d", program, len(got), len(want))
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
			expect.That(t, cell == kept(promised), "%s: line %d, column %d is %q, want %q", program, i, j, cell, promised)
			undone := cell
			if free && isPrefixed(cell) {
				undone = strings.TrimPrefix(cell, "'")
			}
			expect.That(t, kept(promised) != promised || undone == answer,
				"%s: line %d, column %d is %q with the prefix undone, want %q", program, i, j, undone, answer)
		}
	}
}

// Python's csv and LibreOffice read the cells that were answered, once the prefix is
// undone, and run none of them. `make spreadsheet` requires both programs; a run of the
// tests uses Go's reader and the programs that the machine has of these.
func TestCSVInPrograms(t *testing.T) {
	t.Parallel()
	text, _ := hostileExport(t, formsvc.Export{})
	_, lines := table(t, text)
	expect.That(t, len(lines) == len(hostileCells), "Go reads %d lines", len(lines))
	t.Run("several separators", func(t *testing.T) {
		t.Parallel()
		for _, c := range []struct {
			e  formsvc.Export
			at string // where the program splits
		}{
			{formsvc.Export{}, ","}, {formsvc.Export{}, ",;\t"},
			{formsvc.Export{Separator: ';'}, ";"}, {formsvc.Export{Separator: ';'}, ",;\t"}, {formsvc.Export{Separator: ';'}, ";\t"},
			{formsvc.Export{Separator: '\t'}, "\t"}, {formsvc.Export{Separator: '\t'}, ",;\t"}, {formsvc.Export{Separator: '\t'}, ";\t"},
		} {
			text, want := hostileExport(t, c.e)
			sameCells(t, fmt.Sprintf("split at %q", c.at), splitAt(text, c.at), want, func(text string) string { return text })
		}
	})
	t.Run("python", func(t *testing.T) {
		t.Parallel()
		python := programForSpreadsheets(t, "python3")
		for _, e := range []formsvc.Export{{}, {BOM: true}} {
			text, want := hostileExport(t, e)
			command := exec.CommandContext(t.Context(), python, "-c", `import csv, io, json, sys
data = io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8-sig", newline="")
json.dump(list(csv.reader(data, strict=True)), sys.stdout)`)
			command.Stdin = strings.NewReader(text)
			out := expect.Must(command.Output())
			var got [][]string
			expect.NoError(t, json.Unmarshal(out, &got))
			sameCells(t, "python", got, want, func(text string) string { return text })
		}
	})
	t.Run("LibreOffice", func(t *testing.T) {
		t.Parallel()
		office := programForSpreadsheets(t, "soffice")
		text, want := hostileExport(t, formsvc.Export{BOM: true})
		dir := t.TempDir()
		convert := func(from, to, filter string) string {
			t.Helper()
			args := []string{"--headless", "-env:UserInstallation=file://" + dir + "/profile", "--convert-to", to, "--outdir", dir + "/out"}
			if filter != "" {
				args = append(args, "--infilter=CSV:"+filter)
			}
			out, err := exec.CommandContext(t.Context(), office, append(args, from)...).CombinedOutput() // #nosec G204
			kind, _, _ := strings.Cut(to, ":")
			name := strings.TrimSuffix(filepath.Base(from), filepath.Ext(from)) + "." + kind
			made, readErr := os.ReadFile(filepath.Join(dir, "out", name))
			expect.Require(t, err == nil && readErr == nil, "convert %s to %s: %v, %v\n%s", from, to, err, readErr, out)
			return string(made)
		}
		write := func(name, text string) string {
			path := filepath.Join(dir, name)
			expect.NoError(t, os.WriteFile(path, []byte(text), 0o600))
			return path
		}
		const utf8 = "44/59/9,34,76,1" // the separators of its dialog, quote, UTF-8, from the first line on

		// As a user opens it, no cell is a formula. The other file shows that one is seen.
		sheet := convert(write("defused.csv", text), "fods", utf8)
		expect.That(t, !strings.Contains(sheet, "table:formula="), "a cell is a formula")
		kept, _ := hostileExport(t, formsvc.Export{AllowFormulas: true})
		sheet = convert(write("kept.csv", kept), "fods", utf8)
		expect.That(t, strings.Contains(sheet, "table:formula="), "LibreOffice takes no cell for a formula, so this test shows nothing")
		// With columns as text, the cells are the same after a workbook and back.
		var columns []string
		for i := range len(want[0]) + 20 {
			columns = append(columns, fmt.Sprint(i+1, "/2"))
		}
		for workbook, kept := range map[string]*strings.Replacer{
			"ods":  strings.NewReplacer("\r", "\n", "\t", ""), // which ODF has no place for in a cell
			"xlsx": strings.NewReplacer("\r", "\n"),
		} {
			convert(write(workbook+".csv", text), workbook, utf8+","+strings.Join(columns, "/"))
			back := convert(filepath.Join(dir, "out", workbook+"."+workbook), "csv:Text - txt - csv (StarCalc):44,34,76", "")
			reader := csv.NewReader(strings.NewReader(back))
			reader.FieldsPerRecord = -1
			got := expect.Must(reader.ReadAll())
			for i := range got { // empty cells at the end may be left out
				got[i] = append(got[i], slices.Repeat([]string{""}, 40)...)
			}
			sameCells(t, workbook, got, want, kept.Replace)
		}
	})
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

func programForSpreadsheets(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	switch {
	case err == nil && (name == "python3" || os.Getenv("FORMSVC_TEST_SPREADSHEET") != ""):
		return path
	case os.Getenv("FORMSVC_TEST_SPREADSHEET") != "":
		t.Fatal(err)
	}
	t.Skip("make spreadsheet runs it")
	return ""
}
