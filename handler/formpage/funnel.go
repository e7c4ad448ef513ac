package formpage

import (
	"context"
	"net/http"

	"github.com/formsvc/formsvc/storage"
)

// viewed and started count for a page that runs in a browser. What it sends is signed,
// so only who was shown the form counts.
func (h *Handler) viewed(w http.ResponseWriter, r *http.Request, form PublicForm) {
	h.beacon(w, r, form, h.service.RecordView)
}

func (h *Handler) started(w http.ResponseWriter, r *http.Request, form PublicForm) {
	h.beacon(w, r, form, h.service.RecordStart)
}

func (h *Handler) beacon(w http.ResponseWriter, r *http.Request, form PublicForm, record func(context.Context, storage.ID) error) {
	r.Body = http.MaxBytesReader(w, r.Body, 4096)
	if _, ok := h.signer.openVisit(form, r.FormValue(ctrlState), h.clock()); !ok || form.Closed {
		http.Error(w, "not a page of this form", http.StatusForbidden)
		return
	}
	if !h.allowed(r) {
		http.Error(w, http.StatusText(http.StatusTooManyRequests), http.StatusTooManyRequests)
		return
	}
	if err := record(r.Context(), form.ID); err != nil {
		h.logger.WarnContext(r.Context(), "a visit was not counted", "form", form.ID, "error", err)
	}
	w.WriteHeader(http.StatusNoContent)
}

// count records the view and the start of a page that a browser without JavaScript
// sent: who posts has seen and started. A preview is never counted: its pages say that
// they were, so that the script sends nothing either.
func (c *call) count() {
	if c.preview != nil {
		c.values.Set(ctrlViewed, "1")
		c.values.Set(ctrlStarted, "1")
		return
	}
	for name, record := range map[string]func() error{
		ctrlViewed:  func() error { return c.h.service.RecordView(c.r.Context(), c.form.ID) },
		ctrlStarted: func() error { return c.h.service.RecordStart(c.r.Context(), c.form.ID) },
	} {
		if c.values.Get(name) != "" {
			continue
		}
		if err := record(); err != nil {
			c.h.logger.WarnContext(c.r.Context(), "a visit was not counted", "form", c.form.ID, "error", err)
		}
		c.values.Set(name, "1")
	}
}
