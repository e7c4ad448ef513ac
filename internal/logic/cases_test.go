package logic

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/formsvc/formsvc/internal/jsontree"
)

// cases are those of testdata/cases.json. A case is evaluated over its data, or over the
// example of the file. A result that JSON has no number for is {"number": "NaN"} and so
// on. Where json-logic-js comes to another result, js is that one.
type cases struct {
	Example json.RawMessage
	Cases   []struct {
		Note       string
		Rule       json.RawMessage
		Data       json.RawMessage
		Example    bool
		Unreadable bool
		Result     any
	}
}

func readCases(t testing.TB) cases {
	t.Helper()
	raw, err := os.ReadFile("testdata/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var c cases
	if err := json.Unmarshal(raw, &c); err != nil {
		t.Fatal(err)
	}
	if len(c.Cases) < 500 {
		t.Fatalf("only %d cases", len(c.Cases))
	}
	return c
}

func parse(t testing.TB, raw []byte) jsontree.Node {
	t.Helper()
	tree, err := jsontree.Parse(raw, jsontree.BodyBounds)
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return tree.Root()
}

// written is a result as the cases have it.
func written(v any) any {
	switch v := v.(type) {
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return map[string]any{"number": numberText(v)}
		}
		return v + 0 // not the negative zero
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = written(v[i])
		}
		return list
	default:
		return v
	}
}

func TestCases(t *testing.T) {
	all := readCases(t)
	for _, c := range all.Cases {
		compiled, err := Compile(parse(t, c.Rule))
		if c.Unreadable {
			if err == nil {
				t.Errorf("%s: %s is read", c.Note, c.Rule)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %s: %v", c.Note, c.Rule, err)
			continue
		}
		raw := c.Data
		if c.Example {
			raw = all.Example
		}
		var data any
		if len(raw) > 0 {
			data = parse(t, raw).Value()
		}
		budget := NewBudget(10_000)
		got := written(compiled.Eval(data, &budget))
		if diff := cmp.Diff(c.Result, got); diff != "" || budget.Exceeded() {
			t.Errorf("%s: %s over %s (-want +got):\n%s", c.Note, c.Rule, raw, diff)
		}
		if truth := compiled.Holds(data, &budget); truth != truthy(compiled.Eval(data, &budget)) {
			t.Errorf("%s: %s holds: %v", c.Note, c.Rule, truth)
		}
	}
}
