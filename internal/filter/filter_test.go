package filter

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/formsvc/formsvc/internal/answers"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// blocks has a block of each kind of value that rules read.
const blocks = `{"id":"name","type":"short_text","label":"Name"},{"id":"nps","type":"nps","label":"NPS"},
	{"id":"yes","type":"yes_no","label":"Yes?"},{"id":"day","type":"date","label":"Day"},
	{"id":"at","type":"date","label":"At","properties":{"showTimePicker":true}},
	{"id":"one","type":"single_choice","label":"One","choices":[{"id":"a","label":"Apple"},{"id":"b","label":"Brötchen"}],"properties":{"otherOption":true}},
	{"id":"many","type":"multiple_choice","label":"Many","choices":[{"id":"a","label":"Ä"},{"id":"b","label":"B"}]},
	{"id":"grid","type":"matrix","label":"Grid","matrix_rows":[{"id":"r","label":"Row"}],"matrix_columns":[{"id":"c","label":"Column"}]},
	{"id":"who","type":"contact_info","label":"Who"},{"id":"a.b","type":"number","label":"Dotted"}`

func definition(extra string) storage.Definition {
	return storage.Definition{
		Blocks: json.RawMessage("[" + blocks + extra + "]"), Settings: json.RawMessage(`{}`), Theme: json.RawMessage(`{}`),
		HiddenFields: json.RawMessage(`["ref"]`), Variables: json.RawMessage(`{"score":3,"word":"x"}`),
	}
}

func compiled(t *testing.T, d storage.Definition) answers.Form {
	t.Helper()
	return expect.Must(answers.Compile(answers.Source{Definition: d}))
}

var values = map[string][]string{
	"name": {`"Ann"`, `"Søren  Müller"`, `"7"`, `"ＡＮＮ\tß"`}, "nps": {"0", "6", "7", "10"}, "yes": {"true", "false"}, "day": {`"2026-11-20"`, `"2026-01-02"`},
	"at": {`"2026-11-20T10:00:00Z"`, `"2026-11-20T23:30:00-05:00"`}, "one": {`"a"`, `"b"`, `{"other":"Zwölf"}`}, "many": {`["a"]`, `["b","a"]`},
	"grid": {`{"r":"c"}`}, "who": {`{"firstName":"José","lastName":"Łoś"}`}, "a.b": {"1.5", "-2"},
}

var conditions = []string{
	`{"<":[{"var":"answers.nps"},7]}`, `{"==":[{"var":"answers.name"},"7"]}`, `{"!":[{"var":"answers.yes"}]}`, `{"==":[{"var":"answers.yes"},false]}`,
	`{"==":[{"var":"answers.name"},null]}`, `{"in":["a",{"var":"answers.many"}]}`, `{"==":[{"var":"answers.one"},"a"]}`, `{"==":[{"var":"answers.one.other"},"Zwölf"]}`,
	`{">":[{"var":"answers.at"},"2026-11-21"]}`, `{"<=":[{"var":"answers.day"},"2026-02-01"]}`, `{"==":[{"var":"answers.grid.r"},"c"]}`,
	`{"==":[{"var":"answers.who.firstName"},"José"]}`, `{"<":[{"var":"answers.a.b"},0]}`, `{"==":[{"var":"hidden.ref"},"x"]}`, `{">":[{"var":"variables.score"},3]}`,
	`{"missing":["answers.name","answers.nps"]}`, `{"some":[{"var":"answers.many"},{"==":[{"var":""},"b"]}]}`, `{"match":[{"var":"answers.name"},"A.*"]}`,
	`{"<":[{"days":[{"var":"answers.day"},{"today":[]}]},30]}`, `{"==":[{"var":"variables.word"},"x"]}`, `{">":[{"var":"answers.many.length"},1]}`,
	`{"!=":[{"var":"answers"},null]}`, `{"==":[{"length":[{"var":"answers.name"}]},3]}`, `{"in":["l",{"cat":[{"var":"answers.who.lastName"}]}]}`,
}

// A condition selects a submission if a rule at the end of the form with this condition shows its block.
func TestConditionsMeanWhatTheyMeanInRules(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	random := rand.New(rand.NewPCG(46, 49))
	selected := 0
	for range 3000 {
		condition := conditions[random.IntN(len(conditions))]
		for range random.IntN(3) {
			condition = fmt.Sprintf(`{%q:[%s,%s]}`, []string{"and", "or"}[random.IntN(2)], condition, conditions[random.IntN(len(conditions))])
		}
		set := `,{"id":"set","type":"statement","label":"S","properties":{"rule":{"set":{"score":{"var":"answers.nps"}}}}}`
		d := definition(set + `,{"id":"probe","type":"yes_no","label":"Probe","required":true,"properties":{"rule":{"show":` + condition + `}}}`)
		form := compiled(t, d)
		in := answers.Input{Answers: map[string]json.RawMessage{"probe": json.RawMessage("true")}, Hidden: map[string]string{}, Now: now}
		for id, list := range values {
			if random.IntN(3) > 0 {
				in.Answers[id] = json.RawMessage(list[random.IntN(len(list))])
			}
		}
		if random.IntN(2) == 0 {
			in.Hidden["ref"] = "x"
		}
		checked := expect.Must(form.Check(in))
		stored := expect.Must(schema.DecodeAnswers(checked.List))
		want := strings.Contains(string(checked.ByField), `"probe"`)
		filter := expect.Must(New(d, json.RawMessage(condition), "", now))
		got := expect.Must(filter.Matches(stored, ""))
		expect.Equal(t, got, want, condition+" on "+string(checked.List))
		if got {
			selected++
		}
	}
	expect.That(t, 500 < selected && selected < 2500, "%d of 3,000 are selected", selected)
}

