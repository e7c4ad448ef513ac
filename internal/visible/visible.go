// Package visible knows which text shows nothing.
package visible

import (
	"strings"
	"unicode"
)

// IsBlank reports whether nothing of s can be seen: it is empty, or has only white
// space and characters that are invisible or look like a space. Such a text is
// not a name and not an answer. Inside other text these characters have their use
// (scripts need joiners) and stay.
func IsBlank(s string) bool {
	return strings.TrimFunc(s, invisible) == ""
}

// Trim returns s without white space and invisible characters at both ends. Control
// characters that are not white space stay.
func Trim(s string) string {
	return strings.TrimFunc(s, func(c rune) bool { return unicode.IsSpace(c) || invisible(c) && !unicode.IsControl(c) })
}

// Misleads reports whether s has a line break, another control character, or one that
// turns the direction of text (Bidi_Control). In a name these have no use: they forge
// lines of a log and a terminal, and make a name read as another one.
func Misleads(s string) bool {
	return strings.ContainsFunc(s, func(c rune) bool {
		return unicode.IsControl(c) || c == '\u2028' || c == '\u2029' || unicode.Is(unicode.Bidi_Control, c)
	})
}

// invisible follows Default_Ignorable_Code_Point of Unicode. Go has no table of this
// property, so it is derived from the tables below (UAX #44). Control characters and
// the blank Braille pattern show nothing either.
func invisible(c rune) bool {
	switch {
	case c > ' ' && c < 0x7f:
		return false
	case unicode.IsSpace(c), unicode.IsControl(c), c == '\u2800',
		unicode.In(c, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
		return true
	case c >= 0xfff9 && c <= 0xfffb, c >= 0x13430 && c <= 0x13440, unicode.Is(unicode.Prepended_Concatenation_Mark, c):
		return false // format characters that are drawn
	}
	return unicode.Is(unicode.Cf, c)
}
