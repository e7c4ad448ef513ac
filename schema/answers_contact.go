package schema

import "slices"

// maxContactPart is the number of characters of one part of an address.
const maxContactPart = 1000

// contactRule checks address and contact_info.
type contactRule struct{ parts []contactPart }

// contactPart is one part, in the order in which answers are stored.
type contactPart struct {
	name           string
	example        string
	hide, required bool
}

func newContactRule(f *AddressFields) contactRule {
	if f == nil {
		f = new(AddressFields)
	}
	part := func(name, example string, field *AddressField) contactPart {
		p := contactPart{name: name, example: example}
		if field != nil {
			p.hide, p.required = field.Hide, field.Required && !field.Hide
		}
		return p
	}
	return contactRule{parts: []contactPart{
		part("firstName", "Ada", f.FirstName),
		part("lastName", "Example", f.LastName),
		part("email", "ada@example.com", f.Email),
		part("phone", "+14155550100", f.Phone),
		part("company", "Example Ltd", f.Company),
		part("address", "1 Example Street", f.Address),
		part("address2", "Floor 2", f.Address2),
		part("city", "Utrecht", f.City),
		part("state", "Utrecht", f.State),
		part("zip", "3511 AA", f.Zip),
		part("country", "NL", f.Country),
	}}
}

func (t contactRule) check(dst []byte, n *node, r *report) []byte {
	if n.kind != kindObject {
		r.add(CodeWrongType, messageObject)
		return dst
	}
	for _, name := range n.names {
		if !slices.ContainsFunc(t.parts, func(p contactPart) bool { return p.name == name }) {
			r.addIn(name, CodeUnknownField, "is no part of an address or contact")
		}
		if r.full() {
			return dst
		}
	}
	start := len(dst)
	dst = append(dst, '{')
	var missing []string
	answered := false
	for i := range t.parts {
		p := &t.parts[i]
		given := n.member(p.name)
		if !isBlank(given) {
			answered = true
		}
		switch {
		case isBlank(given):
			if p.required {
				missing = append(missing, p.name)
			}
		case p.hide:
			r.addIn(p.name, CodeNotAllowed, "the block does not ask for it")
		default:
			dst = append(appendQuoted(separate(dst), p.name), ':')
			dst = p.check(dst, given, r)
		}
	}
	if !answered {
		return dst[:start]
	}
	for _, name := range missing {
		r.addIn(name, CodeRequired, messageRequired)
	}
	return append(dst, '}')
}

func (p *contactPart) check(dst []byte, n *node, r *report) []byte {
	whole := r.path
	r.path = pointer(whole, p.name)
	if p.name == "email" {
		dst = emailRule{}.check(dst, n, r)
	} else {
		dst = textRule{max: maxContactPart}.check(dst, n, r)
	}
	r.path = whole
	return dst
}
