package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/formsvc/formsvc"
)

// member is a row of a table of the panel.
type member struct {
	Type  string
	Of    []string
	Words []string
}

// table is a table of props.gen.ts by its name.
func table(t *testing.T, name string) map[string]member {
	t.Helper()
	raw, err := os.ReadFile("../../../handler/builder/web/src/props/props.gen.ts")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?s)export const ` + name + `: [^=]* = (\{.*?\n)\};`).FindSubmatch(raw)
	if found == nil {
		t.Fatalf("there is no table %s", name)
	}
	rows := map[string]member{}
	if err := json.Unmarshal([]byte(strings.TrimSuffix(strings.TrimSpace(string(found[1])), ",")+"}"), &rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

// some values that the description says less of.
var some = map[string]any{
	"min": 1.0, "max": 3.0, "from": 2.0, "to": 8.0, "scaleStep": 2.0, "limit": 2.0, "perRow": 3.0, "maxChars": 40.0, "imageWidth": 200.0, "disabledDays": 65.0, "weekStartsOn": 1.0,
	"amount": "12.50", "currency": "SEK", "dateSeparator": "-", "imageAlign": "float_left",
	"closeAt": "2031-05-17T10:30:00Z", "responseLimit": 70.0, "duplicateField": "q", "alignment.questions": 1.0, "alignment.welcomeAndEndings": 2.0, "alignment.logo": 1.0,
	"size.questions": 2.0, "size.welcomeAndEndings": 3.0, "customCss": ".fs-label { color: red }", "cover.position.x": 0.25, "cover.position.y": 0.75, "background.brightness": 0.5,
}

// valueOf is a value that no block has at first.
func valueOf(path string, m member) any {
	if v, ok := some[path]; ok {
		return v
	}
	switch m.Type {
	case "boolean":
		return true
	case "integer", "number":
		if m.Words != nil {
			return 0.0
		}
		return 4.0
	case "word":
		return m.Words[len(m.Words)-1]
	case "country":
		return "NL"
	case "url", "link":
		return "https://site.example/" + path
	case "date":
		return "2026-05-17"
	case "dates":
		return []any{"2026-05-17"}
	case "texts":
		return []any{".pdf", "image/*"}
	case "color":
		return "#12ab34"
	case "object", "image":
		return map[string]any{"url": "https://site.example/" + path + ".png"}
	case "parts":
		return map[string]any{"firstName": map[string]any{"required": true}, "city": map[string]any{"hide": true}}
	}
	return "A text for " + path
}

// isSet reports whether a stored value is the one that was set. Days are stored as moments.
func isSet(want, got any) bool {
	switch want := want.(type) {
	case string:
		text, _ := got.(string)
		return text == want || (len(want) == 10 && want[4] == '-' && strings.HasPrefix(text, want+"T"))
	case []any:
		list, ok := got.([]any)
		return ok && slices.EqualFunc(want, list, isSet)
	case map[string]any:
		object, _ := got.(map[string]any)
		for name, v := range want {
			if !isSet(v, object[name]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(want, got)
}

func at(v any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		object, _ := v.(map[string]any)
		v = object[name]
	}
	return v
}

// Every property of every type of blocks is set once through the page and read back.
func TestEveryPropertyOfBlocks(t *testing.T) {
	inFull(t)
	kinds, properties := table(t, "types"), table(t, "properties")
	s := newOwners(t)
	h := s.hand(s.ownersTab(1280, 900), false)
	n := 0
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		if !full() && !slices.Contains([]string{"picture_choice", "date", "opinion_scale"}, kind) {
			continue
		}
		choices := `[{"id":"x","label":"X"},{"id":"y","label":"Y"}]`
		form := s.draft(kind, `[{"id":"q","type":"`+kind+`","choices":`+choices+`,"matrix_rows":`+choices+`,"matrix_columns":`+choices+`,"children":[]}]`)
		h.start("/"+form.ID.String(), ".outline")
		h.edit("q")
		want := map[string]any{"label": "A label", "description": "A description", "part_of": "a part", "row_id": "a row"}
		values := map[string]any{}
		for name, m := range properties {
			if (m.Of == nil || slices.Contains(m.Of, kind)) && name != "rule" {
				values[name] = valueOf(name, m)
			}
		}
		if kind == "multiple_choice" {
			delete(values, "multiSelection") // another type has it
		}
		for _, name := range []string{"label", "description", "part_of", "row_id"} {
			h.set("/"+name, want[name])
		}
		if ask[bool](h, `!!T.control("/required")`) {
			h.set("/required", true)
			want["required"] = true
		}
		aligned := values["verticalAlign"] != nil
		delete(values, "verticalAlign")
		delete(values, "horizontalAlign")
		h.properties("/properties", kind, values)
		h.saved()
		for partner, name := range partners {
			if values[name] != nil {
				values[partner] = true
			}
		}
		n += len(values)
		var stored []map[string]any
		if err := json.Unmarshal(s.stored(form).Definition.Blocks, &stored); err != nil {
			t.Fatal(err)
		}
		for name, v := range want {
			if !isSet(v, stored[0][name]) {
				t.Errorf("%s: %s is %v, want %v", kind, name, stored[0][name], v)
			}
		}
		for name, v := range values {
			if got := at(stored[0], "properties."+name); !isSet(v, got) {
				t.Errorf("%s: %s is %v, want %v", kind, name, text(got), text(v))
			}
		}
		if aligned { // one list sets both
			for way, names := range map[string][2]string{"row": {"horizontalAlign", "verticalAlign"}, "column": {"verticalAlign", "horizontalAlign"}} {
				h.choose(`T.control("/properties/horizontalAlign").querySelector("select")`, way)
				h.saved()
				_ = json.Unmarshal(s.stored(form).Definition.Blocks, &stored)
				if at(stored[0], "properties."+names[0]) != true || at(stored[0], "properties."+names[1]) == true {
					t.Errorf("%s: %s is %s", kind, way, text(stored[0]["properties"]))
				}
			}
		}
	}
	t.Logf("%d pairs of a property and a type", n)
}

// Every member of choices, of the settings and of the theme is set once through the page and read back.
func TestEveryMemberOfForms(t *testing.T) {
	inFull(t)
	s := newOwners(t)
	h := s.hand(s.ownersTab(1280, 900), false)
	form := s.draft("All", `[{"id":"q","type":"single_choice","choices":[{"id":"x","label":"X"}]}]`)
	h.start("/"+form.ID.String(), ".outline")
	h.edit("q")
	row := `T.control("/choices").querySelector("ol > li")`
	h.write(row+`.querySelector(".props-choice input")`, "A choice")
	h.press(row + `.querySelector("[aria-expanded]")`)
	labelled := func(text string) string {
		return fmt.Sprintf(`[...%s.querySelectorAll(".props-choice-more label")].find(l => l.textContent === %s).control`, row, quote(text))
	}
	h.until(row + `.querySelector(".props-choice-more")`)
	h.write(row+`.querySelector("[data-key=url]")`, "https://site.example/x.png")
	h.write(row+`.querySelector(".color input:not([type=color])")`, "#abcdef")
	h.write(labelled(h.word("props.choice_alt")), "What it shows")
	h.write(labelled(h.word("props.choice_row_id")), "a row")
	h.saved()
	var stored []map[string]any
	if err := json.Unmarshal(s.stored(form).Definition.Blocks, &stored); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"id": "x", "label": "A choice", "image": map[string]any{"url": "https://site.example/x.png"}, "color": "#abcdef", "alt": "What it shows", "row_id": "a row"}
	if got := stored[0]["choices"].([]any)[0]; !reflect.DeepEqual(got, any(want)) {
		t.Errorf("the choice is %s, want %s", text(got), text(want))
	}
	for _, section := range []struct{ tab, table string }{{"form", "settings"}, {"design", "theme"}} {
		if !full() && section.tab == "design" {
			continue
		}
		h.tab(section.tab)
		rows := table(t, section.table)
		values := map[string]any{}
		for path, m := range rows {
			values[path] = valueOf(path, m)
		}
		for _, path := range slices.Sorted(maps.Keys(values)) {
			v := values[path]
			if path == "closeAt" { // typed in the zone of the browser, which is the one of this machine
				v = "2031-05-17T10:30"
			}
			h.set("/"+strings.ReplaceAll(path, ".", "/"), v)
		}
		h.saved()
		d := s.stored(formsvc.Form{ID: form.ID}).Definition
		var got any
		if err := json.Unmarshal(map[string]json.RawMessage{"settings": d.Settings, "theme": d.Theme}[section.table], &got); err != nil {
			t.Fatal(err)
		}
		for path, v := range values {
			if now := at(got, path); !isSet(v, now) {
				t.Errorf("%s: %s is %s, want %s", section.table, path, text(now), text(v))
			}
		}
		t.Logf("%d members of %s", len(values), section.table)
	}
}
