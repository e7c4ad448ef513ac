package export

import (
	"bufio"
	"strings"
)

// cell is one cell of a table. A plain one is a number, a date, an id or the like, which
// no program takes for a formula; it is never changed.
type cell struct {
	text  string
	plain bool
}

// csvWriter writes lines as RFC 4180 has them, and quotes every text: many programs split
// at commas, semicolons and tabs alike, but none inside quotes. (encoding/csv turns line breaks inside
// a cell into CRLF when its lines end with that.)
type csvWriter struct {
	out            *bufio.Writer
	separator      rune
	escapeFormulas bool
}

// write writes one line. Errors stay with out, and the last call returns them.
func (w *csvWriter) write(cells []cell) error {
	for i, c := range cells {
		if i > 0 {
			_, _ = w.out.WriteRune(w.separator)
		}
		if w.escapeFormulas && !c.plain {
			c.text = EscapeFormula(c.text)
		}
		w.writeCell(c)
	}
	_, err := w.out.WriteString("\r\n")
	return err
}

func (w *csvWriter) writeCell(c cell) {
	text := c.text
	if text == "" {
		return
	}
	if c.plain && !strings.ContainsAny(text, "\",;\t\r\n ") {
		_, _ = w.out.WriteString(text)
		return
	}
	_ = w.out.WriteByte('"')
	_, _ = w.out.WriteString(strings.ReplaceAll(text, `"`, `""`))
	_ = w.out.WriteByte('"')
}

// FormulaPrefix is what stands before the text of a cell that a spreadsheet program could take
// for a formula.
const FormulaPrefix = "'"

// EscapeFormula puts [FormulaPrefix] before a text that begins with =, +, -, @, a tab or a carriage
// return, also when prefixes stand before that character: whoever removes one prefix from
// every such cell has the text back.
func EscapeFormula(text string) string {
	if isFormula(text) {
		return FormulaPrefix + text
	}
	return text
}

func isFormula(text string) bool {
	text = strings.TrimLeft(text, FormulaPrefix)
	return text != "" && strings.IndexByte("=+-@\t\r", text[0]) >= 0
}
