package memory

import (
	"bytes"
	"container/list"
	"context"
	"crypto/sha256"
	"maps"
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
)

type webhook struct {
	rec storage.Webhook
	// Secrets are replaced, never modified.
	secret         []byte
	previousSecret previousSecret

	host         string
	form         *form // nil for a webhook for all forms
	history      index[*attempt]
	expired      index[*attempt] // summaries of expired deliveries
	queue        queue
	orderElement *list.Element // in Store.serviceOrder; nil for a webhook for all forms
	destinationHealth
}

// previousSecret is a replaced secret, which remains valid until a given time.
type previousSecret struct {
	secret []byte
	until  time.Time
}

// secretIfValid returns a copy of the secret, or nil if its lifetime has ended.
func (o previousSecret) secretIfValid(clock time.Time) []byte {
	if !clock.Before(o.until) {
		return nil
	}
	return cloneSecret(o.secret)
}

func (w *webhook) position() storage.Position {
	return storage.Position{Time: w.rec.CreatedAt, ID: w.rec.ID}
}

func (w *webhook) copy() storage.Webhook { return w.rec }

func (w *webhook) setSecret(b []byte) { w.secret, w.rec.HasSecret = cloneSecret(b), len(b) > 0 }

// cloneSecret returns a copy of a secret, or nil if it is empty.
func cloneSecret(b []byte) []byte { return append([]byte(nil), b...) }

type attempt struct {
	rec   storage.Delivery
	event *event // nil if its submission was deleted
}

func (a *attempt) position() storage.Position {
	return storage.Position{Time: a.rec.CreatedAt, ID: a.rec.ID}
}

func (a *attempt) copy() storage.Delivery { return a.rec }

func (w *webhook) attempts() []*attempt { return slices.Concat(w.history.items, w.expired.items) }

// forgetSubmission ends a submission's pending deliveries and removes its events' bodies from the history.
func (w *webhook) forgetSubmission(sub *submission) {
	remove := func(d *delivery) {
		if d != nil && d.event.submission == sub.rec.ID {
			w.queue.remove(d)
		}
	}
	remove(w.queue.byEvent[sub.eventID])
	if sub.rec.Revision > 1 { // the other events report changes
		for _, d := range w.queue.byEvent {
			remove(d)
		}
	}
	for _, a := range w.attempts() {
		if a.event != nil && a.event.submission == sub.rec.ID {
			a.event = nil
		}
	}
}

// clearNextAttempts clears NextAttemptAt in the newest attempt for each event in the map ended, and empties the map.
func (w *webhook) clearNextAttempts(ended map[storage.ID]*delivery) {
	for _, a := range slices.Backward(w.history.items) {
		if ended[a.rec.EventID] != nil {
			a.rec.NextAttemptAt = time.Time{}
			delete(ended, a.rec.EventID)
		}
	}
}

func (w *webhook) cancelPending() {
	w.clearNextAttempts(w.queue.byEvent)
	w.queue = queue{}
}

func (s *Store) findWebhook(actor storage.Actor, id storage.ID) func() *webhook {
	return func() *webhook {
		if w := s.webhooks[id]; w != nil && s.canAccessWebhook(actor, w) {
			return w
		}
		return nil
	}
}

// findLiveWebhook returns a webhook, local or not, unless its form is in the trash.
func (s *Store) findLiveWebhook(id storage.ID) func() *webhook {
	return func() *webhook {
		if w := s.webhooks[id]; w != nil && s.visibleForm(storage.AsHost(), w.rec.FormID) != nil {
			return w
		}
		return nil
	}
}

// canAccessWebhook reports whether the actor can access w. See [storage.AsLocal] for local webhooks.
func (s *Store) canAccessWebhook(actor storage.Actor, w *webhook) bool {
	return storage.IsLocal(w.rec.URL) == actor.Local() && (actor.Local() || s.visibleForm(actor, w.rec.FormID) != nil)
}

