package memory

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// event is an immutable event with its body for some webhooks. Their pending deliveries and stored attempts share it.
type event struct {
	id         storage.ID
	eventType  string
	submission storage.ID // zero for a test event
	body       []byte
}

func newEvent(e storage.Event, submission storage.ID, detailed bool) *event {
	return &event{id: e.ID, eventType: e.Type, submission: submission, body: bytes.Clone(e.BodyFor(detailed))}
}

// delivery is a pending delivery of one event to one webhook.
type delivery struct {
	event          *event
	queuedAt       time.Time // when the event was queued or redelivered
	attempt        int       // number of the next or current attempt
	dueAt          time.Time // when it is due, or when its lease ends
	token          int64     // token of the last lease; zero if there was none or it was settled
	requested      bool      // explicitly requested, so a pause does not delay it
	requestedAgain bool      // requested again while the result of a lease can still arrive
}

func (d *delivery) position() storage.Position {
	return storage.Position{Time: d.queuedAt, ID: d.event.id}
}

func (d *delivery) isLeased(clock time.Time) bool { return d.token != 0 && d.dueAt.After(clock) }

type queue struct {
	byEvent   map[storage.ID]*delivery
	requested index[*delivery] // explicitly requested deliveries by age
	regular   index[*delivery] // all other deliveries by age
	// No delivery can be claimed before idleUntil. A claim that finds no delivery sets it.
	idleUntil time.Time
}

func (q *queue) indexFor(d *delivery) *index[*delivery] {
	if d.requested {
		return &q.requested
	}
	return &q.regular
}

// add makes d pending. The event of d must not be pending yet.
func (q *queue) add(d *delivery) {
	if q.byEvent == nil {
		q.byEvent = make(map[storage.ID]*delivery)
	}
	q.byEvent[d.event.id] = d
	q.indexFor(d).add(d)
	q.setDue(d, d.dueAt)
}

func (q *queue) remove(d *delivery) {
	delete(q.byEvent, d.event.id)
	q.indexFor(d).remove(d)
}

func (q *queue) setDue(d *delivery, due time.Time) {
	d.dueAt = due
	if due.Before(q.idleUntil) {
		q.idleUntil = due
	}
}

// makeDue makes d due now or, if d is leased, when its lease ends. A pause does not delay d.
func (q *queue) makeDue(d *delivery, queued, clock time.Time) {
	q.remove(d)
	d.queuedAt, d.requested, d.requestedAgain = queued, true, d.token != 0
	if !d.isLeased(clock) {
		d.dueAt = time.Time{}
	}
	q.add(d)
}

// makeOldestDue chooses the oldest delivery without a lease and makes it due. It prefers unrequested deliveries.
func (q *queue) makeOldestDue(clock time.Time) {
	for _, d := range slices.Concat(q.regular.items, q.requested.items) {
		if !d.isLeased(clock) {
			q.makeDue(d, d.queuedAt, clock)
			return
		}
	}
}

// destinationHealth is the state of a webhook's destination. A new destination has the zero value.
type destinationHealth struct {
	health        storage.Health
	failingSince  time.Time
	failedAt      time.Time // time of the last failure
	pausedUntil   time.Time
	pauseReason   storage.PauseReason
	minToken      int64     // results of leases up to this token belong to an earlier URL
	lastSummaryAt time.Time // when the last summary of expired deliveries was added
}

func (w *webhook) isPaused(clock time.Time) bool { return clock.Before(w.pausedUntil) }

func (w *webhook) endPause() {
	w.pausedUntil, w.pauseReason = time.Time{}, ""
	w.queue.idleUntil = time.Time{}
}

func (w *webhook) recordHealth(r storage.Result, clock time.Time) {
	w.health = r.Health
	w.endPause()
	if r.Health.Failures == 0 {
		w.failingSince, w.failedAt = time.Time{}, time.Time{}
		return
	}
	if w.failingSince.IsZero() || clock.Sub(w.failedAt) > storage.MaxFailureGap {
		w.failingSince = clock
	}
	w.failedAt = clock
	if r.PauseFor > 0 {
		w.pausedUntil, w.pauseReason = clock.Add(r.PauseFor), cmp.Or(r.PauseReason, storage.PauseFailures)
	}
}

