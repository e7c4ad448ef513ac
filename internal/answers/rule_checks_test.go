package answers

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/formsvc/formsvc/internal/answers/path"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// someDay is the time of submissions in tests.
var someDay = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// checked returns a block with checks, whose messages are first, second and so on.
func checked(id, typ, members string, conditions ...string) string {
	var list []string
	for i, c := range conditions {
		list = append(list, fmt.Sprintf(`{"if":%s,"say":%q}`, c, []string{"first", "second", "third"}[i]))
	}
	properties := `"properties":{"rule":{"check":[` + strings.Join(list, ",") + `]}}`
	if members != "" {
		properties = members + "," + properties
	}
	return fmt.Sprintf(`{"id":%q,"type":%q,%s}`, id, typ, properties)
}

func TestChecks(t *testing.T) {
	const (
		short   = `{"<":[{"length":{"var":"answers.q"}},3]}`
		digits  = `{"!":{"match":[{"var":"answers.q"},"[0-9]+"]}}`
		late    = `{"<":[{"days":[{"var":"answers.a"},{"var":"answers.b"}]},0]}`
		nobody  = `{"and":[{"==":[{"var":"answers.a"},null]},{"==":[{"var":"answers.b"},null]}]}`
		past    = `{"<":[{"var":"answers.q"},{"today":[]}]}`
		always  = `true`
		notNull = `{"==":[{"var":"answers.q"},null]}`
	)
	dates := `{"id":"a","type":"date"},{"id":"b","type":"date","required":true}`
	for name, c := range map[string]struct {
		blocks      string
		answers     []string
		hostAnswers []string
		faults      string // of Check
		path        string // of Path, if different
	}{
		"an answer that passes":                   {checked("q", "short_text", "", short, digits), []string{"q", `"123"`}, nil, "", ""},
		"the first check that fails":              {checked("q", "short_text", "", short, digits), []string{"q", `"x"`}, nil, "/answers/q CHECK_FAILED first", ""},
		"the second check":                        {checked("q", "short_text", "", short, digits), []string{"q", `"xyz"`}, nil, "/answers/q CHECK_FAILED second", ""},
		"the normalized answer":                   {checked("q", "short_text", "", digits), []string{"q", `" 12 "`}, nil, "", ""},
		"no answer":                               {checked("q", "short_text", "", always), nil, nil, "", ""},
		"a blank answer":                          {checked("q", "short_text", "", always), []string{"q", `" "`}, nil, "", ""},
		"a required block without an answer":      {checked("q", "short_text", `"required":true`, always), nil, nil, "/answers/q REQUIRED", "-"},
		"a required block with an answer":         {checked("q", "short_text", `"required":true`, always), []string{"q", `"x"`}, nil, "/answers/q CHECK_FAILED first", ""},
		"an invalid answer":                       {checked("q", "number", "", always), []string{"q", `"x"`}, nil, "/answers/q WRONG_TYPE", ""},
		"false and zero are answers":              {checked("q", "yes_no", "", always) + "," + checked("n", "number", "", always), []string{"q", `false`, "n", "0"}, nil, "/answers/n CHECK_FAILED first, /answers/q CHECK_FAILED first", ""},
		"its own answer is known":                 {checked("q", "number", "", notNull), []string{"q", `1`}, nil, "", ""},
		"a block off the path":                    {`{"id":"s","type":"statement","properties":{"rule":{"next":[{"to":"end"}]}}},` + checked("q", "number", "", always), []string{"q", `1`}, nil, "", ""},
		"a hidden block":                          {checked("q", "number", "", always)[:len(checked("q", "number", "", always))-2] + `,"hide":true}}`, nil, []string{"q", `1`}, "", ""},
		"an answer of the host":                   {checked("q", "payment", "", `{"<":[{"var":"answers.q.amount"},10]}`), nil, []string{"q", `{"amount":"9.50","currency":"EUR","status":"paid","gateway":"g"}`}, `/host_answers/q CHECK_FAILED first`, ""},
		"a part of an answer":                     {checked("q", "address", "", `{"!":{"match":[{"var":"answers.q.zip"},"[0-9]{4} ?[A-Z]{2}"]}}`), []string{"q", `{"zip":"1234","firstName":"A","lastName":"B","city":"C","country":"NL"}`}, nil, `/answers/q CHECK_FAILED first`, ""},
		"today":                                   {checked("q", "date", "", past), []string{"q", `"2026-11-20"`}, nil, "", ""},
		"before today":                            {checked("q", "date", "", past), []string{"q", `"2026-11-19"`}, nil, "/answers/q CHECK_FAILED first", ""},
		"a group":                                 {checked("g", "group", `"children":[`+dates+`]`, late), []string{"a", `"2026-11-20"`, "b", `"2026-11-19"`}, nil, "/answers/g CHECK_FAILED first", ""},
		"a group that passes":                     {checked("g", "group", `"children":[`+dates+`]`, late), []string{"a", `"2026-11-20"`, "b", `"2026-11-20"`}, nil, "", ""},
		"a group with an invalid answer":          {checked("g", "group", `"children":[`+dates+`]`, always), []string{"a", `"x"`, "b", `"2026-11-20"`}, nil, "/answers/a BAD_FORMAT", ""},
		"a group without a required answer":       {checked("g", "group", `"children":[`+dates+`]`, always), []string{"a", `"2026-11-20"`}, nil, "/answers/b REQUIRED", "-"},
		"a group without answers":                 {checked("g", "group", `"children":[{"id":"a","type":"email"},{"id":"b","type":"phone"}]`, nobody), nil, nil, "/answers/g CHECK_FAILED first", ""},
		"an empty group":                          {checked("g", "group", "", always), nil, nil, "/answers/g CHECK_FAILED first", ""},
		"a check in a group":                      {`{"id":"g","type":"group","children":[{"id":"b","type":"number"},` + checked("q", "number", "", `{"<":[{"var":"answers.q"},{"var":"answers.b"}]}`) + `]}`, []string{"b", "5", "q", "4"}, nil, `/answers/q CHECK_FAILED first`, ""},
		"a later answer of the group is unknown":  {`{"id":"g","type":"group","children":[` + checked("q", "number", "", `{"!=":[{"var":"answers.b"},null]}`) + `,{"id":"b","type":"number"}]}`, []string{"b", "5", "q", "4"}, nil, "", ""},
		"a group whose child fails a check":       {checked("g", "group", `"children":[`+checked("q", "number", "", always)+`]`, always), []string{"q", "1"}, nil, "/answers/q CHECK_FAILED first", ""},
		"a group in a group":                      {checked("g", "group", `"children":[`+checked("h", "group", `"children":[{"id":"q","type":"number"}]`, always)+`,{"id":"b","type":"number"}]`, always), []string{"q", "1"}, nil, "/answers/h CHECK_FAILED first", ""},
		"a hidden block in a group":               {`{"id":"g","type":"group","children":[` + checked("q", "number", "", always)[:len(checked("q", "number", "", always))-2] + `,"hide":true}}]}`, nil, []string{"q", "1"}, "", ""},
		"a group with an answer to hidden blocks": {checked("g", "group", `"children":[{"id":"q","type":"number","properties":{"hide":true}}]`, `{"==":[{"var":"answers.q"},1]}`), nil, []string{"q", "1"}, `/answers/g CHECK_FAILED first`, ""},
		"an answer that fails is unanswered":      {checked("q", "number", "", always) + `,{"id":"r","type":"number","required":true,"properties":{"rule":{"show":{"==":[{"var":"answers.q"},null]}}}}`, []string{"q", "1"}, nil, "/answers/q CHECK_FAILED first, /answers/r REQUIRED", "/answers/q CHECK_FAILED first"},
		"a statement":                             {checked("s", "statement", "", always), nil, nil, "", ""},
		"a captcha":                               {checked("s", "captcha", `"required":true`, always), []string{"s", `"token"`}, nil, "", ""},
		"logic that is invalid":                   {checked("q", "number", "", `{"nope":1}`, `{"match":["a","("]}`), []string{"q", "1"}, nil, "", ""},
	} {
		f := compileRuled(t, "["+c.blocks+"]", `{}`, ``)
		in := Input{Answers: raws(c.answers...), HostAnswers: raws(c.hostAnswers...), Now: someDay}
		expect.Equal(t, checkFaults(t, expect.ErrorOf(f.Check(in))), c.faults, "%s: Check", name)
		want := c.faults
		if c.path != "" {
			want = strings.TrimPrefix(c.path, "-")
		}
		all := raws(append(c.answers, c.hostAnswers...)...)
		way := expect.Must(f.Path(all, nil, someDay))
		var err error
		if way.Violations != nil {
			err = &schema.Error{Violations: way.Violations}
		}
		expect.Equal(t, checkFaults(t, err), want, "%s: Path", name)
		kept, err := f.Retain(all, nil, someDay)
		expect.That(t, err == nil && kept.Answers != nil, "%s: a partial submission is refused: %v", name, err)
	}
}

