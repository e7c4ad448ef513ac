package builder_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
)

const propsDir = "web/src/props"

var updateProps = flag.Bool("update", false, "write props.gen.ts anew")

// The table of what the panel of properties can set is generated from the API description and package schema.
func TestPropertyTable(t *testing.T) {
	t.Parallel()
	path := filepath.Join(propsDir, "props.gen.ts")
	want := propertyTable(t)
	if *updateProps {
		expect.NoError(t, os.WriteFile(path, []byte(want), 0o600))
	}
	got := expect.Must(os.ReadFile(path))
	expect.That(t, string(got) == want, "%s is out of date: go test ./handler/builder -run TestPropertyTable -update", path)
}

// blockTypeRow is a row of the block types.
type blockTypeRow struct {
	Answer bool      `json:"answer,omitempty"`
	Unique bool      `json:"unique,omitempty"`
	Scale  []float64 `json:"scale,omitempty"`
}

// propertyRow is a row of the properties. Type is "color", "image" or a type of package schema.
type propertyRow struct {
	Type    string   `json:"type"`
	Of      []string `json:"of,omitempty"` // the block types; empty for all of them
	Words   []string `json:"words,omitempty"`
	Min     *float64 `json:"min,omitempty"`
	Max     *float64 `json:"max,omitempty"`
	Default string   `json:"default,omitempty"`
	Hex     bool     `json:"hex,omitempty"`
}

func propertyTable(t *testing.T) string {
	out := bytes.NewBufferString(propertyTableHead)
	row := func(name string, value any) {
		fmt.Fprintf(out, "  %q: %s,\n", name, expect.Must(json.Marshal(value)))
	}
	properties := map[string]propertyRow{}
	types := 0
	for k := range schema.BlockTypes() {
		types++
		b := blockTypeRow{Answer: k.TakesAnswer(), Unique: k.IsCompared()}
		if k.Scale != (schema.Scale{}) {
			b.Scale = []float64{k.Scale.From, k.Scale.To, k.Scale.Step}
		}
		row(k.Type, b)
		for _, p := range k.Properties() {
			r := properties[p.Name]
			r.Type, r.Words, r.Of = string(p.Type), p.Values, append(r.Of, k.Type)
			r.Default, _ = p.Default.(string)
			if p.Max != 0 && p.Min > -1<<52 { // other integers have no limits
				r.Min, r.Max = &p.Min, &p.Max
			}
			properties[p.Name] = r
		}
	}
	description := expect.Must(jsontree.Parse(schema.OpenAPI(), jsontree.Limits{}))
	schemas := description.Root().Member("components").Member("schemas")
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
		if list.name != "properties" {
			writeFields(schemas, schemas.Member(list.component), "", row)
			continue
		}
		for _, n := range schemas.Member(list.component).Member("properties").All() {
			r, ok := properties[n.Name()]
			expect.That(t, ok, "no block type has the property %s", n.Name())
			if len(r.Of) == types {
				r.Of = nil
			}
			row(n.Name(), r)
		}
	}
	return out.String() + "};\n"
}

// writeFields writes a row for each field of an object. The names of fields in other objects are paths with dots.
func writeFields(schemas, object jsontree.Node, path string, row func(name string, value any)) {
	for _, n := range object.Member("properties").All() {
		component := strings.TrimPrefix(n.Member("$ref").Text(), "#/components/schemas/")
		switch {
		case n.Member("properties").Exists():
			writeFields(schemas, n, path+n.Name()+".", row)
		case strings.HasSuffix(component, "Colors"):
			writeFields(schemas, schemas.Member(component), path+n.Name()+".", row)
		default:
			row(path+n.Name(), fieldRow(schemas, n, component))
		}
	}
}

