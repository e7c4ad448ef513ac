package handler

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
)

// readBody reads a request body of at most Limits.Body bytes. An empty body is
// returned as such: the validators say what is missing.
func (c *call) readBody() ([]byte, error) {
	r := c.r
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0 {
		return nil, nil
	}
	// A length that the client did not tell may turn out to be zero, which needs no
	// Content-Type.
	if r.ContentLength > 0 && !acceptableMedia(r.Header) {
		return nil, errUnsupportedMedia
	}
	limit := c.h.config.Limits.Body
	if r.ContentLength > limit {
		return nil, errBodyTooLarge
	}
	var buffer bytes.Buffer
	if r.ContentLength > 0 {
		// One byte more than there is, so that the end is seen without growing.
		buffer.Grow(int(r.ContentLength) + bytes.MinRead)
	}
	n, err := buffer.ReadFrom(io.LimitReader(r.Body, limit+1))
	switch {
	case n > limit:
		return nil, errBodyTooLarge
	case err == nil:
	case isTooLarge(err):
		// The host's own http.MaxBytesReader was tighter.
		return nil, errBodyTooLarge
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return nil, errUnavailable
	default:
		return nil, errMalformedJSON.with("The request body ended before it was complete.")
	}
	if n > 0 && !acceptableMedia(r.Header) {
		return nil, errUnsupportedMedia
	}
	return buffer.Bytes(), nil
}

func isTooLarge(err error) bool {
	var tooLarge *http.MaxBytesError
	return errors.As(err, &tooLarge)
}

// acceptableMedia reports whether the body is JSON as it stands: application/json
// or a type that ends in +json, with any parameters, not compressed.
func acceptableMedia(h http.Header) bool {
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
