// Package core implements every operation for both the HTTP API (package handler) and the Go API (the Client of
// package formsvc). All rules for operations are in this package or in packages that it imports. For operations
// without additional rules, both APIs call the storage directly.
//
// JSON arguments are request bodies as specified in the API description, so that both APIs apply the same rules.
// Callers pass an invalid ID as the zero ID, which matches no record. Errors in the body are reported before a missing
// record.
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
	"github.com/formsvc/formsvc/internal/hostdata"
	"github.com/formsvc/formsvc/internal/secrets"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// Core implements the operations. It is safe for concurrent use. All fields are required unless stated otherwise.
type Core struct {
	Storage  storage.Storage
	URLs     URLChecker         // checks webhook URLs
	Secrets  *secrets.Encrypter // encrypts signing secrets; nil stores them unencrypted
	Limits   schema.Limits      // New sets the defaults
	Clock    func() time.Time
	NewID    func(at time.Time) storage.ID
	TimeZone *time.Location // time zone of calendar days
	Log      *slog.Logger   // log for maintenance; nil discards messages
	// RemoveFiles deletes the files of submissions before the submissions are purged. If nil, files are retained.
	RemoveFiles func(ctx context.Context, ids []string) error
	// BeforeDelete is called before a form's submissions are purged. It can be nil.
	BeforeDelete func(ctx context.Context, form storage.ID, submissions []storage.ID) error
	Host         hostdata.Host // choices and checks of the host
	// CheckContent is called before a form is created with content or its content is changed, except by Publish. before is
	// zero for a new form. An error prevents the change. It can be nil.
	CheckContent func(before, after storage.FormContent) error
	Versions     int // number of versions per form; zero disables versions

	validator    *definition.Validator
	formLocks    *formLocks
	visits       *batching.Batcher[storage.FunnelCount] // nil writes visits immediately
	beforeDelete storage.BeforeDelete                   // can be nil

	summaries *cache.Cache[summaryKey, *cachedSummary] // nil disables the cache

	forWorkingCopies bool // set by ForWorkingCopies

	original            *Core         // Core with the service's own storage
	lastDispatcherCheck *atomic.Int64 // time of the last check in Unix nanoseconds, or 0
}

// New sets default values in c and creates its caches.
func New(c Core) (*Core, error) {
	c.Limits = c.Limits.WithDefaults()
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	c.Host.Log = c.Log
	var err error
	if c.validator, err = definition.NewValidator(c.Limits, c.TimeZone); err != nil {
		return nil, fmt.Errorf("request validators: %w", err)
	}
	c.formLocks, c.summaries = newFormLocks(), &cache.Cache[summaryKey, *cachedSummary]{Max: maxCacheBytes}
	c.visits = batching.New("views and starts of forms", c.Log, c.writeVisits)
	c.original, c.lastDispatcherCheck = &c, new(atomic.Int64)
	c.beforeDelete = c.newDeletionHook()
	return &c, nil
}

// WithStorage returns a copy of c that uses the storage s and writes visits immediately. The copy has its own locks,
// because otherwise a transaction on s could wait for a lock whose holder is waiting for the transaction.
func (c *Core) WithStorage(s storage.Storage) *Core {
	copied := *c
	copied.Storage = s
	copied.formLocks, copied.visits, copied.summaries = newFormLocks(), nil, nil
	return &copied
}

// Now returns the time for a new record in UTC. It is truncated to seconds, so that callers can pass it as since or
// until.
func (c *Core) Now() time.Time { return c.Clock().UTC().Truncate(time.Second) }

// URLChecker checks whether requests to a URL are allowed. If not, it returns a [*schema.RejectedURLError]. Other
// errors mean that the check failed.
type URLChecker interface {
	// CheckURL checks the URL without resolving its hostname.
	CheckURL(raw string) error
	// CheckHost resolves the hostname and checks its IP addresses.
	CheckHost(ctx context.Context, raw string) error
}

// Precondition is a condition on a form's revision, like If-Match (RFC 9110, section 13.1.1). The zero value always
// holds.
type Precondition struct {
	Set       bool    // whether there is a condition
	Any       bool    // any revision meets the condition
	Revisions []int64 // allowed revisions
}

// Holds reports whether a revision meets the condition.
func (p Precondition) Holds(revision int64) bool {
	return !p.Set || p.Any || slices.Contains(p.Revisions, revision)
}

// OnlyRevisions returns the allowed revisions for the storage, or nil if all revisions are allowed. If no revision is
// allowed, it returns 0, which is never a form's revision.
func (p Precondition) OnlyRevisions() []int64 {
	if !p.Set || p.Any {
		return nil
	}
	if len(p.Revisions) == 0 {
		return []int64{0}
	}
	return p.Revisions
}
