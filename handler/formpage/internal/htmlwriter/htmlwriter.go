// Package pen writes and escapes the HTML of pages.
package pen

import (
	"crypto/rand"
	"html/template"
	"io"
	"iter"
	"strings"
	"sync"
	"unicode/utf8"
)

// Pen writes HTML within a size limit, as a list of pieces. One growing buffer would be copied many times.
type Pen struct {
	Remaining int  // The remaining size limit of the form's content, in bytes.
	Truncated bool // Whether content was omitted because of the limit.

	out     io.Writer // The destination. If nil, the pen stores the pieces.
	pieces  []Piece
	buf     []byte
	inserts Inserts // The inserts of the template that writes to the pen.
}

const pieceSize = 64 << 10 // Most pages fit in one piece, so one write sends them.

// Piece is HTML or a long text that a respondent typed. The text is escaped when it is sent.
type Piece struct {
	html  []byte
	typed string
}

var pieceBuffers = sync.Pool{New: func() any { return new([pieceSize]byte) }}

func newPiece() []byte { return pieceBuffers.Get().(*[pieceSize]byte)[:0] }

func release(html []byte) {
	if cap(html) == pieceSize {
		pieceBuffers.Put((*[pieceSize]byte)(html[:pieceSize]))
	}
}

// New returns a pen that stores its output. room is the size limit of the form's content, in bytes.
func New(room int) *Pen { return &Pen{Remaining: room} }

// NewStream returns a pen that sends its output to out. The caller must call Close.
func NewStream(out io.Writer) *Pen { return &Pen{out: out} }

// Close sends the remaining output.
func (p *Pen) Close() {
	p.flush()
	release(p.buf)
}

// Raw writes HTML that does not count against the limit.
func (p *Pen) Raw(s string) {
	for s != "" {
		if p.buf == nil {
			p.buf = newPiece()
		}
		n := copy(p.buf[len(p.buf):cap(p.buf)], s)
		p.buf = p.buf[:len(p.buf)+n]
		if s = s[n:]; s != "" {
			p.flush()
		}
	}
}

func (p *Pen) flush() {
	if p.out != nil {
		_, _ = p.out.Write(p.buf) // The respondent may have disconnected.
		p.buf = p.buf[:0]
	} else if len(p.buf) > 0 {
		p.pieces = append(p.pieces, Piece{html: p.buf})
		p.buf = nil
	}
}

// WritePieces sends the output of another pen and reuses its memory.
func (p *Pen) WritePieces(list []Piece) {
	for _, one := range list {
		if len(p.buf)+len(one.html) <= cap(p.buf) {
			p.buf = append(p.buf, one.html...)
		} else {
			p.flush()
			_, _ = p.out.Write(one.html)
		}
		release(one.html)
		p.Escaped(one.typed)
	}
}

// entities are the escapes of bytes that have a meaning in text or in double-quoted attributes.
var entities = [256]string{0: "\uFFFD", '"': "&#34;", '\'': "&#39;", '&': "&amp;", '<': "&lt;", '>': "&gt;"}

// Escaped writes text of a respondent. It does not count against the limit.
func (p *Pen) Escaped(s string) {
	if p.out == nil && len(s) > pieceSize {
		p.flush()
		p.pieces = append(p.pieces, Piece{typed: s})
		return
	}
	last := 0
	for i := range len(s) {
		if e := entities[s[i]]; e != "" {
			p.Raw(s[last:i])
			p.Raw(e)
			last = i + 1
		}
	}
	p.Raw(s[last:])
}

// Markup writes HTML that counts against the limit.
func (p *Pen) Markup(s string) {
	p.Remaining -= len(s)
	p.Raw(s)
}

// FormText writes text of the form and truncates it at the limit.
func (p *Pen) FormText(s string) {
	for i := range len(s) {
		if p.Remaining -= max(1, len(entities[s[i]])); p.Remaining < 0 && utf8.RuneStart(s[i]) {
			s, p.Truncated = s[:i], true
			break
		}
	}
	p.Escaped(s)
}

// EscapedSize returns the size of a text in bytes after escaping.
func EscapedSize(s string) int {
	n := len(s)
	for i := range len(s) {
		n += max(0, len(entities[s[i]])-1)
	}
	return n
}

// HasRoom reports whether the limit allows more content.
func (p *Pen) HasRoom() bool {
	p.Truncated = p.Truncated || p.Remaining <= 0
	return !p.Truncated
}

// Each yields the items of a list until the limit is reached.
func Each[T any](p *Pen, list []T) iter.Seq2[int, *T] {
	return func(yield func(int, *T) bool) {
		for i := range list {
			if !p.HasRoom() || !yield(i, &list[i]) {
				return
			}
		}
	}
}

// Put writes HTML with escaped values: %s is text of the form, which can be truncated, %i is a value that must be
// complete, and %v is text of a respondent.
func (p *Pen) Put(format string, values ...string) {
	for _, value := range values {
		before, rest, _ := strings.Cut(format, "%")
		p.Markup(before)
		switch rest[0] {
		case 's':
			p.FormText(value)
		case 'i':
			p.Remaining -= EscapedSize(value) // Truncation would change the meaning.
			p.Escaped(value)
		case 'v':
			p.Escaped(value)
		}
		format = rest[1:]
	}
	p.Markup(format)
}

// PutIf calls Put if is is true.
func (p *Pen) PutIf(is bool, format string, values ...string) {
	if is {
		p.Put(format, values...)
	}
}

// PutSentence writes a text of the page. It replaces {place} by value, which can be long.
func (p *Pen) PutSentence(text, place, value string) {
	before, after, _ := strings.Cut(text, "{"+place+"}")
	p.Put("%i%s%i", before, value, after)
}

// TakePieces returns the output since the last call.
func (p *Pen) TakePieces() []Piece {
	p.flush()
	kept := p.pieces
	p.pieces = nil
	return kept
}

// Write receives the output of a template, one value per call.
func (p *Pen) Write(b []byte) (int, error) {
	if pieces, ok := p.inserts[string(b)]; ok {
		p.flush()
		p.pieces = append(p.pieces, pieces...)
		delete(p.inserts, string(b)) // The sender reuses the memory of the pieces, so an insert is used only once.
	} else {
		p.Raw(string(b))
	}
	return len(b), nil
}

// Inserts maps the placeholders in a template's output to the output of other pens.
type Inserts map[string][]Piece

// Add returns a placeholder for pieces in a template. No one can guess it.
func (i *Inserts) Add(pieces []Piece) template.HTML {
	if *i == nil {
		*i = Inserts{}
	}
	mark := rand.Text()
	(*i)[mark] = pieces
	return template.HTML(mark) //nolint:gosec // Only letters and digits.
}

// Execute returns the output of a template with the inserts in place of their placeholders.
func (i Inserts) Execute(t *template.Template, name string, data any) ([]Piece, error) {
	p := Pen{inserts: i}
	err := t.ExecuteTemplate(&p, name, data)
	return p.TakePieces(), err
}
