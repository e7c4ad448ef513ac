package handler

import (
	"log/slog"
	"net/http"

	"github.com/formsvc/formsvc/internal/core"
	"github.com/formsvc/formsvc/ratelimit"
	"github.com/formsvc/formsvc/schema"
)

// Config is wiring for package formsvc, without promise before v1. Core, Resolver and
// Logger are required.
type Config struct {
	// Core carries out the operations.
	Core *core.Core
	// Resolver finds out whose key a request carries. When it is a readingResolver,
	// operations on one form take key and form in one step.
	Resolver KeyResolver

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

// Limits are the sizes that a host may change. Zero fields have their defaults.
type Limits = schema.Limits
