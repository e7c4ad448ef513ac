package answers

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// ruledForm has a block of each kind that rules treat in a way of its own.
const ruledForm = `[
	{"id":"hello","type":"welcome"},
	{"id":"kind","type":"single_choice","label":"Kind","required":true,"choices":[{"id":"private","label":"P"},{"id":"business","label":"B"}],
		"properties":{"otherOption":true,"rule":{
			"set":{"score":{"+":[{"var":"variables.score"},{"if":[{"==":[{"var":"answers.kind"},"business"]},10,1]}]}},
			"next":[{"if":{"==":[{"var":"answers.kind.other"},"stop"]},"to":"end"},{"if":{"==":[{"var":"answers.kind"},"private"]},"to":"mail"}]}}},
	{"id":"company","type":"group","properties":{"rule":{"next":[{"to":"mail"}]}},"children":[
		{"id":"vat","type":"short_text","required":true},{"id":"size","type":"number"}]},
	{"id":"never","type":"short_text","required":true},
	{"id":"mail","type":"email","properties":{"rule":{"require":{">":[{"var":"variables.score"},5]},"set":{"tier":{"cat":["t",{"var":"variables.score"}]}}}}},
	{"id":"extra","type":"long_text","required":true,"properties":{"rule":{"show":{"==":[{"var":"hidden.src"},"ad"]}}}},
	{"id":"bye","type":"ending","properties":{"rule":{"show":{"<":[{"var":"variables.score"},5]}}}},
	{"id":"thanks","type":"ending","properties":{"rule":{"set":{"score":99}}}},
	{"id":"after","type":"number","required":true}]`

const ruledVariables = `{"score":0,"tier":"none","unused":"x"}`

func compileRuled(t testing.TB, blocks, variables, hidden string) Form {
	t.Helper()
	return expect.Must(Compile(Source{Definition: storage.Definition{Blocks: json.RawMessage(blocks), Variables: json.RawMessage(variables), HiddenFields: json.RawMessage(hidden)}}))
}

func pathIDs(p schema.Path) string {
	var ids []string
	for _, b := range p.Blocks {
		if b.Required {
			b.ID += "!"
		}
		ids = append(ids, b.ID)
	}
	return strings.Join(ids, " ")
}

func TestRules(t *testing.T) {
	f := compileRuled(t, ruledForm, ruledVariables, `["src"]`)
	for name, c := range map[string]struct {
		answers                  map[string]json.RawMessage
		hidden                   map[string]string
		path                     string
		stored, variables, fault string
	}{
		"a private person passes over the company": {
			answers: raws("kind", `"private"`, "vat", `5`, "size", `"nonsense"`, "after", "1", "extra", `"x"`),
			path:    "hello kind! mail bye",
			stored:  `{"kind":{"id":"private","label":"P"}}`, variables: `{"score":1,"tier":"t1"}`,
		},
		"a company has a score that makes the address required": {
			answers: raws("kind", `"business"`, "vat", `"NL1"`), hidden: map[string]string{"src": "ad"},
			path:  "hello kind! company mail! extra! thanks",
			fault: "/answers/extra REQUIRED, /answers/mail REQUIRED",
		},
		"a company": {
			answers: raws("kind", `"business"`, "vat", `"NL1"`, "mail", `"a@example.com"`), hidden: map[string]string{"src": "web"},
			path:   "hello kind! company mail! thanks",
			stored: `{"kind":{"id":"business","label":"B"},"vat":"NL1","mail":"a@example.com","src":"web"}`, variables: `{"score":99,"tier":"t10"}`,
		},
		"an own text ends early": {
			answers: raws("kind", `{"other":"stop"}`, "mail", `"nonsense"`),
			path:    "hello kind! bye",
			stored:  `{"kind":{"other":"stop"}}`, variables: `{"score":1}`,
		},
		"nothing is answered": {
			path:  "hello kind! company mail bye",
			fault: "/answers/kind REQUIRED, /answers/vat REQUIRED",
		},
		"an answer that is wrong counts as none": {
			answers: raws("kind", `"nobody"`, "vat", `"x"`),
			path:    "hello kind! company mail bye",
			fault:   "/answers/kind NOT_A_CHOICE",
		},
		"an unknown id is no block that is off the path": {
			answers: raws("kind", `"private"`, "nobody", `1`),
			path:    "hello kind! mail bye",
			fault:   "/answers/nobody UNKNOWN_FIELD",
		},
	} {
		path, err := f.Path(c.answers, c.hidden, someDay)
		if err != nil || pathIDs(path) != c.path {
			t.Errorf("%s: path %q, %v, want %q", name, pathIDs(path), err, c.path)
		}
		got, err := f.Check(Input{Answers: c.answers, Hidden: c.hidden})
		if c.fault != "" {
			expect.Equal(t, answerFaults(t, err), c.fault, "%s: faults", name)
			continue
		}
		expect.That(t, err == nil && string(got.ByField) == c.stored && string(got.Variables) == c.variables,
			"%s: stored %s and %s (%v), want %s and %s", name, got.ByField, got.Variables, err, c.stored, c.variables)
	}
}

