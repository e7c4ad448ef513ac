package conformance

import (
	"net/http"
	"slices"
	"strings"
)

// own reports whether the service itself has given the answer: it succeeded, it has a
// request id, or it has the error body of the API. Where only the body counts, a middleware
// in front may have added the request id.
func (r *response) own(onlyBody bool) bool {
	if r.status < 300 || r.status == http.StatusNotModified || !onlyBody && r.header.Get("X-Request-Id") != "" {
		return true
	}
	e := r.errorBody()
	return e.code != "" && e.requestID != ""
}

// checkFront ends the case as skipped when a proxy, a gateway or the host's own routing has
// answered instead of the service.
//
// Such an answer looks like that of a service that has lost its error body, so the suite
// sends the request again without its key. The service refuses that by itself before it
// looks at anything but path and method, and whatever is in front answers as before. Some
// answers are faults all the same: every path below the base path is the service's, and so
// are 401, 404, 405, 500, 501 and redirects. Exceptions are requests with another Host, and, unless
// the target has RawPaths, those with an unclean path or an unknown method.
func (s *session) checkFront(got *response) {
	r := got.request
	odd := r.host != "" || !s.target.RawPaths && (unclean(r.path) || !slices.Contains(methods, r.method))
	if got.own(odd) || !odd && !s.refusedInFront(got) {
		return
	}
	// Without a key, the service refuses this by itself. When it gets the same answer, nothing
	// reaches the service.
	probe := request{method: http.MethodGet, path: "/me", key: s.target.Key, header: make(http.Header)}
	if answer := s.sendRaw(probe); !answer.own(false) && answer.status == got.status {
		s.breaks("a server in front of the service responds instead of the service\n%s", answer)
		panic(stopped{})
	}
	s.skip("%d %s to %s %.60s is not a response of the service", got.status, http.StatusText(got.status), r.method, r.path)
}

// methods are those that something in front passes on.
var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}

// unclean reports whether a path has empty segments or dot segments.
func unclean(path string) bool {
	path, _, _ = strings.Cut(path, "?")
	path += "/"
	return strings.Contains(path[:len(path)-1], "//") || strings.Contains(path, "/./") || strings.Contains(path, "/../")
}

// refusedInFront reports whether an answer without the service's marks is of something in
// front of it.
func (s *session) refusedInFront(got *response) bool {
	switch got.status {
	case http.StatusUnauthorized, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusInternalServerError, http.StatusNotImplemented:
		return false
	}
	if got.status < 400 {
		return false
	}
	r := got.request
	unavailable := slices.Contains([]int{http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}, got.status)
	keyless := r
	keyless.key, keyless.header = "", r.header.Clone()
	for name := range r.header {
		if !slices.Contains([]string{"Content-Type", "If-Match", "If-None-Match", "X-Request-Id"}, name) {
			keyless.header.Del(name) // the key, wherever Authorize has put it
		}
	}
	if len(keyless.header) < len(r.header) {
		if s.sendRaw(keyless).own(false) {
			// The service was reached this time. Either the key's characters or length were refused, or
			// a gateway had lost the service for a moment and reaches it again.
			refused := got.status == http.StatusBadRequest || got.status == http.StatusRequestHeaderFieldsTooLarge
			return refused && oddHeader(r.header) || unavailable && s.sendRaw(r).own(false)
		}
		return true
	}
	return unavailable || got.status > 511 || slices.Contains([]int{
		http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong, http.StatusMisdirectedRequest,
		http.StatusTooManyRequests, http.StatusRequestHeaderFieldsTooLarge,
	}, got.status)
}

// oddHeader reports whether a header has a value that servers may refuse whatever it means.
func oddHeader(header http.Header) bool {
	for _, values := range header {
		for _, v := range values {
			if len(v) > 1000 || strings.ContainsFunc(v, func(c rune) bool { return c < ' ' || c > '~' }) {
				return true
			}
		}
	}
	return false
}
