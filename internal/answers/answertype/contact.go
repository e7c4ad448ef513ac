package answertype

import (
	"cmp"
	"slices"
	"strings"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/textclean"
	"github.com/formsvc/formsvc/schema"
)

type contactRule struct {
	parts   []contactPart
	country string // the country of every answer if the block does not ask for a country
}

type contactPart struct {
	name, example  string
	rule           Rule
	hide, required bool
}

// contactParts lists the parts in storage order.
var contactParts = []contactPart{
	{name: "firstName", example: "Ada", rule: contactText},
	{name: "lastName", example: "Example", rule: contactText},
	{name: "email", example: "ada@example.com", rule: emailRule},
	{name: "phone", example: "+31201234567"}, // the rule depends on the block
	{name: "company", example: "Example Ltd", rule: contactText},
	{name: "address", example: "1 Example Street", rule: contactText},
	{name: "address2", example: "Floor 2", rule: contactText},
	{name: "city", example: "Utrecht", rule: contactText},
	{name: "state", example: "Utrecht", rule: contactText},
	{name: "zip", example: "3511 AA", rule: contactText},
	{name: "country", example: "NL", rule: countryRule},
}

func newContact(b *schema.Block, from ServiceConfig) Rule {
	parts := slices.Clone(contactParts)
	for i := range parts {
		p := &parts[i]
		field := b.Properties.AddressOrContact.Part(p.name)
		p.hide, p.required = field.Hide, field.Required && !field.Hide
		if p.rule == nil {
			p.rule = newPhone(b, from)
		}
	}
	rule := contactRule{parts: parts}
	if b.Properties.AddressOrContact.Part("country").Hide {
		rule.country = b.Properties.DefaultCountry
	}
	return rule
}

// contactText rejects line breaks, because a name with one could forge an email header.
var contactText = textRule{max: maxTextLength(schema.TypeAddress), oneLine: true}

func (t contactRule) Check(w *jsontree.Writer, n jsontree.Node, r *Report) {
	if n.Kind() != jsontree.Object {
		r.add(n, violationWrongType("object", "must be an object with parts of an address or contact"))
		return
	}
	for _, member := range n.All() {
		if !IsContactPart(member.Name()) {
			r.add(member, Violation{Code: schema.CodeUnknownField, Message: "is not part of an address or contact"})
		}
		if r.isFull() {
			return
		}
	}
	start := w.Len()
	w.Object()
	var missing []string
	answered, country := false, cmp.Or(t.country, strings.ToUpper(textclean.Trim(n.Member("country").Text())))
	for i := range t.parts {
		p := &t.parts[i]
		part := n.Member(p.name)
		if !IsBlank(part) {
			answered = true
		}
		switch {
		case IsBlank(part):
			if p.required && AddressHasPart(p.name, country) {
				missing = append(missing, p.name)
			}
		case p.hide:
			r.add(part, ViolationNotAllowed("hidden", "is not asked for"))
		default:
			w.Name(p.name)
			p.rule.Check(w, part, r)
		}
	}
	if !answered {
		w.Truncate(start)
		return
	}
	for _, name := range missing {
		r.addMember(n, name, ViolationRequired)
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
	return EncodeJSON(parts)
}

func (t contactRule) contradiction() (member string, why Explanation) {
	if slices.ContainsFunc(t.parts, func(p contactPart) bool { return !p.hide }) {
		return "", Explanation{}
	}
	return "/properties/addressOrContact", Explanation{Reason: "no_parts", Message: "all fields are hidden"}
}

// IsContactPart reports whether addresses or contacts can have a part with this name.
func IsContactPart(name string) bool {
	return slices.ContainsFunc(contactParts, func(p contactPart) bool { return p.name == name })
}

// PhoneRuleOf returns the rule that checks the phone numbers in a block's answers, or in one part of the answers if
// part is not empty. ok is false if r checks no phone numbers.
func PhoneRuleOf(r Rule, part string) (t PhoneRule, ok bool) {
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
