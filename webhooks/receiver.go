package webhooks

import (
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// slowAfter is how long a destination may go without an answer before it counts
// as slow.
const slowAfter = time.Second

// atOnce times InFlight bounds all requests under way.
const atOnce = 4

// class says from which share of the process's requests a destination takes.
// Requests that hang must not stand where those to healthy destinations go, and
// which is which shows only when one was sent.
type class int

const (
	// steady: its last request was answered, and none waits for long.
	steady class = iota
	// untried: nothing is known of it yet.
	untried
	// suspect: its last attempt was not answered within slowAfter, or one has been
	// waiting for longer than that.
	suspect
	classes
)

// receiver is what a run knows about one webhook, for as long as the webhook
// has deliveries here or results not yet written.
type receiver struct {
	id          storage.ID
	url         string // where the newest claim of it is sent
	since       int64  // the first token that was claimed for that url
	class       class
	inFlight    int
	unsaved     int // results not yet written
	failures    int // of that url, in a row, this run's results included
	pausedUntil time.Time
	probing     bool // it was broken when it was last claimed
	answered    bool // the last request to that url was, with whatever status
	sluggish    bool // that took longer than slowAfter
	hungry      bool // the last claim brought all that it could take: there may be more
	// progress is when a request to it last began with none under way, or ended.
	progress time.Time

	waiting []waiting // claimed and not sent yet, in the order of the claim
	lined   bool      // it stands in line to send the first of them
	ahead   int       // how many may wait here beyond InFlightWebhook
	ended   int       // requests since that was worked out
}

// waiting is a delivery that was claimed at a time.
type waiting struct {
	storage.Delivery
	at time.Time
}

// aim takes note of where a claimed delivery goes and reports whether that is
// news. A webhook with a new URL is another destination: it starts with what the
// store knows of it.
func (s *receiver) aim(del storage.Delivery) bool {
	if s.url == del.URL || del.Lease.Token <= s.since {
		return false
	}
	s.url, s.since = del.URL, del.Lease.Token
	s.failures, s.pausedUntil, s.probing, s.answered, s.sluggish = del.Failures, time.Time{}, false, false, false
	return true
}

// slow reports whether a request has been waiting for an answer for long.
func (s *receiver) slow() bool { return s.inFlight > 0 && time.Since(s.progress) > slowAfter }

// judged is the class that the destination should have.
func (s *receiver) judged() class {
	switch {
	case s.slow(), s.sluggish, !s.answered && s.failures > 0:
		return suspect
	case !s.answered:
		return untried
	}
	return steady
}

// limit is how many requests to the destination may be under way.
func (r *run) limit(s *receiver) int {
	switch {
	case s.slow():
		return 0 // no further ones, until one ends
	case !s.answered, s.probing, s.sluggish && r.doubtful() >= r.d.config.InFlight:
		return 1
	}
	return r.d.config.InFlightWebhook
}

// underWay counts the requests under way.
func (r *run) underWay() int { return r.inFlight[steady] + r.doubtful() }

// doubtful counts those to destinations that are not steady.
func (r *run) doubtful() int { return r.inFlight[untried] + r.inFlight[suspect] }

// room reports whether one more request to a destination of the class may begin.
// InFlight are for steady ones. Up to three times as many are for finding out
// about the others, so that a new one which answers need not wait for those
// which do not; of these, suspects begin no more than half of InFlight. What turns
// into a suspect under way no longer takes the place of a steady one.
func (r *run) room(c class) bool {
	most := r.d.config.InFlight
	switch {
	case r.underWay() >= atOnce*most:
		return false
	case c == steady:
		return r.inFlight[steady] < most
	case c == suspect && r.inFlight[suspect] >= max(1, most/2):
		return false
	}
	return r.doubtful() < (atOnce-1)*most
}

// classify puts the destination where it belongs now, in the counts and in line.
func (r *run) classify(s *receiver) {
	now := s.judged()
	if was := s.class; now != was {
		if s.lined {
			r.line[was] = slices.DeleteFunc(r.line[was], func(o *receiver) bool { return o == s })
			s.lined = false
		}
		r.inFlight[was] -= s.inFlight
		r.waiting[was] -= len(s.waiting)
		s.class = now
		r.inFlight[now] += s.inFlight
		r.waiting[now] += len(s.waiting)
	}
	if !s.lined && len(s.waiting) > 0 && s.inFlight < r.limit(s) {
		s.lined = true
		r.line[s.class] = append(r.line[s.class], s)
	}
}

// wait keeps a claimed delivery until it can be sent.
func (r *run) wait(del storage.Delivery, claimed time.Time) {
	s := r.destinations[del.Lease.WebhookID]
	if s.probing && !broken(del.Failures) { // claimed before the pause was written
		r.release(del)
		return
	}
	s.waiting = append(s.waiting, waiting{del, claimed})
	r.waiting[s.class]++
	r.classify(s)
}

// takeWaiting takes the oldest delivery that waits for the destination.
func (r *run) takeWaiting(s *receiver) waiting {
	w := s.waiting[0]
	s.waiting[0] = waiting{}
	if s.waiting = s.waiting[1:]; len(s.waiting) == 0 {
		s.waiting = nil
	}
	r.waiting[s.class]--
	return w
}

// releaseWaiting gives back what waits for the destination.
func (r *run) releaseWaiting(s *receiver) {
	for len(s.waiting) > 0 {
		r.release(r.takeWaiting(s).Delivery)
	}
}

// look finds destinations that have become slow. What waits for those, or has
// waited for longer than waitAtMost, is given back.
func (r *run) look() {
	for _, s := range r.destinations {
		slow := s.slow()
		for len(s.waiting) > 0 && (slow || time.Since(s.waiting[0].at) > waitAtMost) {
			r.release(r.takeWaiting(s).Delivery)
		}
		r.classify(s)
	}
}

// forget drops what is known about a webhook when the store knows as much. A
// claim under way may have read the store before that.
func (r *run) forget(id storage.ID) {
	s := r.destinations[id]
	if s.inFlight == 0 && s.unsaved == 0 && len(s.waiting) == 0 && !r.claims.active {
		delete(r.destinations, id)
	}
}
