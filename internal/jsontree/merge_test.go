package jsontree

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/formsvc/formsvc/internal/lab/expect"
)

// patched is RFC 7396, section 2, word for word.
func patched(target, patch any) any {
	changes, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	object, ok := target.(map[string]any)
	if !ok {
		object = map[string]any{}
	}
	result := make(map[string]any)
	for name, value := range object {
		result[name] = value
	}
	for name, value := range changes {
		if value == nil {
			delete(result, name)
		} else {
			result[name] = patched(result[name], value)
		}
	}
	return result
}

func merged(t expect.Test, target, patch string) string {
	tree, err := Parse([]byte(target), Limits{})
	expect.NoError(t, err)
	change, err := Parse([]byte(patch), Limits{})
	expect.NoError(t, err)
	return string(Merge(tree.Root(), change.Root()))
}

// The examples of RFC 7396, appendix A.
func TestMergePatchExamples(t *testing.T) {
	for _, e := range [][3]string{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`["a","b"]`, `["c","d"]`, `["c","d"]`},
		{`{"a":"b"}`, `["c"]`, `["c"]`},
		{`{"a":"foo"}`, `null`, `null`},
		{`{"a":"foo"}`, `"bar"`, `"bar"`},
		{`{"e":null}`, `{"a":1}`, `{"e":null,"a":1}`},
		{`[1,2]`, `{"a":"b","c":null}`, `{"a":"b"}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
		// What RFC 7396 leaves open: bytes and order stay.
		{`{ "\u0061" : 1.0 , "b":2 }`, `{"a":1.00,"c":null,"d": [ null ]}`, `{"\u0061" : 1.00,"b":2,"d": [ null ]}`},
	} {
		if got := merged(t, e[0], e[1]); got != e[2] {
			t.Errorf("%s + %s: got %s, want %s", e[0], e[1], got, e[2])
		}
	}
}

func anyValue(depth int) *rapid.Generator[any] {
	scalar := rapid.SampledFrom([]any{nil, true, 1.5, "", "a\"\\", "é"})
	if depth == 0 {
		return scalar
	}
	return rapid.OneOf(scalar,
		rapid.Map(rapid.SliceOfN(anyValue(depth-1), 0, 3), func(list []any) any { return list }),
		rapid.Map(rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c", "d", "", "a\"b"}), anyValue(depth-1), 0, 5), func(object map[string]any) any { return object }),
		rapid.Map(rapid.MapOfN(rapid.Map(rapid.IntRange(0, 40), func(i int) string { return fmt.Sprint(i) }), scalar, 15, 30), func(object map[string]any) any { return object }),
	)
}

func TestMergePatchAgreesWithTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		target, err := json.MarshalIndent(anyValue(3).Draw(t, "target"), " ", "\t")
		expect.NoError(t, err)
		patch, err := json.Marshal(anyValue(3).Draw(t, "patch"))
		expect.NoError(t, err)
		var before, change, got any
		expect.NoError(t, json.Unmarshal(target, &before))
		expect.NoError(t, json.Unmarshal(patch, &change))
		result := merged(t, string(target), string(patch))
		err = json.Unmarshal([]byte(result), &got)
		expect.Require(t, err == nil, "%s: %v", result, err)
		want := patched(before, change)
		expect.Require(t, reflect.DeepEqual(got, want), "got %v, want %v", got, want)
	})
}

func TestMergeOfLargeObjectsIsNotQuadratic(t *testing.T) {
	object := func(prefix string) string {
		var b strings.Builder
		for i := range 45_000 {
			fmt.Fprintf(&b, `,"%s%d":1`, prefix, i)
		}
		return `{` + b.String()[1:] + `}`
	}
	target, patch := object("sameprefix"), object("sameprefiy")
	// Reading is linear, on a slow machine too. Each name against each other one
	// would take some hundred times as long.
	start := time.Now()
	for _, text := range []string{target, patch} {
		expect.Must(Parse([]byte(text), Limits{}))
	}
	reading := time.Since(start)
	start = time.Now()
	result := merged(t, target, patch)
	took := time.Since(start)
	expect.That(t, took <= 50*reading, "took %v, reading takes %v", took, reading)
	expect.Equal(t, strings.Count(result, ":"), 90_000, "members of the result")
}
