package answers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/formsvc/formsvc/internal/answers/identity"

	"github.com/google/go-cmp/cmp"

	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// compileTestForm compiles a form from sections written as JSON.
func compileTestForm(t testing.TB, blocks, settings, hidden string) Form {
	t.Helper()
	f, err := Compile(Source{Definition: storage.Definition{Blocks: json.RawMessage(blocks), Settings: json.RawMessage(settings), HiddenFields: json.RawMessage(hidden)}})
	expect.Require(t, err == nil, "compile: %v", err)
	return f
}

// compileOne compiles a form of one block with the id "q".
func compileOne(t testing.TB, typ, members string) Form {
	t.Helper()
	block := `{"id":"q","type":"` + typ + `","label":"Q"`
	if members != "" {
		block += "," + members
	}
	return compileTestForm(t, "["+block+"}]", "", "")
}

// inputOne is an answer to the first block from the side that may give it.
func inputOne(f Form, raw string) Input { return inputOf(f, 0, raw) }

// inputOf is an answer to a block from the side that may give it.
func inputOf(f Form, block int, raw string) Input {
	answers := raws(f.form.Blocks[block].ID, raw)
	if f.form.Blocks[block].Host {
		return Input{HostAnswers: answers}
	}
	return Input{Answers: answers}
}

// answerFaults renders the violations of err as "path CODE", one after the other.
func answerFaults(t testing.TB, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	var e *schema.Error
	expect.Require(t, errors.As(err, &e), "got %T (%v), want *schema.Error", err, err)
	var list []string
	for _, v := range e.Violations {
		expect.That(t, v.Message != "" && v.Field != "", "violation without message or field: %+v", v)
		checkViolation(t, v)
		list = append(list, v.Path+" "+v.Code)
	}
	return strings.Join(list, ", ")
}

// checkViolation holds a violation against the parameters that its code has, and its
// sentence against what no respondent understands.
func checkViolation(t testing.TB, v schema.Violation) {
	t.Helper()
	always, optional := schema.CodeParams(v.Code)
	for _, name := range always {
		_, ok := v.Params[name]
		expect.That(t, ok, "%s %s has no parameter %s: %s", v.Path, v.Code, name, v.Message)
	}
	for name, value := range v.Params {
		expect.That(t, slices.Contains(always, name) || slices.Contains(optional, name), "%s has an unknown parameter %s", v.Code, name)
		number, ok := value.(json.Number)
		expect.That(t, !ok || jsonNumber.MatchString(string(number)), "%s: %s is %q, not a number", v.Code, name, number)
	}
	expect.That(t, !unreadable.MatchString(v.Message), "no respondent understands %q", v.Message)
}

var (
	jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?(e[+-][0-9]+)?$`)
	unreadable = regexp.MustCompile(`[0-9]e[+-]?[0-9]|RFC|ISO|JSON|HH|YYYY|true|false|string|array|UTF|U\+|Inf|NaN|(^|[^.0-9])[0-9]{5,}`)
)

func TestSentencesAndParameters(t *testing.T) {
	for _, c := range []struct {
		block, answer string
		message       string
		params        map[string]any
	}{
		{`"type":"number","properties":{"max":1e6,"maxVal":true}`, `1000001`, "must be at most 1,000,000", map[string]any{"max": json.Number("1000000")}},
		{`"type":"number","properties":{"min":-1234.5,"max":1e20,"minVal":true,"maxVal":true}`, `-1e5`, "must be between -1,234.5 and 100,000,000,000,000,000,000", map[string]any{"min": json.Number("-1234.5"), "max": json.Number("100000000000000000000")}},
		{`"type":"number","properties":{"max":-0.0,"maxVal":true}`, `1`, "must be at most 0", map[string]any{"max": json.Number("0")}},
		{`"type":"number","properties":{"max":-1.5e21,"maxVal":true}`, `1`, "must be at most -1.5 × 10^21", map[string]any{"max": json.Number("-1.5e+21")}},
		{`"type":"opinion_scale","properties":{"from":0.1,"to":0.5,"scaleStep":0.2}`, `0.2`, "must be one of the values on the scale: 0.1, 0.3, 0.5", map[string]any{"min": json.Number("0.1"), "max": json.Number("0.5"), "step": json.Number("0.2")}},
		{`"type":"number","properties":{"min":1e-7,"minVal":true}`, `0`, "must be at least 0.0000001", map[string]any{"min": json.Number("0.0000001")}},
		{`"type":"nps"`, `11`, "must be between 0 and 10", map[string]any{"min": json.Number("0"), "max": json.Number("10")}},
		{`"type":"opinion_scale","properties":{"from":0,"to":100,"scaleStep":25}`, `30`, "must be one of the values on the scale: 0, 25, 50 and so on", map[string]any{"min": json.Number("0"), "max": json.Number("100"), "step": json.Number("25")}},
		{`"type":"multiple_choice","choices":[{"id":"a"},{"id":"b"}],"properties":{"limit":1}`, `["a","b"]`, "choose at most one", map[string]any{"max": 1, "unit": "choices"}},
		{`"type":"multiple_choice","choices":[{"id":"a"},{"id":"b"}],"properties":{"min":1.5,"minVal":true}`, `["a"]`, "choose at least two", map[string]any{"min": 2, "unit": "choices"}},
		{`"type":"ranking","choices":[{"id":"a"},{"id":"b"}]`, `["a"]`, "must rank every choice", map[string]any{"min": 2, "unit": "choices"}},
		{`"type":"yes_no"`, `7`, "must be answered with yes or no", map[string]any{"type": "boolean"}},
		{`"type":"legal","properties":{"legalStopFurther":true}`, `false`, "must be accepted", nil},
		{`"type":"long_text"`, `"` + strings.Repeat("x", 100_001) + `"`, "must have at most 100,000 characters", map[string]any{"limit": 100_000, "unit": "characters"}},
		{`"type":"short_text"`, `"a\u0000"`, "must not contain control characters", map[string]any{"format": "text"}},
		{`"type":"short_text"`, `"a`, "cannot be read", map[string]any{"format": "json"}},
		{`"type":"date"`, `"x"`, "must be a date, such as 2026-11-20", map[string]any{"format": "date"}},
		{`"type":"date"`, `"0085-02-03"`, "must have a four-digit year without a leading zero, such as 1985", map[string]any{"format": "year"}},
		{`"type":"date","properties":{"showTimePicker":true}`, `"0085-02-03T10:00:00Z"`, "must have a four-digit year without a leading zero, such as 1985", map[string]any{"format": "year"}},
		{`"type":"date","properties":{"showTimePicker":true}`, `"2026-03-29T02:30:00"`, "must have a time with a UTC offset, such as 2026-11-20T08:30:00+01:00", map[string]any{"format": "offset"}},
		{`"type":"date","properties":{"beforeDate":"2026-08-04T00:00:00Z"}`, `"2026-08-05"`, "must be on or before 4 August 2026", map[string]any{"max": "2026-08-04"}},
		{`"type":"date","properties":{"disabledDays":65}`, `"2026-08-01"`, "must not be on a Saturday", map[string]any{"reason": "weekday", "allowed": []int{1, 2, 3, 4, 5}}},
		{`"type":"date","properties":{"specificDates":["2026-08-04T00:00:00Z"]}`, `"2026-08-05"`, "must be one of the available dates", map[string]any{"reason": "date", "allowed": []string{"2026-08-04"}}},
		{`"type":"file_upload"`, `{"id":"f","name":"a","url":"https://files.example/f","mime_type":"image/png","size":0}`, "must not be empty", map[string]any{"min": json.Number("1"), "unit": "bytes"}},
		{`"type":"signature","properties":{"maxFileSize":true}`, `{"id":"f","name":"a","url":"https://files.example/f","mime_type":"image/png","size":10485761}`, "must be at most 10 MB", map[string]any{"min": json.Number("0"), "max": json.Number("10485760"), "unit": "bytes"}},
		{`"type":"single_choice"`, `"a"`, "must be one of the choices", nil},
		{`"type":"divider"`, `"a"`, "blocks of this type cannot be answered", map[string]any{"reason": "no_answer"}},
	} {
		f := compileTestForm(t, `[{"id":"q",`+c.block+`}]`, "", "")
		_, err := f.Check(inputOne(f, c.answer))
		var invalid *schema.Error
		if !errors.As(err, &invalid) || len(invalid.Violations) != 1 {
			t.Errorf("%s answered with %.60s: %v", c.block, c.answer, err)
			continue
		}
		v := invalid.Violations[0]
		checkViolation(t, v)
		expect.That(t, v.Message == c.message, "%s answered with %.60s: %q, want %q", c.block, c.answer, v.Message, c.message)
		diff := cmp.Diff(c.params, v.Params)
		expect.That(t, diff == "", "%s answered with %.60s: parameters (-want +got):\n%s", c.block, c.answer, diff)
	}
}

