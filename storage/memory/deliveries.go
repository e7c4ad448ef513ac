package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// Enqueue implements [storage.DeliveryStore]. If the event is already pending for the webhook, nothing changes.
func (s *Store) Enqueue(ctx context.Context, webhookID storage.ID, e storage.Event) error {
	return withRecord(ctx, s, s.findLiveWebhook(webhookID), nil, func(w *webhook) error {
		if !w.rec.Enabled {
			return storage.ErrConflict
		}
		if e.Single {
			for _, d := range w.queue.byEvent {
				if d.event.submission.IsZero() {
					clock := s.now()
					w.queue.makeDue(d, clock, clock)
					return nil
				}
			}
		}
		if w.queue.byEvent[e.ID] == nil {
			w.queue.add(&delivery{event: newEvent(e, storage.ID{}, false), queuedAt: s.now(), attempt: 1, requested: true})
		}
		return nil
	})
}

// Redeliver implements [storage.DeliveryStore].
func (s *Store) Redeliver(ctx context.Context, webhookID, id storage.ID) error {
	return s.redeliver(ctx, webhookID, id, false)
}

// RedeliverFailed implements [storage.DeliveryStore].
func (s *Store) RedeliverFailed(ctx context.Context, webhookID, id storage.ID) error {
	return s.redeliver(ctx, webhookID, id, true)
}

func (s *Store) redeliver(ctx context.Context, webhookID, id storage.ID, onlyFailed bool) error {
	return withRecord(ctx, s, s.findLiveWebhook(webhookID), nil, func(w *webhook) error {
		attempts := w.attempts()
		at := slices.IndexFunc(attempts, func(a *attempt) bool { return a.rec.ID == id })
		switch {
		case at < 0 || attempts[at].event == nil, onlyFailed && !w.isFinalFailure(attempts[at]):
			return storage.ErrNotFound
		case !w.rec.Enabled:
			return storage.ErrConflict
		}
		clock, e := s.now(), attempts[at].event
		if d := w.queue.byEvent[e.id]; d != nil {
			w.queue.makeDue(d, clock, clock)
		} else {
			w.queue.add(&delivery{event: e, queuedAt: clock, attempt: 1, requested: true})
		}
		return nil
	})
}

// isFinalFailure reports whether the attempt a is the failure that ended its event's delivery. It must have an event.
func (w *webhook) isFinalFailure(a *attempt) bool {
	return !a.rec.Success && w.queue.byEvent[a.event.id] == nil && !slices.ContainsFunc(w.attempts(), func(b *attempt) bool {
		return b.rec.EventID == a.rec.EventID && comparePositions(b.position(), a.position()) > 0
	})
}

// ClaimDeliveries implements [storage.DeliveryStore]. It reads all webhooks, which takes 0.1 to 0.2 ms for 10,000
// waiting webhooks. The result more is always false.
func (s *Store) ClaimDeliveries(ctx context.Context, p storage.ClaimParams) (claimed []storage.ClaimedDelivery, more bool, err error) {
	err = withLock(ctx, s, nil, func() error {
		clock := s.now()
		s.maintenance.LastDispatch = toUTC(clock)
		claimed = s.claimFromPool(p, p.Fast, storage.Health.Fast, clock)
		claimed = append(claimed, s.claimFromPool(p, p.Slow, func(s storage.Health) bool { return s.Healthy() && !s.Fast() }, clock)...)
		claimed = append(claimed, s.claimFromPool(p, p.NewOrFailing, func(s storage.Health) bool { return !s.Healthy() }, clock)...)
		return nil
	})
	return claimed, false, err
}

// FinishDeliveries implements [storage.DeliveryStore]. It records all results in one step.
func (s *Store) FinishDeliveries(ctx context.Context, done []storage.Result) ([]storage.Lease, error) {
	return withLockResult(ctx, s, nil, func() (fenced []storage.Lease, err error) {
		clock := s.now()
		lastResults := map[*webhook]storage.Result{} // last result for each webhook
		for _, r := range done {
			if !s.finishDelivery(r, clock, lastResults) {
				fenced = append(fenced, r.Lease)
			}
		}
		for w, r := range lastResults {
			w.recordHealth(r, clock)
		}
		return fenced, nil
	})
}

// finishDelivery records one result. It returns false if the delivery is gone, was already settled, or was claimed
// again. If the result belongs to the current destination, finishDelivery adds the result to lastResults.
func (s *Store) finishDelivery(r storage.Result, clock time.Time, lastResults map[*webhook]storage.Result) bool {
	w := s.webhooks[r.Lease.WebhookID]
	if w == nil {
		return false
	}
	d := w.queue.byEvent[r.Lease.EventID]
	if d == nil || d.token == 0 || d.token != r.Lease.Token {
		return false
	}
	w.queue.remove(d)
	due := clock.Add(r.RetryIn)
	if r.Delivery != nil {
		a, again := *r.Delivery, d.requestedAgain && !r.Delivery.Success
		if again {
			due = clock
		}
		a.CreatedAt, a.NextAttemptAt = toUTC(a.CreatedAt), time.Time{}
		if again || r.RetryIn > 0 {
			a.NextAttemptAt = toUTC(due)
		}
		w.history.addBounded(storage.MaxHistory, &attempt{rec: a, event: d.event})
		if r.Lease.Token > w.minToken {
			lastResults[w] = r
		}
		d.attempt++
		if a.NextAttemptAt.IsZero() {
			if !r.Summary.IsZero() && w.canAddSummary(clock) {
				w.addExpiredSummary(d, r.Summary, a.CreatedAt, clock)
			}
			return true
		}
		if again && r.RetryIn <= 0 {
			d.attempt = 1
		}
		d.requested = d.requestedAgain
	}
	d.token, d.requestedAgain, d.dueAt = 0, false, due
	w.queue.add(d)
	return true
}

