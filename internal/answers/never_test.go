package answers

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// Each type of blocks as it is after an edit: a choice was deleted, the type or a limit changed.
var editedBlocks = []string{
	`"type":"yes_no"`, `"type":"legal","required":true`, `"type":"legal"`,
	`"type":"single_choice","choices":[{"id":"a"},{"id":"b"}]`, `"type":"dropdown","choices":[{"id":"a"},{"id":"5"}]`,
	`"type":"single_choice","choices":[{"id":"a"},{"id":"b"}],"properties":{"otherOption":true}`, `"type":"single_choice"`,
	`"type":"picture_choice","choices":[{"id":"b"},{"id":"c"}]`, `"type":"picture_choice","choices":[{"id":"b"},{"id":"a"}],"properties":{"multiSelection":true}`,
	`"type":"multiple_choice","choices":[{"id":"a"},{"id":"b"}]`, `"type":"multiple_choice","choices":[{"id":"a"}]`,
	`"type":"multiple_choice","choices":[{"id":"a"},{"id":"b"},{"id":"c"}],"properties":{"max":1,"maxVal":true}`,
	`"type":"multiple_choice","choices":[{"id":"a"},{"id":"b"},{"id":"x"}],"properties":{"min":2,"minVal":true,"otherOption":true}`,
	`"type":"multiple_choice","choices":[{"id":"a"},{"id":"b"},{"id":"d"},{"id":"e"},{"id":"f"},{"id":"g"},{"id":"h"}],"properties":{"limit":3}`,
	`"type":"ranking","choices":[{"id":"a"},{"id":"b"}]`, `"type":"ranking","choices":[{"id":"b"},{"id":"a"},{"id":"c"}]`,
	`"type":"matrix","matrix_rows":[{"id":"r"},{"id":"s"}],"matrix_columns":[{"id":"a"},{"id":"b"}]`,
	`"type":"matrix","required":true,"matrix_rows":[{"id":"r"},{"id":"s"}],"matrix_columns":[{"id":"a"},{"id":"b"}]`,
	`"type":"matrix","matrix_rows":[{"id":"r"}],"matrix_columns":[{"id":"a"},{"id":"b"}],"properties":{"multiSelection":true}`,
	`"type":"number"`, `"type":"number","properties":{"min":1,"minVal":true,"max":5,"maxVal":true}`, `"type":"number","properties":{"max":-1,"maxVal":true}`,
	`"type":"number","properties":{"min":5,"minVal":true}`, `"type":"rating"`, `"type":"rating","properties":{"to":10}`, `"type":"nps"`,
	`"type":"opinion_scale","properties":{"from":-5,"to":2.5,"scaleStep":2.5}`, `"type":"opinion_scale","properties":{"from":0,"to":10,"scaleStep":5}`,
	`"type":"short_text"`, `"type":"short_text","properties":{"maxChars":1}`, `"type":"long_text","properties":{"maxChars":3}`,
	`"type":"email"`, `"type":"phone"`, `"type":"website"`, `"type":"country"`,
	`"type":"date"`, `"type":"date","properties":{"afterDate":"2026-11-20T00:00:00Z"}`, `"type":"date","properties":{"beforeDate":"2026-11-19T00:00:00Z","disabledDays":16}`,
	`"type":"date","properties":{"specificDates":["2026-11-21T00:00:00Z"]}`, `"type":"date","properties":{"showTimePicker":true}`,
	`"type":"time"`, `"type":"time","properties":{"showSeconds":true}`,
	`"type":"payment","properties":{"currency":"EUR"}`, `"type":"file_upload"`, `"type":"signature"`, `"type":"address"`,
}

var (
	isOrder     = regexp.MustCompile(`"[<>]=?"`)
	isTextOrder = regexp.MustCompile(`"[<>]=?":\[[^\]]*\},"`)
	isListOrder = regexp.MustCompile(`"[<>]=?":\[([^{\]]*,)?\{"var":"answers\.q"\}`)
	isPiece     = regexp.MustCompile(`"in":\[["\d-tf]`)
	isDigits    = regexp.MustCompile(`"in":\["?[\d:.TZ-]+"?,`)
)

// isUndecided reports whether a condition is one of the few that get no warning, since values at
// and next to those compared with do not decide it: digits in a date, time or phone number, the
// order of addresses, a text that contains one and comes before another.
func isUndecided(block, condition string) bool {
	typ, _, _ := strings.Cut(strings.TrimPrefix(block, `"type":"`), `"`)
	switch typ {
	case schema.TypeEmail, schema.TypeWebsite:
		return isTextOrder.MatchString(condition) || strings.Count(condition, `"in":[`) > 1
	case schema.TypePhone:
		return isTextOrder.MatchString(condition) || isDigits.MatchString(condition)
	case schema.TypeDate, schema.TypeTime:
		return isDigits.MatchString(condition)
	case schema.TypeShortText, schema.TypeLongText, schema.TypeSingleChoice:
		return isOrder.MatchString(condition) && (isPiece.MatchString(condition) || isTextOrder.MatchString(condition))
	case schema.TypeMultipleChoice:
		return isListOrder.MatchString(condition) && (strings.Contains(block, "otherOption") || strings.Contains(block, `"g"`))
	}
	return false
}

