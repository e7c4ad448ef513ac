package path

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/formsvc/formsvc/internal/answers/answertype"
	"github.com/formsvc/formsvc/internal/answers/check"
	"github.com/formsvc/formsvc/internal/answers/compile"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/logic"
	"github.com/formsvc/formsvc/storage"
)

// A rule reads this value for each type of answer.
func TestWhatRulesSeeOfAnswers(t *testing.T) {
	const choices = `"choices":[{"id":"a","label":"A"},{"id":"b","label":"B"}]`
	for _, c := range []struct{ block, answer, path, want string }{
		{`"type":"short_text"`, `" x "`, "answers.q", `"x"`},
		{`"type":"number"`, `"1.50"`, "answers.q", `1.5`},
		{`"type":"yes_no"`, `false`, "answers.q", `false`},
		{`"type":"single_choice",` + choices, `{"id":"b"}`, "answers.q", `"b"`},
		{`"type":"single_choice","properties":{"otherOption":true},` + choices, `{"other":"own"}`, "answers.q", `{"other":"own"}`},
		{`"type":"dropdown",` + choices, `"a"`, "answers.q", `"a"`},
		{`"type":"multiple_choice","properties":{"otherOption":true},` + choices, `[{"other":"own"},"b","a"]`, "answers.q", `["a","b",{"other":"own"}]`},
		{`"type":"picture_choice",` + choices, `"a"`, "answers.q", `"a"`},
		{`"type":"ranking",` + choices, `["b","a"]`, "answers.q", `["b","a"]`},
		{`"type":"matrix","matrix_rows":[{"id":"id"},{"id":"r.1"}],"matrix_columns":[{"id":"x","label":"X"}]`, `{"id":"x","r.1":"x"}`, "answers.q", `{"id":"x","r.1":"x"}`},
		{`"type":"matrix","matrix_rows":[{"id":"id"},{"id":"r.1"}],"matrix_columns":[{"id":"x","label":"X"}]`, `{"r.1":"x"}`, "answers.q.r.1", `"x"`},
		{`"type":"matrix","properties":{"multiSelection":true},"matrix_rows":[{"id":"r"}],"matrix_columns":[{"id":"x"},{"id":"y"}]`, `{"r":["y","x"]}`, "answers.q", `{"r":["x","y"]}`},
		{`"type":"date"`, `"2026-08-01"`, "answers.q", `"2026-08-01"`},
		{`"type":"date","properties":{"showTimePicker":true}`, `"2026-08-01T23:30:00-04:00"`, "answers.q", `"2026-08-02T03:30:00Z"`},
		{`"type":"time"`, `"10:30"`, "answers.q", `"10:30"`},
		{`"type":"address"`, `{"city":"Utrecht"}`, "answers.q", `{"city":"Utrecht"}`},
		{`"type":"address"`, `{"city":"Utrecht"}`, "answers.q.city", `"Utrecht"`},
		{`"type":"short_text"`, `" "`, "answers.q", `null`},
		{`"type":"captcha"`, `"token"`, "answers.q", `null`},
	} {
		f, err := compile.New(compile.Source{Definition: storage.Definition{
			Blocks: json.RawMessage(`[{"id":"q",` + c.block + `},{"id":"w","type":"statement","properties":{"rule":{"show":true}}}]`),
		}})
		if err != nil {
			t.Fatal(err)
		}
		k := newWalk(f, check.Input{Answers: map[string]json.RawMessage{"q": json.RawMessage(c.answer)}})
		k.walkSteps()
		if err := k.r.Violations.Err(); err != nil {
			t.Fatalf("%s: %v", c.block, err)
		}
		l, err := logic.Compile(parseNode(t, fmt.Sprintf(`{"var":%q}`, c.path)))
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(l.Eval(ruleData{k}, &k.budget))
		if err != nil || string(got) != c.want {
			t.Errorf("%s answered with %s: rules see %s, want %s", c.block, c.answer, got, c.want)
		}
	}
}

func parseNode(t testing.TB, raw string) jsontree.Node {
	t.Helper()
	tree, err := jsontree.Parse([]byte(raw), answertype.ParseLimits)
	if err != nil {
		t.Fatal(err)
	}
	return tree.Root()
}
