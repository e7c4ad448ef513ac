package main

import (
	"fmt"
	"slices"
	"time"
)

// durations are measurements.
type durations []time.Duration

// at returns a percentile; of none, zero.
func (d durations) at(percent int) time.Duration {
	if len(d) == 0 {
		return 0
	}
	slices.Sort(d)
	return d[min(len(d)*percent/100, len(d)-1)]
}

// String tells the distribution in milliseconds.
func (d durations) String() string {
	ms := func(percent int) float64 { return d.at(percent).Seconds() * 1000 }
	return fmt.Sprintf("p50 %.2f ms, p90 %.2f ms, p99 %.2f ms, max %.2f ms", ms(50), ms(90), ms(99), ms(100))
}
