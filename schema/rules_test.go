package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/formsvc/formsvc/internal/answers"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

func decoded(t *testing.T, raw []byte) (v any) {
	t.Helper()
	err := json.Unmarshal(raw, &v)
	expect.Require(t, err == nil, "%s: %v", raw, err)
	return v
}

// What the functions write are sentences that say the same: the file has what each sentence
// means, tests of the owners' pages read it, and internal/answers holds it against responses.
func TestRulesAreSentences(t *testing.T) {
	raw := expect.Must(os.ReadFile("../internal/answers/testdata/sentences.json"))
	var file struct {
		Conditions []struct {
			Says  string
			Logic any
		}
		Values []struct {
			Says  []string
			Logic any
		}
	}
	expect.NoError(t, json.Unmarshal(raw, &file))
	logic := map[string][]any{} // by what it says
	for _, c := range file.Conditions {
		logic[c.Says] = append(logic[c.Says], c.Logic)
	}
	for _, v := range file.Values {
		says := strings.Join(v.Says, "; ")
		logic[says] = append(logic[says], v.Logic)
	}
	check := func(says string, wrote any) {
		t.Helper()
		for _, want := range logic[says] {
			if cmp.Equal(want, wrote) {
				return
			}
		}
		t.Errorf("%s: wrote %v, want one of %v", says, wrote, logic[says])
	}
	name, age, pet, meals, day := schema.When("name"), schema.When("age"), schema.When("pet"), schema.When("meals"), schema.When("day")
	above := age.Above(5)
	for says, c := range map[string]schema.Condition{
		"“Age” is answered":                       age.Answered(),
		"“Age” is not answered":                   age.NotAnswered(),
		"“Name” is “Ann”":                         name.Is("Ann"),
		"“Name” is not “EUR” (or is unanswered)":  name.IsNot("EUR"),
		"“Pet” is Yes":                            pet.IsYes(),
		"“Pet” is No":                             pet.IsNo(),
		"“Age” is 7":                              age.Equals(7),
		"“Meals” is exactly “LUNCH” and “DINNER”": meals.IsExactly("lunch", "dinner"),
		"“Name” is “Ann” or “EUR”":                name.OneOf("Ann", "EUR"),
		"“Name” is other than “Ann” or “EUR” (or is unanswered)": name.OneOf("Ann", "EUR").Not(),
		"“Meals” includes “LUNCH”":                               meals.Includes("lunch"),
		"“Name” contains “Ann”":                                  name.Contains("Ann"),
		"“Age” is below 7":                                       age.Below(7),
		"“Age” is at most 7":                                     age.AtMost(7),
		"“Age” is above 7":                                       age.Above(7),
		"“Age” is at least 7":                                    age.AtLeast(7),
		"“Age” is between 1 and 7":                               age.Between(1, 7),
		"“Age” is not between 1 and 7 (or is unanswered)":        age.Between(1, 7).Not(),
		"“Day” is before 2026-12-31":                             day.Before("2026-12-31"),
		"“Day” is after 2026-12-31":                              day.After("2026-12-31"),
		"“Home: country” is NL":                                  schema.When("home").Part("country").Is("NL"),
		"“code” is “3”":                                          schema.WhenHidden("code").Is("3"),
		"“score” is 7":                                           schema.WhenVariable("score").Equals(7),
		"“Pet” is Yes and “Age” is above 5":                      pet.IsYes().And(above),
		"always": schema.Always(),
		"never":  schema.Always().Not(),
		"“Drink” is “TEA” or “Age” is above 5 or “Meals” includes “SNACK”": schema.When("drink").Is("tea").Or(above.Or(meals.Includes("snack"))),
		"“Age” is above 5 and (“Pet” is No or (“Name” is “Joanna” and “code” is “7”))": above.And(pet.IsNo().Or(
			name.Is("Joanna").And(schema.WhenHidden("code").Is("7")))),
	} {
		check(says, decoded(t, schema.Rule(c.Show())).(map[string]any)["show"])
	}
	for says, clauses := range map[string][]schema.Clause{
		"set “score” to “gold”":                   {schema.Always().Set("score", "gold")},
		"set “score” to 3.5":                      {schema.Always().SetNumber("score", 3.5)},
		"when “Age” is above 5, set “score” to 9": {above.SetNumber("score", 9)},
		"add 2 to “score”":                        {schema.Always().Add("score", 2)},
		"add the answer to “Age” to “score”":      {schema.Always().AddAnswer("score", "age")},
		"when “Age” is above 5, add 4 to “score”": {above.Add("score", 4)},
		"add 1 to “score”; when “Age” is above 5, add the answer to “Inner” to “score”; when “Pet” is Yes, add -2 to “score”": {
			schema.Always().Add("score", 1), above.AddAnswer("score", "in.ner"), pet.IsYes().Add("score", -2),
		},
	} {
		check(says, decoded(t, schema.Rule(clauses...)).(map[string]any)["set"].(map[string]any)["score"])
	}
}

