package formpage

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/formsvc/formsvc/schema"
)

// drawDate draws a date as one input, which browsers show in the visitor's way with a
// calendar, or as three in the order that the form asks for.
func (b *builder) drawDate(f *field, block *schema.Block, p *schema.Properties) {
	f.Kind, f.Input, f.Classes = "date", "date", " short"
	location := b.c.h.config.Location
	if p.AfterDate != nil {
		f.Min = p.AfterDate.In(location).Format(time.DateOnly)
	}
	if p.BeforeDate != nil {
		f.Max = p.BeforeDate.In(location).Format(time.DateOnly)
	}
	f.Help = strings.TrimSpace(b.dateHelp(f.Min, f.Max) + " " + b.weekdayHelp(p))
	days, first, last := possibleDays(p, location)
	order, split := map[string]string{"DDMMYYYY": "dmy", "MMDDYYYY": "mdy", "YYYYMMDD": "ymd"}[p.DateFormat]
	split = split && !p.ShowDatePicker
	listed := len(days) > 0 && len(days) <= mostDays
	split = split && !listed
	f.Set = split || p.ShowTimePicker
	part := func(prefix, word, kind string) field {
		name := prefix + block.ID
		return field{
			page: b.view, ID: f.ID + "-" + strings.TrimSuffix(prefix, ".") + "1", Name: name, Label: b.c.words.get(word), Input: kind,
			Required: block.Required, Value: b.value(name),
		}
	}
	if len(days) > mostDays {
		f.Help = b.c.words.get("help.dates", "min", b.c.words.date(first.Format(time.DateOnly)), "max", b.c.words.date(last.Format(time.DateOnly)))
	}
	if listed {
		b.dayOptions(f, days)
	} else if split {
		for _, c := range order {
			switch c {
			case 'd':
				f.Parts = append(f.Parts, part(nameDay, "date.day", "text"))
			case 'm':
				f.Parts = append(f.Parts, part(nameMonth, "date.month", "text"))
			case 'y':
				f.Parts = append(f.Parts, part(nameYear, "date.year", "text"))
			}
		}
		b.splitDate(f, block)
		f.Sep = strings.TrimSpace(p.DateSeparator)
	} else if f.Set {
		f.Parts = append(f.Parts, part(nameAnswer, "date.date", "date"))
		f.Parts[0].Min, f.Parts[0].Max = f.Min, f.Max
	}
	if p.ShowTimePicker {
		f.Parts = append(f.Parts, part(nameTime, "date.time", "time"))
		f.Zone = nameZone + block.ID
		b.used[f.Zone] = true
	}
	if f.Set && !listed {
		f.Kind = "dateparts"
	}
}

// Of the days that a block names, so many are drawn as buttons, and so many to choose from a
// list. More are explained.
const (
	mostDayButtons = 10
	mostDays       = 50
)

// possibleDays are the days that specificDates names and the other rules leave, in their
// order, at midnight UTC: at most one more than mostDays, and the first and the last of all.
func possibleDays(p *schema.Properties, zone *time.Location) (days []time.Time, first, last time.Time) {
	on := weekdays(p)
	dayOf := func(t time.Time) time.Time {
		year, month, day := t.In(zone).Date()
		return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	}
	var after, before time.Time
	if p.AfterDate != nil {
		after = dayOf(*p.AfterDate)
	}
	if p.BeforeDate != nil {
		before = dayOf(*p.BeforeDate)
	}
	for _, t := range p.SpecificDates {
		day := dayOf(t)
		if day.Before(after) || !before.IsZero() && day.After(before) || !slices.Contains(on, int(day.Weekday())) {
			continue
		}
		if first.IsZero() || day.Before(first) {
			first = day
		}
		if day.After(last) {
			last = day
		}
		if len(days) <= mostDays && !slices.Contains(days, day) {
			days = append(days, day)
		}
	}
	slices.SortFunc(days, time.Time.Compare)
	return days, first, last
}

// weekdays are the days of the week that a block takes, 0 is Sunday.
func weekdays(p *schema.Properties) []int {
	var list []int
	for day := range 7 {
		if p.DisabledDays == nil || *p.DisabledDays>>day&1 == 0 {
			list = append(list, day)
		}
	}
	return list
}

// dayOptions draws the days that can be chosen.
func (b *builder) dayOptions(f *field, days []time.Time) {
	f.Kind, f.Set, f.Classes, f.Help = "select", false, "", ""
	if len(days) <= mostDayButtons {
		f.Kind, f.Input, f.Set = "choices", "radio", true
	}
	chosen := b.value(f.Name)
	for _, day := range days {
		value := day.Format(time.DateOnly)
		label := b.c.words.list([]string{b.c.words.weekdays([]int{int(day.Weekday())}), b.c.words.date(value)})
		f.Options = append(f.Options, option{Name: f.Name, Value: value, Label: label, Chosen: chosen == value})
	}
}

// weekdayHelp names the days of the week that can be chosen, where there are others.
func (b *builder) weekdayHelp(p *schema.Properties) string {
	if days := weekdays(p); len(days) > 0 && len(days) < 7 {
		return b.c.words.get("help.weekdays", "days", b.c.words.weekdays(days))
	}
	return ""
}

// splitDate fills the three inputs from a date in one, as a link prefills it.
func (b *builder) splitDate(f *field, block *schema.Block) {
	day, err := time.Parse(time.DateOnly, b.value(nameAnswer+block.ID))
	if err != nil {
		return
	}
	for i := range f.Parts {
		part := &f.Parts[i]
		if part.Value != "" {
			continue
		}
		switch {
		case strings.HasPrefix(part.Name, nameDay):
			part.Value = strconv.Itoa(day.Day())
		case strings.HasPrefix(part.Name, nameMonth):
			part.Value = strconv.Itoa(int(day.Month()))
		case strings.HasPrefix(part.Name, nameYear):
			part.Value = strconv.Itoa(day.Year())
		}
	}
}

func (b *builder) dateHelp(low, high string) string {
	low, high = b.c.words.date(low), b.c.words.date(high)
	switch {
	case low != "" && high != "":
		return b.c.words.get("help.date_between", "min", low, "max", high)
	case low != "":
		return b.c.words.get("help.date_min", "min", low)
	case high != "":
		return b.c.words.get("help.date_max", "max", high)
	}
	return ""
}
