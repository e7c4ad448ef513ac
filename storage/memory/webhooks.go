package memory

import (
	"bytes"
	"context"

	"github.com/formsvc/formsvc/storage"
)

type webhook struct {
	// rec.Secret is replaced, never changed.
	rec     storage.Webhook
	form    *form
	lane    lane
	history index[*attempt]
}

func (w *webhook) place() storage.Position {
	return storage.Position{Time: w.rec.CreatedAt, ID: w.rec.ID}
}

// attempt is an entry of a webhook's history.
type attempt struct {
	rec   storage.Attempt
	event *event // nil: its submission was deleted
}

func (a *attempt) place() storage.Position {
	return storage.Position{Time: a.rec.CreatedAt, ID: a.rec.ID}
}

// record adds an attempt, once if it is there already, and cuts the history to
// the newest keep.
func (w *webhook) record(a storage.Attempt, e *event, keep int) {
	a.CreatedAt, a.NextAttemptAt = utc(a.CreatedAt), utc(a.NextAttemptAt)
	w.history.add(&attempt{rec: a, event: e})
	w.history.keepNewest(keep)
}

// attempt returns an entry of the history, or nil.
func (w *webhook) attempt(id storage.ID) *attempt {
	for _, a := range w.history.items {
		if a.rec.ID == id {
			return a
		}
	}
	return nil
}

// forget ends the pending delivery of a submission and drops the body of its
// event, which its attempts then no longer have.
func (w *webhook) forget(sub *submission) {
	if d := w.lane.pending[sub.eventID]; d != nil && d.event.submission == sub.rec.ID {
		w.lane.remove(d)
	}
	for _, a := range w.history.items {
		if a.event != nil && a.event.submission == sub.rec.ID {
			a.event = nil
		}
	}
}

// close ends what is pending and drops the history. The queue may still refer to
// the webhook for a while.
func (w *webhook) close() {
	w.lane.clear()
	w.history = index[*attempt]{}
}

// secret returns the store's own copy of a secret. An empty one is none.
func secret(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return bytes.Clone(b)
}

func copyWebhook(rec storage.Webhook) storage.Webhook {
	rec.Secret = secret(rec.Secret)
	return rec
}

// visibleWebhook returns a webhook of a form that the actor may see, or nil.
func (s *Store) visibleWebhook(who storage.Actor, id storage.ID) *webhook {
	w := s.webhooks[id]
	if w == nil || s.visible(who, w.rec.FormID) == nil {
		return nil
	}
	return w
}

// CreateWebhook implements [storage.WebhookStore].
func (s *Store) CreateWebhook(ctx context.Context, who storage.Actor, w storage.Webhook, limit int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := check(w.URL, w.CreatedAt, w.UpdatedAt); err != nil {
		return err
	}
	w = copyWebhook(w)
	w.CreatedAt, w.UpdatedAt = utc(w.CreatedAt), utc(w.UpdatedAt)

	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.visible(who, w.FormID)
	switch {
	case f == nil:
		return storage.ErrNotFound
	case limit > 0 && len(f.webhooks.items) >= limit:
		return storage.ErrLimitReached
	case s.webhooks[w.ID] != nil:
		return storage.ErrConflict
	}
	rec := &webhook{rec: w, form: f}
	s.webhooks[w.ID] = rec
	f.webhooks.add(rec)
	s.everything.webhooks.add(rec)
	s.shelves[f.rec.WorkspaceID].webhooks.add(rec)
	return nil
}

// Webhook implements [storage.WebhookStore].
func (s *Store) Webhook(ctx context.Context, who storage.Actor, id storage.ID) (storage.Webhook, error) {
	if err := ctx.Err(); err != nil {
		return storage.Webhook{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	w := s.visibleWebhook(who, id)
	if w == nil {
		return storage.Webhook{}, storage.ErrNotFound
	}
	return copyWebhook(w.rec), nil
}

// Webhooks implements [storage.WebhookStore].
func (s *Store) Webhooks(ctx context.Context, who storage.Actor, page storage.Page) ([]storage.Webhook, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := check(page); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	shelves := s.shelvesOf(who)
	lists := make([]*index[*webhook], len(shelves))
	for i, sh := range shelves {
		lists[i] = &sh.webhooks
	}
	found := merge(lists, page)
	out := make([]storage.Webhook, len(found))
	for i, w := range found {
		out[i] = copyWebhook(w.rec)
	}
	return out, nil
}

// UpdateWebhook implements [storage.WebhookStore].
func (s *Store) UpdateWebhook(ctx context.Context, who storage.Actor, id storage.ID, c storage.WebhookChange) (storage.Webhook, error) {
	if err := ctx.Err(); err != nil {
		return storage.Webhook{}, err
	}
	if err := check(c.URL, c.At); err != nil {
		return storage.Webhook{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.visibleWebhook(who, id)
	if w == nil {
		return storage.Webhook{}, storage.ErrNotFound
	}
	if c.URL != nil && *c.URL != w.rec.URL {
		w.rec.URL = *c.URL
		w.lane.renew(s.queue.token)
	}
	if c.Enabled != nil {
		w.rec.Enabled = *c.Enabled
		if !w.rec.Enabled {
			w.lane.clear()
		}
	}
	if c.Secret != nil {
		w.rec.Secret = secret(*c.Secret)
	}
	w.rec.UpdatedAt = utc(c.At)
	return copyWebhook(w.rec), nil
}

// DeleteWebhook implements [storage.WebhookStore].
func (s *Store) DeleteWebhook(ctx context.Context, who storage.Actor, id storage.ID) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.visibleWebhook(who, id)
	if w == nil {
		return storage.ErrNotFound
	}
	delete(s.webhooks, id)
	w.form.webhooks.remove(w)
	s.everything.webhooks.remove(w)
	s.shelves[w.form.rec.WorkspaceID].webhooks.remove(w)
	w.close()
	return nil
}

// Attempts implements [storage.WebhookStore].
func (s *Store) Attempts(ctx context.Context, who storage.Actor, webhook storage.ID, limit int) ([]storage.Attempt, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	w := s.visibleWebhook(who, webhook)
	if w == nil {
		return nil, storage.ErrNotFound
	}
	found := newest(w.history.items, limit)
	out := make([]storage.Attempt, len(found))
	for i, a := range found {
		out[i] = a.rec
	}
	return out, nil
}
