package handler

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/formsvc/formsvc/internal/apidoc"
	"github.com/formsvc/formsvc/internal/apierror"
	"github.com/formsvc/formsvc/internal/download"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// translate converts any error to the error to respond with. It logs internal errors and hides their causes.
func (c *call) translate(err error) *apierror.Error {
	if own, ok := errors.AsType[*apierror.Error](err); ok {
		return own
	}
	e := apierror.FromError(err)
	switch {
	case e == apierror.ErrRevisionMismatch:
		if revision, ok := errors.AsType[*storage.RevisionError](err); ok {
			c.setETag(revision.Current)
		}
		if p := c.parseIfMatch(); p.Set && !p.Any && len(p.Revisions) == 0 {
			return e.WithMessage("If-Match has no valid ETag of a form. Send an ETag exactly as you received it, including the quotes.")
		}
	case e == apierror.ErrInvalidValue:
		c.logRequest(slog.LevelError, "storage rejected a value that passed validation", slog.Any("error", err))
	case e == apierror.ErrUnavailable && errors.Is(err, context.Canceled):
		c.logRequest(slog.LevelDebug, "request canceled", slog.Any("error", err))
	case e == apierror.ErrUnavailable:
		c.logRequest(slog.LevelError, "storage unavailable", slog.Any("error", err))
	case e == apierror.ErrInternal:
		c.logRequest(slog.LevelError, "request failed", slog.Any("error", err))
	}
	return e
}

func (c *call) sendError(err error) {
	e := c.translate(err)
	switch e.Status {
	case http.StatusUnauthorized:
		c.w.Header()["Www-Authenticate"] = []string{"Bearer"}
	case http.StatusServiceUnavailable:
		c.w.Header()["Retry-After"] = []string{"1"}
	}
	w := jsontree.NewWriter(make([]byte, 0, 512))
	w.Object()
	w.Name("type").String(apidoc.ErrorType(e.Status))
	w.Name("code").String(e.Code)
	w.Name("message").String(e.Message)
	w.Name("status").Int(int64(e.Status))
	w.Name("request_id").String(c.id)
	if len(e.Details) > 0 {
		writeDetails(w, e.Details)
	}
	w.EndObject()
	c.sendBody(e.Status, append(w.Bytes(), '\n'))
}

func writeDetails(w *jsontree.Writer, details []schema.Violation) {
	w.Name("details").Array()
	for _, v := range details {
		w.Object()
		w.Name("path").String(v.Path)
		w.Name("code").String(v.Code)
		w.Name("message").String(v.Message)
		w.EndObject()
	}
	w.EndArray()
}

func (c *call) logRequest(level slog.Level, message string, what ...slog.Attr) {
	request := []slog.Attr{slog.String("request_id", c.id), slog.String("method", c.r.Method), slog.String("operation", c.op.id)}
	c.h.config.Logger.LogAttrs(c.ctx(), level, message, append(request, what...)...)
}

// handlePanic responds to a panic with INTERNAL_ERROR. If part of the response has already been sent, handlePanic
// closes the connection, so that the truncated response does not look complete.
func (c *call) handlePanic(v any, stack []byte) {
	if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(v) // Raised by download.Abort or the host's code.
	}
	c.logRequest(slog.LevelError, "panic", slog.Any("panic", v), slog.String("stack", string(stack)))
	if c.responseStarted {
		download.Abort(c.w)
	}
	c.sendError(apierror.ErrInternal)
}
