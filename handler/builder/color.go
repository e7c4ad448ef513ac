package builder

import (
	"slices"
	"strings"

	"github.com/formsvc/formsvc/internal/color"
)

func isHexColor(s string) bool {
	return len(s) == 7 && s[0] == '#' && strings.Trim(strings.ToLower(s[1:]), "0123456789abcdef") == ""
}

// scheme is the light or dark color scheme. Its colors match base.css and dark.css.
type scheme struct {
	name    string
	paper   string // background behind most text
	text    string // faintest text color on the page's background
	extreme string // mixed into a color to increase its contrast
}

var schemes = [...]scheme{
	{"light", "#ffffff", "#5a6272", "#000000"},
	{"dark", "#1b1e25", "#a8afbd", "#ffffff"},
}

// The minimum contrasts for WCAG 2.2, level AA.
const (
	minTextContrast = 4.5
	minMarkContrast = 3.0
)

// schemeForBackground returns the name of the scheme whose text is readable on background, or "" if there is none.
func schemeForBackground(background string) string {
	for _, s := range schemes {
		if background != "" && contrast(background, s.text) >= minTextContrast {
			return s.name
		}
	}
	return ""
}

// cssVariables returns the CSS variables that the Config sets. The accent color has a shade for each scheme.
func (c *Config) cssVariables() map[string]string {
	style := map[string]string{}
	if c.Font != "" {
		style["--font"] = c.Font
	}
	if c.Background != "" {
		style["--ground"] = c.Background
	}
	if c.Accent == "" {
		return style
	}
	for _, s := range schemes {
		surfaces := []string{s.paper, mixColors(c.Accent, s.paper, 0.2)}
		if schemeForBackground(c.Background) == s.name {
			surfaces = append(surfaces, c.Background, mixColors(c.Accent, c.Background, 0.2))
		}
		accent := s.readableTone(c.Accent, minMarkContrast, surfaces[:1])
		style["--accent-"+s.name] = accent
		style["--accent-ink-"+s.name] = s.readableTone(accent, minTextContrast, surfaces)
		style["--on-accent-"+s.name] = "#ffffff"
		if contrast(accent, "#000000") > contrast(accent, "#ffffff") {
			style["--on-accent-"+s.name] = "#000000"
		}
	}
	return style
}

// readableTone returns the shade closest to color whose contrast on every surface is at least the parameter least.
func (s scheme) readableTone(color string, least float64, surfaces []string) string {
	tone := color
	for share := 0.0; share <= 1; share += 0.05 {
		tone = mixColors(s.extreme, color, share)
		if !slices.ContainsFunc(surfaces, func(surface string) bool { return contrast(tone, surface) < least }) {
			break
		}
	}
	return tone
}

func mixColors(a, b string, share float64) string {
	return color.Blend(parseColor(a), parseColor(b), share).String()
}

func contrast(a, b string) float64 { return color.Contrast(parseColor(a), parseColor(b)) }

func parseColor(text string) color.RGB {
	c, _ := color.Parse(text) // the caller has validated it
	return c
}
