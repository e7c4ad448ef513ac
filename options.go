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
	"github.com/formsvc/formsvc/internal/hostdata"
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
	http              httpapi.Config // New sets Core and Logger
	resolver          KeyResolver    // nil to use the service's own keys
	keyPrefix         string
	limiterSet        bool // whether the host set http.Limiter (nil means no limit)
	webhooks          webhooks.Config
	secrets           *secrets.Encrypter
	requireEncryption bool
	limits            Limits
	versions          int
	timeZone          *time.Location
	removeFiles       func(context.Context, []string) error
	beforeDelete      func(context.Context, ID, []ID) error
	host              hostdata.Host // choices and checks
	logger            *slog.Logger
	clock             func() time.Time
}

func defaultOptions() options {
	return options{
		http:      httpapi.Config{BasePath: "/v1"},
		keyPrefix: "fs",
		logger:    slog.New(slog.DiscardHandler),
		timeZone:  time.UTC,
		versions:  100,
		clock:     time.Now,
	}
}

// validate checks combinations of options, and sets defaults that depend on other options.
func (o *options) validate() error {
	var errs []error
	if err := checkStorage(o.storage); err != nil {
		errs = append(errs, fmt.Errorf("formsvc: WithStorage: %w", err))
	}
	if o.http.BaseURL != "" && o.http.BaseURLFunc != nil {
		errs = append(errs, errors.New("formsvc: WithBaseURL and WithBaseURLFunc cannot be combined"))
	}
	if base := o.http.BasePath; base != "" && strings.HasSuffix(o.http.BaseURL, base) && !strings.HasSuffix(o.http.BaseURL, "/"+base) {
		errs = append(errs, fmt.Errorf("formsvc: WithBaseURL: the base URL must not contain the base path %s, which is added to it", base))
	}
	switch {
	case o.requireEncryption && o.secrets == nil:
		errs = append(errs, errors.New("formsvc: WithoutPlainSecrets requires WithSecretCipher"))
	case o.requireEncryption:
		o.secrets = o.secrets.EncryptedOnly()
	}
	if !o.limiterSet {
		errs = append(errs, WithRateLimit(ratelimit.DefaultTokens, ratelimit.DefaultPer)(o))
	}
	return errors.Join(errs...)
}

// checkStorage returns an error if the storage is nil or its Validate method fails.
func checkStorage(st storage.Storage) error {
	if rejectNil(st) != nil {
		return fmt.Errorf("a storage is required, but the value is nil (%T)", st)
	}
	if validator, ok := st.(interface{ Validate() error }); ok {
		return validator.Validate()
	}
	return nil
}

// newOption returns an option that calls set. If err is not nil, the option returns err instead.
func newOption(name string, err error, set func(*options)) Option {
	return func(o *options) error {
		if err != nil {
			return fmt.Errorf("formsvc: %s: %w", name, err)
		}
		set(o)
		return nil
	}
}

// rejectNil returns an error if the value is nil, a nil pointer or a nil function. Other types can be useful if nil.
func rejectNil(value any) error {
	v := reflect.ValueOf(value)
	if !v.IsValid() || (v.Kind() == reflect.Pointer || v.Kind() == reflect.Func) && v.IsNil() {
		return errors.New("the value is nil")
	}
	return nil
}

// WithStorage sets the storage, which is required. The service never closes it. [New] rejects a nil pointer,
// and a storage whose Validate() error method returns an error.
func WithStorage(s storage.Storage) Option {
	return newOption("WithStorage", nil, func(o *options) { o.storage = s })
}

// WithKeyResolver sets the host's own resolver for credentials. The service then accepts keys created by
// [Service.CreateKey] only if the resolver calls [Service.ResolveKey] for credentials that it does not recognize, as in
// the example. See "Sessions and keys" in the package documentation.
func WithKeyResolver(r KeyResolver) Option {
	return newOption("WithKeyResolver", rejectNil(r), func(o *options) { o.resolver = r })
}

