package formpage

import (
	"html/template"
	"io"
	"iter"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/formsvc/formsvc/handler/formpage/internal/words"
)

// pen writes HTML in pieces, within bounds: text that grows in one piece is copied time and
// again.
type pen struct {
	words *words.Words
	out   io.Writer // where the pieces go; nil: they are kept
	kept  []piece
	buf   []byte
	room  int  // bytes that may still be drawn of the form
	full  bool // something was left out for want of room

	inserts map[string][]piece // by what stands for them in the output of a template
}

const pieceSize = 32 << 10

// piece is HTML, or a long text that a visitor typed: that is escaped when it is sent.
type piece struct {
	html  []byte
	typed string
}

// room for pieces, to be used again.
var room = sync.Pool{New: func() any { return new([pieceSize]byte) }}

func newPiece() []byte { return room.Get().(*[pieceSize]byte)[:0] }

// release gives back the room of pieces that were sent.
func release(list []piece) {
	for _, one := range list {
		if cap(one.html) == pieceSize {
			room.Put((*[pieceSize]byte)(one.html[:pieceSize]))
		}
	}
}

// What a page draws of its form, in bytes. With what stands around it, a page has at most
// 4 MiB and what was typed.
const (
	maxFields   = 7 << 19
	maxProblems = 1 << 18
)

func (p *pen) raw(s string) {
	for len(p.buf)+len(s) > max(pieceSize, cap(p.buf)) {
		n := max(pieceSize, cap(p.buf)) - len(p.buf)
		p.buf = append(p.buf, s[:n]...)
		s = s[n:]
		p.flush()
		if p.buf == nil {
			p.buf = newPiece()
		}
	}
	p.buf = append(p.buf, s...)
}

func (p *pen) flush() {
	if p.out != nil {
		_, _ = p.out.Write(p.buf) // the visitor may be gone
		p.buf = p.buf[:0]
	} else if len(p.buf) > 0 {
		p.kept = append(p.kept, piece{html: p.buf})
		p.buf = nil
	}
}

// outs are pens that send a page, which mostly is one write.
var outs = sync.Pool{New: func() any { return &pen{buf: make([]byte, 0, 2*pieceSize)} }}

// pieces sends what another pen wrote.
func (p *pen) pieces(list []piece) {
	for _, one := range list {
		if len(p.buf)+len(one.html) <= cap(p.buf) {
			p.buf = append(p.buf, one.html...)
		} else {
			p.flush()
			_, _ = p.out.Write(one.html)
		}
		p.typed(one.typed)
	}
}

// entities stand for the bytes that mean something in text or in an attribute in double
// quotes.
var entities = [256]string{0: "\uFFFD", '"': "&#34;", '\'': "&#39;", '&': "&amp;", '<': "&lt;", '>': "&gt;"}

// typed writes what a visitor typed. There is always room for it.
func (p *pen) typed(s string) {
	if p.out == nil && len(s) > pieceSize {
		p.flush()
		p.kept = append(p.kept, piece{typed: s})
		return
	}
	last := 0
	for i := range len(s) {
		if e := entities[s[i]]; e != "" {
			p.raw(s[last:i])
			p.raw(e)
			last = i + 1
		}
	}
	p.raw(s[last:])
}

// markup writes HTML.
func (p *pen) markup(s string) {
	p.room -= len(s)
	p.raw(s)
}

// whole writes what would mean something else if it were cut.
func (p *pen) whole(s string) {
	p.room -= len(s)
	p.typed(s)
}

// text writes text of the form as far as there is room.
func (p *pen) text(s string) {
	for i := range len(s) {
		if p.room -= max(1, len(entities[s[i]])); p.room < 0 && utf8.RuneStart(s[i]) {
			s, p.full = s[:i], true
			break
		}
	}
	p.typed(s)
}

// more reports whether there is room for one thing more.
func (p *pen) more() bool {
	p.full = p.full || p.room <= 0
	return !p.full
}

// each gives what is in a list as long as there is room for one thing more.
func each[T any](p *pen, list []T) iter.Seq2[int, *T] {
	return func(yield func(int, *T) bool) {
		for i := range list {
			if !p.more() || !yield(i, &list[i]) {
				return
			}
		}
	}
}

// put writes HTML with values in it, escaped: %s is a text of the form, %i what would mean
// something else if it were cut, %v what a visitor typed.
func (p *pen) put(format string, values ...string) {
	for _, value := range values {
		before, rest, _ := strings.Cut(format, "%")
		p.markup(before)
		switch rest[0] {
		case 's':
			p.text(value)
		case 'i':
			p.whole(value)
		case 'v':
			p.typed(value)
		}
		format = rest[1:]
	}
	p.markup(format)
}

// when puts something on a condition.
func (p *pen) when(is bool, format string, values ...string) {
	if is {
		p.put(format, values...)
	}
}

// sentence writes one of the page's texts with a value in it, which may be long.
func (p *pen) sentence(key, place, value string) {
	before, after, _ := strings.Cut(p.words.Get(key), "{"+place+"}")
	p.put("%i%s%i", before, value, after)
}

// end returns what was written.
func (p *pen) end() []piece {
	p.flush()
	return p.kept
}

// Write takes what a template writes, which is each value at once.
func (p *pen) Write(b []byte) (int, error) {
	if pieces, ok := p.inserts[string(b)]; ok {
		p.flush()
		p.kept = append(p.kept, pieces...)
	} else {
		p.raw(string(b))
	}
	return len(b), nil
}

// insert returns what stands in a template for what another pen wrote: nobody can guess it.
func (v *pageView) insert(pieces []piece) template.HTML {
	if v.inserts == nil {
		v.inserts = map[string][]piece{}
	}
	mark := newNonce()
	v.inserts[mark] = pieces
	return template.HTML(mark) //nolint:gosec // letters and digits
}
