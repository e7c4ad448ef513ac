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

// mount finds the operation's path within a request's URL path. It supports the standard mux with or without
// StripPrefix, any prefix, and a chi router with Mount, Route or Handle.
type mount struct {
	// base is the base URL's path plus the base path, and is tried first. basePath is only the base path.
	base, basePath string
	// resources holds the first path segments of all operations.
	resources map[string]bool
}

func newMount(baseURL, basePath string, operations []operation) mount {
	m := mount{base: urlPath(baseURL) + basePath, basePath: basePath, resources: map[string]bool{}}
	for _, op := range operations {
		m.resources[firstSegment(op.path)] = true
	}
	return m
}

func urlPath(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(u.EscapedPath(), "/")
}

// pathBelow returns the request's path below base. It stays percent-encoded, so that a block ID can contain a slash.
// path returns "" for paths that no operation can have: unclean paths and paths with a trailing slash.
func (m mount) pathBelow(r *http.Request, base string) string {
	full := "/" + strings.TrimPrefix(r.URL.EscapedPath(), "/") // http.StripPrefix("/api/", …) removes the slash
	if rctx := chi.RouteContext(r.Context()); rctx != nil && rctx.RoutePath != "" {
		// A chi router stores the rest of the path in its context. The rest is escaped if the URL has an escaped path.
		// It is longer than the URL path if there is a StripPrefix between the router and this handler.
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
		// If the host has removed the prefix, the remaining path can start with the same text. For example, with the
		// base path /forms, the path /forms/5f2b… can still identify a form.
		if ok && strings.HasPrefix(below, "/") && m.resources[firstSegment(below)] {
			return below
		}
	}
	return full
}

// isMisplaced reports whether a request is meant for an operation but is outside the base path. left is the path
// that [mount.pathBelow] returned. A path below the base path just results in a 404, even if the host has removed the base
// path.
func (m mount) isMisplaced(r *http.Request, left, base string) bool {
	if strings.HasPrefix(left, base+"/") || strings.HasPrefix(left, m.basePath+"/") {
		return false
	}
	sent, _, _ := strings.Cut(r.RequestURI, "?") // The request URI still contains a prefix that the host has stripped.
	taken, ok := strings.CutSuffix(cmp.Or(sent, r.URL.EscapedPath()), left)
	if ok && strings.HasSuffix(taken, m.basePath) {
		return false
	}
	if _, below, ok := strings.Cut(left, m.basePath+"/"); ok && m.resources[firstSegment(below)] {
		return true
	}
	// If a proxy has removed the base path, left starts with the first segment of an operation's path.
	if m.resources[firstSegment(left)] {
		return false
	}
	return slices.ContainsFunc(strings.Split(left, "/"), func(segment string) bool { return m.resources[segment] })
}

func firstSegment(path string) string {
	segment, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return segment
}
