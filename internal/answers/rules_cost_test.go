package answers

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/formsvc/formsvc/internal/lab/expect"
)

// repeated is an array of so many times the same logic.
func repeated(logic string, times int) string {
	return "[" + strings.TrimSuffix(strings.Repeat(logic+",", times), ",") + "]"
}

// hostileForms are forms whose rules cost as much as rules may, each in a way of its own,
// with the answers that make them do so.
func hostileForms() map[string][2]string {
	choices := strings.TrimSuffix(strings.Repeat(`{"id":"#"},`, 400), ",")
	for i := range 400 {
		choices = strings.Replace(choices, "#", fmt.Sprint("choice", i), 1)
	}
	ids := strings.NewReplacer(`{"id":`, "", "}", "").Replace(choices)
	many := func(rule string, times int) string {
		return fmt.Sprintf(`[{"id":"q","type":"long_text"},{"id":"n","type":"number"},{"id":"m","type":"multiple_choice","choices":[%s]},`+
			`{"id":"x","type":"matrix","matrix_rows":[%s],"matrix_columns":[{"id":"c","label":"%s"}]},%s]`, choices, choices, strings.Repeat("l", 1000), strings.TrimSuffix(strings.Repeat(`{"id":"#","type":"statement","properties":{"rule":`+rule+`}},`, times), ","))
	}
	text := `"` + strings.Repeat("n", 99_000) + `"`
	doubled := `[1]`
	for range 9 {
		doubled = `{"merge":[` + doubled + `,` + doubled + `]}`
	}
	answers := `{"q":` + text + `,"n":1.5e300,"m":[` + ids + `]}`
	forms := map[string][2]string{
		"operations":       {many(`{"show":{"or":`+repeated(`{"!":1}`, 1500)+`}}`, 60), answers},
		"variables":        {many(`{"show":{"or":`+repeated(`{"==":[{"var":"answers.n"},{"var":"variables.v"}]}`, 270)+`}}`, 300), answers},
		"nested all":       {many(`{"show":{"all":[{"var":"answers.m"},{"all":[`+`["a","b","c","d","e","f"]`+`,{"!=":[{"var":""},"x"]}]}]}}`, 200), answers},
		"digits":           {many(`{"show":{"<":[1,`+`"`+strings.Repeat("123456789.", 1)+strings.Repeat("1234567890", 30)+`"]}}`, 200), answers},
		"sums of digits":   {many(`{"show":{"<":[1,{"+":`+repeated(`"1.2345678901234567890123e-300"`, 400)+`}]}}`, 200), answers},
		"search in texts":  {many(`{"show":{"or":`+repeated(`{"in":["nnnnnnnnnnnnnnnnnnnnnnnnnnnnnx",{"var":"answers.q"}]}`, 200)+`}}`, 300), answers},
		"pieces of texts":  {many(`{"show":{"or":`+repeated(`{"substr":[{"var":"answers.q"},98000,0]}`, 200)+`}}`, 300), answers},
		"texts of numbers": {many(`{"show":{"==":["x",{"cat":`+repeated(`{"var":"answers.n"}`, 500)+`}]}}`, 300), answers},
		"arrays":           {many(`{"show":{"==":[1,`+doubled+`]}}`, 100), answers},
		"equal arrays":     {many(`{"show":{"and":`+repeated(`{"==":[{"var":"answers.m"},{"merge":[{"var":"answers.m"}]}]}`, 200)+`}}`, 100), answers},
		"joined arrays":    {many(`{"show":{"!=":["x",{"cat":`+repeated(`{"var":"answers.m"}`, 400)+`}]}}`, 100), answers},
		"texts that grow":  {many(`{"set":{"v":{"substr":[{"cat":`+repeated(`{"var":"answers.q"}`, 400)+`},0,9999]}}}`, 100), answers},
		"all answers":      {many(`{"show":{"==":`+repeated(`{"var":"answers"}`, 2)+`}}`, 400), answers},
		"characters":       {many(`{"show":{"or":`+repeated(`{"==":[{"var":"answers.q.98999"},1]}`, 300)+`}}`, 300), answers},
	}
	for name, f := range forms {
		parts := strings.Split(f[0], `"id":"#"`)
		var b strings.Builder
		b.WriteString(parts[0])
		for i, part := range parts[1:] {
			fmt.Fprintf(&b, `"id":"s%d"`, i)
			b.WriteString(part)
		}
		f[0] = b.String()
		forms[name] = f
	}
	return forms
}

func hostileInput(t testing.TB, raw string) Input {
	t.Helper()
	var in Input
	expect.NoError(t, json.Unmarshal([]byte(raw), &in.Answers))
	return in
}

// BenchmarkWorstRules is what rules cost that cost as much as they may: within 5 ms,
// whatever they do. What the same response costs without them is left out.
func BenchmarkWorstRules(b *testing.B) {
	for name, c := range hostileForms() {
		f := compileRuled(b, c[0], `{"v":"start"}`, ``)
		bare := compileRuled(b, strings.ReplaceAll(c[0], `"rule":`, `"free":`), `{"v":"start"}`, ``)
		in := hostileInput(b, c[1])
		b.Run(name, func(b *testing.B) {
			var rules time.Duration
			for b.Loop() {
				start := time.Now()
				_, _ = f.Check(in)
				with := time.Since(start)
				_, _ = bare.Check(in)
				rules += with - (time.Since(start) - with)
			}
			b.ReportMetric(float64(rules.Microseconds())/1000/float64(b.N), "ms-of-rules/op")
		})
	}
}

// Whatever the rules, the budget ends them: what they allocate is bounded by it. Not
// parallel: what other tests allocate would count.
func TestHostileRulesAllocateWithinBounds(t *testing.T) {
	refused := 0
	for name, c := range hostileForms() {
		f := compileRuled(t, c[0], `{"v":"start"}`, ``)
		in := hostileInput(t, c[1])
		var err error
		bytes := allocated(func() { _, err = f.Check(in) })
		if err != nil {
			refused++
			expect.Equal(t, paths(t, err), " TOO_MANY", "%s", name)
		}
		expect.That(t, bytes <= 16<<20, "%s: %d bytes", name, bytes)
		runtime.KeepAlive(f)
	}
	expect.That(t, refused >= 8, "only %d of the forms reach the bound", refused)
}
