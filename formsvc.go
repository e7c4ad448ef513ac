package formsvc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
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

// Service is the form service. It provides the HTTP API, the Go API for the host, and the webhook dispatcher. It is
// safe for concurrent use. Create it with [New].
//
// Methods of Service do not check permissions. Before you call one on behalf of a user, read the record as that user.
// If the user has no access, the error is [ErrNotFound]:
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
	keys              *keyring.Keyring
	resolvesOwnKeys   bool // whether API keys are resolved by keys, not by a resolver of the host
	calledResolveKey  *atomic.Bool
	localHandlers     map[string]http.Handler
	inHostTransaction bool // whether WithStorage created the service, so that the host commits and wakes the dispatcher
}

// New returns a service. Only [WithStorage] is required. The returned error joins the errors of all options. New starts
// no goroutine and opens no connection.
func New(opts ...Option) (*Service, error) {
	o := defaultOptions()
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

	s := &Service{limiter: o.http.Limiter, resolvesOwnKeys: o.resolver == nil, calledResolveKey: new(atomic.Bool), localHandlers: o.webhooks.Local}
	var startDispatch func() (to storage.DirectDispatcher, stored func())
	var err error
	s.dispatcher, startDispatch, err = webhooks.NewDispatcher(o.webhooks, dispatch.Params{
		Store: o.storage, Secrets: o.secrets, Logger: o.logger, Now: o.clock,
		Sweep: func(ctx context.Context, now time.Time) error { return s.core.Sweep(ctx, now) },
	})
	if err != nil {
		return nil, fmt.Errorf("formsvc: %w", err)
	}
	s.keys = keyring.New(o.keyPrefix, o.storage, o.clock, o.logger)
	s.core, err = core.New(core.Core{
		Host:    o.host,
		Storage: o.storage, URLs: urlChecker{s.dispatcher.Guard()}, Secrets: o.secrets,
		Limits: o.limits, Versions: o.versions, Clock: o.clock, NewID: objectid.NewSource().New, TimeZone: o.timeZone, Log: o.logger, RemoveFiles: o.removeFiles, BeforeDelete: o.beforeDelete,
	})
	if err != nil {
		return nil, fmt.Errorf("formsvc: %w", err)
	}
	s.intake = intake.New(s.core, startDispatch, o.webhooks.IncludeRespondent)
	config := o.http
	config.Core, config.Logger = s.core, o.logger
	config.Import = func(ctx context.Context, form ID, lenient, deliver bool, lines io.Reader, progress func() error) (ImportReport, error) {
		return s.intake.Import(ctx, intake.ImportParams{FormID: form, Lenient: lenient, Deliver: deliver}, lines, func(ImportReport) error { return progress() })
	}
	if s.resolvesOwnKeys {
		o.resolver = s.keys
	} else {
		o.resolver = hostResolver{o.resolver, o.keyPrefix, s.calledResolveKey, o.logger}
	}
	if s.handler, s.newHandler, err = handler.New(config, o.resolver); err != nil {
		return nil, fmt.Errorf("formsvc: %w", err)
	}
	return s, nil
}

// Client provides the API's operations in Go, with the same rules. [Service.As] and [Service.AsHost] create a Client.
// It is safe for concurrent use. Methods of the zero Client panic.
//
// # Errors
//
// The API responds to each error with this status and code. A host's own handlers that call a Client can do the same:
//
//	*Error                422 VALIDATION_FAILED        all violations in the arguments
//	*RejectedURLError     422 WEBHOOK_URL_REJECTED     also an *Error
//	ErrInvalidKey         401 INVALID_API_KEY
//	ErrNotOwner           403 OWNER_REQUIRED
//	ErrInsufficientScope  403 INSUFFICIENT_SCOPE       after Client.With
//	ErrNotFound           404 NOT_FOUND                does not exist, is in the trash, or is not accessible
//	ErrLimitReached       409 WORKSPACE_LIMIT_REACHED
//	ErrBlockExists        409 BLOCK_EXISTS
//	*RevisionError        412 REVISION_MISMATCH
//	ErrUnavailable        503 UNAVAILABLE              nothing was changed
//	ErrOutcomeUnknown     503 UNAVAILABLE              the change may or may not be stored
//	context.Canceled      503 UNAVAILABLE              also context.DeadlineExceeded
//
// Respond to any other error with status 500, and log it. Methods without an HTTP operation also return these errors.
// The statuses are recommendations:
//
//	ErrClosed                410  as for the form pages
//	ErrConflict              409
//	ErrDuplicate             409
//	ErrIdempotencyKeyReused  409
//	*ConflictError           409  from WorkingCopy.Publish
//	ErrAlreadySubmitted      409
//	ErrUnsupported           501
//
// Errors may be wrapped. Use errors.Is, or errors.As for types with a star.
//
// # Lists
//
// A list is an iterator that reads one page at a time, and holds no storage connection between pages. A loop can end
// early, and a second loop over the same iterator starts from the beginning. The iteration ends at the first error,
// which is yielded with a zero record. Despite concurrent changes, the loop yields each record exactly once if the
// record exists during the whole loop.
type Client struct {
	s      *Service
	actor  storage.Actor
	scopes []Scope // nil means all scopes
}

