package scheduler

import (
	"time"

	"github.com/formsvc/formsvc/storage"
)

// Ten failures in a row over half a minute begin the pause of a webhook. Until it
// succeeds it gets only probes, each after a third of the time for which it has been
// failing: the first after 10 s, then at growing intervals of at most an hour.
const (
	pauseAfterFailures = 10
	pauseAfter         = 30 * time.Second
	pauseAtLeast       = 10 * time.Second
	pauseAtMost        = time.Hour
)

// pause is a time in which only probes go to a webhook.
type pause struct {
	began  time.Time // zero: before this process knew of it
	until  time.Time // zero: none
	reason storage.PauseReason
}

// afterSuccess is the standing of a webhook after a request that took so long.
func (n Numbers) afterSuccess(s storage.Standing, took time.Duration) storage.Standing {
	switch {
	case took > n.Moment:
		s.SlowFor = n.Successes
	case s.SlowFor > 0:
		s.SlowFor--
	}
	return storage.Standing{Succeeded: true, SlowFor: s.SlowFor}
}

// pauseFor is how long a webhook is left alone after so many failures in a row in so
// much time, and why. The receiver may have asked for a pause.
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
