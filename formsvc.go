package formsvc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/formsvc/formsvc/handler"
	"github.com/formsvc/formsvc/internal/core"
	"github.com/formsvc/formsvc/internal/dispatch"
	"github.com/formsvc/formsvc/internal/httpapi"
	"github.com/formsvc/formsvc/internal/intake"
	"github.com/formsvc/formsvc/internal/keyring"
	"github.com/formsvc/formsvc/internal/objectid"
	"github.com/formsvc/formsvc/internal/version"
	"github.com/formsvc/formsvc/ratelimit"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/webhooks"
)

// Service is the form service: the handler of the HTTP API, the Go calls that a
// host needs beside it, and the dispatcher of webhooks. It is safe for concurrent
// use. Make one with [New].
//
// Its own Go calls are the host's and check no rights. Before such a call for a user the host
// reads the record as the user, to whom a foreign one is [ErrNotFound]:
//
//	if _, err := svc.As(user).Form(ctx, form); err != nil {
//		return err
//	}
//	n, err := svc.EraseRespondent(ctx, form, map[string]string{"email": address})
type Service struct {
	core              *core.Core
	intake            intake.Intake
	handler           httpapi.API
	newHandler        func(*core.Core, KeyResolver) httpapi.API
	dispatcher        *webhooks.Dispatcher
	limiter           *ratelimit.Limiter
	keys              keyResolver
	ownKeys           bool // keys are resolved by keys, not by the host
	inHostTransaction bool // made by Using: the host commits or rolls back, and wakes the dispatcher
}

// New returns a service. [WithStorage] is required; everything else has a default.
// It reports every fault of the options at once, starts no goroutine and opens no
// connection.
func New(opts ...Option) (*Service, error) {
	o := defaults()
	var faults []error
	for _, opt := range opts {
		if opt != nil {
			faults = append(faults, opt(&o))
		}
	}
	faults = append(faults, o.validate())
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}

	s := &Service{limiter: o.http.Limiter, ownKeys: o.resolver == nil}
	var handOver func() (to storage.DirectDispatcher, stored func())
	var err error
	s.dispatcher, handOver, err = webhooks.NewDispatcher(o.webhooks, dispatch.Params{
		Store: o.storage, Secrets: o.secrets, Logger: o.logger, Now: o.clock,
		Sweep: func(ctx context.Context, now time.Time) error { return s.core.Sweep(ctx, now) },
	})
	if err != nil {
		return nil, fmt.Errorf("formsvc: %w", err)
	}
	s.keys = keyResolver{keyring.New(o.keyPrefix, o.storage, o.clock, o.logger)}
	s.core, err = core.New(core.Core{
		Storage: o.storage, URLs: destinations{s.dispatcher.Guard()}, Secrets: o.secrets,
		Limits: o.limits, Versions: o.versions, Clock: o.clock, NewID: objectid.NewSource().New, TimeZone: o.timeZone, Log: o.logger, RemoveFiles: o.removeFiles, BeforeDelete: o.beforeDelete,
	})
	if err != nil {
		return nil, fmt.Errorf("formsvc: %w", err)
	}
	s.intake = intake.New(s.core, handOver)
	config := o.http
	config.Core, config.Logger = s.core, o.logger
	if s.ownKeys {
		o.resolver = s.keys
	}
	if s.handler, s.newHandler, err = handler.New(config, o.resolver); err != nil {
		return nil, fmt.Errorf("formsvc: %w", err)
	}
	return s, nil
}

