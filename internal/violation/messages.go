package violation

import (
	"strconv"
	"unicode/utf8"
)

// LongerThan reports whether s has more than limit characters. It counts characters only if the number of bytes exceeds
// limit.
func LongerThan(s string, limit int) bool {
	return len(s) > limit && utf8.RuneCountInString(s) > limit
}

// TooLongMessage returns the message for a text that exceeds a limit.
func TooLongMessage(limit int) string {
	return "must have at most " + FormatCount(limit, "character")
}

// MessageNUL is the message for U+0000, which JSON allows but PostgreSQL cannot store.
const MessageNUL = "must not contain U+0000"

// MessageMisleading is the message for a name that [textclean.IsMisleading] rejects.
const MessageMisleading = "must not contain line breaks, control characters or characters that change the text direction"

// FormatCount returns a number with its noun, such as "1 item" or "2 items".
func FormatCount(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
