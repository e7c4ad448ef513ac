package answertype

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/textclean"
	"github.com/formsvc/formsvc/internal/violation"
	"github.com/formsvc/formsvc/schema"
)

// MaxShortText is the largest number of characters of a text of one line.
var MaxShortText = maxText(schema.TypeShortText)

// maxText is the largest number of characters of texts that answer a type of blocks.
func maxText(typ string) int {
	k, _ := schema.LookupBlockType(typ)
	return k.MaxText
}

// textRule checks short_text and long_text.
type textRule struct {
	max     int
	oneLine bool
}

func newText(b *schema.Block, _ ServiceConfig) Rule {
	rule := textRule{max: maxText(b.Type), oneLine: b.Type == schema.TypeShortText}
	if n := b.Properties.MaxChars; n != nil && *n > 0 {
		rule.max = int(*n)
	}
	return rule
}

func (t textRule) Check(w *jsontree.Writer, n jsontree.Node, r *Report) {
	if text, ok := t.read(n, r); ok {
		w.String(text)
	}
}

// read returns the text of an answer as it is stored. What is wrong with it is
// reported.
func (t textRule) read(n jsontree.Node, r *Report) (text string, ok bool) {
	if n.Kind() != jsontree.String {
		r.add(n, notText())
		return "", false
	}
	text, wrong := t.normalize(n.Text(), r)
	return text, r.accepts(n, wrong)
}

// normal returns text in NFC, with line feeds for line ends, without white space at its
// ends and without the embeddings that programs put around copied text. Nothing else is
// removed: joiners, isolates and other invisible characters have their use inside a
// text. Control characters and bidirectional overrides, which make a text read as
// another one, are refused.
func (t textRule) normalize(text string, r *Report) (string, Violation) {
	text = strings.TrimSpace(text)
	if !isPlainASCII(text) {
		ends := lineEnds
		if t.oneLine {
			ends = pastedBreaks
		}
		if strings.ContainsAny(text, pastedChars) {
			if t.isTooLong(text) {
				return "", tooLong(t.max)
			}
			text = strings.TrimSpace(ends.Replace(removeEmbeddings(text)))
		}
		switch at := strings.IndexFunc(text, isForbidden); {
		case t.oneLine && strings.ContainsAny(text, lineBreaks):
			return "", notOneLine()
		case at >= 0:
			return "", NotPlainText()
		case !norm.NFC.IsNormalString(text):
			if !allowNormalization(text, r) {
				return "", tooSlow()
			}
			text = norm.NFC.String(text)
		}
	}
	if violation.LongerThan(text, t.max) {
		return "", tooLong(t.max)
	}
	return text, Violation{}
}

// isBeyond reports whether a text stays too long whatever is removed from it: to clean it
// would cost several copies.
func (t textRule) isTooLong(text string) bool {
	n := -maxSlowBytes / 2 // so many characters become part of others in NFC, at most
	for _, c := range text {
		if c != '\r' && (c < '\u202a' || c > '\u202c') {
			n++
		}
	}
	return n > t.max
}

func (t textRule) Sample() string {
	const text = "Sample answer"
	return QuoteJSON(strings.TrimSpace(text[:min(len(text), t.max)]))
}

// lineBreaks are the characters that Unicode says end a line.
const lineBreaks = "\n\v\f\u0085\u2028\u2029"

// pastedChars are the characters that a text loses, or has others in place of. To look for them
// first spares most texts two copies.
const pastedChars = "\r\v\f\u2028\u2029\u202a\u202b\u202c"

// Word processors and PDFs end lines with more than line feeds.
var (
	lineEnds     = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u2028", "\n", "\u2029", "\n")
	pastedBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", " ", "\f", " ", "\u2028", " ", "\u2029", " ")
)

// removeEmbeddings drops bidirectional embeddings (U+202A to U+202C) when each that begins ends
// as well: phones, messengers and word processors put them around copied text. A text in
// which they are not balanced stays as it is.
func removeEmbeddings(text string) string {
	open, there := 0, false
	for _, c := range text {
		switch c {
		case '\u202a', '\u202b':
			open, there = open+1, true
		case '\u202c':
			open--
		case '\u202d', '\u202e':
			return text // what ends may be the override
		}
		if open < 0 {
			break
		}
	}
	if open != 0 || !there {
		return text
	}
	return embeddings.Replace(text)
}