func TestTextIsFoundInAnyAnswer(t *testing.T) {
	t.Parallel()
	d := definition(`,{"id":"pay","type":"payment","label":"Pay"}`)
	in := answers.Input{Answers: map[string]json.RawMessage{}, Hidden: map[string]string{"ref": "Campaign Été"}}
	for id, raw := range map[string]string{
		"name": `"Søren  MÜLLER Straße ①"`, "nps": "10", "one": `"b"`, "many": `["a"]`, "who": `{"firstName":"José","lastName":"Łoś"}`, "day": `"2026-11-20"`, "grid": `{"r":"c"}`,
	} {
		in.Answers[id] = json.RawMessage(raw)
	}
	in.HostAnswers = map[string]json.RawMessage{"pay": json.RawMessage(`{"amount":"5.00","currency":"EUR","status":"paid","gateway":"Bank","reference":"pi_3N"}`)}
	stored := expect.Must(schema.DecodeAnswers(expect.Must(compiled(t, d).Check(in)).List))
	d.Blocks = json.RawMessage(strings.NewReplacer("Brötchen", "Bagel", `"Column"`, `"Pillar"`).Replace(string(d.Blocks)))
	for text, want := range map[string]bool{
		"bagel": true, "pillar": true, "soren": true, "SØREN": true, "muller strasse": true, "müller   straße": true, "mu\u0308ller": true, "brotchen": true, "jose": true, "LOS": true,
		"campaign ete": true, "10": true, "2026-11": true, "①": true, "1": true, " soren ": true, "": true, "  ": true,
		"pi_3n": true, "BANK": true, "5.00 eur": true, "column": true, "r: column": false,
		"söoren": false, "apple": false, "x": false, "null": false, "name": false,
	} {
		got, err := expect.Must(New(d, nil, text, time.Time{})).Matches(stored, "")
		expect.NoError(t, err)
		expect.Equal(t, got, want, text)
	}
}

// ASCII characters have a path of their own in texts with and without other characters.
func TestASCIIIsFoldedLikeOtherCharacters(t *testing.T) {
	t.Parallel()
	for c := rune('!'); c < 0x7f; c++ {
		for _, around := range []string{"", "é"} {
			want := computeFold(c)
			if around != "" {
				want = "e" + want + "e"
			}
			expect.Equal(t, Fold(around+string(c)+around), want, string(c))
		}
	}
	expect.Equal(t, Fold(" A  b\tC\n"), "a b c", "spaces")
}

// Vowels and voicing marks are not accents.
func TestFoldKeepsLetters(t *testing.T) {
	t.Parallel()
	for text, same := range map[string]string{"が": "か\u3099", "ガ": "\uff76\uff9e", "각": "\u1100\u1161\u11a8", "مُحَمَّد": "محمد", "שָׁלוֹם": "שלום", "❤️ Ấ": "❤ A\u0302\u0301"} {
		expect.Equal(t, Fold(same), Fold(text), same)
	}
	for text, other := range map[string]string{"が": "か", "ガ": "カ", "각": "가", "กิน": "กัน", "कि": "कु"} {
		expect.That(t, !strings.Contains(Fold(text), Fold(other)), "%q is found in %q", other, text)
	}
}

