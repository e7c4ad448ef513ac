package theme

import (
	"cmp"
	"strings"

	"github.com/formsvc/formsvc/handler/formpage/internal/color"
	"github.com/formsvc/formsvc/schema"
)

// colors writes the colours of the light and of the dark form. Pairs that cannot be
// read are corrected to WCAG 2.2 AA.
func (t *Theme) colors(c schema.Colors, dark bool) {
	t.AddRule(".fs", "color-scheme:light", palette(&c.Palette, &lightPalette))
	if dark {
		t.Dark = true
		night := given(c.Dark)
		night.Primary = cmp.Or(night.Primary, c.Primary) // a brand's colour stays, made readable
		t.rules = append(t.rules, "@media screen and (prefers-color-scheme:dark){.fs{color-scheme:dark;--ink:invert(.9);"+palette(&night, &darkPalette)+"}}")
	}
}

var (
	lightPalette = schema.Palette{
		Background: "#ffffff", Foreground: "#1b1d22", Primary: "#2447c5", Secondary: "#eef0f4", Muted: "#f4f5f8",
		MutedForeground: "#5a6070", Accent: "#eef2ff", Destructive: "#b42318", Border: "#dfe2e8", Input: "#8a91a0",
	}
	darkPalette = schema.Palette{
		Background: "#14161a", Foreground: "#f1f2f5", Primary: "#9db2ff", Secondary: "#262a32", Muted: "#1d2026",
		MutedForeground: "#a9b0bf", Accent: "#20294a", Destructive: "#ff9b8f", Border: "#333843", Input: "#747c8c",
	}
)

// pickColor returns the first of the colours that can be read.
func pickColor(texts ...string) color.RGB {
	for _, text := range texts {
		if c, ok := color.Parse(text); ok {
			return c
		}
	}
	return color.White
}

// palette writes one set of colours as custom properties.
func palette(p, preset *schema.Palette) string {
	pick := pickColor
	var out declarations
	set := func(name string, c color.RGB) { out.set("--"+name, c.String()) }
	back := pick(p.Background, preset.Background)
	// A light background under a dark preset, or the other way round, needs text of
	// its own.
	text := color.Readable(pick(p.Text, p.Foreground, preset.Foreground), back, 4.5)
	card := pick(p.Card, p.Background, preset.Background)
	primary := color.Readable(pick(p.Primary, preset.Primary), back, 4.5)
	// What a theme does not name is between its text and its background, as in the preset.
	shade := func(text string, fallback string, share float64) color.RGB {
		if p.Background == "" && p.Foreground == "" && p.Text == "" {
			return pick(text, fallback)
		}
		return pick(text, color.Blend(pick(p.Text, p.Foreground, preset.Foreground), back, share).String())
	}
	secondary := shade(p.Secondary, preset.Secondary, 0.07)
	// Stripes behind text: a colour that text cannot stand on gives way.
	muted := shade(p.Muted, preset.Muted, 0.05)
	if color.Contrast(text, muted) < 4.5 {
		muted = back
	}
	accent := pick(p.Accent, color.Blend(primary, back, 0.1).String())
	danger := color.Readable(pick(p.Destructive, preset.Destructive), back, 4.5)
	set("bg", back)
	set("fg", text)
	set("card", card)
	set("card-fg", color.Readable(pick(p.CardForeground, p.Text, p.Foreground, preset.Foreground), card, 4.5))
	set("primary", primary)
	set("primary-fg", color.Legible(pick(p.PrimaryForeground, "#ffffff"), primary))
	set("secondary", secondary)
	set("secondary-fg", color.Readable(pick(p.SecondaryForeground, p.Foreground, preset.Foreground), secondary, 4.5))
	set("muted", muted)
	set("muted-fg", color.Readable(shade(p.MutedForeground, preset.MutedForeground, 0.65), back, 4.5))
	set("hint", color.Readable(shade(p.MutedForeground, preset.MutedForeground, 0.65), card, 4.5))
	set("accent", accent)
	set("accent-fg", color.Readable(pick(p.AccentForeground, p.Foreground, preset.Foreground), accent, 4.5))
	set("danger", danger)
	set("danger-fg", color.Legible(pick(p.DestructiveForeground, "#ffffff"), danger))
	set("line", shade(p.Border, preset.Border, 0.16))
	set("edge", color.Readable(shade(p.Input, preset.Input, 0.5), card, 3))
	set("ring", color.Readable(pick(p.Ring, primary.String()), back, 3))
	return strings.Join(out, ";")
}