var embeddings = strings.NewReplacer("\u202a", "", "\u202b", "", "\u202c", "")

// isPlainASCII reports whether a text is ASCII without control characters, as most
// are: it is in its normal form.
func isPlainASCII(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] >= 0x7f {
			return false
		}
	}
	return true
}

// isForbidden reports whether no text of an answer may contain a character: a
// control character but tab and line feed, or a bidirectional embedding or override.
func isForbidden(c rune) bool {
	return c != '\t' && c != '\n' && unicode.IsControl(c) || c >= '\u202a' && c <= '\u202e'
}

// ASCIIDigits replaces the digits of other scripts and of full-width writing. Unicode has
// each script's ten digits in a row, from zero.
func ASCIIDigits(text string) string {
	return strings.Map(func(c rune) rune {
		if c < utf8.RuneSelf || !unicode.Is(unicode.Nd, c) {
			return c
		}
		zero := c
		for unicode.Is(unicode.Nd, zero-1) {
			zero--
		}
		return '0' + (c-zero)%10
	}, text)
}

// trimmedText returns the text of an answer that has a format of its own. It drops balanced
// embeddings, and the white space and invisible characters around the text, which come
// with text copied from other programs. A value that is not a string is reported.
func trimmedText(n jsontree.Node, r *Report) (text string, ok bool) {
	if n.Kind() != jsontree.String {
		r.add(n, notText())
		return "", false
	}
	return textclean.Trim(removeEmbeddings(n.Text())), true
}

// formatRule checks a text that has a format of its own: normal returns the text as it is
// stored, or what is wrong with it.
type formatRule struct {
	normalize func(text string, r *Report) (string, Violation)
	max       int // characters of the text as it is sent; a zero value means no limit
	sample    string
}

func (t formatRule) Check(w *jsontree.Writer, n jsontree.Node, r *Report) {
	text, ok := trimmedText(n, r)
	if !ok {
		return
	}
	if t.max > 0 && violation.LongerThan(text, t.max) {
		r.add(n, tooLong(t.max))
		return
	}
	if normal, wrong := t.normalize(text, r); r.accepts(n, wrong) {
		w.String(normal)
	}
}

func (t formatRule) Sample() string { return QuoteJSON(t.sample) }

func (t textRule) warnIneffective(b *schema.Block, warn func(name string, why Explanation)) {
	if n := b.Properties.MaxChars; n != nil && *n <= 0 {
		warn("maxChars", Explanation{Reason: "no_limit", Message: "a limit below 1 means no limit"})
	}
}

// textIdentity is the identity of texts that are the same when their common forms are; an empty
// one has none.
func textIdentity(common func(string) string) func(jsontree.Node) ([]byte, bool) {
	return func(value jsontree.Node) ([]byte, bool) {
		text := common(value.Text())
		return append([]byte("s"), text...), text != ""
	}
}

func unchanged(text string) string { return text }

// foldText makes texts equal that differ in case, in the width and form of their
// characters, or in white space. It is a compatibility caseless match (Unicode, D146),
// which folds twice because a character composed in between may have a case again.
func foldText(text string) string {
	if isPlainASCII(text) {
		text = strings.ToLower(text)
	} else {
		fold := cases.Fold()
		text = norm.NFKC.String(fold.String(norm.NFKC.String(fold.String(norm.NFD.String(text)))))
	}
	return strings.Join(strings.Fields(text), " ")
}

// CheckHidden returns the fault of the value of a hidden field.
func CheckHidden(text string) Violation {
	switch {
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		return NotPlainText()
	case violation.LongerThan(text, MaxShortText):
		return tooLong(MaxShortText)
	default:
		return Violation{}
	}
}

// allowNormalization counts a text that is about to be brought into NFC.
func allowNormalization(text string, r *Report) bool {
	beyondASCII := 0
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			beyondASCII++
		}
	}
	return r.spendSlow(beyondASCII)
}
