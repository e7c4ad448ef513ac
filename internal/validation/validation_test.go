package validation

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v5"
	"pgregory.net/rapid"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
)

// requests are the component schemas of request bodies.
var requests = []string{
	"WorkspaceWrite", "FormCreate", "FormUpdate", "BlockCreate", "BlocksReplace", "BlockUpdate", "BlockWrite", "WebhookCreate", "WebhookUpdate",
}

// schemaOf compiles one schema.
func schemaOf(t testing.TB, text string, levels int) *Schema {
	t.Helper()
	c := expect.Must(NewCompiler(`{"components":{"schemas":{"S":`+text+`}}}`, normalForms))
	s := expect.Must(c.Compile(SchemaURL("/components/schemas/S")))
	at := make(map[string]*jsonschema.Schema)
	compiled := compiledSchema{simplify(s, at, levels), at}
	return &Schema{func() (compiledSchema, error) { return compiled, nil }}
}

// outcomes validates a body with the library and with the walk.
func outcomes(t expect.Test, s *Schema, body string) (library, walk *Check) {
	t.Helper()
	tree := expect.Must(jsontree.Parse([]byte(body), jsontree.BodyLimits))
	compiled := expect.Must(s.compiled())
	library, walk = new(Check), new(Check)
	if value, ok := library.toLibraryValue(tree.Root(), 0); !ok {
		library.checkValue(tree.Root(), compiled.root, true)
	} else {
		expect.NoError(t, library.validateWithLibrary(tree.Root(), value, compiled))
	}
	walk.checkValue(tree.Root(), compiled.root, true)
	jsontree.SortEdits(library.Edits)
	jsontree.SortEdits(walk.Edits)
	return library, walk
}

// agree fails unless the library and the walk report the same.
func agree(t expect.Test, s *Schema, body string) error {
	t.Helper()
	library, walk := outcomes(t, s, body)
	diff := cmp.Diff(walk.Violations.Err(), library.Violations.Err())
	expect.Require(t, diff == "", "%s\nviolations (-walk +library):\n%s", body, diff)
	diff = cmp.Diff(walk.Edits, library.Edits)
	expect.Require(t, diff == "", "%s\nedits (-walk +library):\n%s", body, diff)
	return library.Violations.Err()
}

// wantViolations compares "path CODE" for each violation.
func wantViolations(t testing.TB, err error, want ...string) {
	t.Helper()
	var got []string
	var invalid *schema.Error
	if errors.As(err, &invalid) {
		for _, v := range invalid.Violations {
			got = append(got, v.Path+" "+v.Code)
		}
	}
	diff := cmp.Diff(want, got)
	expect.That(t, diff == "", "violations (-want +got):\n%s\n%v", diff, err)
}

func TestEachKeywordIsNamed(t *testing.T) {
	for _, test := range []struct {
		schema, body string
		want         []string
		message      string
	}{
		{`{"type":"string"}`, `1`, []string{" WRONG_TYPE"}, "must be a string"},
		{`{"type":["number","string"]}`, `null`, []string{" WRONG_TYPE"}, "must be a string or a number"},
		{`{"type":["string","null"],"minLength":2}`, `null`, nil, ""},
		{`{"type":"integer"}`, `"1"`, []string{" WRONG_TYPE"}, "must be a number"},
		{`{"type":"integer"}`, `1.5`, []string{" WRONG_TYPE"}, "must be an integer"},
		{`{"type":"integer","format":"int64"}`, `1e2`, nil, ""},
		{`{"type":"integer","format":"int64"}`, `1.0`, nil, ""},
		{`{"type":"integer","format":"int64"}`, `-0`, nil, ""},
		{`{"type":"integer","format":"int64"}`, `9007199254740990.4`, []string{" WRONG_TYPE"}, "must be an integer"},
		{`{"type":"integer","format":"int64","enum":[0,1]}`, `1.5`, []string{" NOT_ALLOWED"}, "must be one of: 0, 1"},
		{`{"type":"integer","format":"int64","enum":[0,1]}`, `1.0`, nil, ""},
		{`{"type":["integer","number"]}`, `1.5`, nil, ""},
		{`{"type":"integer","maximum":9007199254740991}`, `9007199254740993`, []string{" OUT_OF_RANGE"}, "must be at most 9007199254740991"},
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
		{`{"format":"date-time"}`, `"2026-02-28t01:00:00+01:00"`, nil, ""},
		{`{"items":{"type":"null"}}`, `[null,1]`, []string{"/1 WRONG_TYPE"}, "must be null"},
		{`{"required":["a","b/c"]}`, `{}`, []string{"/a REQUIRED", "/b~1c REQUIRED"}, "is required"},
		{`{"minProperties":1}`, `{}`, []string{" TOO_FEW"}, "must have at least 1 member"},
		{`{"properties":{"a":{"type":"boolean"}},"additionalProperties":false}`, `{"A":true,"a":{}}`, []string{"/A UNKNOWN_FIELD", "/a WRONG_TYPE"}, "is not a known field"},
		{`{"properties":{"a":{}},"additionalProperties":{"type":"array"}}`, `{"a":1,"b":2}`, []string{"/b WRONG_TYPE"}, "must be an array"},
		{`{"additionalProperties":{"type":"array"}}`, `{"b/c~%2F é":2}`, []string{"/b~1c~0%2F é WRONG_TYPE"}, ""},
		{`{"additionalProperties":{"type":"array"}}`, `{"":1}`, []string{"/ WRONG_TYPE"}, ""},
		{`{"anyOf":[{"type":"string"},{"type":"number","format":"double"}]}`, `2.5`, nil, ""},
		{`{"anyOf":[{"type":"string"},{"type":"number"}]}`, `null`, []string{" WRONG_TYPE"}, "must be a string or a number"},
	} {
		t.Run(test.schema+" "+test.body, func(t *testing.T) {
			err := agree(t, schemaOf(t, test.schema, unlimited), test.body)
			wantViolations(t, err, test.want...)
			expect.That(t, test.message == "" || strings.Contains(err.Error(), test.message), "message %q, want %q", err, test.message)
		})
	}
}

