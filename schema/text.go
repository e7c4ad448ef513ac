package schema

import (
	"html"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/formsvc/formsvc/internal/weburl"
)

// Text is a parsed text of a form, such as a label. The zero value is an empty text. It is immutable and safe for
// concurrent use.
//
// These marks have the meaning that they have in CommonMark: [text](https://…) is a link, **strong** and _emphasis_
// format words, and a backslash makes the following ASCII punctuation character literal. Underscores inside words are
// literal. A link's URL follows the rules of the property buttonLink, and the link's text can be formatted.
// {{answers.ID}}, {{variables.NAME}}, {{hidden.NAME}} and {{today}} insert a value. {{answers.ID.city}} inserts a part
// of an address or contact, and {{variables.NAME:2}} a number with two decimals. All other text is literal, including
// HTML and incomplete marks.
type Text struct {
	literal   string // if there are no spans
	spans     []span
	formats   []format // starting at 1
	malformed []string
}

// TextMarks selects the marks that [ParseText] recognizes.
type TextMarks uint8

// The marks of a [Text]. Labels, descriptions, statements, endings, the closed message and the messages of checks
// recognize both. A legal text recognizes only Formatting, and the text of a button only Insertions.
const (
	Formatting TextMarks = 1 << iota
	Insertions
)

// These are the limits of one text. Insertions beyond MaxInsertions are literal. An inserted value is truncated to
// MaxInsertedCharacters, and all inserted values of a text together to MaxInsertedTotal characters.
const (
	MaxInsertions         = 20
	MaxInsertedCharacters = 500
	MaxInsertedTotal      = 10_000
)

// span is a part of a text with the same formats.
type span struct {
	text      string
	formats   formatSet
	insertion bool // whether text is an insertion with its braces
}

// formatSet contains the indexes of formats from the outermost to the innermost, and then zeros. A part has at most one
// format of each kind.
type formatSet [3]int32

// format is a strong or emphasized part, or a link.
type format struct {
	kind tokenKind
	url  string // the URL of a link
}

// ParseText parses a text of a form. It takes time proportional to the length of the text.
func ParseText(source string, marks TextMarks) Text {
	if !strings.ContainsAny(source, markCharacters) {
		return Text{literal: source}
	}
	p := parse(source, marks)
	defer p.release()
	return Text{spans: slices.Clone(p.spans), formats: slices.Clone(p.formats), malformed: p.malformed}
}

// RenderText returns [Text.Insert] and [Text.HTML] of a text that is rendered once, with less memory than [ParseText].
// If the text has no formats and no insertions, the HTML is empty.
func RenderText(source string, marks TextMarks, value func(name string) string) (plain, html string) {
	if !strings.ContainsAny(source, markCharacters) {
		return source, ""
	}
	p := parse(source, marks)
	defer p.release()
	text := Text{spans: p.spans, formats: p.formats}
	if text.IsPlain() {
		return text.Plain(), ""
	}
	return text.Insert(value), text.HTML(value)
}

// markCharacters are the characters that begin marks. Most texts have none.
const markCharacters = `*_\[{`

func parse(source string, marks TextMarks) *textParser {
	p, _ := textParsers.Get().(*textParser)
	p.source, p.marks = source, marks
	p.tokenize()
	p.matchLinks()
	p.matchEmphasis()
	p.addSpans()
	return p
}

// Plain returns the text without formatting. Insertions keep their braces.
func (t Text) Plain() string {
	switch len(t.spans) {
	case 0:
		return t.literal
	case 1:
		return t.spans[0].text
	}
	var b strings.Builder
	for _, s := range t.spans {
		b.WriteString(s.text)
	}
	return b.String()
}

