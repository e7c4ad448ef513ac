package answers

import (
	"slices"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
)

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

func newContactRule(f *schema.AddressFields) contactRule {
	if f == nil {
		f = new(schema.AddressFields)
	}
	part := func(name, example string, field *schema.AddressField) contactPart {
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

func (t contactRule) check(w *jsontree.Writer, n jsontree.Node, r *report) {
	if n.Kind() != jsontree.Object {
		r.add(n, wrongType("object", "must be given part by part"))
		return
	}
	for _, member := range n.All() {
		name := member.Name()
		if !slices.ContainsFunc(t.parts, func(p contactPart) bool { return p.name == name }) {
			r.add(member, faultNoPart)
		}
		if r.full() {
			return
		}
	}
	start := w.Len()
	w.Object()
	var missing []string
	answered := false
	for i := range t.parts {
		p := &t.parts[i]
		given := n.Member(p.name)
		if !isBlank(given) {
			answered = true
		}
		switch {
		case isBlank(given):
			if p.required {
				missing = append(missing, p.name)
			}
		case p.hide:
			r.add(given, notAllowed("hidden", "is not asked for"))
		default:
			w.Name(p.name)
			p.rule().check(w, given, r)
		}
	}
	if !answered {
		w.Truncate(start)
		return
	}
	for _, name := range missing {
		r.addMember(n, name, faultRequired)
	}
	w.EndObject()
}

// rule returns what checks the part.
func (p *contactPart) rule() rule {
	if p.name == "email" {
		return emailRule{}
	}
	return textRule{max: maxContactPart, oneLine: true}
}

func (t contactRule) sample() string {
	var w jsontree.Writer
	w.Object()
	for _, p := range t.parts {
		if !p.hide {
			w.Name(p.name).String(p.example)
		}
	}
	w.EndObject()
	return string(w.Bytes())
}
