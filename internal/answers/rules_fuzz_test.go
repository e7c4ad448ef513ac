package answers

import (
	"github.com/formsvc/formsvc/internal/answers/compile"
	"github.com/formsvc/formsvc/internal/answers/path"

	"encoding/json"
	"math/rand/v2"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// heapAllocated returns how many bytes this process has allocated on the heap so far.
func heapAllocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// fuzzedIDs are the top-level blocks of fuzzedForm.
var fuzzedIDs = []string{"one", "many", "text", "g", "day", "e1", "yes", "e2"}

// fuzzedForm has two rules as they are given, on blocks of the types that rules are about.
func fuzzedForm(rule, other string) Source {
	return Source{Definition: storage.Definition{
		Blocks: json.RawMessage(`[
			{"id":"one","type":"single_choice","choices":[{"id":"a","label":"A"},{"id":"b","label":"B"}],"properties":{"otherOption":true,"rule":` + rule + `}},
			{"id":"many","type":"multiple_choice","required":true,"choices":[{"id":"x","label":"X"},{"id":"y","label":"x"}]},
			{"id":"text","type":"long_text","properties":{"rule":` + other + `}},
			{"id":"g","type":"group","children":[{"id":"n","type":"number","required":true},{"id":"m","type":"matrix","matrix_rows":[{"id":"r"}],"matrix_columns":[{"id":"c"}]}]},
			{"id":"day","type":"date","properties":{"showTimePicker":true,"rule":` + rule + `}},
			{"id":"e1","type":"ending","properties":{"rule":` + other + `}},
			{"id":"yes","type":"yes_no","required":true},
			{"id":"e2","type":"ending"}]`),
		Variables:    json.RawMessage(`{"v":1,"w":"text"}`),
		HiddenFields: json.RawMessage(`["p","q"]`),
		Settings:     json.RawMessage(`{"duplicateField":"text"}`),
	}}
}

// storable reports whether a write could store a text as a rule.
func storable(rule string) bool {
	const mostRule = 16 << 10
	if len(rule) > mostRule || !json.Valid([]byte(rule)) {
		return false
	}
	tree, err := jsontree.Parse([]byte(rule), jsontree.BodyLimits)
	if err != nil {
		return false
	}
	defer tree.Release()
	return tree.Root().Kind() == jsontree.Object && !tree.Root().HasNUL()
}

// Any rules with any answers: nothing panics, steps and memory have their bounds, the path
// and what is stored agree, and the naive implementation agrees on a random form of the
// same run.
func FuzzRulesWithAnswers(f *testing.F) {
	for _, seed := range [][4]string{
		{`{}`, `{}`, `{}`, ""},
		{`{"show":{"==":[{"var":"answers.one"},"A"]},"next":[{"if":{"in":["x",{"var":"answers.many"}]},"to":"e1"},{"to":"end"}]}`, `{"set":{"v":{"+":[{"var":"variables.v"},1]}}}`, `{"one":"a","many":["x","y"],"n":5,"yes":true}`, "mail"},
		{`{"conditions":[{"field":"one"}],"hideIf":{"var":"hidden.p"}}`, `{"require":{"missing":["answers.text"]}}`, `{"one":{"other":"stop"},"many":"x","text":"e\u0301","n":"1,5"}`, "\x00"},
		{`{"show":{"some":[{"var":"answers.many"},{"===":[{"var":""},"x"]}]}}`, `{"set":{"w":{"cat":[{"var":"answers.text"},{"substr":[{"var":"hidden.p"},-2]}]}},"next":[{"to":"yes"}]}`, `{"many":["y"],"m":{"r":"c"},"day":"2026-01-01T10:00:00+02:00","unknown":1}`, "日本"},
		{`{"x":[{"==":[{"var":"answers.one"},"A"]}],"show":[{"==":["A",{"var":"answers.one"}]}],"next":{}}`, `{"next":[5,{"to":"e2","if":"A"},{"to":"one"}]}`, `[]`, ""},
		{`{"show":{"and":[{"===":["A",{"var":"answers.one"}]}]},"x":1}`, `{"show":{"==":[{"var":["answers.one","B"]},"B"]},"next":[{"if":{"==":[{"var":"answers.one"},"B"]},"to":"e2"}]}`, `{"one":"b","many":["x"],"n":5,"yes":true}`, ""},
		{`{"check":[{"if":{"match":[{"var":"answers.one"},"a|b"]},"say":"m"},5,{"if":{"<":[{"days":[{"today":[]},{"var":"answers.day"}]},0]},"say":"**late**"}]}`, `{"check":[{"if":{">":[{"length":{"var":"answers.text"}},3]},"say":"{{today}}"}]}`, `{"one":"b","many":["x"],"n":5,"text":"abcd","day":"2026-01-01T10:00:00Z","yes":true}`, ""},
		{`{"show":{"reduce":[1]},"require":{"merge":[[1],[2]]}}`, `{"set":{"v":{"var":"answers"},"p":1}}`, `{"many":[[[[1]]]],"yes":"maybe"}`, "x"},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3], uint64(len(seed[0])))
	}
	f.Fuzz(func(t *testing.T, rule, other, answers, hidden string, seed uint64) {
		if storable(rule) && storable(other) {
			fuzzRules(t, fuzzedForm(rule, other), answers, hidden)
		}
		r := random{rand.New(rand.NewPCG(seed, 22))}
		blocks, ids := r.form(4, true)
		in := Input{Answers: r.answers(ids, blocks), Hidden: map[string]string{"p": r.of("", "x", "1"), "q": r.of("", "y")}, Now: someDay}
		want := newNaiveForm(blocks, randomVariables, randomHidden).run(in.Answers, nil, in.Hidden, in.Now)
		diff := disagreement(t, compileRuled(t, blocks, randomVariables, randomHidden), in, want)
		expect.Require(t, diff == "", "seed %d: %s\nanswers %s, hidden %v\n%s", seed, blocks, in.Answers, in.Hidden, diff)
	})
}

