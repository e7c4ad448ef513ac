// Package textclean checks whether a text contains visible characters.
package textclean

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

// CleanName returns a name without invisible characters inside and without white space around it.
// Joiners, variation selectors and the tags of flags stay, because they change what other
// characters look like. Characters that [IsMisleading] is about stay too, so that it finds them.
func CleanName(s string) string {
	flag := false // the character belongs to an emoji with tags
	return strings.TrimSpace(strings.Map(func(c rune) rune {
		tag := c >= 0xe0020 && c <= 0xe007f
		flag = c == '\U0001f3f4' || flag && tag
		if tag && flag || !hidden(c) || c == '\u200c' || c == '\u200d' || unicode.Is(unicode.Variation_Selector, c) || unicode.Is(unicode.Bidi_Control, c) {
			return c
		}
		return -1
	}, s))
}

// HasInvisible reports whether s has a character that shows nothing and takes no room.
func HasInvisible(s string) bool { return strings.ContainsFunc(s, hidden) }

func hidden(c rune) bool {
	return invisible(c) && !unicode.IsSpace(c) && !unicode.IsControl(c) && c != '\u2800'
}

// IsMisleading reports whether s has a line break, another control character, or one that
// turns the direction of text (Bidi_Control). In a name these have no use: they forge
// lines of a log and a terminal, and make a name read as another one.
func IsMisleading(s string) bool {
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
