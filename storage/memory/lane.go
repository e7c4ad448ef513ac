package memory

import (
	"bytes"
	"cmp"
	"container/heap"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// event never changes. The pending deliveries and the kept attempts that refer
// to it keep it, and its body, in memory.
type event struct {
	id         storage.ID
	kind       string
	submission storage.ID // zero: a test event
	body       []byte
}

func newEvent(e storage.Event, submission storage.ID) *event {
	return &event{id: e.ID, kind: e.Type, submission: submission, body: bytes.Clone(e.Body)}
}

// urgency says how a delivery got its due time.
type urgency int

const (
	ordinary urgency = iota
	probe            // somebody asked for it: a pause does not hold it back
	again            // somebody asked for it while the result of an earlier lease may still come
)

// delivery is one event on its way to one webhook.
type delivery struct {
	event   *event
	queued  time.Time // or redelivered
	attempt int       // the number of the next or running attempt
	token   int64     // of the last lease; 0: it was settled, or there was none
	urgency urgency

	// Where it waits: in which heap, at which index, ordered by which time.
	in  *schedule
	pos int
	at  time.Time
}

// schedule is a heap of deliveries, the earliest on top.
type schedule []*delivery

func (h *schedule) Len() int { return len(*h) }

func (h *schedule) Less(i, j int) bool {
	a, b := (*h)[i], (*h)[j]
	if c := a.at.Compare(b.at); c != 0 {
		return c < 0
	}
	return compareIDs(a.event.id, b.event.id) < 0
}

func (h *schedule) Swap(i, j int) {
	d := *h
	d[i], d[j] = d[j], d[i]
	d[i].pos, d[j].pos = i, j
}

func (h *schedule) Push(x any) {
	d := x.(*delivery)
	d.pos = len(*h)
	*h = append(*h, d)
}

func (h *schedule) Pop() any {
	last := len(*h) - 1
	d := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return d
}

// lane holds the pending deliveries of one webhook and what is known of its
// destination. The zero lane is empty.
type lane struct {
	pending map[storage.ID]*delivery // by event; each is in one of the three heaps
	probes  schedule                 // due, whatever the pause, by age
	backlog schedule                 // due, by age
	later   schedule                 // by the next attempt or the end of the lease

	standing     storage.Standing
	failingSince time.Time
	failedAt     time.Time // the last failure
	pausedUntil  time.Time
	pauseReason  storage.PauseReason
	oldestToken  int64     // that a result may have: the URL was another one before
	expiredAt    time.Time // when the last summary of expired deliveries was added

	place place // in the queue
}

// move puts d into a heap, out of the one where it was.
func (l *lane) move(d *delivery, to *schedule, at time.Time) {
	if d.in != nil {
		heap.Remove(d.in, d.pos)
	}
	d.in, d.at = to, at
	heap.Push(to, d)
}

// add makes e pending at attempt 1. There must be nothing pending of that event.
func (l *lane) add(e *event, u urgency, clock time.Time) *delivery {
	if l.pending == nil {
		l.pending = make(map[storage.ID]*delivery)
	}
	d := &delivery{event: e, queued: clock, attempt: 1, urgency: u}
	l.pending[e.id] = d
	l.release(d, clock, clock)
	return d
}

func (l *lane) remove(d *delivery) {
	heap.Remove(d.in, d.pos)
	delete(l.pending, d.event.id)
}

// clear ends everything that is pending.
func (l *lane) clear() { l.pending, l.probes, l.backlog, l.later = nil, nil, nil, nil }

// release lets d wait without a lease until due.
func (l *lane) release(d *delivery, due, clock time.Time) {
	d.token, d.urgency = 0, min(d.urgency, probe)
	l.wait(d, due, clock)
}

// wait lets d wait until due.
func (l *lane) wait(d *delivery, due, clock time.Time) {
	switch {
	case due.After(clock):
		l.move(d, &l.later, due)
	case d.urgency != ordinary:
		l.move(d, &l.probes, d.queued)
	default:
		l.move(d, &l.backlog, d.queued)
	}
}

// ripen moves what has become due. The token of a lease that ran out stays good
// until it is claimed again.
func (l *lane) ripen(clock time.Time) {
	for len(l.later) > 0 && !l.later[0].at.After(clock) {
		l.wait(l.later[0], clock, clock)
	}
}

// leased reports whether a lease on d holds.
func (d *delivery) leased(clock time.Time) bool {
	return d.token != 0 && d.at.After(clock) && d.in != nil
}

// hasten makes d due now despite a pause, or once its lease ends.
func (l *lane) hasten(d *delivery, clock time.Time) {
	d.urgency = probe
	if d.token != 0 {
		d.urgency = again
	}
	if d.in != &l.later || !d.leased(clock) {
		l.wait(d, clock, clock)
	}
}

// hastenOne makes the oldest delivery that is not under a lease due now.
func (l *lane) hastenOne(clock time.Time) {
	l.ripen(clock)
	if len(l.backlog) > 0 {
		l.hasten(l.backlog[0], clock)
		return
	}
	var oldest *delivery
	for _, d := range l.later {
		if !d.leased(clock) && (oldest == nil || d.queued.Before(oldest.queued)) {
			oldest = d
		}
	}
	if oldest != nil {
		l.hasten(oldest, clock)
	}
}

// holds returns the delivery that the lease is for, or nil when it is gone, was
// settled, or was claimed again.
func (l *lane) holds(lease storage.Lease) *delivery {
	d := l.pending[lease.EventID]
	if d == nil || d.token == 0 || d.token != lease.Token {
		return nil
	}
	return d
}

// renew forgets the destination: it is another one now, and results of leases up
// to the given token are about the old one.
func (l *lane) renew(token int64) {
	l.standing, l.oldestToken = storage.Standing{}, token
	l.failingSince, l.failedAt = time.Time{}, time.Time{}
	l.endPause()
}

func (l *lane) endPause() { l.pausedUntil, l.pauseReason = time.Time{}, "" }

// fared notes how the destination fared.
func (l *lane) fared(r storage.Result, clock time.Time) {
	if r.Lease.Token <= l.oldestToken {
		return
	}
	l.standing = r.Standing
	l.endPause()
	if r.Standing.Failures == 0 {
		l.failingSince, l.failedAt = time.Time{}, time.Time{}
		return
	}
	if l.failingSince.IsZero() || clock.Sub(l.failedAt) > storage.FailureGap {
		l.failingSince = clock
	}
	l.failedAt = clock
	if r.PauseFor > 0 {
		l.pausedUntil, l.pauseReason = clock.Add(r.PauseFor), cmp.Or(r.PauseReason, storage.PauseFailures)
	}
}

func (l *lane) paused(clock time.Time) bool { return clock.Before(l.pausedUntil) }

// due returns when something of the lane can be claimed, and false when nothing is
// pending.
func (l *lane) due(clock time.Time) (time.Time, bool) {
	l.ripen(clock)
	switch {
	case len(l.probes) > 0 || len(l.backlog) > 0 && !l.paused(clock):
		return clock, true
	case len(l.later) == 0:
		return l.pausedUntil, len(l.backlog) > 0
	case len(l.backlog) > 0 && l.pausedUntil.Before(l.later[0].at):
		return l.pausedUntil, true
	}
	return l.later[0].at, true
}

// next returns the delivery to claim next, or nil.
func (l *lane) next(clock time.Time) *delivery {
	switch {
	case len(l.probes) > 0:
		return l.probes[0]
	case len(l.backlog) > 0 && !l.paused(clock):
		return l.backlog[0]
	}
	return nil
}