// checkFaults returns the path and code of each violation, and the source of a check's message.
func checkFaults(t testing.TB, err error) string {
	t.Helper()
	answerFaults(t, err)
	var e *schema.Error
	if !errors.As(err, &e) {
		return ""
	}
	var list []string
	for _, v := range e.Violations {
		one := v.Path + " " + v.Code
		if v.Code == schema.CodeCheckFailed {
			one += fmt.Sprintf(" %s", v.Params["say"])
		}
		list = append(list, one)
	}
	return strings.Join(list, ", ")
}

// The message of a violation has no marks, and its params have the message as the form has it.
func TestMessagesOfChecks(t *testing.T) {
	for say, want := range map[string]string{
		"Too **late**, see [rules](https://example.com/a?b=1).": "Too late, see rules.",
		`\*\*"<b>" {{answers.q}} [x](javascript:y)`:             `**"<b>" {{answers.q}} [x](javascript:y)`,
		"two\nlines": "two\nlines",
	} {
		f := compileRuled(t, `[{"id":"q","type":"number","properties":{"rule":{"check":[{"if":true,"say":`+string(expect.Must(json.Marshal(say)))+`}]}}}]`, `{}`, ``)
		for range 2 { // The params are the caller's own.
			_, err := f.Check(Input{Answers: raws("q", "1")})
			var e *schema.Error
			expect.Require(t, errors.As(err, &e) && len(e.Violations) == 1, "got %v", err)
			expect.Same(t, schema.Violation{Path: "/answers/q", Field: "q", Code: schema.CodeCheckFailed, Message: want, Params: map[string]any{"say": say}}, e.Violations[0], "violation")
			e.Violations[0].Params["say"] = "changed"
		}
	}
}

