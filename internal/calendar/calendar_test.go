package calendar

import (
	"testing"
	"time"
	_ "time/tzdata" // the zones of the tests, wherever they run

	"github.com/formsvc/formsvc/internal/lab/expect"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	l, err := time.LoadLocation(name)
	expect.NoError(t, err)
	return l
}

func TestStart(t *testing.T) {
	for _, c := range []struct{ zone, day, want string }{
		{"UTC", "2026-08-01", "2026-08-01T00:00:00Z"},
		{"Asia/Tokyo", "2026-08-01", "2026-07-31T15:00:00Z"},
		{"America/New_York", "2026-08-01", "2026-08-01T04:00:00Z"},
		{"America/New_York", "2026-12-01", "2026-12-01T05:00:00Z"},
		{"Europe/Berlin", "2026-03-29", "2026-03-28T23:00:00Z"}, // clocks go forward at two
		{"Europe/Berlin", "2026-03-30", "2026-03-29T22:00:00Z"},
		{"Pacific/Auckland", "2026-09-27", "2026-09-26T12:00:00Z"},
		{"Pacific/Auckland", "2026-09-28", "2026-09-27T11:00:00Z"},
		{"Africa/Cairo", "2024-04-26", "2024-04-25T22:00:00Z"},      // no midnight: 00:00 is 01:00
		{"America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00:00Z"}, // the same
		{"America/Havana", "2024-11-03", "2024-11-03T04:00:00Z"},    // two midnights: 01:00 is 00:00
		{"Africa/Cairo", "2024-11-01", "2024-10-31T22:00:00Z"},      // 00:00 is 23:00: that day goes on
		{"Pacific/Apia", "2011-12-30", "2011-12-30T10:00:00Z"},      // no such day
		{"Pacific/Apia", "2011-12-31", "2011-12-30T10:00:00Z"},
		{"Pacific/Kiritimati", "2026-01-01", "2025-12-31T10:00:00Z"},
		{"Asia/Tokyo", "0001-01-01", "0001-01-01T00:00:01Z"},
		{"America/New_York", "9999-12-31", "9999-12-31T05:00:00Z"},
	} {
		day, err := time.Parse(time.DateOnly, c.day)
		expect.NoError(t, err)
		expect.Equal(t, StartOfDay(day, zone(t, c.zone)).Format(time.RFC3339), c.want, "%s in %s begins at", c.day, c.zone)
	}
}

// The start of a day lies on that day, and the second before it on another: for every
// day of sixty years, in zones of all kinds.
func TestStartIsTheFirstSecond(t *testing.T) {
	for _, name := range []string{
		"UTC", "Asia/Tokyo", "America/New_York", "Europe/Berlin", "Pacific/Auckland", "Pacific/Chatham", "Africa/Cairo", "America/Sao_Paulo",
		"America/Havana", "Asia/Beirut", "Asia/Gaza", "Australia/Lord_Howe", "America/St_Johns", "Asia/Kathmandu", "America/Santiago", "Asia/Tehran",
	} {
		t.Run(name, func(t *testing.T) {
			l := zone(t, name)
			for day := time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() < 2040; day = day.AddDate(0, 0, 1) {
				start := StartOfDay(day, l)
				if !UTCDay(start.In(l)).Equal(day) {
					t.Fatalf("%s begins at %s, on another day", day.Format(time.DateOnly), start.In(l))
				}
				if before := start.Add(-time.Second).In(l); UTCDay(before).Equal(day) {
					t.Fatalf("%s begins at %s, not at the first second", day.Format(time.DateOnly), start.In(l))
				}
			}
		})
	}
}

// At finds the first point in time with that clock, and none where the clocks skip it: at every
// quarter of an hour around each change of sixty years.
func TestAtIsTheFirst(t *testing.T) {
	for _, name := range []string{
		"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "Asia/Beirut", "Pacific/Apia", "Africa/Cairo", "America/Havana", "Asia/Pyongyang", "Pacific/Chatham",
	} {
		t.Run(name, func(t *testing.T) {
			l := zone(t, name)
			for at := time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC); at.Year() < 2040; {
				_, next := at.In(l).ZoneBounds()
				if next.IsZero() {
					break
				}
				at = next
				first := map[string]time.Time{} // by the clock, of every quarter of an hour in two days
				for u := next.Add(-48 * time.Hour); u.Before(next.Add(48 * time.Hour)); u = u.Add(15 * time.Minute) {
					if shown := u.In(l).Format(time.DateTime); first[shown].IsZero() {
						first[shown] = u
					}
				}
				for wall := next.Add(-26 * time.Hour).UTC(); wall.Before(next.Add(26 * time.Hour)); wall = wall.Add(15 * time.Minute) {
					got, ok := FirstTimeAt(wall, l)
					if want := first[wall.Format(time.DateTime)]; ok == want.IsZero() || ok && !got.Equal(want) {
						t.Fatalf("%s: %v %v, want %v", wall.Format(time.DateTime), got, ok, want)
					}
				}
			}
		})
	}
}
