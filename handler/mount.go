package handler

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/formsvc/formsvc/internal/apidoc"
)

// mount finds the path of an operation in a request, however the host mounted the
// handler. The handler may be on the standard mux with or without StripPrefix, below
// any prefix, or in a chi router by Mount, Route or Handle.
type mount struct {
	// base is the base URL's path with the base path, and basePath the latter alone.
	// They are tried in this order.
	base, basePath string
	// resources are the first segments of all operations.
	resources map[string]bool
}

func newMount(baseURL, basePath string, operations []operation) mount {
	m := mount{base: urlPath(baseURL) + basePath, basePath: basePath, resources: map[string]bool{}}
	for _, op := range operations {
		m.resources[firstSegment(op.path)] = true
	}
	return m
}

// urlPath is the path of an absolute URL or of a bare path, without a slash at its
// end.
func urlPath(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(u.EscapedPath(), "/")
}

// path returns the request's path below the base path, percent-encoded as it was
// sent, so that a block id may contain a slash. It returns "" for a path that
// cannot be an operation's: an unclean one, or one with a slash at its end. base
// is [mount.base], or what takes its place for this request.
func (m mount) path(r *http.Request, base string) string {
	full := r.URL.EscapedPath()
	if rctx := chi.RouteContext(r.Context()); rctx != nil && rctx.RoutePath != "" {
		// A chi router keeps the rest of the path in its context: escaped if the URL
		// has an escaped form, else plain. It is the longer of the two when a
		// StripPrefix stands between the router and us.
		left := rctx.RoutePath
		if r.URL.RawPath == "" {
			left = (&url.URL{Path: left}).EscapedPath()
		}
		if len(left) < len(full) {
			full = left
		}
	}
	if !apidoc.IsPlainPath(full) {
		return ""
	}
	for _, prefix := range [...]string{base, m.basePath} {
		below, ok := strings.CutPrefix(full, prefix)
		// The host may have taken the prefix away already. Then a part that looks like
		// the prefix belongs to the path below the prefix: with the base path /forms,
		// the path /forms/5f2b… may be a form.
		if ok && strings.HasPrefix(below, "/") && m.resources[firstSegment(below)] {
			return below
		}
	}
	return full
}

// misses reports whether a request is for an operation, but came at another path than the
// base path. left is what [mount.path] returned for the request, and no operation has it.
// What lies below the base path is an ordinary 404, also when the host has taken the base
// path away.
func (m mount) isMisplaced(r *http.Request, left, base string) bool {
	if strings.HasPrefix(left, base+"/") || strings.HasPrefix(left, m.basePath+"/") {
		return false
	}
	sent, _, _ := strings.Cut(r.RequestURI, "?") // a prefix that was stripped is still in it
	taken, ok := strings.CutSuffix(cmp.Or(sent, r.URL.EscapedPath()), left)
	if ok && strings.HasSuffix(taken, m.basePath) {
		return false
	}
	if _, below, ok := strings.Cut(left, m.basePath+"/"); ok && m.resources[firstSegment(below)] {
		return true
	}
	// A proxy may have taken the base path away, too: then a resource is in front.
	if m.resources[firstSegment(left)] {
		return false
	}
	return slices.ContainsFunc(strings.Split(left, "/"), func(segment string) bool { return m.resources[segment] })
}

func firstSegment(path string) string {
	segment, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return segment
}
