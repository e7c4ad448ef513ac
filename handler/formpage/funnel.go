package formpage

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/storage"
)

// A view is counted when the script runs in a tab that can be seen, a start at the first
// input; a page that is sent counts for both, once. What asks for the count is signed, so
// it belongs to a page that was shown, and a visit counts once: here in this process, in the
// page by its inputs.

// event is one of the two things that are counted.
type event struct {
	input  string // says in the page that it was counted
	record func(ctx context.Context, form storage.ID) error
}

func (h *Handler) events() (view, start event) {
	return event{ctrlViewed, h.service.RecordView}, event{ctrlStarted, h.service.RecordStart}
}

// viewed and started take what the script of a page sends.
func (h *Handler) viewed(w http.ResponseWriter, r *http.Request, form formsvc.PublicForm) {
	view, _ := h.events()
	h.beacon(w, r, form, view)
}

func (h *Handler) started(w http.ResponseWriter, r *http.Request, form formsvc.PublicForm) {
	_, start := h.events()
	h.beacon(w, r, form, start)
}

func (h *Handler) beacon(w http.ResponseWriter, r *http.Request, form formsvc.PublicForm, e event) {
	values, _, _ := h.newCall(w, r, form).read(4096) // what is not read has no state
	v, ok := h.signer.openVisit(form, values.Get(ctrlState), h.clock())
	if !ok || form.Closed {
		http.Error(w, "not a page of this form", http.StatusForbidden)
		return
	}
	if !nobody(r) {
		h.count(r, form, v, e)
	}
	w.WriteHeader(http.StatusNoContent)
}

// count records an event of a visit, once. An address has a budget for each kind of event,
// beside the one for what is stored: anybody may open pages without end.
func (h *Handler) count(r *http.Request, form formsvc.PublicForm, v visit, e event) {
	if !h.counted.put(e.input+v.Key, true, len(v.Key)) || !h.allowed(r, e.input+":") {
		return
	}
	if err := e.record(r.Context(), form.ID); err != nil {
		h.logger.WarnContext(r.Context(), "a visit was not counted", "form", form.ID, "error", err)
	}
}

// countSent counts for a page that was sent: who sends has seen and started. A page that
// is not known to be one of ours counts when it comes back. A preview is never counted: its
// pages say that they were, so that the script sends nothing either.
func (c *call) countSent(known bool) {
	if c.form.Closed || !known && c.preview == nil {
		return
	}
	view, start := c.h.events()
	for _, e := range []event{view, start} {
		if c.preview == nil && c.values.Get(e.input) == "" && !nobody(c.r) {
			c.h.count(c.r, c.form, c.visit, e)
		}
		c.values.Set(e.input, "1")
	}
}

// nobody reports whether a request is of a browser that loads a page ahead, or of a program
// that says so. Programs that render pages run their scripts too.
func nobody(r *http.Request) bool {
	for _, name := range []string{"Sec-Purpose", "Purpose", "X-Purpose", "X-Moz"} {
		purpose := strings.ToLower(r.Header.Get(name))
		if strings.Contains(purpose, "prefetch") || strings.Contains(purpose, "prerender") || strings.Contains(purpose, "preview") {
			return true
		}
	}
	// Cubot makes phones.
	agent := strings.ReplaceAll(strings.ToLower(r.UserAgent()), "cubot", "")
	return slices.ContainsFunc(programs, func(word string) bool { return strings.Contains(agent, word) })
}

// programs are words by which crawlers and those that make previews of links name
// themselves, such as Googlebot, Slackbot-LinkExpanding and facebookexternalhit.
var programs = []string{
	"bot", "crawl", "spider", "slurp", "facebookexternalhit", "whatsapp", "skypeuripreview", "linkpreview", "link preview",
	"bingpreview", "embedly", "lighthouse", "pagespeed", "mediapartners-google", "google-inspectiontool",
}
