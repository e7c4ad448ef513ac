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
	http              httpapi.Config // New adds Core and Logger
	resolver          KeyResolver    // if nil, the service's own keys
	keyPrefix         string
	limiterSet        bool // http.Limiter was set by the host; if it is nil, there is no limit
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

// validate checks options that depend on each other, and fills in defaults that depend on other options.
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

// checkStorage rejects a nil storage and a storage whose Validate fails.
func checkStorage(st storage.Storage) error {
	if v := reflect.ValueOf(st); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return fmt.Errorf("the storage is nil (%T)", st)
	}
	if checks, ok := st.(interface{ Validate() error }); ok {
		return checks.Validate()
	}
	return nil
}

// option returns an option that sets a value, or returns fault if it is not nil.
func option(name string, fault error, set func(*options)) Option {
	return func(o *options) error {
		if fault != nil {
			return fmt.Errorf("formsvc: %s: %w", name, fault)
		}
		set(o)
		return nil
	}
}

// requireValue returns an error if a value is nil.
func requireValue(isNil bool) error {
	if isNil {
		return errors.New("nil")
	}
	return nil
}

// WithStorage sets the storage. It is required. The service never closes it. [New] rejects a nil pointer, and a storage
// with a method Validate() error that returns an error.
func WithStorage(s storage.Storage) Option {
	return option("WithStorage", requireValue(s == nil), func(o *options) { o.storage = s })
}

// WithKeyResolver sets the host's own resolver for credentials, instead of the keys of [Service.CreateKey]. The service
// then accepts its own keys only if the resolver calls [Service.ResolveKey] for unknown credentials, as in the example.
// See "Sessions and keys" in the package documentation.
func WithKeyResolver(r KeyResolver) Option {
	return option("WithKeyResolver", requireValue(r == nil), func(o *options) { o.resolver = r })
}

// These types are for hosts with their own keys or sessions.
type (
	// Principal is the user and the scopes of an API key. KeyID must not be the key or a cookie: see "Sessions and keys"
	// in the package documentation. Fields: [handler.Principal].
	Principal = handler.Principal
	// KeyResolver finds the principal of a credential, for each request and concurrently. For an unknown credential it
	// returns [ErrInvalidKey], which is status 401. Any other error is status 503. See [handler.KeyResolver] for the
	// contract.
	KeyResolver = handler.KeyResolver
)

// ErrInvalidKey is the error of a [KeyResolver] for an invalid credential.
var ErrInvalidKey = handler.ErrInvalidKey

// Credential is the default of [WithCredential]. It returns X-API-Key, or the bearer token in Authorization. A host
// that also accepts a cookie should call it first, so that an old cookie does not replace a valid key.
func Credential(r *http.Request) string { return handler.Credential(r) }

// WithCredential sets the function that returns the credential of a request, for a host with a cookie or its own
// header. An empty string means that there is no credential. Defaults to [Credential]. Do not read keys from the URL.
func WithCredential(f func(*http.Request) string) Option {
	return option("WithCredential", requireValue(f == nil), func(o *options) { o.http.Credential = f })
}

// WithBasePath sets the base path of the API. Defaults to "/v1". "" and "/" mean that there is none.
func WithBasePath(path string) Option {
	return option("WithBasePath", apidoc.CheckBasePath(path), func(o *options) { o.http.BasePath = strings.TrimSuffix(path, "/") })
}

// WithBaseURL sets the start of links and Location headers, before the base path: an absolute URL such as
// "https://api.example.com", or a path such as "/api" if the host mounts the service below it. Defaults to "", which
// means that links start with the base path. It is never taken from the request.
func WithBaseURL(base string) Option {
	return option("WithBaseURL", apidoc.CheckBaseURL(base), func(o *options) { o.http.BaseURL = strings.TrimSuffix(base, "/") })
}

// WithBaseURLFunc is [WithBaseURL] for a host with many domains. f returns the base URL for a request. It must check
// everything that it takes from the request. The API description then contains no server.
func WithBaseURLFunc(f func(*http.Request) string) Option {
	return option("WithBaseURLFunc", requireValue(f == nil), func(o *options) { o.http.BaseURLFunc = f })
}

