package theme

import (
	"bytes"
	"cmp"
	_ "embed" // For the list.
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/css"

	"github.com/formsvc/formsvc/handler/formpage/internal/policy"
	"github.com/formsvc/formsvc/handler/formpage/internal/words"
	"github.com/formsvc/formsvc/internal/color"
)

// SanitizeCSS rebuilds the author's style sheet from allowed properties, functions and selectors, so features that
// browsers add later are removed too. It removes all URLs and all at-rules except @media, and limits every selector to
// the form's element.
func SanitizeCSS(sheet string) string {
	if strings.TrimSpace(sheet) == "" {
		return ""
	}
	w := writer{parser: css.NewParser(parse.NewInputString(sheet), false)}
	w.sanitize()
	return w.out.String()
}

const maxMedia = 4

type writer struct {
	parser    *css.Parser
	out       bytes.Buffer
	selectors []string
	rules     int // How many rulesets are open.
	skipped   int // How many open at-rules are being removed.
	media     int // How many @media rules are open.
	body      bytes.Buffer
}

func (w *writer) sanitize() {
	for {
		grammar, _, data := w.parser.Next()
		switch grammar {
		case css.ErrorGrammar:
			if err := w.parser.Err(); err != nil && (errors.Is(err, io.EOF) || !w.parser.HasParseError()) {
				w.closeBlocks()
				return
			}
		case css.BeginAtRuleGrammar:
			w.beginAtRule(data)
		case css.EndAtRuleGrammar:
			w.endAtRule()
		case css.QualifiedRuleGrammar:
			w.addSelectors()
		case css.BeginRulesetGrammar:
			w.rules++
			if w.rules == 1 {
				w.addSelectors()
				w.body.Reset()
			}
		case css.EndRulesetGrammar:
			if w.rules == 1 {
				w.flushRule()
			}
			w.rules = max(0, w.rules-1)
		case css.DeclarationGrammar:
			if w.rules == 1 && w.skipped == 0 {
				w.addDeclaration(string(data))
			}
		}
	}
}

func (w *writer) closeBlocks() {
	if w.rules == 1 {
		w.flushRule()
	}
	for ; w.media > 0; w.media-- {
		w.out.WriteByte('}')
	}
}

func (w *writer) beginAtRule(name []byte) {
	prelude, ok := parseMediaPrelude(w.parser.Values())
	if w.skipped > 0 || w.rules > 0 || !strings.EqualFold(string(name), "@media") || !ok || w.media == maxMedia {
		w.skipped++
		return
	}
	w.media++
	w.out.WriteString("@media " + prelude + "{")
}

func (w *writer) endAtRule() {
	switch {
	case w.skipped > 0:
		w.skipped--
	case w.media > 0:
		w.media--
		w.out.WriteByte('}')
	}
}

func (w *writer) flushRule() {
	if len(w.selectors) > 0 && w.body.Len() > 0 && w.skipped == 0 {
		w.out.WriteString(strings.Join(w.selectors, ",") + "{" + strings.TrimSuffix(w.body.String(), ";") + "}")
	}
	w.selectors = nil
}

func (w *writer) addSelectors() {
	tokens := w.parser.Values()
	for len(tokens) > 0 {
		one := tokens
		if i := slices.IndexFunc(tokens, func(t css.Token) bool { return t.TokenType == css.CommaToken }); i >= 0 {
			one, tokens = tokens[:i], tokens[i+1:]
		} else {
			tokens = nil
		}
		if text, ok := scopeSelector(one); ok && len(w.selectors) < 100 {
			w.selectors = append(w.selectors, text)
		}
	}
}

// selectorPseudos lists the names allowed after a colon.
var selectorPseudos = []string{
	":", "root", "hover", "focus", "focus-visible", "focus-within", "active", "checked", "disabled", "first-child", "last-child",
	"only-child", "first-of-type", "last-of-type", "placeholder", "empty",
}

// The delimiters allowed in selectors, media queries and values.
var (
	selectorSigns = []string{".", ">", "+", "~", "*"}
	mediaSigns    = []string{"(", ")", ":", ","}
	valueSigns    = []string{"/", "+", "-", "*", "!", ","}
)

// sanitizeToken returns a token's text, and whether the token is allowed. signs lists the allowed delimiters.
func sanitizeToken(t css.Token, signs []string) (string, bool) {
	text := string(t.Data)
	switch t.TokenType {
	case css.WhitespaceToken, css.CommentToken:
		return " ", true
	case css.IdentToken, css.HashToken:
		return text, policy.IsSafeName(strings.TrimPrefix(text, "#"))
	case css.NumberToken, css.DimensionToken, css.PercentageToken:
		return text, isSafeNumber(text)
	}
	return text, slices.Contains(signs, text)
}

// rootNames lists the selectors that authors use for the form as a whole.
var rootNames = []string{"html", "body", ":root", ".fs"}

