package memory

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// Enqueue implements [storage.DeliveryStore]. When the event is already pending
// for the webhook, nothing changes.
func (s *Store) Enqueue(ctx context.Context, webhook storage.ID, e storage.Event) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	added := newEvent(e, storage.ID{})
	clock := s.now()

	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.liveWebhook(webhook)
	switch {
	case w == nil:
		return storage.ErrNotFound
	case !w.rec.Enabled:
		return storage.ErrConflict
	case w.lane.pending[e.ID] == nil:
		w.lane.add(added, probe, clock)
		s.queue.place(w, clock)
	}
	return nil
}

// liveWebhook returns a webhook of a form that is not in the trash, or nil.
func (s *Store) liveWebhook(id storage.ID) *webhook {
	return s.visibleWebhook(storage.AsHost(), id)
}

// Redeliver implements [storage.DeliveryStore].
func (s *Store) Redeliver(ctx context.Context, webhook, attempt storage.ID) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	clock := s.now()
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
		d.queued = clock
		w.lane.hasten(d, clock)
	} else {
		w.lane.add(a.event, probe, clock)
	}
	s.queue.place(w, clock)
	return nil
}

// ClaimDeliveries implements [storage.DeliveryStore]. Deliveries of one event
// share one copy of its body. more is never true.
func (s *Store) ClaimDeliveries(ctx context.Context, p storage.ClaimParams) ([]storage.Delivery, bool, error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	clock := s.now()
	s.mu.Lock()
	claims := s.queue.claim(p, clock)
	s.mu.Unlock()
	return handOut(claims), false, nil
}

// handOut makes the caller's own deliveries.
func handOut(claims []claim) []storage.Delivery {
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
		out[i].OldSecret = bytes.Clone(c.delivery.OldSecret)
	}
	return out
}

// FinishDeliveries implements [storage.DeliveryStore]. It is one step, however many
// results there are.
func (s *Store) FinishDeliveries(ctx context.Context, done []storage.Result) ([]storage.Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	clock := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	var fenced []storage.Lease
	for _, r := range done {
		if !s.finish(r, clock) {
			fenced = append(fenced, r.Lease)
		}
	}
	return fenced, nil
}

// finish settles one delivery, or reports false when the result came too late.
func (s *Store) finish(r storage.Result, clock time.Time) bool {
	w := s.webhooks[r.Lease.WebhookID]
	if w == nil {
		return false
	}
	l := &w.lane
	d := l.holds(r.Lease)
	if d == nil {
		return false
	}
	pool := turnsOf(w)
	defer func() {
		if turnsOf(w) != pool {
			s.queue.remove(w) // its turn was one of the other pool
		}
		s.queue.place(w, clock)
	}()
	due := clock.Add(r.RetryIn)
	if r.Attempt == nil {
		l.release(d, due, clock)
		return true
	}
	a := *r.Attempt
	a.NextAttemptAt = time.Time{}
	asked := d.urgency == again && !a.Success
	switch {
	case asked:
		a.NextAttemptAt, due = utc(clock), clock
	case r.RetryIn > 0:
		a.NextAttemptAt = utc(due)
	}
	w.record(a, d.event)
	l.fared(r, clock)
	switch {
	case asked && r.RetryIn <= 0:
		d.attempt = 1
	case a.NextAttemptAt.IsZero():
		l.remove(d)
		return true
	default:
		d.attempt++
	}
	if d.urgency == probe {
		d.urgency = ordinary
	}
	l.release(d, due, clock)
	return true
}

// ExpireDeliveries implements [storage.DeliveryStore]. It looks at every webhook
// in one call.
func (s *Store) ExpireDeliveries(ctx context.Context, p storage.ExpireParams) (storage.Expired, error) {
	if err := ctx.Err(); err != nil {
		return storage.Expired{}, err
	}
	clock := s.now()
	limit := clock.Add(-p.MaxAge)
	s.mu.Lock()
	defer s.mu.Unlock()
	var failing []*webhook
	for _, w := range s.webhooks {
		l := &w.lane
		if compareIDs(w.rec.ID, p.From) >= 0 && l.standing.Failures > 0 &&
			!l.failingSince.After(limit) && clock.Sub(l.failedAt) < storage.FailureGap {
			failing = append(failing, w)
		}
	}
	slices.SortFunc(failing, func(a, b *webhook) int { return compareIDs(a.rec.ID, b.rec.ID) })
	var done storage.Expired
	for _, w := range failing {
		old, ok := s.expire(w, limit, p.Max-done.Deliveries, clock, &done)
		if old != nil && clock.Sub(w.lane.expiredAt) >= storage.ExpiredQuiet {
			w.lane.expiredAt = clock
			a := storage.Attempt{
				ID: p.NewID(), WebhookID: w.rec.ID, EventID: old.event.id, EventType: old.event.kind,
				SubmissionID: old.event.submission, Attempt: old.attempt, Error: storage.AttemptExpired, CreatedAt: utc(p.At),
			}
			w.expired.add(&attempt{rec: a, event: old.event})
			w.expired.keepNewest(storage.ExpiredKept)
			done.Summaries = append(done.Summaries, a)
		}
		if !ok {
			done.Next = w.rec.ID
			break
		}
	}
	return done, nil
}

// expire ends at most limit of the deliveries of w that were queued up to then, and
// returns the oldest. It reports false when more of them are left.
func (s *Store) expire(w *webhook, then time.Time, limit int, clock time.Time, done *storage.Expired) (oldest *delivery, all bool) {
	l := &w.lane
	l.ripen(clock)
	for len(l.backlog) > 0 && !l.backlog[0].queued.After(then) {
		if limit < 1 {
			return oldest, false
		}
		d := l.backlog[0]
		if oldest == nil {
			oldest = d
		}
		l.remove(d)
		done.Deliveries++
		limit--
	}
	return oldest, true
}

// PausedWebhooks implements [storage.DeliveryStore].
func (s *Store) PausedWebhooks(ctx context.Context, who storage.Actor, page storage.Page) ([]storage.PausedWebhook, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	var paused []storage.PausedWebhook
	for _, w := range s.webhooks {
		l := &w.lane
		if l.pausedUntil.IsZero() || s.visible(who, w.rec.FormID) == nil {
			continue
		}
		paused = append(paused, storage.PausedWebhook{
			WebhookID: w.rec.ID, FormID: w.rec.FormID, URL: w.rec.URL, Failures: l.standing.Failures,
			FailingSince: utc(l.failingSince), PausedUntil: utc(l.pausedUntil), Reason: l.pauseReason,
		})
	}
	position := func(p storage.PausedWebhook) storage.Position {
		return storage.Position{Time: p.FailingSince, ID: p.WebhookID}
	}
	slices.SortFunc(paused, func(a, b storage.PausedWebhook) int { return comparePositions(position(b), position(a)) })
	if page.After != nil {
		paused = slices.DeleteFunc(paused, func(p storage.PausedWebhook) bool {
			return comparePositions(position(p), *page.After) >= 0
		})
	}
	return paused[:max(0, min(len(paused), page.Limit))], nil
}

// QueueStats implements [storage.DeliveryStore].
func (s *Store) QueueStats(ctx context.Context) (storage.QueueStats, error) {
	if err := ctx.Err(); err != nil {
		return storage.QueueStats{}, err
	}
	clock := s.now()
	s.mu.RLock()
	defer s.mu.RUnlock()
	st := s.queue.stats(clock)
	st.OldestDue = utc(st.OldestDue)
	return st, nil
}
