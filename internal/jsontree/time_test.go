package jsontree

import (
	"testing"
	"time"
)

func TestParseTime(t *testing.T) {
	t.Parallel()

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
		if got.Location() != time.UTC || got.Nanosecond() != 0 {
			t.Errorf("%s: %v is not UTC in whole seconds", in, got)
		}
		if written, ok := ParseWrittenTime(in); !ok || !written.Equal(got) {
			t.Errorf("%s: %v, %t with its offset", in, written, ok)
		}
	}
	for _, in := range []string{
		"", "2026-11-20", "2026-11-20T08:33Z", "2026-11-20T08:33:01", "2026-11-20 08:33:01Z", "2026-11-20T08:33:01,5Z",
		"2026-11-20T08:33:01.Z", "2026-11-20T08:33:01+0200", "2026-11-20T08:33:01+24:00", "2026-11-20T08:33:01+02:60",
		"2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-01-00T00:00:00Z", "2026-04-31T00:00:00Z",
		"2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z", "2026-01-01T00:00:60Z", "2026-01-01T00:00:61Z",
		"+026-01-01T00:00:00Z", "20260-01-01T00:00:00Z", "2026-1-01T00:00:00Z", " 2026-11-20T08:33:01Z", "2026-11-20T08:33:01Z ",
		"0000-06-01T00:00:00Z", "0001-01-01T00:00:00Z", "0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00", "٢٠٢٦-11-20T08:33:01Z",
	} {
		if got, ok := ParseTime(in); ok {
			t.Errorf("%q is accepted as %v", in, got)
		}
	}
}

func TestParseWrittenTime(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"2026-11-20T08:33:01.9+02:00": "2026-11-20T08:33:01+02:00",
		"2026-11-20t23:33:01-05:30":   "2026-11-20T23:33:01-05:30",
		"2026-11-20T08:33:01-00:00":   "2026-11-20T08:33:01Z",
		"2026-11-20T08:33:01+00:00":   "2026-11-20T08:33:01Z",
		"2017-01-01T00:59:60+01:00":   "2017-01-01T01:00:00+01:00",
		"2026-11-20T08:33:01z":        "2026-11-20T08:33:01Z",
	} {
		got, ok := ParseWrittenTime(in)
		if !ok || got.Format(time.RFC3339) != want {
			t.Errorf("%s: got %s, %t, want %s", in, got.Format(time.RFC3339), ok, want)
		}
	}
	if got, ok := ParseWrittenTime("2026-11-20"); ok || !got.IsZero() {
		t.Errorf("a date is accepted as %v", got)
	}
}
