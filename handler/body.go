package handler

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/formsvc/formsvc/internal/apierror"
)

// initialBufferSize is the initial size of the body buffer in bytes. The buffer grows only as data arrives, so a client
// cannot reserve memory by sending a large Content-Length.
const initialBufferSize = 4 << 10

// readBody reads a body of up to Limits.Body bytes. It may be empty, because the validators report missing fields.
func (c *call) readBody() ([]byte, error) {
	r := c.r
	if !hasBody(r) {
		return nil, nil
	}
	// Without a declared length, the body can be empty, and an empty body needs no Content-Type.
	if r.ContentLength > 0 && !isJSON(r.Header) {
		return nil, apierror.ErrUnsupportedMedia
	}
	limit := c.h.core.Limits.Body
	if r.ContentLength > limit {
		return nil, apierror.ErrBodyTooLarge
	}
	c.bodyReadStarted = true
	buffer := bytes.NewBuffer(make([]byte, 0, initialBufferSize))
	n, err := buffer.ReadFrom(io.LimitReader(r.Body, limit+1))
	if n > limit {
		return nil, apierror.ErrBodyTooLarge
	}
	if err != nil {
		return nil, bodyError(err)
	}
	c.bodyReadDone = true
	if n == 0 && r.ContentLength > 0 {
		return nil, errors.New("request body was already read: a middleware must restore it")
	}
	if n > 0 && !isJSON(r.Header) {
		return nil, apierror.ErrUnsupportedMedia
	}
	return buffer.Bytes(), nil
}

// bodyError returns the API error for an error that ended the body early.
func bodyError(err error) *apierror.Error {
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return apierror.ErrBodyTooLarge // The host may have set a limit with http.MaxBytesReader.
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return apierror.ErrUnavailable
	}
	return apierror.ErrMalformedJSON.WithMessage("The request body is incomplete.")
}

func hasBody(r *http.Request) bool {
	return r.Body != nil && r.Body != http.NoBody && r.ContentLength != 0
}

// These limits apply to the unread rest of a body. A body within Limits.Body is always read in full, so a request with
// an invalid key gets a 401 no matter what the body contains.
const (
	// maxDrain is the number of bytes to read beyond Limits.Body. Most clients exceed the limit only slightly, and
	// reading 8 MiB takes a few milliseconds.
	maxDrain = 8 << 20
	// drainTimeout is how long a client can take to send the bytes beyond the limit. At 2 Mbit/s, 1 MiB takes about 5 s.
	drainTimeout = 5 * time.Second
)

// drainBody reads the rest of the request body before the response is sent. Some clients and proxies send the whole
// request before they read the response. If the server closes the connection before it has read the body, they see a
// connection reset instead of the response. net/http drains part of a body, but not on a connection that it is about to
// close. drainBody stops at maxDrain or drainTimeout. If the client is waiting for 100 Continue, drainBody reads
// nothing, because reading would make the client send the body.
func (c *call) drainBody() {
	r := c.r
	if c.bodyReadDone || !hasBody(r) || r.ProtoMajor != 1 {
		return // An HTTP/2 server can end a request early without losing the response.
	}
	if !c.bodyReadStarted && strings.EqualFold(r.Header.Get("Expect"), "100-continue") {
		return
	}
	c.bodyReadDone = true
	deadline := time.Now().Add(drainTimeout)
	control := http.NewResponseController(c.w)
	bounded := control.SetReadDeadline(deadline) == nil
	left := min(c.h.core.Limits.Body, math.MaxInt64-maxDrain) + maxDrain
	_, err := io.Copy(io.Discard, &deadlineReader{r: io.LimitReader(r.Body, left), deadline: deadline})
	if err == nil {
		// Reading up to the limit does not mean that the body has ended.
		_, err = r.Body.Read(make([]byte, 1))
	}
	if !errors.Is(err, io.EOF) {
		c.w.Header()["Connection"] = []string{"close"}
	}
	if bounded {
		_ = control.SetReadDeadline(time.Time{})
	}
}

// deadlineReader stops reading after a deadline if the connection supports none. A single read can still block.
type deadlineReader struct {
	r        io.Reader
	deadline time.Time
}

func (u *deadlineReader) Read(b []byte) (int, error) {
	if time.Now().After(u.deadline) {
		return 0, os.ErrDeadlineExceeded
	}
	return u.r.Read(b)
}

// isJSON reports whether the headers declare uncompressed JSON.
func isJSON(h http.Header) bool { return hasMediaType(h, isJSONType) }

// isJSONType reports whether a media type is application/json or ends in +json.
func isJSONType(media string) bool {
	return media == "application/json" || strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json")
}

// hasMediaType reports whether the headers declare one uncompressed body with a type that the function accepts.
func hasMediaType(h http.Header, accepts func(media string) bool) bool {
	if encoding := h.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return false
	}
	types := h["Content-Type"]
	if len(types) != 1 {
		return false
	}
	if types[0] == "application/json" { // most clients send only this
		return true
	}
	media, _, err := mime.ParseMediaType(types[0])
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		return false
	}
	return accepts(media)
}
