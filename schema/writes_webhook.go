package schema

// WebhookWrite is a checked WebhookCreate or WebhookUpdate. What is nil was not
// given. That the url leads to an allowed destination is checked by who sends to
// it, not here.
type WebhookWrite struct {
	FormID  *string // only on create; 24 hex digits, as sent
	URL     *string
	Enabled *bool
	// Secret points to "" when an update takes the signing secret away
	// (signing_secret: null).
	Secret *string
}

// Webhook checks the body of createWebhook, or of updateWebhook when create is
// false. With an *[Error] it returns the members that have the right type, whatever
// else is wrong with them, so that the caller can check the url as well and report
// all faults at once, with [Join].
func (w *Writes) Webhook(body []byte, create bool) (WebhookWrite, error) {
	r, err := read(body)
	if err != nil {
		return WebhookWrite{}, err
	}
	s := w.webhookUpdate
	if create {
		s = w.webhookCreate
	}
	r.walk(r.root, s, &r.place)
	h := WebhookWrite{
		FormID: r.text("form_id"),
		URL:    r.text("url"),
		Secret: r.text("signing_secret"),
	}
	if secret := r.root.member("signing_secret"); secret != nil && secret.kind == kindNull && !create {
		h.Secret = new(string)
	}
	if enabled := r.root.member("enabled"); enabled != nil && enabled.kind == kindBool {
		h.Enabled = &enabled.truth
	}
	return h, r.found.err()
}
