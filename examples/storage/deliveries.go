package main

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// How a delivery got its due time: deliveries.urgency.
const (
	ordinary = iota
	probe    // somebody asked for it: a pause does not hold it back
	again    // somebody asked for it while the result of an earlier lease may still come
)

// leased is the condition for a lease that still holds, at the time ?1.
const leased = `(d.token > 0 AND d.due > ?1)`

// addEvent keeps a body until the last delivery or attempt that needs it is gone.
// ErrConflict: there is an event with the id.
func (t *tx) addEvent(e storage.Event, form, submission storage.ID) error {
	return added(t.exec(`INSERT INTO events (id, form, submission, type, body) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		e.ID, form, submission, e.Type, bytesOf(e.Body)))
}

// queue makes an event pending, due now, at attempt 1.
func (t *tx) queue(webhook, event storage.ID, urgency int, clock time.Time) error {
	_, err := t.exec(`INSERT INTO deliveries (webhook, event, queued, due, urgency) VALUES (?1, ?2, ?3, ?3, ?4)`,
		webhook, event, clock, urgency)
	return err
}

// Enqueue implements [storage.DeliveryStore]. When the event is already
// pending for the webhook, nothing changes.
func (s *Store) Enqueue(ctx context.Context, webhook storage.ID, e storage.Event) error {
	if err := check(e.Type); err != nil {
		return err
	}
	return s.write(ctx, func(tx *tx) error {
		w, err := tx.webhook(storage.AsHost(), webhook)
		if err != nil {
			return err
		}
		if !w.Enabled {
			return storage.ErrConflict
		}
		if e.Single {
			waiting, err := all(tx, scanID, `SELECT d.event FROM deliveries d JOIN events e ON e.id = d.event
				WHERE d.webhook = ? AND e.submission = ? LIMIT 1`, webhook, storage.ID{})
			if err != nil || len(waiting) > 0 {
				if err == nil {
					err = tx.hasten(webhook, waiting[0], s.now())
				}
				return err
			}
		}
		pending, err := tx.exists(`SELECT 1 FROM deliveries WHERE webhook = ? AND event = ?`, webhook, e.ID)
		if err != nil || pending {
			return err
		}
		if err := tx.addEvent(e, w.FormID, storage.ID{}); err != nil && !errors.Is(err, storage.ErrConflict) {
			return err // a conflict: the event is known, of another webhook or in a history
		}
		return tx.queue(webhook, e.ID, probe, s.now())
	})
}

// Redeliver implements [storage.DeliveryStore].
func (s *Store) Redeliver(ctx context.Context, webhook, attempt storage.ID) error {
	return s.redeliver(ctx, webhook, attempt, "true")
}

// RedeliverFailed implements [storage.DeliveryStore].
func (s *Store) RedeliverFailed(ctx context.Context, webhook, attempt storage.ID) error {
	return s.redeliver(ctx, webhook, attempt, `NOT a.success
		AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.webhook = a.webhook AND d.event = a.event)
		AND NOT EXISTS (SELECT 1 FROM attempts b
			WHERE b.webhook = a.webhook AND b.event = a.event AND (b.created, b.id) > (a.created, a.id))`)
}

func (s *Store) redeliver(ctx context.Context, webhook, attempt storage.ID, condition string) error {
	return s.write(ctx, func(tx *tx) error {
		clock := s.now()
		w, err := tx.webhook(storage.AsHost(), webhook)
		if err != nil {
			return err
		}
		var event storage.ID
		err = tx.one(`SELECT e.id FROM attempts a JOIN events e ON e.id = a.event WHERE a.webhook = ? AND a.id = ? AND `+condition,
			[]any{webhook, attempt}, &event)
		if err != nil {
			return err
		}
		if !w.Enabled {
			return storage.ErrConflict
		}
		n, err := tx.exec(`UPDATE deliveries SET queued = ? WHERE webhook = ? AND event = ?`, clock, webhook, event)
		if err != nil {
			return err
		}
		if n == 0 {
			return tx.queue(webhook, event, probe, clock)
		}
		return tx.hasten(webhook, event, clock)
	})
}

// hasten makes a delivery due now despite a pause, or once its lease ends.
func (t *tx) hasten(webhook, event storage.ID, clock time.Time) error {
	_, err := t.exec(`UPDATE deliveries AS d SET
			urgency = CASE WHEN d.token > 0 THEN 2 ELSE 1 END,
			due = CASE WHEN `+leased+` THEN due ELSE ?1 END
		WHERE webhook = ?2 AND event = ?3`, clock, webhook, event)
	return err
}

// hastenOne hastens the oldest delivery that waits for a pause to end, or else for
// its next attempt.
func (t *tx) hastenOne(webhook storage.ID, clock time.Time) error {
	events, err := all(t, scanID, `SELECT d.event FROM deliveries d
		WHERE d.webhook = ?2 AND (d.urgency = 0 OR d.due > ?1) AND NOT `+leased+`
		ORDER BY d.due > ?1, d.queued, d.event LIMIT 1`, clock, webhook)
	if err != nil || len(events) == 0 {
		return err
	}
	return t.hasten(webhook, events[0], clock)
}

// ClaimDeliveries implements [storage.DeliveryStore]. It finds the webhooks with
// something due among all webhooks, so unlike the other stores it gets slower with
// their number.
func (s *Store) ClaimDeliveries(ctx context.Context, p storage.ClaimParams) (claimed []storage.ClaimedDelivery, more bool, err error) {
	err = s.write(ctx, func(tx *tx) error {
		if err = tx.noteWork("dispatched", s.now()); err == nil {
			claimed, err = tx.claim(p, s.now())
		}
		return err
	})
	if err != nil {
		return nil, false, err
	}
	return claimed, false, nil
}

// candidate is a webhook that has something due.
type candidate struct {
	id           storage.ID
	form         storage.ID
	workspace    storage.ID
	url, host    string
	generation   int64 // the last lease of an earlier url
	secret       []byte
	oldSecret    []byte
	olderSecret  []byte
	standing     storage.Standing
	failingSince time.Time
	failed       time.Time
	pausedUntil  time.Time
	pauseReason  storage.PauseReason
}

func (t *tx) claim(p storage.ClaimParams, clock time.Time) ([]storage.ClaimedDelivery, error) {
	candidates, err := all(t, func(row scanner) (c candidate, err error) {
		err = row.Scan(&c.id, &c.form, &c.workspace, &c.url, &c.host, &c.generation, &c.secret, &c.oldSecret, &c.olderSecret,
			&c.standing.Succeeded, &c.standing.SlowFor, &c.standing.Failures, at(&c.failingSince), at(&c.failed), at(&c.pausedUntil), &c.pauseReason)
		c.secret, c.oldSecret, c.olderSecret = secret(c.secret), secret(c.oldSecret), secret(c.olderSecret)
		return c, err
	}, `SELECT w.id, w.form, f.workspace, w.url, w.host, w.url_token, w.secret, CASE WHEN w.old_secret_until > ?1 THEN w.old_secret END,
			CASE WHEN w.older_secret_until > ?1 THEN w.older_secret END,
			w.succeeded, w.slow_for, w.failures, w.failing_since, w.failed, w.paused_until, w.pause_reason
		FROM webhooks w JOIN forms f ON f.id = w.form WHERE w.enabled AND EXISTS
			(SELECT 1 FROM deliveries d WHERE d.webhook = w.id AND d.due <= ?1 AND (d.urgency > 0 OR w.paused_until <= ?1))
		ORDER BY w.served, w.id`, clock)
	if err != nil {
		return nil, err
	}
	room := newRoom(p)
	var out []storage.ClaimedDelivery
	for _, c := range candidates {
		if room.full() {
			break
		}
		if out, err = t.serve(out, c, room, p.Lease, clock); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// serve appends what there is room for of one webhook.
func (t *tx) serve(out []storage.ClaimedDelivery, c candidate, room *room, lease time.Duration, clock time.Time) ([]storage.ClaimedDelivery, error) {
	type waiting struct {
		event storage.ID
		size  int
		age   time.Duration
	}
	next, err := all(t, func(row scanner) (w waiting, err error) {
		var queued time.Time
		err = row.Scan(&w.event, &w.size, at(&queued))
		w.age = max(0, clock.Sub(queued))
		return w, err
	}, `SELECT d.event, length(e.body), d.queued FROM deliveries d
			JOIN events e ON e.id = d.event JOIN webhooks w ON w.id = d.webhook
		WHERE d.webhook = ?2 AND d.due <= ?1 AND (d.urgency > 0 OR w.paused_until <= ?1)
		ORDER BY d.urgency = 0, d.queued, d.event LIMIT ?3`, clock, c.id, max(room.webhook(c), 0))
	if err != nil {
		return nil, err
	}
	for _, w := range next {
		if !room.take(c, w.size) {
			break
		}
		d := storage.ClaimedDelivery{
			Lease: storage.Lease{WebhookID: c.id, EventID: w.event}, FormID: c.form, WorkspaceID: c.workspace, URL: c.url, Host: c.host, Generation: c.generation,
			Secret: append([]byte(nil), c.secret...), OldSecret: append([]byte(nil), c.oldSecret...),
			OlderSecret: append([]byte(nil), c.olderSecret...),
			Standing:    c.standing, PausedFor: max(0, c.pausedUntil.Sub(clock)), PauseReason: c.pauseReason, Age: w.age,
		}
		if c.standing.Failures > 0 {
			d.FailingFor, d.FailedAgo = max(1, clock.Sub(c.failingSince)), max(1, clock.Sub(c.failed))
		}
		if err := t.lease(&d, clock.Add(lease)); err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, nil
}

// lease leases a delivery and fills in its missing members.
func (t *tx) lease(d *storage.ClaimedDelivery, until time.Time) error {
	if err := t.one(`UPDATE tokens SET last = last + 1 RETURNING last`, nil, &d.Lease.Token); err != nil {
		return err
	}
	err := t.one(`UPDATE deliveries SET token = ?, due = ?, urgency = min(urgency, 1) WHERE webhook = ? AND event = ? RETURNING attempt`,
		[]any{d.Lease.Token, until, d.Lease.WebhookID, d.Lease.EventID}, &d.Attempt)
	if err != nil {
		return err
	}
	if _, err := t.exec(`UPDATE webhooks SET served = ? WHERE id = ?`, d.Lease.Token, d.Lease.WebhookID); err != nil {
		return err
	}
	return t.one(`SELECT submission, type, body FROM events WHERE id = ?`, []any{d.Lease.EventID}, &d.SubmissionID, &d.EventType, &d.Body)
}

// FinishDeliveries implements [storage.DeliveryStore]. It is one step, however many
// results there are.
func (s *Store) FinishDeliveries(ctx context.Context, done []storage.Result) (fenced []storage.Lease, err error) {
	err = s.write(ctx, func(tx *tx) error {
		clock := s.now()
		judging := map[storage.ID]storage.Result{} // the last result of each webhook that is about its URL
		for _, r := range done {
			held, err := tx.finish(r, clock)
			if err != nil {
				return err
			}
			if !held {
				fenced = append(fenced, r.Lease)
				continue
			}
			judges, err := tx.exists(`SELECT 1 FROM webhooks WHERE id = ? AND url_token < ?`, r.Lease.WebhookID, r.Lease.Token)
			if err != nil {
				return err
			}
			if judges && r.Delivery != nil {
				judging[r.Lease.WebhookID] = r
			}
		}
		for _, r := range judging {
			if err := tx.fared(r, clock); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return fenced, nil
}

// finish settles one delivery, or reports false when the result came too late.
func (t *tx) finish(r storage.Result, clock time.Time) (bool, error) {
	var attempt, urgency int
	found, err := all(t, func(row scanner) (struct{}, error) { return struct{}{}, row.Scan(&attempt, &urgency) },
		`SELECT attempt, urgency FROM deliveries WHERE webhook = ? AND event = ? AND token = ? AND token > 0`,
		r.Lease.WebhookID, r.Lease.EventID, r.Lease.Token)
	if err != nil || len(found) == 0 {
		return false, err
	}
	due, ended := clock.Add(r.RetryIn), false
	if r.Delivery != nil {
		a := *r.Delivery
		a.NextAttemptAt = time.Time{}
		asked := urgency == again && !a.Success
		switch {
		case asked:
			a.NextAttemptAt, due = clock, clock
		case r.RetryIn > 0:
			a.NextAttemptAt = due
		}
		if err := t.record(a, false); err != nil {
			return false, err
		}
		attempt++
		if asked && r.RetryIn <= 0 {
			attempt = 1
		}
		if urgency == probe {
			urgency = ordinary
		}
		ended = a.NextAttemptAt.IsZero()
	}
	if ended {
		if !r.Summary.IsZero() {
			a := *r.Delivery
			a.ID, a.Attempt, a.Status, a.Duration, a.Error = r.Summary, attempt, 0, 0, storage.DeliveryExpired
			if _, err := t.tellExpired(a, clock); err != nil {
				return false, err
			}
		}
		_, err = t.exec(`DELETE FROM deliveries WHERE webhook = ? AND event = ?`, r.Lease.WebhookID, r.Lease.EventID)
		return true, err
	}
	_, err = t.exec(`UPDATE deliveries SET token = 0, attempt = ?, urgency = ?, due = ? WHERE webhook = ? AND event = ?`,
		attempt, min(urgency, probe), due, r.Lease.WebhookID, r.Lease.EventID)
	return true, err
}

// fared notes how the destination fared.
func (t *tx) fared(r storage.Result, clock time.Time) error {
	var since, failed, until time.Time
	var reason storage.PauseReason
	err := t.one(`SELECT failing_since, failed FROM webhooks WHERE id = ?`, []any{r.Lease.WebhookID}, at(&since), at(&failed))
	if err != nil {
		return err
	}
	if r.Standing.Failures == 0 {
		since, failed = time.Time{}, time.Time{}
	} else {
		if since.IsZero() || clock.Sub(failed) > storage.FailureGap {
			since = clock
		}
		failed = clock
		if r.PauseFor > 0 {
			until, reason = clock.Add(r.PauseFor), cmp.Or(r.PauseReason, storage.PauseFailures)
		}
	}
	_, err = t.exec(`UPDATE webhooks SET succeeded = ?, slow_for = ?, failures = ?, failing_since = ?, failed = ?,
			paused_until = ?, pause_reason = ? WHERE id = ?`,
		r.Standing.Succeeded, r.Standing.SlowFor, r.Standing.Failures, since, failed, until, string(reason), r.Lease.WebhookID)
	return err
}

// PausedWebhooks implements [storage.DeliveryStore].
func (s *Store) PausedWebhooks(ctx context.Context, who storage.Actor, page storage.Page) (found []storage.PausedWebhook, err error) {
	if err := check(page); err != nil {
		return nil, err
	}
	err = s.read(ctx, func(tx *tx) error {
		time, id := start(page)
		found, err = all(tx, func(row scanner) (p storage.PausedWebhook, err error) {
			err = row.Scan(&p.WebhookID, &p.FormID, &p.URL, &p.Failures, at(&p.FailingSince), at(&p.PausedUntil), &p.Reason)
			return p, err
		}, `SELECT w.id, w.form, w.url, w.failures, w.failing_since, w.paused_until, w.pause_reason
			FROM webhooks w JOIN forms f ON f.id = w.form
			WHERE `+visible+` AND w.paused_until > 0 AND (w.failing_since, w.id) < (?3, ?4)
			ORDER BY w.failing_since DESC, w.id DESC LIMIT ?5`, whom(who, time, id, max(page.Limit, 0))...)
		return err
	})
	return found, err
}

// QueueStats implements [storage.DeliveryStore].
func (s *Store) QueueStats(ctx context.Context) (st storage.QueueStats, err error) {
	err = s.read(ctx, func(tx *tx) error {
		return tx.one(`SELECT count(*) FILTER (WHERE due), count(*) FILTER (WHERE NOT due), ifnull(min(queued) FILTER (WHERE due), 0)
			FROM (SELECT d.queued, (d.due <= ?1 OR `+leased+`) AND (d.urgency > 0 OR w.paused_until <= ?1) AS due
				FROM deliveries d JOIN webhooks w ON w.id = d.webhook)`,
			[]any{s.now()}, &st.Due, &st.Waiting, at(&st.OldestDue))
	})
	if err != nil {
		return storage.QueueStats{}, err
	}
	return st, nil
}
