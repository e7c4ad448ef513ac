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

// MaxShortText is the maximum number of characters in a single-line answer.
var MaxShortText = maxTextLength(schema.TypeShortText)

func maxTextLength(typ string) int {
	k, _ := schema.LookupBlockType(typ)
	return k.MaxText
}

type textRule struct {
	max     int
	oneLine bool
}

func newText(b *schema.Block, _ ServiceConfig) Rule {
	rule := textRule{max: maxTextLength(b.Type), oneLine: b.Type == schema.TypeShortText}
	if n := b.Properties.MaxChars; n != nil && *n > 0 {
		rule.max = int(*n)
	}
	return rule
}

func (t textRule) Check(w *jsontree.Writer, n jsontree.Node, r *Report) {
	if text, ok := t.readText(n, r); ok {
		w.String(text)
	}
}

func (t textRule) readText(n jsontree.Node, r *Report) (text string, ok bool) {
	if n.Kind() != jsontree.String {
		r.add(n, violationNotText())
		return "", false
	}
	text, wrong := t.normalize(n.Text(), r)
	return text, !r.addIfSet(n, wrong)
}

// normalize converts text to NFC and line ends to "\n". It trims whitespace and removes the bidirectional embeddings
// that programs add to copied text. It leaves other invisible characters, such as joiners and isolates, because they
// have a purpose. It rejects control characters and bidirectional overrides, because they can make text look like
// different text.
func (t textRule) normalize(text string, r *Report) (string, Violation) {
	text = strings.TrimSpace(text)
	if !isPlainASCII(text) {
		ends := lineEnds
		if t.oneLine {
			ends = pastedBreaks
		}
		if strings.ContainsAny(text, pastedChars) {
			if t.isTooLong(text) {
				return "", violationTooLong(t.max)
			}
			text = strings.TrimSpace(ends.Replace(removeEmbeddings(text)))
		}
		switch at := strings.IndexFunc(text, isForbidden); {
		case t.oneLine && strings.ContainsAny(text, lineBreaks):
			return "", violationNotOneLine()
		case at >= 0:
			return "", ViolationNotPlainText()
		case !norm.NFC.IsNormalString(text):
			if !spendNormalization(text, r) {
				return "", violationTooSlow()
			}
			text = norm.NFC.String(text)
		}
	}
	if violation.LongerThan(text, t.max) {
		return "", violationTooLong(t.max)
	}
	return text, Violation{}
}

// isTooLong reports whether text would exceed the limit even after normalization. It avoids normalizing such text,
// which would copy it several times.
func (t textRule) isTooLong(text string) bool {
	n := -maxSlowBytes / 2 // at most this many characters can be combined with others by NFC
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

// lineBreaks are the characters that end a line in Unicode.
const lineBreaks = "\n\v\f\u0085\u2028\u2029"

// pastedChars are the characters that normalization replaces. Most texts have none, so checking for them saves two
// copies.
const pastedChars = "\r\v\f\u2028\u2029\u202a\u202b\u202c"

// Word processors and PDFs use line endings other than "\n".
var (
	lineEnds     = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u2028", "\n", "\u2029", "\n")
	pastedBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", " ", "\f", " ", "\u2028", " ", "\u2029", " ")
)

// removeEmbeddings removes bidirectional embeddings (U+202A to U+202C), which phones, messengers and word processors
// add to copied text. It returns text with unbalanced embeddings unchanged.
func removeEmbeddings(text string) string {
	open, there := 0, false
	for _, c := range text {
		switch c {
		case '\u202a', '\u202b':
			open, there = open+1, true
		case '\u202c':
			open--
		case '\u202d', '\u202e':
			return text // an override is present, and U+202C may end it
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

// isPlainASCII reports whether text is ASCII without control characters, and therefore already normalized. Most texts
// are plain ASCII.
func isPlainASCII(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] >= 0x7f {
			return false
		}
	}
	return true
}

// isForbidden reports whether c is not allowed in any answer: control characters except tab and line feed, and
// bidirectional embeddings and overrides.
func isForbidden(c rune) bool {
	return c != '\t' && c != '\n' && unicode.IsControl(c) || c >= '\u202a' && c <= '\u202e'
}

// ToASCIIDigits replaces full-width digits and digits in other scripts with ASCII digits. In Unicode, the ten digits of
// a script are consecutive, starting with zero.
func ToASCIIDigits(text string) string {
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

// readTrimmedText returns the text of an answer that must follow a format. It removes balanced embeddings, and
// surrounding whitespace and invisible characters, which copied text often contains.
func readTrimmedText(n jsontree.Node, r *Report) (text string, ok bool) {
	if n.Kind() != jsontree.String {
		r.add(n, violationNotText())
		return "", false
	}
	return textclean.Trim(removeEmbeddings(n.Text())), true
}

// formatRule checks text that must follow a particular format. normalize returns the text to store or a violation.
type formatRule struct {
	normalize func(text string, r *Report) (string, Violation)
	max       int // maximum characters before normalization; a zero value means no limit
	sample    string
}

func (t formatRule) Check(w *jsontree.Writer, n jsontree.Node, r *Report) {
	text, ok := readTrimmedText(n, r)
	if !ok {
		return
	}
	if t.max > 0 && violation.LongerThan(text, t.max) {
		r.add(n, violationTooLong(t.max))
		return
	}
	if normal, wrong := t.normalize(text, r); !r.addIfSet(n, wrong) {
		w.String(normal)
	}
}

func (t formatRule) Sample() string { return QuoteJSON(t.sample) }

func (t textRule) warnIneffective(b *schema.Block, warn func(name string, why Explanation)) {
	if n := b.Properties.MaxChars; n != nil && *n <= 0 {
		warn("maxChars", Explanation{Reason: "no_limit", Message: "a limit below 1 has no effect"})
	}
}

// textIdentity returns an identity function that compares texts by the result of the function common. A text with an
// empty result has no identity.
func textIdentity(common func(string) string) func(jsontree.Node) ([]byte, bool) {
	return func(value jsontree.Node) ([]byte, bool) {
		text := common(value.Text())
		return append([]byte("s"), text...), text != ""
	}
}

func unchanged(text string) string { return text }

// foldText returns the same string for texts that differ only in case, character width and form, or whitespace. It
// implements the compatibility caseless match of Unicode (D146). It folds twice, because composition can produce a
// cased character again.
func foldText(text string) string {
	if isPlainASCII(text) {
		text = strings.ToLower(text)
	} else {
		fold := cases.Fold()
		text = norm.NFKC.String(fold.String(norm.NFKC.String(fold.String(norm.NFD.String(text)))))
	}
	return strings.Join(strings.Fields(text), " ")
}

// CheckHiddenText checks the value of a hidden field.
func CheckHiddenText(text string) Violation {
	switch {
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		return ViolationNotPlainText()
	case violation.LongerThan(text, MaxShortText):
		return violationTooLong(MaxShortText)
	default:
		return Violation{}
	}
}

// spendNormalization counts text that needs NFC toward maxSlowBytes. It returns false if the limit is exceeded.
func spendNormalization(text string, r *Report) bool {
	beyondASCII := 0
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			beyondASCII++
		}
	}
	return r.spendSlow(beyondASCII)
}
