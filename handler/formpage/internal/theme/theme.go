// Package theme reads how a form looks.
package theme

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/formsvc/formsvc/handler/formpage/internal/color"
	"github.com/formsvc/formsvc/handler/formpage/internal/css"
	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/plain"
	"github.com/formsvc/formsvc/handler/formpage/internal/policy"
	"github.com/formsvc/formsvc/schema"
)

// Theme is how a form looks, as style rules and attributes. Nothing of it is the
// author's text: colours, lengths and names are read and written anew.
type Theme struct {
	rules    []string // "selector{declarations}"
	Custom   string   // the author's style sheet, written anew
	Dark     bool     // the form follows the visitor's dark mode
	Logo     *policy.Picture
	Cover    *policy.Picture
	HasCover bool
	Backdrop bool
	Classes  string
	Name     string

	logo, cover, background *schema.Image
}

// AddRule adds a rule for one form, if it has declarations. Nothing of them is the author's
// text.
func (t *Theme) AddRule(selector string, d ...string) {
	if len(d) > 0 {
		t.rules = append(t.rules, selector+"{"+strings.Join(d, ";")+"}")
	}
}

// declarations are those of one rule.
type declarations []string

func (d *declarations) set(name, value string) { *d = append(*d, name+":"+value) }

func (d *declarations) pixels(name string, n *float64, most float64) {
	if n != nil && *n >= 0 {
		d.set(name, Pixels(math.Min(*n, most)))
	}
}

func (d *declarations) size(name, text string) {
	if l, ok := css.Length(text); ok {
		d.set(name, l)
	}
}

// em scales text: 0, 1, 2 … are small, as usual, large and so on.
func (d *declarations) em(name string, n *float64) {
	if n != nil {
		d.set(name, plain.Number(math.Max(0.7, math.Min(0.85+0.15**n, 2)))+"em")
	}
}

