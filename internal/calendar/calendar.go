// Package calendar converts times to calendar days and back. A day is a
// [time.Time] at midnight UTC, whatever the time zone of the original time.
package calendar

import "time"

// Day returns the calendar day that t is written with.
func Day(t time.Time) time.Time {
	year, month, day := t.Date()
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// earliest is the first time that the description can say: the zero time stands for
// none.
var earliest = time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC)

// StartOfDay returns the first whole second of a day in a zone. Where clocks jump over
// midnight it is the second after the jump. Of a day that a zone never had (Samoa had
// no 30 December 2011) it is the first second of the next day, and of the very first
// day the first second that there is in UTC too.
func StartOfDay(day time.Time, zone *time.Location) time.Time {
	day = Day(day)
	year, month, date := day.Date()
	yesterday := time.Date(year, month, date-1, 12, 0, 0, 0, zone)
	today := time.Date(year, month, date, 12, 0, 0, 0, zone)
	_, jump := yesterday.ZoneBounds()
	start := jump // of a day that there is not
	// time.Date does not say which one it takes of two midnights, or of none.
	for _, at := range []time.Time{midnight(day, today), jump, midnight(day, yesterday)} {
		if Day(at.In(zone)).Equal(day) {
			start = at
		}
	}
	if start.Before(earliest) {
		start = earliest
	}
	return start.UTC()
}

// midnight returns the beginning of a day by the clock of another time.
func midnight(day, other time.Time) time.Time {
	_, offset := other.Zone()
	return day.Add(-time.Duration(offset) * time.Second)
}

// FirstTimeAt returns the first point in time at which the clocks of a zone show what wall shows, whatever
// the zone of wall. ok is false if there is none: the clocks skip this time.
func FirstTimeAt(wall time.Time, zone *time.Location) (at time.Time, ok bool) {
	year, month, day := wall.Date()
	hour, minute, second := wall.Clock()
	shown := time.Date(year, month, day, hour, minute, second, 0, time.UTC)
	// No zone changes its clocks twice within two days, so one of these two offsets is right.
	for _, near := range []time.Time{shown.AddDate(0, 0, -1), shown.AddDate(0, 0, 1)} {
		_, offset := near.In(zone).Zone()
		try := shown.Add(-time.Duration(offset) * time.Second).In(zone)
		if _, is := try.Zone(); is == offset && (!ok || try.Before(at)) {
			at, ok = try, true
		}
	}
	return at, ok
}
