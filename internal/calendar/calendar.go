// Package calendar converts times to calendar days and back. A day is represented by a [time.Time] at midnight UTC,
// whatever zone the day belongs to.
package calendar

import "time"

// UTCDay returns the calendar day of t in the time zone of t.
func UTCDay(t time.Time) time.Time {
	year, month, day := t.Date()
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// earliest is the first valid time. It is not the zero time, because a zero time means that no time is set.
var earliest = time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC)

// StartOfDay returns the first whole second of a day in a time zone. If the clocks skip midnight, it returns the time
// of the clock change. If the zone skipped the day, as Samoa skipped 30 December 2011, it returns the start of the
// next day. The result is never before earliest.
func StartOfDay(day time.Time, zone *time.Location) time.Time {
	day = UTCDay(day)
	year, month, date := day.Date()
	yesterday := time.Date(year, month, date-1, 12, 0, 0, 0, zone)
	today := time.Date(year, month, date, 12, 0, 0, 0, zone)
	_, jump := yesterday.ZoneBounds()
	start := jump // the result if the zone skipped the day
	// The result of time.Date is undefined if midnight is ambiguous or skipped.
	for _, at := range []time.Time{midnight(day, today), jump, midnight(day, yesterday)} {
		if UTCDay(at.In(zone)).Equal(day) {
			start = at
		}
	}
	if start.Before(earliest) {
		start = earliest
	}
	return start.UTC()
}

func midnight(day, other time.Time) time.Time {
	_, offset := other.Zone()
	return day.Add(-time.Duration(offset) * time.Second)
}

// FirstTimeAt returns the first time at which clocks in zone show wall. ok is false if the clocks skip this time.
func FirstTimeAt(wall time.Time, zone *time.Location) (at time.Time, ok bool) {
	year, month, day := wall.Date()
	hour, minute, second := wall.Clock()
	shown := time.Date(year, month, day, hour, minute, second, 0, time.UTC)
	// Clocks never change twice within two days, so either offset is right.
	for _, near := range []time.Time{shown.AddDate(0, 0, -1), shown.AddDate(0, 0, 1)} {
		_, offset := near.In(zone).Zone()
		try := shown.Add(-time.Duration(offset) * time.Second).In(zone)
		if _, is := try.Zone(); is == offset && (!ok || try.Before(at)) {
			at, ok = try, true
		}
	}
	return at, ok
}
