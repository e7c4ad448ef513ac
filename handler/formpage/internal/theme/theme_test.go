package theme

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/internal/color"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
)

// Texts are readable with any theme colors: WCAG 2.2, 1.4.3 for
// text and 1.4.11 for the edges of controls.
func TestColoursCanBeRead(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	anyColor := func() string {
		return color.RGB{R: uint8(random.UintN(256)), G: uint8(random.UintN(256)), B: uint8(random.UintN(256))}.String()
	}
	for range 2000 {
		p := schema.Palette{
			Background: anyColor(), Foreground: anyColor(), Card: anyColor(), Primary: anyColor(), PrimaryForeground: anyColor(), Secondary: anyColor(),
			Muted: anyColor(), MutedForeground: anyColor(), Accent: anyColor(), Destructive: anyColor(), Input: anyColor(), Ring: anyColor(),
		}
		written := map[string]color.RGB{}
		for rule := range strings.SplitSeq(paletteDeclarations(&p, &lightPalette), ";") {
			name, value, _ := strings.Cut(rule, ":")
			written[strings.TrimPrefix(name, "--")], _ = color.Parse(value)
		}
		for pair, least := range map[[2]string]float64{
			{"fg", "bg"}: 4.5, {"card-fg", "card"}: 4.5, {"primary", "bg"}: 4.5, {"primary-fg", "primary"}: 4.5,
			{"secondary-fg", "secondary"}: 4.5, {"muted-fg", "bg"}: 4.5, {"accent-fg", "accent"}: 4.5, {"danger", "bg"}: 4.5,
			{"danger-fg", "danger"}: 4.5, {"edge", "card"}: 3, {"hint", "card"}: 4.5, {"fg", "muted"}: 4.5, {"ring", "bg"}: 3,
		} {
			if ratio := color.Contrast(written[pair[0]], written[pair[1]]); ratio < least {
				t.Fatalf("%s on %s has the contrast %.2f, less than %.1f, for %+v", pair[0], pair[1], ratio, least, p)
			}
		}
	}
	// Colors that are good stay as they are.
	if got := paletteDeclarations(&schema.Palette{Background: "#fff", Foreground: "#123456", Primary: "#0b5fff"}, &lightPalette); !strings.Contains(got, "--fg:#123456") || !strings.Contains(got, "--primary:#0b5fff") {
		t.Errorf("good colors were changed: %s", got)
	}
}

func TestFontsHaveWhatStandsInForThem(t *testing.T) {
	for text, want := range map[string]string{
		`Inter`: `"Inter",system-ui,sans-serif`, `x";}body{color:red`: `"xbodycolorred",system-ui,sans-serif`, ``: ``, `</style>`: `"style",system-ui,sans-serif`,
	} {
		expect.Equal(t, fontFamily(text), want, "%v fontFamily(", text)
	}
}

// The owners' pages say what a page will correct of a theme. They have a program of their own for it,
// whose cases are held against this one.
func TestTheEditorSaysWhatThePageCorrects(t *testing.T) {
	raw, err := os.ReadFile("../../../builder/web/src/props/testdata/contrast.json")
	expect.NoError(t, err)
	var cases []struct {
		Theme       schema.Theme
		Light, Dark map[string]string
	}
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	expect.Require(t, len(cases) >= 50, "there are only %d cases", len(cases))
	properties := map[string][]string{ // by the name of a pair, the first that is there
		"text": {"fg"}, "card": {"card-fg"}, "primary": {"primary"}, "button": {"bt-fg", "primary-fg"}, "muted": {"muted-fg"}, "accent": {"accent-fg"},
		"error": {"danger"}, "answer": {"in-fg"}, "placeholder": {"in-hint"}, "border": {"in-line", "edge"},
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
