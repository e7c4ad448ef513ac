package jsontree

import (
	"strings"
	"testing"
	"time"

	"github.com/formsvc/formsvc/internal/lab/expect"
)

func TestParseTime(t *testing.T) {

	for in, want := range map[string]string{
		"2026-11-20T08:33:01Z":           "2026-11-20T08:33:01Z",
		"2026-11-20t08:33:01z":           "2026-11-20T08:33:01Z",
		"2026-11-20T08:33:01.999999999Z": "2026-11-20T08:33:01Z",
		"2026-11-20T08:33:01+02:00":      "2026-11-20T06:33:01Z",
		"2026-11-20T23:33:01.5-05:30":    "2026-11-21T05:03:01Z",
		"2024-02-29T00:00:00Z":           "2024-02-29T00:00:00Z",
		"2016-12-31T23:59:60Z":           "2017-01-01T00:00:00Z",
		"2017-01-01T00:59:60+01:00":      "2017-01-01T00:00:00Z",
		"0001-01-01T00:00:01Z":           "0001-01-01T00:00:01Z",
		"9999-12-31T23:59:59Z":           "9999-12-31T23:59:59Z",
		"2026-11-20T08:33:01-00:00":      "2026-11-20T08:33:01Z",
	} {
		got, ok := ParseTime(in)
		if !ok || FormatTime(got) != want {
			t.Errorf("%s: got %s, %t, want %s", in, FormatTime(got), ok, want)
		}
		expect.That(t, got.Location() == time.UTC && got.Nanosecond() == 0, "%s: %v is not UTC in whole seconds", in, got)
		written, ok := ParseTimeKeepingOffset(in)
		expect.That(t, ok && written.Equal(got), "%s: %v, %t with its offset", in, written, ok)
	}
	for _, in := range []string{
		"", "2026-11-20", "2026-11-20T08:33Z", "2026-11-20T08:33:01", "2026-11-20 08:33:01Z", "2026-11-20T08:33:01,5Z",
		"2026-11-20T08:33:01.Z", "2026-11-20T08:33:01+0200", "2026-11-20T08:33:01+24:00", "2026-11-20T08:33:01+02:60",
		"2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-01-00T00:00:00Z", "2026-04-31T00:00:00Z",
		"2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z", "2026-01-01T00:00:60Z", "2026-01-01T00:00:61Z",
		"+026-01-01T00:00:00Z", "20260-01-01T00:00:00Z", "2026-1-01T00:00:00Z", " 2026-11-20T08:33:01Z", "2026-11-20T08:33:01Z ",
		"0000-06-01T00:00:00Z", "0001-01-01T00:00:00Z", "0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00", "٢٠٢٦-11-20T08:33:01Z",
	} {
		got, ok := ParseTime(in)
		expect.That(t, !ok, "%q is accepted as %v", in, got)
	}
}

func TestParseQueryTime(t *testing.T) {
	for in, want := range map[string]struct {
		text     string
		fraction bool
	}{
		"2026-11-20T08:33:01Z":           {"2026-11-20T08:33:01Z", false},
		"0001-01-01T00:00:00Z":           {"0001-01-01T00:00:00Z", false},
		"2026-11-20T08:33:01+0100":       {"2026-11-20T07:33:01Z", false},
		"2026-11-20T08:33:01-0530":       {"2026-11-20T14:03:01Z", false},
		"2026-11-20T08:33:01 0100":       {"2026-11-20T07:33:01Z", false},
		"2026-11-20T08:33:01 01:00":      {"2026-11-20T07:33:01Z", false},
		"2026-11-20T08:33:01+01":         {"2026-11-20T07:33:01Z", false},
		"2026-11-20T08:33:01.5-01":       {"2026-11-20T09:33:01Z", true},
		"2026-11-20T08:33:01.000+0000":   {"2026-11-20T08:33:01Z", false},
		"2026-11-20T08:33:01.000001Z":    {"2026-11-20T08:33:01Z", true},
		"2026-11-20T08:33:01.000 01:00":  {"2026-11-20T07:33:01Z", false},
		"9999-12-31T23:59:59.9999+00:00": {"9999-12-31T23:59:59Z", true},
	} {
		got, fraction, ok := ParseQueryTime(in)
		if !ok || FormatTime(got) != want.text || fraction != want.fraction {
			t.Errorf("%s: got %s, %t, %t, want %v", in, FormatTime(got), fraction, ok, want)
		}
	}
	for _, in := range []string{"", "2026-11-20", "2026-11-20T08:33:01", "2026-11-20T08:33:01+2400", "2026-11-20T08:33:01+0160", "2026-11-20T08:33:01+1", "2026-11-20T08:33:01+010", "0001-01-01T00:00:00+0100", "2026-11-20T08:33:01.5"} {
		got, _, ok := ParseQueryTime(in)
		expect.That(t, !ok, "%q is accepted as %v", in, got)
	}
}

func TestByteOrderMarksAreNamed(t *testing.T) {
	for text, name := range map[string]string{
		"\xef\xbb\xbf{}": "UTF-8", "\xff\xfe{\x00}\x00": "UTF-16", "\xfe\xff\x00{\x00}": "UTF-16", "\xff\xfe\x00\x00{\x00\x00\x00": "UTF-32", "\xef\xbb\xbf": "UTF-8", "\xff\xfe": "UTF-16",
	} {
		_, err := Parse([]byte(text), BodyLimits)
		expect.That(t, err != nil && strings.Contains(err.Error(), "byte order mark ("+name+")"), "%q: %v", text, err)
	}
}

func TestParseWrittenTime(t *testing.T) {
	for in, want := range map[string]string{
		"2026-11-20T08:33:01.9+02:00": "2026-11-20T08:33:01+02:00",
		"2026-11-20t23:33:01-05:30":   "2026-11-20T23:33:01-05:30",
		"2026-11-20T08:33:01-00:00":   "2026-11-20T08:33:01Z",
		"2026-11-20T08:33:01+00:00":   "2026-11-20T08:33:01Z",
		"2017-01-01T00:59:60+01:00":   "2017-01-01T01:00:00+01:00",
		"2026-11-20T08:33:01z":        "2026-11-20T08:33:01Z",
	} {
		got, ok := ParseTimeKeepingOffset(in)
		if !ok || got.Format(time.RFC3339) != want {
			t.Errorf("%s: got %s, %t, want %s", in, got.Format(time.RFC3339), ok, want)
		}
	}
	got, ok := ParseTimeKeepingOffset("2026-11-20")
	expect.That(t, !ok && got.IsZero(), "a date is accepted as %v", got)
}
