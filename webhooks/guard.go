package webhooks

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/formsvc/formsvc/internal/publicaddr"
	"github.com/formsvc/formsvc/internal/visible"
)

const (
	maxURL        = 2048
	maxAddresses  = 8
	lookupTimeout = 5 * time.Second
)

// Resolver looks up the addresses of a name. *[net.Resolver] is one. It is asked for
// network "ip". When the name has a dot, it is asked for the absolute name with another
// dot at its end, so that the search list of the machine plays no part.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// URLError says why a destination is refused. Reason may be shown to the person who
// chose the URL: it never reveals an address, or whether a name exists inside the
// host's network. The cause, for the host's own log, is what Unwrap returns.
type URLError struct {
	Reason string
	cause  error
}

// Error returns the reason.
func (e *URLError) Error() string { return "webhooks: URL rejected: " + e.Reason }

// Unwrap returns the cause, nil when the reason says it all. Do not show it to a
// caller of the API.
func (e *URLError) Unwrap() error { return e.cause }

// Reasons of a URLError.
const (
	reasonLength     = "it must have 1 to 2048 bytes"
	reasonCharacters = "it must not contain spaces, control characters, invisible characters or backslashes"
	reasonSyntax     = "it is not an absolute URL"
	reasonScheme     = "its scheme must be http or https"
	reasonUserinfo   = "it must not contain a user name or password"
	reasonFragment   = "it must not contain a fragment"
	reasonPort       = "its port is not allowed"
	reasonHost       = "its host is not a valid hostname"
	reasonNumber     = "its host must be a hostname or a plain IP address"
	reasonSpecial    = "its host is not a public hostname"
	reasonAddress    = "its host is not a public IP address"
	reasonResolve    = "its host does not resolve to public IP addresses only"
)

func rejectURL(reason string) error { return &URLError{Reason: reason} }

// GuardConfig configures a [Guard]. The zero value allows public addresses only.
type GuardConfig struct {
	// AllowedNetworks may be reached although they are not public; see
	// [Config.AllowedNetworks]. Prefixes that are not valid match nothing.
	AllowedNetworks []netip.Prefix
	// DeniedNetworks may not be reached although they are public or allowed; see
	// [Config.DeniedNetworks].
	DeniedNetworks []netip.Prefix
	// Resolver looks names up. Nil: [net.DefaultResolver].
	Resolver Resolver
}

// Guard decides which destinations may be reached. It is safe for concurrent use.
type Guard struct {
	allowed  []netip.Prefix
	denied   []netip.Prefix
	resolver Resolver
}

// NewGuard returns a Guard.
func NewGuard(c GuardConfig) *Guard {
	if c.Resolver == nil {
		c.Resolver = net.DefaultResolver
	}
	return &Guard{allowed: slices.Clone(c.AllowedNetworks), denied: slices.Clone(c.DeniedNetworks), resolver: c.Resolver}
}

// CheckURL applies every rule that needs no network and returns a *[URLError]
// when raw breaks one: scheme, length, characters, credentials, fragment, port,
// the form of the host, and literal addresses. Names that are not public by
// their form, such as localhost, are refused unless there are allowed networks;
// then [Guard.CheckHost] decides.
func (g *Guard) CheckURL(raw string) error {
	_, err := g.parseURL(raw)
	return err
}

// CheckHost applies the rules of [Guard.CheckURL], then resolves the host and
// refuses it with a *[URLError] unless all its addresses are public or allowed.
// It takes at most 5 s. When ctx ends first, the error is not a URLError and
// matches ctx's.
func (g *Guard) CheckHost(ctx context.Context, raw string) error {
	d, err := g.parseURL(raw)
	if err != nil {
		return err
	}
	_, err = g.resolve(ctx, d.host)
	return err
}

// target is a URL that passed CheckURL.
type target struct {
	url  *url.URL // with the mapped, lower-case host, the only one that was judged
	host host
}

