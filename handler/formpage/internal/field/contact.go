package field

import (
	"cmp"
	"html"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/language"

	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/htmlwriter"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/internal/answers/answertype"
	"github.com/formsvc/formsvc/schema"
)

var autocompleteTokens = map[string]string{
	"firstName": "given-name", "lastName": "family-name", "email": "email", "phone": "tel", "company": "organization",
	"address": "address-line1", "address2": "address-line2", "zip": "postal-code", "city": "address-level2",
	"state": "address-level1", "country": "country",
}

func (b *builder) addContact(f *Field, block *schema.Block, p *schema.Properties) {
	parts := slices.Clone(formblock.ContactParts)
	if base, _ := language.Make(b.Words.Tag).Base(); slices.Contains([]string{"hu", "ja", "ko", "vi", "zh"}, base.String()) {
		parts[0], parts[1] = parts[1], parts[0] // The family name comes first.
	}
	country := p.DefaultCountry
	if given := b.Values[input.SubName(input.Part, "country", block.ID)]; len(given) > 0 && !p.AddressOrContact.Part("country").Hide {
		country = given[0]
	}
	for i, name := range parts {
		set := p.AddressOrContact.Part(name)
		if set.Hide {
			continue
		}
		complete := autocompleteTokens[name]
		if b.contacts > 1 && !b.Canvas { // Otherwise, browsers would fill in the same person everywhere.
			complete = "section-" + f.ID + " " + complete
		}
		part := Field{
			control: (*writer).writeInput, Input: "text", ID: f.ID + "-p" + strconv.Itoa(i), Block: name,
			Label: b.Words.Get("part." + name), Required: set.Required && answertype.AddressHasPart(name, country),
			Name: input.SubName(input.Part, name, block.ID), Autocomplete: complete,
		}
		switch name {
		case "email":
			part.Input, part.ShowsInterpretation = "email", true
		case "phone":
			part.Input, part.ShowsInterpretation = "tel", true
			part.CallingCodes = b.callingCodeOptions(part.Name, p.DefaultCountry)
		case "country":
			part.control = (*writer).writeSelect
			part.Countries = b.selectCountryOption(b.Words.Countries(), part.Name, p.DefaultCountry)
		}
		part.Value, part.Interpretation = b.useValue(part.Name), b.Interpretations[part.Name].Text
		f.Parts = append(f.Parts, part)
	}
}

func (p *writer) writeContact(f *Field) {
	p.Put(`<div class="parts">`)
	for _, part := range htmlwriter.EachFitting(p.Writer, f.Parts) {
		p.Put(`<div class="part %i`, part.Block)
		p.PutIf(part.Error != "", " bad")
		p.Put(`"><label for="%i">`, part.ID)
		p.writeLabel(part)
		p.Put("</label>")
		p.writeHelp(part)
		part.control(p, part)
		p.Put("</div>")
	}
	p.Put("</div>")
}

// selectCountryOption returns a country field's options. A template would be slow, because there are 250 options.
func (b *builder) selectCountryOption(list, name, preset string) string {
	chosen := strings.ToUpper(strings.TrimSpace(b.useValue(name)))
	if len(b.useValues(name)) == 0 {
		chosen = strings.ToUpper(preset)
	}
	if chosen == "" {
		return list
	}
	value := `value="` + html.EscapeString(chosen) + `"`
	if strings.Contains(list, value) {
		list = strings.Replace(list, value, value+" selected", 1)
	} else { // The text is not a country. The service reports the violation.
		list += "<option " + value + " selected>" + html.EscapeString(chosen) + "</option>"
	}
	return list
}

// callingCodeOptions returns the country options for a phone number. The first option is empty if no country is preset.
func (b *builder) callingCodeOptions(name, preset string) string {
	own, _ := answertype.LookupPhoneCountry(preset)
	here, _ := answertype.LookupPhoneCountry(b.Words.Region)
	list := b.Words.CallingCodes()
	if own = cmp.Or(own, here); own == "" {
		list = `<option value="">+</option>` + list
	}
	return b.selectCountryOption(list, input.CallingCountry+name, own)
}
