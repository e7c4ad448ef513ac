package policy

import (
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// Hosts is a set of hostnames, normalized by normalizeHost.
type Hosts map[string]bool

// OwnHosts returns the hostnames of the site that serves a request, and the hosts in origins. It includes forwarded
// names, because a proxy may change the Host header. A client that forges a name only makes its own page lose a frame.
func OwnHosts(r *http.Request, origins []string) Hosts {
	own := Hosts{}
	for _, origin := range append([]string{r.Header.Get("Origin")}, origins...) {
		own[normalizeHost(origin)] = true
	}
	for _, forwarded := range r.Header.Values("Forwarded") {
		for _, pair := range strings.FieldsFunc(forwarded, func(c rune) bool { return c == ';' || c == ',' }) {
			if name, value, _ := strings.Cut(strings.TrimSpace(pair), "="); strings.EqualFold(name, "host") {
				own[normalizeHost("//"+strings.Trim(value, `"`))] = true
			}
		}
	}
	for _, host := range append(strings.Split(strings.Join(r.Header.Values("X-Forwarded-Host"), ","), ","), r.Host) {
		own[normalizeHost("//"+strings.TrimSpace(host))] = true
	}
	delete(own, "")
	return own
}

// normalizeHost returns a URL's normalized hostname without the port, because cookies ignore ports. All names for the
// local machine become "localhost".
func normalizeHost(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	name := u.Hostname()
	if ascii, err := idna.Lookup.ToASCII(name); err == nil {
		name = ascii
	}
	name = strings.TrimRight(strings.ToLower(name), ".")
	ip, ok := parseIPv4(name)
	if !ok {
		ip, _ = netip.ParseAddr(name)
	}
	switch ip = ip.Unmap().WithZone(""); {
	case ip.IsLoopback() || ip.IsUnspecified() || name == "localhost" || strings.HasSuffix(name, ".localhost"):
		return "localhost"
	case ip.IsValid():
		return ip.String()
	}
	return name
}

// parseIPv4 parses an IPv4 address as browsers do. The address is up to four decimal, octal or hexadecimal numbers, and
// the last number fills the remaining bytes.
func parseIPv4(name string) (netip.Addr, bool) {
	parts := strings.Split(name, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var all uint64
	for i, part := range parts {
		if part == "0x" {
			part = "0"
		}
		n, err := strconv.ParseUint(part, 0, 32)
		left := uint64(1)
		if i == len(parts)-1 {
			left = uint64(5 - len(parts))
		}
		if err != nil || n >= 1<<(8*left) {
			return netip.Addr{}, false
		}
		all = all<<(8*left) | n
	}
	return netip.AddrFrom4([4]byte{byte(all >> 24), byte(all >> 16), byte(all >> 8), byte(all)}), true
}
