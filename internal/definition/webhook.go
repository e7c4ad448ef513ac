package definition

import (
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/secrets"
	"github.com/formsvc/formsvc/schema"
)

// WebhookWrite is a checked WebhookCreate or WebhookUpdate. A field is nil if the body omits it. Package webhooks
// checks whether the URL's destination is allowed.
type WebhookWrite struct {
	FormID  *string // only for creation; 24 hexadecimal digits, as sent
	URL     *string
	Enabled *bool
	Secret  *string // points to "" if an update removes the signing secret
}

// ParseWebhook checks a createWebhook body, or an updateWebhook body if create is false. Along with a *[schema.Error],
// it returns the valid fields, so that the caller can check the URL and report all violations together.
func (w *Validator) ParseWebhook(body []byte, create bool) (WebhookWrite, error) {
	r, err := parseBody(body)
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
		FormID: r.textMember("form_id"),
		URL:    r.textMember("url"),
		Secret: r.textMember("signing_secret"),
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
