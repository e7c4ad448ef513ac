package builder

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"

	"github.com/formsvc/formsvc"
)

// addWebhookRoutes adds the webhook endpoints that the API lacks. They return a 404 if the user cannot see the
// webhook's form, and a 409 if the webhook is disabled.
//
//	GET  /forms/{form}/webhooks                   a form's webhooks, as in the API
//	GET  /webhooks/paused?form=                   the paused webhooks for one form or for all forms
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
func (h *Handler) addWebhookRoutes(mux *http.ServeMux) {
	mux.HandleFunc("GET /forms/{form}/webhooks", h.jsonHandler(listFormWebhooks))
	mux.HandleFunc("GET /webhooks/paused", h.jsonHandler(listPausedWebhooks))
	mux.HandleFunc("POST /webhooks/{webhook}/test", func(w http.ResponseWriter, r *http.Request) {
		if h.allowRequest(w, r, h.limiters.tests, signedInUser(r).user.String()) {
			h.jsonHandler(h.testWebhook)(w, r)
		}
	})
	mux.HandleFunc("POST /webhooks/{webhook}/redeliver", h.jsonHandler(h.redeliverFailed))
	mux.HandleFunc("POST /webhooks/{webhook}/deliveries/{delivery}/redeliver", h.jsonHandler(h.redeliver))
	mux.HandleFunc("GET /webhooks/{webhook}/deliveries/{delivery}/body", h.jsonHandler(getDeliveredBody))
}

func listFormWebhooks(r *http.Request) (any, error) {
	type item struct {
		ID        formsvc.ID `json:"id"`
		FormID    formsvc.ID `json:"form_id"`
		URL       string     `json:"url"`
		Enabled   bool       `json:"enabled"`
		HasSecret bool       `json:"has_secret"`
		CreatedAt time.Time  `json:"created_at"`
		UpdatedAt time.Time  `json:"updated_at"`
	}
	hooks, err := requestClient(r).FormWebhooks(r.Context(), pathID(r, "form"))
	items := []item{}
	for _, hook := range hooks {
		items = append(items, item(hook))
	}
	return map[string][]item{"items": items}, err
}

func listPausedWebhooks(r *http.Request) (any, error) {
	type item struct {
		WebhookID    formsvc.ID `json:"webhook_id"`
		FormID       formsvc.ID `json:"form_id"`
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
			items = append(items, item{p.WebhookID, p.FormID, p.Failures, p.FailingSince, p.PausedUntil, string(p.Reason)})
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

func (h *Handler) redeliverFailed(r *http.Request) (any, error) {
	var in struct {
		Since time.Time `json:"since"`
	}
	if err := decodeBody(r, &in); err != nil {
		return nil, err
	}
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

// event is the body of a webhook request, as in the API description.
type event struct {
	ID       formsvc.ID `json:"id"`
	Response struct {
		FormID         formsvc.ID        `json:"formId"`
		Answers        json.RawMessage   `json:"answers"`
		SubmissionID   formsvc.ID        `json:"submissionId"`
		SubmittedAt    time.Time         `json:"submittedAt"`
		Hidden         json.RawMessage   `json:"hidden"`
		Variables      json.RawMessage   `json:"variables"`
		Consents       map[string]string `json:"consents"`
		Metadata       json.RawMessage   `json:"metadata"`
		CompletionTime float64           `json:"completionTime"`
	} `json:"response"`
}

// getDeliveredBody rebuilds an event's body from its submission, because the sent bytes are not stored. The content is
// the same as in the sent body. For a test event, the body is null.
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
		body, err := newEvent(d.EventID, s)
		return map[string]any{"body": body}, err
	}
	return nil, formsvc.ErrNotFound
}

func newEvent(id formsvc.ID, s formsvc.Submission) (event, error) {
	var list []struct {
		Field struct {
			ID, Type, Text string
		}
		Value json.RawMessage
	}
	if err := json.Unmarshal(s.Answers, &list); err != nil {
		return event{}, err
	}
	var answers, variables bytes.Buffer // JSON objects, in the order of the answers
	consents := map[string]string{}
	for _, a := range list {
		if a.Field.Text != "" && string(a.Value) == "true" {
			consents[a.Field.ID] = a.Field.Text
		}
		to := &answers
		if a.Field.Type == "variable" {
			to = &variables
		}
		key, err := json.Marshal(a.Field.ID)
		if err != nil {
			return event{}, err
		}
		if to.Len() > 0 {
			to.WriteByte(',')
		}
		to.Write(append(append(key, ':'), a.Value...))
	}
	object := func(members bytes.Buffer) json.RawMessage { return []byte("{" + members.String() + "}") }
	e := event{ID: id}
	e.Response.FormID, e.Response.SubmissionID, e.Response.SubmittedAt, e.Response.CompletionTime = s.FormID, s.ID, s.SubmittedAt, s.CompletionTime
	e.Response.Answers, e.Response.Variables, e.Response.Hidden, e.Response.Metadata = object(answers), object(variables), s.Hidden, s.Metadata
	e.Response.Consents = consents
	return e, nil
}
