package memory

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
)

type webhook struct {
	// rec.Secret is replaced, never changed.
	rec            storage.Webhook
	host           string // of its URL
	oldSecret      []byte // replaced, never changed, and known until oldSecretUntil
	oldSecretUntil time.Time
	form           *form
	lane           lane
	history        index[*attempt]
	expired        index[*attempt] // summaries of expired deliveries
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

// record adds an attempt, once if it is there already, and cuts the history.
func (w *webhook) record(a storage.Attempt, e *event) {
	a.CreatedAt = utc(a.CreatedAt)
	w.history.add(&attempt{rec: a, event: e})
	w.history.keepNewest(storage.HistoryKept)
}

// attempt returns an entry of the history, or nil.
func (w *webhook) attempt(id storage.ID) *attempt {
	for _, a := range slices.Concat(w.history.items, w.expired.items) {
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
	for _, a := range slices.Concat(w.history.items, w.expired.items) {
		if a.event != nil && a.event.submission == sub.rec.ID {
			a.event = nil
		}
	}
}

// close ends what is pending and drops the history.
func (w *webhook) close() {
	w.lane.clear()
	w.history, w.expired = index[*attempt]{}, index[*attempt]{}
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
	rec := &webhook{rec: w, host: storage.HostName(w.URL), form: f}
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
	clock := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.visibleWebhook(who, id)
	if w == nil {
		return storage.Webhook{}, storage.ErrNotFound
	}
	if c.URL != nil && *c.URL != w.rec.URL {
		w.rec.URL, w.host = *c.URL, storage.HostName(*c.URL)
		w.lane.renew(s.queue.token)
	}
	if c.URL != nil || c.Enabled != nil {
		w.lane.hastenOne(clock)
	}
	if c.Enabled != nil {
		switch {
		case !*c.Enabled:
			w.lane.clear()
		case !w.rec.Enabled:
			w.lane.endPause()
		}
		w.rec.Enabled = *c.Enabled
	}
	if c.Secret != nil {
		w.changeSecret(secret(*c.Secret), c.At)
	}
	w.rec.UpdatedAt = utc(c.At)
	s.queue.place(w, clock)
	return copyWebhook(w.rec), nil
}

// changeSecret keeps the secret that a different one replaces. One that is removed is
// forgotten: nothing is signed any more.
func (w *webhook) changeSecret(to []byte, at time.Time) {
	if len(to) > 0 && bytes.Equal(to, w.rec.Secret) {
		return
	}
	w.oldSecret = nil
	if len(to) > 0 {
		w.oldSecret, w.oldSecretUntil = w.rec.Secret, at.Add(storage.OldSecretKept)
	}
	w.rec.Secret = to
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
	s.queue.remove(w)
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
	found := merge([]*index[*attempt]{&w.history, &w.expired}, storage.Page{Limit: limit})
	out := make([]storage.Attempt, len(found))
	for i, a := range found {
		out[i] = a.rec
	}
	return out, nil
}