func TestConditionsAreJoined(t *testing.T) {
	a, b, c := schema.When("a").IsYes(), schema.When("b").IsYes(), schema.When("c").IsYes()
	never := schema.Always().Not()
	same := func(name string, got, want schema.Condition) {
		t.Helper()
		if g, w := string(schema.Rule(got.Show())), string(schema.Rule(want.Show())); g != w {
			t.Errorf("%s: %s, want %s", name, g, w)
		}
	}
	same("and of and", a.And(b).And(c), a.And(b, c))
	same("not and", a.And(b, c).Not(), a.Not().Or(b.Not(), c.Not()))
	same("not or", a.Or(b.And(c)).Not(), a.Not().And(b.Not().Or(c.Not())))
	same("not not", a.Not().Not(), a)
	same("not never", never.Not(), schema.Always())
	for raw, want := range map[string]string{ // JsonLogic that the methods do not create
		`{"!":[{"var":"answers.a"}]}`: `{"!":{"!":[{"var":"answers.a"}]}}`, `{"and":[]}`: `{"!":{"and":[]}}`,
		`{"and":[true,{"var":"answers.a"}]}`: `{"!":{"and":[true,{"var":"answers.a"}]}}`,
	} {
		var c schema.Condition
		expect.NoError(t, json.Unmarshal([]byte(raw), &c))
		expect.Equal(t, string(expect.Must(json.Marshal(c.Not()))), want, "not "+raw)
		expect.Equal(t, string(expect.Must(json.Marshal(schema.Condition{}.And(c)))), raw, raw)
	}
	same("and always", a.And(schema.Always()), a)
	same("or always", a.Or(schema.Always()), schema.Always())
	same("always or", schema.Always().Or(a), schema.Always())
	same("and never", a.And(never), never)
	same("or never", never.Or(a), a)
	same("alone", a.And(), a)
	same("never or never", never.Or(never), never)
	first := a.And(b)
	_, second := first.And(c), first.And(a)
	same("a group is not written to", second, a.And(b, a))
}

