package formsvc

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/formsvc/formsvc/internal/core"
	"github.com/formsvc/formsvc/storage"
)

// WebhookCreate is a webhook to make. Printed, logged or as JSON it shows "…" for a signing
// secret; see [IssuedKey] for what that does not cover.
type WebhookCreate struct {
	Form     ID     // required
	URL      string // required: http or https, to a public address (webhooks.Config.AllowedNetworks allows others)
	Disabled bool   // nothing is sent before it is enabled
	// SigningSecret has at least 16 characters. Empty: deliveries are not signed.
	SigningSecret string
}

// secretMask stands for a secret where something is printed.
const secretMask = "…"

// shownWebhook is a WebhookCreate as it is printed.
type shownWebhook WebhookCreate

func (n WebhookCreate) shown() shownWebhook {
	if n.SigningSecret != "" {
		n.SigningSecret = secretMask
	}
	return shownWebhook(n)
}

// Format prints n without its secret.
func (n WebhookCreate) Format(f fmt.State, verb rune) {
	_, _ = fmt.Fprintf(f, fmt.FormatString(f, verb), n.shown())
}

// MarshalJSON writes n without its secret.
func (n WebhookCreate) MarshalJSON() ([]byte, error) { return json.Marshal(n.shown()) }

// WebhookUpdate says what to change of a webhook. What is nil stays; at least one member
// must be set. Printed, logged or as JSON it shows no signing secret, as [WebhookCreate].
type WebhookUpdate struct {
	URL     *string // as of WebhookCreate; what is pending goes to the new one
	Enabled *bool   // false ends the pending deliveries
	// SigningSecret replaces the secret; a pointer to "" removes it.
	SigningSecret *string
}

// MarshalJSON writes u without its secret. Package fmt prints only where that stands.
func (u WebhookUpdate) MarshalJSON() ([]byte, error) {
	type shown WebhookUpdate
	if u.SigningSecret != nil && *u.SigningSecret != "" {
		mask := secretMask
		u.SigningSecret = &mask
	}
	return json.Marshal(shown(u))
}

// Webhooks lists the webhooks of all accessible forms, newest first.
func (c Client) Webhooks(ctx context.Context, q Query) iter.Seq2[Webhook, error] {
	return list(ctx, q.Limit, clientPage, func(page storage.Page) ([]Webhook, bool, error) {
		found, err := c.core().Storage.Webhooks(ctx, c.who, page)
		return found, len(found) == page.Limit, err
	}, func(w *Webhook) storage.Position { return storage.Position{Time: w.CreatedAt, ID: w.ID} })
}

// PausedWebhook is a webhook whose deliveries wait, because its destination fails or asked
// for it: since FailingSince, after so many Failures in a row, until PausedUntil, when one
// of them is tried. Reason is [PauseFailures] or [PauseRetryAfter].
//
//	WebhookID    ID
//	FormID       ID
//	URL          string
//	Failures     int
//	FailingSince time.Time
//	PausedUntil  time.Time
//	Reason       PauseReason
type PausedWebhook = storage.PausedWebhook

// PauseReason says why the deliveries of a webhook wait.
type PauseReason = storage.PauseReason

// The reasons of a pause.
const (
	PauseFailures   = storage.PauseFailures   // too many failures in a row
	PauseRetryAfter = storage.PauseRetryAfter // the destination asked for it with Retry-After
)

// PausedWebhooks lists the accessible webhooks that are paused, those first that failed
// last. A pause ends with the first request that succeeds: [Service.SendTestEvent] and
// [Service.Redeliver] send one at once, and so does a new URL.
func (c Client) PausedWebhooks(ctx context.Context, q Query) iter.Seq2[PausedWebhook, error] {
	return list(ctx, q.Limit, clientPage, func(page storage.Page) ([]PausedWebhook, bool, error) {
		found, err := c.core().Storage.PausedWebhooks(ctx, c.who, page)
		return found, len(found) == page.Limit, err
	}, func(p *PausedWebhook) storage.Position {
		return storage.Position{Time: p.FailingSince, ID: p.WebhookID}
	})
}

// Webhook returns one webhook.
func (c Client) Webhook(ctx context.Context, id ID) (Webhook, error) {
	return c.core().Storage.Webhook(ctx, c.who, id)
}

// CreateWebhook makes a webhook. A URL to which nothing may be sent is a
// [*RejectedURLError]. A form has Limits.Webhooks at most; one more is a [*schema.Error].
func (c Client) CreateWebhook(ctx context.Context, n WebhookCreate) (Webhook, error) {
	b := core.NewBody().ID("form_id", n.Form).Text("url", n.URL)
	if n.Disabled {
		b.Bool("enabled", false)
	}
	if n.SigningSecret != "" {
		b.Text("signing_secret", n.SigningSecret)
	}
	return core.Write(c.core(), b, func(body []byte) (Webhook, error) {
		return c.core().CreateWebhook(ctx, c.who, body)
	})
}

// UpdateWebhook changes a webhook and returns it as it is then. Errors as for
// CreateWebhook.
func (c Client) UpdateWebhook(ctx context.Context, id ID, u WebhookUpdate) (Webhook, error) {
	b := core.NewBody().Optional("url", u.URL)
	if u.Enabled != nil {
		b.Bool("enabled", *u.Enabled)
	}
	if u.SigningSecret != nil && *u.SigningSecret == "" {
		b.Null("signing_secret")
	} else {
		b.Optional("signing_secret", u.SigningSecret)
	}
	return core.Write(c.core(), b, func(body []byte) (Webhook, error) {
		return c.core().UpdateWebhook(ctx, c.who, id, body)
	})
}

// DeleteWebhook removes a webhook, its pending deliveries and its history.
func (c Client) DeleteWebhook(ctx context.Context, id ID) error {
	return c.core().Storage.DeleteWebhook(ctx, c.who, id)
}

// Deliveries returns the summaries of a webhook's latest attempts, newest first, at most
// 100.
func (c Client) Deliveries(ctx context.Context, webhook ID) ([]Delivery, error) {
	return c.core().Storage.Deliveries(ctx, c.who, webhook, core.ShownDeliveries)
}
