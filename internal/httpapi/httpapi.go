// Package httpapi contains internal types with which packages formsvc and handler create the HTTP API.
package httpapi

import (
	"log/slog"
	"net/http"

	"github.com/formsvc/formsvc/internal/core"
	"github.com/formsvc/formsvc/ratelimit"
	"github.com/formsvc/formsvc/storage"
)

// Config configures the HTTP API. Core and Logger are required.
type Config struct {
	Core *core.Core

	// Credential returns the API key of a request. Defaults to X-API-Key, or else Authorization with the scheme
	// Bearer.
	Credential func(*http.Request) string

	// Limiter limits requests by key. If nil, requests are unlimited.
	Limiter *ratelimit.Limiter
	// LimiterName is the prefix of key IDs in the limiter's store. It must not contain "#". Defaults to BaseURL
	// and BasePath.
	LimiterName string

	// BasePath is empty or begins with a slash, without a trailing slash.
	BasePath string
	// BaseURL precedes BasePath in links. It is empty, a URL path such as "/api", or an absolute URL without a
	// trailing slash.
	BaseURL string
	// BaseURLFunc overrides BaseURL for each request. If nil, BaseURL applies.
	BaseURLFunc func(*http.Request) string

	Logger *slog.Logger
}

// API serves the operations. It is safe for concurrent use.
type API interface {
	http.Handler
	// Exports serves exports at any URL path that ends with a form ID and .csv or .ndjson.
	Exports() http.Handler
	// For serves all operations for an actor, without keys, scopes or rate limits.
	For(actor storage.Actor) http.Handler
	// WorkingCopy serves the operations on one form's content for an actor, without keys, scopes or rate limits.
	// The argument copies is a Core of [core.Core.ForWorkingCopies].
	WorkingCopy(copies *core.Core, actor storage.Actor, form storage.ID) http.Handler
}
