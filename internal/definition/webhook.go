package definition

import (
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/secrets"
	"github.com/formsvc/formsvc/schema"
)

// WebhookWrite is a checked WebhookCreate or WebhookUpdate. What is nil was not
// given. That the url leads to an allowed destination is not checked here but by
// the package that sends to it.
type WebhookWrite struct {
	FormID  *string // only on create; 24 hex digits, as sent
	URL     *string
	Enabled *bool
	// Secret points to "" when an update takes the signing secret away
	// (signing_secret: null).
	Secret *string
}

// Webhook checks the body of createWebhook, or of updateWebhook when create is
// false. With a *[schema.Error] it returns the members that have the right type,
// whatever else is wrong with them, so that the caller can check the url as well and
// report all faults at once, with [faults.Join].
func (w *Validator) Webhook(body []byte, create bool) (WebhookWrite, error) {
	r, err := read(body)
	if err != nil {
		return WebhookWrite{}, err
	}
	defer r.tree.Release()
	s := webhookUpdateSchema
	if create {
		s = webhookCreateSchema
	}
	if err := r.Validate(r.root, s); err != nil {
		return WebhookWrite{}, err
	}
	h := WebhookWrite{
		FormID: r.text("form_id"),
		URL:    r.text("url"),
		Secret: r.text("signing_secret"),
	}
	if secret := r.root.Member("signing_secret"); secret.Exists() && secret.Kind() == jsontree.Null && !create {
		h.Secret = new(string)
	}
	if h.Secret != nil {
		if mistake := secrets.InvalidReason(*h.Secret); mistake != "" {
			r.Add(r.root.Member("signing_secret"), schema.CodeBadFormat, mistake)
		}
	}
	if enabled := r.root.Member("enabled"); enabled.Kind() == jsontree.Bool {
		h.Enabled = new(enabled.Bool())
	}
	return h, r.Violations.Err()
}