// answerCase is one answer to one block. Without fault, want is the stored value,
// "" meaning that nothing is stored.
type answerCase struct {
	in, want, fault string
}

// checkCases runs answers against one block: each is stored or refused as the
// case says, and what is stored is accepted again unchanged.
func checkCases(t *testing.T, typ, members string, cases []answerCase) {
	t.Helper()
	f := compileOne(t, typ, members)
	name := typ
	if members != "" {
		name += " with " + members
	}
	for _, c := range cases {
		t.Run(fmt.Sprintf("%.60s answered with %.60s", name, c.in), func(t *testing.T) {
			got, err := f.Check(inputOne(f, c.in))
			diff := cmp.Diff(c.fault, answerFaults(t, err))
			expect.Require(t, diff == "", "faults (-want +got):\n%s", diff)
			if c.fault != "" {
				return
			}
			value := storedValue(t, got)
			diff = cmp.Diff(c.want, value)
			expect.Require(t, diff == "", "value (-want +got):\n%s", diff)
			if value == "" {
				return
			}
			again, err := f.Check(inputOne(f, value))
			expect.Require(t, err == nil, "the stored value is refused: %v", err)
			expect.Same(t, value, storedValue(t, again), "the stored value, checked again")
		})
	}
}

// storedValue returns the value of the only answer, "" when there is none, and
// checks that both shapes hold it.
func storedValue(t testing.TB, a Answers) string {
	t.Helper()
	var list []struct {
		Field struct{ ID, Type, Label string }
		Value json.RawMessage
	}
	err := json.Unmarshal(a.List, &list)
	expect.Require(t, err == nil, "List %s: %v", a.List, err)
	var byField map[string]json.RawMessage
	err = json.Unmarshal(a.ByField, &byField)
	expect.Require(t, err == nil, "ByField %s: %v", a.ByField, err)
	expect.Require(t, len(list) == len(byField) && len(list) <= 1, "%d answers in List, %d in ByField", len(list), len(byField))
	if len(list) == 0 {
		return ""
	}
	if !bytes.Equal(list[0].Value, byField[list[0].Field.ID]) {
		t.Fatalf("List has %s, ByField %s", list[0].Value, byField[list[0].Field.ID])
	}
	return string(list[0].Value)
}

// unanswered are the answers that mean none, for every type.
var unanswered = []answerCase{{in: `null`}, {in: `""`}, {in: `[]`}, {in: " null "}, {in: `" \t\n\u00a0\u2003"`}}

// Each test below has the answers of a type that TestMeaning does not have, and the paths of faults.

func TestCheckUnanswered(t *testing.T) {
	for _, typ := range answeringTypes {
		checkCases(t, typ, "", unanswered)
	}
}

// refused are texts that a type does not take.
func refused(code string, texts ...string) (cases []answerCase) {
	for _, text := range texts {
		cases = append(cases, answerCase{in: `"` + text + `"`, fault: "/answers/q " + code})
	}
	return cases
}

