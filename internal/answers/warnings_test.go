package answers

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// finished returns the warnings but those of missing texts: most blocks in tests have none.
func finished(from Source) schema.Warnings {
	return slices.DeleteFunc(expect.Must(FindWarnings(from)), func(w schema.Warning) bool { return w.Code == schema.WarnUnfinished })
}

// warningsOf renders the warnings of a definition as "path CODE", one a line.
func warningsOf(t testing.TB, from Source) []string {
	t.Helper()
	var list []string
	for _, w := range finished(from) {
		expect.That(t, w.Message != "" && !strings.HasSuffix(w.Message, "."), "%+v: the message", w)
		list = append(list, w.Path+" "+w.Code)
	}
	return list
}

// below lists the warnings in a text with a path in front.
func below(path, warnings string) (list []string) {
	for w := range strings.SplitSeq(warnings, ", ") {
		if w != "" {
			list = append(list, path+w)
		}
	}
	return list
}

func TestWarningsOfOneBlock(t *testing.T) {
	const two = `"choices":[{"id":"a"},{"id":"b"}]`
	for block, want := range map[string]string{
		`"type":"short_text"`:                                                                            "",
		`"type":"short_text","properties":{"maxChars":0}`:                                                "/properties/maxChars NO_EFFECT",
		`"type":"number","properties":{"min":5,"minVal":true,"max":4,"maxVal":true}`:                     "/properties UNANSWERABLE_BLOCK",
		`"type":"number","properties":{"min":5,"minVal":true,"max":5,"maxVal":true}`:                     "",
		`"type":"number","properties":{"min":5,"max":4}`:                                                 "/properties/min NO_EFFECT, /properties/max NO_EFFECT",
		`"type":"number","properties":{"min":5,"minVal":true,"max":4}`:                                   "/properties/max NO_EFFECT",
		`"type":"number","properties":{"minVal":true,"maxVal":true}`:                                     "/properties/minVal NO_EFFECT, /properties/maxVal NO_EFFECT",
		`"type":"rating","properties":{"to":0.5}`:                                                        "/properties/to NO_EFFECT",
		`"type":"opinion_scale","properties":{"from":5,"to":1}`:                                          "/properties UNANSWERABLE_BLOCK",
		`"type":"opinion_scale","properties":{"scaleStep":0}`:                                            "/properties/scaleStep NO_EFFECT",
		`"type":"opinion_scale","properties":{"scaleStep":100}`:                                          "",
		`"type":"single_choice"`:                                                                         "/choices UNANSWERABLE_BLOCK",
		`"type":"dropdown","properties":{"otherOption":true}`:                                            "",
		`"type":"single_choice",` + two:                                                                  "",
		`"type":"picture_choice","properties":{"min":3,"minVal":true},` + two:                            "",
		`"type":"picture_choice","properties":{"multiSelection":true,"min":3,"minVal":true},` + two:      "/properties UNANSWERABLE_BLOCK",
		`"type":"multiple_choice","properties":{"min":3,"minVal":true,"otherOption":true},` + two:        "",
		`"type":"multiple_choice","properties":{"min":4,"minVal":true,"otherOption":true},` + two:        "/properties UNANSWERABLE_BLOCK",
		`"type":"multiple_choice","properties":{"min":2,"minVal":true,"limit":1},` + two:                 "/properties UNANSWERABLE_BLOCK",
		`"type":"multiple_choice","properties":{"min":1.5,"minVal":true,"max":1.9,"maxVal":true},` + two: "/properties UNANSWERABLE_BLOCK",
		`"type":"multiple_choice","properties":{"max":0,"maxVal":true},` + two:                           "/properties UNANSWERABLE_BLOCK",
		`"type":"multiple_choice","properties":{"limit":0},` + two:                                       "/properties/limit NO_EFFECT",
		`"type":"ranking"`: "/choices UNANSWERABLE_BLOCK",
		`"type":"matrix"`:  "/matrix_rows UNANSWERABLE_BLOCK",
		`"type":"matrix","matrix_rows":[{"id":"r"}]`:                                                                            "/matrix_columns UNANSWERABLE_BLOCK",
		`"type":"matrix","matrix_columns":[{"id":"r"}]`:                                                                         "/matrix_rows UNANSWERABLE_BLOCK",
		`"type":"date","properties":{"disabledDays":127}`:                                                                       "/properties UNANSWERABLE_BLOCK",
		`"type":"date","properties":{"beforeDate":"0085-02-03T00:00:00Z"}`:                                                      "/properties UNANSWERABLE_BLOCK",
		`"type":"date","properties":{"afterDate":"0085-02-03T00:00:00Z"}`:                                                       "",
		`"type":"date","properties":{"disabledDays":126}`:                                                                       "",
		`"type":"date","properties":{"afterDate":"2026-08-03T00:00:00Z","beforeDate":"2026-08-02T00:00:00Z"}`:                   "/properties UNANSWERABLE_BLOCK",
		`"type":"date","properties":{"afterDate":"2026-08-01T00:00:00Z","beforeDate":"2026-08-02T00:00:00Z","disabledDays":65}`: "/properties UNANSWERABLE_BLOCK", // a weekend
		`"type":"date","properties":{"afterDate":"2026-08-01T00:00:00Z","beforeDate":"2026-08-03T00:00:00Z","disabledDays":65}`: "",
		`"type":"date","properties":{"specificDates":["2026-08-01T00:00:00Z","2026-08-02T00:00:00Z"],"disabledDays":65}`:        "/properties UNANSWERABLE_BLOCK",
		`"type":"date","properties":{"specificDates":["2026-08-01T00:00:00Z","2026-08-04T00:00:00Z"],"disabledDays":65}`:        "",
		`"type":"date","properties":{"specificDates":["2026-08-01T00:00:00Z"],"afterDate":"2026-08-02T00:00:00Z"}`:              "/properties UNANSWERABLE_BLOCK",
		`"type":"signature","properties":{"allowedFiles":["application/pdf","text/*"]}`:                                         "/properties/allowedFiles UNANSWERABLE_BLOCK",
		`"type":"signature","properties":{"allowedFiles":["application/pdf","png"]}`:                                            "",
		`"type":"signature","properties":{"allowedFiles":["image/*"]}`:                                                          "",
		`"type":"signature","properties":{"allowedFiles":["image/"]}`:                                                           "/properties/allowedFiles UNANSWERABLE_BLOCK",
		`"type":"file_upload","properties":{"allowedFiles":["image/","image/png; q=1",".a/b","/*"]}`:                            "/properties/allowedFiles UNANSWERABLE_BLOCK",
		`"type":"file_upload","properties":{"allowedFiles":["*/*"]}`:                                                            "",
		`"type":"phone","properties":{"defaultCountry":"Atlantis"}`:                                                             "/properties/defaultCountry NO_EFFECT",
		`"type":"phone","properties":{"defaultCountry":"NL"}`:                                                                   "",
		`"type":"multiple_choice","properties":{"max":3,"maxVal":true,"limit":3},` + two:                                        "/properties/max NO_EFFECT, /properties/limit NO_EFFECT",
		`"type":"multiple_choice","properties":{"max":2,"maxVal":true,"limit":2},` + two:                                        "",
		`"type":"payment","properties":{"amount":"free","currency":"EURO"}`:                                                     "/properties/amount NO_EFFECT, /properties/currency NO_EFFECT",
		`"type":"payment","properties":{"amount":"10.00","currency":"eur"}`:                                                     "",
		`"type":"contact_info","properties":{"defaultCountry":"NL","addressOrContact":{"email":{"hide":true}}}`:                 "",
		`"type":"contact_info","properties":{"addressOrContact":{"email":{"hide":true}}}`:                                       "",
		`"type":"phone"`: "",
		`"type":"phone","properties":{"hide":true}`: "",
		`"type":"address","properties":{"addressOrContact":{"firstName":{"hide":true},"lastName":{"hide":true},"email":{"hide":true},"phone":{"hide":true},"company":{"hide":true},"address":{"hide":true},"address2":{"hide":true},"city":{"hide":true},"state":{"hide":true},"zip":{"hide":true},"country":{"hide":true,"required":true}}}`: "/properties/addressOrContact UNANSWERABLE_BLOCK",
	} {
		for _, required := range []bool{false, true} {
			blocks := fmt.Sprintf(`[{"id":"q","required":%v,%s}]`, required, block)
			got := warningsOf(t, Source{Definition: storage.Definition{Blocks: json.RawMessage(blocks)}})
			wanted := below("/blocks/0", want)
			if required && strings.Contains(want, "UNANSWERABLE") {
				wanted = append(wanted, "/blocks UNANSWERABLE_FORM")
			}
			expect.That(t, fmt.Sprint(got) == fmt.Sprint(wanted), "%s: %v, want %v", blocks, got, wanted)
			// The sample shows that it can be answered, or that it cannot.
			f := compileTestForm(t, blocks, "", "")
			_, err := f.Check(asInput(t, f, f.Sample()))
			unanswerable := strings.Contains(want, "UNANSWERABLE")
			expect.That(t, !required || (err != nil) == unanswerable, "%s: the sample gives %v", blocks, err)
		}
	}
}

