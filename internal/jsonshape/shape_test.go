package jsonshape

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
)

// component compiles one component of a document.
func component(document []byte, name string) (*Shape, error) {
	d, err := Read(document)
	if err != nil {
		return nil, err
	}
	return d.Component(name)
}

// shapeOf compiles one schema as a component.
func shapeOf(t testing.TB, schema string) *Shape {
	t.Helper()
	s, err := component([]byte(`{"components":{"schemas":{"S":`+schema+`}}}`), "S")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func walked(t testing.TB, s *Shape, body string) error {
	t.Helper()
	tree, err := jsontree.Parse([]byte(body), jsontree.BodyBounds)
	if err != nil {
		t.Fatal(err)
	}
	var c Check
	c.Walk(tree.Root(), s)
	return c.Faults.Err()
}

// wantFaults compares "path CODE" for each violation.
func wantFaults(t testing.TB, err error, want ...string) {
	t.Helper()
	var got []string
	var invalid *schema.Error
	if errors.As(err, &invalid) {
		for _, v := range invalid.Violations {
			got = append(got, v.Path+" "+v.Code)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("violations (-want +got):\n%s\n%v", diff, err)
	}
}

func TestWalkTranslatesEachKeyword(t *testing.T) {
	t.Parallel()

	tests := []struct {
		schema, body string
		want         []string
		message      string
	}{
		{`{"type":"string"}`, `1`, []string{" WRONG_TYPE"}, "must be a string"},
		{`{"type":["number","string"]}`, `null`, []string{" WRONG_TYPE"}, "must be a string or a number"},
		{`{"type":["string","null"],"minLength":2}`, `null`, nil, ""},
		{`{"type":"integer"}`, `1.5`, []string{" WRONG_TYPE"}, "must be an integer"},
		{`{"type":"integer"}`, `1e2`, nil, ""},
		{`{"type":"integer"}`, `1.0`, nil, ""},
		{`{"type":"integer"}`, `9007199254740990.4`, []string{" WRONG_TYPE"}, "must be an integer"},
		{`{"type":["integer","number"]}`, `1.5`, nil, ""},
		{`{"maximum":9007199254740991}`, `9007199254740993`, []string{" OUT_OF_RANGE"}, "must be at most 9007199254740991"},
		{`{"minimum":0}`, `-1`, []string{" OUT_OF_RANGE"}, "must be at least 0"},
		{`{"exclusiveMinimum":0}`, `0`, []string{" OUT_OF_RANGE"}, "must be more than 0"},
		{`{"exclusiveMaximum":1}`, `1`, []string{" OUT_OF_RANGE"}, "must be less than 1"},
		{`{"minLength":1}`, `""`, []string{" TOO_SHORT"}, "must have at least 1 character"},
		{`{"maxLength":2}`, `"ééé"`, []string{" TOO_LONG"}, "must have at most 2 characters"},
		{`{"maxLength":2}`, `"éé"`, nil, ""},
		{`{"pattern":"^[a-z]$"}`, `"A"`, []string{" BAD_FORMAT"}, "must match ^[a-z]$"},
		{`{"enum":["a",2,null,true]}`, `"b"`, []string{" NOT_ALLOWED"}, "must be one of: a, 2, true"},
		{`{"enum":["a",2,null,true]}`, `2.0`, nil, ""},
		{`{"enum":["a",2,null,true]}`, `null`, nil, ""},
		{`{"enum":["a",2,null,true]}`, `false`, []string{" NOT_ALLOWED"}, ""},
		{`{"enum":["a"]}`, `[]`, []string{" NOT_ALLOWED"}, ""},
		{`{"const":"a"}`, `"b"`, []string{" NOT_ALLOWED"}, "must be one of: a"},
		{`{"format":"date-time"}`, `"2026-02-30T00:00:00Z"`, []string{" BAD_FORMAT"}, ""},
		{`{"minItems":1}`, `[]`, []string{" TOO_FEW"}, "must have at least 1 item"},
		{`{"maxItems":1}`, `[1,2]`, []string{" TOO_MANY"}, "must have at most 1 item"},
		{`{"uniqueItems":true}`, `["a",1,"a"]`, []string{"/2 DUPLICATE"}, ""},
		{`{"uniqueItems":true}`, `["1",1,true,null]`, nil, ""},
		{`{"items":{"type":"null"}}`, `[null,1]`, []string{"/1 WRONG_TYPE"}, "must be null"},
		{`{"required":["a","b/c"]}`, `{}`, []string{"/a REQUIRED", "/b~1c REQUIRED"}, "is required"},
		{`{"minProperties":1}`, `{}`, []string{" TOO_FEW"}, "must have at least 1 member"},
		{`{"maxProperties":1}`, `{"a":1,"b":2}`, []string{" TOO_MANY"}, "must have at most 1 member"},
		{`{"properties":{"a":{"type":"boolean"}},"additionalProperties":false}`, `{"A":true,"a":{}}`, []string{"/A UNKNOWN_FIELD", "/a WRONG_TYPE"}, "is not a known member"},
		{`{"properties":{"a":{}},"additionalProperties":{"type":"array"}}`, `{"a":1,"b":2}`, []string{"/b WRONG_TYPE"}, "must be an array"},
		{`{"propertyNames":{"maxLength":1}}`, `{"ab":1}`, []string{"/ab TOO_LONG"}, ""},
		{`{"properties":{"a":false}}`, `{"a":1}`, []string{"/a UNKNOWN_FIELD"}, ""},
		{`{"$ref":"#/components/schemas/S/$defs/x","type":"string","$defs":{"x":{"maxLength":1}}}`, `"ab"`, []string{" TOO_LONG"}, ""},
		{`{"allOf":[{"type":"string"},{"maxLength":1}]}`, `"ab"`, []string{" TOO_LONG"}, ""},
		{`{"anyOf":[{"type":"string","maxLength":1},{"type":"number","format":"double"}]}`, `"ab"`, []string{" TOO_LONG"}, ""},
		{`{"anyOf":[{"type":"string","maxLength":1},{"type":"number","format":"double"}]}`, `2.5`, nil, ""},
		{`{"anyOf":[{"type":"string"},{"type":"number"}]}`, `null`, []string{" WRONG_TYPE"}, "must be a string or a number"},
		{`{"oneOf":[{"type":"integer"},{"type":"null"}],"x-note":1}`, `1.5`, []string{" WRONG_TYPE"}, "must be an integer"},
		{`{"anyOf":[{"type":"object","required":["a"]},{"type":"null"}]}`, `{}`, []string{"/a REQUIRED"}, ""},
		{`{"type":"integer","format":"int64"}`, `9`, nil, ""},
		// What the walk does not know, the library decides.
		{`{"anyOf":[{"type":"string"},{"type":"null"}],"type":"null"}`, `"a"`, []string{" BAD_FORMAT"}, ""},
		{`{"oneOf":[{"type":"object","required":["a"]},{"type":"object","required":["b"]}]}`, `{"a":1,"b":1}`, []string{" BAD_FORMAT"}, ""},
		{`{"properties":{"a":{"anyOf":[{"type":"string"},{"minimum":3}]}}}`, `{"a":2}`, []string{"/a BAD_FORMAT"}, ""},
		{`{"properties":{"a":{"anyOf":[{"type":"string"},{"minimum":3}]}}}`, `{"a":3}`, nil, ""},
		{`{"not":{"type":"string"}}`, `"a"`, []string{" BAD_FORMAT"}, ""},
		{`{"multipleOf":2}`, `3`, []string{" BAD_FORMAT"}, ""},
		{`{"format":"ipv4"}`, `"a"`, []string{" BAD_FORMAT"}, ""},
		{`{"const":[1]}`, `[2]`, []string{" BAD_FORMAT"}, ""},
	}
	for _, test := range tests {
		t.Run(test.schema+" "+test.body, func(t *testing.T) {
			t.Parallel()
			err := walked(t, shapeOf(t, test.schema), test.body)
			wantFaults(t, err, test.want...)
			if test.message != "" && !strings.Contains(err.Error(), test.message) {
				t.Errorf("message %q, want %q", err, test.message)
			}
		})
	}
}

func TestNothingOutsideTheDescriptionIsLoaded(t *testing.T) {
	t.Parallel()
	for _, ref := range []string{"file:///etc/hostname", "https://example.com/schema.json", "other.json"} {
		if _, err := component([]byte(`{"components":{"schemas":{"S":{"$ref":"`+ref+`"}}}}`), "S"); err == nil {
			t.Errorf("%s is loaded", ref)
		}
	}
	if _, err := component([]byte(`{`), "S"); err == nil {
		t.Error("a broken document compiles")
	}
	if _, err := component([]byte(`{"components":{"schemas":{"S":{"type":"text"}}}}`), "S"); err == nil {
		t.Error("a schema against the meta-schema compiles")
	}
}

// requests are the schemas that request bodies are held against.
var requests = []string{
	"WorkspaceWrite", "FormCreate", "FormUpdate", "BlockCreate", "BlocksReplace", "BlockUpdate", "BlockWrite", "WebhookCreate", "WebhookUpdate",
}

// The request schemas have only keywords that the walk knows, so no violation
// comes without a code of its own, and no start of a service waits for the
// library.
func TestRequestSchemasAreWalked(t *testing.T) {
	t.Parallel()
	seen := make(map[*Shape]bool)
	var visit func(s *Shape)
	visit = func(s *Shape) {
		if s == nil || seen[s] {
			return
		}
		seen[s] = true
		if s.other != nil {
			t.Errorf("left to the library: %s", s.other.Location)
		}
		for _, member := range s.members {
			visit(member)
		}
		for _, inner := range append([]*Shape{s.rest, s.items, s.memberNames}, s.also...) {
			visit(inner)
		}
	}
	d, err := Read(schema.OpenAPI())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range requests {
		s, err := d.Component(name)
		if err != nil {
			t.Fatal(err)
		}
		visit(s)
	}
	if len(seen) < 50 {
		t.Errorf("only %d schemas were seen", len(seen))
	}
}

// The library is the authority: for any body, the walk and Validate agree.
func TestWalkAgreesWithTheLibrary(t *testing.T) {
	t.Parallel()
	d, err := Read(schema.OpenAPI())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range requests {
		own, err := d.Component(name)
		if err != nil {
			t.Fatal(err)
		}
		library, err := d.compiledByLibrary("/components/schemas/" + name)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			accepted := 0
			rapid.Check(t, func(t *rapid.T) {
				body, err := json.Marshal(instanceOf(t, own, 0))
				if err != nil {
					t.Fatal(err)
				}
				tree, err := jsontree.Parse(body, jsontree.BodyBounds)
				if err != nil {
					t.Skip(err)
				}
				var c Check
				c.Walk(tree.Root(), own)
				mine, theirs := c.Faults.Err(), library.Validate(tree.Root().Value())
				if (mine == nil) != (theirs == nil) {
					t.Fatalf("%s\nwalk: %v\nlibrary: %v", body, mine, theirs)
				}
				if mine == nil {
					accepted++
				}
			})
			if accepted == 0 {
				t.Error("no body was ever accepted")
			}
		})
	}
}

