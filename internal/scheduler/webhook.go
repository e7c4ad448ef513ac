package scheduler

import (
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// webhook is what a scheduler knows about one webhook with one URL. When it gets another
// URL it is another destination, and so another webhook here. What is under way to the
// earlier URL keeps the old one.
type webhook struct {
	id, form   ID
	url, host  string
	generation int64 // of its URLs

	standing storage.Health // the store's, with the results that are not recorded yet
	failing  time.Time      // since when, if it is
	pause    pause
	took     time.Duration // how long its successes take, smoothed. Zero: not known
	unsaved  int           // results that are not recorded yet
	saved    time.Time     // when the last one was

	pool     *pool // the one that its requests start in
	lined    bool  // it stands in the line of that pool
	waiting  []*Request
	underWay []*Request // oldest first
	granted  int        // deliveries that may still be handed over
	passed   bool       // the last claim found no room for it

	active time.Time // when something last happened
}

// idle reports whether w has nothing to do.
func (w *webhook) idle() bool {
	return len(w.waiting)+len(w.underWay)+w.granted+w.unsaved == 0
}

// pause is a time in which only probes go to a webhook.
type pause struct {
	began  time.Time // zero: before this process knew of it
	until  time.Time // zero: none
	reason storage.PauseReason
}

// Ten failures in a row over half a minute begin the pause of a webhook. Until it
// succeeds it gets only probes, each after a third of the time for which it has been
// failing: the first after 10 s, then at growing intervals of at most an hour. These
// numbers are promised to users, not tuned.
const (
	pauseAfterFailures = 10
	pauseAfter         = 30 * time.Second
	pauseAtLeast       = 10 * time.Second
	pauseAtMost        = time.Hour
)

// pauseFor returns how long a webhook is left alone after a number of failures in a row
// in a given time, and the reason. The receiver may have asked for a pause.
func pauseFor(failures int, failing, asked time.Duration) (time.Duration, storage.PauseReason) {
	if failures >= pauseAfterFailures && failing >= pauseAfter {
		if own := min(max(failing/3, pauseAtLeast), pauseAtMost); own >= asked {
			return own, storage.PauseFailures
		}
	}
	if asked > 0 {
		return asked, storage.PauseRetryAfter
	}
	return 0, ""
}

// known returns the webhook of a delivery that was leased at that time.
func (s *Scheduler) known(del storage.ClaimedDelivery, leased time.Time) *webhook {
	id := del.Lease.WebhookID
	w := s.webhooks[id]
	if w == nil || w.generation != del.Generation {
		old := w
		w = &webhook{id: id, form: del.FormID, url: del.URL, host: del.Host, generation: del.Generation, pool: &s.second}
		if old != nil {
			w.granted = old.granted
			s.giveBackAll(old, 0)
			s.forget(old)
		}
		s.webhooks[id] = w
		s.forms[w.form] = append(s.forms[w.form], w)
		s.believe(w, del)
	} else if w.unsaved == 0 && len(w.underWay) == 0 && leased.After(w.saved) {
		s.believe(w, del) // another process may know better
	}
	w.active = s.now
	return w
}

// believe takes over what the store knows of w.
func (s *Scheduler) believe(w *webhook, del storage.ClaimedDelivery) {
	w.failing, w.pause = time.Time{}, pause{}
	if del.Health.Failures > 0 {
		w.failing = s.now.Add(-del.FailingFor)
	}
	if del.PauseReason != "" {
		w.pause = pause{until: s.now.Add(del.PausedFor), reason: del.PauseReason}
	}
	s.stand(w, del.Health)
}

// learn draws the conclusions from an attempt that began at that time.
func (s *Scheduler) learn(w *webhook, began time.Time, e Ended) {
	is, was := w.standing, w.pause
	switch {
	case !e.Delivery.Success:
		if is.Failures++; is.Failures == 1 {
			w.failing = s.now
		}
		wait, reason := pauseFor(is.Failures, s.now.Sub(w.failing), e.Asked)
		if until := s.now.Add(wait); wait > 0 && until.After(w.pause.until) {
			w.pause = pause{s.now, until, reason}
		}
	case began.Before(w.pause.began):
		// It says nothing about the time since then.
	default:
		is = s.n.afterSuccess(is, e.Took)
		w.failing, w.pause = time.Time{}, pause{}
		if w.took == 0 {
			w.took = e.Took
		}
		w.took = max(1, w.took+(e.Took-w.took)/time.Duration(s.n.smooth))
	}
	if w.pause != was && s.webhooks[w.id] == w {
		s.out.Pauses = append(s.out.Pauses, storage.PausedWebhook{
			WebhookID: w.id, FormID: w.form, URL: w.url, Failures: is.Failures,
			FailingSince: w.failing, PausedUntil: w.pause.until, Reason: w.pause.reason,
		})
	}
	s.stand(w, is)
}

// afterSuccess is the standing of a webhook after a request that took so long.
func (n Numbers) afterSuccess(s storage.Health, took time.Duration) storage.Health {
	switch {
	case took > n.Moment:
		s.SuccessesUntilFast = n.Successes
	case s.SuccessesUntilFast > 0:
		s.SuccessesUntilFast--
	}
	return storage.Health{Succeeded: true, SuccessesUntilFast: s.SuccessesUntilFast}
}

// stand gives w a standing, and the pool for that. What waits for it is claimed again
// when it is due: when w failed it is too much, and in another pool it has no room yet.
func (s *Scheduler) stand(w *webhook, standing storage.Health) {
	w.standing = standing
	to := &s.second
	if standing.Fast() {
		to = &s.quick
	}
	if to != w.pool || !standing.Healthy() {
		s.giveBackAll(w, 0)
		w.pool.leave(w)
		w.pool = to
	}
}

// ready reports whether a request to w may begin, as far as w is concerned.
func (s *Scheduler) ready(w *webhook) bool {
	return len(w.waiting) > 0 && len(w.underWay) < s.limit(w) && !s.hangs(w)
}

// limit is how many requests w may have under way.
func (s *Scheduler) limit(w *webhook) int {
	if w.standing.Healthy() {
		return s.n.PerWebhook
	}
	return 1
}

// hangs reports whether a quick webhook has a request that lasts for twice as long as they
// usually do. It gets no further one until that has ended.
func (s *Scheduler) hangs(w *webhook) bool {
	return w.pool == &s.quick && len(w.underWay) > 0 && s.now.Sub(w.underWay[0].began) >= max(s.n.Stay, time.Duration(s.n.hangsAfter)*w.took)
}

// roomFor is how many more deliveries of w are worth having: what it may have under way and,
// in good standing, what it sends in AheadFor, as far as that is not more than its share
// of all that may wait.
func (s *Scheduler) roomFor(w *webhook) int {
	if s.hangs(w) || w.unsaved > 0 && !w.standing.Healthy() { // the store may not know yet that it is paused
		return 0
	}
	room := s.limit(w)
	if w.standing.Healthy() && w.took > 0 {
		room += min(1+int(time.Duration(room)*s.n.aheadFor/w.took), s.n.ahead/max(1, s.claims.sharing))
	}
	return max(0, room-len(w.waiting)-len(w.underWay)-w.granted)
}

// forget drops w.
func (s *Scheduler) forget(w *webhook) {
	delete(s.webhooks, w.id)
	others := slices.DeleteFunc(s.forms[w.form], func(other *webhook) bool { return other == w })
	if s.forms[w.form] = others; len(others) == 0 {
		delete(s.forms, w.form)
	}
}