// These types are for hosts that have their own keys or sessions.
type (
	// Principal identifies the user and the scopes of a credential. KeyID must not be the key or a cookie: see
	// "Sessions and keys" in the package documentation. For the fields, see [handler.Principal].
	Principal = handler.Principal
	// KeyResolver finds the principal of a credential. It is called concurrently, once for each request. For an unknown
	// credential it returns [ErrInvalidKey], which results in status 401. Any other error results in status 503. For
	// details see [handler.KeyResolver].
	KeyResolver = handler.KeyResolver
)

// ErrInvalidKey is the error that a [KeyResolver] returns for an invalid credential.
var ErrInvalidKey = handler.ErrInvalidKey

// Credential is the default for [WithCredential]. It returns the value of X-API-Key, or the bearer token in
// Authorization. A host that also accepts cookies should call it first, so that a key takes precedence over an old
// cookie.
func Credential(r *http.Request) string { return handler.Credential(r) }

// WithCredential sets the function that returns the credential of a request, for example from a cookie. An empty string
// means that there is no credential. Defaults to [Credential]. Do not read keys from the URL.
func WithCredential(f func(*http.Request) string) Option {
	return newOption("WithCredential", rejectNil(f), func(o *options) { o.http.Credential = f })
}

// WithBasePath sets the base path of the API. Defaults to "/v1". With "" or "/", there is no base path.
func WithBasePath(path string) Option {
	return newOption("WithBasePath", apidoc.CheckBasePath(path), func(o *options) { o.http.BasePath = strings.TrimSuffix(path, "/") })
}

// WithBaseURL sets the start of links and Location headers, before the base path: an absolute URL such as
// "https://api.example.com", or a path such as "/api" if the host mounts the service below it. Defaults to "", so that
// links start with the base path.
func WithBaseURL(base string) Option {
	return newOption("WithBaseURL", apidoc.CheckBaseURL(base), func(o *options) { o.http.BaseURL = strings.TrimSuffix(base, "/") })
}

// WithBaseURLFunc is like [WithBaseURL], but for a host with many domains. f returns the base URL for a request, and
// must validate everything that it reads from the request. The API description then lists no servers.
func WithBaseURLFunc(f func(*http.Request) string) Option {
	return newOption("WithBaseURLFunc", rejectNil(f), func(o *options) { o.http.BaseURLFunc = f })
}

// WithKeyPrefix sets the prefix of the service's own API keys (<prefix>_live_…). It must consist of 1 to 20 letters and
// digits. Defaults to "fs". The service does not accept keys with another prefix.
func WithKeyPrefix(prefix string) Option {
	var err error
	if prefix == "" || len(prefix) > 20 || strings.Trim(prefix, objectid.Base62) != "" {
		err = fmt.Errorf("%q must consist of 1 to 20 letters and digits", prefix)
	}
	return newOption("WithKeyPrefix", err, func(o *options) { o.keyPrefix = prefix })
}

// WithRateLimit sets how many requests (tokens) each key can make per interval (per). Each process counts separately.
// Defaults to 600 requests per minute.
func WithRateLimit(tokens uint64, per time.Duration) Option {
	return func(o *options) error {
		limiter, err := ratelimit.New(tokens, per)
		if err != nil {
			return fmt.Errorf("formsvc: WithRateLimit: %w", err)
		}
		return o.setLimiter(limiter)
	}
}

// WithLimiter counts requests in the host's own store. The store defines the limit, and several processes can share it.
// The keys in the store consist of "formsvc:", the base URL and base path (or the name set by [WithLimiterName]), "#",
// and the ID of the API key, so that services have separate limits. The service never closes the store. If the store
// fails or does not respond within 250 ms, requests are allowed. The start and the end of such a failure are logged.
func WithLimiter(store limiter.Store) Option {
	return func(o *options) error {
		if err := rejectNil(store); err != nil {
			return fmt.Errorf("formsvc: WithLimiter: %w", err)
		}
		return o.setLimiter(ratelimit.NewWithStore(store))
	}
}

// WithLimiterName sets the name of the service in the store keys of [WithLimiter]. It must have 1 to 100 visible ASCII
// characters without "#". Defaults to the base URL and base path. Use different names for services with the same URL
// and path. Use the same name to share limits between services, or to retain limits when a service's URL changes.
func WithLimiterName(name string) Option {
	var err error
	if name == "" || len(name) > 100 || strings.ContainsFunc(name, func(c rune) bool { return c <= ' ' || c >= 0x7f || c == '#' }) {
		err = fmt.Errorf("%q must consist of 1 to 100 visible ASCII characters other than #", name)
	}
	return newOption("WithLimiterName", err, func(o *options) { o.http.LimiterName = name })
}

