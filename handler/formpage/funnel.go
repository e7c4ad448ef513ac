package formpage

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/visit"
	"github.com/formsvc/formsvc/storage"
)

// A view is counted when the script runs in a tab that can be seen, a start at the first
// input; a page that is sent counts for both, once. What asks for the count is signed, so
// it belongs to a page that was shown, and a visit counts once: here in this process, in the
// page by its inputs.

// event is a view or a start.
type event struct {
	input  string // says in the page that it was counted
	record func(s *formsvc.Service, ctx context.Context, form storage.ID) error
}

var (
	viewEvent  = event{input.Viewed, (*formsvc.Service).RecordView}
	startEvent = event{input.Started, (*formsvc.Service).RecordStart}
)

// serveBeacon takes the requests of the script of a page.
func (c *call) serveBeacon(e event) {
	values, _, _ := c.readForm(4096) // an unreadable body has no state
	v, ok := c.h.signer.OpenVisit(visit.PurposeVisit, c.Form.ID.String(), values.Get(input.State), c.now)
	if !ok || c.Form.Closed {
		http.Error(c.w, "the request does not come from a page of this form", http.StatusForbidden)
		return
	}
	c.visit = v
	c.recordOnce(e)
	c.w.WriteHeader(http.StatusNoContent)
}

// recordOnce records an event of a visit, once. An address has a budget for each kind of event,
// beside the one for what is stored: anybody may open pages without end.
func (c *call) recordOnce(e event) {
	if isAutomated(c.r) {
		return
	}
	if _, counted := c.h.countedVisits.Put(e.input+c.visit.Key, struct{}{}, len(c.visit.Key)); counted || !c.h.takeToken(c.r, e.input+":") {
		return
	}
	if err := e.record(c.h.service, c.r.Context(), c.Form.ID); err != nil {
		c.h.config.Logger.WarnContext(c.r.Context(), "failed to count visit", "form", c.Form.ID, "error", err)
	}
}

// recordPosted counts for a page that was sent: who sends has seen and started. A page that
// is not known to be one of ours counts when it comes back. A preview is never counted: its
// pages say that they were, so that the script sends nothing either.
func (c *call) recordPosted() {
	if c.Form.Closed || !c.visitValid && c.Preview == nil {
		return
	}
	for _, e := range []event{viewEvent, startEvent} {
		if c.Preview == nil && c.Values.Get(e.input) == "" {
			c.recordOnce(e)
		}
		c.Values.Set(e.input, "1")
	}
}

// isAutomated reports whether a request is of a browser that loads a page ahead, or of a program
// that says so. Programs that render pages run their scripts too.
func isAutomated(r *http.Request) bool {
	for _, name := range []string{"Sec-Purpose", "Purpose", "X-Purpose", "X-Moz"} {
		purpose := strings.ToLower(r.Header.Get(name))
		if strings.Contains(purpose, "prefetch") || strings.Contains(purpose, "prerender") || strings.Contains(purpose, "preview") {
			return true
		}
	}
	// Cubot makes phones.
	agent := strings.ReplaceAll(strings.ToLower(r.UserAgent()), "cubot", "")
	return slices.ContainsFunc(botNames, func(word string) bool { return strings.Contains(agent, word) })
}

// botNames are words in the names of crawlers and of programs that preview links, such
// as Googlebot, Slackbot-LinkExpanding and facebookexternalhit.
var botNames = []string{
	"bot", "crawl", "spider", "slurp", "facebookexternalhit", "whatsapp", "skypeuripreview", "linkpreview", "link preview",
	"bingpreview", "embedly", "lighthouse", "pagespeed", "mediapartners-google", "google-inspectiontool",
}
