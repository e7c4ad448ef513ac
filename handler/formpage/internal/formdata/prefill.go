package formdata

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/words"
	"github.com/formsvc/formsvc/schema"
)

const maxHiddenChars = 10_000

// CleanText replaces line breaks and tabs with spaces and removes other control characters. The service would reject
// them, and respondents cannot correct text from a link.
func CleanText(text string) string {
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

// Prefill converts a link's query to inputs: hidden fields and campaign parameters by name, and answers by block ID. A
// choice is an ID or a label. For several choices, the parameter is repeated or contains commas.
func Prefill(blocks []schema.Block, query url.Values, w *words.Words) url.Values {
	values := url.Values{input.Language: {w.Locale.String()}}
	for name, given := range query {
		if utf8.RuneCountInString(given[0]) > maxHiddenChars {
			continue // The service rejects such a hidden field, and respondents cannot correct it.
		}
		text := CleanText(given[0]) // Clean the text now, because browsers convert U+0000 to U+FFFD.
		values.Set(input.Hidden+name, text)
		if strings.HasPrefix(name, input.UTM) { // A campaign parameter can also be a hidden field.
			values.Set(name, text)
		}
	}
	prefillBlocks(blocks, query, values, w)
	if query.Has(input.Embed) {
		values.Set(input.Embed, "1")
	}
	return values
}

func prefillBlocks(blocks []schema.Block, query, values url.Values, w *words.Words) {
	for b, hidden := range formblock.Walk(blocks) {
		given := query[b.ID]
		if len(given) == 0 || hidden {
			continue
		}
		switch b.AnswerShape() {
		case schema.ShapeChoice, schema.ShapeChoices:
			prefillChoices(b, given, values)
		case schema.ShapeRanking:
			ids, _ := matchChoices(b.Choices, given)
			for i, id := range ids {
				values.Set(input.SubName(input.Rank, id, b.ID), strconv.Itoa(i+1))
			}
		case schema.ShapeMatrix, schema.ShapeContact, schema.ShapeFiles, schema.ShapeFile, schema.ShapePayment:
			// A query has only one value per name.
		case schema.ShapeDate:
			day, clock, _ := strings.Cut(given[0], "T")
			if strings.ContainsAny(clock, "Zz+-") && formblock.Properties(b).ShowTimePicker {
				continue // The respondent's local time at this instant is unknown.
			}
			values.Set(input.Answer+b.ID, day)
			if len(clock) >= 5 && formblock.Properties(b).ShowTimePicker {
				values.Set(input.Time+b.ID, clock[:5])
			}
		default:
			if b.TakesAnswer() && b.Type != schema.TypeLegal { // A link cannot give consent.
				values.Set(input.Answer+b.ID, prefillText(b, given[0], w))
			}
		}
	}
}

// prefillText converts a link's text to an input's value. It restores a plus sign that was decoded as a space.
func prefillText(b *schema.Block, text string, w *words.Words) string {
	k, _ := schema.LookupBlockType(b.Type)
	switch bare := strings.TrimSpace(text); {
	case k.Comparison == schema.ComparePhone:
		if strings.HasPrefix(text, " ") && bare != "" && bare[0] != '0' && bare[0] != '+' { // No number with a country code starts with 0.
			return "+" + bare
		}
	case k.Comparison == schema.CompareEmail:
		if at := strings.LastIndexByte(bare, '@'); at > 0 && !strings.Contains(bare, "<") {
			return strings.ReplaceAll(bare[:at], " ", "+") + bare[at:]
		}
	case k.Shape == schema.ShapeBoolean:
		for value, list := range map[string][]string{"true": {"true", "yes", "1", w.Get("yes")}, "false": {"false", "no", "0", w.Get("no")}} {
			if slices.ContainsFunc(list, func(word string) bool { return foldLabel(word) == foldLabel(text) }) {
				return value
			}
		}
	case b.Type == schema.TypeCountry:
		return w.CountryCode(text)
	case b.Type == schema.TypeNumber:
		if w.Comma && isJSONNumber(text) { // Links usually contain numbers with a decimal point.
			return strings.Replace(text, ".", ",", 1)
		}
	}
	return text
}

// foldLabel returns the same key for labels that differ only in case or Unicode form.
func foldLabel(label string) string {
	return strings.ToLower(strings.ToUpper(norm.NFC.String(strings.TrimSpace(label))))
}

// matchChoices returns the IDs of the choices that given contains, by ID or label, and the remaining text.
func matchChoices(choices []schema.Choice, given []string) (ids, others []string) {
	byID, byLabel, commas := map[string]string{}, map[string]string{}, 0
	for _, c := range slices.Backward(choices) { // If labels are equal, the first one wins.
		byID[c.ID] = c.ID
		if key := foldLabel(c.Label); key != "" {
			byLabel[key] = c.ID
		}
		commas = max(commas, strings.Count(c.Label, ","))
	}
	find := func(text string) bool {
		id, ok := byID[text]
		if !ok {
			id, ok = byLabel[foldLabel(text)]
		}
		if ok && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
		return ok
	}
	for _, text := range given {
		if find(text) {
			continue
		}
		pieces := strings.SplitN(text, ",", len(choices)+commas+1) // Additional pieces cannot match.
		var rest []string
		for len(pieces) > 0 {
			n := min(len(pieces), commas+1) // A label can contain commas.
			for n > 0 && !find(strings.TrimSpace(strings.Join(pieces[:n], ","))) {
				n--
			}
			if n == 0 {
				rest, n = append(rest, pieces[0]), 1
			}
			pieces = pieces[n:]
		}
		if other := strings.TrimSpace(strings.Join(rest, ",")); other != "" {
			others = append(others, other)
		}
	}
	return ids, others
}

func prefillChoices(b *schema.Block, given []string, values url.Values) {
	several := formblock.TakesMultipleChoices(b)
	if !several {
		given = given[:1]
	}
	ids, others := matchChoices(b.Choices, given)
	if !several && len(ids)+len(others) > 1 { // It is a single text that contains commas.
		ids, others = nil, given
	}
	for _, id := range ids {
		values.Add(input.Answer+b.ID, input.ChoicePrefix+id)
	}
	if len(others) > 0 && formblock.Properties(b).OtherOption {
		values.Add(input.Answer+b.ID, input.OtherChoice)
		values.Set(input.Other+b.ID, others[0])
	}
}
