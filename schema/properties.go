package schema

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/formsvc/formsvc/internal/jsontree"
)

// Property is one member of the [Properties] of a block, for a program that draws a panel in
// which a person sets it.
type Property struct {
	Name        string // in JSON
	Type        PropertyType
	Description string // an English sentence or a few
	// Words are all that a PropertyWord, or an integer with a few values, may be. nil: there
	// is no such list.
	Words []string
	// Min and Max are the bounds of a PropertyInteger without Words.
	Min, Max float64
	// Default is what counts where the property is absent: a bool, a float64 or a string. nil:
	// nothing counts, or what else the block says decides.
	Default any
	// Members are those of a PropertyObject. nil: its members are free.
	Members []Property
}

// PropertyType is what a property holds.
type PropertyType string

// The types of properties. In JSON all but the first three, lists and objects are strings.
const (
	PropertyBoolean PropertyType = "boolean"
	PropertyInteger PropertyType = "integer"
	PropertyNumber  PropertyType = "number"
	PropertyText    PropertyType = "string"
	PropertyWord    PropertyType = "word"    // one of Words
	PropertyURL     PropertyType = "url"     // an absolute http or https URL; empty: unset
	PropertyLink    PropertyType = "link"    // a PropertyURL, or a mailto or tel URL
	PropertyCountry PropertyType = "country" // ISO 3166-1 alpha-2
	PropertyDate    PropertyType = "date"    // RFC 3339, of which the calendar day counts
	PropertyDates   PropertyType = "dates"   // a list of dates
	PropertyTexts   PropertyType = "texts"   // a list of texts
	PropertyObject  PropertyType = "object"
)

// Properties returns the properties that matter for the type, in the order of the API
// description, where it reads them. Blocks keep other properties without effect. The list and
// all that is in it are the caller's.
func (k Kind) Properties() (list []Property) {
	for _, n := range componentSchemas().Member("BlockProperties").Member("properties").All() {
		if types := words(n.Member("x-block-types")); types[0] != "*" && !slices.Contains(types, k.Type) {
			continue
		}
		p := property(n)
		switch {
		case k.Scale == Scale{}:
		case p.Name == "from":
			p.Default = k.Scale.From
		case p.Name == "to":
			p.Default = k.Scale.To
		case p.Name == "scaleStep":
			p.Default = k.Scale.Step
		}
		list = append(list, p)
	}
	return list
}

// componentSchemas are the schemas of the description, which is parsed once.
var componentSchemas = sync.OnceValue(func() jsontree.Node {
	tree, err := jsontree.Parse(embedded, jsontree.Bounds{})
	if err != nil {
		panic("schema: the embedded description: " + err.Error()) // no build that was tested
	}
	return tree.Root().Member("components").Member("schemas")
})

// inWords is what the description says of properties in words, or not at all.
var inWords = map[string]Property{
	"buttonLink": {Type: PropertyLink}, "videoLink": {Type: PropertyURL}, "pdfLink": {Type: PropertyURL}, "embedLink": {Type: PropertyURL},
	"defaultCountry": {Type: PropertyCountry}, "imageAlign": {Default: "inline"}, "icon": {Default: "star"},
}

// property reads the schema of a property.
func property(n jsontree.Node) Property {
	p := Property{Name: n.Name(), Description: n.Member("description").Text()}
	component := named(n)
	if component != "" {
		n = componentSchemas().Member(component)
		p.Description = cmp.Or(p.Description, n.Member("description").Text())
	}
	p.Type, p.Words = PropertyType(n.Member("type").Text()), words(n.Member("enum"))
	p.Min, p.Max = n.Member("minimum").Float(), n.Member("maximum").Float()
	switch {
	case component == "DateTime":
		p.Type = PropertyDate
	case named(n.Member("items")) == "DateTime":
		p.Type = PropertyDates
	case n.Member("items").Exists():
		p.Type = PropertyTexts
	case p.Type == PropertyText && p.Words != nil:
		p.Type = PropertyWord
	case p.Type == PropertyBoolean:
		p.Default = false
	}
	p.Type, p.Default = cmp.Or(inWords[p.Name].Type, p.Type), cmp.Or(inWords[p.Name].Default, p.Default)
	for _, member := range n.Member("properties").All() {
		p.Members = append(p.Members, property(member))
	}
	return p
}

// named returns the component that a schema refers to, "" for none.
func named(n jsontree.Node) string {
	return strings.TrimPrefix(n.Member("$ref").Text(), "#/components/schemas/")
}

// words returns the texts and numbers of a list as they are without quotes.
func words(list jsontree.Node) (words []string) {
	for _, n := range list.All() {
		words = append(words, n.Text())
	}
	return words
}
