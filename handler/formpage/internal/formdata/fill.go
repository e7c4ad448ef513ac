package formdata

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/words"
	"github.com/formsvc/formsvc/schema"
)

// FillInputs converts answers to inputs from which [ParseAnswers] returns the same answers. The answers may be from
// another version of the form. lost contains the answers that do not fit completely. comma is true if numbers have a
// decimal comma.
func FillInputs(blocks []schema.Block, answers map[string]json.RawMessage, comma bool) (values url.Values, lost []UnmatchedInput) {
	f := filler{url.Values{}, comma}
	left := maps.Clone(answers)
	for b, hidden := range formblock.Walk(blocks) {
		if raw, ok := left[b.ID]; ok && !hidden && f.fillBlock(b, raw) {
			delete(left, b.ID)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(left)) {
		var text string
		var beside struct{ Other string }
		if json.Unmarshal(left[id], &text) != nil {
			_ = json.Unmarshal(left[id], &beside)
		}
		lost = append(lost, UnmatchedInput{id, cmp.Or(text, beside.Other, "–")}) // A choice means nothing without its label.
	}
	return f.values, lost
}

// filler fills in inputs. Its methods report whether the whole answer fits.
type filler struct {
	values url.Values
	comma  bool
}

func (f filler) fillBlock(b *schema.Block, raw json.RawMessage) (fits bool) {
	p := formblock.Properties(b)
	switch b.AnswerShape() {
	case schema.ShapeChoice, schema.ShapeChoices:
		return f.fillChoices(b, input.Answer+b.ID, raw, b.Choices, formblock.TakesMultipleChoices(b))
	case schema.ShapeMatrix:
		var rows map[string]json.RawMessage
		fits = json.Unmarshal(raw, &rows) == nil
		for row, cell := range rows {
			fits = hasChoice(b.MatrixRows, row) && f.fillChoices(b, input.SubName(input.Row, row, b.ID), cell, b.MatrixColumns, p.MultiSelection) && fits
		}
	case schema.ShapeRanking:
		var order []string
		fits = json.Unmarshal(raw, &order) == nil
		for i, id := range order {
			f.values.Set(input.SubName(input.Rank, id, b.ID), strconv.Itoa(i+1))
			fits = fits && hasChoice(b.Choices, id)
		}
	case schema.ShapeContact:
		var parts map[string]string
		fits = json.Unmarshal(raw, &parts) == nil
		for part, text := range parts {
			if shown := slices.Contains(formblock.ContactParts, part) && !p.AddressOrContact.Part(part).Hide; shown {
				f.values.Set(input.SubName(input.Part, part, b.ID), text)
			} else {
				fits = false
			}
		}
	case schema.ShapeFiles, schema.ShapeFile, schema.ShapePayment: // Respondents do not enter these.
	default:
		return f.fillText(b, raw)
	}
	return fits
}

func (f filler) fillText(b *schema.Block, raw json.RawMessage) (fits bool) {
	text, scale := "", formblock.IsButtonScale(b)
	if json.Unmarshal(raw, &text) != nil {
		text = string(raw)
		if strings.ContainsAny(text, "{[") {
			return false
		}
		if f.comma && !scale {
			text = strings.Replace(text, ".", ",", 1)
		}
	}
	switch shape := b.AnswerShape(); {
	case shape == schema.ShapeDate:
		return f.fillDate(b, text)
	case shape == schema.ShapeBoolean:
		fits = text == "true" || text == "false"
	case shape == schema.ShapeTime:
		fits = strings.Contains(text, ":")
	case scale:
		from, _, step, buttons := formblock.ScaleRange(b.Type, formblock.Properties(b))
		for i := range buttons {
			fits = fits || text == words.FormatPlain(from+float64(i)*step)
		}
	default:
		fits = b.TakesAnswer()
	}
	if fits {
		f.values.Set(input.Answer+b.ID, text)
	}
	return fits
}

func (f filler) fillDate(b *schema.Block, text string) (fits bool) {
	day, clock, timed := strings.Cut(text, "T")
	parts := strings.Split(day, "-")
	_, err := time.Parse(time.TimeOnly, clock)
	noOffset := !strings.ContainsAny(clock, "Z+-")
	if strings.Trim(day, "0123456789-") != "" || len(parts) != 3 && day != "" || timed && (!formblock.Properties(b).ShowTimePicker || noOffset && err != nil) {
		return false
	}
	if _, err := time.Parse(time.DateOnly, day); err == nil {
		f.values.Set(input.Answer+b.ID, day)
	} else if day != "" {
		for i, name := range []string{input.Year, input.Month, input.Day} {
			f.values.Set(name+b.ID, parts[i])
		}
	}
	if timed {
		at := strings.IndexAny(clock, "Z+-")
		offset := input.NoSuchTime
		if at < 0 {
			at = len(clock)
		} else {
			offset = clock[at:]
		}
		f.values.Set(input.Zone+b.ID, offset)
		f.values.Set(input.Time+b.ID, strings.TrimSuffix(clock[:at], ":00"))
	}
	return true
}

// pick is a selected choice: its ID, alone or in an object, or the text for an "Other" option.
type pick struct {
	ID    string
	Other *string
}

// UnmarshalJSON implements [json.Unmarshaler].
func (p *pick) UnmarshalJSON(raw []byte) error {
	if json.Unmarshal(raw, &p.ID) == nil {
		return nil
	}
	type object pick // has no methods
	return json.Unmarshal(raw, (*object)(p))
}

// fillChoices selects choices and fills in the text for an "Other" option.
func (f filler) fillChoices(b *schema.Block, name string, raw json.RawMessage, choices []schema.Choice, several bool) (fits bool) {
	list := make([]pick, 1)
	if json.Unmarshal(raw, &list) != nil && json.Unmarshal(raw, &list[0]) != nil || len(list) > 1 && !several {
		return false
	}
	fits = true
	for _, one := range list {
		switch {
		case one.Other != nil && formblock.Properties(b).OtherOption:
			f.values.Add(name, input.OtherChoice)
			f.values.Set(input.Other+b.ID, *one.Other)
		case hasChoice(choices, one.ID) || one.ID != "" && b.ListRef().List != "":
			f.values.Add(name, input.ChoicePrefix+one.ID)
		default:
			fits = false
		}
	}
	return fits
}

func hasChoice(choices []schema.Choice, id string) bool {
	return slices.ContainsFunc(choices, func(c schema.Choice) bool { return c.ID == id })
}
