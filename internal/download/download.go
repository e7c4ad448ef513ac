// Package download sends an export as an HTTP response in chunks, each with a timeout.
package download

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// The client must read at least 2 kB per second, which any usable connection allows.
const (
	chunkTimeout = 30 * time.Second
	chunkSize    = 64 << 10
)

// File describes the response that sends an export.
type File struct {
	Name, ContentType string
	WriteStatus       func(code int) // sends the status and the headers; called once
}

// WriteHeaders sends the status and the headers of the file.
func (f File) WriteHeaders(w http.ResponseWriter) {
	h := w.Header()
	h["Content-Type"] = []string{f.ContentType}
	h["Content-Disposition"] = []string{`attachment; filename="` + f.Name + `"`}
	h["X-Content-Type-Options"] = []string{"nosniff"}
	f.WriteStatus(http.StatusOK)
}

// Send sends the output of the function write. The response starts with the first byte, or when write succeeds without
// output. gone is true if the client stopped reading. Send overrides the server's WriteTimeout, which would abort a
// long export.
func (f File) Send(w http.ResponseWriter, write func(io.Writer) error) (gone bool, err error) {
	b := &bodyWriter{file: f, w: w, control: http.NewResponseController(w)}
	b.setTimeout(0)
	err = write(b)
	b.setTimeout(chunkTimeout) // applies to the rest of the response
	if err == nil && !b.started {
		f.WriteHeaders(w)
	}
	return b.clientGone, err
}

// Abort closes the connection of a started response and panics with [http.ErrAbortHandler]. It first sets a deadline
// in the past, because a host's middleware may recover the panic, and the server would then complete the response.
func Abort(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Unix(1, 0)) // not every writer supports deadlines
	panic(http.ErrAbortHandler)
}

type bodyWriter struct {
	file       File
	w          http.ResponseWriter
	control    *http.ResponseController
	started    bool
	clientGone bool
}

// Write sends p in chunks, each with its own timeout.
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

// setTimeout limits the next write. Zero removes the limit. If the host's middleware hides the connection, the server's
// timeout still applies.
func (b *bodyWriter) setTimeout(d time.Duration) {
	var deadline time.Time
	if d > 0 {
		deadline = time.Now().Add(d)
	}
	_ = b.control.SetWriteDeadline(deadline)
}
