// Package httpapi defines types that packages formsvc and handler use to create the HTTP API.
package httpapi

import (
	"context"
	"io"
	"log/slog"
	"net/http"

	"github.com/formsvc/formsvc/internal/core"
	"github.com/formsvc/formsvc/ratelimit"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// Config configures the HTTP API. Core and Logger are required.
type Config struct {
	Core *core.Core

	// Credential returns the API key. It defaults to X-API-Key or a Bearer token in Authorization.
	Credential func(*http.Request) string

	Limiter     *ratelimit.Limiter // limits requests by key; nil means no limit
	LimiterName string             // prefix of key IDs in the limiter's store, without "#"; defaults to BaseURL and BasePath

	BasePath string // empty, or starts with a slash and does not end with one
	// BaseURL precedes BasePath in links. It is empty, a path such as "/api", or an absolute URL without a trailing slash.
	BaseURL     string
	BaseURLFunc func(*http.Request) string // overrides BaseURL for each request; can be nil

	// Import stores the submissions of an NDJSON export without answers that only the host may give. It calls progress
	// after each 1,000 lines.
	Import func(ctx context.Context, form storage.ID, lenient, deliver bool, lines io.Reader, progress func() error) (schema.ImportReport, error)

	Logger *slog.Logger
}

// API serves the operations. It is safe for concurrent use.
type API interface {
	http.Handler
	Exports() http.Handler // serves exports at any URL path that ends with a form ID and .csv or .ndjson
	Imports() http.Handler // imports submissions at any URL path that ends with a form ID
	// For returns a handler that serves all operations for an actor with scopes, without keys or rate limits.
	For(actor storage.Actor, scopes []storage.Scope) http.Handler
	// WorkingCopy serves the operations on one form's content for an actor with scopes, without keys or rate limits.
	// copies is the result of [core.Core.ForWorkingCopies].
	WorkingCopy(copies *core.Core, actor storage.Actor, form storage.ID, scopes []storage.Scope) http.Handler
}
