package read

import (
	"bytes"
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
	"github.com/formsvc/formsvc/internal/answers/kinds"
	"github.com/formsvc/formsvc/schema"
)

// Filled makes inputs of answers: [Answers] reads the same answers from them again. What does not
// fit the form is lost, with the texts that it has. Comma says how numbers are written.
func Filled(blocks []schema.Block, answers map[string]json.RawMessage, comma bool) (values url.Values, lost []Unplaced) {
	f := filler{url.Values{}, comma}
	left := make(map[string]any, len(answers))
	for id, raw := range answers {
		var value any
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		if d.Decode(&value) == nil {
			left[id] = value
		}
	}
	lose := func(name string, over ...any) {
		for _, value := range over {
			for _, text := range texts(value) {
				lost = append(lost, Unplaced{name, text})
			}
		}
	}
	for b, hidden := range formblock.Walk(blocks) {
		if value, ok := left[b.ID]; ok && !hidden {
			delete(left, b.ID)
			lose(b.ID, f.fill(b, value)...)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(left)) {
		lose(id, left[id])
	}
	return f.values, lost
}

// filler fills in inputs.
type filler struct {
	values url.Values
	comma  bool
}

// fill fills in the inputs of a block, and returns the parts of the answer that do not fit it.
func (f filler) fill(b *schema.Block, value any) (over []any) {
	name := input.Answer + b.ID
	parts, _ := value.(map[string]any)
	list, several := value.([]any)
	if !several {
		list = []any{value}
	}
	switch b.AnswerShape() {
	case schema.ShapeChoice, schema.ShapeChoices:
		if len(list) > 1 && !formblock.TakesSeveral(b) {
			return list
		}
		other := ""
		if formblock.Properties(b).OtherOption {
			other = input.Other + b.ID
		}
		return f.pick(name, other, list, b.Choices)
	case schema.ShapeMatrix:
		if parts == nil {
			return list
		}
		for row, cell := range parts {
			picks, several := cell.([]any)
			if !several {
				picks = []any{cell}
			}
			if !has(b.MatrixRows, row) || len(picks) > 1 && !formblock.Properties(b).MultiSelection {
				over = append(over, cell)
				continue
			}
			over = append(over, f.pick(input.Sub(input.Row, row, b.ID), "", picks, b.MatrixColumns)...)
		}
	case schema.ShapeRanking:
		for i, one := range list {
			if id := idOf(one); has(b.Choices, id) {
				f.values.Set(input.Sub(input.Rank, id, b.ID), strconv.Itoa(i+1))
			} else {
				over = append(over, one)
			}
		}
	case schema.ShapeContact:
		if parts == nil {
			return list
		}
		for part, one := range parts {
			text, ok := one.(string)
			if !ok || !slices.Contains(formblock.ContactParts, part) || formblock.Properties(b).AddressOrContact.Part(part).Hide {
				over = append(over, one)
				continue
			}
			f.text(input.Sub(input.Part, part, b.ID), text, part == "phone")
		}
	case schema.ShapeFiles, schema.ShapeFile, schema.ShapePayment: // no page takes these back
		return list
	default:
		return f.plain(b, name, value)
	}
	return over
}

// plain fills in an answer of one value.
func (f filler) plain(b *schema.Block, name string, value any) (over []any) {
	text, fits := "", b.TakesAnswer()
	switch value := value.(type) {
	case string:
		text = value
	case json.Number:
		text = value.String()
	case bool:
		text = strconv.FormatBool(value)
	default:
		return []any{value}
	}
	switch shape := b.AnswerShape(); {
	case shape == schema.ShapeBoolean:
		fits = text == "true" || text == "false"
	case formblock.IsButtonScale(b):
		from, to, step, _ := formblock.Scale(b.Type, formblock.Properties(b))
		n, err := strconv.ParseFloat(text, 64)
		at := (n - from) / step
		fits = err == nil && n >= from && n <= to && words.Plain(at) == strconv.Itoa(int(at+0.5))
		text = words.Plain(n)
	case shape == schema.ShapeNumber || shape == schema.ShapeInteger:
		if _, number := value.(json.Number); number && f.comma {
			text = strings.Replace(text, ".", ",", 1)
		}
	case shape == schema.ShapeTime:
		fits = strings.Contains(text, ":")
	case shape == schema.ShapeDate:
		return f.date(b, text)
	}
	if !fits {
		return []any{value}
	}
	f.text(name, text, b.Type == schema.TypePhone)
	return nil
}

// text fills in a text. One that is no phone number may end with its country, see phone.
func (f filler) text(name, text string, phone bool) {
	if at := strings.LastIndexByte(text, ' '); phone && at >= 0 {
		if country, calling := kinds.PhoneCountry(text[at+1:]); calling != 0 {
			text = text[:at]
			f.values.Set(input.Whose+name, country)
		}
	}
	f.values.Set(name, text)
}

// date fills in a day, or what there is of it, and a time with its offset.
func (f filler) date(b *schema.Block, text string) (over []any) {
	day, clock, _ := strings.Cut(text, "T")
	parts := strings.Split(day, "-")
	if day != "" && (len(parts) != 3 || strings.Trim(day, "0123456789-") != "") || clock != "" && !formblock.Properties(b).ShowTimePicker {
		return []any{text}
	}
	if _, err := time.Parse(time.DateOnly, day); err == nil {
		f.values.Set(input.Answer+b.ID, day)
	} else if day != "" {
		for i, name := range []string{input.Year, input.Month, input.Day} {
			f.values.Set(name+b.ID, parts[i])
		}
	}
	if at := strings.IndexAny(clock, "Zz+-"); at >= 0 {
		f.values.Set(input.Zone+b.ID, clock[at:])
		clock = strings.TrimSuffix(clock[:at], ":00")
	}
	if clock != "" {
		f.values.Set(input.Time+b.ID, clock)
	}
	return nil
}

// pick chooses in an input what is listed, and fills in the text beside the choices: other is its
// input, "" for none.
func (f filler) pick(name, other string, list []any, choices []schema.Choice) (over []any) {
	for _, one := range list {
		parts, _ := one.(map[string]any)
		text, ok := parts["other"].(string)
		switch id := idOf(one); {
		case has(choices, id):
			f.values.Add(name, input.Picked+id)
		case ok && other != "":
			f.values.Add(name, input.PickedOther)
			f.values.Set(other, text)
		default:
			over = append(over, one)
		}
	}
	return over
}

// idOf is the id of a choice as an answer names it.
func idOf(one any) string {
	if parts, ok := one.(map[string]any); ok {
		one = parts["id"]
	}
	id, _ := one.(string)
	return id
}

func has(choices []schema.Choice, id string) bool {
	return slices.ContainsFunc(choices, func(c schema.Choice) bool { return c.ID == id })
}

// texts are the texts in an answer. One without any was chosen.
func texts(value any) (list []string) {
	switch value := value.(type) {
	case string:
		return []string{value}
	case json.Number:
		return []string{value.String()}
	case []any:
		for _, one := range value {
			list = append(list, texts(one)...)
		}
		return list
	case map[string]any:
		if _, chosen := value["id"]; !chosen {
			for _, name := range slices.Sorted(maps.Keys(value)) {
				list = append(list, texts(value[name])...)
			}
			return list
		}
	}
	return []string{"–"}
}
