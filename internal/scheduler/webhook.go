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

	health        storage.Health // the store's, with the results that are not recorded yet
	failingSince  time.Time      // since when, if it is
	pause         pause
	usualDuration time.Duration // how long its successes take, smoothed. Zero: not known
	unrecorded    int           // results that are not recorded yet
	recordedAt    time.Time     // when the last one was

	pool     *pool // the one that its requests start in
	queued   bool  // it stands in the line of that pool
	waiting  []*Request
	inFlight []*Request // oldest first
	reserved int        // deliveries that may still be handed over
	skipped  bool       // the last claim found no room for it

	activeAt time.Time // when something last happened
}

// idle reports whether w has nothing to do.
func (w *webhook) isIdle() bool {
	return len(w.waiting)+len(w.inFlight)+w.reserved+w.unrecorded == 0
}

// pause is a time in which only probes go to a webhook.
type pause struct {
	startedAt time.Time // zero: before this process knew of it
	until     time.Time // zero: none
	reason    storage.PauseReason
}

// Ten failures in a row over half a minute begin the pause of a webhook. Until it
// succeeds it gets only probes, each after a third of the time for which it has been
// failing: the first after 10 s, then at growing intervals of at most an hour. These
// numbers are promised to users, not tuned.
const (
	pauseAfterFailures = 10
	pauseAfter         = 30 * time.Second
	minPause           = 10 * time.Second
	maxPause           = time.Hour
)

// pauseDuration returns how long a webhook is left alone after a number of failures in a row
// in a given time, and the reason. The receiver may have asked for a pause.
func pauseDuration(failures int, failing, asked time.Duration) (time.Duration, storage.PauseReason) {
	if failures >= pauseAfterFailures && failing >= pauseAfter {
		if own := min(max(failing/3, minPause), maxPause); own >= asked {
			return own, storage.PauseFailures
		}
	}
	if asked > 0 {
		return asked, storage.PauseRetryAfter
	}
	return 0, ""
}

// known returns the webhook of a delivery that was leased at that time.
func (s *Scheduler) findOrAddWebhook(del storage.ClaimedDelivery, leased time.Time) *webhook {
	id := del.Lease.WebhookID
	w := s.webhooks[id]
	if w == nil || w.generation != del.Generation {
		old := w
		w = &webhook{id: id, form: del.FormID, url: del.URL, host: del.Host, generation: del.Generation, pool: &s.slow}
		if old != nil {
			w.reserved = old.reserved
			s.releaseAll(old, 0)
			s.removeWebhook(old)
		}
		s.webhooks[id] = w
		s.forms[w.form] = append(s.forms[w.form], w)
		s.loadHealth(w, del)
	} else if w.unrecorded == 0 && len(w.inFlight) == 0 && leased.After(w.recordedAt) {
		s.loadHealth(w, del) // another process may know better
	}
	w.activeAt = s.now
	return w
}

// believe takes over what the store knows of w.
func (s *Scheduler) loadHealth(w *webhook, del storage.ClaimedDelivery) {
	w.failingSince, w.pause = time.Time{}, pause{}
	if del.Health.Failures > 0 {
		w.failingSince = s.now.Add(-del.FailingFor)
	}
	if del.PauseReason != "" {
		w.pause = pause{until: s.now.Add(del.PausedFor), reason: del.PauseReason}
	}
	s.setHealth(w, del.Health)
}

// learn draws the conclusions from an attempt that began at that time.
func (s *Scheduler) updateHealth(w *webhook, began time.Time, e RequestFinished) {
	is, was := w.health, w.pause
	switch {
	case !e.Delivery.Success:
		if is.Failures++; is.Failures == 1 {
			w.failingSince = s.now
		}
		wait, reason := pauseDuration(is.Failures, s.now.Sub(w.failingSince), e.RequestedPause)
		if until := s.now.Add(wait); wait > 0 && until.After(w.pause.until) {
			w.pause = pause{s.now, until, reason}
		}
	case began.Before(w.pause.startedAt):
		// It says nothing about the time since then.
	default:
		is = s.config.healthAfterSuccess(is, e.Duration)
		w.failingSince, w.pause = time.Time{}, pause{}
		if w.usualDuration == 0 {
			w.usualDuration = e.Duration
		}
		w.usualDuration = max(1, w.usualDuration+(e.Duration-w.usualDuration)/time.Duration(s.config.smoothing))
	}
	if w.pause != was && s.webhooks[w.id] == w {
		s.actions.Pauses = append(s.actions.Pauses, storage.PausedWebhook{
			WebhookID: w.id, FormID: w.form, URL: w.url, Failures: is.Failures,
			FailingSince: w.failingSince, PausedUntil: w.pause.until, Reason: w.pause.reason,
		})
	}
	s.setHealth(w, is)
}

// healthAfterSuccess is the standing of a webhook after a request that took so long.
func (n Config) healthAfterSuccess(s storage.Health, took time.Duration) storage.Health {
	switch {
	case took > n.FastThreshold:
		s.SuccessesUntilFast = n.SuccessesUntilFast
	case s.SuccessesUntilFast > 0:
		s.SuccessesUntilFast--
	}
	return storage.Health{Succeeded: true, SuccessesUntilFast: s.SuccessesUntilFast}
}

// stand gives w a standing, and the pool for that. What waits for it is claimed again
// when it is due: when w failed it is too much, and in another pool it has no room yet.
func (s *Scheduler) setHealth(w *webhook, standing storage.Health) {
	w.health = standing
	to := &s.slow
	if standing.Fast() {
		to = &s.fast
	}
	if to != w.pool || !standing.Healthy() {
		s.releaseAll(w, 0)
		w.pool.dequeue(w)
		w.pool = to
	}
}

// ready reports whether a request to w may begin, as far as w is concerned.
func (s *Scheduler) canStart(w *webhook) bool {
	return len(w.waiting) > 0 && len(w.inFlight) < s.maxInFlight(w) && !s.isHanging(w)
}

// limit is how many requests w may have under way.
func (s *Scheduler) maxInFlight(w *webhook) int {
	if w.health.Healthy() {
		return s.config.PerWebhook
	}
	return 1
}

// hangs reports whether a quick webhook has a request that lasts for twice as long as they
// usually do. It gets no further one until that has ended.
func (s *Scheduler) isHanging(w *webhook) bool {
	return w.pool == &s.fast && len(w.inFlight) > 0 && s.now.Sub(w.inFlight[0].startedAt) >= max(s.config.FastSlotTime, time.Duration(s.config.hangFactor)*w.usualDuration)
}

// webhookCapacity is how many more deliveries of w are worth having: what it may have under way and,
// in good standing, what it sends in AheadFor, as far as that is not more than its share
// of all that may wait.
func (s *Scheduler) webhookCapacity(w *webhook) int {
	if s.isHanging(w) || w.unrecorded > 0 && !w.health.Healthy() { // the store may not know yet that it is paused
		return 0
	}
	room := s.maxInFlight(w)
	if w.health.Healthy() && w.usualDuration > 0 {
		room += min(1+int(time.Duration(room)*s.config.prefetchTime/w.usualDuration), s.config.maxPrefetch/max(1, s.claims.knownWebhooks))
	}
	return max(0, room-len(w.waiting)-len(w.inFlight)-w.reserved)
}

// forget drops w.
func (s *Scheduler) removeWebhook(w *webhook) {
	delete(s.webhooks, w.id)
	others := slices.DeleteFunc(s.forms[w.form], func(other *webhook) bool { return other == w })
	if s.forms[w.form] = others; len(others) == 0 {
		delete(s.forms, w.form)
	}
}
