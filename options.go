package formsvc

import (
	"cmp"
	"context"
	"crypto/cipher"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/sethvargo/go-limiter"

	"github.com/formsvc/formsvc/handler"
	"github.com/formsvc/formsvc/internal/apidoc"
	"github.com/formsvc/formsvc/internal/httpapi"
	"github.com/formsvc/formsvc/internal/objectid"
	"github.com/formsvc/formsvc/internal/secrets"
	"github.com/formsvc/formsvc/ratelimit"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/webhooks"
)

// Option configures a [Service]. Only [WithStorage] is required.
type Option func(*options) error

type options struct {
	storage           storage.Storage
	http              httpapi.Config // New adds the core and the logger
	resolver          KeyResolver    // nil: the service's own keys
	keyPrefix         string
	limiterSet        bool // http.Limiter is what the host wants; if nil, there is no limit
	webhooks          webhooks.Config
	secrets           *secrets.Encrypter
	requireEncryption bool
	limits            Limits
	versions          int
	timeZone          *time.Location
	removeFiles       func(context.Context, []string) error
	beforeDelete      func(context.Context, ID, []ID) error
	logger            *slog.Logger
	clock             func() time.Time
}

func defaults() options {
	return options{
		http:      httpapi.Config{BasePath: "/v1"},
		keyPrefix: "fs",
		logger:    slog.New(slog.DiscardHandler),
		timeZone:  time.UTC,
		versions:  100,
		clock:     time.Now,
	}
}

// validate reports what no single option can see, and fills in what depends on
// others.
func (o *options) validate() error {
	var faults []error
	if o.storage == nil {
		faults = append(faults, errors.New("formsvc: WithStorage is required"))
	} else if err := checkStorage(o.storage); err != nil {
		faults = append(faults, fmt.Errorf("formsvc: WithStorage: %w", err))
	}
	if o.http.BaseURL != "" && o.http.BaseURLFunc != nil {
		faults = append(faults, errors.New("formsvc: WithBaseURL and WithBaseURLFunc cannot be combined"))
	}
	switch {
	case o.requireEncryption && o.secrets == nil:
		faults = append(faults, errors.New("formsvc: WithoutPlainSecrets requires WithSecretCipher"))
	case o.requireEncryption:
		o.secrets = o.secrets.EncryptedOnly()
	}
	if !o.limiterSet {
		faults = append(faults, WithRateLimit(ratelimit.DefaultTokens, ratelimit.DefaultPer)(o))
	}
	return errors.Join(faults...)
}

// checkStorage refuses a storage that no call can work on.
func checkStorage(st storage.Storage) error {
	if v := reflect.ValueOf(st); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return fmt.Errorf("the storage is nil (%T)", st)
	}
	if checks, ok := st.(interface{ Validate() error }); ok {
		return checks.Validate()
	}
	return nil
}

// option sets a value, unless there is a fault in it.
func option(name string, fault error, set func(*options)) Option {
	return func(o *options) error {
		if fault != nil {
			return fmt.Errorf("formsvc: %s: %w", name, fault)
		}
		set(o)
		return nil
	}
}

// requireValue is the fault of a value that must not be nil.
func requireValue(isNil bool) error {
	if isNil {
		return errors.New("nil")
	}
	return nil
}

// WithStorage sets where everything is kept. Required. The service never closes
// it. [New] refuses a nil pointer, and a storage whose method Validate() error, if it
// has one, returns an error.
func WithStorage(s storage.Storage) Option {
	return option("WithStorage", requireValue(s == nil), func(o *options) { o.storage = s })
}

// WithKeyResolver lets the host decide whose key a request carries. It replaces the
// default, the keys that [Service.CreateKey] makes: they are not accepted any more,
// unless the resolver passes what it does not know on to [Service.ResolveKey], as in the
// example. "Sessions and keys" in the package's documentation says what belongs to it.
func WithKeyResolver(r KeyResolver) Option {
	return option("WithKeyResolver", requireValue(r == nil), func(o *options) { o.resolver = r })
}

// What a host with keys of its own brings, and what it uses.
type (
	// Principal is who an API key belongs to. KeyID is never the key or a cookie itself: see
	// "Sessions and keys" in the package's documentation. Fields: [handler.Principal].
	Principal = handler.Principal
	// KeyResolver finds out whose key a request carries, at each request and from many goroutines
	// at once. Without a Principal it returns [ErrInvalidKey], which is 401; any other error is 503.
	// The contract: [handler.KeyResolver].
	KeyResolver = handler.KeyResolver
)

// ErrInvalidKey is what a [KeyResolver] returns for a key it does not accept.
var ErrInvalidKey = handler.ErrInvalidKey

// Credential is the default of [WithCredential]: X-API-Key, then Authorization with the
// scheme Bearer. A host that also takes a cookie calls it first, so that an
// old cookie does not stand in the way of a valid key.
func Credential(r *http.Request) string { return handler.Credential(r) }

