package storage

import (
	"strings"
	"time"
	"unicode/utf8"
)

// ValidText reports whether every store can store s, which must be valid UTF-8 without U+0000.
func ValidText(s string) bool {
	return strings.IndexByte(s, 0) < 0 && utf8.ValidString(s)
}

// minTime is the first valid time, and endTime the first invalid time after it.
var minTime, endTime = time.Time{}, time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)

// ValidTime reports whether every store can store t, which must be in the years 1 to 9999 in UTC.
func ValidTime(t time.Time) bool {
	return !t.Before(minTime) && t.Before(endTime)
}
