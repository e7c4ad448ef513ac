package scheduler

import (
	"container/heap"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// testNumbers are those of the default configuration.
var testNumbers = DefaultConfig(64, 4096, 4, 15*time.Second)

// world is a store, a network and a clock around one scheduler, all of them
// simulated. Unless it is unchecked, it checks after every step that the rules hold.
type world struct {
	t      testing.TB
	n      derivedConfig
	rand   *rand.Rand
	now    time.Time
	s      *Scheduler
	timers timers
	serial int

	receivers      []*receiver
	byID           map[ID]*receiver
	forms          map[ID][]*receiver
	leased         map[storage.Lease]*item
	awake          time.Time // when the scheduler wants to be called next
	steps          int
	unchecked      bool
	storeDown      time.Time     // until then the store fails
	slowWrite      time.Duration // the next write takes so long, without failing
	repeated       int           // deliveries that a kill would repeat: sent and not recorded
	directDispatch bool
	places         map[string]int // quick ones by host name, after the last step
	late           func(r *receiver, waited time.Duration)
}

// receiver is a webhook, as the store knows it, with what its destination does.
type receiver struct {
	id, form  ID
	workspace ID
	host      string
	answer    func(w *world) (took time.Duration, success bool)

	standing storage.Health
	locked   bool // a write changes how it stands: claims pass over it
	paused   time.Time
	reason   storage.PauseReason
	failing  time.Time
	served   time.Time
	pending  []*item
	tokens   int64

	underWay     int
	sent, passed int
	took         time.Duration // of its successes, smoothed
	quick        []bool        // of its last successes
	succeeded    bool
	failed       bool // its last request did
}

// item is a pending delivery in the store.
type item struct {
	of      *receiver
	event   ID
	queued  time.Time
	due     time.Time
	attempt int
	lease   *storage.Lease
	state   string // "", "leased", "sent", "given back", "done"
	quick   bool   // it has a quick place
	began   time.Time
	first   bool
}

type timer struct {
	at  time.Time
	seq int
	f   func()
}
type timers []timer

func (t timers) Len() int { return len(t) }
func (t timers) Less(i, j int) bool {
	return t[i].at.Before(t[j].at) || t[i].at.Equal(t[j].at) && t[i].seq < t[j].seq
}
func (t timers) Swap(i, j int) { t[i], t[j] = t[j], t[i] }
func (t *timers) Push(x any)   { *t = append(*t, x.(timer)) }
func (t *timers) Pop() any {
	old := *t
	last := old[len(old)-1]
	*t = old[:len(old)-1]
	return last
}

func newWorld(t testing.TB, seed uint64, n Config) *world {
	w := &world{
		t: t, n: n.derive(), rand: rand.New(rand.NewPCG(seed, 1)), now: time.Unix(1_800_000_000, 0).UTC(),
		byID: map[ID]*receiver{}, forms: map[ID][]*receiver{}, leased: map[storage.Lease]*item{},
	}
	w.s = New(n, func(least, most time.Duration) time.Duration {
		return least + time.Duration(w.rand.Int64N(int64(most-least)+1))
	})
	return w
}

func (w *world) id() (id ID) {
	w.serial++
	id[8], id[9], id[10], id[11] = byte(w.serial>>24), byte(w.serial>>16), byte(w.serial>>8), byte(w.serial)
	return id
}

// receiver adds a webhook. A quick one was tried before.
func (w *world) receiver(host string, quick bool, answer func(*world) (time.Duration, bool)) *receiver {
	r := &receiver{id: w.id(), form: w.id(), workspace: w.id(), host: host, answer: answer}
	if quick {
		r.standing.Succeeded, r.succeeded = true, true
	}
	w.receivers = append(w.receivers, r)
	w.byID[r.id] = r
	w.forms[r.form] = append(w.forms[r.form], r)
	return r
}

func (w *world) after(d time.Duration, f func()) {
	w.serial++
	heap.Push(&w.timers, timer{w.now.Add(d), w.serial, f})
}

// every calls f again and again, the first time after a random part of the period.
func (w *world) every(period time.Duration, f func()) {
	var again func()
	again = func() {
		f()
		w.after(period/2+time.Duration(w.rand.Int64N(int64(period))), again)
	}
	w.after(time.Duration(w.rand.Int64N(int64(period)+1)), again)
}

// event queues an event for a receiver. As in the service it is handed over when
// there is room, and else the scheduler is woken.
func (w *world) event(r *receiver) {
	it := &item{of: r, event: w.id(), queued: w.now, due: w.now, attempt: 1, first: true}
	r.pending = append(r.pending, it)
	if w.directDispatch {
		reserved, at := w.s.Reserve(r.form), w.now
		if len(reserved) > 0 {
			w.after(time.Duration(w.rand.Int64N(int64(3*time.Millisecond))), func() {
				e := Dispatched{Reserved: reserved, ReservedAt: at}
				if w.rand.IntN(10) > 0 && r.paused.Before(w.now) && it.state == "" {
					e.Deliveries = append(e.Deliveries, w.lease(it))
				}
				w.step(e)
				if len(e.Deliveries) == 0 {
					w.step(Woken{})
				}
			})
			return
		}
	}
	w.step(Woken{})
}

func (w *world) lease(it *item) storage.ClaimedDelivery {
	r := it.of
	r.tokens++
	r.served = w.now
	it.lease = &storage.Lease{WebhookID: r.id, EventID: it.event, Token: r.tokens}
	it.state = "leased"
	w.leased[*it.lease] = it
	return storage.ClaimedDelivery{
		Lease: *it.lease, FormID: r.form, WorkspaceID: r.workspace, URL: "https://" + r.host + "/" + r.id.String(), Host: r.host, Attempt: it.attempt,
		Health: r.standing, FailingFor: r.failingFor(w.now), PausedFor: max(0, r.paused.Sub(w.now)), PauseReason: r.reason, Body: make([]byte, 100),
	}
}

// failingFor is how long its requests have failed.
func (r *receiver) failingFor(now time.Time) time.Duration {
	if r.standing.Failures == 0 {
		return 0
	}
	return now.Sub(r.failing)
}

// claim does what ClaimDeliveries of PostgreSQL's store does.
func (w *world) claim(p storage.ClaimParams) (out []storage.ClaimedDelivery, more bool) {
	pools := [3][]*receiver{}
	for _, r := range w.receivers {
		if !r.locked && !r.paused.After(w.now) && slices.ContainsFunc(r.pending, r.dueAt(w.now)) {
			pools[r.pool()] = append(pools[r.pool()], r)
		}
	}
	for i, pool := range []storage.Pool{p.Fast, p.Slow, p.NewOrFailing} {
		claimed, cut := w.serve(p, pool, pools[i])
		out, more = append(out, claimed...), more || cut
	}
	return out, more
}

// pool is which of those of a claim r belongs to.
func (r *receiver) pool() int {
	switch {
	case r.standing.Fast():
		return 0
	case r.standing.Healthy():
		return 1
	}
	return 2
}

func (r *receiver) dueAt(now time.Time) func(*item) bool {
	return func(it *item) bool { return it.state == "" && !it.due.After(now) }
}

// serve looks at as many of those that have a turn as there is room for and one more, without
// those that may have nothing: the others wait for the next claim.
func (w *world) serve(p storage.ClaimParams, pool storage.Pool, turns []*receiver) (out []storage.ClaimedDelivery, cut bool) {
	// Least recently served first; a stable sort keeps this deterministic.
	slices.SortStableFunc(turns, func(a, b *receiver) int { return a.turn().Compare(b.turn()) })
	ofName := map[string]int{}
	looked := 0
	for _, r := range turns {
		room, ok := p.Webhooks[r.id]
		if !ok {
			if room = 1; r.standing.Healthy() {
				room = p.PerWebhook
			}
		}
		name, ok := pool.Hosts[r.host]
		if !ok {
			name = pool.PerHost
		}
		if room <= 0 || name <= 0 || slices.Contains(pool.ExcludedWorkspaces, r.workspace) {
			continue
		}
		if looked++; looked > pool.MaxDeliveries+1 {
			break
		}
		got := len(out)
		for _, it := range r.pending {
			if room <= 0 || len(out) >= pool.MaxDeliveries || ofName[r.host] >= name {
				break
			}
			if r.dueAt(w.now)(it) {
				out = append(out, w.lease(it))
				ofName[r.host]++
				room--
			}
		}
		cut = cut || len(out) == got
	}
	return out, cut && len(out) > 0
}

// turn is when r got its turn: when it was served last, or when something began to wait.
func (r *receiver) turn() time.Time {
	if r.pending[0].queued.After(r.served) {
		return r.pending[0].queued
	}
	return r.served
}

// finish does what FinishDeliveries does.
func (w *world) finish(results []storage.Result) {
	if len(results) > w.n.MaxBatch {
		w.t.Fatalf("a write of %d results", len(results))
	}
	for _, res := range results {
		it := w.leased[res.Lease]
		if it == nil {
			w.t.Fatalf("a result for %v, which is not leased", res.Lease)
		}
		delete(w.leased, res.Lease)
		r := it.of
		it.lease = nil
		switch {
		case res.Delivery == nil:
			if it.state != "leased" && it.state != "unsent" {
				w.t.Fatalf("a delivery in state %q was given back", it.state)
			}
			it.state, it.due = "", w.now.Add(res.RetryIn)
			continue
		case it.state != "answered":
			w.t.Fatalf("a delivery in state %q has a result", it.state)
		}
		w.repeated--
		switch {
		case res.RetryIn > 0:
			it.state, it.due = "", w.now.Add(res.RetryIn)
			it.attempt++
		default:
			it.state = "done"
			for i := range r.pending {
				if r.pending[i] == it {
					r.pending = append(r.pending[:i], r.pending[i+1:]...)
					break
				}
			}
		}
		if r.standing.Failures == 0 && res.Health.Failures > 0 {
			r.failing = w.now
		}
		r.standing, r.paused = res.Health, time.Time{}
		if res.Health.Failures == 0 {
			r.reason = ""
		}
		if res.PauseFor > 0 {
			r.paused, r.reason = w.now.Add(res.PauseFor), res.PauseReason
		}
	}
}

// step gives the scheduler an event, carries out its actions and checks them.
func (w *world) step(events ...Event) {
	w.steps++
	a := w.s.Step(w.now, events...)
	for _, r := range a.Send {
		w.send(r)
	}
	if a.Claim != nil {
		p := *a.Claim
		w.after(time.Duration(w.rand.Int64N(int64(4*time.Millisecond))), func() {
			if w.now.Before(w.storeDown) {
				w.step(ClaimFinished{Err: errors.New("down")})
				return
			}
			e := ClaimFinished{}
			e.Deliveries, e.More = w.claim(p)
			w.after(time.Duration(w.rand.Int64N(int64(4*time.Millisecond))), func() { w.step(e) })
		})
	}
	if len(a.Write) > 0 {
		for _, res := range a.Write {
			if it := w.leased[res.Lease]; it != nil && res.Delivery != nil && res.Health != it.of.standing {
				it.of.locked = true
			}
		}
		takes := time.Duration(w.rand.Int64N(int64(8 * time.Millisecond)))
		takes, w.slowWrite = max(takes, w.slowWrite), 0
		w.after(takes, func() {
			for _, r := range w.receivers {
				r.locked = false
			}
			if w.now.Before(w.storeDown) {
				w.step(WriteFinished{Err: errors.New("down")})
				return
			}
			w.finish(a.Write)
			w.step(WriteFinished{})
		})
	}
	w.awake = a.NextStep
	if !w.unchecked {
		w.check()
	}
}

// send is one request.
func (w *world) send(r *Request) {
	it := w.leased[r.Delivery.Lease]
	if it == nil || it.state != "leased" {
		w.t.Fatalf("%v is sent without a lease", r.Delivery.Lease)
	}
	of := it.of
	it.state, it.began, it.quick = "sent", w.now, r.pool == &w.s.fast
	of.underWay++
	of.sent++
	w.repeated++
	limit := w.n.PerWebhook
	if !of.succeeded || of.failed {
		limit = 1
	}
	if of.underWay > limit {
		w.t.Fatalf("%d requests to one webhook, want at most %d", of.underWay, limit)
	}
	if it.first && w.late != nil {
		w.late(of, w.now.Sub(it.queued))
	}
	it.first = false
	quick := of.succeeded && !of.failed
	for _, q := range of.quick {
		quick = quick && q
	}
	if quick != (r.pool == &w.s.fast) {
		w.t.Fatalf("a request to %s began in the wrong pool: its last successes were %v, failed %v", of.host, of.quick, of.failed)
	}
	if quick {
		for _, other := range w.leased {
			if other.of == of && other.state == "sent" && other != it && w.now.Sub(other.began) >= max(w.n.FastSlotTime, 2*of.took) {
				w.t.Fatal("a quick webhook with an old request got another one")
			}
		}
	}
	took, success := of.answer(w)
	if took > w.n.Timeout {
		took, success = w.n.Timeout, false
	}
	w.after(took, func() {
		took := w.now.Sub(it.began)
		of.underWay--
		e := RequestFinished{Request: r, Duration: took}
		if w.rand.IntN(500) == 0 { // it could not be sent
			it.state = "unsent"
			w.repeated--
			w.step(e)
			return
		}
		it.state = "answered"
		e.Delivery = &storage.Delivery{WebhookID: of.id, EventID: it.event, Attempt: it.attempt, Success: success}
		of.failed = !success
		if success {
			of.passed++
			if of.took == 0 {
				of.took = took
			}
			of.took += (took - of.took) / 4
			of.succeeded = true
			if of.quick = append(of.quick, took <= w.n.FastThreshold); len(of.quick) > w.n.SuccessesUntilFast {
				of.quick = of.quick[1:]
			}
		} else if it.attempt < 8 {
			e.RetryIn = 5 * time.Second
		}
		w.step(e)
	})
}

// check holds the state of the scheduler against the rules, by counting anew.
func (w *world) check() {
	s, waiting := w.s, 0
	for _, of := range s.webhooks {
		waiting += len(of.waiting) + of.reserved
	}
	quick, second := 0, 0
	for name, load := range s.fast.hosts {
		if quick += load.inFlight; load.inFlight > w.n.Fast*3/4 {
			w.t.Fatalf("%s has %d quick places", name, load.inFlight)
		}
	}
	for name, load := range s.slow.hosts {
		if second += load.inFlight; load.inFlight > w.n.Slow/2 {
			w.t.Fatalf("%s has %d places of the second pool", name, load.inFlight)
		}
	}
	underWay := 0
	for _, r := range w.receivers {
		underWay += r.underWay
	}
	if quick != s.fast.inFlight || second != s.slow.inFlight || quick+second != underWay {
		w.t.Fatalf("%d and %d places are counted, %d and %d are taken, %d requests are under way", quick, second, s.fast.inFlight, s.slow.inFlight, underWay)
	}
	if s.fast.inFlight > w.n.Fast || s.slow.inFlight > w.n.Slow || s.slow.inFlight-s.slow.moved > w.n.Slow*3/4 {
		w.t.Fatalf("%d quick places and %d of the second pool, %d to those that began there", s.fast.inFlight, s.slow.inFlight, s.slow.inFlight-s.slow.moved)
	}
	if s.newOrFailing > w.n.Slow/2 {
		w.t.Fatalf("%d requests to webhooks that are new or failed last", s.newOrFailing)
	}
	if got := s.fast.waiting + s.slow.waiting; got != waiting || got > w.n.maxPrefetch+w.n.Slow {
		w.t.Fatalf("%d deliveries wait, %d are counted", waiting, got)
	}
	if quick, second := s.fast.inFlight+s.fast.unrecorded, s.slow.inFlight+s.slow.unrecorded; quick > w.n.fast.maxHeld || second > w.n.Slow {
		w.t.Fatalf("%d requests of the quick pool and %d of the second are under way or not recorded", quick, second)
	}
	if w.repeated > w.n.fast.maxHeld+w.n.Slow {
		w.t.Fatalf("a kill would repeat %d deliveries", w.repeated)
	}
	// What may begin has begun.
	if !s.stopped {
		for _, of := range s.webhooks {
			if p := of.pool; s.canStart(of) && p.freeSlots() > 0 && p.hosts[of.host].inFlight < p.hostShare {
				w.t.Fatalf("%s waits for nothing", of.host)
			}
		}
	}
	// A host name has got no more than its share while another waited.
	places := map[string]int{}
	names := map[string]bool{} // that wait
	for _, of := range s.webhooks {
		if of.pool == &s.fast && s.canStart(of) && s.fast.hosts[of.host].inFlight < max(1, w.n.Fast/4) {
			names[of.host] = true
		}
	}
	for name, load := range s.fast.hosts {
		places[name] = load.inFlight
		if load.inFlight > max(1, w.n.Fast/4) && load.inFlight > w.places[name] && len(names) > 0 {
			w.t.Fatalf("%s got %d quick places while %v waited", name, load.inFlight, names)
		}
	}
	w.places = places
	// Nothing stays in a quick place while the second pool has one for it.
	if len(s.fastRequests) != s.fast.inFlight {
		w.t.Fatalf("%d requests have quick places, %d are counted", len(s.fastRequests), s.fast.inFlight)
	}
	for _, r := range s.fastRequests {
		if w.now.Sub(r.startedAt) >= w.n.FastSlotTime && s.slow.inFlight+s.slow.unrecorded < w.n.Slow && s.slow.hosts[r.webhook.host].inFlight < w.n.Slow/2 {
			w.t.Fatal("an old request keeps a quick place")
		}
	}
}

// run lets so much time go by.
func (w *world) run(d time.Duration) {
	w.t.Helper()
	w.step()
	for end := w.now.Add(d); ; {
		next := end
		if !w.awake.IsZero() && w.awake.Before(next) {
			next = w.awake
		}
		if len(w.timers) > 0 && !w.timers[0].at.After(next) {
			t := heap.Pop(&w.timers).(timer)
			w.now = t.at
			t.f()
			continue
		}
		if !next.Before(end) {
			w.now = end
			return
		}
		if next.Before(w.now) {
			w.t.Fatalf("the scheduler wants to be called %s ago", w.now.Sub(next))
		}
		was := w.awake
		w.now = next
		w.step()
		if w.awake.Equal(was) {
			w.t.Fatal("the scheduler wants to be called at once, again and again")
		}
	}
}

// stop ends the run of the dispatcher. Everything that was claimed has a result.
func (w *world) stop() {
	w.t.Helper()
	w.storeDown = time.Time{}
	w.step(Stop{})
	for range 100 {
		if w.s.Done() {
			break
		}
		w.run(time.Second)
	}
	if !w.s.Done() {
		w.t.Fatal("the scheduler does not come to its end")
	}
	for lease, it := range w.leased {
		w.t.Fatalf("%v is in state %q", lease, it.state)
	}
}

// What receivers do.

func takes(least, most time.Duration) func(*world) (time.Duration, bool) {
	return func(w *world) (time.Duration, bool) {
		return least + time.Duration(w.rand.Int64N(int64(most-least)+1)), true
	}
}

func hangs(*world) (time.Duration, bool) { return time.Hour, false }

func fails(*world) (time.Duration, bool) { return 5 * time.Millisecond, false }

// alternates is quick and slow in turn.
func alternates(slow time.Duration) func(*world) (time.Duration, bool) {
	n := 0
	return func(*world) (time.Duration, bool) {
		if n++; n%2 == 0 {
			return slow, true
		}
		return 10 * time.Millisecond, true
	}
}

// sometimes is quick, and slow once in a while.
func sometimes(slow time.Duration) func(*world) (time.Duration, bool) {
	return func(w *world) (time.Duration, bool) {
		if w.rand.IntN(15) == 0 {
			return slow, true
		}
		return time.Millisecond, true
	}
}

// from behaves as one until a time, and as another after it.
func (w *world) from(d time.Duration, before, after func(*world) (time.Duration, bool)) func(*world) (time.Duration, bool) {
	at := w.now.Add(d)
	return func(w *world) (time.Duration, bool) {
		if w.now.Before(at) {
			return before(w)
		}
		return after(w)
	}
}

func host(i int) string { return fmt.Sprintf("h%d.example", i) }
