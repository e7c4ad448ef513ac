package formpage

import (
	"net/http"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/schema"
)

// Uncached returns a handler that does the same and remembers no form.
func (h *Handler) Uncached() *Handler {
	return &Handler{service: h.service, config: h.config, signer: h.signer, words: h.words, host: h.host, site: h.site}
}

// Read returns what is kept of the body of a request.
func (h *Handler) Read(w http.ResponseWriter, r *http.Request, form formsvc.PublicForm) any {
	c := h.newCall(w, r, form)
	if r.Header.Get("Content-Type") == "application/json" {
		in, _ := c.readJSON()
		return in
	}
	values, _, _ := c.read(h.config.MaxBody)
	return values
}

// FaultText words a violation of the service.
func (h *Handler) FaultText(r *http.Request, form formsvc.PublicForm, v schema.Violation) string {
	c := h.newCall(nil, r, form)
	return c.FaultText(v, c.Index.Find(v.Field), false)
}
