package schema

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// longerThan reports whether s has more than limit characters. Bytes are at least
// as many, so most strings need no counting.
func longerThan(s string, limit int) bool {
	return len(s) > limit && utf8.RuneCountInString(s) > limit
}

func tooLong(limit int) string {
	return "must have at most " + count(limit, "character")
}

// hasNUL reports whether s has U+0000, which is JSON but which PostgreSQL cannot
// store.
func hasNUL(s string) bool {
	return strings.IndexByte(s, 0) >= 0
}

const messageNUL = "must not contain U+0000"

// count writes a number with its noun, "1 item" or "2 items".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

func decimal(f float64) string {
	return strconv.FormatFloat(f, 'f', -1, 64)
}
