package schema

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/formsvc/formsvc/internal/jsontree"
)

// Property describes a field of [Properties], for programs that let users edit the field.
type Property struct {
	Name        string // the JSON name
	Type        PropertyType
	Description string   // in English sentences
	Values      []string // the allowed values of a PropertyEnum, or of an integer with few values
	Min, Max    float64  // the limits of an integer without Values
	Default     any      // the value of a missing property; nil if it is the zero value or if there is none
}

// PropertyType is the type of a property.
type PropertyType string

// These are the types of properties. In JSON, the values of texts, enums, URLs, links, countries and dates are strings.
const (
	PropertyBoolean PropertyType = "boolean"
	PropertyInteger PropertyType = "integer"
	PropertyNumber  PropertyType = "number"
	PropertyText    PropertyType = "string"
	PropertyEnum    PropertyType = "word"    // one of Values
	PropertyURL     PropertyType = "url"     // an absolute http or https URL, or empty
	PropertyLink    PropertyType = "link"    // like PropertyURL, or a mailto or tel URL
	PropertyCountry PropertyType = "country" // ISO 3166-1 alpha-2
	PropertyDate    PropertyType = "date"    // RFC 3339; only the calendar day applies
	PropertyDates   PropertyType = "dates"   // a list of dates
	PropertyTexts   PropertyType = "texts"   // a list of texts
	PropertyParts   PropertyType = "parts"   // an [AddressFields] object
	PropertyObject  PropertyType = "object"  // with any fields
)

// propertyTypes contains the types of properties and API components whose JSON type is not specific enough.
var propertyTypes = map[string]PropertyType{
	"buttonLink": PropertyLink, "videoLink": PropertyURL, "pdfLink": PropertyURL, "embedLink": PropertyURL,
	"defaultCountry": PropertyCountry, "specificDates": PropertyDates, "allowedFiles": PropertyTexts,
	"DateTime": PropertyDate, "AddressParts": PropertyParts,
}

// Properties returns the properties that apply to the block type, in the order of the API description. Other properties
// are stored but have no effect. The caller can modify the result.
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

// componentSchemas returns the component schemas of the API description, which it parses once.
var componentSchemas = sync.OnceValue(func() jsontree.Node {
	tree, err := jsontree.Parse(embedded, jsontree.Limits{})
	if err != nil {
		panic("schema: embedded API description: " + err.Error())
	}
	return tree.Root().Member("components").Member("schemas")
})

// newProperty converts the schema of a property. It resolves a $ref.
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

// enumValues returns the texts and numbers in list as unquoted text.
func enumValues(list jsontree.Node) (texts []string) {
	for _, n := range list.All() {
		texts = append(texts, n.Text())
	}
	return texts
}
