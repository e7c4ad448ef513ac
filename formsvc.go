package formsvc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/formsvc/formsvc/handler"
	"github.com/formsvc/formsvc/internal/core"
	"github.com/formsvc/formsvc/internal/intake"
	"github.com/formsvc/formsvc/internal/keyring"
	"github.com/formsvc/formsvc/internal/secrets"
	"github.com/formsvc/formsvc/ratelimit"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/webhooks"
)

// Names that hosts use and that live in the packages below.
type (
	// ID names a record: 24 hexadecimal digits on the wire.
	ID = storage.ID
	// User is the owner of API keys.
	//
	//	ID    ID
	//	Name  string
	//	Email string
	User = storage.User
	// Key is what is kept of an API key: everything but the key itself.
	//
	//	ID         ID
	//	UserID     ID
	//	Name       string
	//	Prefix     string
	//	Scopes     []Scope
	//	CreatedAt  time.Time
	//	ExpiresAt  time.Time
	//	RevokedAt  time.Time
	//	LastUsedAt time.Time
	Key = storage.Key
	// Workspace is a set of forms with an owner and members.
	//
	//	ID        ID
	//	PublicID  string
	//	OwnerID   ID
	//	Name      string
	//	CreatedAt time.Time
	//	UpdatedAt time.Time
	Workspace = storage.Workspace
	// Form is a form as it is stored.
	//
	//	ID                ID
	//	PublicID          string
	//	WorkspaceID       ID
	//	Name              string
	//	Type              string
	//	Status            string
	//	Revision          int64
	//	Gate              storage.Gate
	//	Full              bool
	//	DuplicatesCovered bool
	//	CreatedAt         time.Time
	//	UpdatedAt         time.Time
	//	TrashedAt         time.Time
	//	Definition        Definition
	Form = storage.Form
	// Submission is a stored response.
	//
	//	ID             ID
	//	FormID         ID
	//	FormRevision   int64
	//	SubmittedAt    time.Time
	//	CompletionTime float64
	//	Answers        json.RawMessage
	//	Metadata       json.RawMessage
	//	Hidden         json.RawMessage
	Submission = storage.Submission
	// Definition is what a form consists of, as five JSON values.
	//
	//	Blocks       json.RawMessage
	//	Settings     json.RawMessage
	//	Theme        json.RawMessage
	//	Variables    json.RawMessage
	//	HiddenFields json.RawMessage
	//	Format       int
	Definition = storage.Definition
	// Webhook is where the responses of a form are sent. The signing secret is not part of
	// it.
	//
	//	ID        ID
	//	FormID    ID
	//	URL       string
	//	Enabled   bool
	//	HasSecret bool
	//	CreatedAt time.Time
	//	UpdatedAt time.Time
	Webhook = storage.Webhook
	// Delivery is one try to deliver an event to a webhook.
	//
	//	ID            ID
	//	WebhookID     ID
	//	EventID       ID
	//	EventType     string
	//	SubmissionID  ID
	//	Attempt       int
	//	Status        int
	//	Success       bool
	//	Error         string
	//	Duration      time.Duration
	//	CreatedAt     time.Time
	//	NextAttemptAt time.Time
	Delivery = storage.Delivery
	// RevisionError says that a form is not at the expected revision, and at which.
	//
	//	Current int64
	RevisionError = storage.RevisionError
	// RejectedURLError says why nothing may be sent to a URL.
	//
	//	Reason string
	RejectedURLError = core.RejectedURLError
	// Counters count the steps of a form's funnel.
	//
	//	Views, Starts, Submissions int64
	Counters = storage.Counters
	// Scope is one permission of an API key. [Scopes] lists them.
	Scope = storage.Scope
	// Principal is who an API key belongs to.
	//
	//	KeyID  string
	//	UserID ID
	//	Name   string
	//	Email  string
	//	Scopes []Scope
	Principal = handler.Principal
	// KeyResolver finds out whose key a request carries.
	KeyResolver = handler.KeyResolver
	// Limits are the sizes that a host may change.
	//
	//	Body       int64
	//	Workspaces int
	//	Webhooks   int
	//	Blocks     int
	//	AllBlocks  int
	//	Nesting    int
	//	Cells      int
	//	AllCells   int
	//	Choices    int
	//	CustomCSS  int
	//	Text       int
	//	Rule       int
	//	Definition int
	//	Response   int
	//	FileSize   int64
	Limits = schema.Limits
	// Error lists everything that is wrong with a response.
	//
	//	Violations []schema.Violation
	Error = schema.Error
)

