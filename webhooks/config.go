package webhooks

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"
)

// History is how many attempts of a webhook are kept.
const History = 100

// Defaults of a Config.
const (
	DefaultTimeout         = 15 * time.Second
	DefaultInFlight        = 64
	DefaultInFlightWebhook = 4
	DefaultHeaderPrefix    = "Service"
	DefaultUserAgent       = "formsvc-webhook/1.0"
)

// Config is what a host may change about deliveries. The zero value is ready for
// use, and a zero field means its default.
type Config struct {
	// Timeout is all the time that one attempt has, from resolving the name to
	// the end of the answer. Zero: 15 s. At most an hour.
	Timeout time.Duration
	// Retry says when a failed delivery is tried again. Zero: see [RetryPolicy].
	Retry RetryPolicy
	// InFlight bounds the requests of this process at one time. Zero: 64. Webhooks
	// that answer promptly use at most five eighths of them: the rest is for those
	// that have not been tried yet, and an eighth for those that answer slowly or
	// not at all.
	//
	// At most eight times as many deliveries are sent and not yet recorded: what a
	// process repeats that was killed.
	InFlight int
	// InFlightWebhook bounds the requests to one webhook at one time. Zero: 4.
	InFlightWebhook int
	// HeaderPrefix begins the names of the version and the signature header, as in
	// Service-Version and Service-Signature. Zero: "Service".
	HeaderPrefix string
	// UserAgent is the User-Agent header. Zero: "formsvc-webhook/1.0".
	UserAgent string
	// AllowedNetworks may be reached although they are not public: for
	// development and for installations whose receivers are on-premises. A name
	// that resolves wholly inside them need not look like a public name either, so
	// http://localhost:8080 works with 127.0.0.0/8 and ::1/128. None by default.
	AllowedNetworks []netip.Prefix
	// Resolver looks names up. Nil: as [net.DefaultResolver] does.
	Resolver Resolver
	// Observer is told about attempts and the queue, for metrics. Nil: nobody is,
	// and nothing is measured.
	Observer Observer
}

// Validate reports every field that is out of range, joined into one error.
func (c Config) Validate() error {
	var errs []error
	refuse := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("webhooks: "+format, args...))
	}
	if c.Timeout < 0 || c.Timeout > time.Hour {
		refuse("Timeout is %s, want 0 to 1h", c.Timeout)
	}
	if c.InFlight < 0 {
		refuse("InFlight is %d, want 0 or more", c.InFlight)
	}
	if c.InFlightWebhook < 0 {
		refuse("InFlightWebhook is %d, want 0 or more", c.InFlightWebhook)
	}
	if c.HeaderPrefix != "" && !isToken(c.HeaderPrefix) {
		refuse("HeaderPrefix %q cannot begin the name of a header", c.HeaderPrefix)
	}
	if !isFieldValue(c.UserAgent) {
		refuse("UserAgent %q cannot be the value of a header", c.UserAgent)
	}
	errs = append(errs, c.Retry.validate(), validateNetworks(c.AllowedNetworks))
	return errors.Join(errs...)
}

// withDefaults fills in the zero fields.
func (c Config) withDefaults() Config {
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.InFlight == 0 {
		c.InFlight = DefaultInFlight
	}
	if c.InFlightWebhook == 0 {
		c.InFlightWebhook = DefaultInFlightWebhook
	}
	c.InFlightWebhook = min(c.InFlightWebhook, c.InFlight)
	if c.HeaderPrefix == "" {
		c.HeaderPrefix = DefaultHeaderPrefix
	}
	if c.UserAgent == "" {
		c.UserAgent = DefaultUserAgent
	}
	if c.Resolver == nil {
		c.Resolver = &net.Resolver{}
	}
	c.Retry = c.Retry.withDefaults()
	return c
}

func validateNetworks(networks []netip.Prefix) error {
	var errs []error
	for _, p := range networks {
		// A mapped prefix would never match: addresses are compared unmapped.
		if !p.IsValid() || p.Addr().Is4In6() {
			errs = append(errs, fmt.Errorf("webhooks: AllowedNetworks has %q, want an IPv4 or IPv6 prefix", p))
		}
	}
	return errors.Join(errs...)
}

// isToken reports whether s is a token of RFC 9110, section 5.6.2.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case '0' <= c && c <= '9', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
		case c == '!', c == '#', c == '$', c == '%', c == '&', c == '\'', c == '*',
			c == '+', c == '-', c == '.', c == '^', c == '_', c == '`', c == '|', c == '~':
		default:
			return false
		}
	}
	return s != ""
}

// isFieldValue reports whether s is visible ASCII and inner spaces.
func isFieldValue(s string) bool {
	for i := range len(s) {
		c := s[i]
		edge := i == 0 || i == len(s)-1
		if c < ' ' || c > '~' || c == ' ' && edge {
			return false
		}
	}
	return true
}
