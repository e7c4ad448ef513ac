package css

import (
	"math"
	"strconv"
	"strings"

	"github.com/formsvc/formsvc/handler/formpage/internal/color"
	"github.com/formsvc/formsvc/handler/formpage/internal/plain"
)

// Color reads a colour of a member that is a plain string and writes it anew.
func Color(text string) (string, bool) {
	if strings.EqualFold(strings.TrimSpace(text), "transparent") {
		return "transparent", true
	}
	c, ok := color.Parse(text)
	return c.String(), ok
}

// Length reads a length and writes it anew: a number of 0 to 4000, and a unit. A
// number alone is pixels.
func Length(text string) (string, bool) {
	text = strings.ToLower(strings.TrimSpace(text))
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz%")
	unit := text[len(digits):]
	switch unit {
	case "":
		unit = "px"
	case "px", "em", "rem", "%", "vw", "vh", "ch", "pt":
	default:
		return "", false
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	if err != nil || math.IsNaN(n) || n < 0 || n > 4000 {
		return "", false
	}
	return plain.Number(n) + unit, true
}

// Quoted quotes an address for url(): only what cannot end the string stays as it is.
func Quoted(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range text {
		if c <= ' ' || c >= 0x7f || strings.ContainsRune(`"'\()<>`, c) {
			b.WriteString(`\` + strconv.FormatInt(int64(c), 16) + " ")
			continue
		}
		b.WriteRune(c)
	}
	b.WriteByte('"')
	return b.String()
}