// WithKeyPrefix sets the prefix of the service's own API keys, as in <prefix>_live_…. It has 1 to 20 letters and
// digits, and defaults to "fs". Keys with another prefix are no longer accepted.
func WithKeyPrefix(prefix string) Option {
	var fault error
	if prefix == "" || len(prefix) > 20 || strings.Trim(prefix, objectid.Base62) != "" {
		fault = fmt.Errorf("%q must be 1 to 20 letters and digits", prefix)
	}
	return option("WithKeyPrefix", fault, func(o *options) { o.keyPrefix = prefix })
}

// WithRateLimit sets the number of requests per interval for each key, counted in this process. Defaults to
// [ratelimit.DefaultTokens] in [ratelimit.DefaultPer], a minute.
func WithRateLimit(tokens uint64, per time.Duration) Option {
	return func(o *options) error {
		limiter, err := ratelimit.New(tokens, per)
		if err != nil {
			return fmt.Errorf("formsvc: WithRateLimit: %w", err)
		}
		return o.setLimiter(limiter)
	}
}

// WithLimiter counts requests in the host's own store, which several processes can share. The store defines the limit.
// The keys in the store consist of "formsvc:", the base URL and base path (or the name of [WithLimiterName]), "#", and
// the ID of the API key. Services on one store therefore have separate limits. The service never closes the store. If
// the store fails or does not respond within 250 ms, requests pass. The start and the end of such a failure are logged.
func WithLimiter(store limiter.Store) Option {
	return func(o *options) error {
		if store == nil {
			return errors.New("formsvc: WithLimiter: the store is nil")
		}
		return o.setLimiter(ratelimit.NewWithStore(store))
	}
}

// WithLimiterName sets the name of the service in the keys of [WithLimiter], instead of the base URL and base path. Use
// different names for services with the same URL and path. Use the same name to share limits between services, or to
// retain them when a service moves to another URL. It has 1 to 100 visible ASCII characters, without "#".
func WithLimiterName(name string) Option {
	var fault error
	if name == "" || len(name) > 100 || strings.ContainsFunc(name, func(c rune) bool { return c <= ' ' || c >= 0x7f || c == '#' }) {
		fault = fmt.Errorf("%q must be 1 to 100 visible ASCII characters without #", name)
	}
	return option("WithLimiterName", fault, func(o *options) { o.http.LimiterName = name })
}

// WithoutRateLimit disables the rate limit, for a host that limits requests itself.
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

// WithWebhookConfig configures the deliveries of webhooks. Zero fields mean their defaults.
func WithWebhookConfig(c webhooks.Config) Option {
	return option("WithWebhookConfig", c.Validate(), func(o *options) { o.webhooks = c })
}

// WithSecretCipher encrypts the signing secrets of webhooks in the storage, each bound to its webhook. Create a cipher
// with [crypto/aes.NewCipher], a key of 32 bytes and [crypto/cipher.NewGCM], as in the example. The service creates the
// nonces. The service can still read secrets that are stored unencrypted or were encrypted with one of the previous
// ciphers. [Service.ReencryptSecrets] encrypts them with current. By default, secrets are stored unencrypted, and
// PostgreSQL may write them to its log: see package storage/postgres.
func WithSecretCipher(current cipher.AEAD, previous ...cipher.AEAD) Option {
	sealer, err := secrets.New(current, previous...)
	return option("WithSecretCipher", cmp.Or(requireValue(current == nil), err), func(o *options) { o.secrets = sealer })
}

// WithoutPlainSecrets rejects signing secrets that are stored unencrypted, so that write access to the storage is not
// enough to choose a signing secret. Webhooks with such a secret receive nothing and are logged. It requires
// [WithSecretCipher]. Before you set it, all processes must have the cipher, and [Service.ReencryptSecrets] must have
// returned no error. With it, ReencryptSecrets does not change such a secret and returns [ErrSecret].
func WithoutPlainSecrets() Option {
	return option("WithoutPlainSecrets", nil, func(o *options) { o.requireEncryption = true })
}

// WithLimits sets size limits. Zero fields mean their defaults.
func WithLimits(l Limits) Option {
	return option("WithLimits", l.Validate(), func(o *options) { o.limits = l })
}

