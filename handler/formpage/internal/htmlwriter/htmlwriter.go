// Package htmlwriter escapes values and writes the HTML of pages.
package htmlwriter

import (
	"crypto/rand"
	"html/template"
	"io"
	"iter"
	"strings"
	"sync"
	"unicode/utf8"
)

// Writer writes HTML up to a size limit. It stores chunks, because a single growing buffer would be copied many times.
type Writer struct {
	Remaining int  // The remaining size for the form's content, in bytes.
	Truncated bool // Whether content was omitted because of the limit.

	out     io.Writer // The destination. If nil, the writer stores the chunks.
	chunks  []Chunk
	buf     []byte
	inserts Inserts // The inserts for the template that writes to this writer.
}

const chunkSize = 64 << 10 // Most pages fit in one chunk, so a single write sends them.

// Chunk is HTML, or a respondent's long text that is escaped only when it is sent.
type Chunk struct {
	html []byte
	text string
}

var chunkPool = sync.Pool{New: func() any { return new([chunkSize]byte) }}

func newChunk() []byte { return chunkPool.Get().(*[chunkSize]byte)[:0] }

func releaseChunk(html []byte) {
	if cap(html) == chunkSize {
		chunkPool.Put((*[chunkSize]byte)(html[:chunkSize]))
	}
}

// New returns a writer that stores its output. room is the size limit for the form's content, in bytes.
func New(room int) *Writer { return &Writer{Remaining: room} }

// NewStream returns a writer that sends its output to out. The caller must call Close.
func NewStream(out io.Writer) *Writer { return &Writer{out: out} }

// Close sends the remaining output.
func (p *Writer) Close() {
	p.flush()
	releaseChunk(p.buf)
}

// WriteRaw writes HTML that does not count against the limit.
func (p *Writer) WriteRaw(s string) {
	for s != "" {
		if p.buf == nil {
			p.buf = newChunk()
		}
		n := copy(p.buf[len(p.buf):cap(p.buf)], s)
		p.buf = p.buf[:len(p.buf)+n]
		if s = s[n:]; s != "" {
			p.flush()
		}
	}
}

func (p *Writer) flush() {
	if p.out != nil {
		_, _ = p.out.Write(p.buf) // The respondent may have disconnected.
		p.buf = p.buf[:0]
	} else if len(p.buf) > 0 {
		p.chunks = append(p.chunks, Chunk{html: p.buf})
		p.buf = nil
	}
}

// WriteChunks sends another writer's output and reuses its memory.
func (p *Writer) WriteChunks(list []Chunk) {
	for _, one := range list {
		if len(p.buf)+len(one.html) <= cap(p.buf) {
			p.buf = append(p.buf, one.html...)
		} else {
			p.flush()
			_, _ = p.out.Write(one.html)
		}
		releaseChunk(one.html)
		p.WriteEscaped(one.text)
	}
}

// entities contains the escapes for bytes that have a special meaning in text or in double-quoted attributes.
var entities = [256]string{0: "\uFFFD", '"': "&#34;", '\'': "&#39;", '&': "&amp;", '<': "&lt;", '>': "&gt;"}

// WriteEscaped writes text from a respondent. The text does not count against the limit.
func (p *Writer) WriteEscaped(s string) {
	if p.out == nil && len(s) > chunkSize {
		p.flush()
		p.chunks = append(p.chunks, Chunk{text: s})
		return
	}
	last := 0
	for i := range len(s) {
		if e := entities[s[i]]; e != "" {
			p.WriteRaw(s[last:i])
			p.WriteRaw(e)
			last = i + 1
		}
	}
	p.WriteRaw(s[last:])
}

// WriteMarkup writes HTML that counts against the limit.
func (p *Writer) WriteMarkup(s string) {
	p.Remaining -= len(s)
	p.WriteRaw(s)
}