// given is what a pointer leads to, the zero value where it leads to nothing.
func given[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// Style writes the content of the page's style element.
func (t *Theme) Style(raw func(string)) {
	for _, rule := range t.rules {
		raw(rule)
		raw("\n")
	}
	raw(t.Custom)
}

// Allow lets the page load the theme's images.
func (t *Theme) Allow(p *policy.Policy) {
	t.Logo = p.Picture(t.logo)
	t.Cover = p.Picture(t.cover)
	if pic := p.Picture(t.background); pic != nil {
		t.Backdrop = true
		t.AddRule(".fs-back", "background-image:url("+css.Quoted(string(pic.URL))+")")
	}
	if t.Cover != nil {
		t.HasCover = true
		t.AddRule(".fs-cover", "background-image:url("+css.Quoted(string(t.Cover.URL))+")")
	}
}

// New reads the theme and the settings that are about looks.
func New(theme *schema.Theme, settings *schema.Settings) Theme {
	t := Theme{logo: theme.Logo, Name: plain.Name(theme.Theme)}
	t.colors(given(theme.Colors), settings.DarkMode)
	t.shape(theme, settings)
	t.place(theme)
	cover, background := given(settings.Cover), given(theme.Background)
	t.cover, t.background = cover.Image, background.Image
	if color, ok := css.Color(cover.Color); ok {
		t.HasCover = true
		t.AddRule(".fs-cover", "background-color:"+color)
	}
	if p := cover.Position; p != nil {
		t.AddRule(".fs-cover", "background-position:"+percent(formblock.Or(p.X, 50))+" "+percent(formblock.Or(p.Y, 50)))
	}
	if height, ok := css.Length(theme.CoverHeight); ok {
		t.AddRule(".fs-cover", "height:min("+height+",60vh)")
	}
	switch background.Layout {
	case "contain":
		t.AddRule(".fs-back", "background-size:contain")
	case "repeat", "tile":
		t.AddRule(".fs-back", "background-size:auto;background-repeat:repeat")
	}
	if background.Brightness != nil {
		// 1 and 100 are as it is, as builders write it one way or the other.
		n := *background.Brightness
		if math.Abs(n) > 3 {
			n /= 100
		}
		t.AddRule(".fs-back", "filter:brightness("+plain.Number(math.Max(0, math.Min(n, 3)))+")")
	}
	t.Custom, t.rules = css.Sheet(theme.CustomCSS), slices.Clip(t.rules) // pages add to them
	return t
}

// shape sets font, sizes, corners, fields and buttons.
func (t *Theme) shape(theme *schema.Theme, settings *schema.Settings) {
	const most = 400
	var root declarations
	if font := fontFamily(theme.Font); font != "" {
		root.set("--font", font)
	}
	root.pixels("--radius", settings.BorderRadius, most)
	root.pixels("--radius", theme.Corners, most) // the theme's is the later one
	layout, text := given(theme.Layout), given(theme.Size)
	root.size("--width", cmp.Or(pageWidths[strings.ToLower(layout.PageWidth)], layout.PageWidth))
	root.size("--text", layout.BaseFontSize)
	root.em("--q-size", text.Questions)
	root.em("--s-size", text.WelcomeAndEndings)

	in := given(theme.Inputs)
	root.size("--in-width", in.Width)
	root.size("--in-height", in.Height)
	if background, ok := color.Parse(in.Background); ok {
		root.set("--in-bg", background.String())
		root.set("--in-fg", color.Readable(color.Black, background, 4.5).String())
		root.set("--in-hint", color.Readable(pickColor(in.Placeholder, "#666666"), background, 4.5).String())
		root.set("--in-line", color.Readable(pickColor(in.Border, "#808080"), background, 3).String())
	} else {
		if color, ok := css.Color(in.Placeholder); ok {
			root.set("--in-hint", color)
		}
		if color, ok := css.Color(in.Border); ok {
			root.set("--in-line", color)
		}
	}
	root.pixels("--in-border", in.BorderWidth, most)
	root.pixels("--in-radius", in.Radius, most)
	root.pixels("--in-gap", in.MarginBottom, most)
	root.pixels("--in-pad", in.PaddingX, most)

	button := given(theme.Buttons)
	root.size("--bt-width", button.Width)
	root.size("--bt-height", button.Height)
	if _, flex, ok := side(button.Alignment); ok {
		root.set("--bt-align", flex)
	}
	if background, ok := color.Parse(button.Background); ok {
		root.set("--bt-bg", background.String())
		root.set("--bt-fg", color.Legible(pickColor(button.Text), background).String())
	}
	root.pixels("--bt-size", button.FontSize, most)
	root.pixels("--bt-radius", button.Radius, most)
	root.pixels("--bt-gap", button.MarginY, most)
	root.pixels("--bt-pad", button.PaddingX, most)
	t.AddRule(".fs", root...)
}

var pageWidths = map[string]string{"narrow": "32rem", "medium": "42rem", "wide": "56rem", "full": "100%"}

// place sets where the logo and texts stand.
func (t *Theme) place(theme *schema.Theme) {
	alignment, logo, size := given(theme.Alignment), given(theme.LogoPlacement), given(theme.LogoSize)
	t.align(".fs-screen", alignment.WelcomeAndEndings)
	t.align(".fs-fields", alignment.Questions)
	t.align(".fs-logo", alignment.Logo)
	if text, _, ok := side(logo.Align); ok {
		t.AddRule(".fs-logo", "text-align:"+text)
	}
	if strings.EqualFold(logo.Vertical, "bottom") {
		t.Classes += " logo-below"
	}
	const most = 1000
	var image declarations
	image.pixels("width", size.Width, most)
	image.pixels("height", size.Height, most)
	image.pixels("border-radius", size.Radius, most)
	t.AddRule(".fs-logo img", image...)
}

// align places text: 0 at the start, 1 in the middle, 2 at the end.
func (t *Theme) align(selector string, n *float64) {
	if n != nil {
		text, flex, _ := side([]string{"start", "center", "end"}[int(math.Max(0, math.Min(math.Round(*n), 2)))])
		t.AddRule(selector, "text-align:"+text, "--bt-align:"+flex)
	}
}

// side reads an alignment as words say it, for text and for boxes.
func side(word string) (text, flex string, ok bool) {
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

// Pixels writes a length.
func Pixels(pixels float64) string { return plain.Number(pixels) + "px" }

func percent(n float64) string {
	if n > 0 && n < 1 {
		n *= 100 // a share
	}
	return plain.Number(math.Max(0, math.Min(n, 100))) + "%"
}