// WithCredential sets how the key is taken out of a request, for a host that
// carries it in a cookie or a header of its own. An empty string is a missing
// key. Default: X-API-Key, then Authorization with the scheme Bearer. A key must
// not come from the URL.
func WithCredential(f func(*http.Request) string) Option {
	return option("WithCredential", requireValue(f == nil), func(o *options) { o.http.Credential = f })
}

// WithBasePath sets the path under which the API lives. Default "/v1". "" and "/"
// mean none.
func WithBasePath(path string) Option {
	return option("WithBasePath", apidoc.CheckBasePath(path), func(o *options) { o.http.BasePath = strings.TrimSuffix(path, "/") })
}

// WithBaseURL sets what links and Location headers begin with, without the base
// path: an absolute URL such as "https://api.example.com", or a path such as
// "/api" when the host mounts the service deeper. Default "": links are paths
// that begin with the base path. It is never taken from the request.
func WithBaseURL(base string) Option {
	return option("WithBaseURL", apidoc.CheckBaseURL(base), func(o *options) { o.http.BaseURL = strings.TrimSuffix(base, "/") })
}

// WithBaseURLFunc is [WithBaseURL] for a host with many domains: f returns the base URL
// of a request. A URL of f must not be taken unchecked from the request. The
// description then names no server.
func WithBaseURLFunc(f func(*http.Request) string) Option {
	return option("WithBaseURLFunc", requireValue(f == nil), func(o *options) { o.http.BaseURLFunc = f })
}

// WithKeyPrefix sets what built-in API keys begin with: <prefix>_live_….
// Default "fs". It is 1 to 20 letters and digits. Keys with another prefix are
// not accepted any more.
func WithKeyPrefix(prefix string) Option {
	var fault error
	if prefix == "" || len(prefix) > 20 || strings.Trim(prefix, objectid.Base62) != "" {
		fault = fmt.Errorf("%q must be 1 to 20 letters and digits", prefix)
	}
	return option("WithKeyPrefix", fault, func(o *options) { o.keyPrefix = prefix })
}

// WithRateLimit lets each key make tokens calls per interval, counted in this
// process. Default [ratelimit.DefaultTokens] in [ratelimit.DefaultPer], a minute.
func WithRateLimit(tokens uint64, per time.Duration) Option {
	return func(o *options) error {
		limiter, err := ratelimit.New(tokens, per)
		if err != nil {
			return fmt.Errorf("formsvc: WithRateLimit: %w", err)
		}
		return o.setLimiter(limiter)
	}
}

// WithLimiter counts calls in the host's own store, which replicas may share; the
// limit is the store's. Its keys are "formsvc:", base URL and base path, "#" and the id of
// the caller's key, so that several services on one store do not share budgets:
// [WithLimiterName] names them otherwise. The service never closes it. When it fails, or does not answer within 250 ms, calls pass; one line is
// logged when that begins and one when it has ended.
func WithLimiter(store limiter.Store) Option {
	return func(o *options) error {
		if store == nil {
			return errors.New("formsvc: WithLimiter: the store is nil")
		}
		return o.setLimiter(ratelimit.NewWithStore(store))
	}
}

// WithLimiterName names the service in the keys of [WithLimiter], in place of base URL and
// base path. Two services need it that have both of these in common; two that are to share
// their budgets, or a service that moves to another URL, may have the name of the other.
// It is 1 to 100 visible ASCII characters, without "#".
func WithLimiterName(name string) Option {
	var fault error
	if name == "" || len(name) > 100 || strings.ContainsFunc(name, func(c rune) bool { return c <= ' ' || c >= 0x7f || c == '#' }) {
		fault = fmt.Errorf("%q must be 1 to 100 visible ASCII characters without #", name)
	}
	return option("WithLimiterName", fault, func(o *options) { o.http.LimiterName = name })
}

// WithoutRateLimit limits nothing, for a host that does so itself.
func WithoutRateLimit() Option {
	return func(o *options) error { return o.setLimiter(nil) }
}

func (o *options) setLimiter(l *ratelimit.Limiter) error {
	if o.limiterSet {
		return errors.New("formsvc: WithRateLimit, WithLimiter and WithoutRateLimit cannot be combined")
	}
	o.http.Limiter, o.limiterSet = l, true
	return nil
}

// WithWebhookConfig sets how deliveries are made. Zero fields have their defaults.
func WithWebhookConfig(c webhooks.Config) Option {
	return option("WithWebhookConfig", c.Validate(), func(o *options) { o.webhooks = c })
}

// WithSecretCipher encrypts the signing secrets of webhooks in the storage, bound
// to their webhook. [crypto/aes.NewCipher] with a key of 32 bytes and [crypto/cipher.NewGCM]
// make a cipher, as in the example; the service makes the nonces. Secrets that were sealed with one of the previous ciphers, or
// stored before there was one, are still read; new ones are sealed with current, and
// [Service.ReencryptSecrets] seals the others with it.
// Default: stored as they are, and PostgreSQL may then write them into its log: see
// package storage/postgres.
func WithSecretCipher(current cipher.AEAD, previous ...cipher.AEAD) Option {
	sealer, err := secrets.New(current, previous...)
	return option("WithSecretCipher", cmp.Or(requireValue(current == nil), err), func(o *options) { o.secrets = sealer })
}

