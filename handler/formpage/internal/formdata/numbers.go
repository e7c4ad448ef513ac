package formdata

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strings"
	"unicode"

	"github.com/formsvc/formsvc/internal/answers/answertype"
)

func isJSONNumber(text string) bool {
	return text != "" && (text[0] == '-' || text[0] >= '0' && text[0] <= '9') && json.Valid([]byte(text))
}

// These patterns match numbers with a decimal point and commas between groups. A group cannot start with a zero.
var (
	groupedNumber = regexp.MustCompile(`^[+-]?([1-9]\d{0,2}(,\d{3})+|[1-9]\d?(,\d{2})+,\d{3})(\.\d*)?$`)
	plainDecimal  = regexp.MustCompile(`^[+-]?(\d+\.?\d*|\.\d+)$`)
	quotedGroups  = regexp.MustCompile(`^[^']*\d('\d{3})+([.,]\d*)?$`)
	openNumber    = regexp.MustCompile(`^[+-]?[1-9]\d{0,2}[.,]\d{3}$`)
	spacedNumber  = regexp.MustCompile(`\d\p{Zs}+(\d{1,2}|\d{4,})(\D|$)`)
)

// asciiSigns replaces signs with ASCII signs. Signs that can only separate groups become apostrophes.
var (
	asciiSigns = strings.NewReplacer("’", "'", "٬", "'", "＇", "'", "٫", ".", "．", ".", "，", ",",
		"−", "-", "－", "-", "‐", "-", "‑", "-", "–", "-", "＋", "+")
	swapSeparators = strings.NewReplacer(".", ",", ",", ".")
)

// maxNumberBytes is the size limit for an entered number. The service accepts at most 64 digits.
const maxNumberBytes = 256

// dropSpace removes spaces and invisible characters, such as the direction marks that some programs write before a
// minus. It keeps direction overrides, so that numbers containing them are rejected.
func dropSpace(c rune) rune {
	if c != '\u202d' && c != '\u202e' && unicode.In(c, unicode.Zs, unicode.Cf) {
		return -1
	}
	return c
}

// parseNumber parses a number as people write it in a language and region, with digits from any script. It returns the
// number as a JSON literal. It removes spaces between digits, and apostrophes before groups of three.
//
// If a number contains both points and commas, the last separator is the decimal separator. A separator that occurs
// twice separates groups. A single separator before three digits means what it means in the region. Any other single
// separator is the decimal separator.
//
// other is a second possible meaning: "1,500" can be 1500 or 1.5. If spaces separate unusual groups, other equals
// literal: "5 10" can be 510 or two numbers. parseNumber rejects all other text, because asking again is better than
// storing a wrong number.
func parseNumber(text string, comma bool) (literal, other string, ok bool) {
	if len(text) > maxNumberBytes {
		return "", "", false
	}
	text = answertype.ToASCIIDigits(strings.TrimSpace(text))
	spaced := spacedNumber.MatchString(text)
	text = asciiSigns.Replace(strings.Map(dropSpace, text))
	if strings.Trim(text, "0123456789+-.,'") != "" {
		return "", "", false // Reject most other text before the slower patterns below.
	}
	if strings.Contains(text, "'") && !quotedGroups.MatchString(text) {
		return "", "", false // Feet and inches.
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
		text = strings.Replace(text, ",", ".", 1) // A second point is rejected below.
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
