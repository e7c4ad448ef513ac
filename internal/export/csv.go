package export

import (
	"bufio"
	"strings"
)

// cell is a table cell. A plain cell contains a number, date, ID or similar text. It is never escaped, because no
// program interprets such text as a formula.
type cell struct {
	text  string
	plain bool
}

// csvWriter writes RFC 4180 lines. It quotes all text, because many programs split unquoted text at commas, semicolons
// and tabs. Package encoding/csv cannot end lines with CRLF without also changing line breaks in cells.
type csvWriter struct {
	out            *bufio.Writer
	separator      rune
	escapeFormulas bool
}

// writeRow writes one line. Flushing w.out returns any error.
func (w *csvWriter) writeRow(cells []cell) error {
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

// FormulaPrefix is added to cells that a spreadsheet program could interpret as a formula.
const FormulaPrefix = "'"

// EscapeFormula adds [FormulaPrefix] to text that starts with =, +, -, @, a tab or a carriage return, possibly after
// one or more prefixes. Removing one prefix from each such cell restores the text.
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
