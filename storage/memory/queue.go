package memory

import (
	"bytes"
	"container/heap"
	"slices"
	"sort"
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

// delivery is one event on its way to one webhook.
type delivery struct {
	event   *event
	due     time.Time
	attempt int   // the number of the next or running attempt
	token   int64 // of the last lease; 0: it was settled, or there was none

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

// upTo counts what is not later than now. It looks at no more than three times
// as many deliveries as it counts, and one.
func (h *schedule) upTo(now time.Time) int64 { return h.countFrom(0, now) }

func (h *schedule) countFrom(i int, now time.Time) int64 {
	if i >= len(*h) || (*h)[i].at.After(now) {
		return 0
	}
	return 1 + h.countFrom(2*i+1, now) + h.countFrom(2*i+2, now)
}

// lane holds the pending deliveries of one webhook. The zero lane is empty.
type lane struct {
	pending map[storage.ID]*delivery // by event
	free    schedule                 // by due time
	leased  schedule                 // by the end of the lease

	failures    int
	pausedUntil time.Time
	renewed     int64 // the last token that was given out before the URL became what it is

	served uint64 // when it was last served, in turns of the queue
	queued bool   // stands in the queue
}

// move puts d into a heap, out of the one where it was.
func (l *lane) move(d *delivery, to *schedule, at time.Time) {
	if d.in != nil {
		heap.Remove(d.in, d.pos)
	}
	d.in, d.at = to, at
	heap.Push(to, d)
}

func (l *lane) remove(d *delivery) {
	heap.Remove(d.in, d.pos)
	delete(l.pending, d.event.id)
}

// clear ends everything that is pending.
func (l *lane) clear() { l.pending, l.free, l.leased = nil, nil, nil }

// renew forgets the failures of the destination: it is another one now, and
// results of leases up to the given token are about the old one.
func (l *lane) renew(token int64) {
	l.failures, l.pausedUntil, l.renewed = 0, time.Time{}, token
}

// fared notes how the destination fared in an attempt under a lease.
func (l *lane) fared(token int64, failures int, pausedUntil time.Time) {
	if token > l.renewed {
		l.failures, l.pausedUntil = failures, pausedUntil
	}
}

func (l *lane) paused(now time.Time) bool { return now.Before(l.pausedUntil) }

// reclaim frees what is under a lease that no longer holds. Its token stays good
// until it is claimed again.
func (l *lane) reclaim(clock time.Time) {
	for len(l.leased) > 0 && !l.leased[0].at.After(clock) {
		d := l.leased[0]
		l.move(d, &l.free, d.due)
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

// reschedule makes d due at another time. A lease on it stays.
func (l *lane) reschedule(d *delivery, due time.Time) {
	d.due = due
	if d.in == &l.free {
		l.move(d, &l.free, due)
	}
}

// release gives a delivery back, to be attempted at due.
func (l *lane) release(d *delivery, due time.Time) {
	d.token, d.due = 0, due
	l.move(d, &l.free, due)
}

// queue knows the webhooks that have pending deliveries, least recently served
// first. Emptied lanes leave it with the next claim that passes them.
type queue struct {
	webhooks []*webhook
	turn     uint64
	token    int64
}

// add queues e for w at attempt 1. There must be none pending of that event.
func (q *queue) add(w *webhook, e *event, due time.Time) {
	l := &w.lane
	if l.pending == nil {
		l.pending = make(map[storage.ID]*delivery)
	}
	d := &delivery{event: e, due: utc(due), attempt: 1}
	l.pending[e.id] = d
	l.move(d, &l.free, d.due)
	if !l.queued {
		l.queued = true
		i := sort.Search(len(q.webhooks), func(i int) bool { return q.webhooks[i].lane.served > l.served })
		q.webhooks = slices.Insert(q.webhooks, i, w)
	}
}

// claim is a delivery that was leased. It has no body yet, and its secret is
// still the store's own.
type claim struct {
	delivery storage.Delivery
	event    *event
}

// claim leases deliveries as [storage.DeliveryStore] says. clock is the store's
// own time.
func (q *queue) claim(p storage.ClaimParams, clock time.Time) []claim {
	var out []claim
	var served []*webhook
	// The passed part of q.webhooks is compacted while it is read: what was served
	// goes to the end, what has nothing pending goes out.
	kept, i := 0, 0
	for ; i < len(q.webhooks) && len(out) < p.Max; i++ {
		w := q.webhooks[i]
		if len(w.lane.pending) == 0 {
			w.lane.queued = false
			continue
		}
		room := min(p.PerWebhook-p.Held[w.rec.ID], p.Max-len(out))
		before := len(out)
		out = q.serve(out, w, room, p, clock)
		if len(out) > before {
			served = append(served, w)
			continue
		}
		q.webhooks[kept] = w
		kept++
	}
	q.webhooks = slices.Delete(q.webhooks, kept, i)
	for _, w := range served {
		q.turn++
		w.lane.served = q.turn
	}
	q.webhooks = append(q.webhooks, served...)
	return out
}

// serve appends at most room deliveries of w.
func (q *queue) serve(out []claim, w *webhook, room int, p storage.ClaimParams, clock time.Time) []claim {
	l := &w.lane
	if room < 1 || l.paused(p.Now) {
		return out
	}
	l.reclaim(clock)
	until := clock.Add(p.Lease)
	for ; room > 0 && len(l.free) > 0 && !l.free[0].due.After(p.Now); room-- {
		d := l.free[0]
		q.token++
		d.token = q.token
		l.move(d, &l.leased, until)
		out = append(out, claim{event: d.event, delivery: storage.Delivery{
			Lease:        storage.Lease{WebhookID: w.rec.ID, EventID: d.event.id, Token: d.token},
			SubmissionID: d.event.submission,
			EventType:    d.event.kind,
			URL:          w.rec.URL,
			Secret:       w.rec.Secret,
			Attempt:      d.attempt,
			Failures:     l.failures,
		}})
	}
	return out
}

// stats counts the deliveries of all lanes.
func (q *queue) stats(now time.Time) storage.QueueStats {
	var st storage.QueueStats
	seen := func(due time.Time) {
		if st.OldestDue.IsZero() || due.Before(st.OldestDue) {
			st.OldestDue = due
		}
	}
	for _, w := range q.webhooks {
		l := &w.lane
		pending := int64(len(l.pending))
		if l.paused(now) {
			st.Waiting += pending
			continue
		}
		due := l.free.upTo(now)
		if due > 0 {
			seen(l.free[0].due)
		}
		for _, d := range l.leased {
			if !d.due.After(now) {
				due++
				seen(d.due)
			}
		}
		st.Due += due
		st.Waiting += pending - due
	}
	return st
}