func fieldRow(schemas, n jsontree.Node, component string) propertyRow {
	about := n.Member("description").Text()
	switch component {
	case "":
	case "Color":
		return propertyRow{Type: "color", Hex: true}
	case "Image":
		return propertyRow{Type: "image"}
	case "DateTime":
		return propertyRow{Type: "date"}
	default:
		n = schemas.Member(component)
	}
	r := propertyRow{Type: cmp.Or(n.Member("type").Text(), "any")}
	for _, word := range n.Member("enum").All() {
		r.Words = append(r.Words, word.Text())
	}
	switch {
	case r.Type == "array":
		r.Type = "list"
	case r.Type != "string":
	case r.Words != nil:
		r.Type = "word"
	case strings.Contains(about, "mailto"):
		r.Type = "link"
	case strings.Contains(about, "http or https URL"):
		r.Type = "url"
	case strings.Contains(strings.ToLower(about), "color"):
		r.Type = "color"
	}
	return r
}

const propertyTableHead = `// Generated from schema/openapi.json by go test ./handler/builder -run TestPropertyTable -update. Each row is a line of JSON.

export interface BlockType {
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

export const types: Record<string, BlockType> = {
`

// What the tests of the panel set, by each control of each type, is in written.json. The service
// takes all of it and returns it.
func TestTheServiceTakesWhatThePanelSets(t *testing.T) {
	t.Parallel()
	raw := expect.Must(os.ReadFile(filepath.Join(propsDir, "testdata", "written.json")))
	var written struct {
		Blocks  []json.RawMessage
		Patches []struct {
			Type  string
			Patch json.RawMessage
		}
		Settings, Theme, Data []json.RawMessage
	}
	expect.NoError(t, json.Unmarshal(raw, &written))
	s := newSite(t)
	form := s.form("ann", "[]")
	path := "/forms/-/v1/forms/" + form.ID.String()
	put := func(method, below string, body any, into any) {
		t.Helper()
		sent := expect.Must(json.Marshal(body))
		answer, text := s.do("ann", method, path+below, string(sent))
		if answer.StatusCode >= 300 {
			t.Errorf("%s %s %s: %d %s", method, below, sent, answer.StatusCode, text)
		} else if into != nil {
			expect.NoError(t, json.Unmarshal([]byte(text), into))
		}
	}
	put("PUT", "/blocks", map[string]any{"blocks": written.Blocks}, nil)
	expect.That(t, len(written.Blocks) == 38, "%d types of blocks were made, want 38", len(written.Blocks))
	for _, p := range written.Patches {
		var patch map[string]any
		var stored map[string]any
		expect.NoError(t, json.Unmarshal(p.Patch, &patch))
		put("PATCH", "/blocks/b_"+p.Type, map[string]any{"block": p.Patch}, &stored)
		holds(t, stored, patch, p.Type)
	}
	for section, patches := range map[string][]json.RawMessage{"settings": written.Settings, "theme": written.Theme} {
		for _, p := range patches {
			var patch map[string]any
			expect.NoError(t, json.Unmarshal(p, &patch))
			var answer struct{ Definition map[string]json.RawMessage }
			var stored map[string]any
			put("PATCH", "", map[string]any{"definition": map[string]any{section: p}}, &answer)
			expect.NoError(t, json.Unmarshal(answer.Definition[section], &stored))
			holds(t, stored, patch, section)
		}
	}
	for _, p := range written.Data {
		// What is renamed or removed is null: the editor sends whole sections.
		put("PATCH", "", map[string]any{"definition": json.RawMessage(bytes.ReplaceAll(p, []byte("null"), []byte("0")))}, nil)
	}
}

// holds compares what is stored with the members of a patch: null is gone, and dates are another text.
func holds(t *testing.T, stored, patch map[string]any, path string) {
	t.Helper()
	for name, want := range patch {
		got := stored[name]
		inner, isObject := want.(map[string]any)
		switch {
		case isObject:
			below, _ := got.(map[string]any)
			holds(t, below, inner, path+"/"+name)
		case strings.Contains(name, "Date"):
			if text, _ := json.Marshal(got); !strings.Contains(string(text), `2026-03-01T00:00:00Z`) && want != true {
				t.Errorf("%s/%s is stored as %v, want the day of %v", path, name, got, want)
			}
		case !reflect.DeepEqual(got, want):
			t.Errorf("%s/%s is stored as %v, want %v", path, name, got, want)
		}
	}
}
