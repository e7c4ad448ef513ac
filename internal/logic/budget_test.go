package logic

import (
	"strings"
	"testing"

	"github.com/formsvc/formsvc/internal/lab/expect"
)

func TestABudgetIsSpent(t *testing.T) {
	b := NewBudget(10)
	for _, c := range []struct {
		name  string
		spend func()
		left  int
	}{
		{"nothing yet", func() {}, 10},
		{"three steps", func() { b.Spend(3) }, 7},
		{"no step", func() { b.Spend(0) }, 7},
		{"an empty text", func() { b.SpendText(0) }, 6},
		{"a short text", func() { b.SpendText(15) }, 5},
		{"16 bytes", func() { b.SpendText(16) }, 3},
		{"all that is left", func() { b.Spend(3) }, 0},
		{"one more", func() { b.Spend(1) }, -1},
		{"a text beyond it", func() { b.SpendText(32) }, -4},
	} {
		c.spend()
		if b.Left() != c.left || b.Exceeded() != (c.left < 0) {
			t.Errorf("%s: %d are left, exceeded: %v; want %d", c.name, b.Left(), b.Exceeded(), c.left)
		}
	}
}

// What is spent is what the work costs: whether a response is refused depends on it.
func TestStepsOfEvaluations(t *testing.T) {
	for _, c := range []struct {
		rule  string
		steps int
	}{
		{`1`, 1},
		{`{"+":[1,2]}`, 3},
		{`{"var":"a"}`, 2},                // itself, and a member
		{`{"var":"a.b"}`, 3},              // "a.b", then "a" and "b"
		{`{"var":"a_name_of_16_by"}`, 2},  // 15 bytes
		{`{"var":"a_name_of_16_byt"}`, 3}, // 16 bytes
		{`{"===":[1,2]}`, 4},              // the comparison
		{`{"===":["0123456789abcdef","0123456789abcdeg"]}`, 5},     // and 16 bytes of it
		{`{"===":[[1,2],[1,2]]}`, 6},                               // and each item
		{`{"===":[{"var":"a"},{"var":"a"}]}`, 8},                   // and a member twice: its name, its value
		{`{"==":["12",12]}`, 5},                                    // two digits that are read
		{`{"cat":[7]}`, 6},                                         // a number as text
		{`{"cat":[[true,false]]}`, 8},                              // items as text
		{`{"merge":[[1,2],3]}`, 6},                                 // items that are copied
		{`{"if":[false,{"+":[1,2]},true]}`, 3},                     // not what is not taken
		{`{"match":["a","a"]}`, 3},                                 // at least one step
		{`{"match":["` + strings.Repeat("a", 127) + `","a+"]}`, 3}, // 4 instructions
		{`{"match":["` + strings.Repeat("a", 128) + `","a+"]}`, 4},
		{`{"match":[5,"a+"]}`, 3},
		{`{"length":["0123456789abcdef"]}`, 3}, // 16 bytes
		{`{"length":[[1,2]]}`, 2},
		{`{"round":[1.005,2]}`, 11},
		{`{"today":[]}`, 1},
		{`{"days":["2026-11-20","x"]}`, 19},
		{`{"some":[[1,2],{"var":""}]}`, 4}, // nor what comes after the first one
	} {
		compiled, err := Compile(parse(t, []byte(c.rule)))
		expect.NoError(t, err)
		budget := NewBudget(1000)
		compiled.Eval(map[string]any{"a": map[string]any{"b": true}}, &budget)
		expect.Equal(t, 1000-budget.Left(), c.steps, "the steps of %s", c.rule)
	}
}