// host is the name or the address of a target.
type host struct {
	addr netip.Addr // a literal; not valid: name counts
	name string     // mapped to ASCII, lower case, no dot at the end
	// special: the name has no form of public names; all its addresses must be in
	// allowed networks.
	special bool
}

func (h host) String() string {
	if h.addr.IsValid() {
		return h.addr.String()
	}
	return h.name
}

// parse reads a URL as its owner wrote it and judges it.
func (g *Guard) parseURL(raw string) (target, error) {
	if raw == "" || len(raw) > maxURL {
		return target{}, rejectURL(reasonLength)
	}
	// An escaped host is decoded in u; other programs may read it in another way. An
	// empty fragment leaves no trace there.
	_, authority, _ := strings.Cut(raw, "://")
	if end := strings.IndexAny(authority, "/?#"); end >= 0 {
		authority = authority[:end]
	}
	switch u, err := url.Parse(raw); {
	case !utf8.ValidString(raw) || strings.ContainsFunc(raw, isForbidden) || visible.Name(raw) != raw || visible.Misleads(raw):
		return target{}, rejectURL(reasonCharacters)
	case err != nil:
		return target{}, rejectURL(reasonSyntax)
	case u.Host != "" && strings.Contains(authority, "%"):
		return target{}, rejectURL(reasonHost)
	case strings.Contains(raw, "#"):
		return target{}, rejectURL(reasonFragment)
	default:
		return g.checkParts(u)
	}
}

// judge applies to u every rule that its parts can decide.
func (g *Guard) checkParts(u *url.URL) (target, error) {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return target{}, rejectURL(reasonScheme)
	case u.Opaque != "" || u.Host == "":
		return target{}, rejectURL(reasonSyntax)
	case u.User != nil:
		return target{}, rejectURL(reasonUserinfo)
	case u.Fragment != "":
		return target{}, rejectURL(reasonFragment)
	}
	name, port, err := splitAuthority(u)
	if err != nil {
		return target{}, err
	}
	var h host
	if inner, ok := strings.CutPrefix(name, "["); ok {
		h, err = g.parseIPv6(strings.TrimSuffix(inner, "]"))
	} else {
		h, err = g.parseName(name)
	}
	if err != nil {
		return target{}, err
	}
	judged := *u
	judged.Host = h.String()
	if h.addr.Is6() {
		judged.Host = "[" + judged.Host + "]"
	}
	if port != "" {
		judged.Host += ":" + port
	}
	return target{url: &judged, host: h}, nil
}

// isForbidden reports whether c may not stand in a URL: readers of URLs drop,
// trim or translate these in different ways.
func isForbidden(c rune) bool {
	return c == '\\' || unicode.IsSpace(c) || unicode.IsControl(c)
}

// splitAuthority returns the host, in brackets when it came so, and the port,
// empty when it is the scheme's own.
func splitAuthority(u *url.URL) (name, port string, err error) {
	name = u.Host
	if i := strings.LastIndexByte(u.Host, ':'); i > strings.LastIndexByte(u.Host, ']') {
		name, port = u.Host[:i], u.Host[i+1:]
		if n, err := strconv.ParseUint(port, 10, 16); port != "" && // "http://host:/" has the scheme's own
			(err != nil || port[0] == '0' || slices.Contains(blockedPorts[:], uint16(n))) {
			return "", "", rejectURL(reasonPort)
		}
	}
	if u.Scheme == "http" && port == "80" || u.Scheme == "https" && port == "443" {
		port = ""
	}
	return name, port, nil
}

func (g *Guard) parseIPv6(literal string) (host, error) {
	addr, err := netip.ParseAddr(literal)
	if err != nil || !addr.Is6() || addr.Zone() != "" {
		return host{}, rejectURL(reasonNumber)
	}
	// A mapped address is never plain: it is IPv4 in disguise.
	if addr.Is4In6() || !g.isPermitted(addr) {
		return host{}, rejectURL(reasonAddress)
	}
	return host{addr: addr}, nil
}