// Which day a bound means depends on the service's zone, and so does whether one is left.
func TestWarningsKnowTheZone(t *testing.T) {
	blocks := json.RawMessage(`[{"id":"q","type":"date","required":true,"properties":{"afterDate":"2026-08-01T20:00:00Z","beforeDate":"2026-08-01T22:00:00Z","disabledDays":64}}]`) // a Saturday in UTC
	expect.Equal(t, len(warningsOf(t, Source{Definition: storage.Definition{Blocks: blocks}})), 2, "warnings in UTC")
	got := warningsOf(t, Source{Definition: storage.Definition{Blocks: blocks}, TimeZone: time.FixedZone("later", 9*3600)})
	expect.That(t, len(got) == 0, "nine hours later: %v", got)
	// There the bound is a Saturday that cannot be written, 1 January 10000; the one before can.
	blocks = json.RawMessage(`[{"id":"q","type":"date","required":true,"properties":{"beforeDate":"9999-12-31T12:00:00Z","disabledDays":63}}]`)
	got = warningsOf(t, Source{Definition: storage.Definition{Blocks: blocks}, TimeZone: time.FixedZone("east", 14*3600)})
	expect.That(t, len(got) == 0, "fourteen hours later: %v", got)
}

func TestWarningsOfRules(t *testing.T) {
	const (
		before = `{"id":"a","type":"yes_no"},{"id":"s","type":"statement","properties":{"rule":{"set":{"early":1}}}},`
		after  = `,{"id":"c","type":"short_text","properties":{"rule":{"set":{"late":1,"early":2}}}},{"id":"g","type":"group","children":[{"id":"in","type":"number"}]},{"id":"z","type":"ending"}`
	)
	for rule, want := range map[string]string{
		`{}`: "", `{"free":{"nope":1},"show":null}`: " MALFORMED_RULE", `{"free":1,"show":{"var":"answers.a"}}`: "", `{"show":null}`: "",
		`{"show":{"var":"answers.a"}}`:                                    "",
		`{"show":true}`:                                                   "/show NO_EFFECT",
		`{"show":{"==":[1,1]}}`:                                           "/show NO_EFFECT",
		`{"show":{"nope":1}}`:                                             "/show UNREADABLE_LOGIC",
		`{"show":{"and":[true,{"nope":[1]}]}}`:                            "/show/and/1 UNREADABLE_LOGIC",
		`{"show":{"var":"answers.nobody"}}`:                               "/show UNKNOWN_NAME",
		`{"show":{"var":"answers.s"}}`:                                    "/show UNKNOWN_NAME",
		`{"show":{"var":"answer.a"}}`:                                     "/show UNKNOWN_NAME",
		`{"show":{"var":"answers.c"}}`:                                    "/show NOT_YET_KNOWN",
		`{"show":{"var":"answers.b"}}`:                                    "/show NOT_YET_KNOWN",
		`{"require":{"missing":["answers.a","answers.b"]}}`:               "/require NOT_YET_KNOWN",
		`{"show":{"var":"hidden.h"}}`:                                     "",
		`{"require":{"some":[{"var":"answers.a"},{"var":"anything"}]}}`:   "/require NEVER_HOLDS",
		`{"show":{"var":"hidden.nobody"}}`:                                "/show UNKNOWN_NAME",
		`{"show":{"var":"variables.nobody"}}`:                             "/show UNKNOWN_NAME",
		`{"set":{"v":{"var":"answers.b"}}}`:                               "",
		`{"set":{"v":{"var":"answers.in"}}}`:                              "/set/v NOT_YET_KNOWN",
		`{"set":{"v":true}}`:                                              "/set/v NO_EFFECT",
		`{"set":{"v":[1]}}`:                                               "/set/v NO_EFFECT",
		`{"set":{"v":"text"}}`:                                            "",
		`{"next":[{"to":"c"}]}`:                                           "/next/0 NO_EFFECT",
		`{"next":[{"if":{"var":"answers.a"},"to":"c"},{"to":"z"}]}`:       "",
		`{"set":{"undeclared":1}}`:                                        "/set/undeclared UNKNOWN_NAME",
		`{"set":5}`:                                                       "/set MALFORMED_RULE",
		`{"next":{}}`:                                                     "/next MALFORMED_RULE",
		`{"next":[5,{"if":true},{"to":5}]}`:                               "/next/0 MALFORMED_RULE, /next/1 MALFORMED_RULE, /next/2 MALFORMED_RULE",
		`{"next":[{"to":"nobody"}]}`:                                      "/next/0/to UNKNOWN_TARGET",
		`{"next":[{"to":"in"}]}`:                                          "/next/0/to UNKNOWN_TARGET",
		`{"next":[{"to":"a"}]}`:                                           "/next/0/to BACKWARD_JUMP",
		`{"next":[{"to":"b"}]}`:                                           "/next/0/to BACKWARD_JUMP",
		`{"next":[{"if":{"nope":1},"to":"end"}]}`:                         "/next/0/if UNREADABLE_LOGIC",
		`{"next":[{"if":false,"to":"end"}]}`:                              "/next/0/if NO_EFFECT",
		`{"next":[{"if":{"var":"answers.a"},"to":"end"}]}`:                "",
		`{"next":["x",{"to":"c"},{"if":{"var":"answers.a"},"to":"end"}]}`: "/next/0 MALFORMED_RULE, /next/2 NO_EFFECT",

		// A variable that is set only later, or by the same rule, does not have its value yet.
		`{"set":{"v":{"*":[{"var":"variables.late"},2]}}}`:                                                                            "/set/v NOT_YET_KNOWN",
		`{"set":{"v":{"var":"variables.early"},"early":2}}`:                                                                           "",
		`{"set":{"v":{"+":[{"var":"variables.v"},1]},"late":{"var":"variables"}}}`:                                                    "",
		`{"set":{"v":1,"x/y":{"var":"variables.v"}}}`:                                                                                 "/set/x~1y NOT_YET_KNOWN",
		`{"set":{"x/y":{"+":[{"var":"variables.x/y"},{"var":"answers.b"}]}}}`:                                                         "",
		`{"show":{"var":"variables.late"},"require":{"var":"variables.early"}}`:                                                       "/show NOT_YET_KNOWN",
		`{"set":{"v":{"var":"answers.b"}},"next":[{"if":{"var":"variables.v"},"to":"end"},{"if":{"var":"variables.late"},"to":"z"}]}`: "/next/1/if NOT_YET_KNOWN",
		`{"set":{"v":{"var":"answers.b"}},"check":[{"if":{"==":[{"var":"variables.v"},{"var":"answers.b"}]},"say":"Again"}]}`:         "/check/0/if NOT_YET_KNOWN",
	} {
		blocks := "[" + before + `{"id":"b","type":"number","properties":{"rule":` + rule + `}}` + after + "]"
		got := warningsOf(t, Source{Definition: storage.Definition{Blocks: json.RawMessage(blocks), Variables: json.RawMessage(`{"v":1,"early":0,"late":0,"x/y":0}`), HiddenFields: json.RawMessage(`["h"]`)}})
		wanted := below("/blocks/2/properties/rule", want)
		expect.That(t, fmt.Sprint(got) == fmt.Sprint(wanted), "%s: %v, want %v", rule, got, wanted)
	}
	// The rule of a hidden block does not run, so it never sets the variable.
	blocks := json.RawMessage(`[{"id":"a","type":"heading","label":"A","properties":{"rule":{"show":{"var":"variables.v"}}}},{"id":"b","type":"email","properties":{"hide":true,"rule":{"set":{"v":2}}}}]`)
	got := warningsOf(t, Source{Definition: storage.Definition{Blocks: blocks, Variables: json.RawMessage(`{"v":1}`)}})
	expect.Equal(t, strings.Join(got, ", "), "/blocks/0/properties/rule/show ALWAYS_HOLDS, /blocks/1/properties/rule NO_EFFECT", "set by a hidden block")
}