// dueDeliveries returns up to n deliveries to claim. Requested deliveries come first. Regular deliveries follow unless
// w is paused. Both are ordered oldest first.
func (w *webhook) dueDeliveries(clock time.Time, n int) []*delivery {
	q := &w.queue
	if n < 1 || clock.Before(q.idleUntil) {
		return nil
	}
	parts := [][]*delivery{q.requested.items, q.regular.items}
	idle := clock.Add(time.Hour) // addition of an earlier delivery moves idleUntil forward
	if w.isPaused(clock) {
		parts, idle = parts[:1], w.pausedUntil
	}
	var found []*delivery
	for _, part := range parts {
		for _, d := range part {
			switch {
			case !d.dueAt.After(clock):
				found = append(found, d)
			case d.dueAt.Before(idle):
				idle = d.dueAt
			}
			if len(found) == n {
				return found
			}
		}
	}
	if len(found) == 0 {
		q.idleUntil = idle
	}
	return found
}

// leaseDelivery leases d and moves w to the end of the service order.
func (s *Store) leaseDelivery(w *webhook, d *delivery, lease time.Duration, clock time.Time) storage.ClaimedDelivery {
	s.lastToken++
	s.serviceOrder.MoveToBack(w.orderElement)
	d.token, d.requestedAgain = s.lastToken, false
	w.queue.setDue(d, clock.Add(lease))
	out := storage.ClaimedDelivery{
		Lease:        storage.Lease{WebhookID: w.rec.ID, EventID: d.event.id, Token: d.token},
		FormID:       w.rec.FormID,
		WorkspaceID:  s.forms[w.rec.FormID].rec.WorkspaceID,
		SubmissionID: d.event.submission,
		EventType:    d.event.eventType,
		Body:         bytes.Clone(d.event.body),
		URL:          w.rec.URL,
		Generation:   w.minToken,
		Host:         w.host,
		Secret:       cloneSecret(w.secret),
		OldSecret:    w.previousSecret.secretIfValid(clock),
		Attempt:      d.attempt,
		Age:          max(0, clock.Sub(d.queuedAt)),
		Health:       w.health,
		PausedFor:    max(0, w.pausedUntil.Sub(clock)),
		PauseReason:  w.pauseReason,
	}
	if w.health.Failures > 0 {
		out.FailingFor, out.FailedAgo = max(1, clock.Sub(w.failingSince)), max(1, clock.Sub(w.failedAt))
	}
	return out
}

func (s *Store) claimFromPool(p storage.ClaimParams, pool storage.Pool, belongs func(storage.Health) bool, clock time.Time) (out []storage.ClaimedDelivery) {
	size, hosts := 0, make(map[string]int)
	element := s.serviceOrder.Front()
	for n := s.serviceOrder.Len(); n > 0 && len(out) < pool.MaxDeliveries; n-- {
		w := element.Value.(*webhook)
		element = element.Next() // before leaseDelivery moves w
		if !belongs(w.health) || storage.IsLocal(w.rec.URL) && !slices.Contains(p.Local, w.rec.URL) || slices.Contains(pool.ExcludedWorkspaces, s.forms[w.rec.FormID].rec.WorkspaceID) {
			continue
		}
		most, named := p.Webhooks[w.rec.ID]
		meant, some := p.Generations[w.rec.ID]
		if !named || some && meant != w.minToken {
			most = p.PerWebhook
			if !w.health.Healthy() {
				most = min(most, 1)
			}
		}
		most = min(most, pool.MaxDeliveries-len(out))
		if limit, named := pool.Hosts[w.host]; named {
			most = min(most, limit-hosts[w.host])
		} else if pool.PerHost > 0 {
			most = min(most, pool.PerHost-hosts[w.host])
		}
		for _, d := range w.dueDeliveries(clock, most) {
			size += len(d.event.body)
			if p.MaxBytes > 0 && size > p.MaxBytes && len(out) > 0 {
				return out // the next claim starts with the remaining deliveries
			}
			hosts[w.host]++
			out = append(out, s.leaseDelivery(w, d, p.Lease, clock))
		}
	}
	return out
}
