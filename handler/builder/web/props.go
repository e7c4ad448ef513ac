package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
)

const (
	description = "../../../schema/openapi.json"
	table       = "src/props/props.gen.ts"
)

// blockTypes holds what the API description lacks: a block type's group and icon in the editor, whether it has answers,
// whether answers can be unique, and its scale. A test compares this table with package schema.
var blockTypes = map[string]blockType{
	"short_text": {Group: "basic", Icon: "type", Answer: true, Unique: true}, "long_text": {Group: "basic", Icon: "align-left", Answer: true, Unique: true},
	"number": {Group: "basic", Icon: "hash", Answer: true, Unique: true}, "date": {Group: "basic", Icon: "calendar", Answer: true, Unique: true},
	"time": {Group: "basic", Icon: "clock", Answer: true, Unique: true},

	"single_choice": {Group: "choice", Icon: "circle-dot", Answer: true, Unique: true}, "multiple_choice": {Group: "choice", Icon: "square-check", Answer: true, Unique: true},
	"dropdown": {Group: "choice", Icon: "square-chevron-down", Answer: true, Unique: true}, "picture_choice": {Group: "choice", Icon: "images", Answer: true, Unique: true},
	"yes_no": {Group: "choice", Icon: "toggle-left", Answer: true}, "ranking": {Group: "choice", Icon: "list-ordered", Answer: true, Unique: true},
	"matrix": {Group: "choice", Icon: "grid-3x3", Answer: true},

	"rating":        {Group: "scale", Icon: "star", Answer: true, Unique: true, Scale: []float64{1, 5, 1}},
	"opinion_scale": {Group: "scale", Icon: "gauge", Answer: true, Unique: true, Scale: []float64{1, 10, 1}},
	"nps":           {Group: "scale", Icon: "smile", Answer: true, Unique: true, Scale: []float64{0, 10, 1}},

	"email": {Group: "contact", Icon: "mail", Answer: true, Unique: true}, "phone": {Group: "contact", Icon: "phone", Answer: true, Unique: true},
	"website": {Group: "contact", Icon: "globe", Answer: true, Unique: true}, "address": {Group: "contact", Icon: "map-pin", Answer: true},
	"contact_info": {Group: "contact", Icon: "contact", Answer: true}, "country": {Group: "contact", Icon: "flag", Answer: true},

	"file_upload": {Group: "more", Icon: "paperclip", Answer: true}, "signature": {Group: "more", Icon: "signature", Answer: true},
	"payment": {Group: "more", Icon: "credit-card", Answer: true}, "legal": {Group: "more", Icon: "scale", Answer: true},
	"captcha": {Group: "more", Icon: "shield-check"},

	"statement": {Group: "content", Icon: "message-square"}, "heading": {Group: "content", Icon: "heading"}, "text": {Group: "content", Icon: "pilcrow"},
	"image": {Group: "content", Icon: "image"}, "video": {Group: "content", Icon: "video"}, "pdf": {Group: "content", Icon: "file-text"},
	"embed": {Group: "content", Icon: "code"},

	"welcome": {Group: "layout", Icon: "hand"}, "ending": {Group: "layout", Icon: "circle-check"}, "group": {Group: "layout", Icon: "group"},
	"page_break": {Group: "layout", Icon: "separator-horizontal"}, "divider": {Group: "layout", Icon: "minus"},
}

type blockType struct {
	Group  string    `json:"group"`
	Icon   string    `json:"icon"`
	Answer bool      `json:"answer,omitempty"`
	Unique bool      `json:"unique,omitempty"`
	Scale  []float64 `json:"scale,omitempty"` // from, to, step
}

// property is a value that the properties panel can set. Type is "color", "image" or a type in schema.Property.
type property struct {
	Type    string   `json:"type"`
	Of      []string `json:"of,omitempty"` // the block types; if empty, all of them
	Words   []string `json:"words,omitempty"`
	Min     *float64 `json:"min,omitempty"`
	Max     *float64 `json:"max,omitempty"`
	Default string   `json:"default,omitempty"`
	Hex     bool     `json:"hex,omitempty"` // whether a color must be hexadecimal
}

// node is a schema in the API description.
type node struct {
	Ref         string   `json:"$ref"`
	Type        any      `json:"type"`
	Description string   `json:"description"`
	Enum        []any    `json:"enum"`
	Items       *node    `json:"items"`
	Properties  ordered  `json:"properties"`
	Minimum     *float64 `json:"minimum"`
	Maximum     *float64 `json:"maximum"`
	Pattern     string   `json:"pattern"`
	Of          []string `json:"x-block-types"`
}

// ordered is a JSON object that contains schemas and preserves their order.
type ordered []member

type member struct {
	name   string
	schema node
}

func (o *ordered) UnmarshalJSON(raw []byte) error {
	read := json.NewDecoder(bytes.NewReader(raw))
	_, err := read.Token()
	for err == nil && read.More() {
		var name json.Token
		var m member
		name, err = read.Token()
		err = errors.Join(err, read.Decode(&m.schema))
		m.name, _ = name.(string)
		*o = append(*o, m)
	}
	return err
}

func (o *ordered) get(name string) node {
	for _, m := range *o {
		if m.name == name {
			return m.schema
		}
	}
	return node{}
}

var defaults = map[string]string{"imageAlign": "inline", "icon": "star"}