func TestWarningsOfPaths(t *testing.T) {
	for blocks, want := range map[string]string{
		`{"id":"z","type":"ending"},{"id":"q","type":"number"}`:                                                                             "/blocks/1 UNREACHABLE",
		`{"id":"a","type":"number","properties":{"rule":{"next":[{"to":"c"}]}}},{"id":"b","type":"number"},{"id":"c","type":"number"}`:      "/blocks/1 UNREACHABLE",
		`{"id":"a","type":"number","properties":{"rule":{"show":false}}}`:                                                                   "/blocks/0 UNREACHABLE",
		`{"id":"a","type":"number","properties":{"hide":true}}`:                                                                             "",
		`{"id":"a","type":"number","properties":{"hide":true,"rule":{"require":true}}}`:                                                     "/blocks/0/properties/rule NO_EFFECT",
		`{"id":"a","type":"statement","properties":{"rule":{"require":true}}}`:                                                              "/blocks/0/properties/rule/require NO_EFFECT",
		`{"id":"a","type":"ending","properties":{"rule":{"next":[{"to":"end"}]}}}`:                                                          "/blocks/0/properties/rule/next NO_EFFECT",
		`{"id":"g","type":"group","children":[{"id":"a","type":"number","properties":{"rule":{"show":false}}},{"id":"z","type":"ending"}]}`: "/blocks/0/children/0/properties/rule NO_EFFECT, /blocks/0/children/1 NO_EFFECT",
		`{"id":"g","type":"group","children":[{"id":"a","type":"number","properties":{"rule":{"free":1,"show":null}}}]}`:                    "/blocks/0/children/0/properties/rule MALFORMED_RULE",
		`{"id":"g","type":"group","required":true},{"id":"c","type":"captcha","required":true}`:                                             "/blocks/0/required NO_EFFECT, /blocks/1/required NO_EFFECT",
		// An ending that a later jump to the end comes to.
		`{"id":"e1","type":"ending","properties":{"rule":{"show":{"var":"answers.c"}}}},{"id":"c","type":"yes_no","properties":{"rule":{"next":[{"to":"end"}]}}},{"id":"s","type":"statement"},{"id":"e2","type":"ending"}`: "/blocks/2 UNREACHABLE",
		`{"id":"e1","type":"ending","properties":{"rule":{"show":{"var":"answers.c"}}}},{"id":"c","type":"yes_no"}`:                                                                                                         "/blocks/0/properties/rule/show NOT_YET_KNOWN",
		// A choice whose id is blank is chosen by an object.
		`{"id":"q","type":"single_choice","choices":[{"id":"a"},{"id":" "}]},{"id":"s","type":"statement","properties":{"rule":{"show":{"==":[{"var":"answers.q"}," "]}}}}`: "",
		// A required block that cannot be answered, with and without a way around it.
		`{"id":"t","type":"long_text","properties":{"rule":{"next":[{"if":{"var":"answers.t"},"to":"z"}]}}},{"id":"q","type":"ranking","required":true},{"id":"z","type":"ending"}`: "/blocks/1/choices UNANSWERABLE_BLOCK",
		`{"id":"t","type":"yes_no"},{"id":"q","type":"ranking","required":true,"properties":{"rule":{"require":{"var":"answers.t"}}}}`:                                              "/blocks/1/choices UNANSWERABLE_BLOCK",
		`{"id":"q","type":"ranking","required":true,"properties":{"hide":true}}`:                                                                                                    "/blocks/0/choices UNANSWERABLE_BLOCK",
		`{"id":"q","type":"ranking","properties":{"rule":{"require":true}}}`:                                                                                                        "/blocks/0/choices UNANSWERABLE_BLOCK, /blocks UNANSWERABLE_FORM",
		`{"id":"g","type":"group","children":[{"id":"q","type":"ranking","required":true}]}`:                                                                                        "/blocks/0/children/0/choices UNANSWERABLE_BLOCK, /blocks UNANSWERABLE_FORM",
	} {
		got := warningsOf(t, Source{Definition: storage.Definition{Blocks: json.RawMessage("[" + blocks + "]")}})
		if strings.Join(got, ", ") != want {
			t.Errorf("%s:\n%s, want\n%s", blocks, strings.Join(got, ", "), want)
		}
	}
	for settings, want := range map[string]string{
		`{"openAt":"2026-01-02T00:00:00Z","closeAt":"2026-01-02T00:00:00Z"}`: "/settings/openAt UNANSWERABLE_FORM",
		`{"openAt":"2026-01-03T00:00:00Z","closeAt":"2026-01-02T00:00:00Z"}`: "/settings/openAt UNANSWERABLE_FORM",
		`{"openAt":"2026-01-01T23:59:59Z","closeAt":"2026-01-02T00:00:00Z"}`: "",
		`{"openAt":"2026-01-03T00:00:00Z"}`:                                  "",
		`{"closeAt":"2026-01-02T00:00:00Z"}`:                                 "",
	} {
		got := warningsOf(t, Source{Definition: storage.Definition{Blocks: json.RawMessage(`[{"id":"a","type":"email","label":"A"}]`), Settings: json.RawMessage(settings)}})
		expect.Equal(t, strings.Join(got, ", "), want, settings)
	}
	for field, want := range map[string]string{"": "", "a": "", "m": "DUPLICATE_FIELD", "in": "", "nobody": "DUPLICATE_FIELD", "g": "DUPLICATE_FIELD"} {
		got := warningsOf(t, Source{Definition: storage.Definition{
			Blocks:   json.RawMessage(`[{"id":"a","type":"email"},{"id":"m","type":"matrix","matrix_rows":[{"id":"r","label":"R"}],"matrix_columns":[{"id":"c","label":"C"}]},{"id":"g","type":"group","children":[{"id":"in","type":"number"}]}]`),
			Settings: json.RawMessage(`{"duplicateField":"` + field + `"}`),
		}})
		if want != "" {
			want = "/settings/duplicateField " + want
		}
		expect.That(t, strings.Join(got, ", ") == want, "%q: %v, want %s", field, got, want)
	}
}

