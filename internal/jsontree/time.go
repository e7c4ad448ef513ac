package jsontree

import (
	"strings"
	"time"
)

// timeLayout is how a time is written everywhere: UTC, whole seconds.
const timeLayout = "2006-01-02T15:04:05Z"

// FormatWrittenTime writes t in its own offset and whole seconds: Z when that is zero.
func FormatWrittenTime(t time.Time) string {
	return t.Format("2006-01-02T15:04:05Z07:00")
}

// FormatTime writes t in UTC and whole seconds, for example
// 2026-11-20T08:33:01Z.
func FormatTime(t time.Time) string {
	return t.UTC().Format(timeLayout)
}

// ParseTime reads any time of RFC 3339 and truncates it to the second, in UTC: the
// one reader of times in bodies, answers and query parameters. It is false for any
// other text. A leap second becomes the second after it. The result lies in the
// years 1 to 9999 and is not the zero time, which stands for "not given".
func ParseTime(s string) (time.Time, bool) {
	t, ok := ParseWrittenTime(s)
	return t.UTC(), ok
}

// ParseWrittenTime is [ParseTime] for a reader that needs the day and the clock with
// which a time was written: its location is the offset that was sent.
func ParseWrittenTime(s string) (time.Time, bool) {
	// time.Parse takes less (no lower-case t and z, no leap second) and more (hours of one
	// digit, a comma before the fraction, offsets of 24 hours).
	const clock = len("2006-01-02T15:04:05")
	s = strings.ToUpper(s)
	if len(s) <= clock || s[13] != ':' || s[16] != ':' || s[clock] == ',' {
		return time.Time{}, false
	}
	if zone := s[len(s)-len("+00:00"):]; !strings.HasSuffix(s, "Z") && (zone[1:3] > "23" || zone[4:] > "59") {
		return time.Time{}, false
	}
	leap := s[17:clock] == "60"
	if leap {
		s = s[:17] + "59" + s[clock:]
	}
	t, err := time.Parse(time.RFC3339, s)
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
	if t.IsZero() || t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}, false
	}
	return t.In(time.FixedZone("", offset)), true
}
