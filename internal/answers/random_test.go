package answers

import (
	"github.com/formsvc/formsvc/internal/answers/answertype"
	"github.com/formsvc/formsvc/internal/answers/path"

	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
)

// randomForms is how many definitions the tests against the naive implementation make.
var randomForms = flag.Int("random-forms", 3000, "definitions for the tests against the naive implementation")

// random makes definitions, rules and answers.
type random struct{ *rand.Rand }

func (r random) of(list ...string) string { return list[r.IntN(len(list))] }

// blockIDs are the ids of made-up blocks; some have dots, and one is a keyword.
var blockIDs = []string{"a", "b", "a.b", "c", "end", "d", "e.f.g", "h"}

// logic makes JsonLogic of at most that depth.
func (r random) logic(depth int) string {
	if depth == 0 || r.IntN(5) == 0 {
		return r.operand()
	}
	sub := func() string { return r.logic(depth - 1) }
	many := func(most int) string {
		items := make([]string, r.IntN(most+1))
		for i := range items {
			items[i] = sub()
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	switch op := r.of("==", "==", "!=", "===", "!==", "<", "<=", ">", ">=", "if", "and", "or", "!", "!!", "+", "-", "*", "/", "%", "min", "max",
		"cat", "substr", "in", "in", "merge", "missing", "missing_some", "some", "all", "none", "list", "nope", "object", "match", "length", "round", "today", "days"); op {
	case "list":
		return many(3)
	case "object":
		return `{"x":1,"y":` + sub() + `}`
	case "nope":
		if r.IntN(4) > 0 {
			return sub()
		}
		return `{"nope":` + many(2) + `}`
	case "match":
		return fmt.Sprintf(`{"match":[%s,%q]}`, sub(), r.of("x|y", ".", "[0-9.-]*", "(", ".*T.*"))
	case "length", "round":
		return fmt.Sprintf(`{%q:[%s,%d]}`, op, sub(), r.IntN(3))
	case "today":
		return `{"today":[]}`
	case "!", "!!":
		return fmt.Sprintf(`{%q:%s}`, op, sub())
	case "missing":
		return `{"missing":[` + answertype.QuoteJSON(r.path()) + `,` + answertype.QuoteJSON(r.path()) + `]}`
	case "missing_some":
		return fmt.Sprintf(`{"missing_some":[%d,[%s,%s]]}`, r.IntN(3), answertype.QuoteJSON(r.path()), answertype.QuoteJSON(r.path()))
	case "some", "all", "none":
		return fmt.Sprintf(`{%q:[%s,{%q:[{"var":%q},%s]}]}`, op, sub(), r.of("==", "in", "<"), r.of("", "other", "0"), r.operand())
	case "substr":
		return fmt.Sprintf(`{"substr":[%s,%d,%d]}`, sub(), r.IntN(7)-3, r.IntN(7)-3)
	case "if", "and", "or", "+", "*", "min", "max", "cat", "merge":
		return fmt.Sprintf(`{%q:%s}`, op, many(4))
	default:
		return fmt.Sprintf(`{%q:[%s,%s]}`, op, sub(), sub())
	}
}

func (r random) path() string {
	switch r.IntN(6) {
	case 0:
		return "variables." + r.of("v", "w", "nobody")
	case 1:
		return "hidden." + r.of("p", "q", "nobody")
	case 2:
		return r.of("answers", "nobody", "answers.a.other", "answers.b.0", "answers.c.length", "answers.h.1", "variables.v.length")
	default:
		return "answers." + r.of(blockIDs...)
	}
}

func (r random) operand() string {
	if r.IntN(2) == 0 {
		if r.IntN(5) == 0 {
			return `{"var":[` + answertype.QuoteJSON(r.path()) + `,` + r.of("0", `"d"`, "null", "true") + `]}`
		}
		return `{"var":` + answertype.QuoteJSON(r.path()) + `}`
	}
	return r.of("0", "1", "2", "-1.5", "10", `"x"`, `"y"`, `"1"`, `""`, `"\ud83d\ude00z"`, `"\uffee"`, "true", "false", "null", `["x","y"]`, `[]`, `{"other":"own","n":1}`, `"2026-08-01T10:00:00Z"`)
}

func (r random) rule() string {
	var members []string
	if r.IntN(3) == 0 {
		members = append(members, `"show":`+r.logic(3))
	}
	if r.IntN(3) == 0 {
		members = append(members, `"require":`+r.logic(3))
	}
	if r.IntN(3) == 0 {
		members = append(members, `"set":{"v":`+r.logic(3)+`,"`+r.of("w", "undeclared")+`":`+r.logic(2)+`}`)
	}
	if r.IntN(2) == 0 {
		var next []string
		for range r.IntN(3) {
			to := answertype.QuoteJSON(r.of(append([]string{"nobody"}, blockIDs...)...))
			if r.IntN(12) == 0 {
				to = "5"
			}
			jump := `{"to":` + to
			if r.IntN(4) > 0 {
				jump += `,"if":` + r.logic(3)
			}
			next = append(next, jump+"}")
		}
		members = append(members, `"next":[`+strings.Join(next, ",")+`]`)
	}
	if r.IntN(4) == 0 {
		members = append(members, r.checks())
	}
	if r.IntN(15) == 0 {
		members = []string{r.of(`"show":null`, `"set":[]`, `"next":{}`, `"free":{"nope":1}`)}
	}
	return "{" + strings.Join(members, ",") + "}"
}

// checks makes the member check of a rule.
func (r random) checks() string {
	var list []string
	for range 1 + r.IntN(2) {
		list = append(list, r.of(`{"if":`+r.logic(2)+`,"say":"No."}`, `{"if":`+r.logic(1)+`,"say":"Never."}`, `{"if":null,"say":"x"}`, `{"if":true,"say":""}`, `5`))
	}
	return `"check":[` + strings.Join(list, ",") + `]`
}

// block makes a block; of a small one, the answers are few.
func (r random) block(id string, small bool) string {
	types := []string{"short_text", "number", "yes_no", "legal", "single_choice", "multiple_choice", "date", "group", "statement", "ending"}
	if small {
		types = []string{"yes_no", "legal", "single_choice", "single_choice", "multiple_choice", "group", "statement", "ending"}
	}
	typ := r.of(types...)
	properties := []string{}
	if r.IntN(3) > 0 {
		properties = append(properties, `"rule":`+r.rule())
	}
	if r.IntN(8) == 0 {
		properties = append(properties, `"hide":true`)
	}
	if typ == "date" {
		properties = append(properties, `"showTimePicker":true`)
	}
	if !small && r.IntN(2) == 0 {
		properties = append(properties, `"otherOption":true`)
	}
	choices := `[{"id":"x","label":"X"},{"id":"y","label":"Y"}]`
	if small && r.IntN(3) == 0 {
		choices = `[]`
	}
	children := ""
	if typ == "group" {
		hide := r.of("true", "false", "false")
		children = fmt.Sprintf(`,"children":[{"id":%q,"type":%q,"required":%v,"choices":%s,"properties":{"hide":%s,"rule":{"show":false,%s}}}]`,
			id+"-in", r.of("yes_no", "single_choice"), r.IntN(3) == 0, choices, hide, r.of(`"next":[]`, r.checks()))
	}
	return fmt.Sprintf(`{"id":%q,"type":%q,"required":%v,"choices":%s,"properties":{%s}%s}`,
		id, typ, r.IntN(3) == 0, choices, strings.Join(properties, ","), children)
}

func (r random) form(most int, small bool) (blocks string, ids []string) {
	order := r.Perm(len(blockIDs))
	var list []string
	for _, i := range order[:1+r.IntN(most)] {
		list = append(list, r.block(blockIDs[i], small))
		ids = append(ids, blockIDs[i], blockIDs[i]+"-in")
	}
	return "[" + strings.Join(list, ",") + "]", ids
}

func (r random) answers(ids []string, blocks string) map[string]json.RawMessage {
	given := make(map[string]json.RawMessage)
	for _, id := range ids {
		if strings.HasSuffix(id, "-in") && !strings.Contains(blocks, `"id":"`+id+`"`) || r.IntN(3) == 0 {
			continue
		}
		given[id] = json.RawMessage(r.of(`"x"`, `"y"`, `true`, `false`, `1`, `2.5`, `-3`, `["x"]`, `["y","x"]`, `{"other":"own"}`, `{"id":"y"}`, `["x",{"other":"own"}]`,
			`"2026-08-01T23:30:00-04:00"`, `"\ud83d\ude00z"`, `null`, `""`, `[]`, `["x","x"]`))
	}
	if r.IntN(20) == 0 {
		given["unknown"] = json.RawMessage("1")
	}
	return given
}

const (
	randomVariables = `{"v":1,"w":"text"}`
	randomHidden    = `["p","q"]`
)

// Random definitions, rules and answers: the naive implementation agrees on the path, on
// what is stored, on the variables and on what is refused.
func TestRandomFormsAgainstANaiveImplementation(t *testing.T) {
	accepted, ended := 0, 0
	for seed := range uint64(*randomForms) {
		r := random{rand.New(rand.NewPCG(seed, 15))}
		blocks, ids := r.form(6, false)
		f := compileRuled(t, blocks, randomVariables, randomHidden)
		naive := newNaiveForm(blocks, randomVariables, randomHidden)
		for range 2 {
			in := Input{Answers: r.answers(ids, blocks), Hidden: map[string]string{"p": r.of("", "x", "1"), "q": r.of("", "y")}}
			if r.IntN(3) == 0 {
				in.HostAnswers = r.answers(ids, blocks)
				delete(in.HostAnswers, "unknown")
			}
			in.Now = someDay
			want := naive.run(in.Answers, in.HostAnswers, in.Hidden, in.Now)
			where := func() string {
				return fmt.Sprintf("seed %d: %s\nanswers %s, host %s, hidden %v", seed, blocks, in.Answers, in.HostAnswers, in.Hidden)
			}
			if diff := disagreement(t, f, in, want); diff != "" {
				t.Fatalf("%s\n%s", where(), diff)
			}
			if len(want.faults) == 0 {
				accepted++
			}
			if want.ending != "" {
				ended++
			}
		}
	}
	t.Logf("%d forms, %d responses accepted, %d came to an ending", *randomForms, accepted, ended)
	expect.That(t, accepted >= *randomForms/3 && ended >= *randomForms/10, "the test shows little")
}

// disagreement holds Check and Path against what the naive implementation says.
func disagreement(t *testing.T, f Form, in Input, want naiveResult) string {
	t.Helper()
	way, _ := path.Trace(f.form, in)
	var ids []string
	for _, b := range way.Blocks {
		ids = append(ids, b.ID)
	}
	if diff := cmp.Diff(want.path, ids); diff != "" || way.Ending != want.ending {
		return fmt.Sprintf("path (-naive +real), endings %q and %q:\n%s", want.ending, way.Ending, diff)
	}
	got, err := f.Check(in)
	faulty := map[string]bool{}
	var e *schema.Error
	if errors.As(err, &e) {
		for _, v := range e.Violations {
			faulty[v.Field] = true
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want.faults)), slices.Sorted(maps.Keys(faulty))); diff != "" {
		return fmt.Sprintf("faults (-naive +real): %s\n%v", diff, err)
	}
	if err != nil {
		return ""
	}
	for _, part := range []struct {
		raw  json.RawMessage
		want map[string]any
	}{{got.ByField, want.stored}, {got.Variables, want.variables}} {
		var decoded map[string]any
		expect.NoError(t, json.Unmarshal(part.raw, &decoded))
		if diff := cmp.Diff(part.want, decoded); diff != "" {
			return "stored (-naive +real):\n" + diff
		}
	}
	return ""
}