// The day of today is that of the submission in the service's time zone.
func TestTodayIsInTheServicesZone(t *testing.T) {
	east := time.FixedZone("east", 14*60*60)
	blocks := "[" + checked("q", "date", "", `{"!=":[{"var":"answers.q"},{"today":[]}]}`) + `,{"id":"s","type":"statement","properties":{"rule":{"show":{"==":[{"today":[]},"2026-11-21"]}}}}]`
	for _, zone := range []*time.Location{nil, east} {
		f := expect.Must(Compile(Source{Definition: storage.Definition{Blocks: json.RawMessage(blocks)}, TimeZone: zone}))
		for day, at := range map[string]time.Time{"2026-11-20": someDay, "2026-11-21": someDay.Add(12 * time.Hour)} {
			if zone == east {
				at = at.Add(-14 * time.Hour).Add(-time.Hour)
				day = map[string]string{"2026-11-20": "2026-11-20", "2026-11-21": "2026-11-20"}[day]
			}
			expect.Nil(t, expect.ErrorOf(f.Check(Input{Answers: raws("q", `"`+day+`"`), Now: at})))
			way := expect.Must(f.Path(raws("q", `"`+day+`"`), nil, at))
			expect.That(t, len(way.Violations) == 0 && (len(way.Blocks) == 2) == (day == "2026-11-21"), "%s at %v: %+v", day, at, way)
			_, err := f.Check(Input{Answers: raws("q", `"2026-11-22"`), Now: at})
			expect.Equal(t, answerFaults(t, err), "/answers/q CHECK_FAILED", "another day")
		}
	}
	f := expect.Must(Compile(Source{Definition: storage.Definition{Blocks: json.RawMessage(blocks)}, TimeZone: east}))
	expect.Nil(t, expect.ErrorOf(f.Check(Input{Answers: raws("q", `"2026-11-21"`), Now: time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)})))
}

