package servicetest

import "time"

// A Clock stands still until a test moves it. It may be used concurrently.
type Clock struct{ now chan time.Time }

// NewClock returns a clock that shows the given time.
func NewClock(at time.Time) *Clock {
	c := &Clock{now: make(chan time.Time, 1)}
	c.now <- at
	return c
}

// Now is the time that the clock shows.
func (c *Clock) Now() time.Time {
	t := <-c.now
	c.now <- t
	return t
}

// Advance moves the clock.
func (c *Clock) Advance(d time.Duration) {
	c.now <- (<-c.now).Add(d)
}
