// Package formdata converts the data that a page or a front end posts to answers, and stored answers back to inputs.
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
	"github.com/formsvc/formsvc/internal/answers/answertype"
	"github.com/formsvc/formsvc/internal/calendar"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
)

// ParsedAnswers holds a respondent's answers in the format that Submit expects.
type ParsedAnswers struct {
	Answers   map[string]json.RawMessage // By block ID.
	Hidden    map[string]string          // Hidden fields by name, including undeclared fields.
	Unmatched []UnmatchedInput           // Values that match no block, sorted by name.
}

// UnmatchedInput is entered text that matches no block.
type UnmatchedInput struct{ Block, Text string }

// Options configures how inputs are parsed.
type Options struct {
	Comma bool           // Whether numbers have a decimal comma.
	Zone  *time.Location // The time zone for times if the browser sent no offset.
	Words *words.Words   // The page's words. If nil, no interpretations are created.
}

// ParseAnswers converts inputs, named as in package input, to answers and to the interpretations to show on the page.
func ParseAnswers(blocks []schema.Block, values url.Values, m Options) (ParsedAnswers, map[string]Interpretation) {
	r := newParser(values, m)
	for name := range values {
		if input.IsAnswer(name) {
			r.parseBlocks(blocks)
			break // Without any answer input, the blocks are not parsed at all.
		}
	}
	for name, values := range values {
		if key, ok := strings.CutPrefix(name, input.Hidden); ok && len(values) > 0 {
			r.parsed.Hidden[key] = CleanText(values[0])
		}
	}
	r.collectUnmatched()
	return r.parsed, r.interpretations
}

// CollectInputs returns the text in all block inputs, regardless of the form's blocks.
func CollectInputs(values url.Values) []UnmatchedInput {
	r := newParser(values, Options{})
	r.collectUnmatched()
	return r.parsed.Unmatched
}

// parser parses inputs and records which inputs belong to a block.
type parser struct {
	Options
	values          url.Values
	used            map[string]bool
	parsed          ParsedAnswers
	interpretations map[string]Interpretation // By input.
}

func newParser(values url.Values, m Options) *parser {
	return &parser{
		Options: m, values: values, used: map[string]bool{}, interpretations: map[string]Interpretation{},
		parsed: ParsedAnswers{Answers: map[string]json.RawMessage{}, Hidden: map[string]string{}},
	}
}

func (r *parser) parseBlocks(blocks []schema.Block) {
	for b, hidden := range formblock.Walk(blocks) {
		if hidden {
			continue // The value was entered before its block was hidden.
		}
		if value := r.parseAnswer(b); value != nil {
			raw, err := marshalAnswer(value)
			if err == nil { // Strings, numbers and maps of them always encode.
				r.parsed.Answers[b.ID] = raw
			}
		}
	}
}

// marshalAnswer returns the same JSON as json.Marshal, which would use six bytes for a "<" in a growing buffer.
func marshalAnswer(value any) (json.RawMessage, error) {
	if text, ok := value.(string); ok {
		return jsontree.AppendString(make([]byte, 0, 2*len(text)+2), text), nil
	}
	return json.Marshal(value)
}

// useText returns an input's first value with normalized line breaks.
func (r *parser) useText(name string) string {
	values, ok := r.values[name]
	if ok {
		r.used[name] = true
	}
	if len(values) == 0 {
		return ""
	}
	return strings.ReplaceAll(values[0], "\r\n", "\n")
}

func (r *parser) parseAnswer(b *schema.Block) any {
	switch b.AnswerShape() {
	case schema.ShapeChoice, schema.ShapeChoices:
		return r.parseChoices(b)
	case schema.ShapeRanking:
		return r.parseRanking(b)
	case schema.ShapeMatrix:
		return r.parseMatrix(b)
	case schema.ShapeContact:
		return r.parseContact(b)
	case schema.ShapeDate:
		return r.parseDate(b)
	case schema.ShapeNumber, schema.ShapeInteger:
		text := r.useText(input.Answer + b.ID)
		if strings.TrimSpace(text) == "" {
			return nil
		}
		if formblock.IsButtonScale(b) && isJSONNumber(text) {
			return json.RawMessage(text) // A button's value, which the page itself has written.
		}
		number, other, ok := parseNumber(text, r.Comma)
		if !ok {
			return text
		}
		r.addNumberInterpretation(b.ID, input.Answer+b.ID, number, other)
		return json.RawMessage(number)
	case schema.ShapeFiles, schema.ShapeFile, schema.ShapePayment:
		r.used[input.File+b.ID] = true
		return nil
	}
	if !b.TakesAnswer() {
		return nil
	}
	text := r.useText(input.Answer + b.ID)
	switch {
	case text == "":
		return nil
	case b.AnswerShape() == schema.ShapeBoolean:
		text, _ = input.CutConsent(text)
	case b.Type == schema.TypePhone:
		return r.parsePhone(b, input.Answer+b.ID, text, r.useText(input.CallingCountry+input.Answer+b.ID))
	case b.Type == schema.TypeEmail:
		r.addEmailSuggestion(b.ID, input.Answer+b.ID, text)
	}
	return text
}

// parsePicks parses choices. A value without a prefix was entered into another type of field, so it stays unmatched.
func (r *parser) parsePicks(name string) (picks []any, other bool) {
	for _, v := range r.values[name] {
		id, picked := strings.CutPrefix(v, input.ChoicePrefix)
		if picked {
			picks = append(picks, map[string]string{"id": id})
		}
		other = other || v == input.OtherChoice
		if picked || other || v == "" {
			r.used[name] = true
		}
	}
	return picks, other
}