// PlainWithLinks returns the text without formatting, and the URL of each link after its text: "privacy policy
// (https://example.com)".
func (t Text) PlainWithLinks() string {
	var b strings.Builder
	b.WriteString(t.literal)
	for i, s := range t.spans {
		b.WriteString(s.text)
		var next int32
		if i+1 < len(t.spans) {
			next = t.linkOf(t.spans[i+1])
		}
		if link := t.linkOf(s); link > 0 && link != next {
			b.WriteString(" (" + t.formats[link].url + ")")
		}
	}
	return b.String()
}

// Insert returns a literal text without formatting. It replaces each insertion with the result of the function value,
// whose argument is the text between the braces. Long values are truncated, as in [Text.HTML]. If value is nil,
// insertions keep their braces.
func (t Text) Insert(value func(name string) string) string {
	if t.IsPlain() || value == nil {
		return t.Plain()
	}
	var b strings.Builder
	values, size := t.values(value)
	b.Grow(t.size() + size)
	for _, s := range t.spans {
		if s.insertion {
			b.WriteString(values[0])
			values = values[1:]
		} else {
			b.WriteString(s.text)
		}
	}
	return b.String()
}

// HTML returns the text as HTML that contains only the elements a, strong, em and bdi. Links open in a new tab. The
// function value returns the value of an insertion, by the text between its braces; the value is inserted as one line
// of literal text and never parsed. If value is nil, insertions are shown with their braces.
func (t Text) HTML(value func(name string) string) string {
	if t.IsPlain() {
		return html.EscapeString(t.Plain())
	}
	var b strings.Builder
	values, size := t.values(value)
	b.Grow(t.size() + size)
	var open formatSet
	for _, s := range t.spans {
		same := 0
		for same < len(open) && open[same] == s.formats[same] {
			same++
		}
		t.closeFormats(&b, open[same:])
		for _, f := range s.formats[same:] {
			switch format := t.formats[f]; {
			case f == 0:
			case format.kind == openToken:
				b.WriteString(`<a href="` + html.EscapeString(format.url) + `" target="_blank" rel="noopener">`)
			default:
				b.WriteString("<" + elements[format.kind] + ">")
			}
		}
		open = s.formats
		switch {
		case !s.insertion || value == nil:
			b.WriteString(html.EscapeString(s.text))
		default:
			if v := values[0]; v != "" {
				b.WriteString("<bdi>" + html.EscapeString(v) + "</bdi>")
			}
			values = values[1:]
		}
	}
	t.closeFormats(&b, open[:])
	return b.String()
}

// values returns the inserted values, and their size as HTML if nothing needs to be escaped.
func (t Text) values(value func(name string) string) (list []string, size int) {
	in := inserter{value: value}
	for _, s := range t.spans {
		if s.insertion && value != nil {
			v := in.insert(s.text)
			list, size = append(list, v), size+len("<bdi></bdi>")+len(v)
		}
	}
	return list, size
}

// size returns the size of the HTML without insertions, if nothing needs to be escaped.
func (t Text) size() (n int) {
	for _, s := range t.spans {
		n += len(s.text)
	}
	for _, f := range t.formats[1:] {
		n += len("<></>") + 2*len(elements[f.kind])
		if f.kind == openToken {
			n += len(` href="" target="_blank" rel="noopener"`) + len(f.url)
		}
	}
	return n
}

func (t Text) closeFormats(b *strings.Builder, open []int32) {
	for _, f := range slices.Backward(open) {
		if f > 0 {
			b.WriteString("</" + elements[t.formats[f].kind] + ">")
		}
	}
}

// IsPlain reports whether the text has no formats and no insertions.
func (t Text) IsPlain() bool {
	return len(t.spans) == 0 || len(t.spans) == 1 && !t.spans[0].insertion && t.spans[0].formats == formatSet{}
}

// InsertionNames returns the text between the braces of each insertion.
func (t Text) InsertionNames() []string {
	var names []string
	for _, s := range t.spans {
		if s.insertion {
			names = append(names, insertionName(s.text))
		}
	}
	return names
}

