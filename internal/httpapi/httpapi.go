// Package httpapi contains types that package formsvc and package handler exchange to create the HTTP
// API. Hosts cannot use them.
package httpapi

import (
	"log/slog"
	"net/http"

	"github.com/formsvc/formsvc/internal/core"
	"github.com/formsvc/formsvc/ratelimit"
	"github.com/formsvc/formsvc/storage"
)

// Config says how the API is served. Core and Logger are required.
type Config struct {
	// Core carries out the operations.
	Core *core.Core

	// Credential takes the key out of a request. Nil: X-API-Key, then
	// Authorization with the scheme Bearer.
	Credential func(*http.Request) string

	// Limiter limits calls by key. Nil: no limit.
	Limiter *ratelimit.Limiter
	// LimiterName stands before the ids of keys in the limiter's store. It has no "#".
	// Default: BaseURL and BasePath.
	LimiterName string

	// BasePath is "" or begins with a slash and does not end with one.
	BasePath string
	// BaseURL is what stands before BasePath in links: "", a path such as "/api",
	// or an absolute URL without a slash at its end.
	BaseURL string
	// BaseURLFunc replaces BaseURL by request. Nil: BaseURL.
	BaseURLFunc func(*http.Request) string

	Logger *slog.Logger
}

// API serves the operations. It is safe for concurrent use.
type API interface {
	http.Handler
	// Exports serves exports of responses at any path whose last segment is a form's id with
	// the ending .csv or .ndjson.
	Exports() http.Handler
	// For serves all operations for an actor, without a key, a scope or a limit.
	For(actor storage.Actor) http.Handler
	// WorkingCopy serves the operations on the content of one form for an actor, without a key, a
	// scope or a limit. copies is a Core of [core.Core.ForWorkingCopies].
	WorkingCopy(copies *core.Core, actor storage.Actor, form storage.ID) http.Handler
}