// As returns a client for a user, with access to the workspaces that the user owns or is a member of. With the zero ID,
// the client has access to nothing.
func (s *Service) As(user ID) Client { return Client{s: s, actor: storage.As(user)} }

// AsHost returns a client that can read and change everything.
func (s *Service) AsHost() Client { return Client{s: s, actor: storage.AsHost()} }

func (c Client) core() *core.Core {
	if c.s == nil {
		panic("formsvc: the Client is a zero value: create a Client with Service.As or Service.AsHost")
	}
	return c.s.core
}

// TimeZone returns the time zone set by [WithTimeZone]. Pages show a form's date limits in this zone.
func (s *Service) TimeZone() *time.Location { return s.core.TimeZone }

// Limits returns the limits set by [WithLimits]. Unset limits have their defaults.
func (s *Service) Limits() Limits { return s.core.Limits }

// ServeHTTP serves the HTTP API. Mount it at its base path, with or without [http.StripPrefix], or at a server's root.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// ExportHandler returns a handler that serves exports over HTTP. Exports are not an operation of the API, so the host
// mounts this handler at any path:
//
//	mux.Handle("/exports/", svc.ExportHandler())
//
// GET /exports/<form id>.csv or .ndjson then returns the export. The query parameters correspond to the fields of
// [Export]: since, until, where (JsonLogic), text, changes=true and last_line=true, for NDJSON also history=true, and for
// CSV also separator=semicolon or tab, choices=ids, several=spread, header=labels, bom=true and formulas=kept.
//
// Credentials, the key resolver, errors and request IDs work as in the API. An export requires the scope
// submissions:read. Each page of at most 1,000 submissions counts as a request toward the key's rate limit. An export
// uses at most half of the limit, and then waits until the limit resets. A key can run one export at a time in this
// process. A second export fails with RATE_LIMITED. Request.Pattern is the pattern of the host's mux. If it ends in a
// slash, {form_id}.csv or .ndjson is appended.
//
// The first byte of a CSV file is sent only after all submissions have been read once. An export may also wait until
// its rate limit resets, by default up to a minute. Proxy timeouts, such as nginx's proxy_read_timeout, must allow for
// this.
//
// An error after the first byte closes the connection, so that a truncated file does not look complete. This works even
// if a middleware recovers [http.ErrAbortHandler], as gin.Default() does. If the server buffers responses or gives no
// access to the connection (fiber's adaptor for net/http), use last_line=true. HTTP/1.0 cannot indicate a truncated
// file, so such requests are rejected with status 505. nginx needs proxy_http_version 1.1.
//
// The server's WriteTimeout does not apply. Instead, a client has 30 seconds for each 64 kB. For this, every middleware
// that wraps the [http.ResponseWriter] needs a method Unwrap() http.ResponseWriter, which [http.ResponseController]
// uses. Otherwise the WriteTimeout truncates the file, which is logged once. Do not wrap the handler in an
// [http.TimeoutHandler], which buffers the whole export in memory and discards it at the timeout.
func (s *Service) ExportHandler() http.Handler { return s.handler.Exports() }

// ImportHandler returns a handler that imports submissions over HTTP. Imports are not an operation of the API, so the
// host mounts this handler at any path:
//
//	mux.Handle("/imports/", svc.ImportHandler())
//
// POST /imports/<form id> stores the submissions in the body, which has the format of an NDJSON export, as
// [Client.Import] does. The Content-Type is application/x-ndjson, or application/json for one line, without a
// Content-Encoding. The query parameters lenient=true and deliver=true correspond to the fields of [Import].
//
// An API key must not forge a payment or a respondent. Therefore, answers to payment, file_upload and signature blocks
// and to blocks with properties.hide are refused, and so is the field respondent. To import these, call Client.Import
// in a handler of your own: its example shows one.
//
// Credentials, errors and request IDs work as in the API. An import requires the scopes forms:write and
// submissions:write. A draft returns 409 with CONFLICT: publish the form first. A key can run one import at a time in
// this process. Every 1,000 lines count as a request toward the key's rate limit, as in an export. The response is an
// object with the numbers imported and repeated, and with the list refused: each item has a line and the details of an
// error. If a request fails, send it again: submissions that were already stored are only counted as repeated.
//
// A body can have any length, and the request can take any time. The server's ReadTimeout and WriteTimeout do not apply:
// instead, the client has a minute to send each 64 KiB, and a minute to read the response. For this, a middleware must
// not hide the connection: see [Service.ExportHandler]. Do not wrap the handler in an [http.TimeoutHandler]. Limits of
// proxies apply to body sizes and times, such as nginx's client_max_body_size and proxy_read_timeout. If they are too
// low, send the lines in several requests.
func (s *Service) ImportHandler() http.Handler { return s.handler.Imports() }