// WithoutRateLimit disables the rate limit.
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

// WithWebhookConfig configures webhook deliveries. Zero fields have their defaults.
func WithWebhookConfig(c webhooks.Config) Option {
	return newOption("WithWebhookConfig", c.Validate(), func(o *options) { o.webhooks = c })
}

// WithSecretCipher encrypts the signing secrets of webhooks in the storage. Each encrypted secret is bound to its
// webhook. By default secrets are stored unencrypted, and PostgreSQL may write them to its log: see package
// storage/postgres. Create a cipher with [crypto/aes.NewCipher], a key of 32 bytes and [crypto/cipher.NewGCM], as in
// the example. The service can still read secrets that are unencrypted or encrypted with a previous cipher.
// [Service.ReencryptSecrets] encrypts them with current.
func WithSecretCipher(current cipher.AEAD, previous ...cipher.AEAD) Option {
	encrypter, err := secrets.New(current, previous...)
	return newOption("WithSecretCipher", cmp.Or(rejectNil(current), err), func(o *options) { o.secrets = encrypter })
}

// WithoutPlainSecrets rejects signing secrets that are stored unencrypted. Otherwise, anyone with write access to the
// storage could choose a signing secret. Webhooks with such a secret receive nothing, which is logged, and
// [Service.ReencryptSecrets] returns [ErrSecret] for them. The option requires [WithSecretCipher]. Before you set it,
// all processes must have the cipher, and ReencryptSecrets must have returned no error.
func WithoutPlainSecrets() Option {
	return newOption("WithoutPlainSecrets", nil, func(o *options) { o.requireEncryption = true })
}

// WithLimits sets size limits. Zero fields have their defaults.
func WithLimits(l Limits) Option {
	return newOption("WithLimits", l.Validate(), func(o *options) { o.limits = l })
}

// WithVersions sets the maximum number of versions per form ([Client.Versions]). Defaults to 100. If n is 0, no
// versions are created, and existing versions remain.
func WithVersions(n int) Option {
	var err error
	if n < 0 {
		err = fmt.Errorf("%d is negative", n)
	}
	return newOption("WithVersions", err, func(o *options) { o.versions = n })
}

// WithTimeZone sets the time zone for date limits (beforeDate, afterDate and specificDates of a block). Defaults to
// UTC.
//
// A date limit is sent as a time with an offset. If the offset is UTC, the limit is the day on which that time falls in
// the zone. With another offset, the limit is the day as written, and is stored as the start of that day in the zone,
// converted to UTC. If all users are in one time zone, set it here. If users are in many time zones, their clients
// should send offsets. If the zone changes later, stored limits may mean other days. If the system has no time zone
// database, import time/tzdata.
func WithTimeZone(zone *time.Location) Option {
	return newOption("WithTimeZone", rejectNil(zone), func(o *options) { o.timeZone = zone })
}

// FileRemover removes respondents' files, given the file IDs in answers to file_upload and signature blocks.
// [formpage.Dir] implements it. An implementation must be safe for concurrent use.
//
// RemoveFiles is called before submissions are permanently removed, with the files of at most 1,000 submissions. It
// must ignore unknown IDs, because it may receive the same IDs again after an error or a crash, or in another process.
// If it returns an error, the submissions remain, and the call that should remove them returns the error.
//
// [formpage.Dir]: https://pkg.go.dev/github.com/formsvc/formsvc/handler/formpage#Dir
type FileRemover interface {
	RemoveFiles(ctx context.Context, ids []string) error
}

