package logic

import (
	"encoding/json"
	"math"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/lab/expect"
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
	expect.NoError(t, err)
	var c cases
	expect.NoError(t, json.Unmarshal(raw, &c))
	expect.Require(t, len(c.Cases) >= 500, "only %d cases", len(c.Cases))
	return c
}

func parse(t testing.TB, raw []byte) jsontree.Node {
	t.Helper()
	tree, err := jsontree.Parse(raw, jsontree.BodyLimits)
	expect.Require(t, err == nil, "%s: %v", raw, err)
	return tree.Root()
}

// written is a result as the cases have it.
func written(v any) any {
	switch v := v.(type) {
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return map[string]any{"number": formatNumber(v)}
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

// now is late on one day in UTC, and on the day of the cases in its zone.
var now = time.Date(2026, 11, 19, 23, 30, 0, 0, time.UTC).In(time.FixedZone("", 60*60))

func TestCases(t *testing.T) {
	all := readCases(t)
	for _, c := range all.Cases {
		compiled, err := Compile(parse(t, c.Rule))
		if c.Unreadable {
			expect.That(t, err != nil, "%s: %s is read", c.Note, c.Rule)
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
		budget.Now = now
		got := written(compiled.Eval(data, &budget))
		diff := cmp.Diff(c.Result, got)
		expect.That(t, diff == "" && !budget.Exceeded(), "%s: %s over %s (-want +got):\n%s", c.Note, c.Rule, raw, diff)
		expect.Equal(t, compiled.Holds(data, &budget), isTruthy(compiled.Eval(data, &budget)), "%s: %s holds", c.Note, c.Rule)
	}
}