// Dispatcher returns the service's dispatcher. The host must call its Run method. Otherwise, deliveries are not sent.
// The section "Graceful shutdown" of the package documentation says when to cancel Run's context.
func (s *Service) Dispatcher() *webhooks.Dispatcher { return s.dispatcher }

// WithStorage returns a copy of the service that uses another storage, usually the host's own transaction. Copying is
// cheap:
//
//	svc.WithStorage(store.On(tx)).Submit(ctx, params)
//
// If the host wraps the service's storage, for example to audit or encrypt, it must wrap the result of On in the same
// way:
//
//	svc.WithStorage(audited{store.On(tx)}).Submit(ctx, params)
//
// The copy shares the dispatcher, the rate limiter and the cached forms with the service. Closing the copy does
// nothing. WithStorage panics if New would reject st. After the host commits, the dispatcher sends the queued
// deliveries at its next poll. To send them immediately, call Dispatcher().Wake() after the commit.
func (s *Service) WithStorage(st storage.Storage) *Service {
	if err := checkStorage(st); err != nil {
		panic(fmt.Sprintf("formsvc: WithStorage: %v", err))
	}
	copied := *s
	copied.keys = s.keys.WithStore(st)
	copied.inHostTransaction = true
	copied.core = s.core.WithStorage(st)
	copied.intake = s.intake.InHostTransaction(copied.core)
	var keys KeyResolver // nil if the host has its own resolver
	if s.resolvesOwnKeys {
		keys = copied.keys
	}
	copied.handler = s.newHandler(copied.core, keys)
	return &copied
}

// WithFormCheck returns a copy of the service that calls check before it creates a form or changes the content of a form
// or a working copy. For a new form, before is the zero value. If check returns an error, nothing is changed, and the
// caller receives the error. An [*Error] results in a 422. [WorkingCopy.Publish] does not call check, because the
// working copy was checked before. check must be safe for concurrent use, and must not modify its arguments. The copy
// shares everything else with the service.
//
// The builder shows each violation's Message next to the value at Path, or above the editor. For a Code of package
// schema, it shows its own text in languages other than English, so use another Code.
func (s *Service) WithFormCheck(check func(before, after FormContent) error) *Service {
	copied, checked := *s, *s.core
	checked.CheckContent = check
	copied.core, copied.handler = &checked, s.newHandler(&checked, nil)
	return &copied
}

// Close writes pending views, starts and key usage times, and stops goroutines that started on first use. It is safe to
// call Close more than once. It does not stop a running Dispatcher, and does not close the pool or other values that
// the host provided. Stop the server first, because requests after Close are not rate-limited. For the order, see
// "Graceful shutdown" in the package documentation.
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

// slowResolver is the time after which a call of the host's resolver is logged.
const slowResolver = 2 * time.Second

// hostResolver is the host's resolver. It logs calls that hang, and the first rejected API key if the host never calls
// [Service.ResolveKey].
type hostResolver struct {
	KeyResolver
	keyPrefix        string
	calledResolveKey *atomic.Bool // also set when the rejected key is logged
	log              *slog.Logger
}

func (h hostResolver) ResolveKey(ctx context.Context, credential string) (Principal, error) {
	defer time.AfterFunc(slowResolver, func() { h.log.WarnContext(ctx, "key resolver has not returned", "duration", slowResolver) }).Stop()
	p, err := h.KeyResolver.ResolveKey(ctx, credential)
	if errors.Is(err, ErrInvalidKey) && strings.HasPrefix(credential, h.keyPrefix+"_live_") && h.calledResolveKey.CompareAndSwap(false, true) {
		h.log.WarnContext(ctx, "key resolver rejected an API key: for an unknown credential, call Service.ResolveKey")
	}
	return p, err
}

// urlChecker adapts the webhook guard to core.URLChecker.
type urlChecker struct{ guard *webhooks.Guard }

func (d urlChecker) CheckURL(raw string) error { return convertURLError(d.guard.CheckURL(raw)) }

func (d urlChecker) CheckHost(ctx context.Context, raw string) error {
	return convertURLError(d.guard.CheckHost(ctx, raw))
}

// localURLChecker checks the URLs of local webhooks, and logs those without a handler in this process.
type localURLChecker struct {
	handlers map[string]http.Handler
	log      *slog.Logger
}

func (localURLChecker) CheckURL(raw string) error {
	return convertURLError(webhooks.CheckLocalURL(raw))
}

func (d localURLChecker) CheckHost(ctx context.Context, raw string) error {
	if name := strings.TrimPrefix(raw, "local:"); d.handlers[name] == nil {
		d.log.WarnContext(ctx, "webhooks.Config.Local has no handler for a local webhook: deliveries wait for another process", "name", name)
	}
	return nil
}

func convertURLError(err error) error {
	if rejected, ok := errors.AsType[*webhooks.URLError](err); ok {
		return &schema.RejectedURLError{Reason: rejected.Reason}
	}
	return err
}

// Version returns the version of this module in the program, such as "v0.1.0" or a pseudo-version, as recorded by the
// Go build. In tests and builds from a checkout, it is "(devel)". In the API description, it is x-formsvc-version.
func Version() string { return version.String() }
