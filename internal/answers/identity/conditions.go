package identity

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/formsvc/formsvc/internal/answers/answertype"
	"github.com/formsvc/formsvc/internal/answers/compile"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/violation"
	"github.com/formsvc/formsvc/schema"
)

// Conditions selects the stored submissions that have an equivalent answer for each condition. It also records which
// fields the submissions have, for [Conditions.Err]. It is not safe for concurrent use.
type Conditions struct{ all []*condition }

// condition is one expected answer. If name contains a slash, block and part hold the text before and after it.
type condition struct {
	name        string
	block, part string
	value       string
	phone       answertype.PhoneRule

	// These fields describe what name refers to in the form and in the submissions seen so far.
	comparable       bool   // the field has answers that can be compared
	hasPhones        bool   // the field has phone numbers
	incomparableType string // the type of the answers, if they cannot be compared
	matched          bool   // a submission matched
}

// NewConditions returns the conditions for the expected answers in values. Each key is a block ID, a hidden field's
// name, or "block/part" for a contact part.
func NewConditions(f *compile.Form, values map[string]string) *Conditions {
	all := &Conditions{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		c := &condition{name: name, value: strings.TrimSpace(values[name])}
		if at := strings.LastIndexByte(name, '/'); at >= 0 {
			c.block, c.part = name[:at], name[at+1:]
		}
		for i := range f.Blocks {
			c.observeBlock(&f.Blocks[i])
		}
		for i := range f.Hidden {
			c.observe(f.Hidden[i].Name, schema.TypeHidden)
		}
		for i := range f.Variables {
			c.observe(f.Variables[i].Name, schema.TypeVariable)
		}
		all.all = append(all.all, c)
	}
	return all
}

func (c *condition) observeBlock(b *compile.Block) {
	c.observe(b.ID, b.Type)
	if number, ok := answertype.PhoneRuleOf(b.Rule, ""); ok && b.ID == c.name {
		c.phone = number
	}
	if number, ok := answertype.PhoneRuleOf(b.Rule, c.part); ok && b.ID == c.block && c.part != "" {
		c.phone = number
	}
}

// observe records that the form or a submission has a field with this ID and type.
func (c *condition) observe(id, typ string) {
	switch k, _ := schema.LookupBlockType(typ); {
	case id == c.name && (k.Comparison != schema.CompareNever || typ == schema.TypeHidden):
		c.comparable = true
		c.hasPhones = c.hasPhones || k.Comparison == schema.ComparePhone
	case id == c.name:
		c.incomparableType = typ
	case c.part != "" && id == c.block && isContact(typ) && answertype.IsContactPart(c.part):
		c.comparable = true
		c.hasPhones = c.hasPhones || c.part == "phone"
	}
}

func isContact(typ string) bool {
	k, _ := schema.LookupBlockType(typ)
	return k.Shape == schema.ShapeContact
}

// Match reports whether a stored list of answers meets all conditions. It returns false if there are no conditions.
func (all *Conditions) Match(list json.RawMessage) bool {
	tree, err := jsontree.Parse(list, storedLimits)
	if err != nil || len(all.all) == 0 {
		return false
	}
	defer tree.Release()
	hold := true
	for _, c := range all.all { // no early exit, because each condition must observe the list
		hold = c.matches(tree.Root()) && hold
	}
	return hold
}

func (c *condition) matches(list jsontree.Node) (yes bool) {
	for _, item := range list.All() {
		field, value := item.Member("field"), item.Member("value")
		id, typ := field.Member("id").Text(), field.Member("type").Text()
		c.observe(id, typ)
		switch {
		case id == c.name && c.matchesValue(typ, value),
			c.part != "" && id == c.block && isContact(typ) && c.matchesValue(partType(c.part), value.Member(c.part)):
			yes = true
		}
	}
	c.matched = c.matched || yes
	return yes
}

// partType returns the block type whose comparison applies to a contact part. Countries are compared as text.
func partType(part string) string {
	if typ := schema.PartType(part); typ != schema.TypeCountry {
		return typ
	}
	return schema.TypeShortText
}

func (c *condition) matchesValue(typ string, stored jsontree.Node) bool {
	if !stored.Exists() {
		return false
	}
	switch k, _ := schema.LookupBlockType(typ); {
	case typ == schema.TypeHidden: // often an ID from the host's system, so case matters
		return strings.TrimSpace(stored.Text()) == c.value
	case k.Comparison == schema.CompareWord:
		return strings.EqualFold(c.value, cmp.Or(stored.Text(), stored.Raw()))
	}
	want, ok := answertype.Identity(typ, stored)
	return ok && slices.ContainsFunc(c.candidateIdentities(typ), func(identity []byte) bool { return bytes.Equal(identity, want) })
}

// candidateIdentities returns the identities of matching answers. For choices, the expected answer can be an ID or the
// “Other” text.
func (c *condition) candidateIdentities(typ string) (all [][]byte) {
	literals := []string{answertype.QuoteJSON(c.value)}
	switch k, _ := schema.LookupBlockType(typ); k.Comparison {
	case schema.ComparePhone:
		if number, ok := c.phone.Normalize(c.value); ok {
			literals = []string{answertype.QuoteJSON(number)}
		}
	case schema.CompareNumber:
		literals = []string{c.value}
	case schema.CompareChoices, schema.CompareRanking:
		literals = []string{answertype.EncodeJSON(map[string]string{"id": c.value}), answertype.EncodeJSON(map[string]string{"other": c.value})}
	}
	for _, value := range literals {
		tree, err := jsontree.Parse([]byte(value), storedLimits)
		if err != nil {
			continue
		}
		if identity, ok := answertype.Identity(typ, tree.Root()); ok {
			all = append(all, identity)
		}
		tree.Release()
	}
	return all
}

// Err returns a *[schema.Error] that lists the conditions that no submission can meet: the field is unknown in the form
// and in all submissions, its answers cannot be compared, or the expected answer is not a phone number.
func (all *Conditions) Err() error {
	var found violation.List
	for _, c := range all.all {
		path := jsontree.JoinPointer(compile.AnswersPath, c.name)
		_, isNumber := c.phone.Normalize(c.value)
		switch {
		case c.comparable && c.hasPhones && !c.matched && !isNumber:
			found.Add(path, schema.CodeBadFormat, "must be a phone number that starts with + and its country code, such as +31 20 123 4567")
		case c.comparable:
		case isContact(c.incomparableType):
			found.Add(path, schema.CodeNotAllowed, "must refer to one part, such as "+c.name+"/email")
		case c.incomparableType != "":
			found.Add(path, schema.CodeNotAllowed, "refers to an answer of type "+c.incomparableType+", which is never compared")
		default:
			found.Add(path, schema.CodeUnknownField, "refers to an unknown block or field of this form")
		}
	}
	return found.Err()
}