func TestMistakesAreReported(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", maxTextLength+1)
	for where, want := range map[string]string{
		`{"==":[{"var":"answers.gone"},1]}`:                 "/where UNKNOWN_FIELD",
		`{"or":[{"var":"hidden.x"},{"var":"variables.y"}]}`: "/where UNKNOWN_FIELD",
		`{"missing":["answers.nobody"]}`:                    "/where UNKNOWN_FIELD",
		`{"and":[{"var":"answers.name"},{"nope":[]}]}`:      "/where/and/1 NOT_ALLOWED",
		`{"var":"submission"}`:                              "/where UNKNOWN_FIELD",
		`{"var":"submission.id"}`:                           "/where UNKNOWN_FIELD",
		`{"var":"submission.ending"}`:                       "",
		`{"match":[{"var":"answers.name"},"("]}`:            "/where/match/1 NOT_ALLOWED",
		`{`:                                                 "/where BAD_FORMAT",
		`{"var":"variables.y"}`:                             "/where UNKNOWN_FIELD",
		`{"var":"variables.score"}`:                         "",
		`"answers.name"`:                                    "/where BAD_FORMAT",
		`7`:                                                 "/where BAD_FORMAT",
		`null`:                                              "/where BAD_FORMAT",
		`[]`:                                                "/where BAD_FORMAT",
		`{}`:                                                "/where BAD_FORMAT",
		`{"<":[{"var":"answers.nps"},7],"!":[true]}`: "/where BAD_FORMAT",
		`true`: "",
		``:     "/where BAD_FORMAT",
		`{"in":[1,[` + strings.Repeat("1,", maxSize) + `1]]}`: "/where TOO_MANY",
		`{"var":"answers"}`:                                   "",
		`{"var":["answers.who.zip","x"]}`:                     "",
		`{"var":{"cat":["answers.",{"var":"answers.name"}]}}`: "",
	} {
		_, err := New(definition(""), json.RawMessage(where), "", time.Time{})
		var list []string
		if broken, ok := err.(*schema.Error); ok { //nolint:errorlint // New returns no wrapped errors
			for _, v := range broken.Violations {
				list = append(list, v.Path+" "+v.Code)
			}
		} else {
			expect.NoError(t, err)
		}
		expect.Equal(t, strings.Join(list, ", "), want, where)
	}
	_, err := New(definition(""), json.RawMessage(`{"var":"answers.gone"}`), long, time.Time{})
	broken, _ := err.(*schema.Error) //nolint:errorlint // New returns no wrapped errors
	expect.That(t, broken != nil && len(broken.Violations) == 2, "both mistakes: %v", err)
	filter, err := New(definition(""), nil, "", time.Time{})
	expect.That(t, filter == nil && err == nil, "no filter: %v, %v", filter, err)
}

func TestConditionsReadTheEnding(t *testing.T) {
	t.Parallel()
	for where, want := range map[string][2]bool{ // with the ending "sorry", and with none
		`{"==":[{"var":"submission.ending"},"sorry"]}`:                                       {true, false},
		`{"!=":[{"var":"submission.ending"},"thanks"]}`:                                      {true, true},
		`{"==":[{"var":"submission.ending"},null]}`:                                          {false, true},
		`{"in":[{"var":"submission.ending"},["sorry","x"]]}`:                                 {true, false},
		`{"==":[{"var":{"cat":["submission",".ending"]}},"sorry"]}`:                          {true, false},
		`{"missing":["submission.ending"]}`:                                                  {false, true},
		`{"and":[{"==":[{"var":"submission.ending"},"sorry"]},{"var":"answers.yes"}]}`:       {false, false},
		`{"or":[{"==":[{"var":"answers.ending"},1]},{"==":[{"var":"hidden.ref"},"sorry"]}]}`: {false, false},
	} {
		filter := expect.Must(New(definition(`,{"id":"ending","type":"number"}`), json.RawMessage(where), "", time.Time{}))
		for i, ending := range []string{"sorry", ""} {
			stored := []schema.Answer{{ID: "ending", Type: schema.TypeNumber, JSON: json.RawMessage("2")}}
			expect.Equal(t, expect.Must(filter.Matches(stored, ending)), want[i], "%s with the ending %q", where, ending)
		}
	}
}

// A submission with a long text exceeds the steps of a costly condition, which is an error and no missing row.
func TestACostlyConditionIsAnError(t *testing.T) {
	t.Parallel()
	d := definition("")
	filter := expect.Must(New(d, json.RawMessage(`{"match":[{"var":"answers.name"},"`+strings.Repeat("x*", 490)+`y"]}`), "", time.Time{}))
	stored := []schema.Answer{{ID: "name", Type: schema.TypeLongText, JSON: json.RawMessage(`"` + strings.Repeat("x", 90_000) + `"`)}}
	_, err := filter.Matches(stored, "")
	expect.That(t, err != nil, "no error")
}

func BenchmarkFold(b *testing.B) {
	for name, text := range map[string]string{"lower": "a short answer", "upper": "A Short Answer", "accents": "Ein größeres Frühstück"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Fold(text)
			}
		})
	}
}

func TestKeysAreShortAndDifferent(t *testing.T) {
	t.Parallel()
	now, keys := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), map[string]bool{}
	long := strings.Repeat("x", 900_000)
	for _, where := range []string{`{"==":[{"var":"answers.name"},"` + long + `"]}`, `{"==":[{"var":"answers.name"},"` + long + `y"]}`, `true`} {
		for _, text := range []string{"", "a", "b"} {
			for day := range 2 {
				made := expect.Must(New(definition(""), json.RawMessage(where), text, now.AddDate(0, 0, day)))
				expect.That(t, len(made.Key()) < 100 && !keys[made.Key()], "the key has %d bytes", len(made.Key()))
				keys[made.Key()] = true
			}
		}
	}
}
