package e2e

import (
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"testing"

	"github.com/formsvc/formsvc"
)

// documented are the five forms with rules that are examples of package formsvc, by name.
func documented(t *testing.T) map[string]sample {
	t.Helper()
	forms := map[string]sample{}
	source := must(os.ReadFile("../../../example_test.go"))
	for _, found := range regexp.MustCompile("(?s)func Example_(\\w+)\\(\\) {\n\tsvc, form := branching\\(`([^`]*)`, `([^`]*)`\\)").FindAllStringSubmatch(string(source), -1) {
		f := sample{Name: found[1], Type: "MULTI"}
		f.Definition.Blocks, f.Definition.Variables = json.RawMessage(found[2]), json.RawMessage(found[3])
		forms[found[1]] = f
	}
	if len(forms) != 5 {
		t.Fatalf("%d forms are documented, want 5", len(forms))
	}
	return forms
}

// plain is a definition without ids: those of blocks and choices become their places.
func plain(t testing.TB, d formsvc.Definition) map[string]any {
	t.Helper()
	var blocks []*block
	noError(t, json.Unmarshal(d.Blocks, &blocks))
	ids := map[string]string{}
	for i, b := range blocks {
		ids[b.ID] = string(rune('A' + i))
		for n, c := range b.Choices {
			ids[c.ID] = ids[b.ID] + "#" + string(rune('a'+n))
		}
	}
	out := map[string]any{}
	for _, section := range d.Sections() {
		var v any
		if len(*section.Value) > 0 {
			noError(t, json.Unmarshal(*section.Value, &v))
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

// same leaves out what is false, empty or absent.
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
	b.until(`document.querySelector("#outline > .notice")?.textContent.includes("No response is ever accepted") && document.querySelector('[data-id=pet] [aria-label^="Note: There is nothing to choose"]')`)
	b.shot("stuck")
	must(s.service.As(s.owner).UpdateBlock(t.Context(), form.ID, "pet", json.RawMessage(`{"required":false}`)))
	b.do(`window.dispatchEvent(new Event("focus"))`)
	b.until(`!document.querySelector("#outline > .notice") && document.querySelector('[data-id=pet] [aria-label^="Note: "]')`)
}
