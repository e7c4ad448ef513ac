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

// Defaults of a Config.
const (
	DefaultTimeout         = 15 * time.Second
	DefaultInFlight        = 64
	DefaultInFlightSlow    = 4096
	DefaultInFlightWebhook = 4
	DefaultHeaderPrefix    = "Service"
	DefaultUserAgent       = "formsvc-webhook/1.0"
	DefaultMaxAge          = 3 * 24 * time.Hour
)

// Config has the settings of deliveries that a host may change. The zero value is ready
// for use, and a zero field means its default.
type Config struct {
	// Timeout is all the time that one attempt has, from resolving the name to
	// the end of the answer. Zero: 15 s. At most an hour.
	Timeout time.Duration
	// Retry says when a failed delivery is tried again. Zero: see [RetryPolicy].
	Retry RetryPolicy
	// MaxAge is how old a delivery gets while its webhook fails. It ends when it was
	// queued or redelivered MaxAge ago and every request since then has failed. No retry is
	// set for later than that either, so a delivery also ends when its next attempt would come
	// later, unless it was so old before its webhook began to fail: then no dispatcher ran, or
	// a fault of the host kept it. Deliveries that end together have one summary. Zero: three days. At least an
	// hour.
	MaxAge time.Duration
	// InFlight bounds the requests of this process at one time to webhooks that are
	// known to answer quickly. Zero: 64; at most 65,536. One host name has at most a quarter of them
	// while others wait.
	//
	// At most eight times as many of their deliveries are sent and not yet recorded,
	// without those that count for InFlightSlow: a process that is killed repeats that
	// many.
	InFlight int
	// InFlightSlow bounds the requests of this process, beside those of InFlight, to
	// webhooks that are new, slow or failing, and those of quick ones that take longer
	// than 50 ms. Zero: 4,096; at most 65,536. New and failing ones have at most half of them, and so
	// does one host name. A workspace that has more than half as many as are free gets no
	// more: owners of slow webhooks do not keep others waiting.
	//
	// Each holds a socket, a body and 41 kB of memory (170 MB for 4,096), more with TLS. The
	// bound is what may begin to hang within a Timeout and delay nobody:
	// [Observer].InFlightObserved says whether it was reached. It also bounds those that ended
	// and are not yet recorded together with them: a process that is killed repeats as many
	// at most, beside those of InFlight.
	InFlightSlow int
	// InFlightWebhook bounds the requests of this process to one URL of a webhook at one time.
	// Zero: 4. One that has never succeeded, or failed last, gets one.
	InFlightWebhook int
	// HeaderPrefix begins the names of the version and the signature header, as in
	// Service-Version and Service-Signature. Zero: "Service". Not "Webhook" together with
	// StandardWebhooks, whose signature has that name.
	HeaderPrefix string
	// UserAgent is the User-Agent header. If empty, it is [DefaultUserAgent], which is the same
	// for all releases.
	UserAgent string
	// AllowedNetworks may be reached although they are not public: for
	// development and for installations whose receivers are on-premises. 127.0.0.1/32 is
	// enough for a receiver at http://127.0.0.1:8080. A name that resolves wholly inside them
	// need not look like a public name either, so http://localhost:8080 works with
	// 127.0.0.1/32 and ::1/128. None by default.
	AllowedNetworks []netip.Prefix
	// DeniedNetworks may not be reached although they are public: a host's own
	// addresses, a provider's NAT64 prefix. They win over AllowedNetworks. None by
	// default.
	DeniedNetworks []netip.Prefix
	// Resolver looks names up. Nil: [net.DefaultResolver].
	Resolver Resolver
	// RootCAs are the authorities whose certificates receivers may have, in place of the
	// system's: for receivers with an authority of your own. Nil: the system's.
	RootCAs *x509.CertPool
	// ClientCertificate returns the certificate to show to a receiver that asks for one,
	// as GetClientCertificate of [tls.Config] does, at each TLS handshake; it must be safe
	// for concurrent use. Whoever chooses a URL chooses who sees the certificate. Nil:
	// none is shown.
	ClientCertificate func(*tls.CertificateRequestInfo) (*tls.Certificate, error)
	// Transport wraps the transport of deliveries, for traces and metrics; it is
	// called once, by New. What it returns must send requests through guarded, which
	// alone keeps them to permitted addresses, and must not follow redirects. Nil:
	// guarded itself is used.
	Transport func(guarded http.RoundTripper) http.RoundTripper
	// Headers returns headers of the host's own for the requests to a webhook, such as a token
	// for the receiver's gateway. It is called once an attempt, and may be called for many at
	// the same time; ctx has the attempt's deadline. Of the record ID, FormID and URL are
	// set. Whoever chooses the URL sees the headers, so one with a secret is given by URL.
	// What it returns is not changed afterwards.
	//
	// Nothing is sent, the log names the header, and the delivery is tried again a minute later
	// without counting an attempt, when the name or a value is not allowed in HTTP, or when the
	// name is one that the dispatcher or the protocol sets: those of the type, length and
	// signature, User-Agent, Idempotency-Key, Host, Connection and the like. So it is when
	// Headers panics. Nil: there are none.
	Headers func(ctx context.Context, webhook storage.Webhook) http.Header
	// StandardWebhooks adds the headers of the Standard Webhooks specification,
	// webhook-id, webhook-timestamp and webhook-signature, to the deliveries of
	// webhooks with a signing secret; the first two are on all. Receivers then refuse
	// replayed deliveries. Their libraries take a secret "whsec_" + base64; of any
	// other secret the key is its bytes. The service refuses a "whsec_" without base64.
	StandardWebhooks bool
	// Observer sees attempts, the queue and pauses, for metrics. Nil: nobody does, and
	// nothing is measured.
	Observer Observer
}

