package jsontree

import (
	"encoding/hex"
	"io"
	"strconv"
	"time"
)

// Writer appends JSON to a byte slice. It adds commas and escapes. The caller must end every array and object, and name
// every member. Top-level values are separated by commas too, so that several Writers can write the items of a list.
//
//	w := jsontree.NewWriter(b)
//	w.Object()
//	w.Name("name").String(name)
//	w.Name("tags").Array()
//	for _, tag := range tags {
//		w.String(tag)
//	}
//	w.EndArray()
//	w.EndObject()
//	return w.Bytes()
type Writer struct {
	b       []byte
	flushed byte // last byte that [Writer.Flush] wrote
}

// NewWriter returns a Writer that appends to b.
func NewWriter(b []byte) *Writer { return &Writer{b: b} }

// Bytes returns the bytes passed to [NewWriter] and all bytes written since.
func (w *Writer) Bytes() []byte { return w.b }

// Len returns the number of bytes in the Writer.
func (w *Writer) Len() int { return len(w.b) }

// Truncate removes all but the first n bytes.
func (w *Writer) Truncate(n int) { w.b = w.b[:n] }

func (w *Writer) beginValue() []byte { return appendComma(w.b, w.flushed) }

// Name starts a field of an object. The next call must write its value.
func (w *Writer) Name(name string) *Writer {
	w.b = append(AppendString(w.beginValue(), name), ':')
	return w
}

// Object starts an object.
func (w *Writer) Object() { w.b = append(w.beginValue(), '{') }

// EndObject ends an object.
func (w *Writer) EndObject() { w.b = append(w.b, '}') }

// Array starts an array.
func (w *Writer) Array() { w.b = append(w.beginValue(), '[') }

// EndArray ends an array.
func (w *Writer) EndArray() { w.b = append(w.b, ']') }

// String writes a string with [AppendString].
func (w *Writer) String(s string) { w.b = AppendString(w.beginValue(), s) }

// Hex writes an ID as a string of hexadecimal digits.
func (w *Writer) Hex(id []byte) {
	w.b = append(hex.AppendEncode(append(w.beginValue(), '"'), id), '"')
}

// Time writes a time with [AppendTime].
func (w *Writer) Time(t time.Time) { w.b = AppendTime(w.beginValue(), t) }

// Int writes an integer.
func (w *Writer) Int(n int64) { w.b = strconv.AppendInt(w.beginValue(), n, 10) }

// Float writes a number with [AppendFloat].
func (w *Writer) Float(f float64) { w.b = AppendFloat(w.beginValue(), f) }

// Bool writes a boolean.
func (w *Writer) Bool(v bool) { w.b = strconv.AppendBool(w.beginValue(), v) }

// Null writes null.
func (w *Writer) Null() { w.b = append(w.beginValue(), "null"...) }

// OrNull calls write if exists is true. Otherwise it writes null.
func (w *Writer) OrNull(exists bool, write func()) {
	if exists {
		write()
	} else {
		w.Null()
	}
}

// Raw writes a JSON value, which must not have surrounding whitespace.
func (w *Writer) Raw(value []byte) { w.b = append(w.beginValue(), value...) }

// RawString is like [Writer.Raw] but takes a string.
func (w *Writer) RawString(value string) { w.b = append(w.beginValue(), value...) }

// LineBreak ends a document with a line break.
func (w *Writer) LineBreak() { w.b = append(w.b, '\n') }

// Flush writes the buffer to a stream and empties it.
func (w *Writer) Flush(to io.Writer) error {
	if len(w.b) == 0 {
		return nil
	}
	_, err := to.Write(w.b)
	w.flushed = w.b[len(w.b)-1]
	w.b = w.b[:0]
	return err
}
