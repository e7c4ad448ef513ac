package logic

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Object is an object that creates its fields lazily.
type Object interface {
	Member(name string) (any, bool) // returns a field and reports whether it exists
	Members() map[string]any        // returns all fields; callers must not change the map
}

// isTruthy returns false for null, false, 0, "", NaN and empty arrays.
func isTruthy(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case float64:
		return v != 0 && !math.IsNaN(v)
	case string:
		return v != ""
	case []any:
		return len(v) > 0
	default:
		return true
	}
}

func isComposite(v any) bool {
	switch v.(type) {
	case []any, map[string]any, Object:
		return true
	default:
		return false
	}
}

// FormatValue converts a value to text as JavaScript's String does.
func FormatValue(v any) string { return formatValue(v) }

func formatValue(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case float64:
		return formatNumber(v)
	case string:
		return v
	case []any:
		var b strings.Builder
		for i, item := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			if item != nil {
				b.WriteString(formatValue(item))
			}
		}
		return b.String()
	default:
		return "[object Object]"
	}
}

// formatNumber formats a number as JavaScript does.
func formatNumber(f float64) string {
	switch abs := math.Abs(f); {
	case math.IsNaN(f):
		return "NaN"
	case f == 0:
		return "0"
	case abs < 1e-6 || abs >= 1e21:
		if math.IsInf(f, 0) {
			return strings.TrimPrefix(strconv.FormatFloat(f, 'f', -1, 64), "+") + "inity"
		}
		mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, 64), "e")
		return mantissa + "e" + exponent[:1] + strings.TrimLeft(exponent[1:], "0")
	default:
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
}

// parseNumber parses a decimal number, or an integer with the prefix 0x, 0o or 0b. It returns 0 for empty text and NaN
// for other text.
func parseNumber(s string) float64 {
	s = strings.TrimFunc(s, isSpace)
	if s == "" {
		return 0
	}
	if len(s) > 2 && s[0] == '0' {
		base := 0.0
		switch s[1] | 0x20 {
		case 'x':
			base = 16
		case 'o':
			base = 8
		case 'b':
			base = 2
		}
		if base != 0 {
			return parseInteger(s[2:], base)
		}
	}
	if end := numberEnd(s); end != len(s) {
		return math.NaN()
	}
	return parseDecimal(s)
}

func parseInteger(digits string, base float64) float64 {
	n := 0.0
	for i := range len(digits) {
		digit := strings.IndexByte("0123456789abcdef", digits[i]|0x20)
		if digits[i] < '0' || digit < 0 || float64(digit) >= base {
			return math.NaN()
		}
		n = n*base + float64(digit)
	}
	return n
}

// parseLeadingNumber parses the number at the start of a text, as JavaScript's parseFloat does.
func parseLeadingNumber(s string) float64 {
	s = strings.TrimLeftFunc(s, isSpace)
	return parseDecimal(s[:numberEnd(s)])
}

func parseDecimal(s string) float64 {
	if s == "" {
		return math.NaN()
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && f == 0 {
		return math.NaN()
	}
	return f // infinite if the number is too large
}

// numberEnd returns the end of the number or "Infinity" at the start of s, or 0 if s starts with neither.
func numberEnd(s string) int {
	i := 0
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		i++
	}
	if strings.HasPrefix(s[i:], "Infinity") {
		return i + len("Infinity")
	}
	whole := digitsEnd(s, i)
	end := whole
	if whole < len(s) && s[whole] == '.' {
		if fraction := digitsEnd(s, whole+1); fraction > whole+1 || whole > i {
			end = fraction
		}
	}
	if end == i {
		return 0
	}
	if end < len(s) && s[end]|0x20 == 'e' {
		exponent := end + 1
		if exponent < len(s) && (s[exponent] == '+' || s[exponent] == '-') {
			exponent++
		}
		if last := digitsEnd(s, exponent); last > exponent {
			end = last
		}
	}
	return end
}

func digitsEnd(s string, i int) int {
	for i < len(s) && '0' <= s[i] && s[i] <= '9' {
		i++
	}
	return i
}

// isSpace reports whether JavaScript's trim removes r.
func isSpace(r rune) bool {
	switch r {
	case '\t', '\n', '\v', '\f', '\r', ' ', 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff:
		return true
	}
	return 0x2000 <= r && r <= 0x200a
}

// looseEqual implements ==. It compares values of different types as numbers or as text.
func (e evaluation) looseEqual(a, b any) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	if composite := isComposite(a); composite != isComposite(b) {
		if composite {
			a, b = b, a
		}
		return e.looseEqual(a, e.formatValue(b))
	}
	_, aIsText := a.(string)
	_, bIsText := b.(string)
	if isComposite(a) || aIsText && bIsText {
		return e.strictEqual(a, b)
	}
	return e.toNumber(a) == e.toNumber(b)
}

// strictEqual implements ===. Unlike in JavaScript, arrays and objects with the same contents are equal.
func (e evaluation) strictEqual(a, b any) bool {
	e.Spend(1)
	switch a := a.(type) {
	case nil:
		return b == nil
	case bool:
		b, ok := b.(bool)
		return ok && a == b
	case float64:
		b, ok := b.(float64)
		return ok && a == b
	case string:
		b, ok := b.(string)
		return ok && len(a) == len(b) && e.spendText(len(a)) && a == b
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if e.Exceeded() || !e.strictEqual(a[i], b[i]) {
				return false
			}
		}
		return true
	default:
		return e.sameObjects(membersOf(a), membersOf(b))
	}
}

func membersOf(v any) map[string]any {
	switch v := v.(type) {
	case map[string]any:
		return v
	case Object:
		return v.Members()
	default:
		return nil
	}
}

func (e evaluation) sameObjects(a, b map[string]any) bool {
	if a == nil || b == nil || len(a) != len(b) {
		return false
	}
	if e.Spend(len(a)); e.Exceeded() {
		return false
	}
	// A fixed order makes the number of steps deterministic.
	for _, name := range slices.Sorted(maps.Keys(a)) {
		other, ok := b[name]
		if e.Exceeded() || !ok || !e.strictEqual(a[name], other) {
			return false
		}
	}
	return true
}

// compare compares texts by code points, and other values as numbers. ordered is false for null and NaN.
func (e evaluation) compare(a, b any) (order int, ordered bool) {
	if a == nil || b == nil {
		return 0, false
	}
	if isComposite(a) {
		a = e.formatValue(a)
	}
	if isComposite(b) {
		b = e.formatValue(b)
	}
	aText, aIsText := a.(string)
	bText, bIsText := b.(string)
	if aIsText && bIsText {
		e.spendText(len(aText) + len(bText))
		return strings.Compare(aText, bText), true // comparing UTF-8 bytes preserves the order of code points
	}
	x, y := e.toNumber(a), e.toNumber(b)
	return cmp.Compare(x, y), !math.IsNaN(x) && !math.IsNaN(y)
}
