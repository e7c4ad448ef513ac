package field

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/words"
	"github.com/formsvc/formsvc/schema"
)

// The order and the labels of the inputs if a date has three inputs.
var (
	dateOrders = map[string][]string{
		"DDMMYYYY": {input.Day, input.Month, input.Year}, "MMDDYYYY": {input.Month, input.Day, input.Year}, "YYYYMMDD": {input.Year, input.Month, input.Day},
	}
	dateWords = map[string]string{input.Day: "date.day", input.Month: "date.month", input.Year: "date.year"}
)

// addDate renders a date as a single input with the browser's calendar, or as three inputs in the configured order.
func (b *builder) addDate(f *Field, block *schema.Block, p *schema.Properties) {
	f.Input, f.Classes = "date", " short"
	location := b.Host.Location
	if p.AfterDate != nil {
		f.Min = p.AfterDate.In(location).Format(time.DateOnly)
	}
	if p.BeforeDate != nil {
		f.Max = p.BeforeDate.In(location).Format(time.DateOnly)
	}
	f.Help = b.dateHelp(f.Min, f.Max, allowedWeekdays(p))
	order, split := dateOrders[p.DateFormat]
	days := possibleDays(p, location, f.Min, f.Max)
	listed := len(days) > 0 && len(days) <= formblock.MaxRenderedChoices(schema.TypeDate)
	split = split && !p.ShowDatePicker && !listed
	f.Fieldset = split || p.ShowTimePicker
	part := func(prefix, word, kind, mode string) Field {
		name := prefix + block.ID
		return Field{
			ID: f.ID + "-" + strings.TrimSuffix(prefix, ".") + "1", Name: name, Label: b.Words.Get(word), Input: kind, Mode: mode,
			Required: block.Required, Value: b.useValue(name),
		}
	}
	switch {
	case listed:
		b.addDayOptions(f, days)
	case split:
		// A prefilled value from a link contains the whole date.
		day, err := time.Parse(time.DateOnly, b.useValue(f.Name))
		numbers := map[string]int{input.Day: day.Day(), input.Month: int(day.Month()), input.Year: day.Year()}
		for _, name := range order {
			one := part(name, dateWords[name], "text", "numeric")
			if one.Value == "" && err == nil {
				one.Value = strconv.Itoa(numbers[name])
			}
			f.Parts = append(f.Parts, one)
		}
		f.Separator = strings.TrimSpace(p.DateSeparator)
	case f.Fieldset:
		f.Parts = append(f.Parts, part(input.Answer, "date.date", "date", ""))
		f.Parts[0].Min, f.Parts[0].Max = f.Min, f.Max
	}
	if p.ShowTimePicker {
		f.Parts = append(f.Parts, part(input.Time, "date.time", "time", ""))
		f.Zone = input.Zone + block.ID
		b.Used[f.Zone] = true
	}
	if f.Fieldset && !listed {
		f.control = (*writer).writeDateParts
	}
	if len(days) > formblock.MaxRenderedChoices(schema.TypeDate) {
		f.Help = b.Words.Get("help.dates", "min", b.Words.FormatDate(days[0]), "max", b.Words.FormatDate(days[len(days)-1]))
	}
}

// Up to maxDayButtons specific dates are shown as buttons, and more as a dropdown. Beyond maxListedDays, the page does
// not list them.
const (
	maxDayButtons = 10
	maxListedDays = 10_000
)

// possibleDays returns the specific dates that all other rules allow, sorted and formatted as YYYY-MM-DD.
func possibleDays(p *schema.Properties, zone *time.Location, low, high string) (days []string) {
	if len(p.SpecificDates) > maxListedDays {
		return nil
	}
	on := allowedWeekdays(p)
	for _, t := range p.SpecificDates {
		at := t.In(zone)
		if day := at.Format(time.DateOnly); day >= low && (high == "" || day <= high) && slices.Contains(on, int(at.Weekday())) {
			days = append(days, day)
		}
	}
	slices.Sort(days)
	return slices.Compact(days)
}

// allowedWeekdays returns the allowed weekdays. 0 is Sunday.
func allowedWeekdays(p *schema.Properties) (list []int) {
	for _, day := range []int{1, 2, 3, 4, 5, 6, 0} {
		if p.DisabledDays == nil || *p.DisabledDays>>day&1 == 0 {
			list = append(list, day)
		}
	}
	return list
}

func (b *builder) addDayOptions(f *Field, days []string) {
	f.control, f.Fieldset, f.Classes, f.Help = (*writer).writeSelect, false, "", ""
	if len(days) <= maxDayButtons {
		f.useRadioButtons()
	}
	var pairs []string
	for _, day := range days {
		at, _ := time.Parse(time.DateOnly, day) // The caller has formatted the day, so it is valid.
		name := b.Words.FormatWeekdays([]int{int(at.Weekday())})
		pairs = append(pairs, day, b.Words.JoinList([]string{name, b.Words.FormatDate(day)}))
	}
	b.addFixedOptions(f, pairs...)
}

// dateHelp returns a help text about the allowed dates. on lists the allowed weekdays.
func (b *builder) dateHelp(low, high string, on []int) (help string) {
	low, high = b.Words.FormatDate(low), b.Words.FormatDate(high)
	help = b.Words.Get("help.date_"+words.BoundsSuffix(low != "", high != ""), "min", low, "max", high)
	if n := len(on); n > 0 && n < 7 {
		help += " " + b.Words.Get("help.weekdays", "days", b.Words.FormatWeekdays(on))
	}
	return strings.TrimSpace(help)
}