// The library and the walk report the same violations and edits for any body.
func TestTheLibraryAndTheWalkAgree(t *testing.T) {
	accepted := 0
	for _, name := range requests {
		t.Run(name, func(t *testing.T) {
			s := ComponentSchema(name)
			compiled := expect.Must(s.compiled())
			rapid.Check(t, func(t *rapid.T) {
				body := expect.Must(json.Marshal(instanceOf(t, compiled.root, 0)))
				if agree(t, s, string(body)) == nil {
					accepted++
				}
			})
		})
	}
	expect.That(t, accepted != 0, "no body was ever accepted")
}

// instanceOf draws a value that mostly fits a schema.
func instanceOf(t *rapid.T, s *jsonschema.Schema, depth int) any {
	if rapid.IntRange(0, 120).Draw(t, "wrong") == 0 {
		return rapid.SampledFrom([]any{nil, true, 1.5, -1, "", "x", []any{}, map[string]any{}, json.Number("1e2"), json.Number("-0"), json.Number("9007199254740990.4"), 9007199254740992.0}).Draw(t, "any")
	}
	if len(s.Enum) > 0 {
		return rapid.SampledFrom(s.Enum).Draw(t, "allowed")
	}
	switch {
	case slices.Contains(s.Types, "object"):
		object := make(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			required := slices.Contains(s.Required, name) && rapid.IntRange(0, 50).Draw(t, "required") > 0
			if required || rapid.IntRange(0, 4+4*depth).Draw(t, "member") == 0 {
				object[name] = instanceOf(t, s.Properties[name], depth+1)
			}
		}
		if rapid.IntRange(0, 60).Draw(t, "unknown") == 0 {
			object[rapid.SampledFrom([]string{"x", "ID", "", "a/b", "%41~"}).Draw(t, "name")] = nil
		}
		return object
	case slices.Contains(s.Types, "array"):
		list := []any{}
		if s.Items2020 != nil && depth < 7 {
			for range rapid.IntRange(0, 3).Draw(t, "items") {
				list = append(list, instanceOf(t, s.Items2020, depth+1))
			}
		}
		return list
	case slices.Contains(s.Types, "boolean"):
		return rapid.Bool().Draw(t, "bool")
	case allowsType(s, "number"):
		return rapid.SampledFrom([]any{0, 1, 3, json.Number("1e2"), 0.5, 9007199254740991.0}).Draw(t, "number")
	case s.Format == "date-time":
		return rapid.SampledFrom([]string{"2026-11-20T08:33:01Z", "2026-11-20t08:33:01.5+02:00", "2026-11-20"}).Draw(t, "time")
	case s.Pattern != nil:
		return rapid.SampledFrom([]string{"0123456789abcdef01234567", "#fff", "#12345678", "zz"}).Draw(t, "patterned")
	default:
		return rapid.SampledFrom([]string{"a", "some text", "é", "a secret of many characters"}).Draw(t, "text")
	}
}

