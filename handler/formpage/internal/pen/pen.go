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

// Pen writes HTML in pieces, within bounds: text that grows in one piece is copied time and
// again.
type Pen struct {
	Remaining int  // bytes that may still be written of the form
	Truncated bool // something was left out for want of room

	out     io.Writer // where the pieces go; nil: they are kept
	pieces  []Piece
	buf     []byte
	inserts Inserts // of a template whose output this is
}

const pieceSize = 64 << 10 // most pages are one, and so are sent by one write

// Piece is HTML, or a long text that a visitor typed: that is escaped when it is sent.
type Piece struct {
	html  []byte
	typed string
}

// pieceBuffers for pieces, to be used again.
var pieceBuffers = sync.Pool{New: func() any { return new([pieceSize]byte) }}

func newPiece() []byte { return pieceBuffers.Get().(*[pieceSize]byte)[:0] }

func release(html []byte) {
	if cap(html) == pieceSize {
		pieceBuffers.Put((*[pieceSize]byte)(html[:pieceSize]))
	}
}

// New returns a pen that keeps its output.
func New(room int) *Pen { return &Pen{Remaining: room} }

// NewStream returns a pen that sends its output to out. It ends with Close.
func NewStream(out io.Writer) *Pen { return &Pen{out: out} }

// Close sends the rest.
func (p *Pen) Close() {
	p.flush()
	release(p.buf)
}

// Raw writes HTML that is not the form's.
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
		_, _ = p.out.Write(p.buf) // the visitor may be gone
		p.buf = p.buf[:0]
	} else if len(p.buf) > 0 {
		p.pieces = append(p.pieces, Piece{html: p.buf})
		p.buf = nil
	}
}

// WritePieces sends what another pen wrote, and takes its room back.
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

// Escaped writes the text that a visitor typed. There is always room for it.
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

// Markup writes HTML.
func (p *Pen) Markup(s string) {
	p.Remaining -= len(s)
	p.Raw(s)
}

// FormText writes text of the form as far as there is room.
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

// HasRoom reports whether there is room for one thing more.
func (p *Pen) HasRoom() bool {
	p.Truncated = p.Truncated || p.Remaining <= 0
	return !p.Truncated
}

// Each yields the items of a list as long as there is room for another item.
func Each[T any](p *Pen, list []T) iter.Seq2[int, *T] {
	return func(yield func(int, *T) bool) {
		for i := range list {
			if !p.HasRoom() || !yield(i, &list[i]) {
				return
			}
		}
	}
}

// Put writes HTML with values in it, escaped: %s is a text of the form, %i what would mean
// something else if it were cut, %v what a visitor typed.
func (p *Pen) Put(format string, values ...string) {
	for _, value := range values {
		before, rest, _ := strings.Cut(format, "%")
		p.Markup(before)
		switch rest[0] {
		case 's':
			p.FormText(value)
		case 'i':
			p.Remaining -= EscapedSize(value) // whole: cut, it would mean something else
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

// PutSentence writes one of the page's own texts with a value at a {place}, which may be long.
func (p *Pen) PutSentence(text, place, value string) {
	before, after, _ := strings.Cut(text, "{"+place+"}")
	p.Put("%i%s%i", before, value, after)
}

// TakePieces returns the output since the last End.
func (p *Pen) TakePieces() []Piece {
	p.flush()
	kept := p.pieces
	p.pieces = nil
	return kept
}

// Write takes the output of a template, which comes one value at a time.
func (p *Pen) Write(b []byte) (int, error) {
	if pieces, ok := p.inserts[string(b)]; ok {
		p.flush()
		p.pieces = append(p.pieces, pieces...)
		delete(p.inserts, string(b)) // whoever sends them takes their room back, once
	} else {
		p.Raw(string(b))
	}
	return len(b), nil
}

// Inserts are what other pens wrote, by what stands for it in the output of a template.
type Inserts map[string][]Piece

// Add returns what stands for pieces in a template: nobody can guess it.
func (i *Inserts) Add(pieces []Piece) template.HTML {
	if *i == nil {
		*i = Inserts{}
	}
	mark := rand.Text()
	(*i)[mark] = pieces
	return template.HTML(mark) //nolint:gosec // letters and digits
}

// Execute returns the output of a template, with the inserts in their places.
func (i Inserts) Execute(t *template.Template, name string, data any) ([]Piece, error) {
	p := Pen{inserts: i}
	err := t.ExecuteTemplate(&p, name, data)
	return p.TakePieces(), err
}
