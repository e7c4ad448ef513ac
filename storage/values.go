package storage

import (
	"strings"
	"time"
	"unicode/utf8"
)

// ValidText reports whether every store keeps s: it is valid UTF-8 without U+0000.
func ValidText(s string) bool {
	return strings.IndexByte(s, 0) < 0 && utf8.ValidString(s)
}

// The first time that is valid, which is the zero time, and the first one after it
// that is not.
var minTime, endTime = time.Time{}, time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)

// ValidTime reports whether every store keeps t: it lies in the years 1 to 9999, in
// UTC.
func ValidTime(t time.Time) bool {
	return !t.Before(minTime) && t.Before(endTime)
}
