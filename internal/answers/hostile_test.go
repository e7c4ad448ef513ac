package answers

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/formsvc/formsvc/internal/answers/answertype"

	"pgregory.net/rapid"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
)

func TestCheckHostileInput(t *testing.T) {
	f := compileTestForm(t, strings.ReplaceAll(fullBlocks, `"required":true`, `"required":false`), "", `["src"]`)
	deep := strings.Repeat(`[`, 100_000) + strings.Repeat(`]`, 100_000)
	inputs := map[string]string{
		"a string of 1 MB":                    `"` + strings.Repeat("x", 1<<20) + `"`,
		"deep nesting":                        deep,
		"deep objects":                        strings.Repeat(`{"id":`, 5000) + "1" + strings.Repeat(`}`, 5000),
		"the same choice 20,000 times":        `[` + strings.Repeat(`"a",`, 20_000) + `"a"]`,
		"an unknown choice 20,000 times":      `[` + strings.Repeat(`"zz",`, 20_000) + `"zz"]`,
		"objects with duplicate members":      `{"id":"a","id":"b"}`,
		"an array of huge numbers":            `[` + strings.Repeat(`1e300,`, 9_000) + `1e300]`,
		"a huge exponent":                     `1e1000000000`,
		"a huge exponent in a string":         `"1e1000000000"`,
		"many zeros in a string":              `"0.` + strings.Repeat("0", 1<<16) + `1"`,
		"a lone surrogate":                    `"\udc00"`,
		"a member name with U+0000":           `{"\u0000":"x"}`,
		"an unclosed object":                  `{"id":"a"`,
		"an email of dots":                    `"` + strings.Repeat(".", 254) + `"`,
		"an email of at signs":                `"` + strings.Repeat("@", 254) + `"`,
		"a URL of percent signs":              `"https://example.com/%%%"`,
		"an object with 20,000 unknown parts": manyParts(20_000),
	}
	for name, raw := range inputs {
		t.Run(name, func(t *testing.T) {
			for i := range f.form.Blocks {
				b := &f.form.Blocks[i]
				got, err := f.Check(inputOf(f, i, raw))
				checkOutcome(t, got, err)
				expect.That(t, err != nil || b.Rule == nil || b.Dropped || len(got.List) <= 200 || len(got.List) <= 2*len(raw),
					"%s: %d bytes became %d", b.ID, len(raw), len(got.List))
			}
		})
	}
	t.Run("50,000 unknown blocks", func(t *testing.T) {
		in := Input{Answers: make(map[string]json.RawMessage)}
		for i := range 50_000 {
			in.Answers[fmt.Sprint("x", i)] = json.RawMessage("1")
		}
		_, first := f.Check(in)
		_, second := f.Check(in)
		checkOutcome(t, Answers{}, first)
		expect.That(t, answerFaults(t, first) == answerFaults(t, second), "the same input is answered with other violations")
	})
}

func manyParts(count int) string {
	var b strings.Builder
	b.WriteByte('{')
	for i := range count {
		fmt.Fprintf(&b, `"m%d":"x",`, i)
	}
	return b.String() + `"last":"x"}`
}

// checkOutcome fails unless the result is valid JSON or an *schema.Error within bounds.
func checkOutcome(t testing.TB, a Answers, err error) {
	t.Helper()
	if err == nil {
		for _, raw := range []json.RawMessage{a.List, a.ByField, a.Hidden} {
			if !json.Valid(raw) || !utf8.Valid(raw) || strings.Contains(string(raw), `\u0000`) && !strings.Contains(string(raw), `\\u0000`) {
				t.Errorf("stored: %.200q", raw)
			}
			expect.Error(t, fmt.Sprintf("stored %.200q", raw), expect.ErrorOf(jsontree.Parse(raw, jsontree.BodyLimits)), nil)
		}
		return
	}
	var e *schema.Error
	expect.That(t, errors.As(err, &e) && len(e.Violations) != 0 && len(e.Violations) <= schema.MaxViolations, "got %T: %v", err, err)
}

