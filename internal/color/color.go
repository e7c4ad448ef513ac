// Package color parses colors and corrects their contrast according to WCAG 2.2.
package color

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// RGB is an opaque color.
type RGB struct{ R, G, B uint8 }

// White and Black are the colors that [EnsureContrast] blends toward.
var (
	White = RGB{255, 255, 255}
	Black = RGB{}
)

func (c RGB) String() string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

// Parse parses # followed by 3, 4, 6 or 8 hexadecimal digits, rgb() with plain numbers, and some names. It ignores
// transparency, because computing contrast requires a known background.
func Parse(text string) (RGB, bool) {
	text = strings.ToLower(strings.TrimSpace(text))
	if hex, ok := strings.CutPrefix(text, "#"); ok {
		if len(hex) == 3 || len(hex) == 4 {
			hex = string([]byte{hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]})
		}
		if len(hex) != 6 && len(hex) != 8 {
			return RGB{}, false
		}
		n, err := strconv.ParseUint(hex[:6], 16, 32)
		return RGB{uint8(n >> 16), uint8(n >> 8), uint8(n)}, err == nil
	}
	if inner, ok := strings.CutPrefix(text, "rgb("); ok && strings.HasSuffix(inner, ")") {
		parts := strings.FieldsFunc(strings.TrimSuffix(inner, ")"), func(c rune) bool { return c == ',' || c == ' ' })
		var n uint64
		for _, part := range parts {
			v, err := strconv.ParseUint(part, 10, 8)
			if err != nil {
				return RGB{}, false
			}
			n = n<<8 | v
		}
		return RGB{uint8(n >> 16), uint8(n >> 8), uint8(n)}, len(parts) == 3
	}
	c, ok := named[text]
	return c, ok
}

var named = map[string]RGB{
	"white": White, "black": Black, "red": {255, 0, 0}, "green": {0, 128, 0}, "blue": {0, 0, 255}, "yellow": {255, 255, 0},
	"orange": {255, 165, 0}, "purple": {128, 0, 128}, "pink": {255, 192, 203}, "gray": {128, 128, 128}, "grey": {128, 128, 128},
	"teal": {0, 128, 128}, "navy": {0, 0, 128}, "maroon": {128, 0, 0}, "olive": {128, 128, 0}, "lime": {0, 255, 0},
	"aqua": {0, 255, 255}, "cyan": {0, 255, 255}, "fuchsia": {255, 0, 255}, "magenta": {255, 0, 255}, "silver": {192, 192, 192},
	"brown": {165, 42, 42}, "gold": {255, 215, 0}, "beige": {245, 245, 220}, "tan": {210, 180, 140}, "coral": {255, 127, 80},
	"indigo": {75, 0, 130}, "violet": {238, 130, 238}, "turquoise": {64, 224, 208}, "salmon": {250, 128, 114},
}

func (c RGB) luminance() float64 {
	part := func(v uint8) float64 {
		s := float64(v) / 255
		if s <= 0.04045 {
			return s / 12.92
		}
		return math.Pow((s+0.055)/1.055, 2.4)
	}
	return 0.2126*part(c.R) + 0.7152*part(c.G) + 0.0722*part(c.B)
}

// Contrast returns the WCAG 2.2 contrast ratio, from 1 to 21.
func Contrast(a, b RGB) float64 {
	x, y := a.luminance(), b.luminance()
	return (math.Max(x, y) + 0.05) / (math.Min(x, y) + 0.05)
}

// Blend mixes a and b. share is the fraction of a in the result.
func Blend(a, b RGB, share float64) RGB {
	mix := func(x, y uint8) uint8 { return uint8(math.Round(float64(x)*share + float64(y)*(1-share))) }
	return RGB{mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B)}
}

// EnsureContrast returns c, blended toward black or white if its contrast with the background is too low.
func EnsureContrast(c, on RGB, ratio float64) RGB {
	if Contrast(c, on) >= ratio {
		return c
	}
	target := Black
	if Contrast(White, on) > Contrast(Black, on) {
		target = White
	}
	for share := 0.95; share > 0; share -= 0.05 {
		if moved := Blend(c, target, share); Contrast(moved, on) >= ratio {
			return moved
		}
	}
	return target
}

// ButtonTextColor returns the text color for a button: c, black or white. It does not blend, because a gray with barely
// enough contrast looks disabled.
func ButtonTextColor(c, on RGB) RGB {
	switch {
	case Contrast(c, on) >= 4.5:
		return c
	case Contrast(White, on) >= 4.5:
		return White
	}
	return Black
}
