package schema_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
)

// The table of kinds, the constants and the description have the same types, in one order.
func TestKindsAreThoseOfTheDescription(t *testing.T) {
	d := open(t)
	var types, answered []string
	said := map[string]string{} // the lines of the description's list, by their first words
	text, _ := d.object("/components/schemas/BlockType")["description"].(string)
	for line := range strings.Lines(text) {
		name, list, _ := strings.Cut(strings.TrimPrefix(line, "- "), ":")
		said[name] = list
	}
	for k := range schema.BlockTypes() {
		types = append(types, k.Type)
		group := "Questions"
		switch {
		case k.TakesAnswer():
			answered = append(answered, k.Type)
		case k.Type == schema.TypeGroup:
			group = "Container"
		case k.Type == schema.TypeCaptcha:
			group = "Control"
		default:
			group = "Content, without an answer"
		}
		expect.That(t, strings.Contains(said[group], "`"+k.Type+"`"), "%s is not in the line %q of BlockType", k.Type, group)
		got, ok := schema.LookupBlockType(k.Type)
		expect.That(t, ok && got == k, "KindOf(%s) is %v, %v", k.Type, got, ok)
		expect.That(t, (k.Shape != "") == k.TakesAnswer(), "%s: answered by %v, with answers of the shape %q", k.Type, k.Answerer, k.Shape)
		_, ok = d.find("/components/schemas/" + string(k.Shape))
		expect.That(t, k.Shape == "" || ok, "%s: the description has no %s", k.Type, k.Shape)
		if b := (&schema.Block{Type: k.Type}); b.TakesAnswer() != k.TakesAnswer() {
			t.Errorf("a block of the type %s takes an answer: %v", k.Type, b.TakesAnswer())
		}
	}
	want := d.strings("/components/schemas/BlockType/enum")
	expect.That(t, slices.Equal(types, want), "the table has %v,\nthe description %v", types, want)
	declared := constants(t, "block_types.go", "Type")
	got := append(slices.Clone(types), schema.TypeHidden, schema.TypeVariable)
	expect.That(t, slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(declared))),
		"the table and the other fields are %v,\nthe constants %v", got, declared)
	answered = append(answered, schema.TypeHidden, schema.TypeVariable)
	want = d.strings("/components/schemas/AnswerField/properties/type/x-extensible-enum")
	expect.That(t, slices.Equal(answered, want), "answers are of %v,\nin the description of %v", answered, want)
	if k, ok := schema.LookupBlockType("poem"); ok || k != (schema.BlockType{}) || !(&schema.Block{Type: "poem"}).TakesAnswer() {
		t.Error("an unknown type has a kind, or a block of it takes no answer")
	}
}

// What the description says in words of the sizes of answers.
func TestKindsHaveTheSizesThatTheDescriptionSays(t *testing.T) {
	for k := range schema.BlockTypes() {
		if (k.Scale != schema.Scale{}) && (k.Scale.Step <= 0 || k.Scale.From >= k.Scale.To || k.Comparison != schema.CompareNumber) {
			t.Errorf("%s has the scale %v", k.Type, k.Scale)
		}
		expect.That(t, k.MaxRendered <= 0 || k.Scale.Step <= 0 || int((k.Scale.To-k.Scale.From)/k.Scale.Step)+1 <= k.MaxRendered,
			"the default scale of %s is not drawn", k.Type)
		expect.That(t, k.Shape != schema.ShapeText || k.MaxText != 0, "the text of a %s has no bound", k.Type)
		if k.Answerer != schema.Respondent && (k.MaxText > 0 || k.MaxRendered > 0 || k.Comparison != schema.CompareNever) {
			t.Errorf("%s is not answered by a respondent: %+v", k.Type, k)
		}
	}
	d := open(t)
	for name, want := range map[string]string{"BlockProperties/properties/to": "(5 when absent)", "IntegerAnswer": "an NPS from 0 to 10"} {
		text, _ := d.object("/components/schemas/" + name)["description"].(string)
		expect.That(t, strings.Contains(text, want), "%s does not say %q", name, want)
	}
	k, _ := schema.LookupBlockType(schema.TypeRating)
	expect.That(t, k.Scale == (schema.Scale{From: 1, To: 5, Step: 1}), "a rating is from 1 to 5, not %v", k.Scale)
	k, _ = schema.LookupBlockType(schema.TypeNPS)
	expect.That(t, k.Scale == (schema.Scale{From: 0, To: 10, Step: 1}), "an nps is from 0 to 10, not %v", k.Scale)
}

// The table of answers in words gives each type the shape that its kind has.
func TestTheTableOfAnswersHasEveryType(t *testing.T) {
	text, _ := open(t).object("/components/schemas/AnswerValue")["description"].(string)
	for k := range schema.BlockTypes() {
		row := regexp.MustCompile("(?m)^\\|.*`" + k.Type + "`.*\\| `" + string(k.Shape) + "` \\|$")
		expect.That(t, !k.TakesAnswer() || row.MatchString(text), "no row says that an answer to %s is a %s", k.Type, k.Shape)
	}
}

// goTypes are the Go types of members of schema.Properties.
var goTypes = map[schema.PropertyType]string{
	schema.PropertyBoolean: "bool", schema.PropertyInteger: "*schema.Integer", schema.PropertyNumber: "*float64",
	schema.PropertyText: "string", schema.PropertyEnum: "string", schema.PropertyURL: "string", schema.PropertyLink: "string",
	schema.PropertyCountry: "string", schema.PropertyDate: "*time.Time", schema.PropertyDates: "[]time.Time",
	schema.PropertyTexts: "[]string", schema.PropertyParts: "*schema.AddressFields", schema.PropertyObject: reflect.TypeFor[json.RawMessage]().String(), // another name since Go 1.27
}

