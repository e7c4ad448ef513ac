package webhooks

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/formsvc/formsvc/storage"
)

// These are the defaults of [Config].
const (
	DefaultTimeout         = 15 * time.Second
	DefaultInFlight        = 64
	DefaultInFlightSlow    = 4096
	DefaultInFlightWebhook = 4
	DefaultHeaderPrefix    = "Service"
	DefaultUserAgent       = "formsvc-webhook/1.0"
	DefaultMaxAge          = 3 * 24 * time.Hour
)

// Config configures webhook deliveries. The zero value is ready for use, and zero fields have their defaults.
type Config struct {
	// Timeout limits one attempt, from the DNS lookup to the end of the response. Defaults to 15 s; at most an hour.
	Timeout time.Duration
	// Retry defines when failed deliveries are retried. See [RetryPolicy] for the default.
	Retry RetryPolicy
	// MaxAge is the age at which deliveries of a failing webhook expire. Defaults to three days. The minimum is an
	// hour. A delivery expires if it was queued or redelivered MaxAge ago and all later requests to its webhook failed.
	//
	// A delivery also ends if its next attempt would exceed MaxAge. This does not apply if the delivery had exceeded
	// MaxAge before its webhook started to fail, because no dispatcher was running or the host could not send the
	// delivery. For all deliveries that expire together, one summary is recorded.
	MaxAge time.Duration
	// InFlight limits the concurrent requests of this process to fast webhooks. Defaults to 64. The maximum is 65,536.
	// While requests to other hostnames wait, a hostname gets at most a quarter of these slots.
	//
	// Up to 8 × InFlight deliveries to fast webhooks may have been sent before their results are recorded. If this
	// process is killed, another process sends these deliveries again.
	InFlight int
	// InFlightSlow limits the other concurrent requests of this process: to webhooks that are new, slow or failing, and
	// to fast webhooks if a request takes longer than 50 ms. Defaults to 4,096. The maximum is 65,536. New and failing
	// webhooks together get at most half of these slots, and so does each hostname. A workspace gets no more slots if
	// it already uses more than half as many slots as are free. This way, one workspace's slow webhooks do not delay
	// other workspaces.
	//
	// Each request uses a socket, a body and 41 kB of memory (170 MB for 4,096 requests), and more with TLS. Up to
	// InFlightSlow requests can start to hang within one Timeout without delaying other requests.
	// [Observer].InFlightObserved reports whether the limit was reached. The limit includes requests that have ended
	// but whose results are not yet recorded. If this process is killed, another process sends their deliveries again.
	InFlightSlow int
	// InFlightWebhook is how many requests this process sends to the same webhook URL concurrently. Defaults to 4. The
	// limit is 1 for a webhook that has never succeeded or whose last request failed.
	InFlightWebhook int
	// HeaderPrefix is the prefix of the version and signature headers, as in Service-Version and Service-Signature.
	// Defaults to "Service". With StandardWebhooks, it must not be "Webhook", which is the prefix of the Standard
	// Webhooks signature header.
	HeaderPrefix string
	// UserAgent is the value of the User-Agent header. Defaults to [DefaultUserAgent], the same in all releases.
	UserAgent string
	// AllowedNetworks are non-public networks to allow, for development and for receivers on your premises.
	// 127.0.0.1/32 allows a receiver at http://127.0.0.1:8080. Hostnames that resolve only to these networks can have
	// any form, so 127.0.0.1/32 and ::1/128 allow http://localhost:8080. Defaults to none.
	AllowedNetworks []netip.Prefix
	// DeniedNetworks are networks that are never allowed, such as your own public addresses or a provider's NAT64 prefix.
	// They take precedence over AllowedNetworks. Defaults to none.
	DeniedNetworks []netip.Prefix
	// Resolver resolves hostnames. Defaults to [net.DefaultResolver].
	Resolver Resolver
	// RootCAs are the certificate authorities for receivers' certificates. Defaults to the system's authorities.
	RootCAs *x509.CertPool
	// ClientCertificate returns the certificate to present to a receiver that requests one, like GetClientCertificate
	// in [tls.Config]. It is called for each TLS handshake and must be safe for concurrent use. The user who chooses a
	// URL decides who sees the certificate. If nil, no certificate is sent.
	ClientCertificate func(*tls.CertificateRequestInfo) (*tls.Certificate, error)
	// Transport wraps the transport for deliveries, for traces and metrics. It is called once, when the service is
	// created. The result must send all requests through guarded, which restricts them to permitted addresses, and must
	// not follow redirects. Defaults to guarded itself.
	Transport func(guarded http.RoundTripper) http.RoundTripper
	// Headers returns additional headers for the requests to a webhook, such as a token for the receiver's gateway. It
	// is called once per attempt, concurrently. ctx has the attempt's deadline. Only the fields ID, FormID and URL of
	// webhook are set. The user who chooses the URL sees the headers, so select a secret by URL. Do not change the
	// header after returning it.
	//
	// Nothing is sent if a name or value is invalid in HTTP, if Headers panics, or if a header is reserved. The problem
	// is logged, and the delivery is retried after a minute without counting an attempt. Reserved headers are those
	// that the dispatcher or the protocol sets: content type, length, signatures, User-Agent, Idempotency-Key, Host,
	// Connection and the like. If nil, no headers are added.
	Headers func(ctx context.Context, webhook storage.Webhook) http.Header
	// StandardWebhooks adds the headers of the Standard Webhooks specification, which let receivers reject replayed
	// deliveries. All deliveries get webhook-id and webhook-timestamp, and also webhook-signature if the webhook has a
	// signing secret. The specification's libraries require a secret that consists of "whsec_" and valid base64. For
	// secrets without "whsec_", the key is the secret's bytes.
	StandardWebhooks bool
	// IncludeRespondent adds the host's ID of the respondent to events, as response.respondent, if the submission has one.
	// It applies to submissions that are stored later. By default, receivers do not get it.
	IncludeRespondent bool
	// Local contains the handlers of local webhooks by name. The handler "mail" receives the deliveries to the URL
	// "local:mail"; see "Handlers in the same process". A process does not claim deliveries for names without a handler
	// and leaves them to other processes. A name has 1 to 64 letters, digits, dots, hyphens and underscores. Do not
	// change the map after creating the service. Defaults to none.
	Local map[string]http.Handler
	// Observer receives attempts, queue statistics and pauses, for metrics. If nil, nothing is reported.
	Observer Observer
}