func TestCheckText(t *testing.T) {
	for _, typ := range []string{schema.TypeShortText, schema.TypeLongText} {
		checkCases(t, typ, "", append(refused("BAD_FORMAT", `a\u007fb`, `\ud83d`, "\xff"), []answerCase{
			{in: `"\u0041\/\"\\\t<&>"`, want: `"A/\"\\\t<&>"`},
			{in: `"\ud83d\ude00"`, want: `"😀"`},
			{in: `"a`, fault: "/answers/q BAD_FORMAT"},
			{in: `"a" "b"`, fault: "/answers/q BAD_FORMAT"},
			{in: `["a"]`, fault: "/answers/q WRONG_TYPE"},
		}...))
		checkCases(t, typ, `"properties":{"maxChars":3}`, []answerCase{
			{in: `"äöü"`, want: `"äöü"`},
			{in: `"äöüa"`, fault: "/answers/q TOO_LONG"},
			{in: `"    "`},
		})
	}
	checkCases(t, schema.TypeShortText, "", []answerCase{
		{in: `"` + strings.Repeat("é", 10_000) + `"`, want: `"` + strings.Repeat("é", 10_000) + `"`},
	})
	checkCases(t, schema.TypeShortText, `"properties":{"maxChars":0}`, []answerCase{{in: `"abc"`, want: `"abc"`}})
	checkCases(t, schema.TypeShortText, `"properties":{"maxChars":3.0}`, []answerCase{{in: `"abcd"`, fault: "/answers/q TOO_LONG"}})
}

func TestCheckEmail(t *testing.T) {
	checkCases(t, schema.TypeEmail, "", refused("BAD_FORMAT",
		"@example.com", "ada@", "ada@@example.com", "a@b@example.com", ".ada@example.com", "ada.@example.com", "a..b@example.com", "ada@example-.com",
		"ada@10.0.0.1", `\"a b\"@example.com`, "ada@exa mple.com", "mailto:ada@example.com,bob@example.com", `ada@example.com\u0007`,
		strings.Repeat("a", 65)+"@example.com", "ada@"+strings.Repeat("a", 64)+".com", "ada@example.com."))
}

func TestCheckWebsite(t *testing.T) {
	checkCases(t, schema.TypeWebsite, "", refused("BAD_FORMAT",
		"JavaScript://example.com/%0aalert(1)", "data:text/html,x", "mailto:ada@example.com", "tel:123", "//example.com", "://example.com", "http://", "https:///path",
		"https://user@example.com", "http://example.com:0", "http://example.com:x", `http://exam\\ple.com`, "http://exam ple.com", `java\tscript:alert(1)`,
		"http://[::1", "file:///etc/passwd", "?u=example.com"))
}

func TestCheckNumber(t *testing.T) {
	checkCases(t, schema.TypeNumber, "", append(refused("WRONG_TYPE", "Inf", "1_000", "1.", "01", "1e400", "1e1000001", "true", "null", "[1]", `\"1\"`, "1 2"), []answerCase{
		{in: `0e5`, want: `0`},
		{in: `-12.034`, want: `-12.034`},
		{in: `1.5E+2`, want: `150`},
		{in: `1e-7`, want: `1e-07`},
		{in: `1e131000`, fault: "/answers/q BAD_FORMAT"},
		{in: strings.Repeat("9", 65), fault: "/answers/q BAD_FORMAT"},
		{in: `NaN`, fault: "/answers/q BAD_FORMAT"},
		{in: `{"a":1}`, fault: "/answers/q WRONG_TYPE"},
	}...))
	checkCases(t, schema.TypeNumber, `"properties":{"min":-1.5,"max":10,"minVal":true,"maxVal":true}`, []answerCase{
		{in: `-1.5`, want: `-1.5`},
		{in: `-1.51`, fault: "/answers/q OUT_OF_RANGE"},
	})
	checkCases(t, schema.TypeNumber, `"properties":{"min":5,"max":10,"maxVal":true}`, []answerCase{
		{in: `1`, want: `1`}, // min without minVal does not count
		{in: `11`, fault: "/answers/q OUT_OF_RANGE"},
	})
	checkCases(t, schema.TypeNumber, `"properties":{"min":5,"minVal":true}`, []answerCase{{in: `4`, fault: "/answers/q OUT_OF_RANGE"}})
	checkCases(t, schema.TypeNumber, `"properties":{"minVal":true,"maxVal":true}`, []answerCase{{in: `-4e9`, want: `-4000000000`}})
}

func TestCheckScales(t *testing.T) {
	for _, typ := range []string{schema.TypeRating, schema.TypeNPS} {
		checkCases(t, typ, "", []answerCase{
			{in: `1e-7`, fault: "/answers/q WRONG_TYPE"},
			{in: `3.00000000000000000000000001`, fault: "/answers/q WRONG_TYPE"},
		})
	}
	checkCases(t, schema.TypeNPS, `"properties":{"to":3}`, []answerCase{{in: `10`, want: `10`}})
	checkCases(t, schema.TypeOpinionScale, `"properties":{"from":-1,"to":1,"scaleStep":0.1}`, []answerCase{{in: `0.3001`, fault: "/answers/q OUT_OF_RANGE"}})
	checkCases(t, schema.TypeOpinionScale, `"properties":{"from":1,"to":10,"scaleStep":4}`, []answerCase{
		{in: `9`, want: `9`}, {in: `10`, fault: "/answers/q OUT_OF_RANGE"},
	})
	checkCases(t, schema.TypeOpinionScale, `"properties":{"from":5,"to":1}`, []answerCase{{in: `3`, fault: "/answers/q OUT_OF_RANGE"}})
}

const testChoices = `"choices":[{"id":"a","label":"Ay"},{"id":"b","label":"\"B\""},{"id":"c"}]`

func TestCheckOneChoice(t *testing.T) {
	for _, typ := range []string{schema.TypeSingleChoice, schema.TypeDropdown, schema.TypePictureChoice} {
		checkCases(t, typ, testChoices, []answerCase{
			{in: `{"id":"b"}`, want: `{"id":"b","label":"\"B\""}`},
			{in: `{"id":""}`, fault: "/answers/q NOT_A_CHOICE"},
			{in: `{"other":"x"}`, fault: "/answers/q NOT_A_CHOICE"},
			{in: `{"id":1}`, fault: "/answers/q WRONG_TYPE"},
			{in: `{}`, fault: "/answers/q WRONG_TYPE"},
			{in: `{"id":"a","id":"b"}`, fault: "/answers/q BAD_FORMAT"},
			{in: `{"id":"a","label":"\u0000"}`, fault: "/answers/q BAD_FORMAT"},
		})
		checkCases(t, typ, testChoices+`,"properties":{"otherOption":true}`, []answerCase{{in: `"my own"`, fault: "/answers/q NOT_A_CHOICE"}})
	}
}

