package theme

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/schema"
)

// Whatever the theme's colours are, what is written can be read: WCAG 2.2, 1.4.3 for
// text and 1.4.11 for the edges of controls.
func TestColoursCanBeRead(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	anyColor := func() string {
		return RGB{R: uint8(random.UintN(256)), G: uint8(random.UintN(256)), B: uint8(random.UintN(256))}.String()
	}
	for range 2000 {
		p := schema.Palette{
			Background: anyColor(), Foreground: anyColor(), Card: anyColor(), Primary: anyColor(), PrimaryForeground: anyColor(), Secondary: anyColor(),
			Muted: anyColor(), MutedForeground: anyColor(), Accent: anyColor(), Destructive: anyColor(), Input: anyColor(), Ring: anyColor(),
		}
		written := map[string]RGB{}
		for rule := range strings.SplitSeq(palette(&p, &lightPalette), ";") {
			name, value, _ := strings.Cut(rule, ":")
			written[strings.TrimPrefix(name, "--")], _ = Parse(value)
		}
		for pair, least := range map[[2]string]float64{
			{"fg", "bg"}: 4.5, {"card-fg", "card"}: 4.5, {"primary", "bg"}: 4.5, {"primary-fg", "primary"}: 4.5,
			{"secondary-fg", "secondary"}: 4.5, {"muted-fg", "bg"}: 4.5, {"accent-fg", "accent"}: 4.5, {"danger", "bg"}: 4.5,
			{"danger-fg", "danger"}: 4.5, {"edge", "card"}: 3, {"hint", "card"}: 4.5, {"fg", "muted"}: 4.5, {"ring", "bg"}: 3,
		} {
			if ratio := Contrast(written[pair[0]], written[pair[1]]); ratio < least {
				t.Fatalf("%s on %s has the contrast %.2f, less than %.1f, for %+v", pair[0], pair[1], ratio, least, p)
			}
		}
	}
	// Colours that are good stay as they are.
	if got := palette(&schema.Palette{Background: "#fff", Foreground: "#123456", Primary: "#0b5fff"}, &lightPalette); !strings.Contains(got, "--fg:#123456") || !strings.Contains(got, "--primary:#0b5fff") {
		t.Errorf("good colours were changed: %s", got)
	}
}

func TestFontsHaveWhatStandsInForThem(t *testing.T) {
	for text, want := range map[string]string{
		`Inter`: `"Inter",system-ui,sans-serif`, `x";}body{color:red`: `"xbodycolorred",system-ui,sans-serif`, ``: ``, `</style>`: `"style",system-ui,sans-serif`,
	} {
		if got := fontFamily(text); got != want {
			t.Errorf("fontFamily(%q) is %s, want %s", text, got, want)
		}
	}
}