// Validate reports every field that is out of range, joined into one error.
func (c Config) Validate() error {
	var errs []error
	refuse := func(when bool, format string, args ...any) {
		if when {
			errs = append(errs, fmt.Errorf("webhooks: "+format, args...))
		}
	}
	refuse(c.Timeout < 0 || c.Timeout > time.Hour, "Timeout is %s, want 0 to 1h", c.Timeout)
	refuse(c.InFlight < 0 || c.InFlight > 1<<16, "InFlight is %d, want 0 to 65,536", c.InFlight)
	refuse(c.InFlightSlow < 0 || c.InFlightSlow > 1<<16, "InFlightSlow is %d, want 0 to 65,536", c.InFlightSlow)
	refuse(c.MaxAge < 0 || c.MaxAge > 0 && c.MaxAge < time.Hour, "MaxAge is %s, want 0 or at least 1h", c.MaxAge)
	refuse(c.InFlightWebhook < 0, "InFlightWebhook is %d, want 0 or more", c.InFlightWebhook)
	refuse(c.HeaderPrefix != "" && !httpguts.ValidHeaderFieldName(c.HeaderPrefix),
		"HeaderPrefix %q is not a valid start of a header name", c.HeaderPrefix)
	refuse(c.StandardWebhooks && strings.EqualFold(c.HeaderPrefix, "Webhook"),
		"HeaderPrefix %q gives two signatures the same name when StandardWebhooks is set", c.HeaderPrefix)
	refuse(!isFieldValue(c.UserAgent), "UserAgent %q is not a valid header value", c.UserAgent)
	errs = append(errs, c.Retry.validate(),
		validateNetworks("AllowedNetworks", c.AllowedNetworks), validateNetworks("DeniedNetworks", c.DeniedNetworks))
	return errors.Join(errs...)
}

// withDefaults fills in the zero fields.
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
		// A mapped prefix would never match: addresses are compared unmapped.
		if !p.IsValid() || p.Addr().Is4In6() {
			errs = append(errs, fmt.Errorf("webhooks: %s has %q, want an IPv4 or IPv6 prefix", field, p))
		}
	}
	return errors.Join(errs...)
}

// isFieldValue reports whether s is visible ASCII and inner spaces.
func isFieldValue(s string) bool {
	return strings.Trim(s, " ") == s && !strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c > '~' })
}