// property converts a field's schema to a property and resolves references.
func (o *ordered) property(m member) property {
	s, about := m.schema, m.schema.Description
	if component, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		s = o.get(component)
		s.Of = m.schema.Of
		switch component {
		case "Color":
			return property{Type: "color", Hex: true}
		case "Image":
			return property{Type: "image"}
		case "DateTime":
			return property{Type: "date", Of: s.Of}
		case "AddressParts":
			return property{Type: "parts", Of: s.Of}
		}
	}
	p := property{Type: fmt.Sprint(s.Type), Of: s.Of, Default: defaults[m.name]}
	for _, word := range s.Enum {
		p.Words = append(p.Words, fmt.Sprint(word))
	}
	switch {
	case s.Type == "integer" && p.Words == nil && s.Minimum != nil && *s.Minimum > -1<<52:
		p.Min, p.Max = s.Minimum, s.Maximum
	case s.Type == nil:
		p.Type = "any"
	case s.Type == "array" && strings.HasSuffix(s.Items.Ref, "/DateTime"):
		p.Type = "dates"
	case s.Type == "array" && s.Items.Ref != "":
		p.Type = "list"
	case s.Type == "array":
		p.Type = "texts"
	case s.Type != "string":
	case p.Words != nil:
		p.Type = "word"
	case strings.Contains(about, "mailto"):
		p.Type = "link"
	case strings.Contains(about, "http or https URL"):
		p.Type = "url"
	case strings.Contains(about, "ISO 3166-1"):
		p.Type = "country"
	case strings.Contains(strings.ToLower(about), "color"):
		p.Type = "color"
	}
	return p
}

// members yields an object's fields. The paths of nested fields contain dots.
func (o *ordered) members(in node, path string) iter.Seq2[string, property] {
	return func(yield func(string, property) bool) {
		for _, m := range in.Properties {
			s := m.schema
			if component, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok && strings.HasSuffix(component, "Colors") {
				s = o.get(component)
			}
			if len(s.Properties) == 0 || len(s.Of) > 0 { // one property, although rule has known fields
				if !yield(path+m.name, o.property(m)) {
					return
				}
				continue
			}
			for name, p := range o.members(s, path+m.name+".") {
				if !yield(name, p) {
					return
				}
			}
		}
	}
}

// writePropertyTable writes the property table or, if check is set, compares it with the existing file.
func writePropertyTable(check bool) error {
	raw, err := os.ReadFile(description)
	if err != nil {
		return err
	}
	var doc struct {
		Components struct {
			Schemas ordered `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		return fmt.Errorf("%s: %w", description, err)
	}
	schemas := doc.Components.Schemas
	out := bytes.NewBufferString(tableHead)
	row := func(name string, value any) {
		line, encodeErr := json.Marshal(value)
		err = errors.Join(err, encodeErr)
		fmt.Fprintf(out, "  %q: %s,\n", name, line)
	}
	fmt.Fprint(out, "\nexport const types: Record<string, BlockType> = {\n")
	for _, name := range schemas.get("BlockType").Enum {
		kind, ok := blockTypes[fmt.Sprint(name)]
		if !ok {
			return fmt.Errorf("the block type %v has no group and icon in props.go", name)
		}
		row(fmt.Sprint(name), kind)
	}
	for _, list := range []struct{ name, component, about string }{
		{"properties", "BlockProperties", "Block properties."},
		{"members", "BlockWrite", "Block fields."},
		{"choiceMembers", "ChoiceWrite", "The fields of a choice, a row or a column."},
		{"imageMembers", "Image", "Image fields."},
		{"parts", "AddressParts", "The parts of an address or contact."},
		{"partMembers", "AddressPart", "The fields of a part."},
		{"settings", "Settings", "Form settings, by path."},
		{"theme", "Theme", "Theme properties, by path."},
	} {
		fmt.Fprintf(out, "};\n\n/** %s */\nexport const %s: Record<string, Property> = {\n", list.about, list.name)
		for name, p := range schemas.members(schemas.get(list.component), "") {
			if list.name == "properties" && len(p.Of) == 0 {
				return fmt.Errorf("the property %s has no x-block-types", name)
			}
			if slices.Equal(p.Of, []string{"*"}) {
				p.Of = nil
			}
			row(name, p)
		}
	}
	fmt.Fprint(out, "};\n")
	if err != nil || !check {
		return cmp.Or(err, os.WriteFile(table, out.Bytes(), 0o600))
	}
	stored, err := os.ReadFile(table)
	if err == nil && !bytes.Equal(stored, out.Bytes()) {
		err = fmt.Errorf("%s is out of date: run \"go run -C handler/builder/web . -props\"", table)
	}
	return err
}

const tableHead = `// Generated by go run . -props from schema/openapi.json. Each row is a line of JSON.
import type { IconName } from '../ui/icons.gen';

export interface BlockType {
  group: string;
  icon: IconName;
  /** Whether the block type has an answer. */
  answer?: boolean;
  /** Whether a form can require that answers are unique. */
  unique?: boolean;
  /** From, to and step, unless the block's properties set them. */
  scale?: number[];
}

export interface Property {
  type: string;
  /** The block types that have the property. If absent, all block types have it. */
  of?: string[];
  words?: string[];
  min?: number;
  max?: number;
  default?: string;
  /** Whether a color must be hexadecimal. */
  hex?: boolean;
}
`