// Writes limit only the patterns of checks, so the patterns of other rules do not count for them.
func TestPatternsOfOtherRulesDoNotCountForChecks(t *testing.T) {
	var blocks []string
	for i := range 300 {
		blocks = append(blocks, fmt.Sprintf(`{"id":"s%d","type":"statement","properties":{"rule":{"show":{"match":["a","a{900}%d"]}}}}`, i, i))
	}
	f := compileRuled(t, "["+strings.Join(blocks, ",")+","+checked("q", "short_text", "", `{"match":[{"var":"answers.q"},"a{900}|b"]}`)+"]", `{}`, ``)
	_, err := f.Check(Input{Answers: raws("q", `"b"`)})
	expect.Equal(t, checkFaults(t, err), "/answers/q CHECK_FAILED first", "the check")
	shown := pathIDs(expect.Must(f.Path(nil, nil, someDay)))
	expect.That(t, strings.Contains(shown, "s299") && !strings.Contains(shown, "s0 "), "the patterns of rules are not limited: %.100s", shown)
}

// A check that would take too many steps refuses the submission before it runs, and says so.
func TestChecksBeyondTheBudget(t *testing.T) {
	pattern := `{"match":[{"var":"answers.q"},"` + strings.Repeat("x*", 490) + `y"]}`
	f := compileRuled(t, "["+checked("q", "long_text", "", pattern, `{"!":`+pattern+`}`, "true")+"]", `{}`, ``)
	in := Input{Answers: raws("q", `"`+strings.Repeat("😀", 99_000)+`"`)}
	not := compileRuled(t, "["+checked("q", "long_text", "", `{"!":`+pattern+`}`)+"]", `{}`, ``)
	for _, f := range []Form{f, not} {
		_, err := f.Check(in)
		expect.Equal(t, paths(t, err), " TOO_MANY", "Check")
		_, err = f.Path(in.Answers, nil, someDay)
		expect.Equal(t, paths(t, err), " TOO_MANY", "Path")
	}
	in.Answers["q"] = json.RawMessage(`"` + strings.Repeat("x", 1000) + `"`)
	_, err := f.Check(in)
	expect.Equal(t, checkFaults(t, err), "/answers/q CHECK_FAILED second", "a shorter text")
	_, steps := path.Trace(f.form, in)
	expect.That(t, 2*980*1000/256 < steps && steps < 8000, "%d steps", steps)
}

