package jsontree

import (
	"regexp"
	"strings"
	"time"
)

// FormatTime formats t in UTC with whole seconds, such as 2026-11-20T08:33:01Z.
func FormatTime(t time.Time) string {
	return t.UTC().Format(time.RFC3339)
}

// ParseTime parses an RFC 3339 time, converts it to UTC and truncates it to the second. A leap second becomes the next
// second. The result is in the years 1 to 9999. It is never the zero time, because a zero time means that no time is
// set.
func ParseTime(s string) (time.Time, bool) {
	t, ok := ParseTimeKeepingOffset(s)
	return t.UTC(), ok
}

// ParseTimeKeepingOffset is like [ParseTime] but keeps the original UTC offset, and so the original day and clock time.
func ParseTimeKeepingOffset(s string) (time.Time, bool) {
	t, ok := parseTime(s)
	return t, ok && !t.IsZero()
}

// bareOffset matches an offset without a colon or minutes, as many programs print it.
var bareOffset = regexp.MustCompile(`[+ -]\d\d(\d\d)?$`)

// ParseQueryTime is like [ParseTime], for query parameters. It also accepts offsets such as +0100 and +01, an unescaped
// plus sign that became a space, and the first second of the year 1. fraction reports whether fractional seconds were
// removed.
func ParseQueryTime(s string) (t time.Time, fraction, ok bool) {
	const clock = len("2006-01-02T15:04:05")
	if len(s) <= clock {
		return time.Time{}, false, false
	}
	rest := strings.Replace(s[clock:], " ", "+", 1)
	if offset := bareOffset.FindString(rest); offset != "" {
		rest = rest[:len(rest)-len(offset)] + offset[:3] + ":" + (offset[3:] + "00")[:2]
	}
	t, ok = parseTime(s[:clock] + rest)
	digits, _, _ := strings.Cut(strings.TrimLeft(rest, ".0"), "+")
	return t.UTC(), rest[0] == '.' && digits != "" && digits[0] >= '1' && digits[0] <= '9', ok
}

func parseTime(s string) (time.Time, bool) {
	// RFC 3339 allows lowercase t and z, and leap seconds, but time.Parse rejects them. time.Parse also accepts one-digit
	// hours, commas before fractions and offsets of 24 hours, which RFC 3339 does not allow.
	const clock = len("2006-01-02T15:04:05")
	if len(s) <= clock || s[13] != ':' || s[16] != ':' || s[clock] == ',' {
		return time.Time{}, false
	}
	if zone := s[len(s)-len("+00:00"):]; !strings.HasSuffix(s, "Z") && !strings.HasSuffix(s, "z") && (zone[1:3] > "23" || zone[4:] > "59") {
		return time.Time{}, false
	}
	layout := time.RFC3339
	switch lower := strings.HasSuffix(s, "z"); {
	case lower && s[10] == 't':
		layout = "2006-01-02t15:04:05z"
	case lower:
		layout = "2006-01-02T15:04:05z"
	case s[10] == 't':
		layout = "2006-01-02t15:04:05Z07:00"
	}
	leap := s[17:clock] == "60"
	if leap {
		s = s[:17] + "59" + s[clock:]
	}
	t, err := time.Parse(layout, s)
	if err != nil {
		return time.Time{}, false
	}
	_, offset := t.Zone()
	t = t.Truncate(time.Second).UTC()
	if leap {
		if t.Hour() != 23 || t.Minute() != 59 {
			return time.Time{}, false
		}
		t = t.Add(time.Second)
	}
	if t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}, false
	}
	return t.In(time.FixedZone("", offset)), true
}
