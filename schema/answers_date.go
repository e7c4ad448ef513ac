package schema

import "time"

// dateRule checks date.
type dateRule struct {
	clock            bool      // the answer has a time
	earliest, latest time.Time // zero: no bound
	disabled         Integer   // mask of week days, bit 0 = Sunday
	only             map[string]bool
	example          time.Time // where a search for an allowed date begins
}

const day = 24 * time.Hour

func newDateRule(p *Properties) dateRule {
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

func (t dateRule) check(dst []byte, n *node, r *report) []byte {
	text, ok := trimmed(n, r)
	if !ok {
		return dst
	}
	at, ok := t.parse(text)
	if !ok {
		r.add(CodeBadFormat, t.format())
		return dst
	}
	if !t.latest.IsZero() && at.After(t.latest) {
		r.add(CodeOutOfRange, "must not be later than "+t.show(t.latest))
	}
	if !t.earliest.IsZero() && at.Before(t.earliest) {
		r.add(CodeOutOfRange, "must not be earlier than "+t.show(t.earliest))
	}
	if t.disabled>>at.Weekday()&1 == 1 {
		r.add(CodeNotAllowed, "must not be on a "+at.Weekday().String())
	}
	if t.only != nil && !t.only[at.Format(time.DateOnly)] {
		r.add(CodeNotAllowed, "must be one of the dates that the form offers")
	}
	if r.faults > 0 {
		return dst
	}
	return appendQuoted(dst, t.show(at))
}

// parse reads a date of the years 1 to 9999, or a time in UTC and whole seconds.
func (t dateRule) parse(text string) (at time.Time, ok bool) {
	if t.clock {
		return ParseTime(text)
	}
	at, err := time.Parse(time.DateOnly, text)
	return at, err == nil && at.Year() >= 1
}

func (t dateRule) show(at time.Time) string {
	if t.clock {
		return formatTime(at)
	}
	return at.Format(time.DateOnly)
}

func (t dateRule) format() string {
	if t.clock {
		return "must be an RFC 3339 time"
	}
	return "must be a date as YYYY-MM-DD"
}

// timeRule checks time.
type timeRule struct{ seconds bool }

func (t timeRule) check(dst []byte, n *node, r *report) []byte {
	text, ok := trimmed(n, r)
	if !ok {
		return dst
	}
	if len(text) == len("15:04") {
		text += ":00"
	}
	if !isClock(text) || !t.seconds && text[len("15:04"):] != ":00" {
		r.add(CodeBadFormat, t.format())
		return dst
	}
	if !t.seconds {
		text = text[:len("15:04")]
	}
	return appendQuoted(dst, text)
}

// isClock reports whether text is HH:MM:SS.
func isClock(text string) bool {
	if len(text) != len(time.TimeOnly) {
		return false // time.Parse would take one digit for the hour, and fractions
	}
	_, err := time.Parse(time.TimeOnly, text)
	return err == nil
}

func (t timeRule) format() string {
	if t.seconds {
		return "must be a time of day as HH:MM:SS"
	}
	return "must be a time of day as HH:MM"
}