// WithVersions sets the maximum number of versions per form, see [Client.Versions]. Defaults to 100. With 0, no
// versions are created, and existing versions remain.
func WithVersions(n int) Option {
	var fault error
	if n < 0 {
		fault = fmt.Errorf("%d is negative", n)
	}
	return option("WithVersions", fault, func(o *options) { o.versions = n })
}

// WithTimeZone sets the time zone for date limits (beforeDate, afterDate and specificDates of a block). Defaults to
// UTC.
//
// A limit in UTC means the day of this point in time in the zone. A limit with another offset means the day as it is
// written, and is stored in UTC as the start of that day in the zone. If users are in many time zones, their clients
// should send offsets. If all users are in one time zone, set it here. If the zone changes later, stored limits may
// mean other days.
//
// The program must be able to load the zone when it starts. If the system has no time zone database, import
// time/tzdata.
func WithTimeZone(zone *time.Location) Option {
	return option("WithTimeZone", requireValue(zone == nil), func(o *options) { o.timeZone = zone })
}

// FileRemover removes files of respondents by their IDs in answers to file_upload and signature blocks. [formpage.Dir]
// is one. It must be safe for concurrent use.
//
// RemoveFiles is called before submissions are permanently removed, with the files of at most 1,000 submissions.
// Unknown files and unknown IDs are not an error, because after an error or a crash, or in two processes, it receives
// the same IDs again. If it returns an error, these submissions remain, and the call that removes them returns the
// error.
//
// [formpage.Dir]: https://pkg.go.dev/github.com/formsvc/formsvc/handler/formpage#Dir
type FileRemover interface {
	RemoveFiles(ctx context.Context, ids []string) error
}

// WithFiles removes the files of submissions that are permanently removed by [Client.DeleteSubmission] and its HTTP
// operation, [Service.EraseRespondent], [Service.PurgeSubmissions], [Service.PurgeAllSubmissions], [Service.PurgeForm],
// [Service.PurgeTrash], [Service.DeleteUser], and by [Service.Maintain] or a running dispatcher, which complete the
// work of other processes. Set it in every process that does one of these. Forms in the trash retain their files. By
// default, files are not removed.
//
// Files are removed first. If removing the submissions then fails, they exist without files until the call is repeated.
// In a host's transaction ([Service.WithStorage]), files are removed before the commit, and a rollback does not restore
// them. If files of purged forms cannot be removed, the inaccessible rows of these forms remain. The error is returned,
// or logged by the dispatcher, and maintenance tries again. A file of two submissions is removed with the first of
// them.
func WithFiles(f FileRemover) Option {
	return option("WithFiles", requireValue(f == nil), func(o *options) { o.removeFiles = f.RemoveFiles })
}

// WithBeforeDelete sets a function that is called before submissions are permanently removed, see [WithFiles] for the
// list. It receives the IDs of at most 1,000 submissions to one form, and can remove or archive the host's related
// data. By default, nothing is called.
//
// The function is called before the removal is committed, at least once for each submission. After an error or a crash,
// or in two processes, it receives the same IDs again. If it returns an error, these submissions remain, and the call
// that removes them returns the error. A running dispatcher logs it and tries again. No lock is held during the call.
// The function can read the submissions of forms that are not purged. In a host's transaction ([Service.WithStorage]),
// a rollback restores the submissions, and they are reported again later. It must be safe for concurrent use. If there
// are files, it is called before they are removed.
//
// If the host's rows are in the same PostgreSQL database, you do not need it: see "Rows next to submissions" in the
// documentation of package storage/postgres.
func WithBeforeDelete(f func(ctx context.Context, form ID, submissions []ID) error) Option {
	return option("WithBeforeDelete", requireValue(f == nil), func(o *options) { o.beforeDelete = f })
}

// WithLogger sets the logger. By default, the service does not log.
func WithLogger(l *slog.Logger) Option {
	return option("WithLogger", requireValue(l == nil), func(o *options) { o.logger = l })
}

// WithClock sets the clock for the times of records, closing forms, expiring keys and due deliveries. Defaults to
// time.Now. It must be safe for concurrent use.
func WithClock(now func() time.Time) Option {
	return option("WithClock", requireValue(now == nil), func(o *options) { o.clock = now })
}
