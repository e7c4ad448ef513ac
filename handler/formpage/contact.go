package formpage

import (
	"slices"
	"strconv"

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
	for i, name := range contactParts {
		set := contactPart(p.AddressOrContact, name)
		if set.Hide {
			continue
		}
		part := field{
			page: b.view, Kind: "text", Input: "text", ID: f.ID + "-p" + strconv.Itoa(i), Block: name,
			Label: b.c.words.get("part." + name), Required: set.Required,
			Name: subName(namePart, name, block.ID), Complete: partCompletes[name],
		}
		switch name {
		case "email":
			part.Input = "email"
		case "phone":
			part.Input = "tel"
		case "country":
			part.Kind = "select"
			part.Countries = b.countries(part.Name, p.DefaultCountry)
		}
		part.Value = b.value(part.Name)
		f.Parts = append(f.Parts, part)
	}
}
