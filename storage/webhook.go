package storage

import (
	"context"
	"time"
)

const (
	// MaxHistory is how many attempts of a webhook its history has.
	MaxHistory = 100
	// MaxExpiredSummaries is how many summaries of expired deliveries are kept beside them.
	MaxExpiredSummaries = 10
	// OldSecretLifetime is for how long a signing secret is known after it was replaced.
	OldSecretLifetime = 24 * time.Hour
)

// DeliveryExpired is the Error of a summary that stands for deliveries that ended
// because their webhook failed for too long.
const DeliveryExpired = "expired"

// Webhook is where the events of a form are sent.
type Webhook struct {
	ID      ID
	FormID  ID
	URL     string
	Enabled bool // events are sent to it; the owner's switch, which no failure changes
	// HasSecret says that deliveries are signed. The secret itself is not part of the record:
	// see [StoredSecret].
	HasSecret bool
	CreatedAt time.Time
	UpdatedAt time.Time
}

// NewWebhook is a webhook to keep.
type NewWebhook struct {
	Webhook Webhook // the store sets HasSecret, whatever it says here
	// Secret is the signing secret, sealed or not as the caller chose. Empty: none.
	Secret []byte
	// Max bounds the webhooks of the form. Below 1: no bound.
	Max int
}

// WebhookChange says what to change; nil members stay. A pointer to an empty Secret
// removes it, and the secret before it. A secret that replaces a different secret leaves that
// secret known until OldSecretLifetime after At, or until the next change of the secret. At becomes
// UpdatedAt.
type WebhookChange struct {
	URL     *string
	Enabled *bool
	Secret  *[]byte
	At      time.Time
}

// StoredSecret is the secret of a webhook as the caller stored it.
type StoredSecret struct {
	WebhookID ID
	Secret    []byte
	// OldSecret is the secret before Secret, while it is kept. If nil, there is none.
	OldSecret []byte
}

// SecretReplacement has the new value of a webhook's secret, or of its old one, and
// the value that it must have until then. Both are not empty.
type SecretReplacement struct {
	WebhookID ID
	From, To  []byte
}

// Delivery is one try to deliver an event, as kept in a webhook's history.
type Delivery struct {
	ID           ID
	WebhookID    ID
	EventID      ID
	EventType    string
	SubmissionID ID  // zero: a test event
	Attempt      int // 1 is the first
	Status       int // HTTP status, 0: no response
	Success      bool
	Error        string // class of the failure; empty on success
	Duration     time.Duration
	CreatedAt    time.Time
	// NextAttemptAt is when the event is tried again. Zero: never, the delivery has
	// ended.
	NextAttemptAt time.Time
}

// WebhookStore keeps webhooks and the history of their deliveries. A webhook is
// accessible to the users of its form. The webhooks of forms in the trash are
// ErrNotFound and in no list.
type WebhookStore interface {
	// CreateWebhook adds n.Webhook. It MUST return ErrNotFound when the form is not
	// accessible, ErrLimitReached when the form has n.Max webhooks or more, also
	// when several calls run at once, and ErrConflict when the ID is taken.
	CreateWebhook(ctx context.Context, actor Actor, n NewWebhook) error

	// Webhook returns one webhook, or ErrNotFound.
	Webhook(ctx context.Context, actor Actor, id ID) (Webhook, error)

	// Webhooks lists the webhooks of all accessible forms, newest first by
	// (CreatedAt, ID).
	Webhooks(ctx context.Context, actor Actor, page Page) ([]Webhook, error)

	// FormWebhooks lists the webhooks of one form, newest first by (CreatedAt, ID), or returns
	// ErrNotFound.
	FormWebhooks(ctx context.Context, actor Actor, form ID) ([]Webhook, error)

	// UpdateWebhook changes one webhook and returns it as it is then. Disabling it ends
	// its pending deliveries. Enabling a disabled webhook ends its pause, and so does a
	// new URL, which also resets the Standing to that of a new webhook. A change that
	// names URL or Enabled makes one pending delivery that is not under a lease due now,
	// to be claimed even though the webhook is paused.
	UpdateWebhook(ctx context.Context, actor Actor, id ID, c WebhookChange) (Webhook, error)

	// DeleteWebhook removes a webhook, its pending deliveries and its history.
	DeleteWebhook(ctx context.Context, actor Actor, id ID) error

	// Secrets lists at most max webhooks that have a secret, ascending by ID, beginning
	// after the given ID. Webhooks of forms in the trash are included. Each comes with
	// its old secret for OldSecretLifetime. It is for the host: whoever keeps the key of
	// the secrets may need to seal them anew.
	Secrets(ctx context.Context, after ID, max int) ([]StoredSecret, error)

	// ReplaceSecrets puts each replacement's To in the place of its From, where From is
	// still the webhook's secret or its old one, and returns how many it replaced.
	// There is at most one replacement with a WebhookID and a From. Webhooks that are
	// gone, or whose secrets are others by now, stay as they are. The secret counts
	// as the same one in another form: UpdatedAt and the time of the old secret stay.
	ReplaceSecrets(ctx context.Context, replacements []SecretReplacement) (int, error)

	// Deliveries returns the webhook's newest deliveries by (CreatedAt, ID), at most
	// max, or ErrNotFound.
	Deliveries(ctx context.Context, actor Actor, webhook ID, max int) ([]Delivery, error)
}