func TestCheckManyChoices(t *testing.T) {
	types := map[string]string{schema.TypeMultipleChoice: "", schema.TypePictureChoice: `"multiSelection":true,`}
	const ay, cee = `{"id":"a","label":"Ay"}`, `{"id":"c","label":""}`
	for typ, multi := range types {
		checkCases(t, typ, testChoices+`,"properties":{`+multi+`"min":2,"max":1}`, []answerCase{
			{in: `["c","a"]`, want: "[" + ay + "," + cee + "]"},
			{in: `["a","x","a",7]`, fault: "/answers/q/1 NOT_A_CHOICE, /answers/q/2 DUPLICATE, /answers/q/3 WRONG_TYPE"},
			{in: `"x"`, fault: "/answers/q NOT_A_CHOICE"},
			{in: `[{"other":"x"}]`, fault: "/answers/q/0 NOT_A_CHOICE"},
		})
		checkCases(t, typ, testChoices+`,"properties":{`+multi+`"otherOption":true,"minVal":true,"min":2,"maxVal":true,"max":3,"limit":9}`, []answerCase{
			{in: `[{"other":"x"},"c"]`, want: "[" + cee + `,{"other":"x"}]`},
			{in: `"a"`, fault: "/answers/q TOO_FEW"},
			{in: `["a","b","c",{"other":"x"}]`, fault: "/answers/q TOO_MANY"},
			{in: `[]`},
		})
		checkCases(t, typ, testChoices+`,"properties":{`+multi+`"limit":1}`, []answerCase{
			{in: `["a"]`, want: "[" + ay + "]"},
			{in: `["a","b"]`, fault: "/answers/q TOO_MANY"},
		})
	}
}

func TestCheckRanking(t *testing.T) {
	checkCases(t, schema.TypeRanking, testChoices, []answerCase{
		{in: `["c","a","a"]`, fault: "/answers/q/2 DUPLICATE"},
		{in: `["c","a","b","x"]`, fault: "/answers/q/3 NOT_A_CHOICE"},
	})
}

func TestCheckMatrix(t *testing.T) {
	const members = `"matrix_rows":[{"id":"r1"},{"id":"r/2"}],"matrix_columns":[{"id":"x","label":"X"},{"id":"y"}]`
	checkCases(t, schema.TypeMatrix, members, []answerCase{
		{in: `{"r/2":"z","r1":["x"],"r3":"x"}`, fault: "/answers/q/r1 WRONG_TYPE, /answers/q/r3 NOT_A_CHOICE, /answers/q/r~12 NOT_A_CHOICE"},
	})
	checkCases(t, schema.TypeMatrix, members+`,"required":true`, []answerCase{
		{in: `{"r1":"x"}`, fault: "/answers/q/r~12 REQUIRED"},
		{in: `{"r1":"x","r/2":"x"}`, want: `{"r1":{"id":"x","label":"X"},"r/2":{"id":"x","label":"X"}}`},
		{in: `{}`, fault: "/answers/q REQUIRED"},
	})
	checkCases(t, schema.TypeMatrix, members+`,"properties":{"multiSelection":true}`, []answerCase{{in: `{"r1":["x","x"]}`, fault: "/answers/q/r1/1 DUPLICATE"}})
}

func TestCheckDate(t *testing.T) {
	checkCases(t, schema.TypeDate, "", refused("BAD_FORMAT", "2026-02-30", "0000-00-00", "2026-00-10",
		"26-01-01", "02026-01-01", "-001-01-01", "2026/08/01", "2026-08-01x", "２０２６-08-01"))
	// 2026-08-01 is a Saturday. The bounds' own time of day does not matter.
	checkCases(t, schema.TypeDate, `"properties":{"afterDate":"2026-08-01T18:00:00Z","beforeDate":"2026-08-10T06:00:00Z","disabledDays":1}`, []answerCase{
		{in: `"2026-08-01"`, want: `"2026-08-01"`},
		{in: `"2026-08-10"`, want: `"2026-08-10"`},
		{in: `"2026-07-31"`, fault: "/answers/q OUT_OF_RANGE"},
		{in: `"2026-08-11"`, fault: "/answers/q OUT_OF_RANGE"},
		{in: `"2026-08-02"`, fault: "/answers/q NOT_ALLOWED"},
		{in: `"2026-08-16"`, fault: "/answers/q NOT_ALLOWED, /answers/q OUT_OF_RANGE"},
	})
	checkCases(t, schema.TypeDate, `"properties":{"specificDates":["2026-08-01T00:00:00Z","2026-08-05T23:30:00Z"]}`, []answerCase{
		{in: `"2026-08-05"`, want: `"2026-08-05"`},
		{in: `"2026-08-02"`, fault: "/answers/q NOT_ALLOWED"},
	})
	checkCases(t, schema.TypeDate, `"properties":{"specificDates":[],"disabledDays":0}`, []answerCase{{in: `"2026-08-02"`, want: `"2026-08-02"`}})
}

func TestCheckDateWithTime(t *testing.T) {
	checkCases(t, schema.TypeDate, `"properties":{"showTimePicker":true}`, refused("BAD_FORMAT", "2026-08-01T10:60:00Z", "2026-08-01T10:30:00,5Z",
		"2026-08-01T10:30:00+24:00", "9999-12-31T23:59:59-01:00", "0001-01-01T00:00:00+01:00", "0000-12-31T23:00:00-05:00", "9999-12-31T23:59:60Z"))
	checkCases(t, schema.TypeDate, `"properties":{"showTimePicker":true,"afterDate":"2026-08-01T09:00:00Z","beforeDate":"2026-08-04T18:00:00Z","disabledDays":1}`, []answerCase{
		{in: `"2026-08-01T00:00:00Z"`, want: `"2026-08-01T00:00:00Z"`}, // the day counts, not the hour
		{in: `"2026-07-31T23:59:59Z"`, fault: "/answers/q OUT_OF_RANGE"},
		{in: `"2026-08-04T23:59:59Z"`, want: `"2026-08-04T23:59:59Z"`},
		{in: `"2026-08-05T00:00:00+14:00"`, fault: "/answers/q OUT_OF_RANGE"},
		{in: `"2026-08-01T23:00:00-05:00"`, want: `"2026-08-01T23:00:00-05:00"`}, // Sunday in UTC, but not as written
		{in: `"2026-08-02T01:00:00+05:00"`, fault: "/answers/q NOT_ALLOWED"},
	})
}