// CreateWebhook implements [storage.WebhookStore]. The new webhook is served before all existing ones.
func (s *Store) CreateWebhook(ctx context.Context, actor storage.Actor, n storage.NewWebhook) error {
	rec := n.Webhook
	if rec.FormID.IsZero() && actor.Local() {
		return s.createForAllForms(ctx, rec)
	}
	return withRecord(ctx, s, s.findForm(actor, rec.FormID), []any{rec.URL, rec.CreatedAt, rec.UpdatedAt}, func(f *form) error {
		switch {
		case n.Max > 0 && !storage.IsLocal(rec.URL) && f.countWebhooks() >= n.Max:
			return storage.ErrLimitReached
		case s.webhooks[rec.ID] != nil:
			return storage.ErrConflict
		}
		s.addWebhook(f, rec).setSecret(n.Secret)
		return nil
	})
}

// countWebhooks returns the number of webhooks that are not local.
func (f *form) countWebhooks() (n int) {
	for _, w := range f.webhooks {
		if !storage.IsLocal(w.rec.URL) {
			n++
		}
	}
	return n
}

// addWebhook adds a webhook for a form, or for all forms if f is nil.
func (s *Store) addWebhook(f *form, rec storage.Webhook) *webhook {
	rec.CreatedAt, rec.UpdatedAt, rec.HasSecret = toUTC(rec.CreatedAt), toUTC(rec.UpdatedAt), false
	w := &webhook{rec: rec, host: storage.Hostname(rec.URL), form: f}
	s.webhooks[rec.ID] = w
	if f == nil {
		s.allForms = append(s.allForms, w)
		return w
	}
	w.orderElement = s.serviceOrder.PushFront(w)
	f.webhooks = append(f.webhooks, w)
	return w
}

func (s *Store) createForAllForms(ctx context.Context, rec storage.Webhook) error {
	return withLock(ctx, s, []any{rec.URL, rec.CreatedAt, rec.UpdatedAt}, func() error {
		if s.webhooks[rec.ID] != nil {
			return storage.ErrConflict
		}
		w := s.addWebhook(nil, rec)
		for _, f := range s.forms {
			s.copyForForm(w, f)
		}
		return nil
	})
}

// copyForForm creates a webhook for f as a copy of w, which is for all forms.
func (s *Store) copyForForm(w *webhook, f *form) {
	rec := w.rec
	digest := sha256.Sum256(slices.Concat(rec.ID[:], f.rec.ID[:]))
	rec.ID, rec.FormID, rec.AllForms = storage.ID(digest[:len(rec.ID)]), f.rec.ID, rec.ID
	s.addWebhook(f, rec)
}

// Webhook implements [storage.WebhookStore].
func (s *Store) Webhook(ctx context.Context, actor storage.Actor, id storage.ID) (storage.Webhook, error) {
	return withRecordResult(ctx, s, s.findWebhook(actor, id), nil, func(w *webhook) (storage.Webhook, error) { return w.copy(), nil })
}

// Webhooks implements [storage.WebhookStore].
func (s *Store) Webhooks(ctx context.Context, actor storage.Actor, page storage.Page) ([]storage.Webhook, error) {
	return readPage(ctx, s, maps.Values(s.webhooks), page, (*webhook).position, (*webhook).copy,
		func(w *webhook) bool { return s.canAccessWebhook(actor, w) })
}

// FormWebhooks implements [storage.WebhookStore].
func (s *Store) FormWebhooks(ctx context.Context, actor storage.Actor, formID storage.ID) ([]storage.Webhook, error) {
	return withLockResult(ctx, s, nil, func() ([]storage.Webhook, error) {
		if !actor.Local() && s.visibleForm(actor, formID) == nil {
			return nil, storage.ErrNotFound
		}
		return pageOf(maps.Values(s.webhooks), storage.Page{Limit: len(s.webhooks)}, (*webhook).position, (*webhook).copy,
			func(w *webhook) bool { return w.rec.FormID == formID && s.canAccessWebhook(actor, w) }), nil
	})
}

