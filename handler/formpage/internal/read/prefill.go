package read

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/words"
	"github.com/formsvc/formsvc/schema"
)

// maxHidden is how many characters a hidden field has at most.
const maxHidden = 10_000

// Cleaned is text that nobody typed as the service takes it: a line break or tab becomes
// a space, and other control characters go. A respondent could not correct it.
func Cleaned(text string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case !unicode.IsControl(c):
			return c
		case unicode.IsSpace(c):
			return ' '
		}
		return -1
	}, text)
}

// Prefilled makes inputs of a link's query: hidden fields and campaign parameters by
// name, answers by block id. A choice is named by its id or its label.
func Prefilled(blocks []schema.Block, query url.Values, w *words.Words) url.Values {
	values := url.Values{input.Language: {w.Locale.String()}}
	for name, given := range query {
		if utf8.RuneCountInString(given[0]) > maxHidden {
			continue // the service refuses such a hidden field, and nobody could correct it
		}
		text := Cleaned(given[0]) // already here: a browser makes U+FFFD of U+0000
		values.Set(input.Hidden+name, text)
		if strings.HasPrefix(name, input.UTM) { // which may be a hidden field as well
			values.Set(name, text)
		}
	}
	prefill(blocks, query, values, w.Comma)
	if query.Has(input.Embed) {
		values.Set(input.Embed, "1")
	}
	return values
}

func prefill(blocks []schema.Block, query, values url.Values, comma bool) {
	for b, hidden := range formblock.Walk(blocks) {
		given := query[b.ID]
		if len(given) == 0 || hidden {
			continue
		}
		switch b.AnswerShape() {
		case schema.ShapeChoice, schema.ShapeChoices:
			for _, text := range given {
				prefillChoice(b, text, values)
			}
		case schema.ShapeMatrix, schema.ShapeRanking, schema.ShapeContact, schema.ShapeFiles, schema.ShapeFile, schema.ShapePayment:
			// A query has one value a name.
		case schema.ShapeDate:
			day, clock, _ := strings.Cut(given[0], "T")
			if strings.ContainsAny(clock, "Zz+-") && formblock.Properties(b).ShowTimePicker {
				continue // an instant; the visitor's time of it is not known here
			}
			values.Set(input.Answer+b.ID, day)
			if len(clock) >= 5 && formblock.Properties(b).ShowTimePicker {
				values.Set(input.Time+b.ID, clock[:5])
			}
		default:
			text := given[0]
			if b.Type == schema.TypeNumber && comma && isNumber(text) { // a program wrote the link
				text = strings.Replace(text, ".", ",", 1)
			}
			if b.TakesAnswer() && b.Type != schema.TypeLegal { // a link consents to nothing
				values.Set(input.Answer+b.ID, text)
			}
		}
	}
}

func prefillChoice(b *schema.Block, text string, values url.Values) {
	for _, c := range b.Choices {
		if c.ID == text || strings.EqualFold(strings.TrimSpace(c.Label), strings.TrimSpace(text)) {
			values.Add(input.Answer+b.ID, input.Picked+c.ID)
			return
		}
	}
	if formblock.Properties(b).OtherOption {
		values.Add(input.Answer+b.ID, input.PickedOther)
		values.Set(input.Other+b.ID, text)
	}
}
