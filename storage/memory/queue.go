package memory

import (
	"container/heap"
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// queue knows which webhooks have something pending. Those with something due
// stand in turns, least recently served first, those of each pool by themselves; the
// others wait in sleeping until the time at which they have.
type queue struct {
	turns    [2][]*webhook // by turnsOf
	sleeping sleepers
	token    int64
}

// place is where a webhook stands in the queue: in turns, in sleeping, or nowhere.
type place struct {
	turn bool
	pos  int       // in sleeping, from 1; 0: it is not there
	at   time.Time // until when it sleeps
}

// sleepers is a heap of webhooks, the one that wakes first on top.
type sleepers []*webhook

func (h *sleepers) Len() int           { return len(*h) }
func (h *sleepers) Less(i, j int) bool { return (*h)[i].lane.place.at.Before((*h)[j].lane.place.at) }

func (h *sleepers) Swap(i, j int) {
	w := *h
	w[i], w[j] = w[j], w[i]
	w[i].lane.place.pos, w[j].lane.place.pos = i+1, j+1
}

func (h *sleepers) Push(x any) {
	w := x.(*webhook)
	*h = append(*h, w)
	w.lane.place.pos = len(*h)
}

func (h *sleepers) Pop() any {
	last := len(*h) - 1
	w := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	w.lane.place.pos = 0
	return w
}

// turnsOf is the index of the turns for the pool of w.
func turnsOf(w *webhook) int {
	if w.lane.standing.Quick() {
		return 0
	}
	return 1
}

// place puts w where it belongs. It is called after every change of its lane, but
// for a webhook with a turn: that is looked at when its turn comes.
func (q *queue) place(w *webhook, clock time.Time) {
	l := &w.lane
	if l.place.turn {
		return
	}
	if l.place.pos > 0 {
		heap.Remove(&q.sleeping, l.place.pos-1)
	}
	at, pending := l.due(clock)
	switch {
	case !pending:
	case at.After(clock):
		l.place.at = at
		heap.Push(&q.sleeping, w)
	default:
		l.place.turn = true
		q.turns[turnsOf(w)] = append(q.turns[turnsOf(w)], w)
	}
}

// remove takes w out of the queue, so that nothing of it is kept.
func (q *queue) remove(w *webhook) {
	l := &w.lane
	if l.place.pos > 0 {
		heap.Remove(&q.sleeping, l.place.pos-1)
	}
	if l.place.turn {
		for pool := range q.turns {
			q.turns[pool] = slices.DeleteFunc(q.turns[pool], func(other *webhook) bool { return other == w })
		}
		l.place.turn = false
	}
}

// wake gives turns to those that have something due by now.
func (q *queue) wake(clock time.Time) {
	for len(q.sleeping) > 0 && !q.sleeping[0].lane.place.at.After(clock) {
		q.place(q.sleeping[0], clock)
	}
}

// claim is a delivery that was leased. It has no body yet, and its secrets are
// still the store's own.
type claim struct {
	delivery storage.Delivery
	event    *event
}

// lease leases d.
func (q *queue) lease(w *webhook, d *delivery, lease time.Duration, clock time.Time) claim {
	l := &w.lane
	q.token++
	d.token, d.urgency = q.token, min(d.urgency, probe)
	l.move(d, &l.later, clock.Add(lease))
	c := claim{event: d.event, delivery: storage.Delivery{
		Lease:        storage.Lease{WebhookID: w.rec.ID, EventID: d.event.id, Token: d.token},
		FormID:       w.rec.FormID,
		SubmissionID: d.event.submission,
		EventType:    d.event.kind,
		URL:          w.rec.URL,
		Generation:   l.oldestToken,
		Host:         w.host,
		Secret:       w.rec.Secret,
		Attempt:      d.attempt,
		Standing:     l.standing,
		PauseReason:  l.pauseReason,
	}}
	if l.standing.Failures > 0 {
		c.delivery.FailingFor = max(1, clock.Sub(l.failingSince))
	}
	c.delivery.PausedFor = max(0, l.pausedUntil.Sub(clock))
	if clock.Before(w.oldSecretUntil) {
		c.delivery.OldSecret = w.oldSecret
	}
	return c
}

// claim leases deliveries as [storage.DeliveryStore] says. It passes over the
// webhooks with something due that have no room, and looks at none of a pool without.
func (q *queue) claim(p storage.ClaimParams, clock time.Time) []claim {
	q.wake(clock)
	room := newRoom(p)
	var out []claim
	for pool := range q.turns {
		out = q.claimOf(pool, out, room, p.Lease, clock)
	}
	return out
}

// claimOf appends what there is room for of one pool.
func (q *queue) claimOf(pool int, out []claim, room *room, lease time.Duration, clock time.Time) []claim {
	turns := q.turns[pool]
	var served []*webhook
	// The passed part of turns is compacted while it is read.
	kept, i := 0, 0
	for ; i < len(turns) && !room.full(pool); i++ {
		w := turns[i]
		before := len(out)
		if turnsOf(w) == pool { // else it has come into the other one
			out = q.serve(out, w, room, lease, clock)
			if len(out) == before && w.lane.next(clock) != nil {
				turns[kept] = w
				kept++
				continue
			}
		}
		w.lane.place.turn = false
		served = append(served, w)
	}
	n := copy(turns[kept:], turns[i:])
	clear(turns[kept+n:])
	q.turns[pool] = turns[:kept+n]
	for _, w := range served { // to the end of the turns
		q.place(w, clock)
	}
	return out
}

// serve appends what there is room for of w.
func (q *queue) serve(out []claim, w *webhook, room *room, lease time.Duration, clock time.Time) []claim {
	l := &w.lane
	l.ripen(clock)
	for n := room.webhook(w); n > 0; n-- {
		d := l.next(clock)
		if d == nil || !room.take(w, len(d.event.body)) {
			break
		}
		out = append(out, q.lease(w, d, lease, clock))
	}
	return out
}

// room is what a claim may still take.
type room struct {
	p             storage.ClaimParams
	quick, others poolRoom
}

type poolRoom struct {
	storage.Pool
	hosts map[string]int // taken
	bytes int
	cut   bool // the next body did not fit
}

func newRoom(p storage.ClaimParams) *room {
	return &room{
		p:      p,
		quick:  poolRoom{Pool: p.Quick, hosts: map[string]int{}, bytes: p.MaxBytes},
		others: poolRoom{Pool: p.Others, hosts: map[string]int{}, bytes: p.MaxBytes},
	}
}

// full reports whether nothing else of a pool fits, as turnsOf counts them.
func (r *room) full(pool int) bool {
	p := &r.others
	if pool == 0 {
		p = &r.quick
	}
	return p.cut || p.Room < 1
}

// webhook returns how many deliveries of w may be claimed.
func (r *room) webhook(w *webhook) int {
	if n, ok := r.p.Webhooks[w.rec.ID]; ok {
		return n
	}
	if w.lane.standing.Good() {
		return r.p.PerWebhook
	}
	return min(r.p.PerWebhook, 1)
}

// take makes room for one delivery of w, or reports that there is none.
func (r *room) take(w *webhook, size int) bool {
	p := &r.others
	if w.lane.standing.Quick() {
		p = &r.quick
	}
	most, named := p.Hosts[w.host]
	if !named {
		most = p.PerHost
	}
	if p.Room < 1 || (named || most > 0) && p.hosts[w.host] >= most {
		return false
	}
	if r.p.MaxBytes > 0 && size > p.bytes && p.bytes < r.p.MaxBytes {
		p.cut = true
		return false
	}
	p.bytes -= size
	p.Room--
	p.hosts[w.host]++
	return true
}

// stats counts the deliveries of the webhooks that have a place in the queue.
func (q *queue) stats(clock time.Time) storage.QueueStats {
	var st storage.QueueStats
	count := func(w *webhook) {
		l := &w.lane
		for _, d := range l.pending {
			due := d.in != &l.later || d.leased(clock) || !d.at.After(clock)
			if !due || l.paused(clock) && d.urgency == ordinary {
				st.Waiting++
				continue
			}
			st.Due++
			if st.OldestDue.IsZero() || d.queued.Before(st.OldestDue) {
				st.OldestDue = d.queued
			}
		}
	}
	for _, w := range slices.Concat(q.turns[:]...) {
		count(w)
	}
	for _, w := range q.sleeping {
		count(w)
	}
	return st
}
