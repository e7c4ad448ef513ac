package answers

import (
	"maps"
	"slices"
	"time"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
)

// dateRule checks date.
type dateRule struct {
	clock            bool           // the answer has a time
	earliest, latest time.Time      // zero: no bound
	disabled         schema.Integer // mask of week days, bit 0 = Sunday
	only             map[string]bool
	example          time.Time // where a search for an allowed date begins
}

const day = 24 * time.Hour

func newDateRule(p *schema.Properties) dateRule {
	rule := dateRule{clock: p.ShowTimePicker, example: time.Date(2026, 8, 3, 10, 30, 0, 0, time.UTC)}
	if p.DisabledDays != nil {
		rule.disabled = *p.DisabledDays
	}
	if p.BeforeDate != nil {
		last := p.BeforeDate.UTC().Truncate(time.Second)
		if midnight := last.Truncate(day); !rule.clock || last.Equal(midnight) {
			last = midnight.Add(day - time.Second)
		}
		rule.latest, rule.example = last, last.Add(-6*day)
	}
	if p.AfterDate != nil {
		first := p.AfterDate.UTC().Truncate(time.Second)
		if !rule.clock {
			first = first.Truncate(day)
		}
		rule.earliest, rule.example = first, first
	}
	if len(p.SpecificDates) > 0 {
		rule.only = make(map[string]bool, len(p.SpecificDates))
		for _, t := range p.SpecificDates {
			rule.only[t.UTC().Format(time.DateOnly)] = true
		}
	}
	return rule
}

func (t dateRule) check(w *jsontree.Writer, n jsontree.Node, r *report) {
	text, ok := trimmed(n, r)
	if !ok {
		return
	}
	at, ok := t.parse(text)
	if !ok {
		r.add(n, t.format())
		return
	}
	t.bounds(at, func(f fault) { r.add(n, f) })
	if r.faults == 0 {
		w.String(t.show(at))
	}
}

// bounds calls refuse for every bound that a date breaks.
func (t dateRule) bounds(at time.Time, refuse func(fault)) {
	if !t.latest.IsZero() && at.After(t.latest) || at.Before(t.earliest) {
		refuse(outOfDays(t.earliest, t.latest))
	}
	if t.disabled>>at.Weekday()&1 == 1 {
		refuse(t.offDay(at.Weekday()))
	}
	if t.only != nil && !t.only[at.Format(time.DateOnly)] {
		refuse(notAllowed("date", "must be one of the dates that can be chosen", slices.Sorted(maps.Keys(t.only))...))
	}
}

// parse reads a date of the years 1 to 9999, or a time in UTC and whole seconds.
func (t dateRule) parse(text string) (at time.Time, ok bool) {
	if t.clock {
		return jsontree.ParseTime(text)
	}
	at, err := time.Parse(time.DateOnly, text)
	return at, err == nil && at.Year() >= 1
}

func (t dateRule) show(at time.Time) string {
	if t.clock {
		return jsontree.FormatTime(at)
	}
	return at.Format(time.DateOnly)
}

// offDay is for a day of the week that the block takes away.
func (t dateRule) offDay(is time.Weekday) fault {
	f := notAllowed("weekday", "must not be on a "+is.String())
	var allowed []int
	for weekday := range 7 {
		if t.disabled>>weekday&1 == 0 {
			allowed = append(allowed, weekday)
		}
	}
	f.params["allowed"] = allowed
	return f
}

func (t dateRule) format() fault {
	if t.clock {
		return badFormat("date-time", "must be a date and a time, such as 2026-11-20T08:30:00Z")
	}
	return badFormat("date", "must be a date, such as 2026-11-20")
}

// sample tries the dates that the form names, then a week.
func (t dateRule) sample() string {
	var tries []string
	for date := range t.only {
		if t.clock {
			date += "T10:30:00Z"
		}
		tries = append(tries, date)
	}
	slices.Sort(tries)
	for days := range 7 {
		tries = append(tries, t.show(t.example.AddDate(0, 0, days)))
	}
	for _, try := range tries {
		at, ok := t.parse(try)
		if ok {
			t.bounds(at, func(fault) { ok = false })
		}
		if ok {
			return quoted(try)
		}
	}
	return "null"
}