// Malformed returns up to ten marks that are shown literally because they are incomplete or not allowed.
func (t Text) Malformed() []string { return t.malformed }

// linkOf returns the index of a span's link, or 0.
func (t Text) linkOf(s span) int32 {
	for _, f := range s.formats {
		if t.formats[f].kind == openToken {
			return f
		}
	}
	return 0
}

func insertionName(source string) string { return source[len("{{") : len(source)-len("}}")] }

// inserter returns the inserted values within the limits of a text.
type inserter struct {
	value func(name string) string
	total int
}

func (in *inserter) insert(source string) string {
	line := oneLine(in.value(insertionName(source)))
	line = truncate(line, min(MaxInsertedCharacters, MaxInsertedTotal-in.total))
	in.total += utf8.RuneCountInString(line)
	return line
}

// oneLine replaces whitespace by single spaces, except no-break spaces, which French numbers contain.
func oneLine(s string) string {
	isSpace, space := func(r rune) bool { return unicode.IsSpace(r) && r != '\u00a0' && r != '\u202f' }, true
	for _, r := range s {
		if isSpace(r) && (space || r != ' ') {
			return strings.Join(strings.FieldsFunc(s, isSpace), " ")
		}
		space = r == ' '
	}
	return strings.TrimSuffix(s, " ")
}

// truncate returns the first characters of a text.
func truncate(text string, characters int) string {
	for at := range text {
		if characters == 0 {
			return text[:at]
		}
		characters--
	}
	return text
}

type tokenKind uint8

const (
	textToken tokenKind = iota
	removedToken
	insertionToken
	strongToken   // **
	emphasisToken // _
	openToken     // [
	closeToken    // ]
)

// elements are the elements of formats. A link has the kind of the token that begins it.
var elements = [...]string{strongToken: "strong", emphasisToken: "em", openToken: "a"}

type token struct {
	kind              tokenKind
	from, to          int
	canOpen, canClose bool  // whether the mark can open or close a strong or emphasized part
	begins, ends      int32 // the index in formats of the part that begins or ends here, or 0
}

type textParser struct {
	source    string
	marks     TextMarks
	tokens    []token
	formats   []format // starting at 1
	spans     []span
	open      []formatSet // the formats at each nesting, for addSpans
	joined    []byte      // the literal text of a span
	brackets  []int       // the tokens [ that can begin a link
	unpaired  []int       // the marks that can begin a part
	malformed []string
}

// textParsers reuses the memory of parsers, because a page parses all texts of a form.
var textParsers = sync.Pool{New: func() any { return &textParser{formats: make([]format, 1)} }}

func (p *textParser) release() {
	clear(p.spans) // so that the pool retains no text
	*p = textParser{
		tokens: p.tokens[:0], formats: p.formats[:1], spans: p.spans[:0], open: p.open[:0], joined: p.joined[:0],
		brackets: p.brackets[:0], unpaired: p.unpaired[:0],
	}
	textParsers.Put(p)
}

// maxInsertionName limits the search for the end of an insertion, in bytes. The longest name is the ID of a block and
// a part.
const maxInsertionName = 1200

// tokenize divides the source into marks and literal texts.
func (p *textParser) tokenize() {
	s, insertions := p.source, 0
	for i := 0; i < len(s); {
		t := token{from: i, to: i + 1}
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s) && isASCIIPunctuation(s[i+1]):
			p.add(token{kind: removedToken, from: i, to: i + 1})
			t.from, t.to = i+1, i+2
		case c == '{' && p.marks&Insertions != 0 && strings.HasPrefix(s[i:], "{{"):
			if length := strings.Index(s[i:min(len(s), i+maxInsertionName)], "}}"); length > len("{{") {
				if !hasSource(s[i+len("{{") : i+length]) {
					p.addMalformed(t)
					break
				}
				t.to = i + length + len("}}")
				if insertions++; insertions > MaxInsertions {
					p.addMalformed(t)
				} else {
					t.kind = insertionToken
				}
			}
		case p.marks&Formatting == 0:
		case c == '*' || c == '_':
			t.to = len(s) - len(strings.TrimLeft(s[i:], string(c)))
			t.canOpen, t.canClose = flanks(s, t.from, t.to)
			switch length := t.to - t.from; {
			case c == '*' && length == 2:
				t.kind = strongToken
			case c == '_' && length == 1:
				t.kind = emphasisToken
			}
		case c == '[':
			t.kind = openToken
		case c == ']':
			t.kind = closeToken
		}
		p.add(t)
		i = t.to
	}
}

