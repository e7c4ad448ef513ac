// Package textclean finds and removes invisible and misleading characters.
package textclean

import (
	"strings"
	"unicode"
)

// IsBlank reports whether s is empty or contains only whitespace and invisible characters. Such text cannot be a name
// or an answer. Text with visible characters may need invisible ones, such as the joiners in many scripts.
func IsBlank(s string) bool {
	return strings.TrimFunc(s, isInvisible) == ""
}

// Trim removes whitespace and invisible characters from both ends of s. It retains other control characters.
func Trim(s string) string {
	return strings.TrimFunc(s, func(c rune) bool { return unicode.IsSpace(c) || isInvisible(c) && !unicode.IsControl(c) })
}

// CleanName removes invisible characters and surrounding whitespace from a name. It retains joiners, variation
// selectors and flag tags, because they change how other characters look. It also retains misleading characters, which
// [IsMisleading] reports.
func CleanName(s string) string {
	flag := false // whether c belongs to a flag emoji with tags
	return strings.TrimSpace(strings.Map(func(c rune) rune {
		tag := c >= 0xe0020 && c <= 0xe007f
		flag = c == '\U0001f3f4' || flag && tag
		if tag && flag || !isHidden(c) || c == '\u200c' || c == '\u200d' || unicode.Is(unicode.Variation_Selector, c) || unicode.Is(unicode.Bidi_Control, c) {
			return c
		}
		return -1
	}, s))
}

// HasInvisible reports whether s contains a zero-width invisible character.
func HasInvisible(s string) bool { return strings.ContainsFunc(s, isHidden) }

func isHidden(c rune) bool {
	return isInvisible(c) && !unicode.IsSpace(c) && !unicode.IsControl(c) && c != '\u2800'
}

// IsMisleading reports whether s contains a line break, another control character, or a character that changes the text
// direction (Bidi_Control). A name with such characters could forge log lines or imitate another name.
func IsMisleading(s string) bool {
	return strings.ContainsFunc(s, func(c rune) bool {
		return unicode.IsControl(c) || c == '\u2028' || c == '\u2029' || unicode.Is(unicode.Bidi_Control, c)
	})
}

// isInvisible follows Unicode's Default_Ignorable_Code_Point. It derives the property from other tables (UAX #44),
// because Go has no table for it. It also includes control characters and the blank Braille pattern.
func isInvisible(c rune) bool {
	switch {
	case c > ' ' && c < 0x7f:
		return false
	case unicode.IsSpace(c), unicode.IsControl(c), c == '\u2800',
		unicode.In(c, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
		return true
	case c >= 0xfff9 && c <= 0xfffb, c >= 0x13430 && c <= 0x13440, unicode.Is(unicode.Prepended_Concatenation_Mark, c):
		return false // visible format characters
	}
	return unicode.Is(unicode.Cf, c)
}
