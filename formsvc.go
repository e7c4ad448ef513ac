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

// Service is the form service: the HTTP API, the Go API for the host, and the webhook dispatcher. It is safe for
// concurrent use. Create it with [New].
//
// Its Go methods check no permissions. Before you call such a method for a user, read the record as this user. The
// error is [ErrNotFound] if the user has no access:
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
	resolvesOwnKeys   bool // whether keys, not the host's resolver, resolves API keys
	inHostTransaction bool // created by WithStorage, so the host commits and wakes the dispatcher
}

// New returns a service. Only [WithStorage] is required. The error joins the errors of all options. New starts no
// goroutine and opens no connection.
func New(opts ...Option) (*Service, error) {
	o := defaults()
	var errs []error
	for _, opt := range opts {
		if opt != nil {
			errs = append(errs, opt(&o))
		}
	}
	errs = append(errs, o.validate())
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}

	s := &Service{limiter: o.http.Limiter, resolvesOwnKeys: o.resolver == nil}
	var startDispatch func() (to storage.DirectDispatcher, stored func())
	var err error
	s.dispatcher, startDispatch, err = webhooks.NewDispatcher(o.webhooks, dispatch.Params{
		Store: o.storage, Secrets: o.secrets, Logger: o.logger, Now: o.clock,
		Sweep: func(ctx context.Context, now time.Time) error { return s.core.Sweep(ctx, now) },
	})
	if err != nil {
		return nil, fmt.Errorf("formsvc: %w", err)
	}
	s.keys = keyResolver{keyring.New(o.keyPrefix, o.storage, o.clock, o.logger)}
	s.core, err = core.New(core.Core{
		Storage: o.storage, URLs: urlChecker{s.dispatcher.Guard()}, Secrets: o.secrets,
		Limits: o.limits, Versions: o.versions, Clock: o.clock, NewID: objectid.NewSource().New, TimeZone: o.timeZone, Log: o.logger, RemoveFiles: o.removeFiles, BeforeDelete: o.beforeDelete,
	})
	if err != nil {
		return nil, fmt.Errorf("formsvc: %w", err)
	}
	s.intake = intake.New(s.core, startDispatch)
	config := o.http
	config.Core, config.Logger = s.core, o.logger
	if s.resolvesOwnKeys {
		o.resolver = s.keys
	}
	if s.handler, s.newHandler, err = handler.New(config, o.resolver); err != nil {
		return nil, fmt.Errorf("formsvc: %w", err)
	}
	return s, nil
}

// Client provides the operations of the API in Go, with the same rules. [Service.As] and [Service.AsHost] create a
// Client. It is safe for concurrent use. Methods of the zero Client panic.
//
// # Errors
//
// If a host's own handlers call the client, these are the API's status and code of each error:
//
//	*Error             422 VALIDATION_FAILED        all violations in the arguments
//	*RejectedURLError  422 WEBHOOK_URL_REJECTED     also an *Error
//	ErrInvalidKey      401 INVALID_API_KEY
//	ErrNotOwner        403 OWNER_REQUIRED
//	ErrNotFound        404 NOT_FOUND                does not exist, is in the trash, or is not accessible
//	ErrLimitReached    409 WORKSPACE_LIMIT_REACHED
//	ErrBlockExists     409 BLOCK_EXISTS
//	*RevisionError     412 REVISION_MISMATCH
//	ErrUnavailable     503 UNAVAILABLE              nothing was changed
//	ErrOutcomeUnknown  503 UNAVAILABLE              it may or may not have been changed
//	context.Canceled   503 UNAVAILABLE              and context.DeadlineExceeded
//
// Any other error is status 500 and should be logged. These errors come from methods without an HTTP operation, with
// recommended statuses:
//
//	ErrClosed                410  as for the form pages
//	ErrConflict              409
//	ErrDuplicate             409
//	ErrIdempotencyKeyReused  409
//	*ConflictError           409  from WorkingCopy.Publish
//	ErrAlreadySubmitted      409
//	ErrUnsupported           501
//
// Errors may be wrapped. Use errors.Is, and errors.As for types with a star.
//
// # Lists
//
// A list is an iterator that reads one page at a time, and holds no connection of the storage between pages. A loop can
// end early, and another loop over the same iterator starts again. The iteration ends at the first error, with a zero
// record. Concurrent changes neither repeat nor skip a record that exists during the whole loop.
type Client struct {
	s     *Service
	actor storage.Actor
}

// As returns a client for a user, with access to the workspaces that the user owns or is a member of. The zero ID has
// access to nothing.
func (s *Service) As(user ID) Client { return Client{s, storage.As(user)} }

// AsHost returns a client that can read and change everything.
func (s *Service) AsHost() Client { return Client{s, storage.AsHost()} }

func (c Client) core() *core.Core {
	if c.s == nil {
		panic("formsvc: the Client is a zero value: create a Client with Service.As or Service.AsHost")
	}
	return c.s.core
}

// TimeZone returns the time zone of [WithTimeZone], in which a page shows the date limits of a form.
func (s *Service) TimeZone() *time.Location { return s.core.TimeZone }

// Limits returns the limits of [WithLimits] with their defaults.
func (s *Service) Limits() Limits { return s.core.Limits }

