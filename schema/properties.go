package schema

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/formsvc/formsvc/internal/jsontree"
)

// Property is one member of the [Properties] of a block, for a program that draws a panel in which a person sets it.
type Property struct {
	Name        string // in JSON
	Type        PropertyType
	Description string   // English sentences
	Values      []string // of a PropertyEnum, and of an integer with a few values: all that it may be
	Min, Max    float64  // of an integer without Words
	Default     any      // the value of an absent property; nil if that is the zero value, or if nothing applies
}

// PropertyType is what a property holds.
type PropertyType string

// The types of properties. In JSON all are strings but booleans, numbers, lists and objects.
const (
	PropertyBoolean PropertyType = "boolean"
	PropertyInteger PropertyType = "integer"
	PropertyNumber  PropertyType = "number"
	PropertyText    PropertyType = "string"
	PropertyEnum    PropertyType = "word"    // one of Words
	PropertyURL     PropertyType = "url"     // an absolute http or https URL; empty: unset
	PropertyLink    PropertyType = "link"    // as PropertyURL, or a mailto or tel URL
	PropertyCountry PropertyType = "country" // ISO 3166-1 alpha-2
	PropertyDate    PropertyType = "date"    // RFC 3339, of which the calendar day counts
	PropertyDates   PropertyType = "dates"   // a list of dates
	PropertyTexts   PropertyType = "texts"   // a list of texts
	PropertyParts   PropertyType = "parts"   // an object, [AddressFields]
	PropertyObject  PropertyType = "object"  // with free members
)

// propertyTypes are those of properties, and of components of the description, whose type in JSON does not say enough.
var propertyTypes = map[string]PropertyType{
	"buttonLink": PropertyLink, "videoLink": PropertyURL, "pdfLink": PropertyURL, "embedLink": PropertyURL,
	"defaultCountry": PropertyCountry, "specificDates": PropertyDates, "allowedFiles": PropertyTexts,
	"DateTime": PropertyDate, "AddressParts": PropertyParts,
}

// Properties returns the properties that matter for the type, in the order of the API description, where it reads them.
// Blocks keep other properties without effect. The list and all that is in it are the caller's.
func (k BlockType) Properties() (list []Property) {
	defaults := map[string]any{"imageAlign": "inline", "icon": "star"}
	if k.Scale != (Scale{}) {
		defaults["from"], defaults["to"], defaults["scaleStep"] = k.Scale.From, k.Scale.To, k.Scale.Step
	}
	for _, n := range componentSchemas().Member("BlockProperties").Member("properties").All() {
		if types := enumValues(n.Member("x-block-types")); types[0] == "*" || slices.Contains(types, k.Type) {
			p := newProperty(n)
			p.Default = defaults[p.Name]
			list = append(list, p)
		}
	}
	return list
}

// componentSchemas are the schemas of the description, which is parsed once.
var componentSchemas = sync.OnceValue(func() jsontree.Node {
	tree, err := jsontree.Parse(embedded, jsontree.Limits{})
	if err != nil {
		panic("schema: embedded API description: " + err.Error())
	}
	return tree.Root().Member("components").Member("schemas")
})

// newProperty reads the schema of a property, behind its reference if it is one.
func newProperty(n jsontree.Node) Property {
	p := Property{Name: n.Name(), Description: n.Member("description").Text()}
	component := strings.TrimPrefix(n.Member("$ref").Text(), "#/components/schemas/")
	if component != "" {
		n = componentSchemas().Member(component)
		p.Description = cmp.Or(p.Description, n.Member("description").Text())
	}
	p.Values, p.Min, p.Max = enumValues(n.Member("enum")), n.Member("minimum").Float(), n.Member("maximum").Float()
	p.Type = cmp.Or(propertyTypes[p.Name], propertyTypes[component], PropertyType(n.Member("type").Text()))
	if p.Type == PropertyText && p.Values != nil {
		p.Type = PropertyEnum
	}
	return p
}

// words returns the texts and numbers of a list as they are without quotes.
func enumValues(list jsontree.Node) (words []string) {
	for _, n := range list.All() {
		words = append(words, n.Text())
	}
	return words
}
