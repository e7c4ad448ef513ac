// Package apicheck checks a service's requests and responses against the API description, in tests and in staging. It
// finds clients that send undocumented requests and middleware that changes responses. Do not use it in production,
// because it buffers and validates every body.
package apicheck

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/formsvc/formsvc/internal/apispec"
)

// Config configures [New].
type Config struct {
	// BasePath is the prefix of the API's URL paths, as the handler receives them. Defaults to "/v1". Requests to other
	// paths are not checked.
	BasePath string
	// Report is called with each difference, after the response, in the request's goroutine. It is required.
	Report func(Difference)
}

// Difference is a mismatch between a request or response and the API description.
type Difference struct {
	Method string
	// Path is the escaped path, including the base path.
	Path string
	// Status is the response's status code.
	Status int
	// InRequest is true if the request differs, and false if the response differs.
	InRequest bool
	// Reason describes the difference.
	Reason string
}

// New returns a handler that calls service and reports differences from the API description. It changes neither
// requests nor responses. It does not check responses with a Content-Encoding, so mount it inside any middleware that
// compresses them. It checks a request body only if the service reads all of it. It returns an error if Report is nil.
func New(service http.Handler, c Config) (http.Handler, error) {
	if c.Report == nil {
		return nil, errors.New("apicheck: Config.Report is nil")
	}
	description, err := apispec.New()
	if err != nil {
		return nil, err
	}
	base := strings.TrimSuffix(c.BasePath, "/")
	if c.BasePath == "" {
		base = "/v1"
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, ok := strings.CutPrefix(r.URL.EscapedPath(), base)
		if !ok || !strings.HasPrefix(path, "/") {
			service.ServeHTTP(w, r)
			return
		}
		body := &requestBody{ReadCloser: r.Body, complete: r.ContentLength == 0}
		passed := *r // Do not change the caller's request.
		if !body.complete {
			passed.Body = body
		}
		sent := &response{ResponseWriter: w}
		service.ServeHTTP(sent, &passed)
		sent.WriteHeader(http.StatusOK) // No effect if the service has already written a status.
		report := func(inRequest bool, err error) {
			if err != nil {
				c.Report(Difference{Method: r.Method, Path: r.URL.EscapedPath(), Status: sent.status, InRequest: inRequest, Reason: err.Error()})
			}
		}
		report(true, description.CheckRequest(r.Method, path, r.URL.RawQuery))
		if body.complete {
			report(true, description.CheckBody(r.Method, path, r.Header, body.read.Bytes()))
		}
		if sent.header.Get("Content-Encoding") == "" {
			report(false, description.Check(r.Method, path, sent.status, sent.header, sent.body.Bytes()))
		}
	}), nil
}

type requestBody struct {
	io.ReadCloser
	read     bytes.Buffer
	complete bool
}

func (b *requestBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read.Write(p[:n])
	b.complete = b.complete || errors.Is(err, io.EOF)
	return n, err
}

type response struct {
	http.ResponseWriter
	status int // Zero until the header is written.
	header http.Header
	body   bytes.Buffer
}

func (w *response) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK { // Statuses below 200 are informational; the final response follows.
		w.status, w.header = status, w.Header().Clone()
	} else if w.status != 0 {
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *response) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	w.body.Write(p)
	return w.ResponseWriter.Write(p)
}

// FlushError flushes the response for [http.ResponseController].
func (w *response) FlushError() error {
	w.WriteHeader(http.StatusOK)
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap gives [http.ResponseController] access to the host's writer.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }
