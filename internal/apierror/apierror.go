// Package apierror defines the status, code and message of each error in the API.
package apierror

import (
	"context"
	"errors"
	"strconv"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// Error is an API error.
type Error struct {
	Status        int
	Code, Message string
	Details       []schema.Violation
}

func (e *Error) Error() string { return e.Code + ": " + e.Message }

// WithMessage returns a copy of e with a different message.
func (e *Error) WithMessage(message string) *Error {
	c := *e
	c.Message = message
	return &c
}

// Catalog lists every declared API error, so that a test can compare the errors with the API description.
var Catalog []*Error

func newCatalogError(status int, code, message string) *Error {
	e := &Error{Status: status, Code: code, Message: message}
	Catalog = append(Catalog, e)
	return e
}

// API errors.
var (
	ErrMalformedJSON     = newCatalogError(400, "MALFORMED_JSON", "The request body is not valid JSON.")
	ErrMethodNotAllowed  = newCatalogError(405, "METHOD_NOT_ALLOWED", "This path does not support the method. See the Allow header.")
	ErrBodyTooLarge      = newCatalogError(413, "BODY_TOO_LARGE", "The request body is too large.")
	ErrUnsupportedMedia  = newCatalogError(415, "UNSUPPORTED_MEDIA_TYPE", "The request body must be application/json without a content encoding.")
	ErrInvalidAPIKey     = newCatalogError(401, "INVALID_API_KEY", "The API key is missing, invalid, expired or revoked.")
	ErrInsufficientScope = newCatalogError(403, "INSUFFICIENT_SCOPE", "The API key lacks a required scope.")
	ErrOwnerRequired     = newCatalogError(403, "OWNER_REQUIRED", "Only the owner of the workspace can do this.")
	ErrNotFound          = newCatalogError(404, "NOT_FOUND", "The resource does not exist or is not accessible.")
	ErrWorkspaceLimit    = newCatalogError(409, "WORKSPACE_LIMIT_REACHED", "The user already owns the maximum number of workspaces. Delete a workspace first.")
	ErrBlockExists       = newCatalogError(409, "BLOCK_EXISTS", "The form already has a block with this ID. Choose another ID.")
	ErrRevisionMismatch  = newCatalogError(412, "REVISION_MISMATCH", "The form has another revision. The ETag header has the current revision.")
	ErrValidation        = newCatalogError(422, "VALIDATION_FAILED", "The request is invalid. See details for the violations.")
	ErrInvalidCursor     = newCatalogError(422, "INVALID_CURSOR", "The cursor is not valid for this list. Start again from the first page.")
	ErrURLRejected       = newCatalogError(422, "WEBHOOK_URL_REJECTED", "The webhook URL is not allowed.")
	ErrRateLimited       = newCatalogError(429, "RATE_LIMITED", "The API key exceeded its rate limit. Try again after the time in the Retry-After header.")
	ErrInternal          = newCatalogError(500, "INTERNAL_ERROR", "An unexpected error occurred. Try again later.")
	ErrUnavailable       = newCatalogError(503, "UNAVAILABLE", "The service is temporarily unavailable. Try again later.")
)

// ErrInvalidValue is a copy of ErrValidation for values that only the store rejects.
var ErrInvalidValue = ErrValidation.WithMessage("The request contains a value that cannot be stored.")

// NewValidationError returns a copy of ErrValidation with the violations.
func NewValidationError(violations ...schema.Violation) *Error {
	e := *ErrValidation
	e.Details = violations
	return &e
}

// known maps service errors to API errors. The first match is used.
var known = []struct {
	err      error
	reported *Error
}{
	{storage.ErrNotFound, ErrNotFound},
	{schema.ErrUnsupported, ErrNotFound}, // the storage has no working copies
	{schema.ErrBlockExists, ErrBlockExists},
	{storage.ErrNotOwner, ErrOwnerRequired},
	{schema.ErrInsufficientScope, ErrInsufficientScope},
	{storage.ErrLimitReached, ErrWorkspaceLimit},
	{storage.ErrRevisionMismatch, ErrRevisionMismatch},
	{storage.ErrInvalidValue, ErrInvalidValue},
	{context.Canceled, ErrUnavailable}, // the request may have been completed or not
	{storage.ErrUnavailable, ErrUnavailable},
	{storage.ErrOutcomeUnknown, ErrUnavailable},
	{context.DeadlineExceeded, ErrUnavailable},
}

// FromError returns the API error for a service error. Unknown errors become ErrInternal.
func FromError(err error) *Error {
	if syntax, ok := errors.AsType[*jsontree.SyntaxError](err); ok {
		return ErrMalformedJSON.WithMessage("The request body is not valid JSON: " + syntax.Reason + " at byte " + strconv.Itoa(syntax.Offset) + ".")
	}
	if rejection, ok := errors.AsType[*schema.RejectedURLError](err); ok {
		e := ErrURLRejected.WithMessage("The webhook URL is not allowed: " + rejection.Reason + ".")
		e.Details = []schema.Violation{rejection.Violation()}
		return e
	}
	if broken, ok := errors.AsType[*schema.Error](err); ok {
		return NewValidationError(broken.Violations...)
	}
	for _, k := range known {
		if errors.Is(err, k.err) {
			return k.reported
		}
	}
	return ErrInternal
}
