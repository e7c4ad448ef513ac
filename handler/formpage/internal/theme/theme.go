// Package theme converts a form's theme to a style sheet.
package theme

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/policy"
	"github.com/formsvc/formsvc/handler/formpage/internal/words"
	"github.com/formsvc/formsvc/internal/color"
	"github.com/formsvc/formsvc/schema"
)

// Theme holds a form's style rules and attributes. It contains no text from the author, because all colors, lengths and
// names are parsed and rebuilt.
type Theme struct {
	rules    []string // "selector{declarations}"
	Custom   string   // The author's sanitized style sheet.
	Dark     bool     // Whether the form follows the respondent's dark mode.
	Logo     *policy.Picture
	HasCover bool
	Backdrop bool
	Classes  string
	Name     string

	logo, cover, background *schema.Image
}

// AddRule adds a rule unless it has no declarations. The declarations must not contain text from the author.
func (t *Theme) AddRule(selector string, d ...string) {
	if len(d) > 0 {
		t.rules = append(t.rules, selector+"{"+strings.Join(d, ";")+"}")
	}
}

type declarations []string

func (d *declarations) set(name, value string) { *d = append(*d, name+":"+value) }

func (d *declarations) setPixels(name string, n *float64, most float64) {
	if n != nil && *n >= 0 {
		d.set(name, FormatPixels(math.Min(*n, most)))
	}
}

func (d *declarations) setLength(name, text string) {
	if l, ok := ParseLength(text); ok {
		d.set(name, l)
	}
}

func (d *declarations) setColor(name, text string) {
	if c, ok := ParseColor(text); ok {
		d.set(name, c)
	}
}

func (d *declarations) setScale(name string, n *float64) {
	if n != nil {
		d.set(name, words.FormatPlain(math.Max(0.7, math.Min(0.85+0.15**n, 2)))+"em")
	}
}

