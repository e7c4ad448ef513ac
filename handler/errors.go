package handler

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/formsvc/formsvc/internal/apidoc"
	"github.com/formsvc/formsvc/internal/download"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// apiError is an error as the caller of the API sees it.
type apiError struct {
	status  int
	code    string
	message string
	details []schema.Violation
}

func (e *apiError) Error() string { return e.code + ": " + e.message }

// kind is the member "type", which follows from the status.
func (e *apiError) kind() string { return apidoc.ErrorType(e.status) }

// with returns a copy with another message.
func (e *apiError) with(message string) *apiError {
	c := *e
	c.message = message
	return &c
}

// catalogue is every error that the API answers with. An error enters it when it is
// declared, so none can be left out of the test that holds it against the
// description.
var catalogue []*apiError

func declare(status int, code, message string) *apiError {
	e := &apiError{status: status, code: code, message: message}
	catalogue = append(catalogue, e)
	return e
}

var (
	errMalformedJSON     = declare(400, "MALFORMED_JSON", "The request body is not acceptable JSON.")
	errMethodNotAllowed  = declare(405, "METHOD_NOT_ALLOWED", "This path does not have this method; the Allow header lists those it has.")
	errBodyTooLarge      = declare(413, "BODY_TOO_LARGE", "The request body is too large.")
	errUnsupportedMedia  = declare(415, "UNSUPPORTED_MEDIA_TYPE", "The request body must be application/json, without a content encoding.")
	errInvalidAPIKey     = declare(401, "INVALID_API_KEY", "The API key is missing, invalid, expired or revoked.")
	errInsufficientScope = declare(403, "INSUFFICIENT_SCOPE", "The API key lacks a required scope.")
	errOwnerRequired     = declare(403, "OWNER_REQUIRED", "Only the owner of the workspace may do this.")
	errNotFound          = declare(404, "NOT_FOUND", "The resource does not exist or is not accessible.")
	errWorkspaceLimit    = declare(409, "WORKSPACE_LIMIT_REACHED", "The owner already has as many workspaces as are allowed.")
	errBlockExists       = declare(409, "BLOCK_EXISTS", "The form already has a block with this id.")
	errRevisionMismatch  = declare(412, "REVISION_MISMATCH", "The form is at another revision; the ETag header carries the current one.")
	errValidation        = declare(422, "VALIDATION_FAILED", "The request breaks one or more rules; details lists them.")
	errInvalidCursor     = declare(422, "INVALID_CURSOR", "The cursor is not one that this list gave out.")
	errURLRejected       = declare(422, "WEBHOOK_URL_REJECTED", "The webhook URL is not acceptable.")
	errRateLimited       = declare(429, "RATE_LIMITED", "The API key exceeded its rate limit; the Retry-After header says when to try again.")
	errInternal          = declare(500, "INTERNAL_ERROR", "An unexpected error occurred.")
	errUnavailable       = declare(503, "UNAVAILABLE", "The service is not available at the moment.")
)

// invalid is VALIDATION_FAILED with its violations.
func invalid(violations ...schema.Violation) *apiError {
	e := *errValidation
	e.details = violations
	return &e
}

// translate turns any error into the error that the caller sees. The causes of the
// service's own faults are logged here and reach nobody else.
func (c *call) translate(err error) *apiError {
	if own, ok := errors.AsType[*apiError](err); ok {
		return own
	}
	if syntax, ok := errors.AsType[*jsontree.SyntaxError](err); ok {
		return errMalformedJSON.with("The request body is not acceptable JSON: " + syntax.Reason + " at byte " + strconv.Itoa(syntax.Offset) + ".")
	}
	if rejection, ok := errors.AsType[*schema.RejectedURLError](err); ok {
		e := errURLRejected.with("The webhook URL is refused: " + rejection.Reason + ".")
		e.details = []schema.Violation{rejection.Violation()}
		return e
	}
	if broken, ok := errors.AsType[*schema.Error](err); ok {
		return invalid(broken.Violations...)
	}
	switch {
	case errors.Is(err, storage.ErrNotFound), errors.Is(err, schema.ErrUnsupported): // the storage has no working copies
		return errNotFound
	case errors.Is(err, schema.ErrBlockExists):
		return errBlockExists
	case errors.Is(err, storage.ErrNotOwner):
		return errOwnerRequired
	case errors.Is(err, storage.ErrRevisionMismatch):
		if revision, ok := errors.AsType[*storage.RevisionError](err); ok {
			c.setETag(revision.Current)
		}
		if p := c.ifMatch(); p.Set && !p.Any && len(p.Revisions) == 0 {
			return errRevisionMismatch.with("If-Match has no ETag that this API sent for a form. Send one as you received it, in quotes.")
		}
		return errRevisionMismatch
	case errors.Is(err, storage.ErrInvalidValue):
		c.log(slog.LevelError, "the storage refused a value that passed validation", slog.Any("error", err))
		return errValidation.with("A value cannot be stored.")
	case errors.Is(err, context.Canceled): // whether or not the outcome is known
		c.log(slog.LevelDebug, "the request was cancelled", slog.Any("error", err))
		return errUnavailable
	case errors.Is(err, storage.ErrUnavailable), errors.Is(err, storage.ErrOutcomeUnknown),
		errors.Is(err, context.DeadlineExceeded):
		c.log(slog.LevelError, "the storage is unavailable", slog.Any("error", err))
		return errUnavailable
	default:
		c.log(slog.LevelError, "the request failed", slog.Any("error", err))
		return errInternal
	}
}

// fail writes err as the response.
func (c *call) fail(err error) {
	e := c.translate(err)
	switch e.status {
	case http.StatusUnauthorized:
		c.w.Header()["Www-Authenticate"] = []string{"Bearer"}
	case http.StatusServiceUnavailable:
		c.w.Header()["Retry-After"] = []string{"1"}
	}
	w := jsontree.NewWriter(make([]byte, 0, 512))
	w.Object()
	w.Name("type").String(e.kind())
	w.Name("code").String(e.code)
	w.Name("message").String(e.message)
	w.Name("status").Int(int64(e.status))
	w.Name("request_id").String(c.id)
	if len(e.details) > 0 {
		w.Name("details").Array()
		for _, v := range e.details {
			w.Object()
			w.Name("path").String(v.Path)
			w.Name("code").String(v.Code)
			w.Name("message").String(v.Message)
			w.EndObject()
		}
		w.EndArray()
	}
	w.EndObject()
	c.write(e.status, append(w.Bytes(), '\n'))
}

func (c *call) log(level slog.Level, message string, what ...slog.Attr) {
	request := []slog.Attr{slog.String("request_id", c.id), slog.String("method", c.r.Method), slog.String("operation", c.op.id)}
	c.h.config.Logger.LogAttrs(c.ctx(), level, message, append(request, what...)...)
}

// recovered answers a panic with INTERNAL_ERROR. When the response has begun, it ends
// the connection, so that the cut response does not look whole.
func (c *call) recovered(v any, stack []byte) {
	if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(v) // by download.Abort, or by a host's code
	}
	c.log(slog.LevelError, "panic", slog.Any("panic", v), slog.String("stack", string(stack)))
	if c.wrote {
		download.Abort(c.w)
	}
	c.fail(errInternal)
}
