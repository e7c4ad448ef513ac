// Package core implements every operation for the HTTP API and the Go API. Each rule of an operation is
// in this package or in a package that it imports. Package handler calls it for the HTTP API, and the
// Client of package formsvc for the Go API.
//
// JSON arguments are request bodies as in the API description, so that both APIs use the same rules. If
// an operation needs no rule in addition to the storage's contract, both APIs call the storage directly.
//
// If a caller passes an invalid ID, it becomes the zero ID, which identifies no record. Errors in the body
// are reported first.
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

// Core is safe for concurrent use. All fields are required that do not say otherwise.
type Core struct {
	Storage storage.Storage
	URLs    URLChecker // of the destinations of webhooks
	// Secrets prepares signing secrets for the storage. Nil: they are stored as they are.
	Secrets  *secrets.Encrypter
	Limits   schema.Limits // valid; New fills in the defaults
	Clock    func() time.Time
	NewID    func(at time.Time) storage.ID
	TimeZone *time.Location // of calendar days. Nil: UTC
	Log      *slog.Logger   // of what maintenance found. Nil: discards
	// RemoveFiles removes the files of responses before these are removed for good. Nil: they stay.
	RemoveFiles func(ctx context.Context, ids []string) error
	// BeforeDelete is called before submissions of a form are removed for good. It can be nil.
	BeforeDelete func(ctx context.Context, form storage.ID, submissions []storage.ID) error
	// Versions is how many versions of a form are kept. 0: none.
	Versions int

	validator    *definition.Validator
	formLocks    *formLocks
	visits       *batching.Batcher[storage.FunnelCount] // if nil, they are written immediately
	beforeDelete storage.BeforeDelete                   // if nil, nothing is called

	summaries *cache.Cache[storage.ID, *cachedSummary] // if nil, nothing is kept of summaries

	forWorkingCopies bool // made by Copies

	original            *Core         // c on the service's own storage
	lastDispatcherCheck *atomic.Int64 // when a call looked for a dispatcher last, in ns; 0: never
}

// New makes c ready for use.
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

// On is c on another storage. That may be a transaction, for which an editor with the turn
// may wait until its commit: so it must not wait for that turn. Visits are written there.
func (c *Core) On(s storage.Storage) *Core {
	copied := *c
	copied.Storage = s
	copied.formLocks, copied.visits, copied.summaries = newFormLocks(), nil, nil
	return &copied
}

// Now is the time of a record that is made now: UTC and whole seconds, so that since
// and until compare with the time that a caller reads.
func (c *Core) Now() time.Time { return c.Clock().UTC().Truncate(time.Second) }

// URLChecker says whether requests may be sent to a URL. It returns a
// [*schema.RejectedURLError] when they may not; any other error means that the check itself
// failed.
type URLChecker interface {
	// CheckURL looks at the text alone.
	CheckURL(raw string) error
	// CheckHost resolves the host's name.
	CheckHost(ctx context.Context, raw string) error
}

// Precondition is a condition on a form's revision, as If-Match demands it (RFC 9110,
// section 13.1.1). The zero value is none.
type Precondition struct {
	Set       bool    // there is a condition
	Any       bool    // the form exists
	Revisions []int64 // the form is at one of these revisions
}

// Holds reports whether the condition is met by a form at this revision.
func (p Precondition) Holds(revision int64) bool {
	return !p.Set || p.Any || slices.Contains(p.Revisions, revision)
}

// OnlyRevisions is the condition as the storage takes it: nil for none. One that nothing
// meets becomes a revision that no form has.
func (p Precondition) OnlyRevisions() []int64 {
	if !p.Set || p.Any {
		return nil
	}
	if len(p.Revisions) == 0 {
		return []int64{0}
	}
	return p.Revisions
}
