package formpage

import (
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"html"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"
	"golang.org/x/text/language/display"
	"golang.org/x/text/message"
	"golang.org/x/text/number"

	"github.com/formsvc/formsvc/schema"
)

//go:embed words/*.json
var wordFiles embed.FS

// words are the page's own texts in one language.
type words struct {
	tag       string
	direction string
	texts     map[string]string
	english   map[string]string
	printer   *message.Printer
	countries func() string // made when it is first asked for
}

// catalogue has the words of all languages.
type catalogue struct {
	list    []*words // English first: the matcher's fallback
	matcher language.Matcher
}

// newCatalogue reads the languages of this package and what a host adds to them.
func newCatalogue(more map[string]map[string]string) (catalogue, error) {
	files, err := wordFiles.ReadDir("words")
	if err != nil {
		return catalogue{}, err
	}
	texts := map[string]map[string]string{}
	for _, file := range files {
		raw, err := wordFiles.ReadFile("words/" + file.Name())
		if err != nil {
			return catalogue{}, err
		}
		var own map[string]string
		if err := json.Unmarshal(raw, &own); err != nil {
			return catalogue{}, fmt.Errorf("%s: %w", file.Name(), err)
		}
		texts[strings.TrimSuffix(file.Name(), ".json")] = own
	}
	english := texts["en"]
	for tag, own := range more {
		parsed, err := language.Parse(tag)
		if err != nil {
			return catalogue{}, fmt.Errorf("in Words, %q is not a language tag", tag)
		}
		for key := range own {
			if _, known := english[key]; !known {
				return catalogue{}, fmt.Errorf("in Words, %s: there is no text with the key %q", tag, key)
			}
		}
		// A variant of a language has the words of the language where it adds none.
		merged := map[string]string{}
		if base, _ := parsed.Base(); texts[base.String()] != nil {
			maps.Copy(merged, texts[base.String()])
		}
		maps.Copy(merged, texts[parsed.String()])
		maps.Copy(merged, own)
		texts[parsed.String()] = merged
	}
	c := catalogue{}
	tags := slices.Sorted(maps.Keys(texts))
	slices.SortStableFunc(tags, func(a, b string) int { return cmp.Compare(b2i(a != "en"), b2i(b != "en")) })
	var parsed []language.Tag
	for _, tag := range tags {
		t := language.Make(tag)
		parsed = append(parsed, t)
		c.list = append(c.list, &words{
			tag: tag, direction: direction(t), texts: texts[tag], english: texts["en"], printer: message.NewPrinter(t),
			countries: sync.OnceValue(func() string { return countryOptions(t) }),
		})
	}
	c.matcher = language.NewMatcher(parsed)
	return c, nil
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// direction is "rtl" for the scripts that are written from right to left.
func direction(t language.Tag) string {
	script, _ := t.Script()
	switch script.String() {
	case "Arab", "Hebr", "Thaa", "Syrc", "Nkoo", "Adlm", "Rohg":
		return "rtl"
	}
	return "ltr"
}

// Languages returns the tags of the languages that pages can be shown in, English
// first.
func (h *Handler) Languages() []string {
	var tags []string
	for _, w := range h.words.list {
		tags = append(tags, w.tag)
	}
	return tags
}

// language chooses the words of a page: the host's choice, the address's, the
// visitor's.
func (h *Handler) language(r *http.Request, form PublicForm) *words {
	wish := ""
	if h.config.Language != nil {
		wish = h.config.Language(r, form)
	}
	wish = cmp.Or(wish, r.URL.Query().Get(ctrlLanguage))
	if wish != "" {
		return h.words.byTag(wish, h.words.list[0])
	}
	tags, _, err := language.ParseAcceptLanguage(r.Header.Get("Accept-Language"))
	if err != nil || len(tags) == 0 {
		return h.words.list[0]
	}
	_, i, confidence := h.words.matcher.Match(tags...)
	if confidence == language.No {
		i = 0
	}
	return h.words.list[i]
}

// byTag returns the words of the language that is nearest to a tag.
func (c catalogue) byTag(tag string, fallback *words) *words {
	parsed, err := language.Parse(tag)
	if err != nil {
		return fallback
	}
	_, i, confidence := c.matcher.Match(parsed)
	if confidence == language.No {
		return fallback
	}
	return c.list[i]
}

// get returns a text, its {places} filled with the parameters: names and values in
// turn. Numbers are written as the language does.
func (w *words) get(key string, params ...any) string {
	text, ok := w.texts[key]
	if !ok {
		text = w.english[key]
	}
	for i := 0; i+1 < len(params); i += 2 {
		name, _ := params[i].(string)
		text = strings.ReplaceAll(text, "{"+name+"}", w.value(params[i+1]))
	}
	return text
}

// has reports whether there is a text for a key.
func (w *words) has(key string) bool {
	_, ok := w.english[key]
	return ok
}

func (w *words) value(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int:
		return w.number(strconv.Itoa(v))
	case float64:
		return w.number(plainNumber(v))
	case json.Number:
		return w.number(string(v))
	}
	return fmt.Sprint(v)
}

// number writes a plain decimal number as the language does.
func (w *words) number(plain string) string {
	n, err := strconv.ParseFloat(plain, 64)
	if err != nil {
		return plain
	}
	_, fraction, _ := strings.Cut(plain, ".")
	return w.printer.Sprint(number.Decimal(n, number.MaxFractionDigits(len(fraction)), number.MinFractionDigits(len(fraction))))
}

// date writes a day as the language does, "" when it is not a day.
func (w *words) date(day string) string {
	at, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return ""
	}
	return at.Format(w.get("date.layout"))
}