// WithFiles makes the service remove the files of submissions that are permanently removed: by
// [Client.DeleteSubmission] and its HTTP operation, by EraseRespondent, DeleteUser and the Purge methods of [Service],
// and by [Service.Maintain] or a running dispatcher. Set it in every process that can remove submissions in any of
// these ways. Forms in the trash retain their files. By default, files are not removed.
//
// A file that was replaced ([Client.UpdateSubmission]) is removed with its submission, or when a change drops the last
// earlier state that refers to it.
//
// Files are removed before their submissions. If the submissions then cannot be removed, they remain without files
// until the call is repeated. In a host's transaction ([Service.WithStorage]), a rollback does not restore the files.
// If files of purged forms cannot be removed, the rows of these forms remain but are inaccessible. The error is
// returned, or logged by the dispatcher, and maintenance tries again. A file that belongs to two submissions is removed
// with the first of them.
func WithFiles(f FileRemover) Option {
	return newOption("WithFiles", rejectNil(f), func(o *options) { o.removeFiles = f.RemoveFiles })
}

// WithBeforeDelete sets a function that is called before submissions are permanently removed, in the cases that
// [WithFiles] lists. f receives the IDs of at most 1,000 submissions to one form, and can remove or archive the host's
// related data. For rows in the same PostgreSQL database, see "Rows next to submissions" in package storage/postgres
// instead.
//
// f is called at least once for each submission, before files are removed and before the removal is committed. It may
// receive the same IDs again after an error, a crash or a rollback of a host's transaction ([Service.WithStorage]), or
// in another process. If it returns an error, the submissions remain, and the call that should remove them returns the
// error. A running dispatcher logs the error and tries again. No lock is held during the call. f can read the
// submissions unless their form was purged. It must be safe for concurrent use.
func WithBeforeDelete(f func(ctx context.Context, form ID, submissions []ID) error) Option {
	return newOption("WithBeforeDelete", rejectNil(f), func(o *options) { o.beforeDelete = f })
}

// WithLogger sets the logger. By default, nothing is logged. Set it, because the log also reports mistakes in the setup,
// such as a wrong mount or a missing dispatcher. Packages formpage and builder have their own Logger.
func WithLogger(l *slog.Logger) Option {
	return newOption("WithLogger", rejectNil(l), func(o *options) { o.logger = l })
}

// WithClock sets the clock that determines the times of records, and when forms close, keys expire and deliveries are
// due. It must be safe for concurrent use. Defaults to time.Now.
func WithClock(now func() time.Time) Option {
	return newOption("WithClock", rejectNil(now), func(o *options) { o.clock = now })
}

// WithChoices adds a list of choices. Blocks refer to it by name, as in
//
//	{"properties": {"rule": {"choices": {"list": "rooms", "by": "answers.building"}}}}
//
// or with [schema.ChoicesFrom]. A list replaces the choices of a single_choice, multiple_choice, picture_choice or
// dropdown block. Users of the builder see the title. Names and titles must have 1 to 100 characters, and each name can
// be used once. [Service.Submit] calls source.Labels once for each list and value of By that the answers use. Partial
// submissions, rules and [Service.Path] use the IDs without calling the source. If a block refers to a list that does
// not exist, its answers are rejected with [ErrUnavailable], and [Service.Warnings] reports it.
func WithChoices(name, title string, source ChoiceSource) Option {
	return func(o *options) error {
		err := cmp.Or(rejectNil(source), o.host.Lists.Add(name, title, source))
		return newOption("WithChoices", err, func(*options) {})(o)
	}
}

// WithCheck adds a check of answers. Blocks refer to it by name in the checks of their rules, as in
//
//	{"properties": {"rule": {"check": [{"host": "order_number"}]}}}
//
// or with [schema.CheckWith]. If check returns a message, the answer is rejected with the code CHECK_FAILED and the
// message, which is plain text for the respondent. Checks run after all other checks have accepted the answers. A block
// has a violation for its first check that fails. On form pages, a check runs when its page is submitted, and again
// when the form is submitted, so it can run more than once. [Client.UpdateSubmission] can run it for the stored answers
// too. It must be safe for concurrent use. Limits, errors and unknown names are as in [ChoiceSource] and [WithChoices].
func WithCheck(name, title string, check func(ctx context.Context, in CheckInput) (message string, err error)) Option {
	return func(o *options) error {
		err := cmp.Or(rejectNil(check), o.host.Checks.Add(name, title, check))
		return newOption("WithCheck", err, func(*options) {})(o)
	}
}
