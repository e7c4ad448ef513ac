package memory

import (
	"bytes"
	"context"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// Enqueue implements [storage.DeliveryStore]. When the event is already pending
// for the webhook, nothing changes.
func (s *Store) Enqueue(ctx context.Context, webhook storage.ID, e storage.Event, due time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	added := newEvent(e, storage.ID{})

	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.liveWebhook(webhook)
	switch {
	case w == nil:
		return storage.ErrNotFound
	case !w.rec.Enabled:
		return storage.ErrConflict
	case w.lane.pending[e.ID] == nil:
		s.queue.add(w, added, due)
	}
	return nil
}

// liveWebhook returns a webhook of a form that is not in the trash, or nil.
func (s *Store) liveWebhook(id storage.ID) *webhook {
	return s.visibleWebhook(storage.AsHost(), id)
}

// Redeliver implements [storage.DeliveryStore].
func (s *Store) Redeliver(ctx context.Context, webhook, attempt storage.ID, due time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.liveWebhook(webhook)
	if w == nil {
		return storage.ErrNotFound
	}
	a := w.attempt(attempt)
	if a == nil || a.event == nil {
		return storage.ErrNotFound
	}
	if !w.rec.Enabled {
		return storage.ErrConflict
	}
	if d := w.lane.pending[a.event.id]; d != nil {
		w.lane.reschedule(d, utc(due))
		return nil
	}
	s.queue.add(w, a.event, due)
	return nil
}

// ClaimDeliveries implements [storage.DeliveryStore]. Deliveries of one event
// share one copy of its body.
func (s *Store) ClaimDeliveries(ctx context.Context, p storage.ClaimParams) ([]storage.Delivery, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	clock := s.now()
	s.mu.Lock()
	claims := s.queue.claim(p, clock)
	s.mu.Unlock()

	out := make([]storage.Delivery, len(claims))
	bodies := make(map[*event][]byte, len(claims))
	for i, c := range claims {
		body, ok := bodies[c.event]
		if !ok {
			body = bytes.Clone(c.event.body)
			bodies[c.event] = body
		}
		out[i] = c.delivery
		out[i].Body = body
		out[i].Secret = bytes.Clone(c.delivery.Secret)
	}
	return out, nil
}

// FinishDeliveries implements [storage.DeliveryStore].
func (s *Store) FinishDeliveries(ctx context.Context, done []storage.Result, keep int) ([]storage.Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var fenced []storage.Lease
	for _, r := range done {
		if !s.finish(r, keep) {
			fenced = append(fenced, r.Lease)
		}
	}
	return fenced, nil
}

// finish settles one delivery, or reports false when the result came too late.
func (s *Store) finish(r storage.Result, keep int) bool {
	w := s.webhooks[r.Lease.WebhookID]
	if w == nil {
		return false
	}
	d := w.lane.holds(r.Lease)
	if d == nil {
		return false
	}
	if r.Attempt == nil {
		w.lane.release(d, d.due)
		return true
	}
	w.record(*r.Attempt, d.event, keep)
	w.lane.fared(r.Lease.Token, r.Failures, utc(r.PausedUntil))
	if r.Attempt.NextAttemptAt.IsZero() {
		w.lane.remove(d)
		return true
	}
	d.attempt++
	w.lane.release(d, utc(r.Attempt.NextAttemptAt))
	return true
}

// QueueStats implements [storage.DeliveryStore].
func (s *Store) QueueStats(ctx context.Context, now time.Time) (storage.QueueStats, error) {
	if err := ctx.Err(); err != nil {
		return storage.QueueStats{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.queue.stats(now), nil
}
