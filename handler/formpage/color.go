package formpage

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/formsvc/formsvc/handler/formpage/internal/plain"
)

// rgb is a colour without transparency.
type rgb struct{ r, g, b uint8 }

var white, black = rgb{255, 255, 255}, rgb{}

func (c rgb) String() string { return fmt.Sprintf("#%02x%02x%02x", c.r, c.g, c.b) }

// parseColor reads # and 3, 4, 6 or 8 digits, rgb() with plain numbers, and a few
// names. Transparency is dropped: what a text stands on must be known.
func parseColor(text string) (rgb, bool) {
	text = strings.ToLower(strings.TrimSpace(text))
	if hex, ok := strings.CutPrefix(text, "#"); ok {
		if len(hex) == 3 || len(hex) == 4 {
			hex = string([]byte{hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]})
		}
		if len(hex) != 6 && len(hex) != 8 {
			return rgb{}, false
		}
		n, err := strconv.ParseUint(hex[:6], 16, 32)
		return rgb{uint8(n >> 16), uint8(n >> 8), uint8(n)}, err == nil
	}
	if inner, ok := strings.CutPrefix(text, "rgb("); ok && strings.HasSuffix(inner, ")") {
		parts := strings.FieldsFunc(strings.TrimSuffix(inner, ")"), func(c rune) bool { return c == ',' || c == ' ' })
		var n [3]uint8
		for i := range n {
			if len(parts) != 3 {
				return rgb{}, false
			}
			v, err := strconv.ParseUint(parts[i], 10, 8)
			if err != nil {
				return rgb{}, false
			}
			n[i] = uint8(v)
		}
		return rgb{n[0], n[1], n[2]}, true
	}
	c, ok := namedColors[text]
	return c, ok
}

var namedColors = map[string]rgb{
	"white": white, "black": black, "red": {255, 0, 0}, "green": {0, 128, 0}, "blue": {0, 0, 255}, "yellow": {255, 255, 0},
	"orange": {255, 165, 0}, "purple": {128, 0, 128}, "pink": {255, 192, 203}, "gray": {128, 128, 128}, "grey": {128, 128, 128},
	"teal": {0, 128, 128}, "navy": {0, 0, 128}, "maroon": {128, 0, 0}, "olive": {128, 128, 0}, "lime": {0, 255, 0},
	"aqua": {0, 255, 255}, "cyan": {0, 255, 255}, "fuchsia": {255, 0, 255}, "magenta": {255, 0, 255}, "silver": {192, 192, 192},
	"brown": {165, 42, 42}, "gold": {255, 215, 0}, "beige": {245, 245, 220}, "tan": {210, 180, 140}, "coral": {255, 127, 80},
	"indigo": {75, 0, 130}, "violet": {238, 130, 238}, "turquoise": {64, 224, 208}, "salmon": {250, 128, 114},
}

// cssColor reads a colour of a member that is a plain string and writes it anew.
func cssColor(text string) (string, bool) {
	if strings.EqualFold(strings.TrimSpace(text), "transparent") {
		return "transparent", true
	}
	c, ok := parseColor(text)
	return c.String(), ok
}

// cssLength reads a length and writes it anew: a number of 0 to 4000, and a unit. A
// number alone is pixels.
func cssLength(text string) (string, bool) {
	text = strings.ToLower(strings.TrimSpace(text))
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz%")
	unit := text[len(digits):]
	switch unit {
	case "":
		unit = "px"
	case "px", "em", "rem", "%", "vw", "vh", "ch", "pt":
	default:
		return "", false
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	if err != nil || math.IsNaN(n) || n < 0 || n > 4000 {
		return "", false
	}
	return plain.Number(n) + unit, true
}

// luminance is the relative luminance of WCAG 2.2.
func (c rgb) luminance() float64 {
	part := func(v uint8) float64 {
		s := float64(v) / 255
		if s <= 0.04045 {
			return s / 12.92
		}
		return math.Pow((s+0.055)/1.055, 2.4)
	}
	return 0.2126*part(c.r) + 0.7152*part(c.g) + 0.0722*part(c.b)
}

// contrast is the contrast ratio of WCAG 2.2, 1 to 21.
func contrast(a, b rgb) float64 {
	x, y := a.luminance(), b.luminance()
	return (math.Max(x, y) + 0.05) / (math.Min(x, y) + 0.05)
}

// blend mixes a share of one colour into another.
func blend(a, b rgb, share float64) rgb {
	mix := func(x, y uint8) uint8 { return uint8(math.Round(float64(x)*share + float64(y)*(1-share))) }
	return rgb{mix(a.r, b.r), mix(a.g, b.g), mix(a.b, b.b)}
}

// readable moves a colour towards black or white, whichever is nearer to the goal, until
// its contrast with what it stands on is enough. A colour that is good stays as it is.
func readable(c, on rgb, ratio float64) rgb {
	if contrast(c, on) >= ratio {
		return c
	}
	target := black
	if contrast(white, on) > contrast(black, on) {
		target = white
	}
	for share := 0.95; share > 0; share -= 0.05 {
		if moved := blend(c, target, share); contrast(moved, on) >= ratio {
			return moved
		}
	}
	return target
}

// legible is the text of a button: the colour that was asked for, else black or white. A
// grey that is just readable would look switched off.
func legible(c, on rgb) rgb {
	switch {
	case contrast(c, on) >= 4.5:
		return c
	case contrast(white, on) >= 4.5:
		return white
	}
	return black
}
