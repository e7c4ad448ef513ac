package field

import (
	"slices"
	"strconv"

	"golang.org/x/text/language"

	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/pen"
	"github.com/formsvc/formsvc/schema"
)

// partCompletes are the autocomplete tokens of the parts of an address.
var partCompletes = map[string]string{
	"firstName": "given-name", "lastName": "family-name", "email": "email", "phone": "tel", "company": "organization",
	"address": "address-line1", "address2": "address-line2", "zip": "postal-code", "city": "address-level2",
	"state": "address-level1", "country": "country",
}

func (b *builder) contact(f *Field, block *schema.Block, p *schema.Properties) {
	parts := slices.Clone(formblock.ContactParts)
	if base, _ := language.Make(b.Words.Tag).Base(); slices.Contains([]string{"hu", "ja", "ko", "vi", "zh"}, base.String()) {
		parts[0], parts[1] = parts[1], parts[0] // the name of the family comes first
	}
	for i, name := range parts {
		set := p.AddressOrContact.Part(name)
		if set.Hide {
			continue
		}
		part := Field{
			control: (*writer).input, Input: "text", ID: f.ID + "-p" + strconv.Itoa(i), Block: name,
			Label: b.Words.Get("part." + name), Required: set.Required,
			Name: input.Sub(input.Part, name, block.ID), Complete: partCompletes[name],
		}
		switch name {
		case "email":
			part.Input, part.Reads = "email", true
		case "phone":
			part.Input, part.Reads = "tel", true
			part.Callers = b.callers(part.Name, p.DefaultCountry)
		case "country":
			part.control = (*writer).list
			part.Countries = b.countries(b.Words.Countries(), part.Name, p.DefaultCountry)
		}
		part.Value, part.Reading = b.value(part.Name), b.Readings[part.Name].Text
		f.Parts = append(f.Parts, part)
	}
}

func (p *writer) contact(f *Field) {
	p.Put(`<div class="parts">`)
	for _, part := range pen.Each(p.Pen, f.Parts) {
		p.Put(`<div class="part %i`, part.Block)
		p.When(part.Fault != "", " bad")
		p.Put(`"><label for="%i">`, part.ID)
		p.name(part)
		p.Put("</label>")
		p.about(part)
		part.control(p, part)
		p.Put("</div>")
	}
	p.Put("</div>")
}
