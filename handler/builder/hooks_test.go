package builder_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"testing"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/builder"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
)

// hook makes a webhook to which nothing is sent: no dispatcher runs.
func (h *doorHost) hook(form formsvc.Form) formsvc.Webhook {
	h.Helper()
	return must(h.owner().CreateWebhook(h.Context(), formsvc.WebhookCreate{Form: form.ID, URL: "http://127.0.0.1:8080/hook"}))
}

// claim takes what is queued, as a dispatcher would.
func (h *doorHost) claim() []storage.ClaimedDelivery {
	h.Helper()
	pool := storage.Pool{Room: 100}
	claimed, _, err := h.store.ClaimDeliveries(h.Context(), storage.ClaimParams{Lease: time.Hour, Quick: pool, Slow: pool, Others: pool, PerWebhook: 100, MaxBytes: 1 << 20})
	noError(h.T, err)
	return claimed
}

// settle records an attempt for each claimed delivery.
func (h *doorHost) settle(claimed []storage.ClaimedDelivery, status int) {
	h.Helper()
	var done []storage.Result
	for _, c := range claimed {
		d := storage.Delivery{ID: formsvc.UserIDFrom(rand.Text()), WebhookID: c.Lease.WebhookID, EventID: c.Lease.EventID, EventType: c.EventType, SubmissionID: c.SubmissionID, Attempt: c.Attempt, Status: status, Success: status < 300, CreatedAt: time.Now()}
		r := storage.Result{Lease: c.Lease, Delivery: &d}
		if !d.Success {
			d.Error = "status"
			r.Standing, r.PauseFor, r.PauseReason = storage.Standing{Failures: c.Standing.Failures + 1}, time.Hour, storage.PauseFailures
		}
		done = append(done, r)
	}
	fenced, err := h.store.FinishDeliveries(h.Context(), done)
	if noError(h.T, err); len(fenced) > 0 {
		h.Fatal("a lease was lost")
	}
}

// failed submits a response whose delivery is given up, and returns the id of that attempt.
func (h *doorHost) failed(form formsvc.Form, hook formsvc.Webhook) formsvc.ID {
	h.Helper()
	must(h.service.Submit(h.Context(), formsvc.Response{FormID: form.ID, Answers: map[string]json.RawMessage{"name": json.RawMessage(`"Eve <b>"`), "age": json.RawMessage(`41.50`)}, Hidden: map[string]string{"ref": "mail"}, CompletionTime: 3.25}))
	h.settle(h.claim(), 500)
	return h.deliveries(hook)[0].ID
}

func (h *doorHost) deliveries(hook formsvc.Webhook) []formsvc.Delivery {
	h.Helper()
	return must(h.service.AsHost().Deliveries(h.Context(), hook.ID))
}

// queue describes what waits for a webhook.
func (h *doorHost) queue(formsvc.Webhook) string {
	h.Helper()
	stats := must(h.store.QueueStats(h.Context()))
	stats.OldestDue = time.Time{}
	return fmt.Sprintf("%+v", stats)
}

// A paused webhook is shown with its reason; a test event and redeliveries are queued, once.
func TestHooks(t *testing.T) {
	t.Parallel()
	h := newDoorHost(t, memory.New(), builder.Config{})
	form := h.published()
	hook := h.hook(form)
	at := "/webhooks/" + hook.ID.String()
	first := h.failed(form, hook)

	var paused struct {
		Items []struct {
			WebhookID formsvc.ID `json:"webhook_id"`
			Failures  int
			Reason    string
			Since     time.Time `json:"failing_since"`
		}
	}
	h.ok("GET", "/webhooks/paused?form="+form.ID.String(), "", &paused)
	if len(paused.Items) != 1 || paused.Items[0].WebhookID != hook.ID || paused.Items[0].Failures != 1 || paused.Items[0].Reason != "failures" || paused.Items[0].Since.IsZero() {
		t.Errorf("paused: %+v", paused)
	}
	if h.ok("GET", "/webhooks/paused?form="+hook.ID.String(), "", &paused); len(paused.Items) != 0 {
		t.Errorf("paused of another form: %+v", paused)
	}

	h.ok("POST", at+"/test", "")
	if claimed := h.claim(); len(claimed) != 1 || !claimed[0].SubmissionID.IsZero() {
		t.Fatalf("the test event: %+v", claimed)
	} else {
		h.settle(claimed, 200)
	}
	var body struct{ Body any }
	if h.ok("GET", at+"/deliveries/"+h.deliveries(hook)[0].ID.String()+"/body", "", &body); body.Body != nil {
		t.Errorf("the body of a test event: %v", body)
	}

	var queued struct{ Queued int }
	if h.ok("POST", at+"/redeliver", fmt.Sprintf(`{"since":%q}`, time.Now().Add(time.Hour).Format(time.RFC3339)), &queued); queued.Queued != 0 {
		t.Errorf("queued since an hour to come: %d", queued.Queued)
	}
	if h.ok("POST", at+"/redeliver", `{}`, &queued); queued.Queued != 1 {
		t.Errorf("queued: %d", queued.Queued)
	}
	if h.ok("POST", at+"/redeliver", `{}`, &queued); queued.Queued != 0 {
		t.Errorf("queued twice: %d", queued.Queued)
	}
	h.settle(h.claim(), 200)

	// What is shown is what was sent.
	h.ok("POST", at+"/deliveries/"+first.String()+"/redeliver", "")
	claimed := h.claim()
	if len(claimed) != 1 {
		t.Fatalf("queued again: %+v", claimed)
	}
	var sent any
	noError(h.T, json.Unmarshal(claimed[0].Body, &sent))
	if h.ok("GET", at+"/deliveries/"+first.String()+"/body", "", &body); !reflect.DeepEqual(sent, body.Body) {
		t.Errorf("sent %s, shown %v", claimed[0].Body, body.Body)
	}

	off := false
	must(h.owner().UpdateWebhook(t.Context(), hook.ID, formsvc.WebhookUpdate{Enabled: &off}))
	for _, path := range []string{"/test", "/deliveries/" + first.String() + "/redeliver"} {
		if code := h.as("owner", "POST", at+path, ""); code != http.StatusConflict {
			t.Errorf("%s of a webhook that is off: %d", path, code)
		}
	}
}