// A rule that is written as elsewhere is said to be ignored.
func TestWarningsOfRulesInAnotherShape(t *testing.T) {
	for rule, want := range map[string]string{
		`{"conditions":[{"field":"a","is":"yes"}],"action":"hide"}`: "/action MALFORMED_RULE, /conditions MALFORMED_RULE",
		`{"hideIf":{"var":"answers.a"}}`:                            "/hideIf MALFORMED_RULE",
		`{"show":{"var":"answers.a"},"hideIf":{"var":"answers.a"}}`: "/hideIf MALFORMED_RULE",
		`{"visible":false}`:                                 " MALFORMED_RULE",
		`{"Show":{"var":"answers.a"},"x":1}`:                " MALFORMED_RULE",
		`{"note":"of the host","show":{"var":"answers.a"}}`: "",
		`{}`: "", `{"next":[]}`: "", `{"show":null,"set":null}`: "",
	} {
		for place, blocks := range map[string]string{
			"/blocks/1":            `[{"id":"a","type":"yes_no"},{"id":"b","type":"number","properties":{"rule":%s}}]`,
			"/blocks/1/children/0": `[{"id":"a","type":"yes_no"},{"id":"g","type":"group","children":[{"id":"b","type":"number","properties":{"rule":%s}}]}]`,
		} {
			got := warningsOf(t, Source{Definition: storage.Definition{Blocks: json.RawMessage(fmt.Sprintf(blocks, rule))}})
			slices.Sort(got)
			// In a group no rule counts, and that is said beside it.
			got = slices.DeleteFunc(got, func(w string) bool { return w == place+"/properties/rule NO_EFFECT" })
			var wanted []string
			for w := range strings.SplitSeq(want, ", ") {
				if w != "" {
					wanted = append(wanted, place+"/properties/rule"+w)
				}
			}
			expect.That(t, fmt.Sprint(got) == fmt.Sprint(wanted), "%s at %s: %v, want %v", rule, place, got, wanted)
		}
	}
}

