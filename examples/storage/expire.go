package main

import (
	"context"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// ExpireDeliveries implements [storage.DeliveryStore].
func (s *Store) ExpireDeliveries(ctx context.Context, p storage.ExpireParams) (done storage.Expired, err error) {
	err = s.write(ctx, func(tx *tx) error {
		if err = tx.noteWork("dispatched", s.now()); err == nil {
			done, err = tx.expireAll(p, s.now())
		}
		return err
	})
	if err != nil {
		return storage.Expired{}, err
	}
	return done, nil
}

func (t *tx) expireAll(p storage.ExpireParams, clock time.Time) (done storage.Expired, err error) {
	then := clock.Add(-p.MaxAge)
	failing, err := all(t, scanID, `SELECT id FROM webhooks
		WHERE id >= ? AND failures > 0 AND failing_since <= ? AND failed > ? ORDER BY id`,
		p.From, then, clock.Add(-storage.FailureGap))
	if err != nil {
		return done, err
	}
	for _, webhook := range failing {
		room := max(p.Max-done.Deliveries, 0)
		old, err := all(t, scanID, `SELECT event FROM deliveries WHERE webhook = ?1 AND urgency = 0 AND due <= ?2 AND queued <= ?3
			ORDER BY queued, event LIMIT ?4`, webhook, clock, then, room+1)
		if err != nil {
			return done, err
		}
		left := len(old) > room
		old = old[:min(len(old), room)]
		if len(old) > 0 {
			if err := t.summarize(webhook, old[0], p, clock, &done); err != nil {
				return done, err
			}
		}
		for _, event := range old {
			if _, err := t.exec(`DELETE FROM deliveries WHERE webhook = ? AND event = ?`, webhook, event); err != nil {
				return done, err
			}
			done.Deliveries++
		}
		if left {
			done.Next = webhook
			break
		}
	}
	return done, nil
}

// summarize records the oldest delivery that ends, unless the webhook got a summary
// a short while ago.
func (t *tx) summarize(webhook, event storage.ID, p storage.ExpireParams, clock time.Time, done *storage.Expired) error {
	a := storage.Delivery{ID: p.NewID(), WebhookID: webhook, EventID: event, Error: storage.DeliveryExpired, CreatedAt: time.UnixMicro(p.At.UnixMicro()).UTC()}
	err := t.one(`SELECT d.attempt, e.type, e.submission FROM deliveries d JOIN events e ON e.id = d.event WHERE d.webhook = ? AND d.event = ?`,
		[]any{webhook, event}, &a.Attempt, &a.EventType, &a.SubmissionID)
	if err != nil {
		return err
	}
	told, err := t.tellExpired(a, clock)
	if told {
		done.Summaries = append(done.Summaries, a)
	}
	return err
}

// tellExpired records a summary, unless the webhook got one a short while ago.
func (t *tx) tellExpired(a storage.Delivery, clock time.Time) (bool, error) {
	n, err := t.exec(`UPDATE webhooks SET expired = ? WHERE id = ? AND expired <= ?`, clock, a.WebhookID, clock.Add(-storage.ExpiredQuiet))
	if err != nil || n == 0 {
		return false, err
	}
	return true, t.record(a, true)
}
