package read

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strings"
	"unicode"

	"github.com/formsvc/formsvc/internal/answers/answertype"
)

// isNumber reports whether text is a number in JSON.
func isNumber(text string) bool {
	return text != "" && (text[0] == '-' || text[0] >= '0' && text[0] <= '9') && json.Valid([]byte(text))
}

// A number with its decimal sign as a point, and its groups' as a comma. Nobody begins a
// group with a zero.
var (
	groupedNumber = regexp.MustCompile(`^[+-]?([1-9]\d{0,2}(,\d{3})+|[1-9]\d?(,\d{2})+,\d{3})(\.\d*)?$`)
	plainDecimal  = regexp.MustCompile(`^[+-]?(\d+\.?\d*|\.\d+)$`)
	quotedGroups  = regexp.MustCompile(`^[^']*\d('\d{3})+([.,]\d*)?$`)
	openNumber    = regexp.MustCompile(`^[+-]?[1-9]\d{0,2}[.,]\d{3}$`)
	spacedNumber  = regexp.MustCompile(`\d\p{Zs}+(\d{1,2}|\d{4,})(\D|$)`)
)

// asciiSigns leaves the signs of ASCII, and apostrophes for signs that only ever stand
// between groups.
var (
	asciiSigns = strings.NewReplacer("’", "'", "٬", "'", "＇", "'", "٫", ".", "．", ".", "，", ",",
		"−", "-", "－", "-", "‐", "-", "‑", "-", "–", "-", "＋", "+")
	swapSeparators = strings.NewReplacer(".", ",", ",", ".")
)

// maxNumberBytes is how many bytes a number has at most as it is typed. The service takes 64
// digits.
const maxNumberBytes = 256

// dropSpaces drops spaces and invisible characters, such as the marks of direction that
// programs write before a minus. Overrides show digits in another order.
func dropSpaces(c rune) rune {
	if c != '\u202d' && c != '\u202e' && unicode.In(c, unicode.Zs, unicode.Cf) {
		return -1
	}
	return c
}

// parseNumber reads a number as people of a language and region write it and returns its
// JSON literal. Digits are of any script. Spaces between them are dropped, apostrophes only
// before groups of three. Of points and commas, the last one is the decimal sign where both
// are there, and the one that is there twice is not. One alone is what the region says, or
// the decimal sign where no group of three digits follows it. other is what such a group
// may mean as well: "1,500" is 1500 or 1.5. It is the literal itself where spaces are
// between other groups: "5 10" is 510, or two numbers. What can be neither is not a
// number: better asked for again than stored as another one.
func parseNumber(text string, comma bool) (literal, other string, ok bool) {
	if len(text) > maxNumberBytes {
		return "", "", false
	}
	text = answertype.ASCIIDigits(strings.TrimSpace(text))
	spaced := spacedNumber.MatchString(text)
	text = asciiSigns.Replace(strings.Map(dropSpaces, text))
	if strings.Trim(text, "0123456789+-.,'") != "" {
		return "", "", false // finds most texts that are no number, without the patterns below
	}
	if strings.Contains(text, "'") && !quotedGroups.MatchString(text) {
		return "", "", false // feet and inches
	}
	text = strings.ReplaceAll(text, "'", "")
	open, points, commas := openNumber.MatchString(text), strings.Count(text, "."), strings.Count(text, ",")
	switch {
	case points > 0 && commas > 0:
		comma = strings.LastIndexByte(text, ',') > strings.LastIndexByte(text, '.')
	case points > 1 || commas > 1:
		comma = points > 1
	}
	if comma {
		text = swapSeparators.Replace(text)
	}
	if open {
		other = strings.TrimPrefix(strings.ReplaceAll(swapSeparators.Replace(text), ",", ""), "+")
	}
	switch {
	case groupedNumber.MatchString(text):
		text = strings.ReplaceAll(text, ",", "")
	case strings.Count(text, ",") == 1:
		text = strings.Replace(text, ",", ".", 1) // a second point is refused below
	}
	if !plainDecimal.MatchString(text) {
		return "", "", false
	}
	sign := ""
	if strings.HasPrefix(text, "-") {
		sign = "-"
	}
	whole, fraction, _ := strings.Cut(strings.TrimLeft(text, "+-"), ".")
	whole = cmp.Or(strings.TrimLeft(whole, "0"), "0")
	if fraction != "" {
		whole += "." + fraction
	}
	if spaced {
		other = sign + whole
	}
	return sign + whole, other, true
}
