package answers

import (
	"strings"

	"github.com/formsvc/formsvc/internal/faults"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/weburl"
)

const maxWebsite = 2048 // characters

// websiteRule checks the address of a page.
type websiteRule struct{}

func (websiteRule) check(w *jsontree.Writer, n jsontree.Node, r *report) {
	text, ok := trimmed(n, r)
	if !ok {
		return
	}
	address, ok := normalWebsite(text)
	if !ok {
		r.add(n, notURL())
		return
	}
	if faults.LongerThan(address, maxWebsite) {
		r.add(n, tooLong(maxWebsite))
		return
	}
	w.String(address)
}

func (websiteRule) sample() string { return `"https://example.com/"` }

// normalWebsite returns text as an absolute URL with a scheme in lower case.
// Credentials are refused: they make a foreign host look like a known one.
func normalWebsite(text string) (string, bool) {
	scheme, rest, hasScheme := strings.Cut(text, "://")
	if hasScheme && !isDotted(scheme, isAlphanumeric) { // "example.com/?next=https://…"
		hasScheme = false
	}
	if hasScheme {
		scheme = strings.ToLower(scheme)
	} else {
		scheme, rest = "https", text
	}
	if scheme != "http" && scheme != "https" {
		return "", false
	}
	address := scheme + "://" + rest
	if !weburl.IsPlain(address) {
		return "", false
	}
	host, _, _ := strings.Cut(rest, "/")
	return address, hasScheme || strings.Contains(host, ".")
}
