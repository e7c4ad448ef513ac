package violation

import (
	"strconv"
	"unicode/utf8"
)

// LongerThan reports whether s has more than limit characters. A string has at least as
// many bytes as characters, so most strings need no counting.
func LongerThan(s string, limit int) bool {
	return len(s) > limit && utf8.RuneCountInString(s) > limit
}

// TooLong is the message for a text that is [LongerThan] a limit.
func TooLong(limit int) string {
	return "must have at most " + Count(limit, "character")
}

// MessageNUL is the message for U+0000, which is JSON but which PostgreSQL cannot
// store.
const MessageNUL = "must not contain U+0000"

// MessageMisleading is the message for a name that [visible.IsMisleading] is about.
const MessageMisleading = "must not contain line breaks, control characters or characters that change the text direction"

// Count writes a number with its noun, "1 item" or "2 items".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
