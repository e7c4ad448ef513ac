package formpage

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// originCheck compares only hosts, not schemes, because TLS may end at a proxy.
var originCheck http.CrossOriginProtection

// isCrossOrigin checks Sec-Fetch-Site and Origin, and reports whether a POST comes from an origin that is not allowed.
// Programs other than browsers send neither these headers nor a user's cookies. open is true for routes to which
// browsers send no cookies from other origins. For these routes, AllowedOrigins may contain "*".
func (h *Handler) isCrossOrigin(r *http.Request, open bool) bool {
	origin, allowed := r.Header.Get("Origin"), h.config.AllowedOrigins
	if slices.Contains(allowed, origin) || open && slices.Contains(allowed, "*") || originCheck.Check(r) == nil {
		return false
	}
	h.config.Logger.WarnContext(r.Context(), "rejected POST from another origin: check Config.AllowedOrigins", "origin", origin, "host", r.Host)
	return true
}

// rejectFraming rejects a canvas or preview in a frame if another origin requested or redirected the frame. The
// frame-ancestors policy alone does not prevent this, because a redirected frame keeps the ancestors of its first page.
func (h *Handler) rejectFraming(w http.ResponseWriter, r *http.Request) bool {
	site, kind := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Sec-Fetch-Dest")
	if site == "" || site == "same-origin" || site == "none" || kind == "document" || kind == "" {
		return false
	}
	h.showError(w, r, false, http.StatusForbidden, "cross_site.text", "cross_site.text")
	return true
}

// handleCORS allows a request from another origin if the host allows that origin. It never allows credentials. It
// reports whether it responded to a preflight request.
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

// clientIP returns the host's ClientIP without a port, because r.RemoteAddr has another port for each connection. Of a
// list, it returns the last address, because the host's proxy appends to the addresses that a client sends.
func (h *Handler) clientIP(r *http.Request) string {
	addresses := h.config.ClientIP(r)
	address := strings.TrimSpace(addresses[strings.LastIndexByte(addresses, ',')+1:])
	if withPort, err := netip.ParseAddrPort(address); err == nil {
		return withPort.Addr().String()
	}
	return address
}

// takeLimiterToken takes a token from one of the address's budgets. kind "" is the budget for requests that store a
// submission or files, or call a Verifier. Each event has its own budget.
func (h *Handler) takeLimiterToken(r *http.Request, kind string) bool {
	address := h.clientIP(r)
	if address == "" || h.limiter == nil {
		if h.limiter != nil {
			h.noAddressOnce.Do(func() {
				h.config.Logger.WarnContext(r.Context(), "request is not limited, because Config.ClientIP returned no address")
			})
		}
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

const (
	pageMethods = "GET, HEAD, POST, OPTIONS"
	readMethods = "GET, HEAD, OPTIONS"
)

// handleMethod responds to OPTIONS requests and to unsupported methods. It reports whether it responded.
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
