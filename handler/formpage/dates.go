package formpage

import (
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
	f.Help = b.dateHelp(f.Min, f.Max)
	order, split := map[string]string{"DDMMYYYY": "dmy", "MMDDYYYY": "mdy", "YYYYMMDD": "ymd"}[p.DateFormat]
	split = split && !p.ShowDatePicker
	if split || p.ShowTimePicker {
		f.Set = true
	}
	part := func(prefix, word, kind string) field {
		name := prefix + block.ID
		return field{
			page: b.view, ID: f.ID + "-" + strings.TrimSuffix(prefix, ".") + "1", Name: name, Label: b.c.words.get(word), Input: kind,
			Required: block.Required, Value: b.value(name),
		}
	}
	if split {
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
	if f.Set {
		f.Kind = "dateparts"
	}
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
