package field

import (
	"cmp"
	"html"
	"strings"

	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/internal/answers/kinds"
)

// countries are the options of a country field in the language's order, as HTML: 250 of
// them through a template would cost more than the rest of a page.
func (b *builder) countries(list, name, preset string) string {
	chosen := strings.ToUpper(strings.TrimSpace(b.value(name)))
	if len(b.posted(name)) == 0 {
		chosen = strings.ToUpper(preset)
	}
	if chosen == "" {
		return list
	}
	value := `value="` + html.EscapeString(chosen) + `"`
	if strings.Contains(list, value) {
		list = strings.Replace(list, value, value+" selected", 1)
	} else { // typed elsewhere; the service says what is wrong
		list += "<option " + value + " selected>" + html.EscapeString(chosen) + "</option>"
	}
	return list
}

// callers are the same with the codes of phone numbers, for the country of the number in
// the input with a name. There is an option for none where no country is preset.
func (b *builder) callers(name, preset string) string {
	own, _ := kinds.PhoneCountry(preset)
	here, _ := kinds.PhoneCountry(b.Words.Region)
	list := b.Words.Callers()
	if own = cmp.Or(own, here); own == "" {
		list = `<option value="">+</option>` + list
	}
	return b.countries(list, input.Whose+name, own)
}
