package handler

import (
	"errors"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/formsvc/formsvc/internal/appendjson"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// webhookBatch is how many webhooks are read at a time for the list, which the
// specification does not page. With the longest URLs they take about 250 kB.
const webhookBatch = 100

// listWebhooks writes the list as it reads it, so that it takes the memory of one
// page however long it is. Nothing of the storage is held while the client takes a
// page. A failure after the first page ends the connection: a list that was cut
// never looks whole.
func listWebhooks(c *call) error {
	page := storage.Page{Limit: webhookBatch}
	found, err := c.h.storage.Webhooks(c.ctx(), c.actor(), page)
	if err != nil {
		return err
	}
	if len(found) < page.Limit {
		return c.items(len(found), func(b []byte, i int) []byte { return appendWebhook(b, &found[i]) })
	}

	c.w.Header()["Content-Type"] = jsonType
	c.begin(http.StatusOK)
	if c.r.Method == http.MethodHead {
		return nil
	}
	b := []byte(`{"items":[`)
	for first := true; ; first = false {
		for i := range found {
			if !first || i > 0 {
				b = append(b, ',')
			}
			b = appendWebhook(b, &found[i])
		}
		last := len(found) < page.Limit
		if last {
			b = append(b, "]}\n"...)
		}
		if _, err := c.w.Write(b); err != nil || last {
			return nil // the client is gone, or the list is whole
		}
		b = b[:0]
		end := found[len(found)-1]
		page.After = &storage.Position{Time: end.CreatedAt, ID: end.ID}
		if found, err = c.h.storage.Webhooks(c.ctx(), c.actor(), page); err != nil {
			c.log(slog.LevelError, "a list was cut: the storage failed in the middle", err)
			panic(http.ErrAbortHandler)
		}
	}
}

// items writes a list response that has no pages.
func (c *call) items(n int, appendItem func([]byte, int) []byte) error {
	return c.body(200, func(b []byte) []byte {
		b = append(b, `{"items":[`...)
		for i := range n {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendItem(b, i)
		}
		return append(b, `]}`...)
	})
}

func createWebhook(c *call) error {
	w, err := c.webhookWrite(true)
	if err != nil {
		return err
	}
	form, err := storage.ParseID(*w.FormID)
	if err != nil {
		return errNotFound
	}
	// The name is looked up only for a caller that may use the form, so that the
	// service resolves nothing for strangers.
	if _, err := c.h.storage.Form(c.ctx(), c.actor(), form); err != nil {
		return err
	}
	if err := c.h.config.URLs.CheckHost(c.ctx(), *w.URL); err != nil {
		return err
	}

	now := c.h.now()
	hook := storage.Webhook{
		ID:        c.h.config.NewID(now),
		FormID:    form,
		URL:       *w.URL,
		Enabled:   w.Enabled == nil || *w.Enabled,
		CreatedAt: now,
		UpdatedAt: now,
	}
	if w.Secret != nil {
		if hook.Secret, err = c.h.config.SealSecret(hook.ID, *w.Secret); err != nil {
			return err
		}
	}
	err = c.h.storage.CreateWebhook(c.ctx(), c.actor(), hook, c.h.config.Limits.Webhooks)
	if errors.Is(err, storage.ErrLimitReached) {
		return invalid(schema.Violation{
			Path: "/form_id", Code: schema.CodeTooMany,
			Message: "the form already has " + strconv.Itoa(c.h.config.Limits.Webhooks) + " webhooks",
		})
	}
	if err != nil {
		return err
	}
	c.setLocation(c.h.base(c.r) + "/webhooks/" + hook.ID.String())
	return c.webhook(201, &hook)
}

// webhookWrite reads a body and checks the text of its URL, together with all
// else that may be wrong with it.
func (c *call) webhookWrite(create bool) (schema.WebhookWrite, error) {
	body, err := c.readBody()
	if err != nil {
		return schema.WebhookWrite{}, err
	}
	w, err := c.h.writes.Webhook(body, create)
	if w.URL == nil {
		return w, err
	}
	refused := c.h.config.URLs.CheckURL(*w.URL)
	var rejected *RejectedURLError
	if err != nil && errors.As(refused, &rejected) {
		// Beside other faults it is one of them.
		return w, schema.Join(err, &schema.Error{Violations: []schema.Violation{rejected.violation()}})
	}
	if err == nil {
		err = refused
	}
	return w, err
}

func getWebhook(c *call) error {
	id, err := c.idParam("webhookId")
	if err != nil {
		return err
	}
	w, err := c.h.storage.Webhook(c.ctx(), c.actor(), id)
	if err != nil {
		return err
	}
	return c.webhook(200, &w)
}

func updateWebhook(c *call) error {
	w, err := c.webhookWrite(false)
	if err != nil {
		return err
	}
	id, err := c.idParam("webhookId")
	if err != nil {
		return err
	}
	change := storage.WebhookChange{URL: w.URL, Enabled: w.Enabled, At: c.h.now()}
	if w.URL != nil {
		if _, err := c.h.storage.Webhook(c.ctx(), c.actor(), id); err != nil {
			return err
		}
		if err := c.h.config.URLs.CheckHost(c.ctx(), *w.URL); err != nil {
			return err
		}
	}
	if w.Secret != nil {
		var secret []byte
		if *w.Secret != "" {
			if secret, err = c.h.config.SealSecret(id, *w.Secret); err != nil {
				return err
			}
		}
		change.Secret = &secret
	}
	updated, err := c.h.storage.UpdateWebhook(c.ctx(), c.actor(), id, change)
	if err != nil {
		return err
	}
	return c.webhook(200, &updated)
}

func deleteWebhook(c *call) error {
	id, err := c.idParam("webhookId")
	if err != nil {
		return err
	}
	if err := c.h.storage.DeleteWebhook(c.ctx(), c.actor(), id); err != nil {
		return err
	}
	c.noContent()
	return nil
}

func (c *call) webhook(status int, w *storage.Webhook) error {
	return c.body(status, func(b []byte) []byte { return appendWebhook(b, w) })
}

// appendWebhook tells whether there is a secret, and never more of it.
func appendWebhook(b []byte, w *storage.Webhook) []byte {
	b = append(b, `{"id":`...)
	b = appendjson.ID(b, w.ID)
	b = append(b, `,"form_id":`...)
	b = appendjson.ID(b, w.FormID)
	b = append(b, `,"url":`...)
	b = appendjson.String(b, w.URL)
	b = append(b, `,"enabled":`...)
	b = appendBool(b, w.Enabled)
	b = append(b, `,"has_secret":`...)
	b = appendBool(b, len(w.Secret) > 0)
	b = append(b, `,"created_at":`...)
	b = appendjson.Time(b, w.CreatedAt)
	b = append(b, `,"updated_at":`...)
	b = appendjson.Time(b, w.UpdatedAt)
	return append(b, '}')
}

// shownDeliveries is how many attempts the service keeps and shows
// (specification, "Limits").
const shownDeliveries = 100

func listDeliveries(c *call) error {
	id, err := c.idParam("webhookId")
	if err != nil {
		return err
	}
	attempts, err := c.h.storage.Attempts(c.ctx(), c.actor(), id, shownDeliveries)
	if err != nil {
		return err
	}
	return c.items(len(attempts), func(b []byte, i int) []byte { return appendAttempt(b, &attempts[i]) })
}

// appendAttempt writes a redacted summary: no body, header, URL, address or
// secret is part of it.
func appendAttempt(b []byte, a *storage.Attempt) []byte {
	b = append(b, `{"id":`...)
	b = appendjson.ID(b, a.ID)
	b = append(b, `,"event":`...)
	b = appendjson.String(b, a.EventType)
	b = append(b, `,"event_id":`...)
	b = appendjson.ID(b, a.EventID)
	b = append(b, `,"submission_id":`...)
	if a.SubmissionID.IsZero() {
		b = append(b, "null"...)
	} else {
		b = appendjson.ID(b, a.SubmissionID)
	}
	b = append(b, `,"attempt":`...)
	b = strconv.AppendInt(b, int64(a.Attempt), 10)
	b = append(b, `,"status":`...)
	b = strconv.AppendInt(b, int64(a.Status), 10)
	b = append(b, `,"success":`...)
	b = appendBool(b, a.Success)
	b = append(b, `,"error":`...)
	if a.Error == "" {
		b = append(b, "null"...)
	} else {
		b = appendjson.String(b, a.Error)
	}
	b = append(b, `,"duration_ms":`...)
	b = strconv.AppendInt(b, a.Duration.Milliseconds(), 10)
	b = append(b, `,"created_at":`...)
	b = appendjson.Time(b, a.CreatedAt)
	b = append(b, `,"next_attempt_at":`...)
	if a.NextAttemptAt.IsZero() {
		b = append(b, "null"...)
	} else {
		b = appendjson.Time(b, a.NextAttemptAt)
	}
	return append(b, '}')
}