func TestVariablesAreStoredAfterEverythingElse(t *testing.T) {
	f := compileRuled(t, `[{"id":"q","type":"number","label":"Q","properties":{"rule":{"set":{"b":{"var":"answers.q"},"a":{"cat":["<",{"var":"hidden.h"}]}}}}}]`, `{"a":"","b":0.5,"c":1}`, `["h"]`)
	got := expect.Must(f.Check(Input{Answers: raws("q", "7.50"), Hidden: map[string]string{"h": "x"}}))
	want := `[{"field":{"id":"q","type":"number","label":"Q"},"value":7.5},{"field":{"id":"h","type":"hidden","label":"h"},"value":"x"},` +
		`{"field":{"id":"a","type":"variable","label":"a"},"value":"<x"},{"field":{"id":"b","type":"variable","label":"b"},"value":7.5}]`
	expect.Same(t, want, string(got.List), "list")
	sample := f.Sample()
	expect.That(t, string(sample.Variables) == `{"a":"","b":0.5}`, "the sample has %s", sample.Variables)
}

// A variable holds a finite number or a text of bounded length: nothing else that a
// rule computes changes it.
func TestWhatAVariableHolds(t *testing.T) {
	for value, want := range map[string]string{
		`5`: `{"v":5}`, `"x"`: `{"v":"x"}`, `""`: `{"v":""}`, `{"-":[0]}`: `{"v":0}`,
		`{"/":[1,0]}`: `{}`, `{"/":[0,0]}`: `{}`, `null`: `{}`, `true`: `{}`, `[1]`: `{}`, `{"var":"answers"}`: `{}`, `{"a":1,"b":2}`: `{}`,
		`{"var":"answers.nobody"}`: `{}`,
		// An unanswered operand counts as 0 in all arithmetic. A text or a division by 0 does not.
		`{"+":[7,{"var":"answers.nobody"}]}`: `{"v":7}`, `{"*":[{"var":"hidden.nobody"},7]}`: `{"v":0}`, `{"*":[{"var":"answers.nobody"}]}`: `{"v":0}`,
		`{"+":[1,{"*":[{"var":"answers.nobody.part"},2]}]}`: `{"v":1}`, `{"+":["x",{"var":"answers.nobody"}]}`: `{}`, `{"/":[1,{"var":"answers.nobody"}]}`: `{}`,
		`{"substr":["` + strings.Repeat("é", 10_001) + `",0,10000]}`: `{"v":"` + strings.Repeat("é", 10_000) + `"}`,
		`"` + strings.Repeat("é", 10_001) + `"`:                      `{}`,
		`{"nope":1}`:                                                 `{}`,
	} {
		f := compileRuled(t, `[{"id":"w","type":"statement","properties":{"rule":{"set":{"v":`+value+`}}}}]`, `{"v":"old"}`, ``)
		got, err := f.Check(Input{})
		expect.That(t, err == nil && string(got.Variables) == want, "%.60s: %.60s, %v, want %.60s", value, got.Variables, err, want)
	}
	// All values of one set are computed from the old ones.
	f := compileRuled(t, `[{"id":"w","type":"statement","properties":{"rule":{"set":{"a":{"var":"variables.b"},"b":{"var":"variables.a"}}}}}]`, `{"a":1,"b":2}`, ``)
	got, err := f.Check(Input{})
	expect.That(t, err == nil && string(got.Variables) == `{"a":2,"b":1}`, "swapped: %s, %v", got.Variables, err)
}