// ExpireDeliveries implements [storage.DeliveryStore]. Each call reads all webhooks.
func (s *Store) ExpireDeliveries(ctx context.Context, p storage.ExpireParams) (storage.Expired, error) {
	return withLockResult(ctx, s, nil, func() (storage.Expired, error) {
		clock := s.now()
		s.maintenance.LastDispatch = toUTC(clock)
		then := clock.Add(-p.MaxAge)
		var done storage.Expired
		for _, id := range slices.SortedFunc(maps.Keys(s.webhooks), compareIDs) {
			w := s.webhooks[id]
			if p.Max < 1 || compareIDs(id, p.From) < 0 || w.health.Failures == 0 || w.failingSince.After(then) || clock.Sub(w.failedAt) >= storage.MaxFailureGap {
				continue
			}
			oldest, all := w.expireDeliveries(then, clock, p.Max, &done.Deliveries)
			if oldest != nil && w.canAddSummary(clock) {
				done.Summaries = append(done.Summaries, w.addExpiredSummary(oldest, p.NewID(), p.At, clock))
			}
			if !all {
				done.Next = id
				break
			}
		}
		return done, nil
	})
}

func (w *webhook) canAddSummary(clock time.Time) bool {
	return clock.Sub(w.lastSummaryAt) >= storage.ExpiredSummaryInterval
}

// addExpiredSummary adds a summary of expired deliveries, of which d is the oldest.
func (w *webhook) addExpiredSummary(d *delivery, id storage.ID, at, clock time.Time) storage.Delivery {
	w.lastSummaryAt = clock
	a := storage.Delivery{
		ID: id, WebhookID: w.rec.ID, EventID: d.event.id, EventType: d.event.eventType, SubmissionID: d.event.submission,
		Attempt: d.attempt, Error: storage.DeliveryExpired, CreatedAt: toUTC(at),
	}
	w.expired.addBounded(storage.MaxExpiredSummaries, &attempt{rec: a, event: d.event})
	return a
}

// expireDeliveries ends w's deliveries that were queued at the cutoff or earlier, until count reaches the limit. It
// returns the oldest ended delivery, and reports whether it reached the end of these deliveries.
func (w *webhook) expireDeliveries(cutoff, clock time.Time, limit int, count *int) (oldest *delivery, all bool) {
	ended := make(map[storage.ID]*delivery)
	defer w.clearNextAttempts(ended)
	old := w.queue.regular.countBefore(storage.Position{Time: cutoff.Add(1)})
	for _, d := range slices.Clone(w.queue.regular.items[:old]) {
		switch {
		case d.dueAt.After(clock):
			continue
		case *count >= limit:
			return oldest, false
		}
		oldest = cmp.Or(oldest, d)
		w.queue.remove(d)
		ended[d.event.id] = d
		*count++
	}
	return oldest, true
}

// PausedWebhooks implements [storage.DeliveryStore].
func (s *Store) PausedWebhooks(ctx context.Context, actor storage.Actor, page storage.Page) ([]storage.PausedWebhook, error) {
	return readPage(ctx, s, maps.Values(s.webhooks), page, func(w *webhook) storage.Position {
		return storage.Position{Time: toUTC(w.failingSince), ID: w.rec.ID}
	}, func(w *webhook) storage.PausedWebhook {
		return storage.PausedWebhook{
			WebhookID: w.rec.ID, FormID: w.rec.FormID, URL: w.rec.URL, Failures: w.health.Failures,
			FailingSince: toUTC(w.failingSince), PausedUntil: toUTC(w.pausedUntil), Reason: w.pauseReason,
		}
	}, func(w *webhook) bool {
		return !w.pausedUntil.IsZero() && s.visibleForm(actor, w.rec.FormID) != nil && s.canAccessWebhook(actor, w)
	})
}

// QueueStats implements [storage.DeliveryStore].
func (s *Store) QueueStats(ctx context.Context) (storage.QueueStats, error) {
	return withLockResult(ctx, s, nil, func() (storage.QueueStats, error) {
		clock := s.now()
		var st storage.QueueStats
		for _, w := range s.webhooks {
			for _, d := range w.queue.byEvent {
				if d.dueAt.After(clock) && !d.isLeased(clock) || w.isPaused(clock) && !d.requested {
					st.Waiting++
					continue
				}
				st.Due++
				if st.OldestDue.IsZero() || d.queuedAt.Before(st.OldestDue) {
					st.OldestDue = toUTC(d.queuedAt)
				}
			}
		}
		return st, nil
	})
}
