package builder_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
)

const propsDir = "web/src/props"

// row is one of the table of what the panel of properties can set, see web/props.go.
type row struct {
	Type     string
	Of       []string
	Words    []string
	Min, Max *float64
	Default  any

	Group, Icon    string
	Answer, Unique bool
	Scale          []float64
}

// tables reads the rows of the table by its parts and names.
func tables(t *testing.T) map[string]map[string]row {
	t.Helper()
	raw := expect.Must(os.ReadFile(filepath.Join(propsDir, "props.gen.ts")))
	all := map[string]map[string]row{}
	var part string
	for line := range strings.Lines(string(raw)) {
		if m := regexp.MustCompile(`^export const (\w+): Record`).FindStringSubmatch(line); m != nil {
			part = m[1]
			all[part] = map[string]row{}
		} else if m := regexp.MustCompile(`^  "([\w.]+)": (.*),\n$`).FindStringSubmatch(line); m != nil {
			var r row
			err := json.Unmarshal([]byte(m[2]), &r)
			expect.Require(t, err == nil, "%s: %v", line, err)
			all[part][m[1]] = r
		}
	}
	return all
}

// The panel has a control for what is in its table, and the table has what is in the description:
// whoever adds a property has to make the table anew.
func TestThePanelHasWhatTheDescriptionHas(t *testing.T) {
	t.Parallel()
	const again = ": go run -C handler/builder/web . -props"
	all := tables(t)
	types, properties := all["types"], all["properties"]
	pairs := 0
	for k := range schema.BlockTypes() {
		r, ok := types[k.Type]
		if !ok {
			t.Errorf("the type %s is missing"+again, k.Type)
			continue
		}
		expect.That(t, r.Group != "" && r.Icon != "" && r.Answer == k.TakesAnswer() && r.Unique == k.IsCompared(),
			"the type %s has the row %+v, which is not what schema.BlockType says", k.Type, r)
		if want := []float64{k.Scale.From, k.Scale.To, k.Scale.Step}; k.Scale != (schema.Scale{}) && !slices.Equal(r.Scale, want) || k.Scale == (schema.Scale{}) && r.Scale != nil {
			t.Errorf("the type %s has the scale %v, want %v", k.Type, r.Scale, want)
		}
		for _, p := range k.Properties() {
			pairs++
			r, ok := properties[p.Name]
			if !ok || r.Of != nil && !slices.Contains(r.Of, k.Type) {
				t.Errorf("the property %s of %s is missing"+again, p.Name, k.Type)
				continue
			}
			expect.That(t, r.Type == string(p.Type) && slices.Equal(r.Words, p.Values),
				"%s is a %s of %v, want %s of %v", p.Name, r.Type, r.Words, p.Type, p.Values)
			if r.Min != nil {
				expect.Equal(t, [2]float64{*r.Min, *r.Max}, [2]float64{p.Min, p.Max}, "the range of %s", p.Name)
			}
			expect.That(t, p.Default == nil || r.Default == p.Default || k.Scale != (schema.Scale{}),
				"%s is %v where it is absent, want %v", p.Name, r.Default, p.Default)
		}
	}
	rows := 0
	for _, r := range properties {
		rows += len(r.Of)
		if r.Of == nil {
			rows += len(types)
		}
	}
	expect.That(t, rows == pairs, "the table has %d pairs of a property and a type, the description %d"+again, rows, pairs)
	for part, view := range map[string]any{
		"settings": schema.Settings{}, "theme": schema.Theme{}, "members": schema.Block{}, "choiceMembers": schema.Choice{}, "imageMembers": schema.Image{},
		"parts": schema.AddressFields{}, "partMembers": schema.AddressField{}, "properties": schema.Properties{},
	} {
		want := membersOf(reflect.TypeOf(view), "")
		for _, name := range want {
			if _, ok := all[part][name]; !ok {
				t.Errorf("the member %s of %s is missing"+again, name, part)
			}
		}
		expect.That(t, len(all[part]) == len(want),
			"%s has %d members in the table, %d in package schema", part, len(all[part]), len(want))
	}
}

// membersOf are the members of an object in JSON, and of objects in it by paths with dots, but for
// those that have a control of their own.
func membersOf(t reflect.Type, path string) (list []string) {
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		of := f.Type
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		switch {
		case name == "": // embedded
			list = append(list, membersOf(of, path)...)
		case of.Kind() == reflect.Struct && of.String() != "time.Time" && of != reflect.TypeFor[schema.Image]() &&
			of != reflect.TypeFor[schema.Properties]() && of != reflect.TypeFor[schema.AddressFields]() && of != reflect.TypeFor[schema.AddressField]():
			list = append(list, membersOf(of, path+name+".")...)
		default:
			list = append(list, path+name)
		}
	}
	return list
}

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