// What cannot be read or leads nowhere is ignored, and never refuses a response.
func TestIgnoredRules(t *testing.T) {
	for _, rule := range []string{
		`{}`, `{"show":null,"require":null,"set":null,"next":null}`, `{"anything":{"nope":[1]},"else":5}`,
		`{"show":{"nope":1}}`, `{"show":{"if":[true,false,{"nope":1}]}}`, `{"require":{"map":[[1],1]}}`,
		`{"set":[1]}`, `{"set":"x"}`, `{"set":{"undeclared":1}}`, `{"next":{}}`, `{"next":"end"}`, `{"next":["end",5,null,[]]}`,
		`{"next":[{"to":"nobody"},{"to":5},{"to":null},{},{"if":true}]}`, `{"next":[{"to":"first"},{"to":"b"}]}`,
		`{"next":[{"to":"child"}]}`, `{"next":[{"if":{"nope":1},"to":"end"}]}`, `{"next":[{"if":false,"to":"end"},{"if":0,"to":"end"}]}`,
	} {
		f := compileRuled(t, `[{"id":"first","type":"number"},{"id":"b","type":"number","properties":{"rule":`+rule+`}},{"id":"g","type":"group","children":[{"id":"child","type":"number","properties":{"rule":{"show":false}}}]},{"id":"end","type":"ending"}]`, `{"v":1}`, ``)
		path, err := f.Path(nil, nil, someDay)
		if got, want := pathIDs(path), "first b g end"; err != nil || got != want {
			t.Errorf("%s: path %q (%v), want %q", rule, got, err, want)
		}
		got, err := f.Check(Input{Answers: raws("b", "1", "child", "2")})
		expect.That(t, err == nil && string(got.ByField) == `{"b":1,"child":2}` && string(got.Variables) == `{}`,
			"%s: stored %s, %s, %v", rule, got.ByField, got.Variables, err)
	}
}

// Where a jump leads.
func TestJumps(t *testing.T) {
	const q = `{"id":"%s","type":"%s","properties":{"rule":%s}}`
	for name, c := range map[string]struct{ blocks, want string }{
		"the first that holds counts":             {fmt.Sprintf(q, "a", "number", `{"next":[{"if":false,"to":"b"},{"to":"c"},{"to":"d"}]}`) + `,{"id":"b","type":"number"},{"id":"c","type":"number"},{"id":"d","type":"number"}`, "a c d"},
		"if of null is absent":                    {fmt.Sprintf(q, "a", "number", `{"next":[{"if":null,"to":"c"}]}`) + `,{"id":"b","type":"number"},{"id":"c","type":"number"}`, "a c"},
		"to a block that is off the path":         {fmt.Sprintf(q, "a", "number", `{"next":[{"to":"c"}]}`) + `,{"id":"b","type":"number"},` + fmt.Sprintf(q, "c", "number", `{"show":false,"next":[{"to":"end"}]}`) + `,{"id":"d","type":"number"}`, "a d"},
		"end without an ending":                   {fmt.Sprintf(q, "a", "number", `{"next":[{"to":"end"}]}`) + `,{"id":"b","type":"number"}`, "a"},
		"end means the end beside a block end":    {fmt.Sprintf(q, "a", "number", `{"next":[{"to":"end"}]}`) + `,{"id":"b","type":"number"},{"id":"end","type":"number"},{"id":"z","type":"ending"}`, "a z"},
		"end goes to the first ending":            {fmt.Sprintf(q, "a", "number", `{"next":[{"to":"b"}]}`) + `,{"id":"y","type":"ending"},` + fmt.Sprintf(q, "b", "number", `{"next":[{"to":"end"}]}`) + `,{"id":"z","type":"ending"}`, "a b y"},
		"end passes over endings that are hidden": {fmt.Sprintf(q, "a", "number", `{"next":[{"to":"end"}]}`) + `,{"id":"x","type":"ending","properties":{"hide":true}},` + fmt.Sprintf(q, "y", "ending", `{"show":false}`) + `,{"id":"z","type":"ending"}`, "a z"},
		"an ending runs no next":                  {`{"id":"a","type":"number"},` + fmt.Sprintf(q, "y", "ending", `{"next":[{"to":"z"}]}`) + `,{"id":"b","type":"number"},{"id":"z","type":"ending"}`, "a y"},
		"a hidden block runs nothing":             {`{"id":"a","type":"number","properties":{"hide":true,"rule":{"next":[{"to":"end"}]}}},{"id":"b","type":"number"}`, "b"},
		"an ending in a group ends nothing":       {`{"id":"g","type":"group","children":[{"id":"y","type":"ending"}]},{"id":"b","type":"number"}`, "g b"},
		"a rule sees only what was taken before":  {fmt.Sprintf(q, "a", "yes_no", `{"show":{"!":{"var":"answers.b"}},"next":[{"if":{"var":"answers.b"},"to":"end"}]}`) + `,{"id":"b","type":"yes_no"}`, "a b"},
		"an answer off the path is not seen":      {fmt.Sprintf(q, "b", "yes_no", `{"show":false}`) + `,` + fmt.Sprintf(q, "c", "number", `{"show":{"var":"answers.b"}}`), ""},
	} {
		f := compileRuled(t, "["+c.blocks+"]", `{}`, ``)
		path, err := f.Path(raws("b", "true"), nil, someDay)
		got := pathIDs(path)
		expect.That(t, err == nil && got == c.want, "%s: path %q (%v), want %q", name, got, err, c.want)
	}
}

