package formdata_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/formsvc/formsvc/handler/formpage/internal/formdata"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
)

const filledForm = `[{"id":"t.1","type":"short_text"},{"id":"e","type":"email"},{"id":"ph","type":"phone","properties":{"defaultCountry":"DE"}},{"id":"n","type":"number"},
	{"id":"r","type":"rating"},{"id":"s","type":"opinion_scale","properties":{"from":-1,"to":1,"scaleStep":0.1}},{"id":"y","type":"yes_no"},
	{"id":"c","type":"single_choice","choices":[{"id":"a.b"},{"id":"other"}],"properties":{"otherOption":true}},
	{"id":"m","type":"multiple_choice","choices":[{"id":"a.b"},{"id":"z"}],"properties":{"otherOption":true}},
	{"id":"k","type":"ranking","choices":[{"id":"a.b"},{"id":"z"},{"id":"="}]},
	{"id":"x","type":"matrix","matrix_rows":[{"id":"1."},{"id":"2"}],"matrix_columns":[{"id":"a"},{"id":"b"}]},
	{"id":"xx","type":"matrix","matrix_rows":[{"id":"1."}],"matrix_columns":[{"id":"a"},{"id":"b"}],"properties":{"multiSelection":true}},
	{"id":"d","type":"date"},{"id":"d3","type":"date","properties":{"dateFormat":"DDMMYYYY"}},{"id":"dt","type":"date","properties":{"showTimePicker":true}},{"id":"ti","type":"time"},
	{"id":"g","type":"group","children":[{"id":"ad","type":"address"},{"id":"co","type":"country"}]}]`

func blocksOf(t *testing.T, text string) []schema.Block {
	t.Helper()
	blocks, err := schema.DecodeBlocks([]byte(text))
	expect.NoError(t, err)
	return blocks
}

// The inputs that are filled in with answers are read as these answers.
func TestFilledInputsAreReadAgain(t *testing.T) {
	blocks := blocksOf(t, filledForm)
	words := []string{"", "x", "<b>", " a b ", "12", "-1.5", "1,5", "1.500", "1,500", "0.10", "1e5", "0049 30 1234567", "999", "ada@example.com", "true", "line\nline", "\"", "{}", "[1]", "null"}
	some := map[string][]string{
		"r": {"", "1", "5"}, "s": {"", "-1", "0.3", "1"}, "y": {"", "true", "false"}, "d": {"", "2026-02-28"}, "ti": {"", "14:05", "14:05:30"}, "co": {"", "JP"},
	}
	rapid.Check(t, func(rt *rapid.T) {
		values := url.Values{}
		set := func(name string, list []string) {
			if text := rapid.SampledFrom(list).Draw(rt, name); text != "" {
				values.Add(name, text)
			}
		}
		for _, id := range []string{"t.1", "e", "ph", "n", "r", "s", "y", "d", "ti", "co"} {
			list := some[id]
			if list == nil {
				list = words
			}
			set("a."+id, list)
		}
		picks := []string{"", "id:a.b", "id:other", "other"}
		set("a.c", picks)
		set("o.c", words)
		set("a.m", []string{"", "id:a.b"})
		set("a.m", []string{"", "id:z"})
		set("o.m", words)
		places := rapid.Permutation([]string{"1", "2", "3", ""}).Draw(rt, "places")
		for i, choice := range []string{"a%2Eb", "z", "%3D"} {
			set("k."+choice+".k", places[i:i+1])
		}
		set("r.1%2E.x", []string{"", "id:a"})
		set("r.2.x", []string{"", "id:b"})
		set("r.1%2E.xx", []string{"", "id:a"})
		set("r.1%2E.xx", []string{"", "id:b"})
		for _, name := range []string{"y.d3", "m.d3", "d.d3"} {
			set(name, []string{"", "2", "2026"})
		}
		set("a.dt", []string{"", "2026-02-28"})
		set("t.dt", []string{"", "09:30", "09:30:15"})
		set("z.dt", []string{"", "+05:30", "-02:00"})
		set("p.city.ad", words)
		set("p.phone.ad", words)
		set("c.p.phone.ad", []string{"", "FR"})
		m := formdata.Options{Comma: rapid.Bool().Draw(rt, "comma"), Zone: time.FixedZone("", 3600)}
		given, _ := formdata.ParseAnswers(blocks, values, m)
		filled, lost := formdata.FillInputs(blocks, given.Answers, m.Comma)
		again, _ := formdata.ParseAnswers(blocks, filled, m)
		if text(given.Answers) != text(again.Answers) || len(lost) > 0 || len(again.Unmatched) > 0 {
			rt.Fatalf("%v\nof %v\nis filled in as %v\nand read as %s\nlost: %v", text(given.Answers), values, filled, text(again.Answers), lost)
		}
	})
}

