package jsontree

import "time"

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
	t, _, ok := parseTime(s)
	if !ok {
		return time.Time{}, false
	}
	return t, true
}

// ParseWrittenTime is [ParseTime] for a reader that needs the day and the clock with
// which a time was written: its location is the offset that was sent.
func ParseWrittenTime(s string) (time.Time, bool) {
	t, offset, ok := parseTime(s)
	if !ok {
		return time.Time{}, false
	}
	return t.In(time.FixedZone("", int(offset/time.Second))), true
}

// parseTime returns a time in UTC and the offset that it was written with.
func parseTime(s string) (t time.Time, offset time.Duration, ok bool) {
	// time.Parse takes less (no lower-case t and z, no leap second) and more (a
	// comma before the fraction).
	const shortest = len("2006-01-02T15:04:05Z")
	if len(s) < shortest || s[4] != '-' || s[7] != '-' || s[10]|0x20 != 't' || s[13] != ':' || s[16] != ':' {
		return t, 0, false
	}
	year, ok0 := digitsUpTo(s[0:4], 9999)
	month, ok1 := digitsUpTo(s[5:7], 12)
	day, ok2 := digitsUpTo(s[8:10], 31)
	hour, ok3 := digitsUpTo(s[11:13], 23)
	minute, ok4 := digitsUpTo(s[14:16], 59)
	second, ok5 := digitsUpTo(s[17:19], 60)
	if !ok0 || !ok1 || !ok2 || !ok3 || !ok4 || !ok5 {
		return t, 0, false
	}
	rest := s[19:]
	if rest[0] == '.' {
		digits := 1
		for digits < len(rest) && rest[digits] >= '0' && rest[digits] <= '9' {
			digits++
		}
		if digits == 1 {
			return t, 0, false
		}
		rest = rest[digits:]
	}
	offset, ok = zoneOffset(rest)
	if !ok {
		return t, 0, false
	}
	local := time.Date(year, time.Month(month), day, hour, minute, min(second, 59), 0, time.UTC)
	if month == 0 || local.Day() != day || local.Month() != time.Month(month) {
		return t, 0, false // 30 February
	}
	t = local.Add(-offset)
	if second == 60 {
		if t.Hour() != 23 || t.Minute() != 59 {
			return t, 0, false
		}
		t = t.Add(time.Second)
	}
	if t.IsZero() || t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}, 0, false
	}
	return t, offset, true
}

// zoneOffset reads Z or +hh:mm or -hh:mm.
func zoneOffset(s string) (time.Duration, bool) {
	if s == "Z" || s == "z" {
		return 0, true
	}
	if len(s) != len("+00:00") || s[0] != '+' && s[0] != '-' || s[3] != ':' {
		return 0, false
	}
	hours, ok0 := digitsUpTo(s[1:3], 23)
	minutes, ok1 := digitsUpTo(s[4:6], 59)
	offset := time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
	if s[0] == '-' {
		offset = -offset
	}
	return offset, ok0 && ok1
}

// digitsUpTo reads decimal digits only, up to a largest value.
func digitsUpTo(s string, largest int) (int, bool) {
	n := 0
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, n <= largest
}
