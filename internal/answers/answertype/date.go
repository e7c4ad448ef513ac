package answertype

import (
	"maps"
	"slices"
	"time"

	"github.com/formsvc/formsvc/internal/calendar"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
)

// dateRule checks date blocks. first and last are calendar days (see package calendar). A zero value means no limit.
type dateRule struct {
	hasTime      bool // answers have a time
	first, last  time.Time
	disabled     schema.Integer  // bit mask of weekdays, bit 0 = Sunday
	allowedDates map[string]bool // allowed days as YYYY-MM-DD
	example      time.Time       // where the search for an allowed day starts
}

// newDate converts the date limits to days in the service's time zone.
func newDate(b *schema.Block, from ServiceConfig) Rule {
	p, zone := b.Properties, from.TimeZone
	rule := dateRule{hasTime: p.ShowTimePicker, example: time.Date(2026, 8, 3, 0, 0, 0, 0, time.UTC)}
	if p.DisabledDays != nil {
		rule.disabled = *p.DisabledDays
	}
	if p.BeforeDate != nil {
		rule.last = calendar.UTCDay(p.BeforeDate.In(zone))
		rule.example = rule.last.AddDate(0, 0, -6)
		if lastWeek := time.Date(9999, 12, 25, 0, 0, 0, 0, time.UTC); rule.example.After(lastWeek) {
			rule.example = lastWeek // leaves seven days until 9999-12-31
		}
	}
	if p.AfterDate != nil {
		rule.first = calendar.UTCDay(p.AfterDate.In(zone))
		rule.example = rule.first
	}
	if first := time.Date(firstYear, 1, 1, 0, 0, 0, 0, time.UTC); rule.example.Before(first) {
		rule.example = first
	}
	if len(p.SpecificDates) > 0 {
		rule.allowedDates = make(map[string]bool, len(p.SpecificDates))
		for _, t := range p.SpecificDates {
			rule.allowedDates[t.In(zone).Format(time.DateOnly)] = true
		}
	}
	return rule
}

func (t dateRule) Check(w *jsontree.Writer, n jsontree.Node, r *Report) {
	text, ok := readTrimmedText(n, r)
	if !ok {
		return
	}
	at, ok := t.parse(text)
	if !ok {
		r.add(n, t.formatViolation(text))
		return
	}
	t.checkLimits(calendar.UTCDay(at), func(f Violation) { r.add(n, f) })
	if r.count == 0 {
		w.String(t.formatTime(at))
	}
}

// checkLimits calls refuse for every limit that day violates.
func (t dateRule) checkLimits(day time.Time, refuse func(Violation)) {
	if !t.last.IsZero() && day.After(t.last) || day.Before(t.first) {
		refuse(violationDateOutOfRange(t.first, t.last))
	}
	if t.disabled>>day.Weekday()&1 == 1 {
		refuse(t.weekdayViolation(day.Weekday()))
	}
	if t.allowedDates != nil && !t.allowedDates[day.Format(time.DateOnly)] {
		var allowed []string
		if len(t.allowedDates) <= maxAllowedValues {
			allowed = slices.Sorted(maps.Keys(t.allowedDates))
		}
		refuse(ViolationNotAllowed("date", "must be one of the available dates", allowed...))
	}
}

func (t dateRule) weekdayViolation(is time.Weekday) Violation {
	f := ViolationNotAllowed("weekday", "must not be on a "+is.String())
	allowed := []int{}
	for weekday := range 7 {
		if t.disabled>>weekday&1 == 0 {
			allowed = append(allowed, weekday)
		}
	}
	f.Params["allowed"] = allowed
	return f
}

// firstYear is the earliest accepted year. Date pickers turn a typed year of 85 into 0085, and real answers are never
// from the first millennium.
const firstYear = 1000

// parse parses a date in the years 1000 to 9999, or a time with its UTC offset.
func (t dateRule) parse(text string) (at time.Time, ok bool) {
	if t.hasTime {
		at, ok = jsontree.ParseTimeKeepingOffset(text)
	} else {
		var err error
		at, err = time.Parse(time.DateOnly, text)
		ok = err == nil
	}
	return at, ok && at.Year() >= firstYear && at.Year() <= 9999
}

func (t dateRule) formatTime(at time.Time) string {
	if t.hasTime {
		return at.Format(time.RFC3339)
	}
	return at.Format(time.DateOnly)
}

func (t dateRule) formatViolation(text string) Violation {
	if at, err := time.Parse(time.DateOnly, text[:min(len(text), len(time.DateOnly))]); err == nil && at.Year() < firstYear {
		return ViolationBadFormat("year", "must have a four-digit year without a leading zero, such as 1985")
	}
	if _, err := time.Parse(time.DateOnly+"T"+time.TimeOnly, text); t.hasTime && err == nil {
		return ViolationBadFormat("offset", "must have a time with a UTC offset, such as 2026-11-20T08:30:00+01:00")
	}
	if t.hasTime {
		return ViolationBadFormat("date-time", "must be a date and a time, such as 2026-11-20T08:30:00Z")
	}
	return ViolationBadFormat("date", "must be a date, such as 2026-11-20")
}

// findAllowedDay returns a day that meets all limits, if any.
func (t dateRule) findAllowedDay() (day time.Time, ok bool) {
	var tries []time.Time
	for _, date := range slices.Sorted(maps.Keys(t.allowedDates)) {
		if day, err := time.Parse(time.DateOnly, date); err == nil {
			tries = append(tries, day)
		}
	}
	if t.allowedDates == nil {
		// Seven consecutive days contain every weekday, so they include an allowed one, if any.
		for days := range 7 {
			tries = append(tries, t.example.AddDate(0, 0, days))
		}
	}
	for _, day := range tries {
		ok := day.Year() >= firstYear && day.Year() <= 9999
		t.checkLimits(day, func(Violation) { ok = false })
		if ok {
			return day, true
		}
	}
	return day, false
}

func (t dateRule) Sample() string {
	day, ok := t.findAllowedDay()
	if !ok {
		return "null"
	}
	return QuoteJSON(t.formatTime(day.Add(10*time.Hour + 30*time.Minute)))
}

func (t dateRule) contradiction() (member string, why Explanation) {
	if _, ok := t.findAllowedDay(); ok {
		return "", Explanation{}
	}
	return "/properties", Explanation{Reason: "no_day", Message: "the limits, weekdays and specific dates exclude every day"}
}

// violationDateOutOfRange treats a zero day as the absence of a limit.
func violationDateOutOfRange(first, last time.Time) Violation {
	f := Violation{Code: schema.CodeOutOfRange, Params: make(map[string]any)}
	if !first.IsZero() {
		f.Params["min"] = first.Format(time.DateOnly)
	}
	if !last.IsZero() {
		f.Params["max"] = last.Format(time.DateOnly)
	}
	const layout = "2 January 2006"
	switch {
	case first.IsZero():
		f.Message = "must be on or before " + last.Format(layout)
	case last.IsZero():
		f.Message = "must be on or after " + first.Format(layout)
	default:
		f.Message = "must be between " + first.Format(layout) + " and " + last.Format(layout)
	}
	return f
}
