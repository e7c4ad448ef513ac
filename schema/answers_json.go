package schema

import (
	"math"
	"strconv"
	"strings"
)

const hexDigits = "0123456789abcdef"

// appendQuoted appends s, valid UTF-8, as a JSON string. What needs no escape is
// copied as it is.
func appendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := range len(s) {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
		}
	}
	dst = append(dst, s[from:]...)
	return append(dst, '"')
}

// separate appends a comma unless an array or object has just begun.
func separate(dst []byte) []byte {
	if last := dst[len(dst)-1]; last != '[' && last != '{' {
		dst = append(dst, ',')
	}
	return dst
}

// canonicalNumber writes a number literal in one form: no exponent where the
// number is short without one, no trailing zeros of a fraction, no negative zero.
// A literal without exponent keeps all its digits.
func canonicalNumber(literal string, num float64) string {
	if strings.ContainsAny(literal, "eE") {
		return formatFloat(num)
	}
	if strings.Contains(literal, ".") {
		literal = strings.TrimRight(literal, "0")
		literal = strings.TrimSuffix(literal, ".")
	}
	if literal == "-0" {
		return "0"
	}
	return literal
}

func formatFloat(num float64) string {
	if num == 0 {
		return "0"
	}
	if abs := math.Abs(num); abs < 1e-6 || abs >= 1e21 {
		return strconv.FormatFloat(num, 'e', -1, 64)
	}
	return strconv.FormatFloat(num, 'f', -1, 64)
}