// hasSource reports whether the name of an insertion begins with the source of a value.
func hasSource(name string) bool {
	name = strings.TrimSpace(name)
	source, _, dotted := strings.Cut(name, ".")
	return name == "today" || dotted && (source == "answers" || source == "variables" || source == "hidden")
}

func (p *textParser) add(t token) {
	if last := len(p.tokens) - 1; t.kind == textToken && last >= 0 && p.tokens[last].kind == textToken {
		p.tokens[last].to = t.to
		return
	}
	p.tokens = append(p.tokens, t)
}

// addFormat records a part between two tokens.
func (p *textParser) addFormat(f format, begin, end *token) {
	begin.begins, end.ends = int32(len(p.formats)), int32(len(p.formats))
	p.formats = append(p.formats, f)
}

// addMalformed records a malformed mark.
func (p *textParser) addMalformed(t token) {
	if len(p.malformed) < 10 {
		p.malformed = append(p.malformed, truncate(p.source[t.from:], 30))
	}
}

// flanks reports whether a run of * or _ can begin and end a part. CommonMark defines these rules.
func flanks(s string, from, to int) (canOpen, canClose bool) {
	before, _ := utf8.DecodeLastRuneInString(s[:from])
	after, _ := utf8.DecodeRuneInString(s[to:])
	spaceBefore, spaceAfter := from == 0 || unicode.IsSpace(before), to == len(s) || unicode.IsSpace(after)
	punctuationBefore, punctuationAfter := isPunctuation(before), isPunctuation(after)
	left := !spaceAfter && (!punctuationAfter || spaceBefore || punctuationBefore)
	right := !spaceBefore && (!punctuationBefore || spaceAfter || punctuationAfter)
	if s[from] == '_' {
		return left && (!right || punctuationBefore), right && (!left || punctuationAfter)
	}
	return left, right
}

func isPunctuation(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }

func isASCIIPunctuation(c byte) bool { return c < utf8.RuneSelf && isPunctuation(rune(c)) }

// matchLinks finds the links. A link contains no other link.
func (p *textParser) matchLinks() {
	open := p.brackets
	for i := range p.tokens {
		switch t := &p.tokens[i]; t.kind {
		case openToken:
			open = append(open, i)
		case closeToken:
			if len(open) == 0 {
				continue
			}
			begin := open[len(open)-1]
			open = open[:len(open)-1]
			if !strings.HasPrefix(p.source[t.to:], "(") {
				continue
			}
			url, length := linkTarget(p.source[t.to:])
			if url == "" || i == begin+1 {
				p.addMalformed(p.tokens[begin])
				continue
			}
			p.addFormat(format{openToken, url}, &p.tokens[begin], t)
			p.remove(i, t.to+length)
			p.pair(begin+1, i)
			open = open[:0]
		}
	}
	p.brackets = open
}

// remove removes the closing token i of a link, and the following tokens up to the offset end, where the link's URL
// ends.
func (p *textParser) remove(i, end int) {
	p.tokens[i].kind = removedToken
	for i++; i < len(p.tokens) && p.tokens[i].from < end; i++ {
		if p.tokens[i].to > end {
			p.tokens[i].from = end
			return
		}
		p.tokens[i].kind = removedToken
	}
}