func TestCheckTime(t *testing.T) {
	checkCases(t, schema.TypeTime, "", refused("BAD_FORMAT", "09:05:01", "09-05", "1:2:3", "09:5"))
	checkCases(t, schema.TypeTime, `"properties":{"showSeconds":true}`, refused("BAD_FORMAT", "09:05:5", "09:05:05.5", "9:05:05.", "1:04:05.5"))
}

func TestCheckContact(t *testing.T) {
	const members = `"properties":{"addressOrContact":{"firstName":{"required":true},"company":{"hide":true,"required":true},"zip":{"required":true}}}`
	for _, typ := range []string{schema.TypeAddress, schema.TypeContactInfo} {
		checkCases(t, typ, "", []answerCase{
			{in: `{"city":"Bonn","email":" A@B.EXAMPLE ","zip":null}`, want: `{"email":"A@b.example","city":"Bonn"}`},
			{in: `{"town":"Bonn"}`, fault: "/answers/q/town UNKNOWN_FIELD"},
			{in: `{"email":"x","zip":53111}`, fault: "/answers/q/email BAD_FORMAT, /answers/q/zip WRONG_TYPE"},
			{in: `{"city":"` + strings.Repeat("x", 1001) + `"}`, fault: "/answers/q/city TOO_LONG"},
		})
		checkCases(t, typ, members, []answerCase{
			{in: `{"firstName":"A","zip":"1"}`, want: `{"firstName":"A","zip":"1"}`},
			{in: `{"company":"C","city":"Bonn"}`, fault: "/answers/q/company NOT_ALLOWED, /answers/q/firstName REQUIRED, /answers/q/zip REQUIRED"},
			{in: `{"company":"C"}`, fault: "/answers/q/company NOT_ALLOWED, /answers/q/firstName REQUIRED, /answers/q/zip REQUIRED"},
			{in: `{"company":""}`},
		})
		checkCases(t, typ, members+`,"required":true`, []answerCase{{in: `{}`, fault: "/answers/q REQUIRED"}})
		// A country without postal codes or states is asked for none.
		const both = `"addressOrContact":{"zip":{"required":true},"state":{"required":true},"city":{"required":true}`
		checkCases(t, typ, `"properties":{`+both+`}}`, []answerCase{
			{in: `{"city":"Hong Kong","country":"HK"}`, want: `{"city":"Hong Kong","country":"HK"}`},
			{in: `{"city":"Doha","country":"qat"}`, want: `{"city":"Doha","country":"QA"}`},
			{in: `{"city":"Singapore","zip":"018956","country":"SG"}`, want: `{"city":"Singapore","zip":"018956","country":"SG"}`},
			{in: `{"city":"Dubai","state":"Dubai","country":"AE"}`, want: `{"city":"Dubai","state":"Dubai","country":"AE"}`},
			{in: `{"city":"Dubai","country":"AE"}`, fault: "/answers/q/state REQUIRED"},
			{in: `{"city":"Bonn","country":"DE"}`, fault: "/answers/q/zip REQUIRED"},
			{in: `{"city":"Boston","country":"US"}`, fault: "/answers/q/state REQUIRED, /answers/q/zip REQUIRED"},
			{in: `{"country":"HK"}`, fault: "/answers/q/city REQUIRED"},
			{in: `{"city":"Bonn"}`, fault: "/answers/q/state REQUIRED, /answers/q/zip REQUIRED"},
			{in: `{"city":"Panama","zip":"0801","state":"Panama","country":"PA"}`, want: `{"city":"Panama","state":"Panama","zip":"0801","country":"PA"}`},
		})
		checkCases(t, typ, `"properties":{"defaultCountry":"MO",`+both+`,"country":{"hide":true}}}`, []answerCase{{in: `{"city":"Macao"}`, want: `{"city":"Macao"}`}})
		checkCases(t, typ, `"properties":{"defaultCountry":"MO",`+both+`}}`, []answerCase{{in: `{"city":"Macao"}`, fault: "/answers/q/state REQUIRED, /answers/q/zip REQUIRED"}})
	}
}

