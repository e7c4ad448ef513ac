package formpage

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/pagestate"
	"github.com/formsvc/formsvc/storage"
)

// Each visit counts as one view when the script runs in a visible tab, and as one start at the first input. Posting a
// page counts as both. The script's requests contain the signed state of a page that was shown. countedVisits and the
// page's inputs ensure that no visit is counted twice.

type event struct {
	input  string // input that marks the event as counted
	record func(s *formsvc.Service, ctx context.Context, form storage.ID) error
}

var (
	viewEvent  = event{input.Viewed, (*formsvc.Service).RecordView}
	startEvent = event{input.Started, (*formsvc.Service).RecordStart}
)

// serveBeacon serves the requests by which the script reports a view or a start.
func (c *call) serveBeacon(e event) {
	values, _, _ := c.readForm(4096) // a malformed body has no state
	v, ok := c.h.signer.OpenVisit(pagestate.PurposeVisit, c.Form.ID.String(), values.Get(input.State), c.now)
	if !ok || c.Form.Closed {
		http.Error(c.w, "the request does not come from a page of this form", http.StatusForbidden)
		return
	}
	c.visit = v
	c.recordOnce(e)
	c.w.WriteHeader(http.StatusNoContent)
}

// recordOnce records an event once per visit. Per-address budgets limit clients that open many pages.
func (c *call) recordOnce(e event) {
	if isAutomated(c.r) {
		return
	}
	if _, counted := c.h.countedVisits.Put(e.input+c.visit.Key, struct{}{}, len(c.visit.Key)); counted || !c.h.takeLimiterToken(c.r, e.input+":") {
		return
	}
	if err := e.record(c.h.service, c.r.Context(), c.Form.ID); err != nil {
		c.h.config.Logger.WarnContext(c.r.Context(), "failed to count visit", "form", c.Form.ID, "error", err)
	}
}

// recordPostedEvents records a view and a start for a posted page. If the page has no valid state, the next page is
// counted instead. Pages of previews and edits are marked as counted, so
// that their script sends nothing.
func (c *call) recordPostedEvents() {
	uncounted := c.Preview != nil || c.edit != nil
	if c.Form.Closed || !c.visitValid && !uncounted {
		return
	}
	for _, e := range []event{viewEvent, startEvent} {
		if !uncounted && c.Values.Get(e.input) == "" {
			c.recordOnce(e)
		}
		c.Values.Set(e.input, "1")
	}
}

// isAutomated reports whether a browser is preloading the page or a bot identifies itself. Bots may run the script.
func isAutomated(r *http.Request) bool {
	for _, name := range []string{"Sec-Purpose", "Purpose", "X-Purpose", "X-Moz"} {
		purpose := strings.ToLower(r.Header.Get(name))
		if strings.Contains(purpose, "prefetch") || strings.Contains(purpose, "prerender") || strings.Contains(purpose, "preview") {
			return true
		}
	}
	// Cubot is a phone brand.
	agent := strings.ReplaceAll(strings.ToLower(r.UserAgent()), "cubot", "")
	return slices.ContainsFunc(botNames, func(word string) bool { return strings.Contains(agent, word) })
}

// botNames lists words that occur in the names of crawlers and link previewers, such as Slackbot-LinkExpanding.
var botNames = []string{
	"bot", "crawl", "spider", "slurp", "facebookexternalhit", "whatsapp", "skypeuripreview", "linkpreview", "link preview",
	"bingpreview", "embedly", "lighthouse", "pagespeed", "mediapartners-google", "google-inspectiontool",
}
