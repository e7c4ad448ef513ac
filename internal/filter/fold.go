package filter

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// withoutStroke has base letters whose accents Unicode does not decompose.
var withoutStroke = strings.NewReplacer("ø", "o", "ł", "l", "đ", "d", "ħ", "h", "ı", "i", "æ", "ae", "œ", "oe")

// Fold returns the same string for texts that differ only in case, accents, character width and form, or whitespace.
func Fold(text string) string {
	if isPlain(text) {
		return strings.ToLower(text)
	}
	var b strings.Builder
	b.Grow(len(text))
	for _, c := range norm.NFKC.String(text) {
		switch {
		case 'A' <= c && c <= 'Z':
			b.WriteByte(byte(c) + 'a' - 'A')
		case c < utf8.RuneSelf:
			b.WriteByte(byte(c))
		default:
			b.WriteString(foldRune(c))
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// isPlain reports whether a text is ASCII without repeated spaces, which many answers are.
func isPlain(text string) bool {
	space := true
	for i := range len(text) {
		c := text[i]
		if c < ' ' || c >= utf8.RuneSelf || c == ' ' && space {
			return false
		}
		space = c == ' '
	}
	return !space || text == ""
}

// foldedAlphabets has the folded characters of alphabets, because folding one takes a microsecond.
var foldedAlphabets = sync.OnceValue(func() *[0x2000]string {
	all := new([0x2000]string)
	for c := range all {
		all[c] = computeFold(rune(c))
	}
	return all
})

func foldRune(c rune) string {
	if c < 0x2000 {
		return foldedAlphabets()[c]
	}
	return computeFold(c)
}

func computeFold(c rune) string {
	text := norm.NFKD.String(cases.Fold().String(norm.NFKD.String(string(c))))
	return withoutStroke.Replace(norm.NFC.String(strings.Map(func(c rune) rune {
		if isAccent(c) {
			return -1
		}
		return c
	}, text)))
}

// isAccent reports whether c is an accent, a point of Hebrew or Arabic, or a variation selector. The vowels and tones of
// Asian scripts, and the marks that make another consonant, have other combining classes.
func isAccent(c rune) bool {
	if !unicode.Is(unicode.Mn, c) {
		return false
	}
	class := norm.NFD.PropertiesString(string(c)).CCC()
	return class >= 200 || 10 <= class && class <= 36 || class == 0 && unicode.Is(unicode.Inherited, c)
}
