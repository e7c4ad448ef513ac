package formpage

import (
	"slices"
	"strconv"

	"golang.org/x/text/language"

	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/schema"
)

// partCompletes are the autocomplete tokens of the parts of an address.
var partCompletes = map[string]string{
	"firstName": "given-name", "lastName": "family-name", "email": "email", "phone": "tel", "company": "organization",
	"address": "address-line1", "address2": "address-line2", "zip": "postal-code", "city": "address-level2",
	"state": "address-level1", "country": "country",
}

func (b *builder) contact(f *field, block *schema.Block, p *schema.Properties) {
	parts := slices.Clone(formblock.ContactParts)
	if base, _ := language.Make(b.c.words.Tag).Base(); slices.Contains([]string{"hu", "ja", "ko", "vi", "zh"}, base.String()) {
		parts[0], parts[1] = parts[1], parts[0] // the name of the family comes first
	}
	for i, name := range parts {
		set := formblock.ContactPart(p.AddressOrContact, name)
		if set.Hide {
			continue
		}
		part := field{
			control: (*writer).input, Input: "text", ID: f.ID + "-p" + strconv.Itoa(i), Block: name,
			Label: b.c.words.Get("part." + name), Required: set.Required,
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
			part.Countries = b.countries(b.c.words.Countries(), part.Name, p.DefaultCountry)
		}
		part.Value, part.Reading = b.value(part.Name), b.c.readings[part.Name].Text
		f.Parts = append(f.Parts, part)
	}
}
