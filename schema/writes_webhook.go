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
// false.
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
	if err := r.found.err(); err != nil {
		return WebhookWrite{}, err
	}
	h := WebhookWrite{
		FormID: r.text("form_id"),
		URL:    r.text("url"),
		Secret: r.text("signing_secret"), // the text of null is ""
	}
	if enabled := r.root.member("enabled"); enabled != nil {
		h.Enabled = &enabled.truth
	}
	return h, nil
}
