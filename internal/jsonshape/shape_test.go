package jsonshape

import (
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
		{`{"minLength":1}`, `""`, []string{" TOO_SHORT"}, "must have at least 1 character"},
		{`{"maxLength":2}`, `"ééé"`, []string{" TOO_LONG"}, "must have at most 2 characters"},
		{`{"maxLength":2}`, `"éé"`, nil, ""},
		{`{"pattern":"^[a-z]$"}`, `"A"`, []string{" BAD_FORMAT"}, "must match ^[a-z]$"},
		{`{"enum":["a",2,null,true]}`, `"b"`, []string{" NOT_ALLOWED"}, "must be one of: a, 2, true"},
		{`{"enum":["a",2,null,true]}`, `2.0`, nil, ""},
		{`{"enum":["a",2,null,true]}`, `null`, nil, ""},
		{`{"enum":["a",2,null,true]}`, `false`, []string{" NOT_ALLOWED"}, ""},
		{`{"enum":["a"]}`, `[]`, []string{" NOT_ALLOWED"}, ""},
		{`{"format":"date-time"}`, `"2026-02-30T00:00:00Z"`, []string{" BAD_FORMAT"}, ""},
		{`{"items":{"type":"null"}}`, `[null,1]`, []string{"/1 WRONG_TYPE"}, "must be null"},
		{`{"required":["a","b/c"]}`, `{}`, []string{"/a REQUIRED", "/b~1c REQUIRED"}, "is required"},
		{`{"minProperties":1}`, `{}`, []string{" TOO_FEW"}, "must have at least 1 member"},
		{`{"properties":{"a":{"type":"boolean"}},"additionalProperties":false}`, `{"A":true,"a":{}}`, []string{"/A UNKNOWN_FIELD", "/a WRONG_TYPE"}, "is not a known member"},
		{`{"properties":{"a":{}},"additionalProperties":{"type":"array"}}`, `{"a":1,"b":2}`, []string{"/b WRONG_TYPE"}, "must be an array"},
		{`{"properties":{"a":false}}`, `{"a":1}`, []string{"/a UNKNOWN_FIELD"}, ""},
		{`{"anyOf":[{"type":"string","maxLength":1},{"type":"number","format":"double"}]}`, `"ab"`, []string{" TOO_LONG"}, ""},
		{`{"anyOf":[{"type":"string","maxLength":1},{"type":"number","format":"double"}]}`, `2.5`, nil, ""},
		{`{"anyOf":[{"type":"string"},{"type":"number"}]}`, `null`, []string{" WRONG_TYPE"}, "must be a string or a number"},
		{`{"anyOf":[{"type":"object","required":["a"]},{"type":"null"}]}`, `{}`, []string{"/a REQUIRED"}, ""},
		{`{"type":"integer","format":"int64"}`, `9`, nil, ""},
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

// A schema that the walk would not hold as it is written is refused when it is compiled.
func TestSchemasThatTheWalkDoesNotKnowAreRefused(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{
		`{"anyOf":[{"type":"string"},{"type":"null"}],"type":"null"}`,
		`{"oneOf":[{"type":"object","required":["a"]},{"type":"object","required":["b"]}]}`,
		`{"properties":{"a":{"anyOf":[{"type":"string"},{"minimum":3}]}}}`,
		`{"not":{"type":"string"}}`, `{"multipleOf":2}`, `{"format":"ipv4"}`, `{"const":"a"}`, `{"enum":[[1]]}`, `{"uniqueItems":true}`, `{"minLength":"1"}`, `{"type":"text"}`,
		`{"$ref":"file:///etc/hostname"}`, `{"$ref":"https://example.com/schema.json"}`, `{"$ref":"other.json"}`, `1`,
	} {
		if _, err := component([]byte(`{"components":{"schemas":{"S":`+schema+`}}}`), "S"); err == nil {
			t.Errorf("%s compiles", schema)
		}
	}
	if _, err := component([]byte(`{`), "S"); err == nil {
		t.Error("a broken document compiles")
	}
}

// InstanceOf draws a value that mostly fits a shape, for the tests outside of the package.
func InstanceOf(t *rapid.T, s *Shape, depth int) any {
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
				object[name] = InstanceOf(t, s.members[name], depth+1)
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
				list = append(list, InstanceOf(t, s.items, depth+1))
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
