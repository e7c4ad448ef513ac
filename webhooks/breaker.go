package webhooks

import "time"

const (
	// breakerThreshold is how many failures in a row make a destination one that
	// is only probed.
	breakerThreshold = 10
	breakerFirst     = time.Minute
	breakerLongest   = time.Hour
)

// broken reports whether a destination with so many failures in a row is only
// probed: one delivery at a time, after a pause.
func broken(failures int) bool { return failures >= breakerThreshold }

// failuresAfter counts one more failure. Of a destination that is broken only
// probes count further: up to InFlightWebhook requests are under way when it
// breaks, and their failures say nothing about the time after.
func failuresAfter(failures int, probe bool) int {
	if broken(failures) && !probe {
		return failures
	}
	return failures + 1
}

// pause is how long a destination is left alone after so many failures in a
// row: nothing below the threshold, then 1 min, doubling up to 1 h.
func pause(failures int) time.Duration {
	if !broken(failures) {
		return 0
	}
	doublings := failures - breakerThreshold
	if doublings > 6 { // 64 min is past the longest already
		return breakerLongest
	}
	return min(breakerFirst<<doublings, breakerLongest)
}