// Credential is the default of [WithCredential]: X-API-Key, then Authorization with the
// scheme Bearer. A host that also takes a cookie calls it first, so that an
// old cookie does not stand in the way of a valid key.
func Credential(r *http.Request) string { return handler.Credential(r) }

// The scopes of API keys, and what each allows over HTTP. Go calls need none.
const (
	ScopeFormsRead        = storage.ScopeFormsRead        // read forms and blocks
	ScopeFormsWrite       = storage.ScopeFormsWrite       // change forms and blocks
	ScopeSubmissionsRead  = storage.ScopeSubmissionsRead  // read and export responses
	ScopeSubmissionsWrite = storage.ScopeSubmissionsWrite // delete responses
	ScopeWorkspacesRead   = storage.ScopeWorkspacesRead
	ScopeWorkspacesWrite  = storage.ScopeWorkspacesWrite
	ScopeWebhooksRead     = storage.ScopeWebhooksRead
	ScopeWebhooksWrite    = storage.ScopeWebhooksWrite
	ScopeAnalyticsRead    = storage.ScopeAnalyticsRead // read metrics
)

// Scopes returns all scopes.
func Scopes() []Scope { return storage.Scopes() }

// The values of a form's Status.
const (
	StatusDraft     = storage.StatusDraft     // takes no responses; respondents do not see it
	StatusPublished = storage.StatusPublished // takes responses unless it is closed
)

// ParseID returns the ID that 24 hexadecimal digits stand for, in lower or upper case. All
// else is an error.
func ParseID(s string) (ID, error) { return storage.ParseID(s) }

// Errors of the Go calls. Compare with [errors.Is].
var (
	// ErrInvalidKey is what a [KeyResolver] returns for a key it does not accept.
	ErrInvalidKey = handler.ErrInvalidKey
	// ErrNotFound: there is no such record, or it is in the trash.
	ErrNotFound = storage.ErrNotFound
	// ErrConflict: the current state does not allow the call.
	ErrConflict = storage.ErrConflict
	// ErrDuplicate: the form has that answer to its duplicateField already.
	ErrDuplicate = storage.ErrDuplicate
	// ErrLimitReached: there are as many as are allowed: workspaces of an owner, keys of a
	// user.
	ErrLimitReached = storage.ErrLimitReached
	// ErrNotOwner: only the owner of the workspace may do this.
	ErrNotOwner = storage.ErrNotOwner
	// ErrBlockExists: the form already has a block with this id.
	ErrBlockExists = core.ErrBlockExists
	// ErrClosed: the form takes no more responses.
	ErrClosed = errors.New("formsvc: the form is closed")
	// ErrKeyUsed: another response is stored with the idempotency key of one that asks for
	// OneContent.
	ErrKeyUsed = errors.New("formsvc: another response has this idempotency key")
	// ErrSecret: a signing secret cannot be opened with the ciphers of WithSecretCipher.
	ErrSecret = secrets.ErrSecret
	// ErrUnavailable: the storage cannot be reached or is not ready. Nothing was changed,
	// and the call may be repeated.
	ErrUnavailable = storage.ErrUnavailable
	// ErrOutcomeUnknown: the storage was lost while it made the change durable, which may
	// have happened or not.
	ErrOutcomeUnknown = storage.ErrOutcomeUnknown
)