// maxParentheses is the largest nesting of parentheses in a URL.
const maxParentheses = 32

// linkTarget returns the URL in parentheses at the start of s, and the length including the parentheses. The URL is
// empty if it is not allowed.
func linkTarget(s string) (url string, length int) {
	depth, escaped := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c <= ' ' || c == 0x7f:
			return "", 0
		case c == '\\' && i+1 < len(s) && isASCIIPunctuation(s[i+1]):
			escaped = true
			i++
		case c == '(':
			if depth++; depth > maxParentheses {
				return "", 0
			}
		case c == ')':
			if depth--; depth == 0 {
				if url = s[len("("):i]; escaped {
					url = unescape(url)
				}
				if !weburl.IsLink(url) || strings.Contains(url, "{{") {
					return "", 0
				}
				return url, i + 1
			}
		}
	}
	return "", 0
}

// unescape removes the backslashes before ASCII punctuation.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && isASCIIPunctuation(s[i+1]) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// matchEmphasis finds the strong and emphasized parts outside links. matchLinks has already found the parts inside
// links.
func (p *textParser) matchEmphasis() {
	p.pair(0, len(p.tokens))
	for _, t := range p.tokens {
		if (t.kind == strongToken || t.kind == emphasisToken) && (t.canOpen || t.canClose) && t.begins == 0 && t.ends == 0 {
			p.addMalformed(t)
		}
	}
}

// pair pairs the marks in tokens[from:to], except for marks in links. Each mark is pushed and popped once.
func (p *textParser) pair(from, to int) {
	open := p.unpaired[:0]
	var count [closeToken + 1]int // of unpaired marks
	for i := from; i < to; i++ {
		t := &p.tokens[i]
		if t.kind == openToken && t.begins > 0 {
			for p.tokens[i].ends != t.begins {
				i++
			}
			continue
		}
		if t.kind != strongToken && t.kind != emphasisToken {
			continue
		}
		if t.canClose && count[t.kind] > 0 {
			for t.ends == 0 {
				last := &p.tokens[open[len(open)-1]]
				open = open[:len(open)-1]
				count[last.kind]--
				if last.kind == t.kind {
					p.addFormat(format{kind: t.kind}, last, t)
				}
			}
		} else if t.canOpen {
			open = append(open, i)
			count[t.kind]++
		}
	}
	p.unpaired = open
}

// addSpans adds the literal texts and insertions with their formats.
func (p *textParser) addSpans() {
	p.open = append(p.open, formatSet{})
	first := "" // the literal text, until there is more
	flush := func() {
		if len(p.joined) > 0 {
			first = string(p.joined)
			p.joined = p.joined[:0]
		}
		if first != "" {
			p.spans = append(p.spans, span{text: first, formats: p.open[len(p.open)-1]})
			first = ""
		}
	}
	for i := range p.tokens {
		t := &p.tokens[i]
		text := p.source[t.from:t.to]
		switch {
		case t.begins > 0:
			flush()
			p.open = append(p.open, p.inside(p.open[len(p.open)-1], t.begins))
		case t.ends > 0:
			flush()
			p.open = p.open[:len(p.open)-1]
		case t.kind == insertionToken:
			flush()
			p.spans = append(p.spans, span{text, p.open[len(p.open)-1], true})
		case t.kind == removedToken:
		case first == "":
			first = text
		default:
			if len(p.joined) == 0 {
				p.joined = append(p.joined, first...)
			}
			p.joined = append(p.joined, text...)
		}
	}
	flush()
}

// inside returns a set with one more format, unless it has one of this kind, such as strong in strong.
func (p *textParser) inside(outer formatSet, f int32) formatSet {
	for i, other := range outer {
		if other == 0 {
			outer[i] = f
			return outer
		}
		if p.formats[other].kind == p.formats[f].kind {
			return outer
		}
	}
	return outer
}
