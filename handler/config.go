package handler

import (
	"context"
	"errors"
	"log/slog"
	"math"
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
type Limits struct {
	Body       int64 // bytes of a request body; default 1 MiB
	Workspaces int   // workspaces that one user may own; default 100
	Webhooks   int   // webhooks of one form; default 20

	Blocks    int // top-level blocks of a form; default 500
	AllBlocks int // blocks of a form at all levels; default 2,000
	Nesting   int // levels of blocks; default 8
	Choices   int // choices, matrix rows and matrix columns of a block, each; default 500
	CustomCSS int // bytes of a theme's customCss; default 100,000
	Text      int // characters of a label or description; default 5,000

	// FileSize is the largest size, in bytes, of an uploaded file that an answer
	// may name when the block's maxFileSize is on; default 10 MiB.
	FileSize int64
}

const (
	defaultBody       = 1 << 20
	defaultWorkspaces = 100
	defaultWebhooks   = 20
)

// Validate reports limits that make no sense: those below zero.
func (l Limits) Validate() error {
	for _, n := range []int64{
		l.Body, int64(l.Workspaces), int64(l.Webhooks), int64(l.Blocks), int64(l.AllBlocks),
		int64(l.Nesting), int64(l.Choices), int64(l.CustomCSS), int64(l.Text), l.FileSize,
	} {
		if n < 0 {
			return errors.New("a limit is negative")
		}
	}
	return nil
}

func (l Limits) withDefaults() Limits {
	if l.Body == 0 {
		l.Body = defaultBody
	}
	l.Body = min(l.Body, math.MaxInt64-1) // one byte more is read, to see that there is more
	if l.Workspaces == 0 {
		l.Workspaces = defaultWorkspaces
	}
	if l.Webhooks == 0 {
		l.Webhooks = defaultWebhooks
	}
	return l
}
