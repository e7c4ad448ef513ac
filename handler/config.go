package handler

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/formsvc/formsvc/ratelimit"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// Config wires a [Handler]. Storage, Resolver, URLs, SealSecret, Now, NewID and
// Logger are required.
type Config struct {
	Storage storage.Storage
	// Resolver finds out whose key a request carries. When it is a [FormResolver],
	// operations on one form take key and form in one step.
	Resolver KeyResolver

	// Credential takes the key out of a request. Nil: X-API-Key, then
	// Authorization with the scheme Bearer.
	Credential func(*http.Request) string

	// Limiter limits calls by key. Nil: no limit.
	Limiter *ratelimit.Limiter

	// URLs checks the destinations of webhooks.
	URLs URLChecker

	// SealSecret prepares a webhook's signing secret for the storage.
	SealSecret func(webhook storage.ID, secret string) ([]byte, error)

	// BasePath is "" or begins with a slash and does not end with one.
	BasePath string
	// BaseURL is what stands before BasePath in links: "", a path such as "/api",
	// or an absolute URL without a slash at its end.
	BaseURL string
	// BaseURLFunc replaces BaseURL by request. Nil: BaseURL.
	BaseURLFunc func(*http.Request) string

	Limits Limits
	Logger *slog.Logger
	Now    func() time.Time
	NewID  func(at time.Time) storage.ID
}

// URLChecker tells whether requests may be sent to a URL. It returns a
// [*RejectedURLError] when they may not; any other error means that it cannot tell.
type URLChecker interface {
	// CheckURL looks at the text alone.
	CheckURL(raw string) error
	// CheckHost resolves the host's name.
	CheckHost(ctx context.Context, raw string) error
}

// RejectedURLError says why a URL is not acceptable. Reason completes a sentence that
// the caller of the API reads, so it tells nothing about the host's network.
type RejectedURLError struct{ Reason string }

func (e *RejectedURLError) Error() string { return "url rejected: " + e.Reason }

func (e *RejectedURLError) violation() schema.Violation {
	return schema.Violation{Path: "/url", Code: schema.CodeNotAllowed, Message: e.Reason}
}

// Limits are the sizes that a host may change. Zero fields have their defaults.
type Limits = schema.Limits
