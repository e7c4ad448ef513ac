package webhooks

import (
	"time"

	"github.com/formsvc/formsvc/storage"
)

const (
	// slowAfter is how long an answer may take, and how long requests may be under
	// way without one, before a destination counts as slow.
	slowAfter = 2 * time.Second
	// rememberedFor is for how long it counts how a destination answered.
	rememberedFor = 5 * time.Minute
	// knownFor is for how long a destination that works is known after it was busy.
	knownFor = time.Second
	// waitAtMost is how long a claimed delivery may wait to be sent. What waits is
	// neither stopped by a webhook's deletion nor sent with its newest secret.
	waitAtMost = 500 * time.Millisecond
)

// destination is what a run knows about one webhook.
type destination struct {
	to          *target // of its url; nil: it was not judged yet, or it is refused
	since       int64   // the first token that was claimed for that url
	failures    int     // of that url, in a row, this run's results included
	pausedUntil time.Time

	waiting  []waiting // claimed and not yet sent, in the order of their turns
	lined    bool      // it stands in a line for a slot
	line     class     // which one that is
	inFlight int
	unsaved  int  // results not yet written
	hungry   bool // the last claim brought all that it could take: there may be more

	pace
	// progress is when a request to it last began with none under way, or ended.
	progress time.Time
}

// waiting is a delivery that was claimed.
type waiting struct {
	delivery storage.Delivery
	asked    time.Time // before the claim: the lease is no older
	came     time.Time
}

// pace is how a destination answers. It is remembered longer than the rest, for
// rememberedFor.
type pace struct {
	url  string        // of the destination
	last time.Duration // how long its last answer took; 0: none yet
	slow bool          // that was long, or had no end; or it failed before this run
	sent time.Time     // when its last request began
}

// aim takes note of where a claimed delivery goes. A webhook with a new URL is
// another destination: it starts with what the store knows of it.
func (s *destination) aim(del storage.Delivery) {
	if s.url != del.URL && del.Lease.Token > s.since {
		s.to, s.since = nil, del.Lease.Token
		s.failures, s.pausedUntil = del.Failures, time.Time{}
		s.pace = pace{url: del.URL, slow: del.Failures > 0}
	}
}

// begin and end count a request.
func (s *destination) begin(now time.Time) {
	if s.inFlight == 0 {
		s.progress = now
	}
	s.sent = now
	s.inFlight++
}

func (s *destination) end(now time.Time) {
	s.inFlight--
	s.progress = now
}

// answered takes note of how long an attempt took, whatever came of it. An answer
// that is cut off costs as much time elsewhere: a connection, and all that may be
// read.
func (s *destination) answered(took time.Duration, endless bool) {
	s.last = max(took, 1)
	s.slow = took > slowAfter || endless
}

// stalled reports whether requests to it are under way and none has ended for long.
// No more begin then.
func (s *destination) stalled(now time.Time) bool {
	return s.inFlight > 0 && now.Sub(s.progress) > slowAfter
}

// idle reports whether nothing is known that the store does not know.
func (s *destination) idle() bool { return len(s.waiting) == 0 && s.inFlight == 0 && s.unsaved == 0 }

// limit is how many requests it may have under way. A broken destination is
// probed, one request at a time.
func (s *destination) limit(c Config) int {
	if broken(s.failures) {
		return 1
	}
	return c.InFlightWebhook
}
