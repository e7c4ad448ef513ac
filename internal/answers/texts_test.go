package answers

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

func TestWarningsOfTexts(t *testing.T) {
	t.Parallel()
	// The blocks before the text, its own block, and the blocks after it.
	const form = `[{"id":"name","type":"short_text","label":"**Name**"},{"id":"who","type":"contact_info"},{"id":"secret","type":"short_text","properties":{"hide":true}},
		{"id":"files","type":"file_upload"},{"id":"sig","type":"signature"},{"id":"rows","type":"matrix"},{"id":"pay","type":"payment"},{"id":"words","type":"statement","label":"x"},
		{"id":"q","type":"%s",%s},{"id":"next","type":"number"},{"id":"break","type":"page_break"},{"id":"later","type":"number"},{"id":"end","type":"ending"}]`
	settings := func(s string) storage.Definition {
		return storage.Definition{
			Blocks: json.RawMessage(fmt.Sprintf(form, "short_text", `"label":"x"`)), Settings: json.RawMessage(s),
			Variables: json.RawMessage(`{"total":0}`), HiddenFields: json.RawMessage(`["ref"]`),
		}
	}
	of := func(layout string, d storage.Definition) (list []string) {
		for _, w := range warningsOf(t, Source{Definition: d, Layout: layout}) {
			if strings.HasPrefix(w, "/blocks/8/") || strings.HasPrefix(w, "/settings/") {
				list = append(list, strings.TrimPrefix(w, "/blocks/8"))
			}
		}
		return list
	}
	for text, want := range map[string]string{
		`"label":"Hi {{answers.name}}, {{today}}, {{variables.total:2}}, {{hidden.ref}}, {{answers.who.firstName}}"`: "",
		`"label":"{{answers.q}} {{answers.next}}"`:                                                    "", // the page updates its texts
		`"label":"{{answers.later}} {{answers.later}}"`:                                               "/label NOT_YET_KNOWN",
		`"label":"x","description":"{{answers.later}}{{answers.who.city}}"`:                           "/description NOT_YET_KNOWN",
		`"label":"{{answers.nobody}}"`:                                                                "/label UNKNOWN_NAME",
		`"label":"{{answers.name.city}}"`:                                                             "/label NO_EFFECT",
		`"label":"{{answers.who.nickname}}"`:                                                          "/label UNKNOWN_NAME",
		`"label":"{{variables.nobody}} {{hidden.nobody}} {{total}}"`:                                  "/label MALFORMED_TEXT, /label UNKNOWN_NAME, /label UNKNOWN_NAME",
		`"label":"{{answers.secret}}"`:                                                                "/label NO_EFFECT",
		`"label":"{{answers.files}}{{answers.sig}}{{answers.rows}}{{answers.pay}}{{answers.words}}"`:  strings.Repeat("/label NO_EFFECT, ", 5),
		`"label":"**bold _both"`:                                                                      "/label MALFORMED_TEXT, /label MALFORMED_TEXT",
		`"label":"[x](javascript:alert(1))"`:                                                          "/label MALFORMED_TEXT",
		`"label":"` + strings.Repeat("{{today}}", 21) + `"`:                                           "/label MALFORMED_TEXT",
		`"label":"x","properties":{"buttonText":"**{{answers.nobody}}"}`:                              "/properties/buttonText UNKNOWN_NAME",
		`"label":"x","properties":{"placeholderText":"{{answers.nobody}} [x](y)","rule":{"next":[]}}`: "",
		`"label":"x","choices":[{"id":"a","label":"{{answers.nobody}} [x](y)"}]`:                      "",
	} {
		d := settings("{}")
		d.Blocks = json.RawMessage(fmt.Sprintf(form, "short_text", text))
		expect.Equal(t, strings.Join(of("MULTI", d), " "), strings.Join(below("", strings.TrimSuffix(want, ", ")), " "), "%s", text)
	}
	for text, want := range map[string]string{
		`{"submitLabel":"Pay {{variables.total}}, {{answers.later}} **"}`:                    "",
		`{"submitLabel":"Pay {{variables.nobody}}"}`:                                         "/settings/submitLabel UNKNOWN_NAME",
		`{"closedMessage":"Closed on {{today}} [x](https://a.example) {{variables.total}}"}`: "",
		`{"closedMessage":"{{answers.name}} {{hidden.ref}} [x](y)"}`:                         "/settings/closedMessage MALFORMED_TEXT, /settings/closedMessage NO_EFFECT, /settings/closedMessage NO_EFFECT",
	} {
		expect.Equal(t, strings.Join(of("", settings(text)), ", "), want, "%s", text)
	}
	// The layout determines the pages.
	d := settings("{}")
	for label, layouts := range map[string]string{
		`{{answers.next}}`: "SINGLE", `{{answers.later}}`: "MULTI SINGLE ", `{{answers.name}}`: "", `{{answers.q}}`: "",
	} {
		d.Blocks = json.RawMessage(fmt.Sprintf(form, "short_text", `"label":"`+label+`"`))
		for _, layout := range []string{"MULTI", "SINGLE", ""} {
			warns := strings.Contains(layouts, layout) && (layout != "" || strings.Contains(layouts, "MULTI"))
			expect.Equal(t, len(of(layout, d)) == 1, warns, "%s in a form %q", label, layout)
		}
		d.Settings = json.RawMessage(`{"singlePage":true}`)
		expect.Same(t, nil, of("SINGLE", d), "%s on a single page", label)
		d.Settings = nil
	}
	// Content is on the page of the next question, and an ending after all.
	d.Blocks = json.RawMessage(fmt.Sprintf(form, "heading", `"label":"{{answers.next}}"`))
	expect.Same(t, nil, of("SINGLE", d), "of content")
	d.Blocks = json.RawMessage(fmt.Sprintf(form, "ending", `"label":"{{answers.name}} {{answers.later}}"`))
	expect.Same(t, []string{"/label NOT_YET_KNOWN"}, of("SINGLE", d), "of an ending before a question")
	// Messages name the block as respondents see it, and the texts of groups and checks count.
	d.Blocks = json.RawMessage(`[{"id":"g","type":"group","children":[{"id":"c","type":"short_text","label":"_{{answers.l}}_"}],"properties":{"rule":{"check":[{"if":true,"say":"{{answers.x}} [a](b)"}]}}},
		{"id":"b","type":"page_break"},{"id":"l","type":"number","label":"**Later** _one_"}]`)
	found := finished(Source{Definition: d})
	var paths []string
	for _, w := range found {
		if strings.HasSuffix(w.Path, "/say") || strings.HasSuffix(w.Path, "/label") {
			paths = append(paths, w.Path+" "+w.Code)
		}
	}
	expect.Same(t, []string{"/blocks/0/properties/rule/check/0/say MALFORMED_TEXT", "/blocks/0/properties/rule/check/0/say UNKNOWN_NAME", "/blocks/0/children/0/label NOT_YET_KNOWN"}, paths, "the paths")
	last := found[len(found)-1]
	expect.That(t, last.Code == schema.WarnNotYetKnown && strings.Contains(last.Message, `"Later one"`) && last.Params["label"] == "Later one", "%+v", last)
}

