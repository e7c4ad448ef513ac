package handler

import (
	"log/slog"
	"net/http"

	"github.com/formsvc/formsvc/internal/core"
	"github.com/formsvc/formsvc/internal/download"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/storage"
)

// webhookBatch is the number of webhooks that listWebhooks reads at a time. Smaller batches would need more statements,
// which take most of the time for a long list. With the longest URLs, a batch takes about 2.5 MB.
const webhookBatch = 1000

// listWebhooks sends all webhooks in one response, because this list is not paginated in the API. It reads them in
// batches, so that only one batch is in memory and no storage resources are held while the client receives it. If a
// later batch fails, listWebhooks closes the connection, so that a truncated list never looks complete.
func listWebhooks(c *call) error {
	page := storage.Page{Limit: webhookBatch}
	found, err := c.h.core.Storage.Webhooks(c.ctx(), c.actor(), page)
	if err != nil {
		return err
	}
	if len(found) < page.Limit {
		return c.sendItems(len(found), func(w *jsontree.Writer, i int) { writeWebhook(w, &found[i]) })
	}

	c.w.Header()["Content-Type"] = jsonType
	c.sendHeader(http.StatusOK)
	if c.r.Method == http.MethodHead {
		return nil
	}
	w := jsontree.NewWriter(nil)
	w.Object()
	w.Name("items").Array()
	for {
		for i := range found {
			w.Object()
			writeWebhook(w, &found[i])
			w.EndObject()
		}
		last := len(found) < page.Limit
		if last {
			w.EndArray()
			w.EndObject()
			w.LineBreak()
		}
		if written := w.Flush(c.w) == nil; last || !written {
			return nil // The list is complete, or the client has disconnected.
		}
		end := found[len(found)-1]
		page.After = &storage.Position{Time: end.CreatedAt, ID: end.ID}
		// Each batch has its own timeout.
		if found, err = c.h.core.Storage.Webhooks(c.r.Context(), c.actor(), page); err != nil {
			c.logRequest(slog.LevelError, "list ended early because the storage failed", slog.Any("error", err))
			download.Abort(c.w)
		}
	}
}

func (c *call) sendItems(n int, writeItem func(w *jsontree.Writer, i int)) error {
	return c.sendObject(func(w *jsontree.Writer) { writeItems(w, n, writeItem) })
}

func writeItems(w *jsontree.Writer, n int, writeItem func(w *jsontree.Writer, i int)) {
	w.Name("items").Array()
	for i := range n {
		w.Object()
		writeItem(w, i)
		w.EndObject()
	}
	w.EndArray()
}

func createWebhook(c *call, body []byte) error {
	hook, err := c.h.core.CreateWebhook(c.ctx(), c.actor(), body, false, false)
	c.setCreated("/webhooks/", hook.ID.String(), err)
	return c.sendWebhook(hook, err)
}

func getWebhook(c *call) error {
	return c.sendWebhook(c.h.core.Storage.Webhook(c.ctx(), c.actor(), c.pathID("webhookId")))
}

func updateWebhook(c *call, body []byte) error {
	return c.sendWebhook(c.h.core.UpdateWebhook(c.ctx(), c.actor(), c.pathID("webhookId"), body, nil, nil))
}

func deleteWebhook(c *call) error {
	return c.sendNoContent(c.h.core.Storage.DeleteWebhook(c.ctx(), c.actor(), c.pathID("webhookId")))
}

func (c *call) sendWebhook(webhook storage.Webhook, err error) error {
	if err != nil {
		return err
	}
	return c.sendObject(func(w *jsontree.Writer) { writeWebhook(w, &webhook) })
}

// writeWebhook writes a webhook as JSON. It never writes the secret, only whether there is one.
func writeWebhook(w *jsontree.Writer, webhook *storage.Webhook) {
	w.Name("id").Hex(webhook.ID[:])
	w.Name("form_id").Hex(webhook.FormID[:])
	w.Name("url").String(webhook.URL)
	w.Name("enabled").Bool(webhook.Enabled)
	w.Name("has_secret").Bool(webhook.HasSecret)
	w.Name("created_at").Time(webhook.CreatedAt)
	w.Name("updated_at").Time(webhook.UpdatedAt)
}

func listDeliveries(c *call) error {
	id := c.pathID("webhookId")
	attempts, err := c.h.core.Storage.Deliveries(c.ctx(), c.actor(), id, core.ShownDeliveries)
	if err != nil {
		return err
	}
	return c.sendItems(len(attempts), func(w *jsontree.Writer, i int) { writeAttempt(w, &attempts[i]) })
}

// writeAttempt writes a delivery's summary, without the body, headers, URL, IP address and secret.
func writeAttempt(w *jsontree.Writer, a *storage.Delivery) {
	w.Name("id").Hex(a.ID[:])
	w.Name("event").String(a.EventType)
	w.Name("event_id").Hex(a.EventID[:])
	w.Name("submission_id").OrNull(!a.SubmissionID.IsZero(), func() { w.Hex(a.SubmissionID[:]) })
	w.Name("attempt").Int(int64(a.Attempt))
	w.Name("status").Int(int64(a.Status))
	w.Name("success").Bool(a.Success)
	w.Name("error").OrNull(a.Error != "", func() { w.String(a.Error) })
	w.Name("duration_ms").Int(a.Duration.Milliseconds())
	w.Name("created_at").Time(a.CreatedAt)
	w.Name("next_attempt_at").OrNull(!a.NextAttemptAt.IsZero(), func() { w.Time(a.NextAttemptAt) })
}
