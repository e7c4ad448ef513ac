package scheduler

import (
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// webhook is the state of a webhook with one URL. If the URL changes, a new value replaces it, because the destination
// is different. In-flight requests keep the old value.
type webhook struct {
	id, form   ID
	url, host  string
	generation int64 // version of its URL

	health        storage.Health // from the store, updated by unrecorded results
	failingSince  time.Time      // zero if it is not failing
	pause         pause
	usualDuration time.Duration // smoothed duration of successes; zero if unknown
	unrecorded    int
	recordedAt    time.Time // time of the last recorded result

	pool     *pool // pool in which its requests start
	queued   bool  // whether the webhook is in the pool's queue
	waiting  []*Request
	inFlight []*Request // oldest first
	reserved int        // reservations for direct dispatch
	skipped  bool       // the last claim had no capacity for it

	activeAt time.Time // time of the last event
}

func (w *webhook) isIdle() bool {
	return len(w.waiting)+len(w.inFlight)+w.reserved+w.unrecorded == 0
}

// pause is a period in which a webhook gets only probes.
type pause struct {
	startedAt time.Time // zero if the pause came from the store
	until     time.Time // zero if the webhook is not paused
	reason    storage.PauseReason
}

// A webhook is paused after ten consecutive failures over half a minute. Until it succeeds, it gets only probes. The
// wait before each probe is a third of the time for which the webhook has been failing, at least 10 s and at most an
// hour. The documentation promises these numbers.
const (
	pauseAfterFailures = 10
	pauseAfter         = 30 * time.Second
	minPause           = 10 * time.Second
	maxPause           = time.Hour
)

// pauseDuration returns the duration and reason of a pause. requested is the pause that the receiver requested.
func pauseDuration(failures int, failing, requested time.Duration) (time.Duration, storage.PauseReason) {
	if failures >= pauseAfterFailures && failing >= pauseAfter {
		if own := min(max(failing/3, minPause), maxPause); own >= requested {
			return own, storage.PauseFailures
		}
	}
	if requested > 0 {
		return requested, storage.PauseRetryAfter
	}
	return 0, ""
}

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
		s.loadHealth(w, del) // another process may have newer results
	}
	w.activeAt = s.now
	return w
}

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
		// The attempt started before the pause, so it does not end the pause.
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

func (n Config) healthAfterSuccess(s storage.Health, took time.Duration) storage.Health {
	switch {
	case took > n.FastThreshold:
		s.SuccessesUntilFast = n.SuccessesUntilFast
	case s.SuccessesUntilFast > 0:
		s.SuccessesUntilFast--
	}
	return storage.Health{Succeeded: true, SuccessesUntilFast: s.SuccessesUntilFast}
}

// setHealth sets w's health and pool. It releases the waiting deliveries after a failure, because there are too many of
// them for a failing webhook. It also releases them if the pool changes, because the new pool has not reserved capacity
// for them.
func (s *Scheduler) setHealth(w *webhook, health storage.Health) {
	w.health = health
	to := &s.slow
	if health.Fast() {
		to = &s.fast
	}
	if to != w.pool || !health.Healthy() {
		s.releaseAll(w, 0)
		w.pool.dequeue(w)
		w.pool = to
	}
}

func (s *Scheduler) canStart(w *webhook) bool {
	return len(w.waiting) > 0 && len(w.inFlight) < s.maxInFlight(w) && !s.isHanging(w)
}

func (s *Scheduler) maxInFlight(w *webhook) int {
	if w.health.Healthy() {
		return s.config.PerWebhook
	}
	return 1
}

// isHanging reports whether a fast webhook has a request that has taken at least hangFactor times its usual duration.
// Such a webhook gets no further requests until that request ends.
func (s *Scheduler) isHanging(w *webhook) bool {
	return w.pool == &s.fast && len(w.inFlight) > 0 && s.now.Sub(w.inFlight[0].startedAt) >= max(s.config.FastSlotTime, time.Duration(s.config.hangFactor)*w.usualDuration)
}

// webhookCapacity returns how many more deliveries for w can be claimed: its in-flight limit plus, if it is healthy,
// the deliveries that can be sent to it in prefetchTime, up to its share of maxPrefetch.
func (s *Scheduler) webhookCapacity(w *webhook) int {
	if s.isHanging(w) || w.unrecorded > 0 && !w.health.Healthy() { // the store may not know yet that the webhook is paused
		return 0
	}
	room := s.maxInFlight(w)
	if w.health.Healthy() && w.usualDuration > 0 {
		room += min(1+int(time.Duration(room)*s.config.prefetchTime/w.usualDuration), s.config.maxPrefetch/max(1, s.claims.knownWebhooks))
	}
	return max(0, room-len(w.waiting)-len(w.inFlight)-w.reserved)
}

func (s *Scheduler) removeWebhook(w *webhook) {
	delete(s.webhooks, w.id)
	others := slices.DeleteFunc(s.forms[w.form], func(other *webhook) bool { return other == w })
	if s.forms[w.form] = others; len(others) == 0 {
		delete(s.forms, w.form)
	}
}