// A choice that is named by its label is found, and a block that is never reached says why.
func TestWarningsSayWhy(t *testing.T) {
	const (
		choices = `{"id":"q","type":"single_choice","choices":[{"id":"a","label":"Yes, please"},{"id":"b","label":"b"},{"id":"Maybe"}]},`
		several = `{"id":"m","type":"multiple_choice","choices":[{"id":"x","label":"One"},{"id":"y","label":"Two"}]},`
		label   = `is compared with "Yes, please", which is the label of the choice with the ID "a"`
	)
	blocks := func(rule string) string {
		return choices + several + `{"id":"s","type":"statement","properties":{"rule":` + rule + `}}`
	}
	over := func(jump string) string {
		return choices + `{"id":"p","type":"statement","properties":{"rule":{"next":[` + jump + `,{"to":"z"}]}}},{"id":"s","type":"statement"},{"id":"z","type":"ending"}`
	}
	for definition, want := range map[string][]string{
		blocks(`{"show":{"==":[{"var":"answers.q"},"Yes, please"]}}`):                                {"/blocks/2 UNREACHABLE: " + label, "/blocks/2/properties/rule/show NEVER_HOLDS: " + label},
		blocks(`{"show":{"and":[{"var":"answers.m"},{"===":["Yes, please",{"var":"answers.q"}]}]}}`): {"/blocks/2 UNREACHABLE: " + label, "/blocks/2/properties/rule/show NEVER_HOLDS: " + label},
		blocks(`{"show":false}`): {"/blocks/2 UNREACHABLE: its \"show\" condition is never true"},
		over(`{"if":{"==":[{"var":"answers.q"},"Yes, please"]},"to":"s"}`): {"/blocks/1/properties/rule/next/0/if NEVER_HOLDS: " + label, "/blocks/2 UNREACHABLE: " + label},
		over(`{"if":false,"to":"s"}`):                                      {"/blocks/1/properties/rule/next/0/if NO_EFFECT: this condition is never true", "/blocks/2 UNREACHABLE: every path ends before it or skips it"},
		`{"id":"z","type":"ending"},{"id":"s","type":"statement"}`:         {"/blocks/1 UNREACHABLE: every path ends before it or skips it"},
		// These conditions may hold, or never hold for another reason.
		blocks(`{"show":{"==":[{"var":"answers.q"},""]}}`):                                                {"/blocks/2 UNREACHABLE: no respondent can reach this block: this condition is never true: \"q\" does not have the choice", "/blocks/2/properties/rule/show NEVER_HOLDS: this condition is never true: \"q\" does not have the choice"}, // the label of a choice without one
		blocks(`{"show":{"or":[{"var":"answers.m"},{"==":[{"var":"answers.q"},"Yes, please"]}]}}`):        {"/blocks/2/properties/rule/show/or/1 NEVER_HOLDS: " + label},
		blocks(`{"show":{"!=":[{"var":"answers.q"},"Yes, please"]}}`):                                     {"/blocks/2/properties/rule/show ALWAYS_HOLDS: "},
		blocks(`{"show":{"==":[{"var":"answers.q"},"Yes, please"],"x":1}}`):                               {"/blocks/2/properties/rule/show NO_EFFECT: this condition is always true"},    // no operation
		blocks(`{"show":{"==":[{"var":["answers.q","Yes, please"]},"Yes, please"]}}`):                     nil,                                                                            // when nothing is chosen
		blocks(`{"show":{"==":[{"var":"answers.m"},"One"]}}`):                                             {"/blocks/2 UNREACHABLE: ", "/blocks/2/properties/rule/show NEVER_HOLDS: One"}, // a list is compared as its text
		blocks(`{"show":{"==":[{"var":"answers.m"},"x,y"]}}`):                                             nil,
		blocks(`{"show":{"==":[{"var":"answers.q.other"},"Yes, please"]}}`):                               {"/blocks/2 UNREACHABLE: ", "/blocks/2/properties/rule/show NEVER_HOLDS: "},
		blocks(`{"show":{"==":[{"var":"q"},"Yes, please"]}}`):                                             {"/blocks/2/properties/rule/show UNKNOWN_NAME: "},
		blocks(`{"show":{"==":[{"var":"answers.q"},"a"]}}`):                                               nil,
		blocks(`{"show":{"==":[{"var":"answers.q"},"b"]}}`):                                               nil,
		blocks(`{"show":{"==":[{"var":"answers.q"},"Maybe"]}}`):                                           nil,
		blocks(`{"show":{"==":[{"var":"answers.q"}]}}`):                                                   nil,
		blocks(`{"require":{"and":[{"==":[{"var":"answers.q"},"a"]},{"==":[{"var":"answers.q"},"b"]}]}}`): {"/blocks/2/properties/rule/require NEVER_HOLDS: this condition is never true: no answers meet all its parts", "/blocks/2/properties/rule/require NO_EFFECT: "},
		blocks(`{"show":{"!":[{"and":[]}]}}`):                                                             {"/blocks/2/properties/rule/show NO_EFFECT: this condition is always true"},
		`{"id":"n","type":"dropdown","choices":[{"id":"01","label":"1"}]},{"id":"s","type":"statement","properties":{"rule":{"show":{"==":[{"var":"answers.n"},1]}}}}`: nil, // as numbers
		// Choices of a text are left from another type, and a ranking is compared as "a,b".
		`{"id":"t","type":"short_text","choices":[{"id":"a","label":"Yes"}]},{"id":"s","type":"statement","properties":{"rule":{"show":{"==":[{"var":"answers.t"},"Yes"]}}}}`:         nil,
		`{"id":"r","type":"ranking","choices":[{"id":"a","label":"a,b"},{"id":"b"}]},{"id":"s","type":"statement","properties":{"rule":{"show":{"==":[{"var":"answers.r"},"a,b"]}}}}`: nil,
	} {
		found := finished(Source{Definition: storage.Definition{Blocks: json.RawMessage("[" + definition + "]")}})
		var got []string
		for _, w := range found {
			got = append(got, w.Path+" "+w.Code+": "+w.Message)
		}
		slices.Sort(got)
		slices.Sort(want)
		if len(got) != len(want) {
			t.Errorf("%s:\n%s, want\n%s", definition, strings.Join(got, "\n"), strings.Join(want, "\n"))
			continue
		}
		for i := range got {
			start, why, _ := strings.Cut(want[i], ": ")
			if !strings.HasPrefix(got[i], start+": ") || !strings.Contains(got[i], why) {
				t.Errorf("%s:\n%s, want\n%s", definition, got[i], want[i])
			}
		}
	}
}

