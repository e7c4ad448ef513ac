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
	"github.com/formsvc/formsvc/internal/textclean"
)

const (
	maxURL        = 2048
	maxAddresses  = 8
	lookupTimeout = 5 * time.Second
)

// Resolver looks up the addresses of a hostname. *[net.Resolver] implements it. The argument network is "ip". If the
// argument host contains a dot, it also ends in a dot, so that the system does not apply its search list.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// URLError means that the guard rejects a destination. Reason can be shown to the user who chose the URL. It reveals no
// addresses or names in the host's network.
type URLError struct {
	Reason string
	cause  error
}

// Error returns the reason.
func (e *URLError) Error() string { return "webhooks: URL rejected: " + e.Reason }

// Unwrap returns the cause, or nil if there is none. It is only for the host's log.
func (e *URLError) Unwrap() error { return e.cause }

// These are possible reasons in a URLError.
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

func newURLError(reason string) error { return &URLError{Reason: reason} }

// GuardConfig configures a [Guard]. The zero value allows only public addresses.
type GuardConfig struct {
	// AllowedNetworks are non-public networks to allow; see [Config.AllowedNetworks]. Invalid prefixes match nothing.
	AllowedNetworks []netip.Prefix
	// DeniedNetworks are networks that are never allowed; see [Config.DeniedNetworks].
	DeniedNetworks []netip.Prefix
	// Resolver resolves hostnames. Defaults to [net.DefaultResolver].
	Resolver Resolver
}

// Guard decides which destinations are allowed. It is safe for concurrent use.
type Guard struct {
	allowed  []netip.Prefix
	denied   []netip.Prefix
	resolver Resolver
}

// NewGuard returns a Guard with a copy of the configuration.
func NewGuard(c GuardConfig) *Guard {
	if c.Resolver == nil {
		c.Resolver = net.DefaultResolver
	}
	return &Guard{allowed: slices.Clone(c.AllowedNetworks), denied: slices.Clone(c.DeniedNetworks), resolver: c.Resolver}
}

// CheckURL applies all rules that can be checked without a network: scheme, length, characters, credentials, fragment,
// port, format of the host, and literal addresses. It returns a *[URLError] if raw violates a rule. If no networks are
// allowed, it also rejects names that cannot be public, such as localhost. Otherwise, [Guard.CheckHost] checks such
// names.
func (g *Guard) CheckURL(raw string) error {
	_, err := g.parseURL(raw)
	return err
}

// CheckHost applies the rules of [Guard.CheckURL] and resolves the host. It returns a *[URLError] unless all addresses
// are public or allowed. It takes at most 5 s. If ctx ends first, the error wraps ctx's error and is not a URLError.
func (g *Guard) CheckHost(ctx context.Context, raw string) error {
	d, err := g.parseURL(raw)
	if err != nil {
		return err
	}
	_, err = g.resolve(ctx, d.host)
	return err
}

type checkedURL struct {
	url  *url.URL // with the checked host, in lowercase ASCII
	host host
}

type host struct {
	addr netip.Addr // a literal address; invalid if the host is a name
	name string     // in lowercase ASCII, without a final dot
	// special reports whether the name cannot be public. In this case, all its addresses must be in allowed networks.
	special bool
}

func (h host) String() string {
	if h.addr.IsValid() {
		return h.addr.String()
	}
	return h.name
}

// parseURL parses and checks a URL.
func (g *Guard) parseURL(raw string) (checkedURL, error) {
	if raw == "" || len(raw) > maxURL {
		return checkedURL{}, newURLError(reasonLength)
	}
	// url.Parse decodes escapes in the host, which other programs may read differently, and ignores an empty fragment.
	_, authority, _ := strings.Cut(raw, "://")
	if end := strings.IndexAny(authority, "/?#"); end >= 0 {
		authority = authority[:end]
	}
	switch u, err := url.Parse(raw); {
	case !utf8.ValidString(raw) || strings.ContainsFunc(raw, isForbiddenInURL) || textclean.CleanName(raw) != raw || textclean.IsMisleading(raw):
		return checkedURL{}, newURLError(reasonCharacters)
	case err != nil:
		return checkedURL{}, newURLError(reasonSyntax)
	case u.Host != "" && strings.Contains(authority, "%"):
		return checkedURL{}, newURLError(reasonHost)
	case strings.Contains(raw, "#"):
		return checkedURL{}, newURLError(reasonFragment)
	default:
		return g.checkURLParts(u)
	}
}

