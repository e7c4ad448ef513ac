package formpage

import (
	"net/http"
	"slices"
	"strings"
)

// originCheck compares hosts, not schemes: TLS may end at a proxy.
var originCheck http.CrossOriginProtection

// isCrossOrigin reports whether a POST comes from a page of another origin that may not send it,
// as the browser says by Sec-Fetch-Site or Origin. What is no browser says neither, and has
// nobody's cookies. A "*" of AllowedOrigins is for routes that browsers send no cookies to
// from elsewhere.
func (h *Handler) isCrossOrigin(r *http.Request, open bool) bool {
	origin, allowed := r.Header.Get("Origin"), h.config.AllowedOrigins
	if slices.Contains(allowed, origin) || open && slices.Contains(allowed, "*") || originCheck.Check(r) == nil {
		return false
	}
	h.config.Logger.WarnContext(r.Context(), "rejected POST from another origin", "origin", origin, "host", r.Host)
	return true
}

// rejectFraming refuses a page that may be shown in a frame by pages of its own origin only, when another
// origin has asked for the frame, or has led to it: a frame that a redirect fills has the ancestors of
// the page that began. It reports whether it did.
func (h *Handler) rejectFraming(w http.ResponseWriter, r *http.Request) bool {
	site, kind := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Sec-Fetch-Dest")
	if site == "" || site == "same-origin" || site == "none" || kind == "document" || kind == "" {
		return false
	}
	h.showError(w, r, false, http.StatusForbidden, "cross_site.text", "cross_site.text")
	return true
}

// handleCORS answers a request of a page of another origin, where the host allows that.
// Credentials are never part of it. It reports whether the request was a question about
// that alone.
func (h *Handler) handleCORS(w http.ResponseWriter, r *http.Request, methods string) (answered bool) {
	w.Header().Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if origin == "" || !slices.Contains(h.config.AllowedOrigins, origin) && !slices.Contains(h.config.AllowedOrigins, "*") {
		return false
	}
	w.Header().Set("Access-Control-Allow-Origin", origin)
	w.Header().Set("Access-Control-Expose-Headers", "Retry-After")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	w.Header().Set("Access-Control-Allow-Methods", methods)
	w.Header().Set("Access-Control-Allow-Headers", "Content-Type, Accept-Language")
	w.Header().Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}

// takeToken charges the visitor's address, for each kind with a budget of its own: "" is for requests
// that store, or that ask a captcha's service; a view or a start is charged by the name of its event.
func (h *Handler) takeToken(r *http.Request, kind string) bool {
	address := h.config.ClientIP(r)
	if address == "" || h.limiter == nil {
		return true
	}
	result, err := h.limiter.Take(r.Context(), "page:"+kind+address)
	if err != nil {
		if r.Context().Err() == nil {
			h.config.Logger.WarnContext(r.Context(), "rate limiter of the form pages failed", "error", err)
		}
		return true
	}
	return result.Allowed
}

// The methods of a form's page, and of what is only read.
const (
	pageMethods = "GET, HEAD, POST, OPTIONS"
	readMethods = "GET, HEAD, OPTIONS"
)

// handleMethod answers OPTIONS, and a method that is not among methods. It reports whether
// it did.
func (h *Handler) handleMethod(w http.ResponseWriter, r *http.Request, methods string, inJSON bool) bool {
	if r.Method != http.MethodOptions && slices.Contains(strings.Split(methods, ", "), r.Method) {
		return false
	}
	w.Header().Set("Allow", methods)
	switch {
	case r.Method == http.MethodOptions:
		w.WriteHeader(http.StatusNoContent)
	case inJSON:
		h.showError(w, r, true, http.StatusMethodNotAllowed, "failure.title", "unreadable.text")
	default:
		http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
	}
	return true
}