func TestCheckFiles(t *testing.T) {
	const one = `{"id":"f","name":"a.PDF","url":"https://files.example/f","mime_type":"application/pdf","size":10}`
	const big = `{"id":"f","name":"a.png","url":"https://files.example/f","mime_type":"image/png","size":10485761}`
	checkCases(t, schema.TypeFileUpload, "", []answerCase{
		{in: one, want: "[" + one + "]"},
		{in: "[" + one + "]", want: "[" + one + "]"},
		{in: "[" + big + "]", want: "[" + big + "]"},
		{in: "[" + one + "," + one + "]", fault: "/host_answers/q TOO_MANY"},
		{in: `[{"id":"f","path":"x","url":"javascript:alert(1)","size":-1}]`, fault: "/host_answers/q/0/mime_type REQUIRED, /host_answers/q/0/name REQUIRED, " +
			"/host_answers/q/0/path UNKNOWN_FIELD, /host_answers/q/0/size OUT_OF_RANGE, /host_answers/q/0/url BAD_FORMAT"},
		{in: strings.Replace(one, `10}`, `1.5}`, 1), fault: "/host_answers/q/size WRONG_TYPE"},
		{in: strings.Replace(one, `10}`, `1e300}`, 1), fault: "/host_answers/q/size WRONG_TYPE"},
		{in: strings.Replace(one, `10}`, `"10"}`, 1), fault: "/host_answers/q/size WRONG_TYPE"},
		{in: strings.Replace(one, `"f"`, `7`, 1), fault: "/host_answers/q/id WRONG_TYPE"},
		{in: `"f"`, fault: "/host_answers/q WRONG_TYPE"},
	})
	checkCases(t, schema.TypeFileUpload, `"properties":{"allowedFiles":["pdf","image/*"],"multipleFiles":true,"maxFileSize":true}`, []answerCase{
		{in: "[" + one + "," + one + "]", want: "[" + one + "," + one + "]"},
		{in: big, fault: "/host_answers/q/size OUT_OF_RANGE"},
		{in: `[{"id":"f","name":"a.exe","url":"https://files.example/f","mime_type":"application/x-msdownload","size":1}]`, fault: "/host_answers/q/0/mime_type NOT_ALLOWED"},
		{in: "[" + strings.Repeat(one+",", 100) + one + "]", fault: "/host_answers/q TOO_MANY"},
	})
	named := func(name string) string {
		return `[{"id":"f","name":"` + name + `","url":"https://files.example/f","mime_type":"application/gzip","size":1}]`
	}
	checkCases(t, schema.TypeFileUpload, `"properties":{"allowedFiles":[".tar.gz","Md"]}`, []answerCase{
		{in: named("a.TAR.gz"), want: named("a.TAR.gz")},
		{in: named("README.md"), want: named("README.md")},
		{in: named("a.gz"), fault: "/host_answers/q/0/mime_type NOT_ALLOWED"},
		{in: named("atar.gz"), fault: "/host_answers/q/0/mime_type NOT_ALLOWED"},
		{in: named("cmd"), fault: "/host_answers/q/0/mime_type NOT_ALLOWED"},
	})
	checkCases(t, schema.TypeSignature, `"properties":{"maxFileSize":true}`, []answerCase{
		{in: big[:len(big)-9] + "10485760}", want: big[:len(big)-9] + "10485760}"},
		{in: big, fault: "/host_answers/q/size OUT_OF_RANGE"},
		{in: "[" + one + "]", fault: "/host_answers/q WRONG_TYPE"},
		{in: `{}`, fault: "/host_answers/q/id REQUIRED, /host_answers/q/mime_type REQUIRED, /host_answers/q/name REQUIRED, /host_answers/q/size REQUIRED, /host_answers/q/url REQUIRED"},
	})
}

func TestCheckPayment(t *testing.T) {
	checkCases(t, schema.TypePayment, "", []answerCase{
		{in: `{"amount":"10.00"}`, fault: "/host_answers/q/currency REQUIRED, /host_answers/q/gateway REQUIRED, /host_answers/q/status REQUIRED"},
		{in: `{"amount":"1e3","currency":"EURO","status":1,"gateway":"g","x":1}`, fault: "/host_answers/q/amount BAD_FORMAT, /host_answers/q/currency BAD_FORMAT, " +
			"/host_answers/q/status WRONG_TYPE, /host_answers/q/x UNKNOWN_FIELD"},
	})
	checkCases(t, schema.TypePayment, `"properties":{"currency":"eur","paymentGateway":"stripe"}`, []answerCase{
		{in: `{"amount":"5","status":"paid"}`, want: `{"amount":"5","currency":"EUR","status":"paid","gateway":"stripe"}`},
	})
}

// answeringTypes are all types with an answer.
var answeringTypes = []string{
	schema.TypeShortText, schema.TypeLongText, schema.TypeEmail, schema.TypePhone, schema.TypeWebsite, schema.TypeNumber, schema.TypeRating, schema.TypeOpinionScale, schema.TypeNPS, schema.TypeYesNo, schema.TypeLegal,
	schema.TypeSingleChoice, schema.TypeMultipleChoice, schema.TypePictureChoice, schema.TypeDropdown, schema.TypeRanking, schema.TypeMatrix, schema.TypeDate, schema.TypeTime, schema.TypeFileUpload,
	schema.TypeSignature, schema.TypeAddress, schema.TypeContactInfo, schema.TypeCountry, schema.TypePayment,
}

func TestCheckRequired(t *testing.T) {
	for _, typ := range answeringTypes {
		f := compileOne(t, typ, `"required":true`)
		want := f.form.Blocks[0].Path + " REQUIRED"
		for _, raw := range []string{"", "null", `""`, "[]"} {
			t.Run(fmt.Sprintf("a required %s answered with %q is refused", typ, raw), func(t *testing.T) {
				_, err := f.Check(inputOne(f, raw))
				expect.Same(t, want, answerFaults(t, err), "faults")
			})
		}
		_, err := f.Check(Input{})
		expect.That(t, answerFaults(t, err) == want, "%s: no answers at all: %v", typ, err)
	}
}

func TestCheckBlocksWithoutAnswer(t *testing.T) {
	content := []string{
		schema.TypeWelcome, schema.TypeStatement, schema.TypeEnding, schema.TypeHeading, schema.TypeText, schema.TypeImage, schema.TypeVideo, schema.TypePDF, schema.TypeEmbed, schema.TypeDivider, schema.TypePageBreak, schema.TypeGroup, "from_the_future",
	}
	for _, typ := range content {
		checkCases(t, typ, `"required":true`, append([]answerCase{
			{in: `"x"`, fault: "/answers/q NOT_ALLOWED"}, {in: `{}`, fault: "/answers/q NOT_ALLOWED"}, {in: `{`, fault: "/answers/q NOT_ALLOWED"},
		}, unanswered...))
	}
	checkCases(t, schema.TypeCaptcha, `"required":true`, []answerCase{{in: `"token"`}, {in: `null`}, {in: `{`}})
}

func TestCheckSides(t *testing.T) {
	for _, typ := range answeringTypes {
		f := compileOne(t, typ, "")
		wrong := Input{Answers: map[string]json.RawMessage{"q": json.RawMessage(`{"status":"paid"}`)}}
		path := "/answers/q"
		if !f.form.Blocks[0].Host {
			wrong.Answers, wrong.HostAnswers = nil, wrong.Answers
			path = "/host_answers/q"
		}
		if _, err := f.Check(wrong); answerFaults(t, err) != path+" NOT_ALLOWED" {
			t.Errorf("%s from the wrong side: %v", typ, err)
		}
	}
	f := compileOne(t, schema.TypePayment, `"required":true`)
	forged := map[string]json.RawMessage{"q": json.RawMessage(`{"amount":"1","currency":"EUR","status":"paid","gateway":"g"}`)}
	_, err := f.Check(Input{Answers: forged})
	if got, want := answerFaults(t, err), "/answers/q NOT_ALLOWED, /host_answers/q REQUIRED"; got != want {
		t.Errorf("a respondent's own payment: %s, want %s", got, want)
	}
	_, err = f.Check(Input{HostAnswers: forged, Answers: map[string]json.RawMessage{"q": json.RawMessage("null")}})
	expect.That(t, err == nil, "null from the respondent beside the host's payment: %v", err)
}