// ServeHTTP serves the HTTP API. Mount the service at its base path, with or without [http.StripPrefix], or at a
// server's root.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// ExportHandler returns a handler for exports over HTTP, which are not an operation of the API. The host mounts it at
// any path:
//
//	mux.Handle("/exports/", svc.ExportHandler())
//
// GET /exports/<form id>.csv or .ndjson then returns the export. The query parameters correspond to the fields of
// [Export]: since, until and last_line=true, and for CSV also separator=semicolon or tab, choices=ids, several=spread,
// header=labels, bom=true and formulas=kept.
//
// Credentials, key resolver, errors and request IDs are as in the API. An export requires the scope submissions:read.
// Each page of at most 1,000 submissions counts as a request towards the key's rate limit. An export uses at most half
// of the limit, and then waits for its reset. A key can have one export at a time in this process, and a second one is
// RATE_LIMITED. Request.Pattern is the pattern of the host's mux. If it ends in a slash, {form_id}.csv or .ndjson is
// appended.
//
// The first byte of a CSV is sent after all submissions were read once. An export may also wait for its rate limit, by
// default for a minute. The timeout of a proxy, such as proxy_read_timeout of nginx, must allow this.
//
// An error after the first byte closes the connection, so that a truncated file does not look complete, even if a
// middleware recovers [http.ErrAbortHandler] (gin.Default()). If the server buffers responses or gives no access to the
// connection (fiber's adaptor for net/http), use last_line=true. HTTP/1.0 cannot indicate a truncated file, so it is
// rejected with status 505. nginx needs proxy_http_version 1.1.
//
// Instead of the server's WriteTimeout, a client has 30 seconds for each 64 kB. For this, every middleware that wraps
// the [http.ResponseWriter] needs a method Unwrap() http.ResponseWriter, which [http.ResponseController] uses.
// Otherwise the WriteTimeout truncates the file, which is logged once. Mount the handler outside of an
// [http.TimeoutHandler], which buffers a whole export in memory and discards it at the timeout.
func (s *Service) ExportHandler() http.Handler { return s.handler.Exports() }

// Dispatcher returns the service's dispatcher. The host must call its Run, because otherwise deliveries are not sent.
// For when to end the context of Run, see "Graceful shutdown" in the package documentation.
func (s *Service) Dispatcher() *webhooks.Dispatcher { return s.dispatcher }

// WithStorage returns a copy of the service with another storage, usually the host's own transaction. The copy is
// cheap:
//
//	svc.WithStorage(store.On(tx)).Submit(ctx, params)
//
// If the host wraps the service's storage, to audit, count or encrypt for example, it must wrap the result of On in the
// same way:
//
//	svc.WithStorage(audited{store.On(tx)}).Submit(ctx, params)
//
// The copy shares the dispatcher, the rate limiter and the cached forms with the service. Closing it does nothing.
// WithStorage panics if New would reject st. Queued deliveries are sent after the host's commit, at the next poll of
// the dispatcher. To send them immediately, call Dispatcher().Wake() after the commit.
func (s *Service) WithStorage(st storage.Storage) *Service {
	if err := checkStorage(st); err != nil {
		panic(fmt.Sprintf("formsvc: WithStorage: %v", err))
	}
	copied := *s
	copied.keys = keyResolver{s.keys.WithStore(st)}
	copied.inHostTransaction = true
	copied.core = s.core.On(st)
	copied.intake = s.intake.On(copied.core)
	var keys KeyResolver // nil if the host has its own resolver
	if s.resolvesOwnKeys {
		keys = copied.keys
	}
	copied.handler = s.newHandler(copied.core, keys)
	return &copied
}

// Close writes pending views, starts and key usage times, and stops goroutines that started on first use. It can be
// called more than once. It does not stop a running Dispatcher, and does not close the pool and other values that the
// host provided. Stop the server first, because requests after Close are not rate-limited. For the order, see "Graceful
// shutdown" in the package documentation.
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

// keyResolver adapts the keyring to [KeyResolver].
type keyResolver struct{ *keyring.Keyring }

func (k keyResolver) ResolveKey(ctx context.Context, key string) (Principal, error) {
	owner, err := k.Resolve(ctx, key)
	if errors.Is(err, keyring.ErrInvalid) {
		err = ErrInvalidKey
	}
	return Principal(owner), err
}

// urlChecker adapts the webhook guard to core.URLChecker.
type urlChecker struct{ guard *webhooks.Guard }

func (d urlChecker) CheckURL(raw string) error { return publicURLError(d.guard.CheckURL(raw)) }

func (d urlChecker) CheckHost(ctx context.Context, raw string) error {
	return publicURLError(d.guard.CheckHost(ctx, raw))
}

func publicURLError(err error) error {
	if rejected, ok := errors.AsType[*webhooks.URLError](err); ok {
		return &schema.RejectedURLError{Reason: rejected.Reason}
	}
	return err
}

// Version returns the version of this module in the program, such as "v0.1.0" or a pseudo-version, as recorded by the
// Go build. In tests and in builds of a checkout, it is "(devel)". The API description contains it as
// x-formsvc-version.
func Version() string { return version.String() }