// codeKnown is the page's own code for an answer that must be new and is not.
const codeKnown = "KNOWN"

// faultText words a fault for the person who typed. The library's own sentence is
// English, so it is only used for a code that the catalogue does not know.
func (c *call) faultText(v schema.Violation, f *field) string {
	kind, params := c.faultKind(v, f)
	for _, key := range []string{"fault." + v.Code + "." + kind, "fault." + v.Code} {
		if c.words.has(key) {
			return c.words.get(key, params...)
		}
	}
	return v.Message
}

// faultKind says which of the texts of a code fits a field, and its parameters. They
// are those of the block: whatever the service checks is in its definition.
func (c *call) faultKind(v schema.Violation, f *field) (kind string, params []any) {
	if f == nil {
		return "", nil
	}
	if f.Type == "" { // a part of a contact
		if v.Code == schema.CodeRequired {
			return "part", nil
		}
		return f.Block, nil
	}
	if f.Type == schema.TypeRanking && v.Code != schema.CodeRequired {
		return "ranking", nil
	}
	p := f.P
	switch v.Code {
	case codeFileSize:
		return "", []any{"size", float64(max(1, c.h.config.MaxFileSize>>20))}
	case schema.CodeRequired:
		switch f.Kind {
		case "choices", "select", "scale", "icons":
			if f.Type == schema.TypeLegal {
				return "legal", nil
			}
			return "choice", nil
		case "matrix":
			return "matrix", nil
		case "files", "signature":
			return "file", nil
		}
	case schema.CodeBadFormat, schema.CodeWrongType:
		switch f.Type {
		case schema.TypeNumber, schema.TypeRating, schema.TypeOpinionScale, schema.TypeNPS:
			return "number", nil
		}
		return f.Type, nil
	case schema.CodeTooLong:
		if f.MaxChars > 0 {
			return "max", []any{"max", f.MaxChars}
		}
	case schema.CodeTooMany, schema.CodeTooFew:
		low, high := chosenBounds(p)
		if v.Code == schema.CodeTooMany && high > 0 {
			return "max", []any{"max", high}
		}
		if v.Code == schema.CodeTooFew && low > 0 {
			return "min", []any{"min", low}
		}
	case schema.CodeOutOfRange:
		return c.rangeKind(f, p)
	case schema.CodeNotAllowed:
		if f.Type == schema.TypeDate {
			return "date", nil
		}
	}
	return "", nil
}

func (c *call) rangeKind(f *field, p *schema.Properties) (kind string, params []any) {
	switch f.Type {
	case schema.TypeNumber:
		low, high := p.MinVal && p.Min != nil, p.MaxVal && p.Max != nil
		switch {
		case low && high:
			return "between", []any{"min", *p.Min, "max", *p.Max}
		case low:
			return "min", []any{"min", *p.Min}
		case high:
			return "max", []any{"max", *p.Max}
		}
	case schema.TypeOpinionScale, schema.TypeRating, schema.TypeNPS:
		low, high := or(p.From, 1), or(p.To, 10)
		switch f.Type {
		case schema.TypeRating:
			low, high = 1, or(p.To, 5)
		case schema.TypeNPS:
			low, high = 0, 10
		}
		return "between", []any{"min", low, "max", high}
	case schema.TypeDate:
		low, high := c.words.date(f.Min), c.words.date(f.Max)
		switch {
		case low != "" && high != "":
			return "date_between", []any{"min", low, "max", high}
		case low != "":
			return "date_min", []any{"min", low}
		case high != "":
			return "date_max", []any{"max", high}
		}
		return "date", nil
	}
	return "", nil
}

// countries are the options of a country field in the language's order, as HTML: 250 of
// them through a template would cost more than the rest of a page.
func (b *builder) countries(name, preset string) template.HTML {
	chosen := strings.ToUpper(strings.TrimSpace(b.value(name)))
	if _, posted := b.c.values[name]; !posted {
		chosen = strings.ToUpper(preset)
	}
	list := b.c.words.countries()
	if chosen == "" {
		return template.HTML(list) //nolint:gosec // escaped below
	}
	value := `value="` + html.EscapeString(chosen) + `"`
	if strings.Contains(list, value) {
		list = strings.Replace(list, value, value+" selected", 1)
	} else { // typed elsewhere; the service says what is wrong
		list += "<option " + value + " selected>" + html.EscapeString(chosen) + "</option>"
	}
	return template.HTML(list) //nolint:gosec // escaped here and below
}

// countryOptions names all countries in a language, in its order.
func countryOptions(tag language.Tag) string {
	namer, by := display.Regions(tag), collate.New(tag)
	names := map[string]string{}
	codes := countryCodes()
	for _, code := range codes {
		names[code] = cmp.Or(namer.Name(language.MustParseRegion(code)), code)
	}
	slices.SortFunc(codes, func(x, y string) int { return by.CompareString(names[x], names[y]) })
	var b strings.Builder
	for _, code := range codes {
		b.WriteString(`<option value="` + code + `">` + html.EscapeString(names[code]) + "</option>")
	}
	return b.String()
}

// countryCodes are the two-letter codes of all countries.
func countryCodes() []string {
	var list []string
	for a := 'A'; a <= 'Z'; a++ {
		for b := 'A'; b <= 'Z'; b++ {
			code := string(a) + string(b)
			region, err := language.ParseRegion(code)
			if err == nil && region.IsCountry() && region.String() == code && region.Canonicalize() == region && code != "ZZ" {
				list = append(list, code)
			}
		}
	}
	return list
}