// The rules lead real responses.
func TestRulesAreWalked(t *testing.T) {
	nps := schema.When("nps")
	blocks := expect.Must(json.Marshal([]schema.Block{
		{ID: "nps", Type: schema.TypeNPS, Properties: &schema.Properties{Rule: schema.Rule(
			nps.Below(7).GoTo("bad").Otherwise("good"),
			nps.AtLeast(9).SetNumber("score", 3), nps.Equals(10).SetNumber("score", 4), schema.Always().Add("score", 10), nps.AtLeast(9).Set("tier", "fan"),
			nps.Equals(math.NaN()).SetNumber("score", -1), nps.Below(math.Inf(1)).SetNumber("score", -2),
		)}},
		{ID: "never", Type: schema.TypeShortText},
		{ID: "bad", Type: schema.TypeShortText, Properties: &schema.Properties{Rule: schema.Rule(
			schema.Always().Require(), nps.Answered().Not().Require(), nps.AtMost(3).Show(), nps.AtMost(6).Show())}},
		{ID: "good", Type: schema.TypeShortText, Properties: &schema.Properties{Rule: schema.Rule(
			nps.AtLeast(7).Require(), schema.Clause{}, schema.Clause{}.Otherwise("end"))}},
		{ID: "after", Type: schema.TypeShortText},
		{ID: "bye", Type: schema.TypeEnding},
	}))
	form := expect.Must(answers.Compile(answers.Source{Definition: storage.Definition{Blocks: blocks, Variables: json.RawMessage(`{"score":0,"tier":""}`)}}))
	for answer, want := range map[string]string{
		"":   "nps good bye 10 ",
		"3":  "nps bad good bye 10 ",
		"8":  "nps good! bye 10 ",
		"9":  "nps good! bye 13 fan",
		"10": "nps good! bye 14 fan",
	} {
		given := map[string]json.RawMessage{}
		if answer != "" {
			given["nps"] = json.RawMessage(answer)
		}
		path := expect.Must(form.Path(given, nil, time.Time{}))
		got := ""
		for _, b := range path.Blocks {
			got += b.ID + map[bool]string{true: "!"}[b.Required] + " "
		}
		if got += fmt.Sprint(path.Variables["score"], " ", path.Variables["tier"]); got != want {
			t.Errorf("%q: %s, want %s", answer, got, want)
		}
	}
	clause := schema.When("x").IsYes().Add("score", 1)
	if first, second := schema.Rule(clause), schema.Rule(clause); string(first) != string(second) {
		t.Errorf("a clause is written as %s, and then as %s", first, second)
	}
	expect.Equal(t, string(schema.Rule()), "{}", "no rule")
}

