// Package gzipped compresses responses for clients that accept gzip, unless the host compresses them.
package gzipped

import (
	"compress/gzip"
	"net/http"
	"regexp"
	"strings"
	"sync"
)

// gzipPattern matches an Accept-Encoding header that contains gzip with a non-zero quality.
var gzipPattern = regexp.MustCompile(`(?i)(^|,)\s*gzip\s*(;\s*q=[0.]*[1-9][\d.]*\s*)?(,|$)`)

// CanCompress reports whether the client accepts gzip and none of the host's middleware has set an encoding.
func CanCompress(w http.ResponseWriter, r *http.Request) bool {
	return w.Header().Get("Content-Encoding") == "" && gzipPattern.MatchString(r.Header.Get("Accept-Encoding"))
}

var writers = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// Writer is a response writer that compresses HTML documents. It passes other content and already encoded documents
// through unchanged. Call Close at the end.
type Writer struct {
	http.ResponseWriter
	r       *http.Request
	started bool
	gzip    *gzip.Writer // nil if the response is not compressed
}

// NewWriter returns a response writer for a request.
func NewWriter(w http.ResponseWriter, r *http.Request) *Writer {
	return &Writer{ResponseWriter: w, r: r}
}

// Unwrap supports [http.ResponseController].
func (p *Writer) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// WriteHeader implements [http.ResponseWriter].
func (p *Writer) WriteHeader(status int) {
	if h := p.Header(); !p.started && status >= http.StatusOK {
		p.started = true
		if strings.HasPrefix(h.Get("Content-Type"), "text/html") && status != http.StatusNoContent && status != http.StatusNotModified {
			h.Add("Vary", "Accept-Encoding")
			if CanCompress(p.ResponseWriter, p.r) && !strings.Contains(h.Get("Cache-Control"), "no-transform") {
				h.Set("Content-Encoding", "gzip")
				h.Del("Content-Length")
				p.gzip = writers.Get().(*gzip.Writer)
				p.gzip.Reset(p.ResponseWriter)
			}
		}
	}
	p.ResponseWriter.WriteHeader(status)
}

func (p *Writer) Write(b []byte) (int, error) {
	if !p.started {
		p.WriteHeader(http.StatusOK)
	}
	if p.gzip == nil {
		return p.ResponseWriter.Write(b)
	}
	return p.gzip.Write(b)
}

// FlushError sends the buffered data; see [http.ResponseController.Flush].
func (p *Writer) FlushError() error {
	if p.gzip != nil {
		if err := p.gzip.Flush(); err != nil {
			return err
		}
	}
	return http.NewResponseController(p.ResponseWriter).Flush()
}

// Close ends a compressed document. Do not call it after a panic, so that clients can tell that the document is
// truncated.
func (p *Writer) Close() {
	if p.gzip != nil {
		_ = p.gzip.Close() // the client may be gone
		writers.Put(p.gzip)
		p.gzip = nil
	}
}