// Service is the form service: the handler of the HTTP API, the Go calls that a
// host needs beside it, and the dispatcher of webhooks. It is safe for concurrent
// use. Make one with [New].
type Service struct {
	core       *core.Core
	intake     *intake.Intake
	handler    *handler.Handler
	handlerOn  func(*core.Core, handler.KeyResolver) *handler.Handler
	dispatcher *webhooks.Dispatcher
	limiter    *ratelimit.Limiter
	keys       *keyring.Keyring
	ownKeys    bool // keys are resolved by keys, not by the host
	borrowed   bool // made by Using: the host commits or rolls back, and wakes the dispatcher
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

	s := &Service{limiter: o.limiter, ownKeys: o.resolver == nil}
	var handOver func() (to storage.HandOver, stored func())
	var err error
	s.dispatcher, handOver, err = webhooks.New(webhooks.Params{
		Store: o.storage, Config: o.webhooks, Secrets: o.secrets, Logger: o.logger, Now: o.clock,
		Sweep: func(ctx context.Context, now time.Time) error { return s.core.Sweep(ctx, now) },
	})
	if err != nil {
		return nil, fmt.Errorf("formsvc: %w", err)
	}
	s.keys = keyring.New(o.keyPrefix, o.storage, o.clock, o.logger)
	s.core, err = core.New(core.Core{
		Storage: o.storage, URLs: destinations{s.dispatcher.Guard()}, Secrets: o.secrets,
		Limits: o.limits, Clock: o.clock, NewID: o.ids.New, TimeZone: o.timeZone,
	})
	if err != nil {
		return nil, fmt.Errorf("formsvc: %w", err)
	}
	s.intake = intake.New(s.core, handOver)
	config := handler.Config{
		Core:        s.core,
		Resolver:    o.resolver,
		Credential:  o.credential,
		Limiter:     o.limiter,
		BasePath:    o.basePath,
		BaseURL:     o.baseURL,
		BaseURLFunc: o.baseURLFunc,
		Logger:      o.logger,
	}
	if s.ownKeys {
		config.Resolver = s.keys
	}
	if s.handler, s.handlerOn, err = handler.New(config); err != nil {
		return nil, fmt.Errorf("formsvc: %w", err)
	}
	return s, nil
}

// TimeZone returns the zone of calendar days ([WithTimeZone]): a page that shows the
// bounds of a date shows the days that they have there.
func (s *Service) TimeZone() *time.Location { return s.core.TimeZone }

// Limits returns the sizes of [WithLimits], with the defaults where it names none.
func (s *Service) Limits() Limits { return s.core.Limits }

// ServeHTTP serves the HTTP API. Mount the service at its base path, with or
// without a prefix stripped, or at the root of a server.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Dispatcher returns the dispatcher, which sends webhooks: always the same one. The host
// runs it; without a Run, deliveries wait in the storage.
func (s *Service) Dispatcher() *webhooks.Dispatcher { return s.dispatcher }

// Using returns a cheap copy of the service on another store, most of all on the
// host's own transaction:
//
//	svc.Using(store.On(tx)).Submit(ctx, response)
//
// The copy shares the dispatcher, the rate limiter, the known forms and the
// rest; closing it does nothing. st must not be nil. What the copy queues is sent
// after the host's commit: call Dispatcher().Wake() then, or wait for the next poll.
func (s *Service) Using(st storage.Storage) *Service {
	if st == nil {
		panic("formsvc: Using: nil storage")
	}
	copied := *s
	copied.keys = s.keys.On(st)
	copied.borrowed = true
	copied.core = s.core.On(st)
	copied.intake = s.intake.On(copied.core)
	var keys handler.KeyResolver // nil: the host's
	if s.ownKeys {
		keys = copied.keys
	}
	copied.handler = s.handlerOn(copied.core, keys)
	return &copied
}

// Close stops what the service started lazily and writes the last uses of keys
// that are still pending. It never closes what the host gave. It may be called
// more than once. A running Dispatcher is stopped by its own context, and the host
// stops its server first: requests after Close are not limited any more.
func (s *Service) Close(ctx context.Context) error {
	if s.borrowed {
		return nil
	}
	err := s.keys.Close(ctx)
	if s.limiter != nil {
		err = errors.Join(err, s.limiter.Close(ctx))
	}
	return err
}

// destinations lets the handler ask the webhook guard about URLs.
type destinations struct{ guard *webhooks.Guard }

func (d destinations) CheckURL(raw string) error { return rejection(d.guard.CheckURL(raw)) }

func (d destinations) CheckHost(ctx context.Context, raw string) error {
	return rejection(d.guard.CheckHost(ctx, raw))
}

func rejection(err error) error {
	var refused *webhooks.URLError
	if errors.As(err, &refused) {
		return &core.RejectedURLError{Reason: refused.Reason}
	}
	return err
}