func TestWarningsOfChecks(t *testing.T) {
	const yes = `{"var":"answers.y"}`
	for name, c := range map[string]struct{ blocks, want string }{
		"a check":                               {checked("q", "number", "", `{"<":[{"var":"answers.q"},0]}`), ""},
		"an earlier answer":                     {`{"id":"y","type":"yes_no"},` + checked("q", "number", "", yes), ""},
		"a later answer":                        {checked("q", "number", "", yes) + `,{"id":"y","type":"yes_no"}`, "/blocks/0/properties/rule/check/0/if NOT_YET_KNOWN"},
		"a later answer of the group":           {`{"id":"g","type":"group","children":[` + checked("q", "number", "", "true", yes) + `,{"id":"y","type":"yes_no"}]}`, "/blocks/0/children/0/properties/rule/check/1/if NOT_YET_KNOWN, /blocks/0/children/0/properties/rule/check/0/if ALWAYS_HOLDS"},
		"an earlier answer of the group":        {`{"id":"g","type":"group","children":[{"id":"y","type":"yes_no"},` + checked("q", "number", "", yes) + `]}`, ""},
		"an answer in the group":                {checked("g", "group", `"children":[{"id":"y","type":"yes_no"}]`, yes), ""},
		"unknown names":                         {checked("q", "number", "", `{"or":[{"var":"answers.x"},{"var":"hidden.x"},{"var":"variables.x"}]}`), "/blocks/0/properties/rule/check/0/if UNKNOWN_NAME, /blocks/0/properties/rule/check/0/if UNKNOWN_NAME, /blocks/0/properties/rule/check/0/if UNKNOWN_NAME"},
		"constants":                             {checked("q", "number", "", `true`, `{"==":[1,2]}`), "/blocks/0/properties/rule/check/0/if ALWAYS_HOLDS, /blocks/0/properties/rule/check/1/if NEVER_HOLDS"},
		"its own answer is always there":        {checked("y", "yes_no", "", `{"!=":[`+yes+`,null]}`, `{"==":[`+yes+`,null]}`), "/blocks/0/properties/rule/check/0/if ALWAYS_HOLDS, /blocks/0/properties/rule/check/1/if NEVER_HOLDS"},
		"the same check of another block":       {checked("y", "yes_no", "", `{"!=":[`+yes+`,null]}`) + "," + checked("z", "yes_no", "", `{"!=":[`+yes+`,null]}`), "/blocks/0/properties/rule/check/0/if ALWAYS_HOLDS"},
		"a later condition":                     {checked("y", "yes_no", `"label":"Not cached"`, `{"!=":[`+yes+`,null]}`) + `,{"id":"s","type":"statement","label":"S","properties":{"rule":{"show":{"!=":[` + yes + `,null]}}}}`, "/blocks/0/properties/rule/check/0/if ALWAYS_HOLDS"},
		"the check of its group":                {checked("g", "group", `"children":[`+checked("y", "yes_no", "", `{"!=":[`+yes+`,null]}`)+`]`, `{"!=":[`+yes+`,null]}`), "/blocks/0/children/0/properties/rule/check/0/if ALWAYS_HOLDS"},
		"a limit of its own":                    {checked("q", "rating", "", `{">":[{"var":"answers.q"},0]}`, `{">":[{"var":"answers.q"},5]}`), "/blocks/0/properties/rule/check/0/if ALWAYS_HOLDS, /blocks/0/properties/rule/check/1/if NEVER_HOLDS"},
		"a group without answers":               {checked("g", "group", `"children":[{"id":"q","type":"rating"}]`, `{">":[{"var":"answers.q"},0]}`), ""},
		"a part of a check":                     {checked("q", "rating", "", `{"and":[{">":[{"var":"answers.q"},0]},{">":[{"var":"answers.q"},3]}]}`), "/blocks/0/properties/rule/check/0/if/and/0 ALWAYS_HOLDS"},
		"a deleted choice":                      {checked("q", "single_choice", `"choices":[{"id":"a","label":"A"}]`, `{"==":[{"var":"answers.q"},"b"]}`), "/blocks/0/properties/rule/check/0/if NEVER_HOLDS"},
		"new operators that may hold":           {checked("q", "short_text", "", `{"match":[{"var":"answers.q"},"a+"]}`, `{">":[{"length":{"var":"answers.q"}},10]}`, `{"==":[{"var":"answers.q"},{"today":[]}]}`) + "," + checked("n", "number", "", `{"!=":[{"round":{"var":"answers.n"}},{"var":"answers.n"}]}`, `{"==":[{"round":[{"var":"answers.n"},2]},1.23]}`) + "," + checked("d", "date", "", `{"<":[{"days":[{"today":[]},{"var":"answers.d"}]},400]}`, `{">":[{"days":["2026-01-01",{"var":"answers.d"}]},400]}`), ""},
		"a pattern of choices":                  {checked("q", "dropdown", `"choices":[{"id":"a","label":"A"},{"id":"ab","label":"B"}]`, `{"match":[{"var":"answers.q"},"ab?"]}`, `{"match":[{"var":"answers.q"},"b"]}`, `{"match":[{"var":"answers.q"},"a"]}`), "/blocks/0/properties/rule/check/0/if ALWAYS_HOLDS, /blocks/0/properties/rule/check/1/if NEVER_HOLDS"},
		"nothing but today":                     {checked("q", "number", "", `{"==":[{"today":[]},"2026-11-20"]}`), ""},
		"today in a rule":                       {`{"id":"q","type":"number","properties":{"rule":{"show":{"==":[{"today":[]},"2026-11-20"]},"next":[{"if":{"<":[{"today":[]},"1"]},"to":"z"}]}}},{"id":"s","type":"statement","label":"S"},{"id":"z","type":"ending","label":"Z"}`, ""},
		"an unknown operator":                   {checked("q", "number", "", `{"and":[true,{"nope":1}]}`), "/blocks/0/properties/rule/check/0/if/and/1 UNREADABLE_LOGIC"},
		"an invalid pattern":                    {checked("q", "number", "", `{"match":["a","("]}`), "/blocks/0/properties/rule/check/0/if/match/1 UNREADABLE_LOGIC"},
		"another shape":                         {`{"id":"q","type":"number","properties":{"rule":{"check":{"if":true,"say":"x"}}}}`, "/blocks/0/properties/rule/check MALFORMED_RULE"},
		"items of another shape":                {`{"id":"q","type":"number","properties":{"rule":{"check":[5,{"say":"x"},{"if":true},{"if":true,"say":""},{"if":null,"say":"x"}]}}}`, "/blocks/0/properties/rule/check/0 MALFORMED_RULE, /blocks/0/properties/rule/check/1 MALFORMED_RULE, /blocks/0/properties/rule/check/2 MALFORMED_RULE, /blocks/0/properties/rule/check/3 MALFORMED_RULE, /blocks/0/properties/rule/check/4 MALFORMED_RULE"},
		"a rule that is more, in a group":       {`{"id":"g","type":"group","children":[{"id":"q","type":"number","properties":{"rule":{"check":[{"if":{"<":[{"var":"answers.q"},0]},"say":"x"}],"show":false}}}]}`, "/blocks/0/children/0/properties/rule NO_EFFECT"},
		"a hidden block":                        {`{"id":"q","type":"number","properties":{"hide":true,"rule":{"check":[{"if":{"<":[{"var":"answers.q"},0]},"say":"x"}]}}}`, "/blocks/0/properties/rule NO_EFFECT"},
		"a hidden block in a group":             {`{"id":"g","type":"group","children":[{"id":"q","type":"number","properties":{"hide":true,"rule":{"check":[{"if":{"<":[{"var":"answers.q"},0]},"say":"x"}]}}}]}`, "/blocks/0/children/0/properties/rule NO_EFFECT"},
		"a block without answers":               {checked("s", "statement", `"label":"S"`, `{"!=":[{"today":[]},null]}`), "/blocks/0/properties/rule/check NO_EFFECT"},
		"the next conditions of an earlier one": {checked("q", "rating", "", `{">":[{"var":"answers.q"},3]}`) + `,{"id":"s","type":"statement","label":"S","properties":{"rule":{"show":{">":[{"var":"answers.q"},3]}}}}`, ""},
	} {
		got := warningsOf(t, Source{Definition: storage.Definition{Blocks: json.RawMessage("[" + c.blocks + "]")}})
		got = slices.DeleteFunc(got, func(w string) bool { return strings.HasSuffix(w, "UNFINISHED") })
		expect.Equal(t, strings.Join(got, ", "), c.want, "%s", name)
	}
}

