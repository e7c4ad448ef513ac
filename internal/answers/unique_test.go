package answers

import (
	"testing"

	"github.com/formsvc/formsvc/internal/lab/expect"
)

// What Check reports for a new response is what is computed from the stored one later,
// for every type that is compared.
func TestUniqueIsThatOfTheStoredAnswer(t *testing.T) {
	const choices = `,"choices":[{"id":"a","label":"A"},{"id":"b","label":"B"}],"properties":{"otherOption":true,"multiSelection":true,"to":5}`
	for typ, raw := range map[string]string{
		"short_text": `" Ann "`, "long_text": `"a\r\nb"`, "email": `" Ann@Example.com"`, "phone": `"+31 20 123 4567"`, "website": `"Example.com"`,
		"number": `"1.50"`, "rating": `3`, "opinion_scale": `"3"`, "nps": `9`, "single_choice": `"a"`, "dropdown": `{"other":"X"}`,
		"picture_choice": `["b","a"]`, "multiple_choice": `["b",{"other":"x"}]`, "ranking": `["b","a"]`, "date": `"2026-11-22"`, "time": `"10:00"`,
	} {
		f := compileTestForm(t, `[{"id":"q","type":"`+typ+`"`+choices+`}]`, `{"duplicateField":"q"}`, "")
		got, err := f.Check(Input{Answers: raws("q", raw)})
		if err != nil {
			t.Errorf("%s: %v", typ, err)
			continue
		}
		if len(got.Unique) != 32 || string(got.Unique) != string(StoredUniqueDigest(got.List, "q")) {
			t.Errorf("%s: %x, but %x from %s", typ, got.Unique, StoredUniqueDigest(got.List, "q"), got.List)
		}
	}
	for settings, block := range map[string]string{`{"duplicateField":"nobody"}`: "q", `{}`: "q", `{"duplicateField":"g"}`: "q", `{"duplicateField":"p"}`: "q"} {
		f := compileTestForm(t, `[{"id":"p","type":"email"},{"id":"g","type":"group","children":[{"id":"q","type":"email"}]}]`, settings, "")
		got, err := f.Check(Input{Answers: raws(block, `"a@b.cd"`)})
		expect.That(t, err == nil && got.Unique == nil, "%s: %x, %v", settings, got.Unique, err)
	}
}

// Who pastes the same in another way is the same person to the duplicate check.
func TestPastedAnswersAreDuplicates(t *testing.T) {
	for typ, same := range map[string][]string{
		"email":      {`"ann@example.com"`, `"Ann <ann@example.com>"`, `"MAILTO:ann@Example.com?subject=x"`, `"ann＠example.com"`, `"\u202aann@example.com\u202c"`},
		"short_text": {`"Ann Smith"`, `"\u202aAnn\u202c Smith"`, `"Ann\u2028Smith"`, `"Ann\u000bSmith"`},
		"phone":      {`"+49301234567"`, `"\u202a+49 30 1234567\u202c"`},
	} {
		f := compileTestForm(t, `[{"id":"q","type":"`+typ+`"}]`, `{"duplicateField":"q"}`, "")
		var first Answers
		for i, in := range same {
			a, err := f.Check(inputOne(f, in))
			expect.Require(t, err == nil, "%s: %v", in, err)
			if i == 0 {
				first = a
			}
			if len(a.Unique) == 0 || string(a.Unique) != string(first.Unique) || string(a.ByField) != string(first.ByField) {
				t.Errorf("%s is %s, and %s is %s", in, a.ByField, same[0], first.ByField)
			}
		}
	}
}