// Validate checks that all fields are in range. It joins the errors of all fields.
func (c Config) Validate() error {
	var errs []error
	reject := func(when bool, format string, args ...any) {
		if when {
			errs = append(errs, fmt.Errorf("webhooks: "+format, args...))
		}
	}
	reject(c.Timeout < 0 || c.Timeout > time.Hour, "Timeout is %s, want 0 to 1h", c.Timeout)
	reject(c.InFlight < 0 || c.InFlight > 1<<16, "InFlight is %d, want 0 to 65,536", c.InFlight)
	reject(c.InFlightSlow < 0 || c.InFlightSlow > 1<<16, "InFlightSlow is %d, want 0 to 65,536", c.InFlightSlow)
	reject(c.MaxAge < 0 || c.MaxAge > 0 && c.MaxAge < time.Hour, "MaxAge is %s, want 0 or at least 1h", c.MaxAge)
	reject(c.InFlightWebhook < 0, "InFlightWebhook is %d, want 0 or more", c.InFlightWebhook)
	reject(c.HeaderPrefix != "" && !httpguts.ValidHeaderFieldName(c.HeaderPrefix),
		"HeaderPrefix %q is not a valid start of a header name", c.HeaderPrefix)
	reject(c.StandardWebhooks && strings.EqualFold(c.HeaderPrefix, "Webhook"),
		"HeaderPrefix %q gives two signatures the same name when StandardWebhooks is set", c.HeaderPrefix)
	reject(!isHeaderValue(c.UserAgent), "UserAgent %q is not a valid header value", c.UserAgent)
	for name, handler := range c.Local {
		reject(CheckLocalURL(localScheme+name) != nil, "Local has the name %q, want 1 to 64 letters, digits, dots, hyphens and underscores", name)
		reject(handler == nil, "Local has no handler for %q", name)
	}
	errs = append(errs, c.Retry.validate(),
		validateNetworks("AllowedNetworks", c.AllowedNetworks), validateNetworks("DeniedNetworks", c.DeniedNetworks))
	return errors.Join(errs...)
}

func (c Config) withDefaults() Config {
	c.Timeout = cmp.Or(c.Timeout, DefaultTimeout)
	c.InFlight = cmp.Or(c.InFlight, DefaultInFlight)
	c.InFlightSlow = cmp.Or(c.InFlightSlow, DefaultInFlightSlow)
	c.MaxAge = cmp.Or(c.MaxAge, DefaultMaxAge)
	c.InFlightWebhook = min(cmp.Or(c.InFlightWebhook, DefaultInFlightWebhook), c.InFlight)
	c.HeaderPrefix = cmp.Or(c.HeaderPrefix, DefaultHeaderPrefix)
	c.UserAgent = cmp.Or(c.UserAgent, DefaultUserAgent)
	c.Retry = c.Retry.withDefaults()
	return c
}

func validateNetworks(field string, networks []netip.Prefix) error {
	var errs []error
	for _, p := range networks {
		// An IPv4-mapped IPv6 prefix would never match, because addresses are unmapped before they are compared.
		if !p.IsValid() || p.Addr().Is4In6() {
			errs = append(errs, fmt.Errorf("webhooks: %s has %q, want an IPv4 or IPv6 prefix", field, p))
		}
	}
	return errors.Join(errs...)
}

// isHeaderValue reports whether s contains only visible ASCII characters and spaces, with no space at either end.
func isHeaderValue(s string) bool {
	return strings.Trim(s, " ") == s && !strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c > '~' })
}
