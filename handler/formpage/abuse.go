package formpage

import "net/http"

// What an address is charged for, each with a budget of its own.
const (
	chargeStored = "" // what is stored, or asked of a captcha's service
	// What the funnel counts is charged by the names of the events.
)

// allowed charges the visitor's address.
func (h *Handler) allowed(r *http.Request, kind string) bool {
	address := h.address(r)
	if address == "" || h.limiter == nil {
		return true
	}
	result, err := h.limiter.Take(r.Context(), "page:"+kind+address)
	if err != nil {
		if r.Context().Err() == nil {
			h.logger.WarnContext(r.Context(), "the limiter of the pages failed", "error", err)
		}
		return true
	}
	return result.Allowed
}

// address is that of the visitor, as the host says: "" without.
func (h *Handler) address(r *http.Request) string {
	if h.config.Address == nil {
		return ""
	}
	return h.config.Address(r)
}
