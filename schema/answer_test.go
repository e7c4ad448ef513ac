package schema

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/formsvc/formsvc/internal/lab/expect"
)

// Whatever the texts are and however the JSON is laid out, answers are read as
// encoding/json reads them.
func TestAnswersAreReadAsEncodingJSONDoes(t *testing.T) {
	type field struct {
		ID    string `json:"id"`
		Type  string `json:"type"`
		Label string `json:"label"`
		Text  string `json:"text,omitempty"`
	}
	type item struct {
		Field field `json:"field"`
		Value any   `json:"value"`
	}
	text := rapid.OneOf(rapid.StringN(0, 8, -1), rapid.StringOfN(rapid.RuneFrom([]rune("\"\\{}[]:, \n\u2028<é")), 0, 8, -1))
	rapid.Check(t, func(t *rapid.T) {
		pick := Pick{ID: text.Draw(t, "id"), Label: text.Draw(t, "label"), Other: text.Draw(t, "other")}
		file := File{ID: text.Draw(t, "file"), Name: text.Draw(t, "name"), URL: text.Draw(t, "url"), MIMEType: text.Draw(t, "type"), Size: rapid.Int64Range(0, maxInteger).Draw(t, "size")}
		contact := Contact{FirstName: text.Draw(t, "first"), Zip: text.Draw(t, "zip"), Country: text.Draw(t, "country")}
		payment := Payment{Amount: text.Draw(t, "amount"), Reference: text.Draw(t, "reference")}
		number := rapid.Float64().Draw(t, "number")
		plain := text.Draw(t, "text")
		all := []struct {
			kind  string
			value any
			want  Value
		}{
			{"short_text", plain, String(plain)}, {"number", number, Number(number)}, {"yes_no", true, Bool(true)},
			{"dropdown", pick, Picks{pick}}, {"ranking", []Pick{pick, pick}, Picks{pick, pick}}, {"ranking", []Pick{}, Picks{}},
			{"file_upload", []File{file}, Files{file}}, {"signature", file, Files{file}}, {"address", contact, contact}, {"payment", payment, payment},
			{"matrix", map[string]any{plain: pick}, Matrix{{ID: plain, Picks: Picks{pick}}}},
			{"matrix", map[string]any{plain: []Pick{pick}}, Matrix{{ID: plain, Picks: Picks{pick}}}},
		}
		var items []item
		for _, a := range all {
			items = append(items, item{field{text.Draw(t, "field"), a.kind, text.Draw(t, "name"), text.Draw(t, "legal text")}, a.value})
		}
		raw, err := json.Marshal(items)
		expect.NoError(t, err)
		if rapid.Bool().Draw(t, "indented") {
			var b bytes.Buffer
			expect.NoError(t, json.Indent(&b, raw, " ", "\t"))
			raw = b.Bytes()
		}
		got, err := DecodeAnswers(raw)
		expect.Require(t, err == nil && len(got) == len(all), "%d answers, %v, of %s", len(got), err, raw)
		for i, a := range got {
			// What is not valid UTF-8 was replaced when it was encoded.
			want := Answer{items[i].Field.ID, items[i].Field.Type, items[i].Field.Label, items[i].Field.Text, a.JSON, all[i].want}
			if !json.Valid(a.JSON) || !cmp.Equal(a, want) {
				t.Fatalf("%s: %s", raw, cmp.Diff(want, a))
			}
		}
	})
}

// No JSON, and nothing that is none, is more than an error.
func FuzzDecodeAnswers(f *testing.F) {
	for _, raw := range []string{
		``, `[]`, `{}`, `[`, `[{]`, `[{"field":{"id":"a","type":"matrix"},"value":{"r":[{"id":1}]}}]`, `[{"field":"x","value":"\"}]`, `[{"value":[}]`,
		`[{"field":{"id":"a","type":"date","label":"\ud800"},"value":"2026-02-30"}]`, `["`, `[{"a":`, `[1,,2]`, `[{"field":{"id":"\u00`,
	} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		answers, err := DecodeAnswers(raw)
		for _, a := range answers {
			expect.That(t, a.Value != nil, "%q: an answer without a value", raw)
			_ = a.String()
		}
		expect.That(t, err == nil || answers == nil, "%q: answers beside an error", raw)
	})
}
