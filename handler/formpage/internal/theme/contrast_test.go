package theme

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/schema"
)

// The owners' pages say what a page will correct of a theme. They have a program of their own for it,
// whose cases are held against this one.
func TestTheEditorSaysWhatThePageCorrects(t *testing.T) {
	raw, err := os.ReadFile("../../../builder/web/src/props/testdata/contrast.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Theme       schema.Theme
		Light, Dark map[string]string
	}
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 50 {
		t.Fatalf("there are only %d cases", len(cases))
	}
	properties := map[string][]string{ // by the name of a pair, the first that is there
		"text": {"fg"}, "card": {"card-fg"}, "primary": {"primary"}, "button": {"bt-fg", "primary-fg"}, "muted": {"muted-fg"}, "accent": {"accent-fg"},
		"error": {"danger"}, "answer": {"in-fg"}, "placeholder": {"in-hint"}, "edge": {"in-line", "edge"},
	}
	for _, c := range cases {
		made := New(&c.Theme, &schema.Settings{DarkMode: true})
		looks := map[string]map[string]string{"light": {}, "dark": {}}
		for _, rule := range made.rules {
			for declaration := range strings.FieldsFuncSeq(rule, func(c rune) bool { return strings.ContainsRune("{};", c) }) {
				name, value, _ := strings.Cut(strings.TrimPrefix(declaration, "--"), ":")
				for look, written := range looks {
					if strings.HasPrefix(rule, "@media") == (look == "dark") || written[name] == "" && look == "dark" {
						written[name] = value
					}
				}
			}
		}
		for look, want := range map[string]map[string]string{"light": c.Light, "dark": c.Dark} {
			for pair, color := range want {
				got := ""
				for _, name := range properties[pair] {
					if got == "" {
						got = looks[look][name]
					}
				}
				if got != color {
					theme, _ := json.Marshal(c.Theme)
					t.Errorf("%s, %s: the page takes %s, the editor says %s, for %s", pair, look, got, color, theme)
				}
			}
		}
	}
}