// A matrix and a legal block know what require says.
func TestRequireReachesTheWholeAnswer(t *testing.T) {
	const blocks = `[{"id":"on","type":"yes_no"},
		{"id":"m","type":"matrix","matrix_rows":[{"id":"r"},{"id":"s"}],"matrix_columns":[{"id":"x"}],"properties":{"rule":{"require":{"var":"answers.on"}}}},
		{"id":"l","type":"legal","required":true,"properties":{"rule":{"require":{"var":"answers.on"}}}}]`
	f := compileRuled(t, blocks, ``, ``)
	expect.Nil(t, expect.ErrorOf(f.Check(Input{Answers: raws("on", "false", "m", `{"r":"x"}`, "l", "false")})))
	_, err := f.Check(Input{Answers: raws("on", "true", "m", `{"r":"x"}`, "l", "false")})
	if got, want := answerFaults(t, err), "/answers/l REQUIRED, /answers/m/s REQUIRED"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The host's answers to hidden blocks are data of rules, wherever the blocks stand.
func TestHiddenBlocksAreData(t *testing.T) {
	f := compileRuled(t, `[{"id":"plan","type":"short_text","properties":{"hide":true}},
		{"id":"q","type":"number","required":true,"properties":{"rule":{"show":{"==":[{"var":"answers.plan"},"gold"]}}}}]`, ``, ``)
	expect.Error(t, "a respondent's answer to a hidden block counts", expect.ErrorOf(f.Check(Input{Answers: raws("plan", `"gold"`)})), nil)
	expect.Equal(t, answerFaults(t, expect.ErrorOf(f.Check(Input{HostAnswers: raws("plan", `"gold"`)}))), "/answers/q REQUIRED", "faults")
}

// A rule that costs too much refuses the response, and says so.
func TestRulesBeyondTheirBudgetRefuseTheResponse(t *testing.T) {
	double := func(name string) string {
		return `{"id":"` + name + `","type":"statement","properties":{"rule":{"set":{"v":{"cat":[{"var":"variables.v"},{"var":"variables.v"}]}}}}}`
	}
	var chain []string
	for i := range 60 {
		chain = append(chain, double(fmt.Sprint("b", i)))
	}
	got, err := compileRuled(t, "["+strings.Join(chain, ",")+"]", `{"v":"xy"}`, ``).Check(Input{})
	expect.That(t, err == nil && len(got.Variables) <= 9000, "a text that doubles: %d bytes, %v", len(got.Variables), err)
	// A rule that reads a large answer often.
	read := `{"in":["nobody",{"var":"answers.q"}]}`
	rule := `{"show":{"or":[` + strings.TrimSuffix(strings.Repeat(read+",", 400), ",") + `]}}`
	f := compileRuled(t, `[{"id":"q","type":"long_text"},{"id":"w","type":"statement","properties":{"rule":`+rule+`}}]`, ``, ``)
	in := Input{Answers: raws("q", `"`+strings.Repeat("n", 100_000)+`"`)}
	_, err = f.Check(in)
	expect.That(t, paths(t, err) == " TOO_MANY", "got %v", err)
	_, err = f.Path(in.Answers, nil, someDay)
	expect.That(t, paths(t, err) == " TOO_MANY", "Path: got %v", err)
	in = Input{Answers: raws("q", `"short"`)}
	expect.Error(t, "a short answer", expect.ErrorOf(f.Check(in)), nil)
}

// No definition and no response panics, and what is stored is accepted again.
func FuzzRules(f *testing.F) {
	f.Add(ruledForm, ruledVariables, `{"kind":"business","vat":"x"}`, "ad")
	f.Add(ruledForm, ruledVariables, `{"kind":{"other":"stop"},"mail":5}`, "")
	f.Add(fullBlocks, `{}`, `{"number":2}`, "")
	f.Fuzz(func(t *testing.T, blocks, variables, answers, src string) {
		form, err := Compile(Source{Definition: storage.Definition{Blocks: json.RawMessage(blocks), Variables: json.RawMessage(variables), HiddenFields: json.RawMessage(`["src"]`)}})
		if err != nil {
			return
		}
		var in Input
		if json.Unmarshal([]byte(answers), &in.Answers) != nil {
			return
		}
		in.Hidden = map[string]string{"src": src}
		if _, err := form.Path(in.Answers, in.Hidden, someDay); err != nil {
			answerFaultsOf(t, err)
		}
		got, err := form.Check(in)
		if err != nil {
			answerFaultsOf(t, err)
			return
		}
		expect.That(t, json.Valid(got.List) && json.Valid(got.ByField) && json.Valid(got.Variables),
			"stored %s, %s, %s", got.List, got.ByField, got.Variables)
	})
}

func answerFaultsOf(t testing.TB, err error) {
	t.Helper()
	var e *schema.Error
	expect.That(t, errors.As(err, &e) && len(e.Violations) != 0, "got %T (%v)", err, err)
}