// WithoutPlainSecrets refuses signing secrets that are stored as they are, so that nobody
// who can write to the storage alone chooses what a webhook is signed with: nothing is sent
// to such a webhook, and the log names it. It needs [WithSecretCipher]. Before it is set,
// every process has the cipher and [Service.ReencryptSecrets] has returned without an error;
// with it, that call reports such a secret as [ErrSecret] and leaves it.
func WithoutPlainSecrets() Option {
	return option("WithoutPlainSecrets", nil, func(o *options) { o.requireEncryption = true })
}

// WithLimits changes sizes. Zero fields keep their defaults.
func WithLimits(l Limits) Option {
	return option("WithLimits", l.Validate(), func(o *options) { o.limits = l })
}

// WithVersions sets how many versions of a form are kept, see [Client.Versions]. Default 100; 0
// keeps none, and leaves those that there are.
func WithVersions(n int) Option {
	var fault error
	if n < 0 {
		fault = fmt.Errorf("%d is negative", n)
	}
	return option("WithVersions", fault, func(o *options) { o.versions = n })
}

// WithTimeZone sets the zone whose calendar days the bounds of a date mean (beforeDate,
// afterDate and specificDates of a block). Default UTC.
//
// A bound in UTC means the day that this point in time has in the zone. A bound that is
// written with another offset means the day as it is written; it is stored, in UTC, as
// the start of that day in the zone. So owners in many zones send their offset, and a
// product whose owners live in one zone sets it here. With another zone later, stored
// bounds may mean other days.
//
// A zone of the time zone database has to be found when the program starts: a host that
// runs where there is none imports time/tzdata.
func WithTimeZone(zone *time.Location) Option {
	return option("WithTimeZone", requireValue(zone == nil), func(o *options) { o.timeZone = zone })
}

// FileRemover removes files that respondents sent, by the ids that they have in answers to
// file_upload and signature. [formpage.Dir] is one. It must be safe for concurrent use.
//
// RemoveFiles is called before responses are removed for good, with the files of some of them:
// at most 1,000 responses at a time, which may never be together in a call again. A file that is
// not there, or whose id is not one of the store's, is no error: after a fault, a crash, or
// in two processes at once it gets the same ids again. With an error these responses stay,
// and the call that removes them returns that error.
//
// [formpage.Dir]: https://pkg.go.dev/github.com/formsvc/formsvc/handler/formpage#Dir
type FileRemover interface {
	RemoveFiles(ctx context.Context, ids []string) error
}

// WithFiles removes the files of responses with them, whatever removes those for good:
// [Client.DeleteSubmission] and the API's operation, [Service.EraseRespondent],
// [Service.PurgeSubmissions], [Service.PurgeAllSubmissions], [Service.PurgeForm],
// [Service.PurgeTrash], [Service.DeleteUser], and [Service.Maintain] or a running dispatcher,
// which finish what other processes began. So each process that does one of these has the
// option. A form in the trash keeps its files.
//
// The files go first. When removing the responses then fails, they are there without their
// files until the call is repeated. In a host's transaction ([Service.WithStorage]) the files go
// before the commit, and a rollback does not bring them back. While files of purged forms
// cannot be removed, the rows of these forms stay, which nobody sees. The error is returned,
// or logged by the dispatcher, and maintenance tries again. Files that two responses
// name go with the first of them. Default: files stay.
func WithFiles(f FileRemover) Option {
	return option("WithFiles", requireValue(f == nil), func(o *options) { o.removeFiles = f.RemoveFiles })
}

// WithBeforeDelete sets a function that is called before submissions are removed for good, whatever
// removes them: see [WithFiles] for the list. It receives the ids of submissions to one form, at
// most 1,000 in a call, and removes or archives what the host stores next to them. By default
// nothing is called.
//
// The function is called before the removal is committed, and at least once for each submission:
// after an error, a crash, or in two processes at the same time it receives the same ids again.
// With an error these submissions stay, and the call that removes them returns that error; a
// running dispatcher logs it and tries again. No lock is held in the meantime. The function can read the
// submissions of forms that are not purged. In a host's transaction ([Service.WithStorage]) a rollback
// brings the submissions back, and they are reported again later. It must be safe for concurrent
// use. If there are files too, it is called before they are removed.
//
// Rows of the host in the same PostgreSQL database do not need it: see "Rows next to submissions"
// in the documentation of package storage/postgres.
func WithBeforeDelete(f func(ctx context.Context, form ID, submissions []ID) error) Option {
	return option("WithBeforeDelete", requireValue(f == nil), func(o *options) { o.beforeDelete = f })
}

// WithLogger sets where the service logs. Default: nowhere.
func WithLogger(l *slog.Logger) Option {
	return option("WithLogger", requireValue(l == nil), func(o *options) { o.logger = l })
}

// WithClock sets the clock by which records are dated, forms close, keys expire
// and deliveries are due. Default time.Now. It must be safe for concurrent use.
func WithClock(now func() time.Time) Option {
	return option("WithClock", requireValue(now == nil), func(o *options) { o.clock = now })
}