// Every property of every kind is a member of schema.Properties, and the other way round, and
// what it may hold is what the description's schema takes.
func TestPropertiesOfKinds(t *testing.T) {
	d := open(t)
	types := blockTypes(d)
	members := map[string]string{}
	typed := reflect.TypeFor[schema.Properties]()
	for i := range typed.NumField() {
		name, _, _ := strings.Cut(typed.Field(i).Tag.Get("json"), ",")
		members[name] = typed.Field(i).Type.String()
	}
	seen := map[string]bool{}
	for k := range schema.BlockTypes() {
		var own []string
		for _, p := range k.Properties() {
			seen[p.Name] = true
			own = append(own, p.Name)
			if members[p.Name] != goTypes[p.Type] {
				t.Errorf("%s: %s is a %s in Go, and a property of the type %s", k.Type, p.Name, members[p.Name], p.Type)
			}
			expect.That(t, p.Description != "", "%s: %s is not described", k.Type, p.Name)
			takes(t, d, "/components/schemas/BlockProperties/properties/"+p.Name, p)
		}
		for name, list := range types {
			expect.That(t, (slices.Contains(list, k.Type) || slices.Contains(list, "*")) == slices.Contains(own, name),
				"%s has the properties %v, and the description says that %s is for %v", k.Type, own, name, list)
		}
	}
	for name := range members {
		expect.That(t, seen[name], "no kind has the property %s", name)
	}
}

// takes holds what a property says against its schema: everything that it allows is right, and
// what lies just beyond is wrong.
func takes(t *testing.T, d description, pointer string, p schema.Property) {
	t.Helper()
	var right, wrong []any
	number := func(word string) any {
		if p.Type == schema.PropertyInteger {
			return float64(word[0] - '0')
		}
		return word
	}
	for _, word := range p.Values {
		right = append(right, number(word))
	}
	switch p.Type {
	case schema.PropertyBoolean:
		right, wrong = []any{true, false}, []any{"true", 1.0}
	case schema.PropertyInteger:
		wrong = []any{0.5, "1"}
		if p.Values == nil {
			right = []any{p.Min, p.Max}
			wrong = append(wrong, p.Min-2, p.Max+2)
		}
	case schema.PropertyNumber:
		right, wrong = []any{-1.5, 0.0, 1e300}, []any{"1", true}
	case schema.PropertyEnum:
		wrong = []any{"", "poem", 1.0}
	case schema.PropertyText, schema.PropertyURL, schema.PropertyLink, schema.PropertyCountry:
		right, wrong = []any{"", "https://example.com/", "NL"}, []any{1.0, nil}
	case schema.PropertyDate:
		right, wrong = []any{"2026-11-20T08:33:01Z"}, []any{"soon", 1.0}
	case schema.PropertyDates:
		right, wrong = []any{[]any{"2026-11-20T08:33:01Z"}, []any{}}, []any{[]any{"soon"}, "2026-11-20T08:33:01Z"}
	case schema.PropertyTexts:
		right, wrong = []any{[]any{"pdf"}, []any{}}, []any{[]any{1.0}, "pdf"}
	case schema.PropertyObject:
		right, wrong = []any{map[string]any{}, map[string]any{"other": 1.0}}, []any{"", []any{}}
	case schema.PropertyParts:
		right, wrong = []any{map[string]any{"zip": map[string]any{"hide": true}}}, []any{map[string]any{"fax": 1.0}, []any{}}
	default:
		t.Fatalf("%s has the type %q", p.Name, p.Type)
	}
	if p.Default != nil {
		right = append(right, p.Default)
	}
	s := d.schema(pointer)
	for i, v := range append(right, wrong...) {
		if err := s.Validate(v); (err == nil) != (i < len(right)) {
			t.Errorf("%s: %v is %v of %s, and the schema says %v", p.Name, v, i < len(right), fmt.Sprint(p), err)
		}
	}
	var enum []string
	list, _ := d.object(pointer)["enum"].([]any)
	for _, word := range list {
		enum = append(enum, fmt.Sprint(word))
	}
	expect.That(t, slices.Equal(enum, p.Values), "%s: the description has the words %v, not %v", p.Name, enum, p.Values)
}

// Every part is found by its name, in the fields of a block and in an answer.
func TestPartsAreFoundByName(t *testing.T) {
	typed := reflect.TypeFor[schema.AddressFields]()
	for i, part := range (schema.Contact{}).Parts() {
		var fields schema.AddressFields
		set := reflect.ValueOf(&fields).Elem()
		name, _, _ := strings.Cut(typed.Field(i).Tag.Get("json"), ",")
		expect.That(t, name == part.Name, "part %d is %s in a block and %s in an answer", i, name, part.Name)
		set.Field(i).Set(reflect.ValueOf(&schema.AddressField{Hide: true}))
		for _, other := range (schema.Contact{}).Parts() {
			expect.Equal(t, fields.Part(other.Name).Hide, other.Name == part.Name, "%s is hidden, and %s", part.Name, other.Name)
		}
		expect.That(t, (*schema.AddressFields)(nil).Part(part.Name) == (schema.AddressField{}), "without fields %s is set", part.Name)
		like := schema.PartType(part.Name)
		expect.That(t, like == part.Name || like == schema.TypeShortText, "%s is like %s", part.Name, like)
	}
	expect.That(t, (&schema.AddressFields{}).Part("fax") == (schema.AddressField{}), "there is a fax")
}