// comparisonsOf returns each operator with each value, of a path below answers.
func comparisonsOf(path string) (list []string) {
	q := `{"var":"answers.` + path + `"}`
	list = append(list, q, `{"!":`+q+`}`, `{"!!":`+q+`}`)
	for _, v := range []string{
		`"a"`, `"c"`, `"x"`, `"5"`, `"abc"`, `" a"`, `""`, `0`, `1`, `2.5`, `5`, `7`, `11`, `-3`, `true`, `false`, `null`,
		`"2026-11-20"`, `"2026-11"`, `"2026-11-20T08:00:00Z"`, `"10:30"`, `"10:30:00"`, `"NL"`, `"nl"`, `"a@example.com"`, `"no address"`,
	} {
		for _, op := range []string{"==", "===", "!=", "!==", "<", "<=", ">", ">="} {
			list = append(list, fmt.Sprintf(`{%q:[%s,%s]}`, op, q, v))
		}
		list = append(list, fmt.Sprintf(`{"==":[%s,%s]}`, v, q), fmt.Sprintf(`{"in":[%s,%s]}`, v, q), fmt.Sprintf(`{"!":{"in":[%s,%s]}}`, v, q))
	}
	for _, v := range []string{`["a","b"]`, `["b","a"]`, `["c"]`, `["5",5]`, `[true,"x"]`, `["10:30","nl"]`, `[]`} {
		list = append(list, fmt.Sprintf(`{"==":[%s,%s]}`, q, v), fmt.Sprintf(`{"in":[%s,%s]}`, q, v), fmt.Sprintf(`{"!":{"in":[%s,%s]}}`, q, v))
	}
	return append(list, `{"<=":[2,`+q+`,4]}`, `{"<=":[6,`+q+`,11]}`, `{"<":[4,`+q+`,5]}`)
}

// answersTried are all answers that the search tries: whatever a block accepts of them counts.
func answersTried() (list []string) {
	add := func(v any) { list = append(list, string(expect.Must(json.Marshal(v)))) }
	texts := []string{
		"a", "b", "c", "x", "5", "abc", "!", "~", "0", "1", "2", "3", "4", "2.5", "4.5", "7", "11", "9", "12", "9e9", "-3", "-9", "-9e9", "NL", "DE", "nl",
		"2026-11-20", "2026-11", "2026-11-20T08:00:00Z", "10:30", "10:30:00", "true", "false", "a@example.com", "no address", "a,b", "b,a", "10:30,nl", "5,5", "true,x", "101",
	}
	for _, a := range texts {
		for _, text := range []string{a, "x " + a, "x" + a, "ada" + a + "@example.com", "https://example.com/" + a} {
			add(text)
		}
		add(map[string]any{"other": a})
		for _, b := range texts {
			add(a + b)
			add("!" + a + b)
			add(map[string]any{"other": a + " " + b})
		}
	}
	for _, text := range []string{"12:00", "a@example.com", "ada@example.com", "+31201234567", "https://example.com", "2026-11-20T08:00:00Z", "2026-11-20T08:00:01Z", "2026-11-20T07:59:59Z", "1000-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "10:30:00", "10:30:01", "10:29:59", "00:00", "00:00:00", "23:59", "23:59:59"} {
		add(text)
	}
	for day := range 31 {
		for _, format := range []string{"2026-10-%02d", "2026-11-%02d", "2026-12-%02d", "1000-01-%02d", "9999-12-%02d"} {
			add(fmt.Sprintf(format, day+1))
			add(fmt.Sprintf(format, day+1) + "T12:00:00Z")
		}
	}
	for n := -20.0; n <= 20; n += 0.25 {
		add(n)
	}
	add(true)
	add(false)
	for _, ids := range [][]string{{"a", "b", "c", "5", "x"}, {"a", "b", "d", "e", "f", "g", "h"}} {
		for set := range 1 << len(ids) {
			var some []any
			for i, id := range ids {
				if set>>i&1 == 1 {
					some = append(some, id)
				}
			}
			add(some)
			add(append(slices.Clone(some), map[string]any{"other": "x"}))
			add(map[string]any{"r": some})
			slices.Reverse(some)
			add(some)
		}
	}
	for _, order := range [][]string{{"a", "c", "b"}, {"b", "c", "a"}, {"b", "a", "c"}, {"c", "a", "b"}} {
		add(order)
	}
	for _, r := range []any{"a", "b", nil} {
		for _, s := range []any{"a", "b", nil} {
			add(map[string]any{"r": r, "s": s})
		}
	}
	for _, amount := range []string{"0", "1", "2.5", "4.5", "5", "6", "7", "10.00", "11", "12", "3"} {
		add(schema.Payment{Amount: amount, Currency: "EUR", Status: "paid", Gateway: "a"})
	}
	add(schema.File{ID: "a", Name: "a.png", URL: "https://example.com/a", MIMEType: "image/png", Size: 5})
	for first := 'A'; first <= 'Z'; first++ {
		for second := 'A'; second <= 'Z'; second++ {
			add(string([]rune{first, second}))
		}
	}
	add(map[string]any{"city": "a", "email": "a@example.com"})
	return list
}

