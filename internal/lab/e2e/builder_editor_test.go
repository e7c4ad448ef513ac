package e2e

import (
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/formsvc/formsvc"
)

// documented are the forms of the quickstart, and the five forms with rules that are examples of
// package formsvc, by name.
func documented(t *testing.T) map[string]sample {
	t.Helper()
	forms := map[string]sample{}
	for _, name := range []string{"feedback", "finder", "every"} {
		raw, err := os.ReadFile("../../../examples/quickstart/forms/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var f sample
		if err := json.Unmarshal(raw, &f); err != nil {
			t.Fatal(err)
		}
		forms[name] = f
	}
	source, err := os.ReadFile("../../../example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile("(?s)func Example_(\\w+)\\(\\) {\n\tsvc, form := branching\\(`([^`]*)`, `([^`]*)`\\)").FindAllStringSubmatch(string(source), -1) {
		f := sample{Name: found[1], Type: "MULTI"}
		f.Definition.Blocks, f.Definition.Variables = json.RawMessage(found[2]), json.RawMessage(found[3])
		forms[found[1]] = f
	}
	if len(forms) != 8 {
		t.Fatalf("%d forms are documented, want 8", len(forms))
	}
	return forms
}

// plain is a definition without ids: those of blocks and choices become their places.
func plain(t testing.TB, d formsvc.Definition) map[string]any {
	t.Helper()
	var blocks []*block
	if err := json.Unmarshal(d.Blocks, &blocks); err != nil {
		t.Fatal(err)
	}
	ids := map[string]string{}
	number := func(list []choiceWanted, at string) {
		for i, c := range list {
			ids[c.ID] = at + "#" + string(rune('a'+i))
		}
	}
	var walk func(list []*block, at string)
	walk = func(list []*block, at string) {
		for i, b := range list {
			ids[b.ID] = at + "/" + string(rune('A'+i))
			number(b.Choices, ids[b.ID])
			number(b.Rows, ids[b.ID]+"r")
			number(b.Columns, ids[b.ID]+"c")
			walk(b.Children, ids[b.ID])
		}
	}
	walk(blocks, "")
	out := map[string]any{}
	for _, section := range d.Sections() {
		var v any
		if len(*section.Value) > 0 {
			if err := json.Unmarshal(*section.Value, &v); err != nil {
				t.Fatal(err)
			}
		}
		out[section.Name] = same(renamed(v, ids))
	}
	return out
}

// renamed has places as ids, and other ones in rules.
func renamed(v any, ids map[string]string) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = renamed(v[i], ids)
			if item, ok := v[i].(map[string]any); ok && item["id"] != nil {
				item["id"] = i
			}
		}
	case map[string]any:
		for name, inner := range v {
			if name == "rule" {
				raw, _ := json.Marshal(inner)
				_ = json.Unmarshal([]byte(rename(string(raw), ids)), &inner)
				v[name] = inner
			} else {
				v[name] = renamed(inner, ids)
			}
		}
	}
	return v
}

// same writes what means the same in the same way: pictures as their bytes, the outer labels of a
// recommendation without switches, which has them always, and nothing for false, empty and default values.
func same(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = same(v[i])
		}
		if len(v) == 0 {
			return nil
		}
	case map[string]any:
		if picture, ok := v["base64"].(string); ok {
			return picture[strings.LastIndex(picture, ",")+1:]
		}
		if properties, ok := v["properties"].(map[string]any); ok && v["type"] == "nps" {
			delete(properties, "leftLabel")
			delete(properties, "rightLabel")
		}
		if v["icon"] == "star" {
			delete(v, "icon")
		}
		for name, inner := range v {
			if v[name] = same(inner); v[name] == nil || v[name] == false {
				delete(v, name)
			}
		}
		if len(v) == 0 {
			return nil
		}
	}
	return v
}

// Forms are built from nothing in the page, by the keyboard alone and by the mouse, in Chromium and in
// Firefox, and what is stored is what was wanted.
func TestFormsAreBuilt(t *testing.T) {
	forms := documented(t)
	for _, browser := range []string{"chromium", "firefox"} {
		t.Run(browser, func(t *testing.T) {
			var fox *firefox
			if browser == "firefox" {
				inFull(t)
				fox = newFirefox(t)
			}
			for name, want := range forms {
				for _, way := range []string{"keys", "mouse"} {
					if !full() && name+way != "quotaQuestionkeys" && name+way != "scoreWithTwoEndingsmouse" {
						continue
					}
					t.Run(name+"/"+way, func(t *testing.T) {
						s := newOwners(t)
						var p window
						if fox != nil {
							p = s.ownersFirefox(t, fox)
						} else {
							p = s.ownersTab(1280, 900)
						}
						s.isBuilt(p, want, way == "keys")
					})
				}
			}
		})
	}
}

func (s *site) isBuilt(p window, want sample, keys bool) {
	t := s.t
	made := s.hand(p, keys).build(want)
	if made.Name != want.Name || made.Type != want.Type {
		t.Errorf("the form is %q, %s", made.Name, made.Type)
	}
	wanted := plain(t, want.Definition)
	got := plain(t, made.Definition)
	for name := range wanted {
		if !reflect.DeepEqual(wanted[name], got[name]) {
			t.Errorf("%s differ:\nwant %s\ngot  %s", name, text(wanted[name]), text(got[name]))
		}
	}
}

func text(v any) string {
	raw, _ := json.Marshal(v)
	return string(raw)
}

// A form that nobody can answer is told of while it is edited: at its list of blocks, and at the block.
func TestAFormThatNobodyCanAnswer(t *testing.T) {
	s := newOwners(t)
	form := s.draft("Stuck", `[{"id":"pet","type":"dropdown","label":"Pet","required":true}]`)
	b := s.ownersTab(1280, 800)
	s.openOwners(b, "/"+form.ID.String(), ".outline")
	b.until(`document.querySelector("#outline > .notice")?.textContent.includes("no response is ever accepted") && document.querySelector('[data-id=pet] [aria-label^="Note: no answer is ever accepted"]')`)
	b.shot("stuck")
	if _, err := s.service.As(s.owner).UpdateBlock(t.Context(), form.ID, "pet", json.RawMessage(`{"required":false}`)); err != nil {
		t.Fatal(err)
	}
	b.do(`window.dispatchEvent(new Event("focus"))`)
	b.until(`!document.querySelector("#outline > .notice") && document.querySelector('[data-id=pet] [aria-label^="Note: "]')`)
}