// instanceOf draws a value that mostly fits a shape.
func instanceOf(t *rapid.T, s *Shape, depth int) any {
	if rapid.IntRange(0, 120).Draw(t, "wrong") == 0 {
		return rapid.SampledFrom([]any{nil, true, 1.5, -1, "", "x", []any{}, map[string]any{}, 1e300, 9007199254740992.0}).Draw(t, "any")
	}
	if len(s.allowed) > 0 {
		var values []any
		for v := range s.allowed {
			values = append(values, v)
		}
		// The order of a map is random; rapid needs a repeatable draw.
		slices.SortFunc(values, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		return rapid.SampledFrom(values).Draw(t, "allowed")
	}
	switch {
	case s.types.has(jsontree.Object):
		object := make(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(s.members)) {
			wanted := false
			for _, r := range s.required {
				wanted = wanted || r == name && rapid.IntRange(0, 50).Draw(t, "required") > 0
			}
			if wanted || rapid.IntRange(0, 4+4*depth).Draw(t, "member") == 0 {
				object[name] = instanceOf(t, s.members[name], depth+1)
			}
		}
		if rapid.IntRange(0, 60).Draw(t, "unknown") == 0 {
			object[rapid.SampledFrom([]string{"x", "ID", "", "a/b"}).Draw(t, "name")] = "v"
		}
		return object
	case s.types.has(jsontree.Array):
		list := []any{}
		if s.items != nil && depth < 7 {
			for range rapid.IntRange(0, 3).Draw(t, "items") {
				list = append(list, instanceOf(t, s.items, depth+1))
			}
		}
		return list
	case s.types.has(jsontree.Bool):
		return rapid.Bool().Draw(t, "bool")
	case s.types.has(jsontree.Number):
		return rapid.SampledFrom([]any{0, 1, 3, 100.0, 0.5, 9007199254740991.0}).Draw(t, "number")
	case s.time:
		return rapid.SampledFrom([]string{"2026-11-20T08:33:01Z", "2026-11-20t08:33:01.5+02:00", "2026-11-20"}).Draw(t, "time")
	case s.pattern != nil:
		return rapid.SampledFrom([]string{"0123456789abcdef01234567", "#fff", "#12345678", "zz"}).Draw(t, "patterned")
	default:
		return rapid.SampledFrom([]string{"a", "some text", "é", "a secret of many characters"}).Draw(t, "text")
	}
}

func TestAnOutlineLooksAtKindsOnly(t *testing.T) {
	t.Parallel()
	s := shapeOf(t, `{"type":"object","required":["a"],"additionalProperties":false,"properties":{
		"a":{"type":"object","minProperties":1,"properties":{"b":{"type":["string","null"],"maxLength":1},"c":{"type":"array","items":{"type":"null"}}}},
		"u":{"anyOf":[{"type":"object","required":["x"]},{"type":"null"}]}}}`).Outline(2)
	wantFaults(t, walked(t, s, `{"a":{"b":"too long","c":[1]},"u":null}`))
	wantFaults(t, walked(t, s, `{"a":{"b":"x"},"u":{}}`), "/u/x REQUIRED")
	wantFaults(t, walked(t, s, `{"a":{}}`), "/a TOO_FEW")
	wantFaults(t, walked(t, s, `{"a":{"b":1},"o":1}`), "/a/b WRONG_TYPE", "/o UNKNOWN_FIELD")
	one := s.Outline(1)
	wantFaults(t, walked(t, one, `{"a":{},"u":{}}`))
	wantFaults(t, walked(t, one, `{"a":{},"u":1}`), "/u WRONG_TYPE")
}