// What Check accepts it accepts again, unchanged.
func TestCheckIsIdempotent(t *testing.T) {
	f := compileTestForm(t, strings.ReplaceAll(fullBlocks, `"required":true`, `"required":false`), `{"duplicateField":"number"}`, `["src"]`)
	id := rapid.SampledFrom([]string{`"a"`, `"b"`, `"c"`, `{"id":"a"}`, `{"id":"b","x":1}`, `{"other":" o"}`, `"x"`, `{"id":"x"}`})
	answers := rapid.OneOf(
		id,
		rapid.Map(rapid.SliceOfN(id, 0, 4), func(l []string) string { return "[" + strings.Join(l, ",") + "]" }),
		rapid.Map(rapid.Float64(), func(n float64) string { return fmt.Sprint(n) }),
		rapid.Map(rapid.Float64Range(-1, 12), func(n float64) string { return fmt.Sprintf("%.1f", n) }),
		rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,12})?([eE][+-]?[0-9]{1,2})?`),
		rapid.StringMatching(`"-?[0-9]{1,3}(\.[0-9]{1,3})?"`),
		rapid.StringMatching(`"(20(20|30|31))-0[78]-(0[1-9]|[12][0-9]|3[01])(T[0-2][0-9]:30:00(Z|[+-]1[0-4]:30))?"`),
		rapid.StringMatching(`"[0-2][0-9]:[0-5][0-9](:[0-5][0-9])?"`),
		rapid.StringMatching(`"[A-Za-z]{1,4}\.?[a-z]{1,3}@[A-Za-zÄÖİẞ]{1,8}\.(COM|de|example)"`),
		rapid.StringMatching(`"(HTTPS?://)?[a-z]{1,6}\.[a-z]{2}(:[0-9]{1,5})?(/[a-z%]{0,5})?"`),
		rapid.SampledFrom([]string{`true`, `"false"`, `{"r":"x","s":null}`, `{"r":["x"]}`, `{"email":" a@B.CO ","city":" x "}`, `{"zip":"1"}`,
			`{"amount":1.50,"currency":"eur","status":"s","gateway":"g","reference":"  "}`,
			`{"id":"1","name":"a.png","url":"https://a.example","mime_type":"IMAGE/png","size":1e2}`}),
		rapid.Map(rapid.String(), answertype.QuoteJSON),
		// Texts in which normal forms, line ends and invisible characters meet.
		rapid.Map(rapid.SliceOf(rapid.SampledFrom([]rune("aAeé\u0301\u0323\u0345\u1100\u1161\u11a8\u0958\U0001d160\u212b\u200b\u200d\u2067\r\n\t \u3000\ufeff\u2028\v\f\u202a\u202b\u202c/.@:-0xß。"))),
			func(l []rune) string { return answertype.QuoteJSON(string(l)) }),
		rapid.StringMatching(`"(tel:)?[+＋]?(1|7|31|39|44|49|52|54|55|61|64|225|800|881|979)[ .-]?[0-9٠-٩０-９]{1,5}[ ()/-]?[0-9]{2,9}"`),
		rapid.StringMatching(`"[A-Za-z]{2,3}"`),
		rapid.StringMatching(`"(A <|a@b\.co <)?(mailto:)?a[@＠?]b\.co(\?x)?>?"`),
		rapid.StringMatching(`"(a@|https?://)?([a-zA-ZäÄßİσΣςｅ。\x{200d}\x{0301}]{1,6}|xn--[a-z0-9-]{1,10})(\.|。)([a-z]{2,4}|рф|中国)[/?#]?"`),
		rapid.StringMatching(`"(https?://)?(\[[0-9a-f:.]{2,20}\]|[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3})(:[0-9]{0,5})?"`),
		rapid.StringMatching(`"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9])[Tt][0-2][0-9]:[0-5][0-9]:(60|[0-5][0-9])(\.[0-9])?([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])"`),
	)
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		block := rapid.IntRange(0, len(f.form.Blocks)-1).Draw(t, "block")
		first, err := f.Check(inputOf(f, block, answers.Draw(t, "answer")))
		if err != nil {
			return
		}
		again, err := f.Check(asInput(t, f, first))
		expect.Require(t, err == nil, "%s accepted and refused: %v", first.ByField, err)
		if string(first.List) != string(again.List) || string(first.ByField) != string(again.ByField) || string(first.Unique) != string(again.Unique) {
			t.Fatalf("%s becomes %s", first.ByField, again.ByField)
		}
		if len(first.ByField) > 2 {
			accepted++
		}
	})
	if accepted == 0 && !testing.Short() { // which tries twenty
		t.Error("no answer was accepted: nothing was tested")
	}
}

// FuzzAnswers hands any bytes to every type: no panic, valid JSON out, and what is
// stored is accepted again unchanged.
func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{
		`null`, `"a"`, `["a","b"]`, `{"id":"a"}`, `{"other":"x"}`, `1e300`, `-0.0`, `"2026-02-30"`, `"2030-08-03T10:00:00+02:00"`, `"09:05"`,
		`"Ada@EXAMPLE.com"`, `"example.com"`, `{"r":"x"}`, `{"amount":"1.00","currency":"eur","status":"paid","gateway":"g"}`, `"\u0000"`, "\"\xff\"", `{"email":"a@b.co"}`,
		`[{"id":"1","name":"a.png","url":"https://a.example","mime_type":"image/png","size":1}]`, `"true"`, `[[[[`, ``,
		`"+31 20 123 45 67"`, `"tel:+14155552671;ext=1"`, `"+39 06 1234567"`, `"nl"`, `"USA"`, `"ada@xn--mnchen-3ya.example"`, `"ada@fa\u00df.de"`, `"https://[2606:4700::1111]:443/"`,
		`"e\u0301\r\n\u200b"`, `"\u1100\u1161\u11a8"`, `"\u202a+49 30 1234567\u202c"`, `"2016-12-31T23:59:60-00:00"`, `{"phone":"030 1234567","country":"uk"}`, `{"other":" e\u0301 "}`,
	} {
		f.Add([]byte(seed), seed)
	}
	form := compileTestForm(f, strings.ReplaceAll(fullBlocks, `"required":true`, `"required":false`), `{"duplicateField":"email"}`, `["src"]`)
	f.Fuzz(func(t *testing.T, raw []byte, hidden string) {
		for i := range form.form.Blocks {
			b, in := &form.form.Blocks[i], inputOf(form, i, string(raw))
			in.Hidden = map[string]string{"src": hidden}
			got, err := form.Check(in)
			checkOutcome(t, got, err)
			if err != nil {
				continue
			}
			again, err := form.Check(asInput(t, form, got))
			expect.That(t, err == nil && string(again.List) == string(got.List), "%s: %s becomes %s (%v)", b.ID, got.List, again.List, err)
		}
	})
}