// A block that respondents see without its text, link or picture is unfinished.
func TestWarningsOfUnfinishedBlocks(t *testing.T) {
	t.Parallel()
	for block, want := range map[string]string{
		`"type":"short_text"`: "/label", `"type":"short_text","label":" \u200b"`: "/label", `"type":"short_text","label":"Name"`: "",
		`"type":"yes_no","properties":{"hide":true}`: "", `"type":"legal","properties":{"legalText":"I agree"}`: "",
		`"type":"single_choice","label":"Q","choices":[{"id":"a","label":"A"},{"id":"b"}]`:                                        "/choices/1/label",
		`"type":"picture_choice","label":"Q","choices":[{"id":"a","image":{"url":"https://example.com/a.png"}},{"id":"b"}]`:       "/choices/1/label",
		`"type":"matrix","label":"Q","matrix_rows":[{"id":"r"}],"matrix_columns":[{"id":"c","label":" "}],"choices":[{"id":"a"}]`: "/matrix_rows/0/label /matrix_columns/0/label",
		`"type":"number","label":"Q","choices":[{"id":"a"}]`:                                                                      "",
		`"type":"group"`: "/children", `"type":"group","children":[{"id":"in","type":"page_break"}]`: "",
		`"type":"image"`: "/properties/image", `"type":"image","properties":{"image":{"url":"https://example.com/a.png"}}`: "",
		`"type":"video"`: "/properties/videoLink", `"type":"pdf"`: "/properties/pdfLink", `"type":"embed","properties":{"embedLink":"https://example.com"}`: "",
		`"type":"statement"`: "/label", `"type":"ending","description":"Bye"`: "", `"type":"divider"`: "", `"type":"unknown"`: "",
	} {
		var got []string
		for _, w := range expect.Must(FindWarnings(Source{Definition: storage.Definition{Blocks: json.RawMessage(`[{"id":"q",` + block + `}]`)}})) {
			if w.Code == schema.WarnUnfinished {
				got = append(got, strings.TrimPrefix(w.Path, "/blocks/0"))
			}
		}
		expect.That(t, strings.Join(got, " ") == want, "%s: %v, want %q", block, got, want)
	}
}