func fuzzRules(t *testing.T, from Source, answers, hidden string) {
	t.Helper()
	var in Input
	if json.Unmarshal([]byte(answers), &in.Answers) != nil {
		in.Answers = map[string]json.RawMessage{"one": json.RawMessage(answers), "text": json.RawMessage(answers)}
	}
	in.Hidden, in.Now = map[string]string{"p": hidden}, someDay
	// What is given is read several times, and rules may take all their steps.
	most := uint64(16<<20 + 400*(len(from.Blocks)+len(answers)+len(hidden)))
	before := heapAllocated()
	form, err := Compile(from)
	expect.Require(t, err == nil, "what a write stores is not compiled: %v", err)
	found := expect.Must(FindWarnings(from))
	way, pathErr := form.Path(in.Answers, in.Hidden, someDay)
	stored, checkErr := form.Check(in)
	took := heapAllocated() - before
	expect.That(t, took <= most, "%d bytes allocated, at most %d are expected", took, most)
	for _, w := range found {
		if !strings.HasPrefix(w.Path, "/blocks") && !strings.HasPrefix(w.Path, "/settings") || w.Code == "" || w.Message == "" {
			t.Errorf("the warning %+v", w)
		}
	}
	_, steps := path.Trace(form.form, in)
	expect.That(t, steps <= 2*compile.MaxRuleSteps, "rules took %d steps, and may take %d", steps, compile.MaxRuleSteps)
	expect.That(t, (pathErr != nil) == (steps > compile.MaxRuleSteps), "Path: %v, and the rules took %d steps", pathErr, steps)
	checkOutcome(t, stored, checkErr)
	if pathErr != nil {
		answerFaultsOf(t, pathErr)
		return
	}
	last := -1
	for _, b := range way.Blocks {
		at := slices.IndexFunc(form.form.Steps, func(s compile.Step) bool { return form.form.Blocks[s.From].ID == b.ID })
		if at <= last && !form.form.Steps[max(at, 0)].Ending || at < 0 {
			t.Errorf("%q stands at %d of the form, after %d", b.ID, at, last)
		}
		last = at
	}
	n := slices.IndexFunc(way.Blocks, func(b schema.PathBlock) bool { return b.ID == way.Ending })
	expect.That(t, way.Ending == "" || n == len(way.Blocks)-1, "the path goes on after its ending %q: %v", way.Ending, way.Blocks)
	for _, w := range found {
		on := func(b schema.PathBlock) bool { return w.Path == "/blocks/"+strconv.Itoa(slices.Index(fuzzedIDs, b.ID)) }
		if w.Code == schema.WarnUnreachable && slices.ContainsFunc(way.Blocks, on) || w.Code == schema.WarnUnanswerableForm && checkErr == nil {
			t.Errorf("%v, and %s is answered by the path %v", w, from.Blocks, way.Blocks)
		}
	}
	expect.That(t, checkErr != nil || len(way.Violations) == 0, "a response is accepted whose answers are faulty: %v", way.Violations)
	if checkErr == nil {
		for _, b := range way.Blocks {
			expect.That(t, !b.Required || strings.Contains(string(stored.ByField), `"`+b.ID+`":`),
				"%q is required and has no answer in %s", b.ID, stored.ByField)
		}
	}
}
