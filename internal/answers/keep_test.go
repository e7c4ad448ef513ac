package answers

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/internal/lab/expect"
)

// Whatever is sent for a block is either dropped and named, or kept as it is and read again.
func TestWhatIsKeptCanBeReadAndCompared(t *testing.T) {
	f := compileTestForm(t, fullBlocks, "", `["src"]`)
	wanted := map[string]string{"src": "x"}
	for i := range f.form.Blocks {
		wanted[f.form.Blocks[i].ID], wanted[f.form.Blocks[i].ID+"/email"] = "x", "x"
	}
	values := []string{
		`null`, `true`, `7`, `-0.50`, `1e400`, `""`, `"x"`, `" X "`, `"\ud83d\ude00"`, `[]`, `{}`, `[[["x"]]]`, `[null,1,{"id":"x"}]`, `{"id":7,"other":null}`,
		`{"email":["x"],"phone":{"a":1}}`, `{"a":{"b":"c"}}`, `[{"other":"x"},{"id":"x"}]`, `{"x":`, `"` + "\xff" + `"`, `"\u0000"`, `"\udc00"`,
		`[` + strings.Repeat(`"x",`, 9_000) + `"x"]`, strings.Repeat(`[`, 9_000) + strings.Repeat(`]`, 9_000),
	}
	keptSome := 0
	for _, raw := range values {
		in := Input{Answers: map[string]json.RawMessage{"gone": json.RawMessage(raw)}, Hidden: map[string]string{"src": "x", "gone": "\u2028"}}
		for i := range f.form.Blocks {
			in.Answers[f.form.Blocks[i].ID] = json.RawMessage(raw)
		}
		kept, err := f.Retain(in.Answers, in.Hidden, someDay)
		var back map[string]json.RawMessage
		if err != nil || json.Unmarshal(kept.Answers, &back) != nil || len(back)+len(kept.Dropped) != len(in.Answers) || string(kept.Hidden) != `{"src":"x"}` {
			t.Fatalf("%.50s: kept %.200s, %s, dropped %q: %v", raw, kept.Answers, kept.Hidden, kept.Dropped, err)
		}
		keptSome += len(back)
		for id, value := range back {
			expect.That(t, string(value) == raw && !slices.Contains(kept.Dropped, id), "%.50s: %s is kept as %.50s", raw, id, value)
		}
		if !json.Valid([]byte(raw)) {
			continue
		}
		in.Answers["gone"] = json.RawMessage(raw) // the form had such a block before
		list := f.PartialList(in)
		expect.That(t, json.Valid(list), "%.50s: read as %.200s", raw, list)
		f.Conditions(wanted).Match(list)
	}
	expect.That(t, keptSome >= 300, "%d answers were kept", keptSome)
}