// Hidden fields and variables have values of their own.
func TestNeverHoldsOfHiddenFieldsAndVariables(t *testing.T) {
	t.Parallel()
	for condition, want := range map[string]bool{
		`{"==":[{"var":"hidden.h"},"a"]}`: false, `{"===":[{"var":"hidden.h"},5]}`: true, `{"==":[{"var":"hidden.h"},5]}`: false, `{"in":[{"var":"hidden.h"},[1,2]]}`: true,
		`{"and":[{"==":[{"var":"hidden.h"},"a"]},{"==":[{"var":"hidden.h"},"b"]}]}`: true, `{"==":[{"var":"hidden.h.length"},7]}`: false,
		`{">":[{"var":"variables.fixed"},3]}`: true, `{">":[{"var":"variables.fixed"},2]}`: false, `{"==":[{"var":"variables.fixed"},null]}`: true,
		`{">":[{"var":"variables.score"},3]}`: false, `{"===":[{"var":"variables.score"},true]}`: true,
		`{"and":[{"var":"hidden.gone"},{"===":[{"var":"hidden.h"},5]}]}`: true, `{"var":"answers.later"}`: false, `{"some":[{"var":"hidden.h"},{"var":""}]}`: false,
		`{"==":[{"var":"answers.n"},{"var":"answers.n"}]}`: false, `{"==":[{"var":["answers.n",9]},9]}`: false, `{"==":[{"%":[{"var":"answers.n"},2]},7]}`: false,
	} {
		blocks := `[{"id":"n","type":"nps","properties":{"rule":{"set":{"score":{"+":[{"var":"variables.score"},1]}}}}},{"id":"s","type":"statement","properties":{"rule":{"show":` + condition + `}}},{"id":"later","type":"yes_no"}]`
		got := false
		for _, w := range finished(Source{Definition: storage.Definition{Blocks: json.RawMessage(blocks), HiddenFields: json.RawMessage(`["h"]`), Variables: json.RawMessage(`{"fixed":3,"score":0}`)}}) {
			got = got || w.Code == schema.WarnNeverHolds && w.Path == "/blocks/1/properties/rule/show"
		}
		expect.That(t, got == want, "%s: never holds: %v", condition, got)
	}
}