func TestCheckWholeResponse(t *testing.T) {
	const blocks = `[
		{"id":"hello","type":"welcome","label":"Hi"},
		{"id":"name","type":"short_text","label":"Your \"name\"","required":true},
		{"id":"g","type":"group","label":"G","children":[
			{"id":"age","type":"number","label":"Age"},
			{"id":"g2","type":"group","children":[{"id":"ok","type":"yes_no","required":true}]}]},
		{"id":"s","type":"statement","children":[{"id":"ghost","type":"short_text","required":true}]},
		{"id":"pay","type":"payment","label":"Pay"},
		{"id":"last","type":"single_choice","choices":[{"id":"a","label":"A"}]}]`
	f := compileTestForm(t, blocks, `{"duplicateField":"name","nope":1}`, `["src","empty","name","ref","src"]`)

	t.Run("a good one is written in definition order, hidden fields last", func(t *testing.T) {
		got := expect.Must(f.Check(Input{
			Answers:     raws("last", `"a"`, "ok", `false`, "age", `"7"`, "name", `"Ada"`),
			HostAnswers: raws("pay", `{"amount":"1","currency":"EUR","status":"paid","gateway":"g"}`),
			Hidden:      map[string]string{"ref": "r", "src": "<\u2028\">", "empty": "", "undeclared": "\x00", "name": "x"},
		}))
		want := Answers{
			List: json.RawMessage(`[{"field":{"id":"name","type":"short_text","label":"Your \"name\""},"value":"Ada"},` +
				`{"field":{"id":"age","type":"number","label":"Age"},"value":7},` +
				`{"field":{"id":"ok","type":"yes_no","label":""},"value":false},` +
				`{"field":{"id":"pay","type":"payment","label":"Pay"},"value":{"amount":"1","currency":"EUR","status":"paid","gateway":"g"}},` +
				`{"field":{"id":"last","type":"single_choice","label":""},"value":{"id":"a","label":"A"}},` +
				"{\"field\":{\"id\":\"src\",\"type\":\"hidden\",\"label\":\"src\"},\"value\":\"<\u2028\\\">\"}," +
				`{"field":{"id":"ref","type":"hidden","label":"ref"},"value":"r"}]`),
			ByField: json.RawMessage(`{"name":"Ada","age":7,"ok":false,"pay":{"amount":"1","currency":"EUR","status":"paid","gateway":"g"},` +
				`"last":{"id":"a","label":"A"},` + "\"src\":\"<\u2028\\\">\",\"ref\":\"r\"}"),
			Hidden:    json.RawMessage("{\"src\":\"<\u2028\\\">\",\"ref\":\"r\"}"),
			Variables: json.RawMessage("{}"),
			Consents:  json.RawMessage("{}"),
			Unique:    identity.UniqueDigest("short_text", []byte(`"Ada"`)),
		}
		expect.Same(t, want, got, "answers")
	})

	t.Run("all faults of a bad one are reported at once", func(t *testing.T) {
		_, err := f.Check(Input{
			Answers:     raws("last", `"z"`, "age", `"x"`, "nobody/~", `1`, "ghost", `null`, "hello", `"x"`, "pay", `1`, "src", `"x"`),
			HostAnswers: raws("name", `"x"`, "nobody", `1`),
			Hidden:      map[string]string{"src": "a\x00", "ref": "\xff", "empty": strings.Repeat("x", 10_001)},
		})
		want := strings.Join([]string{
			"/answers/age WRONG_TYPE", "/answers/ghost UNKNOWN_FIELD", "/answers/hello NOT_ALLOWED", "/answers/last NOT_A_CHOICE", "/answers/name REQUIRED",
			"/answers/nobody~1~0 UNKNOWN_FIELD", "/answers/ok REQUIRED", "/answers/pay NOT_ALLOWED", "/answers/src UNKNOWN_FIELD", "/hidden/empty TOO_LONG",
			"/hidden/ref BAD_FORMAT", "/hidden/src BAD_FORMAT", "/host_answers/name NOT_ALLOWED", "/host_answers/nobody UNKNOWN_FIELD",
		}, ", ")
		expect.Same(t, want, answerFaults(t, err), "faults")
	})

	t.Run("an empty form accepts nothing and stores nothing", func(t *testing.T) {
		empty := compileTestForm(t, "", "", "")
		got, err := empty.Check(Input{})
		want := Answers{List: json.RawMessage("[]"), ByField: json.RawMessage("{}"), Hidden: json.RawMessage("{}"), Variables: json.RawMessage("{}"), Consents: json.RawMessage("{}")}
		diff := cmp.Diff(want, got)
		expect.That(t, err == nil && diff == "", "error %v, answers (-want +got):\n%s", err, diff)
		_, err = empty.Check(Input{Answers: raws("q", "null")})
		expect.That(t, answerFaults(t, err) == "/answers/q UNKNOWN_FIELD", "got %v", err)
	})
}

