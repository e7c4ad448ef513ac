package contract

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	formanswers "github.com/formsvc/formsvc/internal/answers"
)

// Logic comes to the results of json-logic-js, but where a case says that it differs.
func TestLogicAgainstJSONLogicJS(t *testing.T) {
	t.Parallel()
	node(t, "redocly") // the packages are installed
	module, err := filepath.Abs(filepath.Join("node_modules", "json-logic-js"))
	if err != nil {
		t.Fatal(err)
	}
	t.Log(run(t, nil, "node", filepath.Join("flows", "logic", "cases.mjs"), filepath.Join("..", "logic", "testdata", "cases.json"), module))
}

// The script of the respondents' pages comes to the results of the service's logic.
func TestJSONLogicOfThePage(t *testing.T) {
	t.Parallel()
	plainNode(t)
	t.Log(run(t, nil, "node", filepath.Join("flows", "logic", "page.mjs"), filepath.Join("..", "logic", "testdata", "cases.json"), pageRules))
}

// plainNode skips a test where there is no Node; it needs no package.
func plainNode(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		if os.Getenv("FORMSVC_TEST_REQUIRE_NODE") == "1" {
			t.Fatal("there is no Node")
		}
		t.Skip("needs Node, which is not installed")
	}
}

const pageRules = "../../handler/formpage/static/rules.js"

// It takes the way through random forms that the service takes.
func TestJSONLogicWalksAsTheServiceDoes(t *testing.T) {
	t.Parallel()
	plainNode(t)
	random := rand.New(rand.NewPCG(2026, 16))
	var walks []map[string]any
	ended := map[string]bool{}
	for range 2000 {
		w := randomWalk(t, random)
		walks = append(walks, w)
		ended[fmt.Sprint(w["ending"])] = true
	}
	if len(ended) < 3 {
		t.Fatalf("the walks end at %v", ended)
	}
	raw, err := json.Marshal(walks)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "walks.json")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Log(run(t, nil, "node", filepath.Join("flows", "logic", "walks.mjs"), file, pageRules))
}

// randomWalk is a form with rules, answers, and the way that the service takes.
func randomWalk(t *testing.T, random *rand.Rand) map[string]any {
	t.Helper()
	const n = 9
	id := func(i int) string { return fmt.Sprint("b", i) }
	pick := func(of ...any) any { return of[random.IntN(len(of))] }
	var condition func(depth int) any
	condition = func(depth int) any {
		read := map[string]any{"var": pick("answers."+id(random.IntN(n)), "answers.c"+fmt.Sprint(random.IntN(n)), "variables.score", "variables.tier", "hidden.src", "answers.none")}
		switch k := random.IntN(8); {
		case k == 0 && depth < 3:
			return map[string]any{pick("and", "or").(string): []any{condition(depth + 1), condition(depth + 1)}}
		case k == 1 && depth < 3:
			return map[string]any{"!": []any{condition(depth + 1)}}
		case k == 2:
			return pick(true, false, nil, map[string]any{"nope": []any{1}}, "text", []any{})
		case k == 3:
			return map[string]any{"missing": []any{"answers." + id(random.IntN(n))}}
		case k == 4:
			return read
		}
		return map[string]any{pick("==", "!=", "<", ">=", "===", "in").(string): []any{read, pick(true, false, 1, 3, "a", "b", "mail", "", nil)}}
	}
	var blocks, known []any
	answers, taken := map[string]json.RawMessage{}, map[string]any{}
	give := func(id string, value any) {
		if random.IntN(3) > 0 {
			raw, _ := json.Marshal(value)
			answers[id], taken[id] = raw, value
		}
	}
	for i := range n {
		kind := pick("yes_no", "number", "single_choice", "short_text", "statement", "group", "ending").(string)
		b := map[string]any{"id": id(i), "type": kind, "label": "L", "required": random.IntN(3) == 0}
		k := map[string]any{"id": id(i), "required": b["required"], "asks": true}
		properties := map[string]any{}
		if random.IntN(8) == 0 {
			properties["hide"], k["hide"] = true, true
		}
		switch kind {
		case "yes_no":
			give(id(i), pick(true, false))
		case "number":
			give(id(i), pick(0, 1, 2.5, 3))
		case "single_choice":
			b["choices"] = []any{map[string]any{"id": "a", "label": "A"}, map[string]any{"id": "b", "label": "B"}}
			give(id(i), pick("a", "b"))
		case "short_text":
			give(id(i), pick("a", "mail", "3"))
		case "group":
			child := fmt.Sprint("c", i)
			b["children"] = []any{map[string]any{"id": child, "type": "number", "label": "C"}}
			k["children"], k["asks"] = []any{map[string]any{"id": child}}, false
			give(child, pick(0, 1, 3))
		default:
			k["asks"], k["ending"] = false, kind == "ending"
		}
		if random.IntN(2) == 0 {
			rule := map[string]any{}
			if random.IntN(2) == 0 {
				rule["show"] = condition(0)
			}
			if random.IntN(3) == 0 {
				rule["require"] = condition(0)
			}
			if random.IntN(2) == 0 {
				rule["set"] = pick(nil, []any{1}, map[string]any{
					"score": pick(7, map[string]any{"+": []any{map[string]any{"var": "variables.score"}, map[string]any{"var": "answers." + id(i)}}}, condition(0)),
					"tier":  pick("x", map[string]any{"cat": []any{map[string]any{"var": "variables.tier"}, map[string]any{"var": "variables.score"}}}, condition(0)),
				})
			}
			if random.IntN(2) == 0 {
				var next []any
				for range 1 + random.IntN(2) {
					jump := map[string]any{"to": pick("end", id(random.IntN(n)), id(min(n-1, i+2)), "nobody", 5)}
					if random.IntN(3) > 0 {
						jump["if"] = condition(0)
					}
					next = append(next, pick(jump, jump, jump, "no jump"))
				}
				rule["next"] = next
			}
			properties["rule"], k["rule"] = rule, rule
		}
		b["properties"] = properties
		blocks, known = append(blocks, b), append(known, k)
	}
	variables := map[string]any{"score": 1, "tier": "free"}
	hidden := map[string]string{"src": pick("mail", "a", "3").(string)}
	source := func(v any) json.RawMessage {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	form, err := formanswers.Compile(formanswers.Source{Blocks: source(blocks), Variables: source(variables), HiddenFields: source([]string{"src"})})
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range blocks { // what a respondent may not answer
		if known[i].(map[string]any)["hide"] == true {
			delete(answers, b.(map[string]any)["id"].(string))
			delete(answers, fmt.Sprint("c", i))
		}
	}
	path, err := form.Path(answers, hidden)
	if err != nil {
		t.Fatal(err)
	}
	way := []any{}
	for _, b := range path.Blocks {
		way = append(way, map[string]any{"id": b.ID, "required": b.Required})
	}
	return map[string]any{
		"form": map[string]any{"blocks": known, "variables": variables}, "hidden": hidden, "answers": taken,
		"blocks": way, "ending": path.Ending, "variables": path.Variables,
	}
}