func derefOrZero[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// WriteStyle writes the contents of the page's style element.
func (t *Theme) WriteStyle(raw func(string)) {
	for _, rule := range t.rules {
		raw(rule)
		raw("\n")
	}
	raw(t.Custom)
}

// AllowPictures adds the theme's images to the page's policy.
func (t *Theme) AllowPictures(p *policy.Policy) {
	t.Logo = p.AllowPicture(t.logo)
	if pic := p.AllowPicture(t.background); pic != nil {
		t.Backdrop = true
		t.AddRule(".fs-back", "background-image:url("+QuoteURL(string(pic.URL))+")")
	}
	if pic := p.AllowPicture(t.cover); pic != nil {
		t.HasCover = true
		t.AddRule(".fs-cover", "background-image:url("+QuoteURL(string(pic.URL))+")")
	}
}

// New converts a theme, and the settings that affect the appearance.
func New(theme *schema.Theme, settings *schema.Settings) Theme {
	t := Theme{logo: theme.Logo, Name: policy.KeepSafeChars(theme.Theme)}
	t.setColors(derefOrZero(theme.Colors), settings.DarkMode)
	t.setShape(theme, settings)
	t.setPlacement(theme)
	cover, background := derefOrZero(settings.Cover), derefOrZero(theme.Background)
	t.cover, t.background = cover.Image, background.Image
	if color, ok := ParseColor(cover.Color); ok {
		t.HasCover = true
		t.AddRule(".fs-cover", "background-color:"+color)
	}
	if p := cover.Position; p != nil {
		t.AddRule(".fs-cover", "background-position:"+clampPercent(formblock.ValueOr(p.X, 50))+" "+clampPercent(formblock.ValueOr(p.Y, 50)))
	}
	if height, ok := ParseLength(theme.CoverHeight); ok {
		t.AddRule(".fs-cover", "height:min("+height+",60vh)")
	}
	switch background.Layout {
	case "contain":
		t.AddRule(".fs-back", "background-size:contain")
	case "repeat", "tile":
		t.AddRule(".fs-back", "background-size:auto;background-repeat:repeat")
	}
	if background.Brightness != nil {
		// Builders write the brightness either as a fraction or as a percentage.
		n := *background.Brightness
		if math.Abs(n) > 3 {
			n /= 100
		}
		t.AddRule(".fs-back", "filter:brightness("+words.FormatPlain(math.Max(0, math.Min(n, 3)))+")")
	}
	t.Custom, t.rules = SanitizeCSS(theme.CustomCSS), slices.Clip(t.rules) // Clip the slice, because pages append rules.
	return t
}

func (t *Theme) setShape(theme *schema.Theme, settings *schema.Settings) {
	const most = 400
	var root declarations
	if font := fontFamily(theme.Font); font != "" {
		root.set("--font", font)
	}
	root.setPixels("--radius", settings.BorderRadius, most)
	root.setPixels("--radius", theme.Corners, most) // Overrides the radius in the settings.
	layout, text := derefOrZero(theme.Layout), derefOrZero(theme.Size)
	root.setLength("--width", cmp.Or(pageWidths[strings.ToLower(layout.PageWidth)], layout.PageWidth))
	root.setLength("--text", layout.BaseFontSize)
	root.setScale("--q-size", text.Questions)
	root.setScale("--s-size", text.WelcomeAndEndings)

	in := derefOrZero(theme.Inputs)
	root.setLength("--in-width", in.Width)
	root.setLength("--in-height", in.Height)
	if background, ok := color.Parse(in.Background); ok {
		root.set("--in-bg", background.String())
		root.set("--in-fg", color.EnsureContrast(color.Black, background, 4.5).String())
		root.set("--in-hint", color.EnsureContrast(pickColor(in.Placeholder, "#666666"), background, 4.5).String())
		root.set("--in-line", color.EnsureContrast(pickColor(in.Border, "#808080"), background, 3).String())
	} else {
		root.setColor("--in-hint", in.Placeholder)
		root.setColor("--in-line", in.Border)
	}
	root.setPixels("--in-border", in.BorderWidth, most)
	root.setPixels("--in-radius", in.Radius, most)
	root.setPixels("--in-gap", in.MarginBottom, most)
	root.setPixels("--in-pad", in.PaddingX, most)

	button := derefOrZero(theme.Buttons)
	root.setLength("--bt-width", button.Width)
	root.setLength("--bt-height", button.Height)
	if _, flex, ok := parseAlignment(button.Alignment); ok {
		root.set("--bt-align", flex)
	}
	if background, ok := color.Parse(button.Background); ok {
		root.set("--bt-bg", background.String())
		root.set("--bt-fg", color.ButtonTextColor(pickColor(button.Text), background).String())
	}
	root.setPixels("--bt-size", button.FontSize, most)
	root.setPixels("--bt-radius", button.Radius, most)
	root.setPixels("--bt-gap", button.MarginY, most)
	root.setPixels("--bt-pad", button.PaddingX, most)
	t.AddRule(".fs", root...)
}

var pageWidths = map[string]string{"narrow": "32rem", "medium": "42rem", "wide": "56rem", "full": "100%"}

func (t *Theme) setPlacement(theme *schema.Theme) {
	alignment, logo, size := derefOrZero(theme.Alignment), derefOrZero(theme.LogoPlacement), derefOrZero(theme.LogoSize)
	t.setAlignment(".fs-screen", alignment.WelcomeAndEndings)
	t.setAlignment(".fs-fields", alignment.Questions)
	t.setAlignment(".fs-logo", alignment.Logo)
	if text, _, ok := parseAlignment(logo.Align); ok {
		t.AddRule(".fs-logo", "text-align:"+text)
	}
	if strings.EqualFold(logo.Vertical, "bottom") {
		t.Classes += " logo-below"
	}
	const most = 1000
	var image declarations
	image.setPixels("width", size.Width, most)
	image.setPixels("height", size.Height, most)
	image.setPixels("border-radius", size.Radius, most)
	t.AddRule(".fs-logo img", image...)
}

// setAlignment aligns text: 0 at the start, 1 in the center, 2 at the end.
func (t *Theme) setAlignment(selector string, n *float64) {
	if n != nil {
		text, flex, _ := parseAlignment([]string{"start", "center", "end"}[int(math.Max(0, math.Min(math.Round(*n), 2)))])
		t.AddRule(selector, "text-align:"+text, "--bt-align:"+flex)
	}
}

// parseAlignment returns an alignment's values for text and for flexboxes.
func parseAlignment(word string) (text, flex string, ok bool) {
	switch strings.ToLower(strings.TrimSpace(word)) {
	case "left", "start", "flex-start":
		return "start", "flex-start", true
	case "center", "middle":
		return "center", "center", true
	case "right", "end", "flex-end":
		return "end", "flex-end", true
	case "full", "stretch", "justify":
		return "start", "stretch", true
	}
	return "", "", false
}

// FormatPixels formats a length in pixels.
func FormatPixels(pixels float64) string { return words.FormatPlain(pixels) + "px" }

func clampPercent(n float64) string {
	if n > 0 && n < 1 {
		n *= 100 // n is a fraction.
	}
	return words.FormatPlain(math.Max(0, math.Min(n, 100))) + "%"
}

// setColors writes the colors for light and dark mode. It adjusts pairs whose contrast is below WCAG 2.2 AA.
func (t *Theme) setColors(c schema.Colors, dark bool) {
	t.AddRule(".fs", "color-scheme:light", paletteDeclarations(&c.Palette, &lightPalette))
	if dark {
		t.Dark = true
		night := derefOrZero(c.Dark)
		night.Primary = cmp.Or(night.Primary, c.Primary) // Keep the brand color.
		t.rules = append(t.rules, "@media screen and (prefers-color-scheme:dark){.fs{color-scheme:dark;--ink:invert(.9);"+paletteDeclarations(&night, &darkPalette)+"}}")
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

func pickColor(texts ...string) color.RGB {
	for _, text := range texts {
		if c, ok := color.Parse(text); ok {
			return c
		}
	}
	return color.White
}

func paletteDeclarations(p, preset *schema.Palette) string {
	pick := pickColor
	var out declarations
	set := func(name string, c color.RGB) color.RGB {
		out.set("--"+name, c.String())
		return c
	}
	back := set("bg", pick(p.Background, preset.Background))
	// A light background with a dark preset, or vice versa, needs a different text color.
	text := set("fg", color.EnsureContrast(pick(p.Text, p.Foreground, preset.Foreground), back, 4.5))
	card := set("card", pick(p.Card, p.Background, preset.Background))
	set("card-fg", color.EnsureContrast(pick(p.CardForeground, p.Text, p.Foreground, preset.Foreground), card, 4.5))
	primary := set("primary", color.EnsureContrast(pick(p.Primary, preset.Primary), back, 4.5))
	set("primary-fg", color.ButtonTextColor(pick(p.PrimaryForeground, "#ffffff"), primary))
	// Colors that the theme does not set are mixed from its text and background colors, as in the preset.
	shade := func(text string, fallback string, share float64) color.RGB {
		if p.Background == "" && p.Foreground == "" && p.Text == "" {
			return pick(text, fallback)
		}
		return pick(text, color.Blend(pick(p.Text, p.Foreground, preset.Foreground), back, share).String())
	}
	secondary := set("secondary", shade(p.Secondary, preset.Secondary, 0.07))
	set("secondary-fg", color.EnsureContrast(pick(p.SecondaryForeground, p.Foreground, preset.Foreground), secondary, 4.5))
	// This color is used behind text, so the contrast must be high enough.
	muted := shade(p.Muted, preset.Muted, 0.05)
	if color.Contrast(text, muted) < 4.5 {
		muted = back
	}
	set("muted", muted)
	set("muted-fg", color.EnsureContrast(shade(p.MutedForeground, preset.MutedForeground, 0.65), back, 4.5))
	set("hint", color.EnsureContrast(shade(p.MutedForeground, preset.MutedForeground, 0.65), card, 4.5))
	accent := set("accent", pick(p.Accent, color.Blend(primary, back, 0.1).String()))
	set("accent-fg", color.EnsureContrast(pick(p.AccentForeground, p.Foreground, preset.Foreground), accent, 4.5))
	danger := set("danger", color.EnsureContrast(pick(p.Destructive, preset.Destructive), back, 4.5))
	set("danger-fg", color.ButtonTextColor(pick(p.DestructiveForeground, "#ffffff"), danger))
	set("line", shade(p.Border, preset.Border, 0.16))
	set("edge", color.EnsureContrast(shade(p.Input, preset.Input, 0.5), card, 3))
	set("ring", color.EnsureContrast(pick(p.Ring, primary.String()), back, 3))
	return strings.Join(out, ";")
}

// fonts maps names to stacks of system fonts. Forms never load fonts.
var fonts = map[string]string{
	"":          "",
	"serif":     "ui-serif,Georgia,Cambria,\"Times New Roman\",serif",
	"mono":      "ui-monospace,SFMono-Regular,Menlo,Consolas,monospace",
	"monospace": "ui-monospace,SFMono-Regular,Menlo,Consolas,monospace",
	"rounded":   "ui-rounded,\"SF Pro Rounded\",\"Hiragino Maru Gothic ProN\",Quicksand,Nunito,system-ui,sans-serif",
}

func fontFamily(name string) string {
	name = strings.TrimSpace(name)
	if stack, ok := fonts[strings.ToLower(name)]; ok {
		return stack
	}
	plain := strings.Map(func(c rune) rune {
		if c == ' ' || c == '-' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c > 0x7f && c != 0x2028 && c != 0x2029 {
			return c
		}
		return -1
	}, name)
	if plain == "" || len(plain) > 100 {
		return ""
	}
	stack := "system-ui,sans-serif"
	lower := strings.ToLower(plain)
	switch {
	case strings.Contains(lower, "mono") || strings.Contains(lower, "code"):
		stack = fonts["mono"]
	case strings.Contains(lower, "serif") && !strings.Contains(lower, "sans"), strings.Contains(lower, "georgia"),
		strings.Contains(lower, "times"), strings.Contains(lower, "garamond"), strings.Contains(lower, "playfair"),
		strings.Contains(lower, "merriweather"), strings.Contains(lower, "lora"):
		stack = fonts["serif"]
	}
	return `"` + plain + `",` + stack
}