// The conditions of checks, each with an answer that it refuses and an answer that it accepts.
func TestConditionsOfChecks(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	others := []schema.Block{
		{ID: "n", Type: schema.TypeNumber}, {ID: "t", Type: schema.TypeTime}, {ID: "d", Type: schema.TypeDate}, {ID: "s", Type: schema.TypeShortText}, {ID: "none", Type: schema.TypeNumber},
	}
	given := map[string]string{"n": "5", "t": `"10:30"`, "d": `"2026-11-20"`, "s": `"a@example.com"`}
	q := schema.When("q")
	time := &schema.Properties{ShowTimePicker: true}
	choices := []schema.Choice{{ID: "a"}, {ID: "b"}, {ID: "c"}}
	for name, c := range map[string]struct {
		block             schema.Block
		refuse            schema.Condition
		refuses, accepted []string
	}{
		"matches":              {schema.Block{Type: schema.TypeShortText}, q.Matches(`[0-9]{5}|<&>"\\`), []string{`"12345"`, `"<&>\"\\"`}, []string{`"1234"`, `"123456"`, `"x12345"`}},
		"not matches":          {schema.Block{Type: schema.TypeShortText}, q.Matches("[0-9]{5}").Not(), []string{`"1234"`}, []string{`"12345"`}},
		"whole":                {schema.Block{Type: schema.TypeNumber}, q.IsWhole(), []string{"5", "-3", "0", "1e3"}, []string{"5.5", "-0.25"}},
		"not whole":            {schema.Block{Type: schema.TypeNumber}, q.IsWhole().Not(), []string{"5.5"}, []string{"5"}},
		"shorter":              {schema.Block{Type: schema.TypeLongText}, q.ShorterThan(3), []string{`"ab"`, `"é😀"`}, []string{`"abc"`}},
		"longer":               {schema.Block{Type: schema.TypeLongText}, q.LongerThan(2), []string{`"abc"`}, []string{`"ab"`, `"é😀"`}},
		"more choices":         {schema.Block{Type: schema.TypeMultipleChoice, Choices: choices}, q.LongerThan(1), []string{`["a","b"]`}, []string{`["a"]`}},
		"fewer choices":        {schema.Block{Type: schema.TypeMultipleChoice, Choices: choices}, q.ShorterThan(2), []string{`["a"]`}, []string{`["a","b"]`}},
		"before today":         {schema.Block{Type: schema.TypeDate}, q.BeforeToday(), []string{`"2026-11-19"`, `"1999-01-01"`}, []string{`"2026-11-20"`, `"2026-11-21"`}},
		"after today":          {schema.Block{Type: schema.TypeDate}, q.AfterToday(), []string{`"2026-11-21"`}, []string{`"2026-11-20"`, `"2026-11-19"`}},
		"a time before today":  {schema.Block{Type: schema.TypeDate, Properties: time}, q.BeforeToday(), []string{`"2026-11-19T23:59:59Z"`}, []string{`"2026-11-20T00:00:00Z"`}},
		"a time after today":   {schema.Block{Type: schema.TypeDate, Properties: time}, q.AfterToday(), []string{`"2026-11-21T00:00:00Z"`}, []string{`"2026-11-20T23:59:59Z"`}},
		"below an answer":      {schema.Block{Type: schema.TypeNumber}, q.BelowAnswer("n"), []string{"4"}, []string{"5", "6"}},
		"above an answer":      {schema.Block{Type: schema.TypeNumber}, q.AboveAnswer("n"), []string{"6"}, []string{"5", "4"}},
		"above no answer":      {schema.Block{Type: schema.TypeNumber}, q.AboveAnswer("none").Or(q.BelowAnswer("none")), nil, []string{"5", "-1", "0"}},
		"before an answer":     {schema.Block{Type: schema.TypeDate}, q.BeforeAnswer("d"), []string{`"2026-11-19"`}, []string{`"2026-11-20"`}},
		"after an answer":      {schema.Block{Type: schema.TypeTime}, q.AfterAnswer("t"), []string{`"10:31"`}, []string{`"10:30"`, `"09:00"`}},
		"equals an answer":     {schema.Block{Type: schema.TypeEmail}, q.EqualsAnswer("s"), []string{`"a@example.com"`}, []string{`"b@example.com"`}},
		"not equals an answer": {schema.Block{Type: schema.TypeEmail}, q.EqualsAnswer("s").Not(), []string{`"b@example.com"`}, []string{`"a@example.com"`}},
		"always":               {schema.Block{Type: schema.TypeNumber}, schema.Always(), []string{"1"}, nil},
		"never":                {schema.Block{Type: schema.TypeNumber}, schema.Always().Not(), nil, []string{"1"}},
	} {
		c.block.ID = "q"
		properties := schema.Properties{}
		if c.block.Properties != nil {
			properties = *c.block.Properties
		}
		properties.Rule = schema.Rule(schema.When("q").Is("never").Refuse("Never."), c.refuse.Refuse("**No.**"), schema.Always().Not().Refuse("Later."))
		c.block.Properties = &properties
		blocks := expect.Must(json.Marshal(append(others[:len(others):len(others)], c.block)))
		form := expect.Must(answers.Compile(answers.Source{Definition: storage.Definition{Blocks: blocks}}))
		for want, all := range map[string][]string{"No.": c.refuses, "": c.accepted} {
			for _, answer := range all {
				in := answers.Input{Now: now, Answers: map[string]json.RawMessage{"q": json.RawMessage(answer)}}
				for id, raw := range given {
					in.Answers[id] = json.RawMessage(raw)
				}
				_, err := form.Check(in)
				got := ""
				if refused, ok := errors.AsType[*schema.Error](err); ok {
					got = refused.Violations[0].Message
				}
				expect.Equal(t, got, want, "%s: %s: %v", name, answer, err)
			}
		}
	}
}
