package answertype

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/formsvc/formsvc/internal/jsontree"
)

// formatReadable formats a number without an exponent unless it is very large or small. It formats -0 as 0.
func formatReadable(f float64) string {
	if abs := math.Abs(f); abs >= 1e21 || abs < 1e-15 && abs > 0 {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	return strconv.FormatFloat(f+0, 'f', -1, 64)
}

func numberParam(f float64) json.Number { return json.Number(formatReadable(f)) }

// formatGrouped formats a number with thousands separators, such as 1,000,000.5, or with an exponent, such as 1.5 ×
// 10^21.
func formatGrouped(f float64) string {
	text := formatReadable(f)
	if mantissa, power, ok := strings.Cut(text, "e"); ok {
		exponent, _ := strconv.Atoi(power) // valid, because FormatFloat wrote it
		return mantissa + " × 10^" + strconv.Itoa(exponent)
	}
	sign := ""
	if strings.HasPrefix(text, "-") {
		sign, text = "-", text[1:]
	}
	whole, fraction, hasFraction := strings.Cut(text, ".")
	for at := len(whole) - 3; at > 0; at -= 3 {
		whole = whole[:at] + "," + whole[at:]
	}
	if hasFraction {
		fraction = "." + fraction
	}
	return sign + whole + fraction
}

// FormatCount formats a number with its noun, such as "1 character" or "10,000 characters".
func FormatCount(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return formatGrouped(float64(n)) + " " + noun + "s"
}

func spellCount(n int) string {
	words := [...]string{"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"}
	if n >= 0 && n < len(words) {
		return words[n]
	}
	return formatGrouped(float64(n))
}

// formatBytes formats a size in the largest unit that needs no fraction.
func formatBytes(n int64) string {
	for _, unit := range []struct {
		name string
		size int64
	}{{"GB", 1 << 30}, {"MB", 1 << 20}, {"kB", 1 << 10}} {
		if n >= unit.size && n%unit.size == 0 {
			return formatGrouped(float64(n/unit.size)) + " " + unit.name
		}
	}
	return formatGrouped(float64(n)) + " bytes"
}

// QuoteJSON encodes a string as JSON.
func QuoteJSON(s string) string { return string(jsontree.AppendString(nil, s)) }

// EncodeJSON encodes a value that always has a JSON encoding, such as a string or a list of strings.
func EncodeJSON(v any) string {
	raw, _ := json.Marshal(v) //nolint:errchkjson // only strings, and lists and maps of strings
	return string(raw)
}
