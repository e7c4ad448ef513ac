package core

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/formsvc/formsvc/internal/definition"
	"github.com/formsvc/formsvc/internal/timeout"
	"github.com/formsvc/formsvc/internal/violation"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// CreateWebhook creates a webhook. Only the Go API and the builder pass FormDetails and Updates.
func (c *Core) CreateWebhook(ctx context.Context, actor storage.Actor, body []byte, details, updates bool) (storage.Webhook, error) {
	ctx = timeout.WithBudget(ctx)
	w, err := c.parseWebhook(body, true)
	if err != nil {
		return storage.Webhook{}, err
	}
	form, err := storage.ParseID(*w.FormID)
	if err != nil {
		return storage.Webhook{}, storage.ErrNotFound
	}
	if allForms := form.IsZero() && actor.Local(); allForms && w.Secret != nil {
		return storage.Webhook{}, errSecretForAllForms
	} else if !allForms { // check access first, so that callers without access cannot cause DNS queries
		if _, err := c.Storage.Form(ctx, actor, form); err != nil {
			return storage.Webhook{}, err
		}
	}
	if err := c.URLs.CheckHost(ctx, *w.URL); err != nil {
		return storage.Webhook{}, err
	}

	now := c.Now()
	hook := storage.Webhook{
		ID:          c.NewID(now),
		FormID:      form,
		URL:         *w.URL,
		Enabled:     w.Enabled == nil || *w.Enabled,
		HasSecret:   w.Secret != nil,
		FormDetails: details,
		Updates:     updates,
		CreatedAt:   now,
		UpdatedAt:   now,
	}
	n := storage.NewWebhook{Webhook: hook}
	if !actor.Local() {
		n.Max = c.Limits.Webhooks
	}
	if w.Secret != nil {
		n.Secret = c.Secrets.Encrypt(hook.ID, *w.Secret)
	}
	err = c.Storage.CreateWebhook(ctx, actor, n)
	if errors.Is(err, storage.ErrLimitReached) {
		err = violation.New("/form_id", schema.CodeTooMany, "the form already has "+strconv.Itoa(c.Limits.Webhooks)+" webhooks")
	}
	return hook, err
}

// errSecretForAllForms means that a webhook for all forms has a secret. Secrets are encrypted for one webhook, so the
// storage cannot copy them to the webhooks of future forms.
var errSecretForAllForms = violation.New("/signing_secret", schema.CodeNotAllowed, "is not possible for a webhook for all forms")

// UpdateWebhook changes a webhook. A change to a webhook for all forms also changes the webhooks that were created for
// it, one by one.
func (c *Core) UpdateWebhook(ctx context.Context, actor storage.Actor, id storage.ID, body []byte, details, updates *bool) (storage.Webhook, error) {
	ctx = timeout.WithBudget(ctx)
	var w definition.WebhookWrite
	var err error
	if details == nil && updates == nil || string(body) != "{}" { // an empty body is valid only with one of them
		if w, err = c.parseWebhook(body, false); err != nil {
			return storage.Webhook{}, err
		}
	}
	change := storage.WebhookChange{URL: w.URL, Enabled: w.Enabled, FormDetails: details, Updates: updates, At: c.Now()}
	var is storage.Webhook
	if w.URL != nil || w.Secret != nil {
		if is, err = c.Storage.Webhook(ctx, actor, id); err != nil {
			return storage.Webhook{}, err
		}
	}
	if w.URL != nil {
		if err := c.URLs.CheckHost(ctx, *w.URL); err != nil {
			return storage.Webhook{}, err
		}
	}
	// Setting the current secret again does not count as a change. Otherwise, a repeated request would displace the
	// previous secret.
	if w.Secret != nil {
		if is.FormID.IsZero() {
			return storage.Webhook{}, errSecretForAllForms
		}
		known, err := c.storedSecretEquals(ctx, is, *w.Secret)
		if err != nil {
			return storage.Webhook{}, err
		}
		if !known {
			secret := c.Secrets.Encrypt(id, *w.Secret)
			change.Secret = &secret
		}
	}
	changed, err := c.Storage.UpdateWebhook(ctx, actor, id, change)
	if err == nil && changed.FormID.IsZero() {
		err = c.eachCopy(ctx, actor, id, func(copied storage.ID) error {
			_, err := c.Storage.UpdateWebhook(ctx, actor, copied, change)
			return err
		})
	}
	return changed, err
}