// Only the keywords of request bodies are walked, and simplify relies on where they are.
func TestRequestBodiesHaveOnlyKeywordsThatTheWalkKnows(t *testing.T) {
	tree := expect.Must(jsontree.Parse(schema.OpenAPI(), jsontree.Limits{}))
	seen := make(map[string]bool)
	var check func(s jsontree.Node)
	check = func(s jsontree.Node) {
		at := s.Pointer("")
		if seen[at] {
			return
		}
		seen[at] = true
		isInteger := s.Member("type").Text() == "integer"
		for _, k := range s.All() {
			name := k.Name()
			switch name {
			case "description", "examples", "x-block-types", "type", "enum", "pattern", "minLength", "maxLength", "required", "minProperties":
			case "minimum", "maximum":
				expect.That(t, isInteger, "%s has %s and is no integer: the library compares exactly and the walk does not", at, name)
			case "format":
				known := k.Text() == "date-time" || k.Text() == "double"
				if isInteger {
					known = k.Text() == "int32" || k.Text() == "int64"
				}
				if !known {
					t.Errorf("%s has the format %s", at, k.Text())
				}
			case "$ref":
				check(tree.Root().Find(strings.TrimPrefix(k.Text(), "#")))
				for _, other := range s.All() {
					if !slices.Contains([]string{"$ref", "description", "x-block-types"}, other.Name()) {
						t.Errorf("%s has %s next to $ref", at, other.Name())
					}
				}
			case "properties":
				for _, property := range k.All() {
					check(property)
				}
			case "items":
				check(k)
			case "additionalProperties":
				if k.Kind() == jsontree.Object {
					check(k)
				}
			case "anyOf":
				checkUnion(t, k)
			default:
				t.Errorf("%s has the keyword %s", at, name)
			}
		}
		expect.That(t, !isInteger || s.Member("format").Exists(), "%s is an integer without a format, which finds literals such as 1e1", at)
	}
	for _, name := range requests {
		if name == "BlockUpdate" { // the schema of its result is checked, and of itself an outline
			continue
		}
		check(tree.Root().Find("/components/schemas/" + name))
	}
	expect.That(t, len(seen) >= 100, "%d schemas were seen", len(seen))
}

// checkUnion fails unless a union is one of types.
func checkUnion(t *testing.T, branches jsontree.Node) {
	t.Helper()
	for _, branch := range branches.All() {
		for _, k := range branch.All() {
			if k.Name() != "type" && k.Text() != "double" {
				t.Errorf("%s: a union has more than types", k.Pointer(""))
			}
		}
	}
}

func TestAnOutlineChecksTypesInItsLastLevel(t *testing.T) {
	const text = `{"type":"object","required":["a"],"additionalProperties":false,"properties":{
		"a":{"type":"object","minProperties":1,"properties":{"b":{"type":["string","null"],"maxLength":1},"c":{"type":"array","items":{"type":"null"}}}},
		"u":{"anyOf":[{"type":"object","required":["x"]},{"type":"null"}]}}}`
	s := schemaOf(t, text, 2)
	wantViolations(t, agree(t, s, `{"a":{"b":"too long","c":[1]},"u":null}`))
	wantViolations(t, agree(t, s, `{"a":{}}`), "/a TOO_FEW")
	wantViolations(t, agree(t, s, `{"a":{"b":1},"o":1}`), "/a/b WRONG_TYPE", "/o UNKNOWN_FIELD")
	one := schemaOf(t, text, 1)
	wantViolations(t, agree(t, one, `{"a":{},"u":{}}`))
	wantViolations(t, agree(t, one, `{"a":{},"u":1}`), "/u WRONG_TYPE")
}

// A host that starts does not wait for the library, and a broken schema is an error.
func TestSchemasThatDoNotCompile(t *testing.T) {
	tree := expect.Must(jsontree.Parse([]byte(`{}`), jsontree.BodyLimits))
	expect.That(t, new(Check).Validate(tree.Root(), ComponentSchema("Nothing")) != nil, "a schema that does not exist compiles")
	for _, text := range []string{`{"$ref":"file:///etc/hostname"}`, `{"$ref":"https://example.com/schema.json"}`, `{"$ref":"other.json"}`, `{"type":1}`, `1`} {
		c := expect.Must(NewCompiler(`{"components":{"schemas":{"S":`+text+`}}}`, nil))
		expect.That(t, expect.ErrorOf(c.Compile(SchemaURL("/components/schemas/S"))) != nil, "%s compiles", text)
	}
	expect.That(t, expect.ErrorOf(NewCompiler(`{`, nil)) != nil, "a broken document compiles")
}

// BenchmarkValidate compares the library and the walk by the number of blocks.
func BenchmarkValidate(b *testing.B) {
	s := ComponentSchema("BlocksReplace")
	compiled := expect.Must(s.compiled())
	for _, blocks := range []int{1, 10, 50, 500} {
		var list []string
		for i := range blocks {
			list = append(list, fmt.Sprintf(`{"id":"q%d","type":"single_choice","label":"Which one?","required":true,"properties":{"randomize":true,"maxChars":100},"choices":[{"id":"a","label":"First"},{"id":"b","label":"Second"}]}`, i))
		}
		tree := expect.Must(jsontree.Parse([]byte(`{"blocks":[`+strings.Join(list, ",")+`]}`), jsontree.BodyLimits))
		b.Run(fmt.Sprintf("library/%d", tree.Root().ValueCount()), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var c Check
				value, _ := c.toLibraryValue(tree.Root(), 0)
				if err := c.validateWithLibrary(tree.Root(), value, compiled); err != nil || c.Violations.Err() != nil {
					b.Fatal(err, c.Violations.Err())
				}
			}
		})
		b.Run(fmt.Sprintf("walk/%d", tree.Root().ValueCount()), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var c Check
				if c.checkValue(tree.Root(), compiled.root, true); c.Violations.Err() != nil {
					b.Fatal(c.Violations.Err())
				}
			}
		})
	}
}