// UpdateWebhook implements [storage.WebhookStore].
func (s *Store) UpdateWebhook(ctx context.Context, actor storage.Actor, id storage.ID, c storage.WebhookChange) (storage.Webhook, error) {
	return withRecordResult(ctx, s, s.findWebhook(actor, id), []any{c.URL, c.At}, func(w *webhook) (storage.Webhook, error) {
		if c.URL != nil && *c.URL != w.rec.URL {
			w.rec.URL, w.host = *c.URL, storage.Hostname(*c.URL)
			w.destinationHealth = destinationHealth{minToken: s.lastToken, lastSummaryAt: w.lastSummaryAt}
			w.queue.idleUntil = time.Time{}
		}
		if c.URL != nil || c.Enabled != nil {
			w.queue.makeOldestDue(s.now())
		}
		was := w.rec.Enabled
		setIfGiven(&w.rec.Enabled, c.Enabled)
		setIfGiven(&w.rec.FormDetails, c.FormDetails)
		setIfGiven(&w.rec.Updates, c.Updates)
		if !w.rec.Enabled {
			w.cancelPending()
		} else if !was {
			w.endPause()
		}
		if c.Secret != nil && (len(*c.Secret) == 0 || !bytes.Equal(*c.Secret, w.secret)) {
			if len(*c.Secret) > 0 && len(w.secret) > 0 {
				w.previousSecret = previousSecret{w.secret, c.At.Add(storage.OldSecretLifetime)}
			} else { // the secret was removed, so the old secret must not sign either
				w.previousSecret = previousSecret{}
			}
			w.setSecret(*c.Secret)
		}
		w.rec.UpdatedAt = toUTC(c.At)
		return w.copy(), nil
	})
}

// DeleteWebhook implements [storage.WebhookStore].
func (s *Store) DeleteWebhook(ctx context.Context, actor storage.Actor, id storage.ID) error {
	return withRecord(ctx, s, s.findWebhook(actor, id), nil, func(w *webhook) error {
		of := &s.allForms
		if w.form != nil {
			of = &w.form.webhooks
		}
		*of = slices.DeleteFunc(*of, func(other *webhook) bool { return other == w })
		s.removeWebhook(w)
		return nil
	})
}

// removeWebhook removes a webhook and its deliveries from the store, but not from its form.
func (s *Store) removeWebhook(w *webhook) {
	delete(s.webhooks, w.rec.ID)
	if w.orderElement != nil {
		s.serviceOrder.Remove(w.orderElement)
	}
}

// Secrets implements [storage.WebhookStore].
func (s *Store) Secrets(ctx context.Context, after storage.ID, limit int) ([]storage.StoredSecret, error) {
	return withLockResult(ctx, s, nil, func() ([]storage.StoredSecret, error) {
		var out []storage.StoredSecret
		for _, id := range slices.SortedFunc(maps.Keys(s.webhooks), compareIDs) {
			w := s.webhooks[id]
			if w.rec.HasSecret && compareIDs(id, after) > 0 && len(out) < limit {
				out = append(out, storage.StoredSecret{WebhookID: id, Secret: cloneSecret(w.secret), OldSecret: cloneSecret(w.previousSecret.secret)})
			}
		}
		return out, nil
	})
}

// ReplaceSecrets implements [storage.WebhookStore].
func (s *Store) ReplaceSecrets(ctx context.Context, replacements []storage.SecretReplacement) (int, error) {
	return withLockResult(ctx, s, nil, func() (int, error) {
		replaced := 0
		for _, r := range replacements {
			w := s.webhooks[r.WebhookID]
			switch {
			case w == nil || len(r.From) == 0:
			case bytes.Equal(w.secret, r.From):
				w.setSecret(r.To)
				replaced++
			case bytes.Equal(w.previousSecret.secret, r.From):
				w.previousSecret.secret = cloneSecret(r.To)
				replaced++
			}
		}
		return replaced, nil
	})
}

// Deliveries implements [storage.WebhookStore].
func (s *Store) Deliveries(ctx context.Context, actor storage.Actor, webhookID storage.ID, limit int) ([]storage.Delivery, error) {
	return withRecordResult(ctx, s, s.findWebhook(actor, webhookID), nil, func(w *webhook) ([]storage.Delivery, error) {
		return pageOf(slices.Values(w.attempts()), storage.Page{Limit: limit}, (*attempt).position, (*attempt).copy, func(*attempt) bool { return true }), nil
	})
}