func (r *parser) parseChoices(b *schema.Block) any {
	picks, other := r.parsePicks(input.Answer + b.ID)
	if formblock.Properties(b).OtherOption {
		name := input.Other + b.ID
		text := r.useText(name)
		switch {
		case other:
			picks = append(picks, map[string]string{"other": text})
			if !formblock.TakesMultipleChoices(b) {
				picks = picks[len(picks)-1:]
			}
		case strings.TrimSpace(text) != "" && r.Words != nil:
			// With JavaScript, the input is disabled in this case and sends nothing.
			label := cmp.Or(formblock.Properties(b).OtherText, r.Words.Get("other"))
			r.interpretations[name] = Interpretation{b.ID, r.Words.Get("other.not_chosen", "label", label), true}
		}
	}
	switch {
	case len(picks) == 0:
		return nil
	case formblock.TakesMultipleChoices(b):
		return picks
	}
	return picks[0]
}

// parseRanking returns the choices sorted by position. It omits choices that share a position, so that the service
// rejects an ambiguous order as incomplete.
func (r *parser) parseRanking(b *schema.Block) any {
	at := map[int][]string{}
	for _, c := range b.Choices {
		text := strings.TrimSpace(answertype.ToASCIIDigits(r.useText(input.SubName(input.Rank, c.ID, b.ID))))
		if n, err := strconv.Atoi(text); err == nil {
			at[n] = append(at[n], c.ID)
		}
	}
	if len(at) == 0 {
		return nil
	}
	order, shared := []string{}, []string{}
	for _, n := range slices.Sorted(maps.Keys(at)) {
		if ids := at[n]; len(ids) == 1 {
			order = append(order, ids[0])
		} else {
			shared = ids
		}
	}
	if len(order) == 0 {
		return append(shared, shared[0]) // The service rejects the duplicate.
	}
	return order
}

func (r *parser) parseMatrix(b *schema.Block) any {
	rows := map[string]any{}
	for _, row := range b.MatrixRows {
		picks, _ := r.parsePicks(input.SubName(input.Row, row.ID, b.ID))
		switch {
		case len(picks) == 0:
		case formblock.Properties(b).MultiSelection:
			rows[row.ID] = picks
		default:
			rows[row.ID] = picks[0]
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return rows
}

func (r *parser) parseContact(b *schema.Block) any {
	parts, asked := map[string]string{}, 0
	for _, part := range formblock.ContactParts {
		if formblock.Properties(b).AddressOrContact.Part(part).Hide {
			continue
		}
		asked++
		name := input.SubName(input.Part, part, b.ID)
		if text := r.useText(name); strings.TrimSpace(text) != "" {
			switch part {
			case "phone":
				text = r.parsePhone(b, name, text, r.useText(input.CallingCountry+name))
			case "email":
				r.addEmailSuggestion(b.ID, name, text)
			}
			parts[part] = text
		}
	}
	// A default country alone does not answer an optional question.
	preset := asked > 1 && len(parts) == 1 && !b.Required && parts["country"] != "" && strings.EqualFold(parts["country"], formblock.Properties(b).DefaultCountry)
	if len(parts) == 0 || preset {
		return nil
	}
	return parts
}

// parseDate joins a date's parts. It also returns an incomplete date, so that the service rejects it.
func (r *parser) parseDate(b *schema.Block) any {
	day := strings.TrimSpace(r.useText(input.Answer + b.ID))
	y, m, d := r.parseDatePart(input.Year+b.ID, false), r.parseDatePart(input.Month+b.ID, true), r.parseDatePart(input.Day+b.ID, true)
	if day == "" && y+m+d != "" {
		day = y + "-" + m + "-" + d
	}
	clock, zone := strings.TrimSpace(r.useText(input.Time+b.ID)), strings.TrimSpace(r.useText(input.Zone+b.ID))
	if !formblock.Properties(b).ShowTimePicker || day == "" && clock == "" {
		if day == "" {
			return nil
		}
		return day
	}
	if strings.Count(clock, ":") == 1 {
		clock += ":00"
	}
	wall, err := time.Parse(time.DateOnly+"T"+time.TimeOnly, day+"T"+clock)
	switch {
	case zone == "" && err != nil:
		zone = "Z"
	case zone == "":
		if at, exists := calendar.FirstTimeAt(wall, r.Zone); exists {
			zone = at.Format("Z07:00")
		}
	case zone == input.NoSuchTime:
		zone = "" // The service rejects a time without an offset.
	}
	return day + "T" + clock + zone
}

func (r *parser) parseDatePart(name string, isDay bool) string {
	text := r.useText(name)
	if len(text) > maxNumberBytes {
		return text
	}
	text = strings.TrimSpace(answertype.ToASCIIDigits(text))
	if isDay && len(text) == 1 {
		text = "0" + text
	}
	return text
}

func (r *parser) collectUnmatched() {
	var names []string
	for name := range r.values {
		// Skip values that the respondent did not enter: time zones, calling codes and files.
		if input.IsAnswer(name) && !r.used[name] && !strings.HasPrefix(name, input.Zone) && !strings.HasPrefix(name, input.CallingCountry) && !strings.HasPrefix(name, input.File) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		prefix, id := name[:2], input.BlockID(name)
		for _, text := range r.values[name] {
			// Only typed text is returned. The respondent did not type the ID of a choice or the value of a consent.
			if _, consent := input.CutConsent(text); !consent && strings.TrimSpace(text) != "" && !strings.HasPrefix(text, input.ChoicePrefix) && text != input.OtherChoice && prefix != input.Rank {
				r.parsed.Unmatched = append(r.parsed.Unmatched, UnmatchedInput{Block: id, Text: text})
			}
		}
	}
}
