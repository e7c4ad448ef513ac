package identity

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/formsvc/formsvc/schema"
)

// stored is a stored list with one answer, to the block q.
func stored(typ, value string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`[{"field":{"id":"other","type":"number","label":""},"value":7},`+
		`{"field":{"id":"q","type":%q,"label":"Q"},"value":%s}]`, typ, value))
}

func isCompared(typ string) bool {
	k, _ := schema.LookupBlockType(typ)
	return k.IsCompared()
}

// Each class has values of one meaning, and no two classes of a type share one.
func TestIdentity(t *testing.T) {
	for _, test := range []struct {
		types   []string
		classes [][]string
	}{
		{[]string{"short_text", "long_text"}, [][]string{
			{`"Ann"`, `"ann"`, `"ANN"`, `" ann "`, `"\uff21nn"`},
			{`"ann smith"`, `"Ann\t Smith"`, `"ann\u00a0smith"`, `"ann\nsmith"`, `"ANN\u3000SMITH"`},
			{`"annsmith"`},
			{`"Stra\u00dfe"`, `"strasse"`, `"STRASSE"`, `"STRA\u1e9eE"`},
			{`"\u00e9"`, `"e\u0301"`, `"\u00c9"`},
			{`"e"`},
			{`"\ufb01ne"`, `"fine"`},
			{`"\u03a3\u03a3"`, `"\u03c3\u03c2"`},
			{`"1"`}, {`"1.0"`},
		}},
		{[]string{"email"}, [][]string{
			{`"ann@example.com"`, `"Ann@example.com"`, `"ANN@EXAMPLE.COM"`},
			{`"ann+1@example.com"`},
			{`"ann@m\u00fcnchen.de"`, `"ann@xn--mnchen-3ya.de"`, `"ANN@M\u00dcNCHEN.DE"`},
			{`"ann@munchen.de"`},
			{`"j\u00f6rg@example.com"`, `"J\u00d6RG@example.com"`},
		}},
		{[]string{"phone"}, [][]string{
			{`"+31201234567"`, `"+31 20 123 4567"`, `"+31 (0)20-1234567"`},
			{`"+31201234568"`},
			{`"call me"`, `"Call  Me"`}, // stored before numbers were checked
		}},
		{[]string{"website"}, [][]string{
			{`"https://example.com"`, `"http://example.com/"`, `"https://EXAMPLE.com:443/"`, `"http://example.com:80"`, `"example.com"`},
			{`"https://example.com:80"`}, {`"https://example.com:8443/"`, `"http://example.com:8443"`},
			{`"https://example.com/a"`, `"https://example.com/a/"`},
			{`"https://example.com/A"`}, {`"https://example.com/a//"`},
			{`"https://example.com/a?x=1"`, `"http://example.com/a/?x=1"`},
			{`"https://example.com/a?x=1/"`}, {`"https://example.com/a?X=1"`},
			{`"https://m\u00fcnchen.de"`, `"https://xn--mnchen-3ya.de/"`},
			{`"https://www.example.com"`},
		}},
		{[]string{"number", "rating", "opinion_scale", "nps"}, [][]string{
			{`1`, `1.0`, `1e0`, `10e-1`, `0.1e1`, `1.00`}, {`-1`, `-1.0`}, {`0`, `-0`, `0.0`, `0e5`},
			{`100`, `1e2`, `1E+2`}, {`0.1`, `1e-1`, `0.10`},
			{`9007199254740993`}, {`9007199254740992`}, {`1.5`}, {`15`},
		}},
		{[]string{"single_choice", "dropdown", "picture_choice"}, [][]string{
			{`{"id":"a","label":"A"}`, `{"id":"a","label":"renamed"}`, `{"label":"A","id":"a"}`},
			{`{"id":"b","label":"A"}`}, {`{"id":"A","label":"A"}`},
			{`{"other":"Green"}`, `{"other":" green"}`}, {`{"id":"green","label":""}`}, {`{"other":"a"}`},
		}},
		{[]string{"multiple_choice", "picture_choice"}, [][]string{
			{`[{"id":"a","label":""},{"id":"b","label":""}]`, `[{"id":"b","label":"B"},{"id":"a","label":"A"}]`},
			{`[{"id":"a","label":""}]`}, {`[{"id":"a\",\"b","label":""}]`}, {`[{"id":"a,b","label":""}]`},
			{`[{"id":"a","label":""},{"other":"x"}]`, `[{"other":"X"},{"id":"a","label":""}]`},
		}},
		{[]string{"ranking"}, [][]string{
			{`[{"id":"a","label":""},{"id":"b","label":""}]`, `[{"id":"a","label":"A"},{"id":"b","label":"B"}]`},
			{`[{"id":"b","label":""},{"id":"a","label":""}]`},
		}},
		{[]string{"date"}, [][]string{{`"2026-11-22"`}, {`"2026-11-22T10:00:00Z"`}, {`"2026-11-22T11:00:00+01:00"`}}},
		{[]string{"time"}, [][]string{{`"10:00"`}, {`"10:00:00"`}}},
	} {
		for _, typ := range test.types {
			if !isCompared(typ) {
				t.Errorf("%s: IsCompared is false", typ)
			}
			owner := map[string]string{}
			for _, class := range test.classes {
				first := string(StoredDigest(stored(typ, class[0]), "q"))
				if len(first) != 32 {
					t.Errorf("%s %s: a digest of %d bytes", typ, class[0], len(first))
				}
				if other, taken := owner[first]; taken {
					t.Errorf("%s: %s and %s have the same digest", typ, other, class[0])
				}
				owner[first] = class[0]
				for _, value := range class[1:] {
					if string(StoredDigest(stored(typ, value), "q")) != first {
						t.Errorf("%s: %s and %s have different digests", typ, class[0], value)
					}
				}
			}
		}
	}
}

func TestIdentityOfWhatIsNeverCompared(t *testing.T) {
	for typ, value := range map[string]string{
		"yes_no": `true`, "legal": `true`, "country": `"NL"`, "matrix": `{"r":{"id":"a","label":""}}`, "address": `{"city":"X"}`, "contact_info": `{"email":"a@b.cd"}`,
		"payment": `{"amount":"1"}`, "file_upload": `[{"id":"1"}]`, "signature": `{"id":"1"}`, "variable": `1`, "a_type_of_tomorrow": `"x"`,
	} {
		if isCompared(typ) || StoredDigest(stored(typ, value), "q") != nil {
			t.Errorf("%s is compared", typ)
		}
	}
	for name, list := range map[string]string{
		"another block": string(stored("email", `"a@b.cd"`)), "no list": `{}`, "not JSON": `[`, "an empty list": `[]`,
		"a value of another type": string(stored("number", `"1"`)), "empty text": string(stored("short_text", `""`)), "no choice": string(stored("multiple_choice", `[]`)),
	} {
		block := "q"
		if name == "another block" {
			block = "p"
		}
		if got := StoredDigest(json.RawMessage(list), block); got != nil {
			t.Errorf("%s: got a digest", name)
		}
	}
}
