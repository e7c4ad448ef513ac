// Package plain writes texts and numbers so that they mean nothing but themselves, in a
// style sheet, in an address and in a file's name.
package plain

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// IsName reports whether an id has only letters, digits, "-" and "_".
func IsName(text string) bool {
	return text != "" && len(text) <= 64 && Name(text) == text
}

// Name leaves of a text only letters, digits, "-" and "_", and signs that are named.
func Name(text string, more ...rune) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || slices.Contains(more, c) {
			return c
		}
		return -1
	}, text)
}

// Number writes a number without the traces of its binary fraction.
func Number(n float64) string {
	return strconv.FormatFloat(math.Round(n*1e9)/1e9, 'f', -1, 64)
}
