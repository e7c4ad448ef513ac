package kinds

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
	rule           Rule
	hide, required bool
}

func newContact(b *schema.Block, _ Service) Rule { return newContactRule(b.Properties) }

func newContactRule(p *schema.Properties) contactRule {
	f := p.AddressOrContact
	if f == nil {
		f = new(schema.AddressFields)
	}
	part := func(name, example string, r Rule, field *schema.AddressField) contactPart {
		p := contactPart{name: name, example: example, rule: r}
		if field != nil {
			p.hide, p.required = field.Hide, field.Required && !field.Hide
		}
		return p
	}
	return contactRule{parts: []contactPart{
		part("firstName", "Ada", contactText, f.FirstName),
		part("lastName", "Example", contactText, f.LastName),
		part("email", "ada@example.com", emailRule{}, f.Email),
		part("phone", "+31201234567", newPhoneRule(p.DefaultCountry), f.Phone),
		part("company", "Example Ltd", contactText, f.Company),
		part("address", "1 Example Street", contactText, f.Address),
		part("address2", "Floor 2", contactText, f.Address2),
		part("city", "Utrecht", contactText, f.City),
		part("state", "Utrecht", contactText, f.State),
		part("zip", "3511 AA", contactText, f.Zip),
		part("country", "NL", countryRule{}, f.Country),
	}}
}

// contactText checks the other parts. Each is one line: a name with a line break in it
// is a forged header once it stands in a mail.
var contactText = textRule{max: maxContactPart, oneLine: true}

func (t contactRule) Check(w *jsontree.Writer, n jsontree.Node, r *Report) {
	if n.Kind() != jsontree.Object {
		r.add(n, wrongType("object", "must be an object with the parts of the address or contact"))
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
		if !IsBlank(given) {
			answered = true
		}
		switch {
		case IsBlank(given):
			if p.required {
				missing = append(missing, p.name)
			}
		case p.hide:
			r.add(given, NotAllowed("hidden", "is not asked for"))
		default:
			w.Name(p.name)
			p.rule.Check(w, given, r)
		}
	}
	if !answered {
		w.Truncate(start)
		return
	}
	for _, name := range missing {
		r.addMember(n, name, FaultRequired)
	}
	w.EndObject()
}

func (t contactRule) Sample() string {
	parts := make(map[string]string)
	for _, p := range t.parts {
		if !p.hide {
			parts[p.name] = p.example
		}
	}
	return Encoded(parts)
}

func (t contactRule) contradiction() (member, why string) {
	if slices.ContainsFunc(t.parts, func(p contactPart) bool { return !p.hide }) {
		return "", ""
	}
	return "/properties/addressOrContact", "all parts are hidden"
}

// IsContactPart reports whether an address or contact may have a part of this name.
func IsContactPart(name string) bool {
	return slices.ContainsFunc(contactParts, func(p contactPart) bool { return p.name == name })
}

var contactParts = newContactRule(new(schema.Properties)).parts

// PhoneOf returns what reads the telephone numbers in answers to a block, or, where part is not
// empty, in that part of its answers. ok is false when r checks no telephone number there.
func PhoneOf(r Rule, part string) (t PhoneRule, ok bool) {
	if c, is := r.(contactRule); is {
		for _, p := range c.parts {
			if p.name == part {
				t, ok = p.rule.(PhoneRule)
			}
		}
		return t, ok
	}
	t, ok = r.(PhoneRule)
	return t, ok && part == ""
}

var faultNoPart = Fault{Code: schema.CodeUnknownField, Message: "is not part of an address or contact"}