// For each block and each condition of at most two comparisons, the warnings say that a condition
// never holds, or always, exactly when a search through all answers says so.
func TestWarningsOfConditionsAgainstASearch(t *testing.T) {
	t.Parallel()
	const perForm = 25
	tried := answersTried()
	conditions, never, always := 0, 0, 0
	for i, block := range editedBlocks {
		r := rand.New(rand.NewPCG(44, uint64(i)))
		paths := []string{"q"}
		switch {
		case strings.Contains(block, "matrix"):
			paths = append(paths, "q.r", "q.s", "q.gone")
		case strings.Contains(block, "ranking"):
			paths = append(paths, "q.0", "q.1")
		case strings.Contains(block, "multiple_choice"), strings.Contains(block, "file_upload"):
			paths = append(paths, "q.length")
		case strings.Contains(block, "otherOption"):
			paths = append(paths, "q.other")
		case strings.Contains(block, "payment"):
			paths = []string{"q.currency"}
		}
		var all []string
		for _, path := range paths {
			all = append(all, comparisonsOf(path)...)
		}
		alone := expect.Must(Compile(Source{Definition: storage.Definition{Blocks: json.RawMessage(`[{"id":"q",` + block + `}]`)}}))
		accepted := slices.DeleteFunc(slices.Clone(tried), func(raw string) bool {
			given := map[string]json.RawMessage{"q": json.RawMessage(raw)}
			_, asked := alone.Check(Input{Answers: given})
			_, hosted := alone.Check(Input{HostAnswers: given})
			return asked != nil && hosted != nil
		})
		single := len(all)
		pairs, sampled := 150, *randomForms < 10_000
		if sampled {
			pairs = 12
		}
		for range pairs {
			for _, op := range []string{"and", "or"} {
				all = append(all, fmt.Sprintf(`{%q:[%s,%s]}`, op, all[r.IntN(single)], all[r.IntN(single)]))
			}
		}
		if sampled { // a sixth of the comparisons
			r.Shuffle(single, func(i, j int) { all[i], all[j] = all[j], all[i] })
			all = all[single*5/6:]
		}
		all = slices.DeleteFunc(all, func(condition string) bool { return isUndecided(block, condition) })
		for some := range slices.Chunk(all, perForm) {
			conditions += len(some)
			definition := `[{"id":"q","label":"Q",` + block + `}`
			for i, condition := range some {
				definition += fmt.Sprintf(`,{"id":"s%d","type":"statement","label":"S","properties":{"rule":{"show":%s}}}`, i, condition)
			}
			definition += "]"
			from := Source{Definition: storage.Definition{Blocks: json.RawMessage(definition)}}
			held, failed := searched(t, expect.Must(Compile(from)), block, accepted, len(some))
			warned := make(map[string]bool)
			for _, w := range expect.Must(FindWarnings(from)) {
				warned[w.Path+" "+w.Code] = true
			}
			for i, condition := range some {
				at := fmt.Sprintf("/blocks/%d/properties/rule/show ", i+1)
				if warned[at+schema.WarnNeverHolds] == held[i] {
					t.Errorf("%s: %s holds for an answer: %v, a warning says never: %v", block, condition, held[i], held[i])
				}
				if warned[at+schema.WarnAlwaysHolds] == failed[i] {
					t.Errorf("%s: %s fails for an answer: %v, a warning says always: %v", block, condition, failed[i], failed[i])
				}
				if !held[i] {
					never++
				}
				if !failed[i] {
					always++
				}
			}
		}
	}
	t.Logf("%d conditions: %d never hold, %d always", conditions, never, always)
}

// searched tries all answers, and none, and returns which conditions held and which did not.
func searched(t *testing.T, f Form, block string, tried []string, count int) (held, failed []bool) {
	held, failed = make([]bool, count), make([]bool, count)
	for _, raw := range append([]string{"null"}, tried...) {
		answers := map[string]json.RawMessage{"q": json.RawMessage(raw)}
		way, err := f.Path(answers, nil, someDay)
		expect.Require(t, err == nil, "%s: %s: %v", block, raw, err)
		shown := make(map[string]bool)
		for _, b := range way.Blocks {
			shown[b.ID] = true
		}
		for i := range count {
			on := shown[fmt.Sprintf("s%d", i)]
			held[i], failed[i] = held[i] || on, failed[i] || !on
		}
	}
	return held, failed
}
