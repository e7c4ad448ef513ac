package builder

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/intake"
)

// addWebhookRoutes adds the webhook endpoints that the API lacks. They return a 404 if the user cannot see the
// webhook's form, and a 409 if the webhook is disabled.
//
//	GET  /forms/{form}/webhooks                   a form's webhooks, including their form_details and updates
//	GET  /webhooks/paused?form=                   the paused webhooks for one form or for all forms
//	PUT  /webhooks/{webhook}/events               {form_details, updates}: see formsvc.WebhookCreate
//	POST /webhooks/{webhook}/test                 sends a test event
//	POST /webhooks/{webhook}/redeliver            {since} → {queued}: redelivers failed deliveries
//	POST /webhooks/{webhook}/deliveries/{delivery}/redeliver  redelivers a delivery
//	GET  /webhooks/{webhook}/deliveries/{delivery}/body       → {body}; 404 if the submission was deleted
//
// Service's methods do not check permissions, so these endpoints first read the webhook with the user's client. If the
// user loses access in between, the result is the same as if the request had arrived a moment earlier.
//
// Of a receiver's response, users see only the status and an error class. Otherwise, they could probe the host's
// network.
func (h *Handler) webhookRoutes() []route {
	return []route{
		{"GET /forms/{form}/webhooks", webhooksRead, h.jsonHandler(listFormWebhooks)},
		{"GET /webhooks/paused", webhooksRead, h.jsonHandler(listPausedWebhooks)},
		{"PUT /webhooks/{webhook}/events", webhooksWrite, h.jsonHandler(withBody(setWebhookEvents))},
		{"POST /webhooks/{webhook}/test", webhooksWrite, h.serveTestEvent},
		{"POST /webhooks/{webhook}/redeliver", webhooksWrite, h.jsonHandler(withBody(h.redeliverFailed))},
		{"POST /webhooks/{webhook}/deliveries/{delivery}/redeliver", webhooksWrite, h.jsonHandler(h.redeliver)},
		{"GET /webhooks/{webhook}/deliveries/{delivery}/body", deliveredBody, h.jsonHandler(getDeliveredBody)},
	}
}

func (h *Handler) serveTestEvent(w http.ResponseWriter, r *http.Request) {
	if h.allowRequest(w, r, h.limiters.tests, signedInUser(r).user.String()) {
		h.jsonHandler(h.testWebhook)(w, r)
	}
}

func listFormWebhooks(r *http.Request) (any, error) {
	type item struct {
		ID          formsvc.ID `json:"id"`
		URL         string     `json:"url"`
		Enabled     bool       `json:"enabled"`
		HasSecret   bool       `json:"has_secret"`
		FormDetails bool       `json:"form_details"`
		Updates     bool       `json:"updates"`
	}
	hooks, err := requestClient(r).FormWebhooks(r.Context(), pathID(r, "form"))
	items := []item{}
	for _, hook := range hooks {
		items = append(items, item{hook.ID, hook.URL, hook.Enabled, hook.HasSecret, hook.FormDetails, hook.Updates})
	}
	return map[string][]item{"items": items}, err
}

type webhookEvents struct {
	FormDetails *bool `json:"form_details"`
	Updates     *bool `json:"updates"`
}

func setWebhookEvents(r *http.Request, in webhookEvents) (any, error) {
	_, err := requestClient(r).UpdateWebhook(r.Context(), pathID(r, "webhook"), formsvc.WebhookUpdate{FormDetails: in.FormDetails, Updates: in.Updates})
	return empty{}, err
}

func listPausedWebhooks(r *http.Request) (any, error) {
	type item struct {
		WebhookID    formsvc.ID `json:"webhook_id"`
		Failures     int        `json:"failures"`
		FailingSince time.Time  `json:"failing_since"`
		PausedUntil  time.Time  `json:"paused_until"`
		Reason       string     `json:"reason"` // "failures", or "retry_after" if the receiver asked for a pause
	}
	items := []item{}
	form, _ := formsvc.ParseID(r.URL.Query().Get("form"))
	for p, err := range requestClient(r).PausedWebhooks(r.Context(), formsvc.Query{}) {
		if err != nil {
			return nil, err
		}
		if form.IsZero() || form == p.FormID {
			items = append(items, item{p.WebhookID, p.Failures, p.FailingSince, p.PausedUntil, string(p.Reason)})
		}
	}
	return map[string][]item{"items": items}, nil
}

func readWebhook(r *http.Request) (formsvc.Webhook, error) {
	return requestClient(r).Webhook(r.Context(), pathID(r, "webhook"))
}

func (h *Handler) testWebhook(r *http.Request) (any, error) {
	hook, err := readWebhook(r)
	if err == nil {
		err = h.service.SendTestEvent(r.Context(), hook.ID)
	}
	return empty{}, err
}

type redeliverRequest struct {
	Since time.Time `json:"since"`
}

func (h *Handler) redeliverFailed(r *http.Request, in redeliverRequest) (any, error) {
	hook, err := readWebhook(r)
	if err != nil {
		return nil, err
	}
	queued, err := h.service.RedeliverFailed(r.Context(), hook.ID, in.Since)
	return map[string]int{"queued": queued}, err
}

func (h *Handler) redeliver(r *http.Request) (any, error) {
	hook, err := readWebhook(r)
	if err == nil {
		err = h.service.Redeliver(r.Context(), hook.ID, pathID(r, "delivery"))
	}
	return empty{}, err
}

// getDeliveredBody rebuilds an event's body from its submission, because the sent bytes are not stored. The content is
// the same as in the sent body, except that form details are missing. For a test event, the body is null.
func getDeliveredBody(r *http.Request) (any, error) {
	client, id := requestClient(r), pathID(r, "delivery")
	hook, err := readWebhook(r)
	if err != nil {
		return nil, err
	}
	deliveries, err := client.Deliveries(r.Context(), hook.ID)
	if err != nil {
		return nil, err
	}
	for _, d := range deliveries {
		if d.ID != id {
			continue
		}
		if d.SubmissionID.IsZero() {
			return map[string]any{"body": nil}, nil
		}
		s, err := client.Submission(r.Context(), hook.FormID, d.SubmissionID)
		if err != nil {
			return nil, err
		}
		body, err := intake.EncodeStoredEvent(d.EventID, s)
		return map[string]json.RawMessage{"body": body}, err
	}
	return nil, formsvc.ErrNotFound
}