// Client has the calls of the API in Go, with the same rules and the same calls of the
// storage. [Service.As] and [Service.AsHost] make one; it costs nothing and is safe for
// concurrent use. The zero Client panics.
//
// # Errors
//
// A host's own handlers answer with the status and code that the API has for an error:
//
//	*Error             422 VALIDATION_FAILED        every fault of what was given
//	*RejectedURLError  422 WEBHOOK_URL_REJECTED     an *Error as well
//	ErrInvalidKey      401 INVALID_API_KEY
//	ErrNotOwner        403 OWNER_REQUIRED
//	ErrNotFound        404 NOT_FOUND                it does not exist, is in the trash, or is not the user's to see
//	ErrLimitReached    409 WORKSPACE_LIMIT_REACHED
//	ErrBlockExists     409 BLOCK_EXISTS
//	*RevisionError     412 REVISION_MISMATCH
//	ErrUnavailable     503 UNAVAILABLE              nothing was changed
//	ErrOutcomeUnknown  503 UNAVAILABLE              it was changed or not
//	context.Canceled   503 UNAVAILABLE              and context.DeadlineExceeded
//
// Anything else is 500, for the log. These come of calls that the API does not have, and suit
// the status beside them:
//
//	ErrClosed          410                          as the pages of formpage answer
//	ErrConflict        409
//	ErrDuplicate       409
//	ErrIdempotencyKeyReused         409
//	*ConflictError     409                          of WorkingCopy.Publish
//	ErrAlreadySubmitted            409
//	ErrUnsupported     501
//
// All of them may be wrapped: compare with errors.Is, and errors.As for those with a star.
//
// # Lists
//
// A list is an iterator that reads page by page while the loop goes on, and holds nothing
// of the storage in between. A loop may end early; another one over the same iterator
// begins anew. The first error, also that of a context which has ended, comes with a zero
// record and is the last pair. Records that come or go meanwhile make a list neither repeat
// nor skip one that is there throughout.
type Client struct {
	s     *Service
	actor storage.Actor
}

// As returns a client for the workspaces that the user owns or is a member of, and for
// everything in these workspaces. The zero ID sees nothing.
func (s *Service) As(user ID) Client { return Client{s, storage.As(user)} }

// AsHost returns a client that sees and may change everything.
func (s *Service) AsHost() Client { return Client{s, storage.AsHost()} }

func (c Client) core() *core.Core {
	if c.s == nil {
		panic("formsvc: the Client is a zero value: create a Client with Service.As or Service.AsHost")
	}
	return c.s.core
}

// TimeZone returns the zone of calendar days ([WithTimeZone]): a page that shows the
// bounds of a date shows the days that they have there.
func (s *Service) TimeZone() *time.Location { return s.core.TimeZone }

// Limits returns the sizes of [WithLimits], with the defaults where it names none.
func (s *Service) Limits() Limits { return s.core.Limits }

// ServeHTTP serves the HTTP API. Mount the service at its base path, with or
// without a prefix stripped, or at the root of a server.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// ExportHandler serves exports to the callers of the API. An export is no operation of the
// API: the host mounts the handler where it likes,
//
//	mux.Handle("/exports/", svc.ExportHandler())
//
// and GET /exports/<form id>.csv or .ndjson is the export. The query has since and until
// as GET …/submissions does, and for CSV separator=semicolon or tab, choices=ids,
// several=spread, header=labels, bom=true and formulas=kept; and for both formats
// last_line=true. They are the fields of [Export].
//
// Credentials, key resolver, errors and request ids are those of the API, and an export
// takes the scope submissions:read. Every page of at most 1,000 responses that is read counts
// against the key's limit. An export leaves half of the key's calls for other requests and
// waits for new ones. A key has one export at a time in this process: a second one is
// RATE_LIMITED. Request.Pattern is that of the host's mux, with {form_id}.csv or .ndjson
// added where it ends in a slash.
//
// The first byte of a CSV comes after all responses were read once, and an export may
// also wait for calls of its key, for a minute by default. A proxy in front must wait that
// long, such as nginx with proxy_read_timeout.
//
// An error after the first byte breaks the connection, so that a truncated file does not look
// complete, also below a middleware that recovers [http.ErrAbortHandler], as gin.Default() does.
// Below a server that buffers responses or gives no access to the connection, such as fiber with
// its adaptor for net/http, ask for last_line=true. [http.TimeoutHandler] buffers the whole
// export in memory and ends it at its timeout: mount exports outside of it. HTTP/1.0 cannot tell, and is refused with status 505: nginx needs
// proxy_http_version 1.1. The server's WriteTimeout does not end an export: a client may
// take 30 seconds for each 64 kB. For that each middleware in front whose
// [http.ResponseWriter] wraps another one has the method Unwrap() http.ResponseWriter, by which
// [http.ResponseController] finds the connection. Behind one without it the WriteTimeout cuts
// the file, and the log says so once.
//
// [http.TimeoutHandler] buffers a whole export in memory, sends nothing before the export is
// complete, and drops it at the timeout. Mount the handler outside of it.
func (s *Service) ExportHandler() http.Handler { return s.handler.Exports() }