// The answer to a legal block stores the text that was accepted or declined, without formats.
func TestCheckStoresLegalTexts(t *testing.T) {
	const blocks = `[
		{"id":"a","type":"legal","label":"A","properties":{"legalText":"I **accept** the [terms](https://example.com/?a=1&b=2) \\* {{answers.b}} <b> \"q\""}},
		{"id":"b","type":"legal","label":"B","properties":{"legalText":"Send me _news_"}},
		{"id":"c","type":"legal","label":"C"},
		{"id":"d","type":"legal","properties":{"legalText":""}},
		{"id":"e","type":"yes_no","properties":{"legalText":"not a legal block"}},
		{"id":"g","type":"group","children":[{"id":"f","type":"legal","properties":{"legalText":"In a group"}}]}]`
	f := compileTestForm(t, blocks, "", "")
	given := raws("a", `true`, "b", `false`, "c", `true`, "d", `true`, "e", `true`, "f", `"true"`)
	got := expect.Must(f.Check(Input{Answers: given}))
	expect.Equal(t, string(got.List), `[{"field":{"id":"a","type":"legal","label":"A","text":"I accept the terms (https://example.com/?a=1&b=2) * {{answers.b}} <b> \"q\""},"value":true},`+
		`{"field":{"id":"b","type":"legal","label":"B","text":"Send me news"},"value":false},`+
		`{"field":{"id":"c","type":"legal","label":"C"},"value":true},{"field":{"id":"d","type":"legal","label":""},"value":true},`+
		`{"field":{"id":"e","type":"yes_no","label":""},"value":true},{"field":{"id":"f","type":"legal","label":"","text":"In a group"},"value":true}]`, "the list")
	expect.Equal(t, string(got.Consents), `{"a":"I accept the terms (https://example.com/?a=1&b=2) * {{answers.b}} <b> \"q\"","f":"In a group"}`, "the consents")
	expect.Equal(t, string(got.ByField), `{"a":true,"b":false,"c":true,"d":true,"e":true,"f":true}`, "by field")
	answers, err := schema.DecodeAnswers(got.List)
	expect.That(t, err == nil && answers[1].LegalText == "Send me news" && answers[2].LegalText == "", "decoded: %+v, %v", answers, err)

	for name, c := range map[string]struct {
		seen map[string]string
		want string
	}{
		"the same texts":                 {map[string]string{"b": "Send me _news_", "c": "", "f": "In a group", "unknown": "x"}, ""},
		"the plain text is another one":  {map[string]string{"b": "Send me news"}, "/answers/b NOT_ALLOWED"},
		"a text that is no longer there": {map[string]string{"c": "Old", "e": "Old"}, "/answers/c NOT_ALLOWED, /answers/e NOT_ALLOWED"},
		"a text that was not there yet":  {map[string]string{"f": ""}, "/answers/f NOT_ALLOWED"},
	} {
		_, err := f.Check(Input{Answers: given, LegalTexts: c.seen})
		expect.Equal(t, answerFaults(t, err), c.want, name)
	}
	if _, err := f.Check(Input{Answers: raws("c", `true`, "f", `null`), LegalTexts: map[string]string{"a": "Old", "f": "Old"}}); err != nil {
		t.Errorf("the texts of questions without an answer: %v", err)
	}
	_, err = f.Check(Input{Answers: raws("c", `true`), LegalTexts: map[string]string{"c": "Old"}})
	var faults *schema.Error
	expect.Require(t, errors.As(err, &faults), "no violation: %v", err)
	expect.Same(t, map[string]any{"reason": "text_changed"}, faults.Violations[0].Params, "the parameters")
}

// The texts count toward the limit of a submission, as labels do.
func TestLegalTextsCountTowardTheLimit(t *testing.T) {
	form := func(text string) Form {
		return expect.Must(Compile(Source{Limits: schema.Limits{Submission: 1000}, Definition: storage.Definition{
			Blocks: json.RawMessage(`[{"id":"a","type":"legal","properties":{"legalText":"` + text + `"}}]`)}}))
	}
	_, err := form(strings.Repeat("x", 900)).Check(Input{Answers: raws("a", `true`)})
	expect.NoError(t, err)
	_, err = form(strings.Repeat("x", 1000)).Check(Input{Answers: raws("a", `true`)})
	var faults *schema.Error
	expect.That(t, errors.As(err, &faults) && faults.Violations[0].Path == "" && faults.Violations[0].Code == schema.CodeTooLong, "a text beyond the limit: %v", err)
	_, err = form(strings.Repeat("x", 1000)).Check(Input{})
	expect.NoError(t, err)
}

// raws makes a map of raw answers from pairs.
func raws(pairs ...string) map[string]json.RawMessage {
	m := make(map[string]json.RawMessage)
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = json.RawMessage(pairs[i+1])
	}
	return m
}

const tenBlocks = `[
	{"id":"name","type":"short_text","label":"Name","required":true},
	{"id":"story","type":"long_text","label":"Story"},
	{"id":"mail","type":"email","label":"Mail","required":true},
	{"id":"age","type":"number","label":"Age","properties":{"min":0,"minVal":true}},
	{"id":"stars","type":"rating","label":"Stars"},
	{"id":"ok","type":"yes_no","label":"Fine?"},
	{"id":"terms","type":"legal","label":"Terms","required":true},
	{"id":"one","type":"single_choice","label":"One","choices":[{"id":"c1","label":"First"},{"id":"c2","label":"Second"}]},
	{"id":"many","type":"multiple_choice","label":"Many","choices":[{"id":"c1","label":"First"},{"id":"c2","label":"Second"},{"id":"c3","label":"Third"}]},
	{"id":"day","type":"date","label":"Day"}]`

const tenAnswers = `{"name":"Ada Example","story":"It was a dark and stormy night; the rain fell in torrents.","mail":"ada@example.com","age":36,"stars":5,
	"ok":true,"terms":true,"one":{"id":"c1"},"many":["c1","c3"],"day":"2026-08-01"}`

func tenInput() Input {
	var answers map[string]json.RawMessage
	if err := json.Unmarshal([]byte(tenAnswers), &answers); err != nil {
		panic(err)
	}
	return Input{Answers: answers, Hidden: map[string]string{"src": "mail"}}
}

func TestCheckConcurrently(t *testing.T) {
	f := compileTestForm(t, tenBlocks, `{"duplicateField":"name"}`, `["src"]`)
	want := expect.Must(f.Check(tenInput()))
	keep := string(want.List)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				got, err := f.Check(tenInput())
				if err != nil || string(got.List) != keep {
					t.Errorf("error %v, list %s", err, got.List)
					return
				}
				clear(got.List) // the caller's own: no other call may see it
				clear(got.ByField)
			}
		})
	}
	wg.Wait()
}
