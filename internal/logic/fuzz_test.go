package logic

import (
	"testing"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/lab/expect"
)

// No logic panics, whatever it is evaluated over, and none outlives its budget by much.
func FuzzLogic(f *testing.F) {
	all := readCases(f)
	for i, c := range all.Cases {
		if i%7 == 0 {
			f.Add(string(c.Rule), string(all.Example))
		}
	}
	f.Add(`{"substr":["text",1e308,-1e308]}`, `null`)
	f.Add(`{"cat":[{"/":[1,0]},{"/":[0,0]},{"%":[5,0]},-0.0,1e-320]}`, `null`)
	f.Add(`{"match":[{"var":""},"(a|b*)*\\pL{1,300}"]}`, `"aab"`)
	f.Add(`{"and":[{"round":[1e300,3]},{"days":[{"today":[]},{"var":""}]},{"length":{"var":""}}]}`, `"2026-11-20"`)
	f.Add(`{"missing_some":[{"var":""},{"merge":[[],[[]]]}]}`, `{"":{"":""}}`)
	f.Fuzz(func(t *testing.T, rule, data string) {
		tree, err := jsontree.Parse([]byte(rule), jsontree.BodyLimits)
		if err != nil {
			return
		}
		compiled, err := Compile(tree.Root())
		if err != nil {
			return
		}
		var over any
		if parsed, err := jsontree.Parse([]byte(data), jsontree.BodyLimits); err == nil {
			over = parsed.Root().Value()
		}
		const steps = 10_000
		budget := NewBudget(steps)
		budget.Now = now
		compiled.Holds(over, &budget)
		expect.That(t, budget.left >= -100*steps, "%s over %s took %d steps of %d", rule, data, steps-budget.left, steps)
		size := compiled.Size()
		expect.That(t, size >= 1 && size <= len(rule)+1, "%s has the size %d", rule, size)
		compiled.ReadPaths()
		_ = compiled.IsConstant()
	})
}

// A budget ends an evaluation wherever it is.
func TestABudgetEndsEveryEvaluation(t *testing.T) {
	all := readCases(t)
	for _, c := range all.Cases {
		compiled, err := Compile(parse(t, c.Rule))
		if err != nil {
			continue
		}
		data := parse(t, all.Example).Value()
		enough := NewBudget(1000)
		compiled.Eval(data, &enough)
		for steps := range 1000 - enough.left {
			budget := NewBudget(steps)
			compiled.Eval(data, &budget)
			if !budget.Exceeded() {
				t.Errorf("%s needs %d steps and ends with %d", c.Rule, 1000-enough.left, steps)
				break
			}
		}
	}
}

func TestWhatLogicReads(t *testing.T) {
	for rule, want := range map[string]struct {
		paths string
		any   bool
	}{
		`{"==":[1,1]}`: {"", false}, `{"var":"a"}`: {"a", false}, `{"var":["b",{"var":"a"}]}`: {"a b", false}, `{"+":[{"var":"a"},{"var":"a"}]}`: {"a", false},
		`{"var":""}`: {"", true}, `{"var":[]}`: {"", true}, `{"var":{"cat":["a","b"]}}`: {"", true}, `{"var":1}`: {"1", false},
		`{"missing":["a","b"]}`: {"a b", false}, `{"missing":[["a","b"]]}`: {"a b", false}, `{"missing":{"merge":["a"]}}`: {"", true}, `{"missing":"a"}`: {"a", false},
		`{"missing_some":[1,["a","b"]]}`: {"a b", false}, `{"missing_some":[{"var":"n"},["a"]]}`: {"a n", false},
		`{"some":[{"var":"a"},{"var":"b"}]}`: {"a", false}, `{"some":[{"var":"a"},{"missing":["b"]}]}`: {"a", false}, `{"all":[["a"],{"var":""}]}`: {"", false},
		`{"a":{"var":"x"},"b":1}`:     {"", false},
		`{"match":[{"var":"a"},"b"]}`: {"a", false}, `{"length":{"var":"a"}}`: {"a", false}, `{"days":[{"var":"a"},{"var":"b"}]}`: {"a b", false},
	} {
		compiled, err := Compile(parse(t, []byte(rule)))
		expect.NoError(t, err)
		paths, others := compiled.ReadPaths()
		got := ""
		for i, p := range paths {
			if i > 0 {
				got += " "
			}
			got += p
		}
		expect.That(t, got == want.paths && others == want.any && compiled.IsConstant() == (want.paths == "" && !want.any),
			"%s reads %q, others: %v", rule, got, others)
	}
}