// For each block and each check, a warning says always or never only if the check refuses all answers, or none.
func TestWarningsOfChecksAgainstASearch(t *testing.T) {
	t.Parallel()
	tried := answersTried()
	own := comparisonsOf("q")
	for _, condition := range []string{
		`{"match":[%s,"a+|c"]}`, `{"match":[%s,".*"]}`, `{"match":[%s,"[0-9-]+"]}`, `{"<":[{"length":%s},2]}`, `{">=":[{"length":%s},0]}`, `{"==":[{"round":%s},%s]}`, `{"==":[{"round":[%s,1]},2.5]}`,
		`{"<":[{"days":["2026-11-20",%s]},0]}`, `{"==":[{"days":["2026-11-20",%s]},null]}`, `{"<":[%s,{"today":[]}]}`, `{"in":[{"var":"answers.q"},["a","b"]]}`,
	} {
		own = append(own, strings.ReplaceAll(condition, "%s", `{"var":"answers.q"}`))
	}
	never, always := 0, 0
	for i, block := range editedBlocks {
		r := rand.New(rand.NewPCG(46, uint64(i)))
		alone := expect.Must(Compile(Source{Definition: storage.Definition{Blocks: json.RawMessage(`[{"id":"q",` + block + `}]`)}}))
		inputs := func(raw string) []Input {
			given := map[string]json.RawMessage{"q": json.RawMessage(raw)}
			return []Input{{Answers: given, Now: someDay}, {HostAnswers: given, Now: someDay}}
		}
		var accepted []Input
		for _, raw := range tried {
			for _, in := range inputs(raw) {
				if got, err := alone.Check(in); err == nil && string(got.List) != "[]" {
					accepted = append(accepted, in)
				}
			}
		}
		expect.Require(t, len(accepted) > 0 || strings.Contains(block, `"single_choice"`) || strings.Contains(block, "ranking"), "%s: no answers", block)
		conditions := own
		if *randomForms < 10_000 {
			conditions = append(slices.Clone(own[len(own)-11:]), own[r.IntN(len(own)-11)], own[r.IntN(len(own)-11)], own[r.IntN(len(own)-11)], own[r.IntN(len(own)-11)])
		}
		for _, condition := range conditions {
			rule := `"rule":{"check":[{"if":` + condition + `,"say":"x"}]}`
			withRule := block + `,"properties":{` + rule + `}`
			if strings.Contains(block, `"properties":{`) {
				withRule = strings.Replace(block, `"properties":{`, `"properties":{`+rule+`,`, 1)
			}
			from := Source{Definition: storage.Definition{Blocks: json.RawMessage(`[{"id":"q","label":"Q",` + withRule + `}]`)}}
			for _, w := range expect.Must(FindWarnings(from)) {
				if !strings.HasSuffix(w.Path, "/if") {
					continue
				}
				refused := 0
				f := expect.Must(Compile(from))
				for _, in := range accepted {
					if _, err := f.Check(in); err != nil {
						refused++
					}
				}
				switch w.Code {
				case schema.WarnNeverHolds:
					never++
					expect.That(t, refused == 0, "%s: %s refuses %d answers, a warning says none", block, condition, refused)
				case schema.WarnAlwaysHolds:
					always++
					expect.That(t, refused == len(accepted), "%s: %s refuses %d of %d answers, a warning says all", block, condition, refused, len(accepted))
				default:
					t.Errorf("%s: %s: the warning %+v", block, condition, w)
				}
			}
		}
	}
	t.Logf("%d never, %d always", never, always)
	expect.That(t, never > 50 && always > 10, "the test shows little")
}