// Dispatcher returns the dispatcher, which sends webhooks: always the same one. The host
// runs it; without a Run, deliveries wait in the storage. "Stopping" in the package's
// documentation says when the context of Run ends.
func (s *Service) Dispatcher() *webhooks.Dispatcher { return s.dispatcher }

// Using returns a cheap copy of the service on another store, most of all on the
// host's own transaction:
//
//	svc.WithStorage(store.On(tx)).Submit(ctx, response)
//
// A decorator of the host's around the service's storage is not around st: a host that
// audits, counts or encrypts in one wraps what On returns, as it did with the store.
//
//	svc.WithStorage(audited{store.On(tx)}).Submit(ctx, response)
//
// The copy shares the dispatcher, the rate limiter, the known forms and the
// rest; closing it does nothing. It panics with a st that New refuses. What the copy queues is sent
// after the host's commit: call Dispatcher().Wake() then, or wait for the next poll.
func (s *Service) WithStorage(st storage.Storage) *Service {
	if err := checkStorage(st); err != nil {
		panic(fmt.Sprintf("formsvc: Using: %v", err))
	}
	copied := *s
	copied.keys = keyResolver{s.keys.WithStore(st)}
	copied.inHostTransaction = true
	copied.core = s.core.On(st)
	copied.intake = s.intake.On(copied.core)
	var keys KeyResolver // nil: the host's
	if s.ownKeys {
		keys = copied.keys
	}
	copied.handler = s.newHandler(copied.core, keys)
	return &copied
}

// Close stops the parts that the service started lazily, and writes the views, the starts and
// the last uses of keys that are pending: it returns the error when that fails. It never
// closes a part that the host gave, so close a pool after it. It may be called more than once.
// A running Dispatcher is stopped by its own context, and the host stops its server first:
// requests after Close are not limited any more. "Stopping" in the package's documentation has
// the order.
func (s *Service) Close(ctx context.Context) error {
	if s.inHostTransaction {
		return nil
	}
	err := errors.Join(s.keys.Close(ctx), s.core.Close(ctx))
	if s.limiter != nil {
		err = errors.Join(err, s.limiter.Close(ctx))
	}
	return err
}

// keyResolver makes a [KeyResolver] of the keyring. Package handler reads with it as well.
type keyResolver struct{ *keyring.Keyring }

func (k keyResolver) ResolveKey(ctx context.Context, key string) (Principal, error) {
	owner, err := k.Resolve(ctx, key)
	if errors.Is(err, keyring.ErrInvalid) {
		err = ErrInvalidKey
	}
	return Principal(owner), err
}

// destinations lets the handler ask the webhook guard about URLs.
type destinations struct{ guard *webhooks.Guard }

func (d destinations) CheckURL(raw string) error { return rejection(d.guard.CheckURL(raw)) }

func (d destinations) CheckHost(ctx context.Context, raw string) error {
	return rejection(d.guard.CheckHost(ctx, raw))
}

func rejection(err error) error {
	if refused, ok := errors.AsType[*webhooks.URLError](err); ok {
		return &schema.RejectedURLError{Reason: refused.Reason}
	}
	return err
}

// Version is the release of this module in the program, as in "v0.1.0": what Go noted when
// it built the program. A commit without a tag has a version that ends in its revision, and
// a copy in a folder, go run in a checkout and a test have "(devel)". The API description has
// it as x-formsvc-version, and deliveries in their User-Agent ([webhooks.Config]).
func Version() string { return version.String() }
