package handler

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/formsvc/formsvc/internal/core"
	"github.com/formsvc/formsvc/ratelimit"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// Config wires a [Handler]. Storage, Resolver, URLs, SealSecret, OpenSecret, Now,
// NewID and Logger are required.
type Config struct {
	Storage storage.Storage
	// Resolver finds out whose key a request carries. When it is a [ReadingResolver],
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
	// OpenSecret returns a webhook's signing secret from what SealSecret returned. It is
	// how a change to the secret that the webhook has is found to be none.
	OpenSecret func(webhook storage.ID, stored []byte) (string, error)

	// BasePath is "" or begins with a slash and does not end with one.
	BasePath string
	// BaseURL is what stands before BasePath in links: "", a path such as "/api",
	// or an absolute URL without a slash at its end.
	BaseURL string
	// BaseURLFunc replaces BaseURL by request. Nil: BaseURL.
	BaseURLFunc func(*http.Request) string

	// TimeZone is that of calendar days. Nil: UTC.
	TimeZone *time.Location

	Limits Limits
	Logger *slog.Logger
	Now    func() time.Time
	NewID  func(at time.Time) storage.ID
}

// URLChecker says whether requests may be sent to a URL.
type URLChecker = core.URLChecker

// RejectedURLError says why a URL is not acceptable.
type RejectedURLError = core.RejectedURLError

// Limits are the sizes that a host may change. Zero fields have their defaults.
type Limits = schema.Limits