// WriteFormText writes text from the form and truncates it at the limit.
func (p *Writer) WriteFormText(s string) {
	for i := range len(s) {
		if p.Remaining -= max(1, len(entities[s[i]])); p.Remaining < 0 && utf8.RuneStart(s[i]) {
			s, p.Truncated = s[:i], true
			break
		}
	}
	p.WriteEscaped(s)
}

// writeFormatted writes a text of the form as HTML. If the text is plain, html is empty. Beyond the limit, it writes
// the plain text and truncates it.
func (p *Writer) writeFormatted(plain, html string) {
	if html == "" || len(html) > p.Remaining {
		p.WriteFormText(plain)
	} else {
		p.WriteMarkup(html)
	}
}

// EscapedSize returns a text's size in bytes after escaping.
func EscapedSize(s string) int {
	n := len(s)
	for i := range len(s) {
		n += max(0, len(entities[s[i]])-1)
	}
	return n
}

// CheckRoom reports whether the limit allows more content.
func (p *Writer) CheckRoom() bool {
	p.Truncated = p.Truncated || p.Remaining <= 0
	return !p.Truncated
}

// EachFitting yields the items of a list until the limit is reached.
func EachFitting[T any](p *Writer, list []T) iter.Seq2[int, *T] {
	return func(yield func(int, *T) bool) {
		for i := range list {
			if !p.CheckRoom() || !yield(i, &list[i]) {
				return
			}
		}
	}
}

// Put writes HTML with escaped values. %s is text from the form, which can be truncated. %i is a value that must be
// complete. %v is text from a respondent. %t takes two values: a text of the form without formats, and its HTML, or
// "" if it has no formats.
func (p *Writer) Put(format string, values ...string) {
	for len(values) > 0 {
		value := values[0]
		values = values[1:]
		before, rest, _ := strings.Cut(format, "%")
		p.WriteMarkup(before)
		switch rest[0] {
		case 't':
			p.writeFormatted(value, values[0])
			values = values[1:]
		case 's':
			p.WriteFormText(value)
		case 'i':
			p.Remaining -= EscapedSize(value) // Truncating the value would change its meaning.
			p.WriteEscaped(value)
		case 'v':
			p.WriteEscaped(value)
		}
		format = rest[1:]
	}
	p.WriteMarkup(format)
}

// PutIf calls Put if the condition is true.
func (p *Writer) PutIf(is bool, format string, values ...string) {
	if is {
		p.Put(format, values...)
	}
}

// PutSentence writes one of the page's texts. It replaces {place} with value, which can be truncated.
func (p *Writer) PutSentence(text, place, value string) {
	before, after, _ := strings.Cut(text, "{"+place+"}")
	p.Put("%i%s%i", before, value, after)
}

// TakeChunks returns the output since the last call.
func (p *Writer) TakeChunks() []Chunk {
	p.flush()
	kept := p.chunks
	p.chunks = nil
	return kept
}

// Write receives a template's output. Templates write each value with a separate call.
func (p *Writer) Write(b []byte) (int, error) {
	if chunks, ok := p.inserts[string(b)]; ok {
		p.flush()
		p.chunks = append(p.chunks, chunks...)
		delete(p.inserts, string(b)) // Each insert is used only once, because sending a chunk reuses its memory.
	} else {
		p.WriteRaw(string(b))
	}
	return len(b), nil
}

// Inserts maps placeholders in a template's output to other writers' output.
type Inserts map[string][]Chunk

// Add returns a placeholder for chunks that can be used in a template. No one can guess it.
func (i *Inserts) Add(chunks []Chunk) template.HTML {
	if *i == nil {
		*i = Inserts{}
	}
	mark := rand.Text()
	(*i)[mark] = chunks
	return template.HTML(mark) //nolint:gosec // only letters and digits
}

// Execute executes a template and replaces the placeholders in its output with the inserts.
func (i Inserts) Execute(t *template.Template, name string, data any) ([]Chunk, error) {
	p := Writer{inserts: i}
	err := t.ExecuteTemplate(&p, name, data)
	return p.TakeChunks(), err
}
