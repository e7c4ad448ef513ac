// Package core implements every operation for the HTTP API and the Go API. Each rule of an operation is in this package
// or in a package that it imports. Package handler calls it for the HTTP API, and the Client of package formsvc for the
// Go API.
//
// JSON arguments are request bodies as in the API description, so that both APIs use the same rules. If an operation
// needs no rule in addition to the storage's contract, both APIs call the storage directly.
//
// If a caller passes an invalid ID, it becomes the zero ID, which identifies no record. Errors in the body are reported
// first.
package core

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/formsvc/formsvc/internal/batching"
	"github.com/formsvc/formsvc/internal/cache"
	"github.com/formsvc/formsvc/internal/definition"
	"github.com/formsvc/formsvc/internal/secrets"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// Core is safe for concurrent use. All fields are required unless documented otherwise.
type Core struct {
	Storage storage.Storage
	URLs    URLChecker // checks the destinations of webhooks
	// Secrets encrypts signing secrets. If nil, they are stored unencrypted.
	Secrets  *secrets.Encrypter
	Limits   schema.Limits // valid; New sets the defaults
	Clock    func() time.Time
	NewID    func(at time.Time) storage.ID
	TimeZone *time.Location // for calendar days; defaults to UTC
	Log      *slog.Logger   // for maintenance; if nil, messages are discarded
	// RemoveFiles deletes the files of submissions before the submissions are purged. If nil, files are retained.
	RemoveFiles func(ctx context.Context, ids []string) error
	// BeforeDelete is called before submissions of a form are purged. It can be nil.
	BeforeDelete func(ctx context.Context, form storage.ID, submissions []storage.ID) error
	// Versions is the number of versions that each form retains. Zero disables versions.
	Versions int

	validator    *definition.Validator
	formLocks    *formLocks
	visits       *batching.Batcher[storage.FunnelCount] // if nil, they are written immediately
	beforeDelete storage.BeforeDelete                   // if nil, nothing is called

	summaries *cache.Cache[storage.ID, *cachedSummary] // if nil, summaries are not cached

	forWorkingCopies bool // whether Copies returned this core

	original            *Core         // c with the service's own storage
	lastDispatcherCheck *atomic.Int64 // when a call last checked for a dispatcher, in ns, or 0
}

// New returns c with its defaults and caches.
func New(c Core) (*Core, error) {
	c.Limits = c.Limits.WithDefaults()
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	var err error
	if c.validator, err = definition.NewValidator(c.Limits, c.TimeZone); err != nil {
		return nil, fmt.Errorf("request validators: %w", err)
	}
	c.formLocks, c.summaries = newFormLocks(), &cache.Cache[storage.ID, *cachedSummary]{Max: maxCacheBytes}
	c.visits = batching.New("views and starts of forms", c.Log, c.writeVisits)
	c.original, c.lastDispatcherCheck = &c, new(atomic.Int64)
	c.beforeDelete = c.deletionHook()
	return &c, nil
}

// On returns a copy of c with another storage. It has its own locks, because an editor with the form's lock may wait
// for the commit of this storage's transaction. It writes visits immediately.
func (c *Core) On(s storage.Storage) *Core {
	copied := *c
	copied.Storage = s
	copied.formLocks, copied.visits, copied.summaries = newFormLocks(), nil, nil
	return &copied
}

// Now returns the time for a new record, in UTC and whole seconds, so that callers can use it in since and until.
func (c *Core) Now() time.Time { return c.Clock().UTC().Truncate(time.Second) }

// URLChecker checks whether requests may be sent to a URL. It returns a [*schema.RejectedURLError] if they may not. Any
// other error means that the check failed.
type URLChecker interface {
	// CheckURL checks only the text.
	CheckURL(raw string) error
	// CheckHost resolves the hostname.
	CheckHost(ctx context.Context, raw string) error
}

// Precondition is a condition on a form's revision, as in If-Match (RFC 9110, section 13.1.1). The zero value means no
// condition.
type Precondition struct {
	Set       bool    // whether there is a condition
	Any       bool    // whether any revision meets it
	Revisions []int64 // the allowed revisions
}

// Holds reports whether a form's revision meets the condition.
func (p Precondition) Holds(revision int64) bool {
	return !p.Set || p.Any || slices.Contains(p.Revisions, revision)
}

// OnlyRevisions returns the condition for the storage, or nil without a condition. If no revision can meet it, it
// returns a revision that forms never have.
func (p Precondition) OnlyRevisions() []int64 {
	if !p.Set || p.Any {
		return nil
	}
	if len(p.Revisions) == 0 {
		return []int64{0}
	}
	return p.Revisions
}