// Rules that cost too much whatever is answered are warned about.
func TestWarningOfCostlyRules(t *testing.T) {
	var blocks []string
	for i := range 60 {
		blocks = append(blocks, fmt.Sprintf(`{"id":"b%d","type":"statement","properties":{"rule":{"show":{"or":[%s]}}}}`, i, strings.TrimSuffix(strings.Repeat(`{"!":1},`, 1000), ",")))
	}
	got := warningsOf(t, Source{Definition: storage.Definition{Blocks: json.RawMessage("[" + strings.Join(blocks, ",") + "]")}})
	costly := 0
	for _, w := range got {
		if strings.HasSuffix(w, " COSTLY_RULES") {
			costly++
		}
	}
	expect.That(t, costly == 1, "%d warnings of the cost in %v", costly, got)
}

// However many answers rules read, no answers are tried: warnings take a few times what
// reading the form takes.
func TestWarningsTryNoAnswers(t *testing.T) {
	questions, read := "", `{"var":"answers.q0"}`
	for i := range 8 {
		questions += fmt.Sprintf(`{"id":"q%d","type":"yes_no"},`, i)
		read += fmt.Sprintf(`,{"var":"answers.q%d"}`, i)
	}
	from := Source{Definition: storage.Definition{Blocks: json.RawMessage(`[` + questions + `{"id":"s","type":"statement","properties":{"rule":{"show":{"and":[` + read + `]}}}}]`)}}
	var found []string
	form := allocated(func() { _, _ = Compile(from) })
	warnings := allocated(func() { found = warningsOf(t, from) })
	expect.That(t, len(found) == 0 && warnings <= 10*form, "%v; %d bytes, and the form takes %d", found, warnings, form)
}

// Small forms, brute force over all answers by the naive implementation: what a warning says
// cannot be answered never is, and what it says is never reached never is.
func TestWarningsAgainstBruteForce(t *testing.T) {
	forms, unanswerable, unreachable := 0, 0, 0
	for seed := range uint64(*randomForms) {
		r := random{rand.New(rand.NewPCG(seed, 16))}
		blocks, _ := r.form(4, true)
		from := Source{Definition: storage.Definition{Blocks: json.RawMessage(blocks), Variables: json.RawMessage(randomVariables)}}
		if strings.Contains(blocks, `"hidden.`) || strings.Contains(blocks, `"answers"`) {
			continue // the values of hidden fields are not few
		}
		forms++
		got := warningsOf(t, from)
		answerable, reached, all := bruteForce(blocks)
		warned := make(map[string]bool)
		for _, w := range got {
			warned[w] = true
		}
		if warned["/blocks UNANSWERABLE_FORM"] {
			unanswerable++
			expect.Require(t, !answerable, "seed %d: %s\nit can be answered, warnings %v", seed, blocks, got)
		}
		for i, id := range all {
			if warned[fmt.Sprintf("/blocks/%d UNREACHABLE", i)] {
				unreachable++
				expect.Require(t, !reached[id], "seed %d: %s\n%s is reached, warnings %v", seed, blocks, id, got)
			}
		}
	}
	t.Logf("of %d forms, there are %d warnings that one cannot be answered and %d that a block is never reached", forms, unanswerable, unreachable)
	if *randomForms >= 1000 && (unanswerable < 10 || unreachable < 10) {
		t.Error("the test shows little")
	}
}

// bruteForce tries all answers to all blocks. Blocks that the form hides count as reached.
func bruteForce(blocks string) (answerable bool, reached map[string]bool, all []string) {
	f := newNaiveForm(blocks, randomVariables, `[]`)
	reached = make(map[string]bool)
	var questions []map[string]any
	for _, b := range f.blocks {
		all = append(all, str(b["id"]))
		if yes(prop(b, "hide")) {
			reached[str(b["id"])] = true
		}
		questions = append(questions, b)
		for _, child := range arr(b["children"]) {
			questions = append(questions, obj(child))
		}
	}
	var try func(i int, given map[string]json.RawMessage)
	try = func(i int, given map[string]json.RawMessage) {
		if i == len(questions) {
			result := f.run(given, nil, nil, someDay)
			hosted := f.run(given, given, nil, someDay) // hidden blocks, answered by the host
			for _, id := range append(result.path, hosted.path...) {
				reached[id] = true
			}
			answerable = answerable || len(result.faults) == 0
			return
		}
		var values []string
		switch questions[i]["type"] {
		case "yes_no", "legal":
			values = []string{"true", "false"}
		case "single_choice":
			values = []string{`"x"`, `"y"`}
		case "multiple_choice":
			values = []string{`["x"]`, `["y"]`, `["x","y"]`}
		}
		if len(arr(questions[i]["choices"])) == 0 && strings.HasSuffix(str(questions[i]["type"]), "choice") {
			values = nil
		}
		try(i+1, given)
		for _, v := range values {
			given[str(questions[i]["id"])] = json.RawMessage(v)
			try(i+1, given)
		}
		delete(given, str(questions[i]["id"]))
	}
	try(0, make(map[string]json.RawMessage))
	return answerable, reached, all
}

// Warnings are made for definitions as they are stored, hostile ones too.
func FuzzWarnings(f *testing.F) {
	f.Add(ruledForm, ruledVariables)
	f.Add(fullBlocks, `{}`)
	f.Fuzz(func(_ *testing.T, blocks, variables string) {
		_, _ = FindWarnings(Source{Definition: storage.Definition{Blocks: json.RawMessage(blocks), Variables: json.RawMessage(variables), Settings: json.RawMessage(`{"duplicateField":"a"}`)}})
	})
}