// checkURLParts checks all parts of u and returns u with the host in canonical form.
func (g *Guard) checkURLParts(u *url.URL) (checkedURL, error) {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return checkedURL{}, newURLError(reasonScheme)
	case u.Opaque != "" || u.Host == "":
		return checkedURL{}, newURLError(reasonSyntax)
	case u.User != nil:
		return checkedURL{}, newURLError(reasonUserinfo)
	case u.Fragment != "":
		return checkedURL{}, newURLError(reasonFragment)
	}
	name, port, err := splitAuthority(u)
	if err != nil {
		return checkedURL{}, err
	}
	var h host
	if inner, ok := strings.CutPrefix(name, "["); ok {
		h, err = g.parseIPv6(strings.TrimSuffix(inner, "]"))
	} else {
		h, err = g.parseHostname(name)
	}
	if err != nil {
		return checkedURL{}, err
	}
	checked := *u
	checked.Host = h.String()
	if h.addr.Is6() {
		checked.Host = "[" + checked.Host + "]"
	}
	if port != "" {
		checked.Host += ":" + port
	}
	return checkedURL{url: &checked, host: h}, nil
}

// isForbiddenInURL reports whether c is not allowed in a URL, because URL parsers treat it differently.
func isForbiddenInURL(c rune) bool {
	return c == '\\' || unicode.IsSpace(c) || unicode.IsControl(c)
}

// splitAuthority returns the host, including any brackets, and the port. If the port is the scheme's default, it
// returns an empty port.
func splitAuthority(u *url.URL) (name, port string, err error) {
	name = u.Host
	if i := strings.LastIndexByte(u.Host, ':'); i > strings.LastIndexByte(u.Host, ']') {
		name, port = u.Host[:i], u.Host[i+1:]
		if n, err := strconv.ParseUint(port, 10, 16); port != "" && // an empty port, as in "http://host:/", is allowed
			(err != nil || port[0] == '0' || slices.Contains(blockedPorts[:], uint16(n))) {
			return "", "", newURLError(reasonPort)
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
		return host{}, newURLError(reasonNumber)
	}
	// An IPv4-mapped address hides an IPv4 address.
	if addr.Is4In6() || !g.isPermitted(addr) {
		return host{}, newURLError(reasonAddress)
	}
	return host{addr: addr}, nil
}

// hostMapping converts a name for the lookup: full-width digits become digits, uppercase becomes lowercase, and other
// scripts become xn-- labels. Without it, http://１２７.０.０.１/ would pass every comparison and reach loopback. It accepts
// all ASCII characters, because public names can contain underscores. isLabel checks the characters.
var hostMapping = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(false), idna.CheckHyphens(false))

func (g *Guard) parseHostname(raw string) (host, error) {
	name, err := hostMapping.ToASCII(raw)
	name = strings.TrimSuffix(name, ".")
	labels := strings.Split(name, ".")
	if err != nil || len(name) > 253 || slices.ContainsFunc(labels, func(label string) bool { return !isLabel(label) }) {
		return host{}, newURLError(reasonHost)
	}
	if last := labels[len(labels)-1]; strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") {
		switch addr, err := netip.ParseAddr(raw); { // raw, because only the plain notation is allowed
		case err != nil || !addr.Is4():
			return host{}, newURLError(reasonNumber)
		case !g.isPermitted(addr):
			return host{}, newURLError(reasonAddress)
		default:
			return host{addr: addr}, nil
		}
	}
	special := len(labels) == 1 || slices.ContainsFunc(nonPublicSuffixes[:], func(suffix string) bool {
		return name == suffix || strings.HasSuffix(name, "."+suffix)
	})
	if special && len(g.allowed) == 0 {
		return host{}, newURLError(reasonSpecial)
	}
	return host{name: name, special: special}, nil
}

// isLabel reports whether s is a DNS label of letters, digits, underscores and hyphens, without a hyphen at either end.
func isLabel(s string) bool {
	return s != "" && len(s) <= 63 && strings.Trim(s, "-") == s && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}

func (g *Guard) isPermitted(addr netip.Addr) bool {
	return (publicaddr.IsPublic(addr) || g.isAllowed(addr)) && !publicaddr.InNetworks(g.denied, addr.Unmap())
}

func (g *Guard) isAllowed(addr netip.Addr) bool {
	return addr.Zone() == "" && publicaddr.InNetworks(g.allowed, addr.Unmap())
}

// resolve returns up to maxAddresses addresses of h. It rejects h if any of its addresses, even beyond maxAddresses, is
// not permitted, because such a name cannot be trusted.
func (g *Guard) resolve(ctx context.Context, h host) ([]netip.Addr, error) {
	if h.addr.IsValid() {
		return []netip.Addr{h.addr}, nil
	}
	if strings.HasSuffix(h.name, ".invalid") { // these names never resolve (RFC 6761)
		return nil, &URLError{Reason: reasonResolve, cause: errors.New("no such host")}
	}
	lookup, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	name := h.name
	if strings.Contains(name, ".") {
		name += "." // not for single labels, because a hosts file lists them without a final dot
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