// DeleteWebhook deletes a webhook. For a webhook for all forms, it also deletes the webhooks that were created for it:
// first, so that the call can be repeated, and again at the end, because forms can be created concurrently.
func (c *Core) DeleteWebhook(ctx context.Context, actor storage.Actor, id storage.ID) error {
	remove := func(id storage.ID) error { return c.Storage.DeleteWebhook(ctx, actor, id) }
	if !actor.Local() {
		return remove(id)
	}
	is, err := c.Storage.Webhook(ctx, actor, id)
	if err == nil && is.FormID.IsZero() {
		err = c.eachCopy(ctx, actor, id, remove)
	}
	if err == nil {
		err = remove(id)
	}
	if err == nil && is.FormID.IsZero() {
		err = c.eachCopy(ctx, actor, id, remove)
	}
	return err
}

const copiesPageSize = 1000

// eachCopy calls do for each webhook that was created for a webhook for all forms. It ignores webhooks that do not exist
// anymore.
func (c *Core) eachCopy(ctx context.Context, actor storage.Actor, allForms storage.ID, do func(id storage.ID) error) error {
	page := storage.Page{Limit: copiesPageSize}
	for {
		found, err := c.Storage.Webhooks(ctx, actor, page)
		if err != nil || len(found) == 0 {
			return err
		}
		for _, w := range found {
			if w.AllForms == allForms {
				if err := do(w.ID); err != nil && !errors.Is(err, storage.ErrNotFound) {
					return err
				}
			}
		}
		last := found[len(found)-1]
		page.After = &storage.Position{Time: last.CreatedAt, ID: last.ID}
	}
}

// storedSecretEquals reports whether secret is the webhook's signing secret. If the webhook has no secret, it does not
// list the secrets, because the list would start with the next webhook's secret.
func (c *Core) storedSecretEquals(ctx context.Context, w storage.Webhook, secret string) (bool, error) {
	if !w.HasSecret || secret == "" {
		return false, nil
	}
	before := w.ID // the list starts after this ID
	for i := range slices.Backward(before[:]) {
		if before[i]--; before[i] != 0xff {
			break
		}
	}
	stored, err := c.Storage.Secrets(ctx, before, 1)
	if err != nil || len(stored) == 0 || stored[0].WebhookID != w.ID {
		return false, err
	}
	has, err := c.Secrets.Decrypt(w.ID, stored[0].Secret)
	return err == nil && has == secret, nil // a secret that cannot be decrypted is replaced
}

// parseWebhook parses a body and checks its URL, so that all violations are reported together.
func (c *Core) parseWebhook(body []byte, create bool) (definition.WebhookWrite, error) {
	w, err := c.validator.ParseWebhook(body, create)
	if w.URL == nil {
		return w, err
	}
	refused := c.URLs.CheckURL(*w.URL)
	if err != nil && errors.As(refused, new(*schema.RejectedURLError)) {
		return w, violation.Join(err, refused)
	}
	return w, cmp.Or(err, refused)
}

// RedeliverFailed redelivers all deliveries that have failed since a time, oldest first. It returns how many it
// redelivered.
func (c *Core) RedeliverFailed(ctx context.Context, webhook storage.ID, since time.Time) (n int, err error) {
	const limit = storage.MaxHistory + storage.MaxExpiredSummaries
	deliveries, err := c.Storage.Deliveries(ctx, storage.AsHost(), webhook, limit)
	if errors.Is(err, storage.ErrNotFound) {
		deliveries, err = c.Storage.Deliveries(ctx, storage.AsLocal(), webhook, limit)
	}
	if err != nil {
		return 0, err
	}
	for _, d := range slices.Backward(deliveries) {
		if d.Success || d.CreatedAt.Before(since) {
			continue
		}
		switch err := c.Storage.RedeliverFailed(ctx, webhook, d.ID); {
		case err == nil:
			n++
		case !errors.Is(err, storage.ErrNotFound): // ErrNotFound means that the delivery is pending or was deleted
			return n, err
		}
	}
	return n, nil
}

// ShownDeliveries is how many of a webhook's attempts the API returns. The storage retains up to
// [storage.MaxExpiredSummaries] more summaries.
const ShownDeliveries = storage.MaxHistory