// Stored labels have no marks, but keep their insertions.
func TestStoredLabelsArePlain(t *testing.T) {
	t.Parallel()
	form := expect.Must(Compile(Source{Definition: storage.Definition{Blocks: json.RawMessage(`[{"id":"n","type":"short_text","label":"Your **name**, [sir](https://a.example) {{answers.n}}"}]`)}}))
	stored := expect.Must(form.Check(Input{Answers: map[string]json.RawMessage{"n": json.RawMessage(`"x"`)}}))
	expect.Equal(t, string(stored.List), `[{"field":{"id":"n","type":"short_text","label":"Your name, sir {{answers.n}}"},"value":"x"}]`, "the list")
}

// The answers of a path are those that Check would store.
func TestAnswersOfAPath(t *testing.T) {
	t.Parallel()
	form := expect.Must(Compile(Source{Definition: storage.Definition{
		Blocks: json.RawMessage(`[{"id":"n","type":"number","properties":{"rule":{"set":{"twice":{"*":[2,{"var":"answers.n"}]}},"next":[{"if":{">":[{"var":"answers.n"},5]},"to":"end"}]}}},
			{"id":"m","type":"short_text"},{"id":"bad","type":"email"},{"id":"end","type":"ending"}]`),
		Variables: json.RawMessage(`{"twice":0,"unset":1}`), HiddenFields: json.RawMessage(`["ref"]`),
	}}))
	for n, want := range map[string]string{
		"3": `[{"field":{"id":"n","type":"number","label":""},"value":3},{"field":{"id":"m","type":"short_text","label":""},"value":"x"},` +
			`{"field":{"id":"ref","type":"hidden","label":"ref"},"value":"r"},{"field":{"id":"twice","type":"variable","label":"twice"},"value":6}]`,
		"6": `[{"field":{"id":"n","type":"number","label":""},"value":6},` +
			`{"field":{"id":"ref","type":"hidden","label":"ref"},"value":"r"},{"field":{"id":"twice","type":"variable","label":"twice"},"value":12}]`,
	} {
		way := expect.Must(form.Path(map[string]json.RawMessage{"n": json.RawMessage(n), "m": json.RawMessage(`" x"`), "bad": json.RawMessage(`"@"`)}, map[string]string{"ref": "r", "other": "o"}, someDay))
		expect.Equal(t, string(way.Answers), want, "after %s", n)
	}
}
