// Package download sends an export as an HTTP response. It sends the export in chunks, and a client has a
// limited time for each chunk.
package download

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// A client has patience for each piece of a file: 2 kB a second. A line that is meant to
// carry files is never slower.
const (
	chunkTimeout = 30 * time.Second
	chunkSize    = 64 << 10
)

// File is the content of a response.
type File struct {
	Name, ContentType string
	// WriteStatus sends the status and the headers, once.
	WriteStatus func(code int)
}

// Begin sends what stands in front of the file's bytes.
func (f File) WriteHeaders(w http.ResponseWriter) {
	h := w.Header()
	h["Content-Type"] = []string{f.ContentType}
	h["Content-Disposition"] = []string{`attachment; filename="` + f.Name + `"`}
	h["X-Content-Type-Options"] = []string{"nosniff"}
	f.WriteStatus(http.StatusOK)
}

// Send sends what write writes. The response begins with the first byte, or when write
// ends without an error and without a byte. Gone reports that the client took no more.
//
// The server's WriteTimeout would end an export while it reads; Send replaces it.
func (f File) Send(w http.ResponseWriter, write func(io.Writer) error) (gone bool, err error) {
	b := &bodyWriter{file: f, w: w, control: http.NewResponseController(w)}
	b.setTimeout(0)
	err = write(b)
	b.setTimeout(chunkTimeout) // for what ends the response
	if err == nil && !b.started {
		f.WriteHeaders(w)
	}
	return b.clientGone, err
}

// Abort breaks the connection of a response that has begun and panics with [http.ErrAbortHandler].
// The deadline in the past comes first, because a middleware of the host may recover the panic, and
// the server would then end the response as if it were complete.
func Abort(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Unix(1, 0)) // not every writer has one
	panic(http.ErrAbortHandler)
}

// bodyWriter is the response's body.
type bodyWriter struct {
	file       File
	w          http.ResponseWriter
	control    *http.ResponseController
	started    bool
	clientGone bool // the client is
}

// Write sends p in pieces, each within the client's time.
func (b *bodyWriter) Write(p []byte) (n int, err error) {
	if !b.started {
		b.started = true
		b.file.WriteHeaders(b.w)
	}
	for len(p) > 0 && err == nil {
		b.setTimeout(chunkTimeout)
		var m int
		m, err = b.w.Write(p[:min(len(p), chunkSize)])
		n, p = n+m, p[m:]
	}
	if err == nil {
		if err = b.control.Flush(); errors.Is(err, http.ErrNotSupported) {
			err = nil
		}
	}
	b.setTimeout(0)
	b.clientGone = err != nil
	return n, err
}

// within bounds the time of the next write; 0 is no bound. A middleware of the host's
// that hides the connection keeps the server's own time-out.
func (b *bodyWriter) setTimeout(d time.Duration) {
	var deadline time.Time
	if d > 0 {
		deadline = time.Now().Add(d)
	}
	_ = b.control.SetWriteDeadline(deadline)
}