// hostMapping turns a name into the name to look up: full-width digits become digits, upper
// case becomes lower case, other scripts become xn-- labels. Without it
// http://１２７.０.０.１/ passes every comparison and reaches loopback.
//
// It is not strict about ASCII: isLabel is, and lets underscores through, which
// public names may have.
var hostMapping = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(false), idna.CheckHyphens(false))

func (g *Guard) parseName(raw string) (host, error) {
	name, err := hostMapping.ToASCII(raw)
	name = strings.TrimSuffix(name, ".")
	labels := strings.Split(name, ".")
	if err != nil || len(name) > 253 || slices.ContainsFunc(labels, func(label string) bool { return !isLabel(label) }) {
		return host{}, rejectURL(reasonHost)
	}
	if last := labels[len(labels)-1]; strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") {
		switch addr, err := netip.ParseAddr(raw); { // raw: only what was written plainly
		case err != nil || !addr.Is4():
			return host{}, rejectURL(reasonNumber)
		case !g.isPermitted(addr):
			return host{}, rejectURL(reasonAddress)
		default:
			return host{addr: addr}, nil
		}
	}
	special := len(labels) == 1 || slices.ContainsFunc(nonPublicSuffixes[:], func(suffix string) bool {
		return name == suffix || strings.HasSuffix(name, "."+suffix)
	})
	if special && len(g.allowed) == 0 {
		return host{}, rejectURL(reasonSpecial)
	}
	return host{name: name, special: special}, nil
}

// isLabel reports whether s is a label of letters, digits, underscores and inner
// hyphens.
func isLabel(s string) bool {
	return s != "" && len(s) <= 63 && strings.Trim(s, "-") == s && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}

// permits reports whether addr may be dialled.
func (g *Guard) isPermitted(addr netip.Addr) bool {
	return (publicaddr.IsPublic(addr) || g.isAllowed(addr)) && !publicaddr.InNetworks(g.denied, addr.Unmap())
}

func (g *Guard) isAllowed(addr netip.Addr) bool {
	return addr.Zone() == "" && publicaddr.InNetworks(g.allowed, addr.Unmap())
}

// resolve returns the addresses of h, unmapped, at most maxAddresses. It refuses h when
// any address is not permitted, also an address that would not be used: such a name
// should not be trusted.
func (g *Guard) resolve(ctx context.Context, h host) ([]netip.Addr, error) {
	if h.addr.IsValid() {
		return []netip.Addr{h.addr}, nil
	}
	if strings.HasSuffix(h.name, ".invalid") { // RFC 6761 promises that, so nobody is asked
		return nil, &URLError{Reason: reasonResolve, cause: errors.New("no such host")}
	}
	lookup, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	name := h.name
	if strings.Contains(name, ".") {
		name += "." // a hosts file has single labels, for allowed networks, without it
	}
	found, err := g.resolver.LookupNetIP(lookup, "ip", name)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("webhooks: resolve %s: %w", h.name, ctx.Err())
	}
	if err != nil {
		return nil, &URLError{Reason: reasonResolve, cause: err}
	}
	if len(found) == 0 {
		return nil, &URLError{Reason: reasonResolve, cause: errors.New("no addresses")}
	}
	addrs := make([]netip.Addr, 0, min(len(found), maxAddresses))
	for _, addr := range found {
		if h.special && !g.isAllowed(addr) || !g.isPermitted(addr) {
			return nil, &URLError{Reason: reasonResolve, cause: fmt.Errorf("address %s is not allowed", addr)}
		}
		addr = addr.Unmap()
		if len(addrs) < maxAddresses && !slices.Contains(addrs, addr) {
			addrs = append(addrs, addr)
		}
	}
	return addrs, nil
}
