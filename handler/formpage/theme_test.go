package formpage

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/schema"
)

// Whatever the theme's colours are, what is written can be read: WCAG 2.2, 1.4.3 for
// text and 1.4.11 for the edges of controls.
func TestColoursCanBeRead(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 7))
	color := func() string {
		return rgb{uint8(random.UintN(256)), uint8(random.UintN(256)), uint8(random.UintN(256))}.String()
	}
	for range 2000 {
		p := schema.Palette{
			Background: color(), Foreground: color(), Card: color(), Primary: color(), PrimaryForeground: color(), Secondary: color(),
			Muted: color(), MutedForeground: color(), Accent: color(), Destructive: color(), Input: color(), Ring: color(),
		}
		written := map[string]rgb{}
		for rule := range strings.SplitSeq(palette(&p, &lightPalette), ";") {
			name, value, _ := strings.Cut(rule, ":")
			written[strings.TrimPrefix(name, "--")], _ = parseColor(value)
		}
		for pair, least := range map[[2]string]float64{
			{"fg", "bg"}: 4.5, {"card-fg", "card"}: 4.5, {"primary", "bg"}: 4.5, {"primary-fg", "primary"}: 4.5,
			{"secondary-fg", "secondary"}: 4.5, {"muted-fg", "bg"}: 4.5, {"accent-fg", "accent"}: 4.5, {"danger", "bg"}: 4.5,
			{"danger-fg", "danger"}: 4.5, {"edge", "card"}: 3, {"hint", "card"}: 4.5, {"fg", "muted"}: 4.5, {"ring", "bg"}: 3,
		} {
			if ratio := contrast(written[pair[0]], written[pair[1]]); ratio < least {
				t.Fatalf("%s on %s has the contrast %.2f, less than %.1f, for %+v", pair[0], pair[1], ratio, least, p)
			}
		}
	}
	// Colours that are good stay as they are.
	if got := palette(&schema.Palette{Background: "#fff", Foreground: "#123456", Primary: "#0b5fff"}, &lightPalette); !strings.Contains(got, "--fg:#123456") || !strings.Contains(got, "--primary:#0b5fff") {
		t.Errorf("good colours were changed: %s", got)
	}
}

func TestContrastIsThatOfWCAG(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b  string
		ratio float64
	}{{"#000", "#fff", 21}, {"#777777", "#ffffff", 4.48}, {"#767676", "#ffffff", 4.54}, {"#ff0000", "#ffffff", 4.00}} {
		a, _ := parseColor(c.a)
		b, _ := parseColor(c.b)
		if got := contrast(a, b); got < c.ratio-0.01 || got > c.ratio+0.01 {
			t.Errorf("%s on %s: %.2f, want %.2f", c.a, c.b, got, c.ratio)
		}
	}
}

func TestCustomCSSKeepsWhatIsAllowed(t *testing.T) {
	t.Parallel()
	for sheet, want := range map[string]string{
		`.opt { color: #f00; padding: 1px 2em }`:                       `.fs .opt{color:#f00;padding:1px 2em}`,
		`body { background: linear-gradient(90deg, red, #00f 50%) }`:   `.fs{background:linear-gradient(90deg,red,#00f 50%)}`,
		`h1, .q > legend { font-weight: 700 !important }`:              `.fs h1,.fs .q>legend{font-weight:700!important}`,
		`@media (max-width: 40em) { .q { display: grid } }`:            `@media (max-width:40em){.fs .q{display:grid}}`,
		`.a:hover, .b::before { color: red }`:                          `.fs .a:hover{color:red}`,
		`:root .x { width: calc(100% - var(--radius)) }`:               `.fs .x{width:calc(100% - var(--radius))}`,
		`.q { color: red; position: fixed; z-index: 9; top: 0 }`:       `.fs .q{color:red}`,
		`@import "x"; @font-face { src: url(x) } .a { color: red }`:    `.fs .a{color:red}`,
		`.a { color: red } .b { background: url(https://x.example) }`:  `.fs .a{color:red}`,
		`.q { font-family: "Comic Sans MS", serif }`:                   `.fs .q{font-family:"Comic Sans MS",serif}`,
		`@media print { @import "y"; .a { color: red } `:               `@media print{.fs .a{color:red}}`,
		`.opt { transition: opacity .2s cubic-bezier(0.1, 0, 0, 1) }`:  `.fs .opt{transition:opacity .2s cubic-bezier(0.1,0,0,1)}`,
		`/* only a comment */`:                                         ``,
		`.fs-button { letter-spacing: .01em }`:                         `.fs .fs-button{letter-spacing:.01em}`,
		`input[value^="a"] { background: red } [data-b] { color:red }`: ``,
	} {
		got := customCSS(sheet)
		if strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(want, " ", "") {
			t.Errorf("%s\n got %s\nwant %s", sheet, got, want)
		}
	}
}
