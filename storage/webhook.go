package storage

import (
	"context"
	"strings"
	"time"
)

const (
	// MaxHistory is the maximum number of attempts in a webhook's history.
	MaxHistory = 100
	// MaxExpiredSummaries is the maximum number of summaries in a webhook's history, in addition to MaxHistory.
	MaxExpiredSummaries = 10
	// OldSecretLifetime is how long a signing secret remains available after it is replaced.
	OldSecretLifetime = 24 * time.Hour
)

// DeliveryExpired is the Error in a summary of deliveries that ended because their webhook had failed for too long.
const DeliveryExpired = "expired"

// IsLocal reports whether url is the URL of a local webhook: "local:" and the name of a handler in the host's program.
// The URL of a local webhook can only change to another local URL, and other URLs cannot become local.
func IsLocal(url string) bool { return strings.HasPrefix(url, "local:") }

// Webhook is a destination for a form's events.
type Webhook struct {
	ID ID
	// FormID is zero for a local webhook for all forms. Such a webhook gets no deliveries itself. The store creates a
	// webhook with the same URL, Enabled, FormDetails and Updates for each form, including future forms.
	FormID ID
	// AllForms is the webhook for all forms for which the store created this webhook. It is zero for other webhooks.
	AllForms ID
	URL      string
	Enabled  bool // whether users have enabled the webhook; failures do not disable it
	// FormDetails reports whether the webhook's future events contain the Details of [Event].
	FormDetails bool
	// Updates reports whether the webhook also gets the events of UpdateSubmission.
	Updates bool
	// HasSecret reports whether deliveries are signed. The record does not contain the secret: see [StoredSecret].
	HasSecret bool
	CreatedAt time.Time
	UpdatedAt time.Time
}

// NewWebhook contains the parameters of CreateWebhook.
type NewWebhook struct {
	Webhook Webhook // the store sets HasSecret
	Secret  []byte  // signing secret, which the caller may have encrypted; empty if there is none
	Max     int     // maximum number of webhooks of the form; a value below 1 means no limit
}

// WebhookChange describes a change to a webhook. Nil fields are left unchanged. At becomes UpdatedAt. A pointer to an
// empty Secret removes the secret and the old secret. If a secret replaces a different one, the old one remains
// available for OldSecretLifetime after At, or until the secret changes again.
type WebhookChange struct {
	URL         *string
	Enabled     *bool
	FormDetails *bool
	Updates     *bool
	Secret      *[]byte
	At          time.Time
}

// StoredSecret is a webhook's secret as the caller stored it.
type StoredSecret struct {
	WebhookID ID
	Secret    []byte
	OldSecret []byte // previous secret; nil if there is none or it has expired
}

// SecretReplacement replaces a webhook's current or old secret. From is the secret's expected value, and To is its new
// value. Neither can be empty.
type SecretReplacement struct {
	WebhookID ID
	From, To  []byte
}

// Delivery is an entry in a webhook's history: an attempt, or a summary of expired deliveries.
type Delivery struct {
	ID           ID
	WebhookID    ID
	EventID      ID
	EventType    string
	SubmissionID ID  // zero for a test event
	Attempt      int // number of the attempt, starting at 1
	Status       int // HTTP status; zero without a response
	Success      bool
	Error        string // class of the failure; empty on success
	Duration     time.Duration
	CreatedAt    time.Time
	// NextAttemptAt is the time of the next attempt. A zero value means that the delivery has ended.
	NextAttemptAt time.Time
}

// WebhookStore stores webhooks and the history of their deliveries. An actor can access a webhook if it can access the
// webhook's form. For webhooks of forms in the trash, methods return ErrNotFound, and lists omit them. For local
// webhooks, see [AsLocal].
type WebhookStore interface {
	// CreateWebhook adds n.Webhook. It MUST return ErrNotFound if the form is not accessible, ErrLimitReached if the
	// form has n.Max webhooks or more, even under concurrency, and ErrConflict if the ID is taken. Local webhooks do not
	// count toward n.Max.
	//
	// If n.Webhook.FormID is zero, the actor is AsLocal, and n has no Secret and no Max. The same step adds a webhook for
	// each form that is not purged. Any later CreateForm adds a webhook for its form, even under concurrency.
	CreateWebhook(ctx context.Context, actor Actor, n NewWebhook) error

	// Webhook returns one webhook, or ErrNotFound.
	Webhook(ctx context.Context, actor Actor, id ID) (Webhook, error)

	// Webhooks lists the webhooks of all accessible forms, newest first by (CreatedAt, ID).
	Webhooks(ctx context.Context, actor Actor, page Page) ([]Webhook, error)

	// FormWebhooks lists the webhooks of one form, newest first by (CreatedAt, ID), or returns ErrNotFound. With AsLocal,
	// it never returns ErrNotFound, and a zero form selects the webhooks for all forms.
	FormWebhooks(ctx context.Context, actor Actor, form ID) ([]Webhook, error)

	// UpdateWebhook changes one webhook and returns the new state. Disabling a webhook ends its pending deliveries.
	// Enabling a disabled webhook ends its pause. A new URL also ends the pause, and resets the webhook's Health. If c
	// sets URL or Enabled, one pending delivery without a lease becomes due immediately. A pause does not delay it. A
	// change to a webhook for all forms does not change the webhooks that were created for it.
	UpdateWebhook(ctx context.Context, actor Actor, id ID, c WebhookChange) (Webhook, error)

	// DeleteWebhook removes a webhook, its pending deliveries and its history. The webhooks that were created for a
	// webhook for all forms remain.
	DeleteWebhook(ctx context.Context, actor Actor, id ID) error

	// Secrets lists the secrets of up to max webhooks whose IDs are greater than after, in ascending order. It omits
	// webhooks without a secret, and includes webhooks of forms in the trash. Old secrets are returned for
	// OldSecretLifetime. Hosts use this method to re-encrypt secrets with another key.
	Secrets(ctx context.Context, after ID, max int) ([]StoredSecret, error)

	// ReplaceSecrets replaces From with To if From is still the webhook's current or old secret, and returns the number
	// of replacements. No two replacements have the same WebhookID and From. Missing webhooks and changed secrets are
	// ignored. Because only the secret's encoding changes, UpdatedAt and the old secret's lifetime do not change.
	ReplaceSecrets(ctx context.Context, replacements []SecretReplacement) (int, error)

	// Deliveries returns up to max of the webhook's newest deliveries by (CreatedAt, ID), or ErrNotFound.
	Deliveries(ctx context.Context, actor Actor, webhook ID, max int) ([]Delivery, error)
}