// scopeSelector rebuilds a selector so that it matches only inside the form's element.
func scopeSelector(tokens []css.Token) (string, bool) {
	var b strings.Builder
	for i, t := range tokens {
		text, ok := sanitizeToken(t, selectorSigns)
		switch t.TokenType {
		case css.NumberToken, css.DimensionToken, css.PercentageToken:
			ok = false
		case css.ColonToken:
			ok = i+1 < len(tokens) && slices.Contains(selectorPseudos, string(tokens[i+1].Data))
		}
		if !ok {
			return "", false
		}
		b.WriteString(text)
	}
	text := strings.TrimSpace(b.String())
	for _, root := range rootNames {
		if rest, ok := strings.CutPrefix(text, root); ok && (rest == "" || rest[0] == ' ' || rest[0] == '>') {
			if strings.ContainsAny(strings.TrimSpace(rest + "x")[:1], "+~") {
				return "", false // The selector matches a sibling of the form.
			}
			return ".fs" + rest, true
		}
	}
	if text == "" || strings.ContainsAny(text[:1], ">+~") || strings.Contains(text, ":root") {
		return "", false
	}
	return ".fs " + text, true
}

func parseMediaPrelude(tokens []css.Token) (string, bool) {
	var b strings.Builder
	for _, t := range tokens {
		text, ok := sanitizeToken(t, mediaSigns)
		if !ok {
			return "", false
		}
		b.WriteString(text)
		if slices.Contains([]string{"and", "not", "only", ")"}, text) {
			b.WriteByte(' ')
		}
	}
	text := strings.TrimSpace(b.String())
	return text, text != "" && strings.Count(text, "(") == strings.Count(text, ")")
}

//go:embed properties.txt
var properties string

// allowedProperties lists properties that cannot load resources, leave the form's element or cover other content.
var allowedProperties = strings.Fields(properties)

var allowedFunctions = strings.Fields(`
	rgb rgba hsl hsla hwb lab lch oklab oklch calc min max clamp var linear-gradient radial-gradient conic-gradient
	repeating-linear-gradient repeating-radial-gradient translate translatex translatey scale rotate skew cubic-bezier
	steps repeat minmax fit-content drop-shadow`)

func (w *writer) addDeclaration(property string) {
	property = strings.ToLower(property)
	if value, ok := parseDeclaration(property, w.parser.Values()); ok && slices.Contains(allowedProperties, property) {
		w.body.WriteString(property + ":" + value + ";")
	}
}

func parseDeclaration(property string, tokens []css.Token) (string, bool) {
	var b strings.Builder
	depth := 0
	for _, t := range tokens {
		text, ok := sanitizeToken(t, valueSigns)
		switch t.TokenType {
		case css.CustomPropertyNameToken:
			ok = depth > 0 && policy.IsSafeName(text)
		case css.FunctionToken:
			text = strings.ToLower(text)
			ok = slices.Contains(allowedFunctions, strings.TrimSuffix(text, "("))
			depth++
		case css.LeftParenthesisToken:
			ok = true
			depth++
		case css.RightParenthesisToken:
			ok = true
			depth--
		case css.StringToken:
			// Only font families need strings.
			inner := strings.Trim(text, `"'`)
			text = `"` + inner + `"`
			ok = (property == "font-family" || property == "font") && policy.IsSafeName(strings.ReplaceAll(inner, " ", ""))
		}
		if !ok {
			return "", false
		}
		b.WriteString(text)
		if depth < 0 || b.Len() > 1000 {
			return "", false
		}
	}
	value := strings.TrimSpace(b.String())
	if i := strings.IndexByte(value, '!'); i >= 0 && !strings.EqualFold(strings.ReplaceAll(value[i:], " ", ""), "!important") {
		return "", false
	}
	return value, value != "" && depth == 0
}

func isSafeNumber(text string) bool {
	return len(text) <= 40 && policy.KeepSafeChars(text, '.', '%', '+') == text
}

// ParseColor parses and normalizes a color.
func ParseColor(text string) (string, bool) {
	if strings.EqualFold(strings.TrimSpace(text), "transparent") {
		return "transparent", true
	}
	c, ok := color.Parse(text)
	return c.String(), ok
}

var lengthUnits = []string{"px", "em", "rem", "%", "vw", "vh", "ch", "pt"}

// ParseLength parses and normalizes a length from 0 to 4000. The default unit is px.
func ParseLength(text string) (string, bool) {
	text = strings.ToLower(strings.TrimSpace(text))
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz%")
	unit := cmp.Or(text[len(digits):], "px")
	n, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	if err != nil || math.IsNaN(n) || n < 0 || n > 4000 || !slices.Contains(lengthUnits, unit) {
		return "", false
	}
	return words.FormatPlain(n) + unit, true
}

// QuoteURL quotes a URL for use in url(). It escapes all characters that could end the string.
func QuoteURL(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range text {
		if c <= ' ' || c >= 0x7f || strings.ContainsRune(`"'\()<>`, c) {
			b.WriteString(`\` + strconv.FormatInt(int64(c), 16) + " ")
			continue
		}
		b.WriteRune(c)
	}
	b.WriteByte('"')
	return b.String()
}
