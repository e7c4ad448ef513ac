package answertype

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/formsvc/formsvc/internal/publicaddr"
	"github.com/formsvc/formsvc/internal/violation"
	"github.com/formsvc/formsvc/internal/weburl"
	"github.com/formsvc/formsvc/schema"
)

var maxWebsite = maxTextLength(schema.TypeWebsite)

var websiteRule = formatRule{sample: "https://example.com/", max: maxWebsite, normalize: func(text string, r *Report) (string, Violation) {
	if !spendIDNA(text, r) {
		return "", violationTooSlow()
	}
	address, ok := normalizeWebsite(text)
	switch {
	case !ok:
		return "", violationNotURL()
	case violation.LongerThan(address, maxWebsite): // adding the scheme exceeded the limit
		return "", violationTooLong(maxWebsite)
	}
	return address, Violation{}
}}

// normalizeWebsite returns an absolute URL with a lowercase scheme and a public host. It rejects credentials, because
// they can make an unknown host look like a known one. It normalizes the rest as browsers do.
func normalizeWebsite(text string) (string, bool) {
	scheme, rest, hasScheme := strings.Cut(text, "://")
	if hasScheme && !isDotted(scheme, isAlphanumeric) { // "example.com/?next=https://…"
		hasScheme = false
	}
	if hasScheme {
		scheme = strings.ToLower(scheme)
	} else {
		scheme, rest = "https", text
	}
	if scheme != "http" && scheme != "https" || strings.ContainsFunc(rest, isForbidden) {
		return "", false
	}
	host, port, path := splitHost(rest)
	host, ok := normalizeHost(host)
	address := scheme + "://" + host + port
	if !ok || !weburl.IsPlainWebURL(address) || strings.ContainsAny(path, "<>") {
		return "", false
	}
	for _, word := range strings.Fields(path)[min(1, len(strings.Fields(path))):] {
		if strings.Contains(word, "://") {
			return "", false // text contains a second URL
		}
	}
	return address + encodePath(path), true
}

// encodePath encodes everything after the host as browsers do, but leaves non-ASCII characters and percent signs
// unchanged.
func encodePath(path string) string {
	query := len(path)
	if at := strings.IndexAny(path, "?#"); at >= 0 {
		query = at
	}
	path = strings.ReplaceAll(path[:query], `\`, "/") + path[query:]
	var b strings.Builder
	for at, c := range path {
		if unicode.IsSpace(c) || strings.ContainsRune(`"\`, c) || at < query && strings.ContainsRune("^`{}", c) {
			b.WriteString(strings.ReplaceAll(url.QueryEscape(string(c)), "+", "%20"))
		} else {
			b.WriteRune(c)
		}
	}
	return b.String()
}

// splitHost splits everything after a URL's scheme. port includes the colon, and an empty port is dropped.
func splitHost(rest string) (host, port, path string) {
	host = rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		host, path = rest[:end], rest[end:]
	}
	if at := strings.LastIndexByte(host, ':'); at >= 0 && !strings.HasSuffix(host, "]") {
		host, port = host[:at], host[at:]
	}
	if port == ":" {
		port = ""
	}
	return host, port, path
}

// normalizeHost returns a domain name, or a public IP address in URL syntax.
func normalizeHost(host string) (string, bool) {
	literal, isIPv6 := strings.CutPrefix(host, "[")
	if isIPv6 {
		literal, isIPv6 = strings.CutSuffix(literal, "]")
	}
	if addr, err := netip.ParseAddr(literal); err == nil {
		if addr.Is4() == isIPv6 || addr.Is4In6() || !publicaddr.IsPublic(addr) {
			return "", false
		}
		if isIPv6 {
			return "[" + addr.String() + "]", true
		}
		return addr.String(), true
	}
	return normalizeWebHost(host)
}

// normalizeWebHost is like normalizeDomain, but allows underscores before the last two labels, which machine names can
// contain.
func normalizeWebHost(host string) (string, bool) {
	labels := strings.Split(host, ".")
	plain := slices.Clone(labels)
	for i := range max(0, len(labels)-2) {
		if isPlainASCII(labels[i]) && strings.Trim(labels[i], "_") != "" {
			plain[i] = strings.ReplaceAll(labels[i], "_", "x")
		}
	}
	domain, _, ok := normalizeDomain(strings.Join(plain, "."))
	if !ok || slices.Equal(plain, labels) {
		return domain, ok
	}
	result := strings.Split(domain, ".")
	if len(result) != len(labels) {
		return "", false
	}
	for i := range labels {
		if plain[i] != labels[i] {
			result[i] = strings.ToLower(labels[i])
		}
	}
	return strings.Join(result, "."), true
}

func websiteIdentity(text string) string {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		scheme, rest = "https", text
	}
	host, port, path := splitHost(rest)
	if strings.EqualFold(scheme, "https") && port == ":443" || strings.EqualFold(scheme, "http") && port == ":80" {
		port = ""
	}
	more := strings.IndexAny(path, "?#")
	if more < 0 {
		more = len(path)
	}
	return toASCIIHost(host) + port + strings.TrimSuffix(path[:more], "/") + path[more:]
}
