package schema

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/formsvc/formsvc/internal/lab/expect"
)

func TestDecodeSectionsKeepsWhatIsAbsent(t *testing.T) {
	for _, raw := range []string{
		`[]`,
		`[{"id":"a"}]`,
		`[{"id":"a","type":"number","label":"A","required":true,"properties":{"maxChars":0,"min":0,"minVal":true,"disabledDays":0}}]`,
		`[{"id":"a","properties":{},"choices":[],"children":[],"matrix_rows":[{"id":"r","image":{"any":[1,2]}}]}]`,
		`[{"id":"a","properties":{"beforeDate":"2026-08-01T10:00:00Z","specificDates":["2026-08-01T00:00:00Z"],"image":{"x":1.50},"rule":{"if":[]}}}]`,
		`[{"id":"g","type":"group","children":[{"id":"a","properties":{"addressOrContact":{"zip":{"required":true},"city":{}}}}]}]`,
	} {
		blocks, err := DecodeBlocks(json.RawMessage(raw))
		if err != nil {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		got, err := json.Marshal(blocks)
		expect.That(t, err == nil && sameJSON(t, raw, string(got)), "decoded and encoded\n%s\nis\n%s (%v)", raw, got, err)
	}
	for name, decode := range map[string]func(json.RawMessage) (any, error){
		"blocks":   func(r json.RawMessage) (any, error) { return DecodeBlocks(r) },
		"settings": func(r json.RawMessage) (any, error) { return DecodeSettings(r) },
		"theme":    func(r json.RawMessage) (any, error) { return DecodeTheme(r) },
	} {
		got, err := decode(nil)
		expect.That(t, err == nil && reflect.ValueOf(got).IsZero(), "%s of nothing: %v, %v", name, got, err)
		_, err = decode(json.RawMessage(`"x"`))
		expect.That(t, err != nil && strings.Contains(err.Error(), name), "%s of the wrong type: %v", name, err)
	}
}

func sameJSON(t testing.TB, a, b string) bool {
	t.Helper()
	var x, y any
	expect.NoError(t, json.Unmarshal([]byte(a), &x))
	expect.NoError(t, json.Unmarshal([]byte(b), &y))
	return cmp.Equal(x, y)
}

func TestDecodeIsLenientToStoredData(t *testing.T) {
	blocks, err := DecodeBlocks(json.RawMessage(`[{"id":"a","new":1,"properties":{"maxChars":5e0,"perRow":2.0,"added":{}}}]`))
	expect.NoError(t, err)
	if p := blocks[0].Properties; *p.MaxChars != 5 || *p.PerRow != 2 {
		t.Errorf("got %d and %d, want 5 and 2", *p.MaxChars, *p.PerRow)
	}
	settings, err := DecodeSettings(json.RawMessage(`{"responseLimit":1e2,"closeAt":"2026-08-01T10:00:00Z","utm":{"source":true},"cover":{"position":{"x":0}},"added":1}`))
	expect.NoError(t, err)
	if *settings.ResponseLimit != 100 || !settings.UTM.Source || *settings.Cover.Position.X != 0 || settings.Cover.Position.Y != nil {
		t.Errorf("got %+v", settings)
	}
	want := time.Date(2026, 8, 1, 10, 0, 0, 0, time.UTC)
	expect.That(t, settings.CloseAt.Equal(want), "closeAt %v, want %v", settings.CloseAt, want)
	theme, err := DecodeTheme(json.RawMessage(`{"colors":{"primary":"#fff","dark":{"primary":"#000"}},"customCss":"a{}","added":1}`))
	expect.NoError(t, err)
	expect.That(t, theme.Colors.Primary == "#fff" && theme.Colors.Dark.Primary == "#000" && theme.CustomCSS == "a{}",
		"got %+v", theme.Colors)
}

func TestInteger(t *testing.T) {
	for raw, want := range map[string]Integer{"0": 0, "-0": 0, "7": 7, "7.0": 7, "70e-1": 7, "-3": -3, "9007199254740991": 1<<53 - 1, "-9007199254740991": -(1<<53 - 1)} {
		var got Integer
		err := json.Unmarshal([]byte(raw), &got)
		expect.That(t, err == nil && got == want, "%s is %d (%v), want %d", raw, got, err, want)
	}
	for _, raw := range []string{"1.5", "9007199254740992", "-9007199254740992", "1e300", "1e400", `"1"`, "true", "[]"} {
		var got Integer
		expect.That(t, json.Unmarshal([]byte(raw), &got) != nil, "%s is accepted as %d", raw, got)
	}
}

// The typed views must name every member that the description names, and no
// other.
func TestTypedViewsMatchTheDescription(t *testing.T) {
	var document struct {
		Components struct {
			Schemas map[string]describedSchema
		}
	}
	raw, err := os.ReadFile("openapi.json")
	expect.NoError(t, err)
	expect.NoError(t, json.Unmarshal(raw, &document))
	schemas := document.Components.Schemas
	for name, view := range map[string]any{
		"Block": Block{}, "Choice": Choice{}, "BlockProperties": Properties{}, "Settings": Settings{}, "Theme": Theme{}, "Image": Image{},
	} {
		described, ok := schemas[name]
		if !ok {
			t.Errorf("the description has no %s", name)
			continue
		}
		compareMembers(t, name, schemas, described, reflect.TypeOf(view), map[string]bool{})
	}
}

// describedSchema is what the comparison needs of a schema.
type describedSchema struct {
	Ref        string                     `json:"$ref"`
	Properties map[string]describedSchema `json:"properties"`
	Items      *describedSchema           `json:"items"`
}

func compareMembers(t *testing.T, path string, schemas map[string]describedSchema, s describedSchema, view reflect.Type, seen map[string]bool) {
	t.Helper()
	if s.Ref != "" {
		if seen[s.Ref] {
			return // blocks hold blocks
		}
		seen[s.Ref] = true
		s = schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
	}
	if s.Items != nil {
		compareMembers(t, path, schemas, *s.Items, view, seen)
		return
	}
	for view.Kind() == reflect.Pointer || view.Kind() == reflect.Slice {
		view = view.Elem()
	}
	if len(s.Properties) == 0 || view.Kind() != reflect.Struct || view == reflect.TypeFor[time.Time]() {
		return
	}
	members := make(map[string]reflect.Type)
	for _, field := range reflect.VisibleFields(view) {
		if !field.Anonymous {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			members[name] = field.Type
		}
	}
	for name, property := range s.Properties {
		if members[name] == nil {
			t.Errorf("%s/%s is described and has no field in %v", path, name, view)
			continue
		}
		compareMembers(t, path+"/"+name, schemas, property, members[name], seen)
	}
	for name := range members {
		_, ok := s.Properties[name]
		expect.That(t, ok, "%s/%s is a field of %v and not described", path, name, view)
	}
}
