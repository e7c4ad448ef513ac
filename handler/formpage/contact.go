package formpage

import (
	"slices"
	"strconv"

	"golang.org/x/text/language"

	"github.com/formsvc/formsvc/schema"
)

// contactParts are the parts of an address or contact in the order in which a person
// is asked for them.
var contactParts = []string{
	"firstName", "lastName", "email", "phone", "company", "address", "address2", "zip", "city", "state", "country",
}

// contactPart returns the settings of one part, the zero value where there are none.
func contactPart(f *schema.AddressFields, part string) (field schema.AddressField) {
	if f == nil {
		return field
	}
	// In the order of contactParts.
	set := [...]*schema.AddressField{f.FirstName, f.LastName, f.Email, f.Phone, f.Company, f.Address, f.Address2, f.Zip, f.City, f.State, f.Country}[slices.Index(contactParts, part)]
	if set != nil {
		field = *set
	}
	return field
}

// partCompletes are the autocomplete tokens of the parts of an address.
var partCompletes = map[string]string{
	"firstName": "given-name", "lastName": "family-name", "email": "email", "phone": "tel", "company": "organization",
	"address": "address-line1", "address2": "address-line2", "zip": "postal-code", "city": "address-level2",
	"state": "address-level1", "country": "country",
}

func (b *builder) contact(f *field, block *schema.Block, p *schema.Properties) {
	parts := slices.Clone(contactParts)
	if base, _ := language.Make(b.c.words.tag).Base(); slices.Contains([]string{"hu", "ja", "ko", "vi", "zh"}, base.String()) {
		parts[0], parts[1] = parts[1], parts[0] // the name of the family comes first
	}
	for i, name := range parts {
		set := contactPart(p.AddressOrContact, name)
		if set.Hide {
			continue
		}
		part := field{
			control: (*pen).input, Input: "text", ID: f.ID + "-p" + strconv.Itoa(i), Block: name,
			Label: b.c.words.get("part." + name), Required: set.Required,
			Name: subName(namePart, name, block.ID), Complete: partCompletes[name],
		}
		switch name {
		case "email":
			part.Input, part.Reads = "email", true
		case "phone":
			part.Input, part.Reads = "tel", true
			part.Callers = b.callers(part.Name, p.DefaultCountry)
		case "country":
			part.control = (*pen).list
			part.Countries = b.countries(b.c.words.countries(), part.Name, p.DefaultCountry)
		}
		part.Value, part.Reading = b.value(part.Name), b.c.readings[part.Name].text
		f.Parts = append(f.Parts, part)
	}
}