func text(answers map[string]json.RawMessage) (all string) {
	for _, id := range slices.Sorted(maps.Keys(answers)) {
		all += fmt.Sprintf("%s: %s\n", id, answers[id])
	}
	return all
}

// What does not fit a form is named, and nothing is filled in that its block does not show.
func TestFilledLosesWhatDoesNotFit(t *testing.T) {
	blocks := blocksOf(t, filledForm)
	for id, list := range map[string][]string{
		"y": {`"maybe"`, `1`}, "r": {`6`, `0`, `1.5`, `"x"`}, "s": {`0.05`, `2`}, "ti": {`"noon"`}, "dt": {`"2026-02-28T09:00"`}, "d": {`"soon"`, `"a-b-c"`, `"2026-02-28T09:00:00Z"`, `5`},
		"c": {`{"id":"gone"}`, `[{"id":"a.b"},{"id":"other"}]`, `"gone"`, `{}`}, "m": {`[{"id":"a.b"},{"id":"gone"}]`, `[1]`, `"x"`}, "k": {`["a.b","gone"]`, `{"a":1}`},
		"x": {`{"gone":{"id":"a"}}`, `{"2":{"id":"gone"}}`, `{"2":[{"id":"a"},{"id":"b"}]}`, `[]`}, "ad": {`{"fax":"1"}`, `{"city":1}`, `"x"`}, "t.1": {`{"id":"a"}`, `[1]`},
		"absent": {`"x"`}, "n": {`[1]`}, "co": {`{}`},
	} {
		for _, raw := range list {
			values, lost := formdata.FillInputs(blocks, map[string]json.RawMessage{id: json.RawMessage(raw)}, false)
			expect.That(t, len(lost) == 1 && lost[0].Block == id && lost[0].Text != "",
				"%s %s: lost is %v, values are %v", id, raw, lost, values)
		}
	}
	// The service accepts an ID alone.
	for id, list := range map[string][]string{"c": {`"a.b"`, `{"id":"a.b"}`}, "m": {`["a.b"]`, `[{"id":"a.b"}]`}, "x": {`{"2":"a"}`, `{"2":{"id":"a"}}`}} {
		for i, raw := range list {
			values, lost := formdata.FillInputs(blocks, map[string]json.RawMessage{id: json.RawMessage(raw)}, false)
			same, _ := formdata.FillInputs(blocks, map[string]json.RawMessage{id: json.RawMessage(list[1])}, false)
			expect.That(t, len(lost) == 0 && len(values) == 1 && reflect.DeepEqual(values, same), "%s %d: %v %v", id, i, values, lost)
		}
	}
	// A text that is no number in its country grows once.
	given, _ := formdata.ParseAnswers(blocks, url.Values{"a.ph": {"999 DE"}, "c.a.ph": {"DE"}}, formdata.Options{})
	expect.Equal(t, string(given.Answers["ph"]), `"999 DE"`, "the phone")
	_, lost := formdata.FillInputs(blocks, map[string]json.RawMessage{"absent": json.RawMessage(`{"other":"<b>"}`), "gone": json.RawMessage(`"typed"`)}, false)
	expect.That(t, fmt.Sprint(lost) == "[{absent <b>} {gone typed}]", "lost is %v", lost)
}
