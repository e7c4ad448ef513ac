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

// initialBufferSize is the size of the buffer that a body is read into first. It grows with
// what arrives: a Content-Length is a claim, and a client that sends nothing after it
// must not hold more memory than this.
const initialBufferSize = 4 << 10

// readBody reads a request body of at most Limits.Body bytes. An empty body is
// returned as such: the validators say what is missing.
func (c *call) readBody() ([]byte, error) {
	r := c.r
	if !hasBody(r) {
		return nil, nil
	}
	// A length that the client did not send may turn out to be zero, which needs no
	// Content-Type.
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
	switch {
	case n > limit:
		return nil, apierror.ErrBodyTooLarge
	case err == nil:
	case errors.As(err, new(*http.MaxBytesError)):
		// The host's own http.MaxBytesReader was tighter.
		return nil, apierror.ErrBodyTooLarge
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return nil, apierror.ErrUnavailable
	default:
		return nil, apierror.ErrMalformedJSON.With("The request body is incomplete.")
	}
	c.bodyReadDone = true
	if n > 0 && !isJSON(r.Header) {
		return nil, apierror.ErrUnsupportedMedia
	}
	return buffer.Bytes(), nil
}

func hasBody(r *http.Request) bool {
	return r.Body != nil && r.Body != http.NoBody && r.ContentLength != 0
}

// The bounds of reading a body that no operation wants. The largest body that is
// allowed is always within them, so that a refused key gets 401 whatever it sends.
const (
	// maxDrain is how many bytes are read beyond Limits.Body. Clients that exceed
	// the limit mostly do so by little; reading 8 MiB takes some milliseconds.
	maxDrain = 8 << 20
	// drainTimeout is how long a client may take to send them: 1 MiB at 2 Mbit/s.
	drainTimeout = 5 * time.Second
)

// drainBody reads the rest of the request's body before an answer is written. Some
// clients and proxies write the whole request before they read. They would see a reset
// connection instead of the answer, because a server that closes a connection with
// unread bytes resets the connection. net/http drains some of a body by itself, but not
// on a connection that is to be closed.
//
// Beyond the bounds the connection is closed all the same. A client that waits for
// 100 Continue has sent nothing, and reading would invite it to.
func (c *call) drainBody() {
	r := c.r
	if c.bodyReadDone || !hasBody(r) || r.ProtoMajor != 1 {
		return // HTTP/2 ends a request without harm to its answer
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
		// The end of the limit is not the end of the body.
		_, err = r.Body.Read(make([]byte, 1))
	}
	if !errors.Is(err, io.EOF) {
		c.w.Header()["Connection"] = []string{"close"}
	}
	if bounded {
		_ = control.SetReadDeadline(time.Time{})
	}
}

// deadlineReader stops reading after a time, for connections without a deadline of
// their own: each read may still wait.
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

// isJSON reports whether the body is JSON as it stands: application/json
// or a type that ends in +json, with any parameters, not compressed.
func isJSON(h http.Header) bool {
	if encoding := h.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return false
	}
	types := h["Content-Type"]
	if len(types) != 1 {
		return false
	}
	if types[0] == "application/json" {
		return true
	}
	media, _, err := mime.ParseMediaType(types[0])
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		return false
	}
	return media == "application/json" || strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json")
}
