package scheduler

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"
)

// full says that the tests of this package run in their long form, which takes
// minutes: more histories, larger outages, every mutant.
var full = os.Getenv("FORMSVC_TEST_SCHEDULER") == "full"

// seeds returns those of the histories that a test plays: FORMSVC_SEED names one.
func seeds(t *testing.T, n int) (seeds []uint64) {
	if s := os.Getenv("FORMSVC_SEED"); s != "" {
		seed, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return []uint64{seed}
	}
	for i := range n {
		seeds = append(seeds, uint64(i+1))
	}
	return seeds
}

// Whatever hundreds of destinations do, the rules hold after every step, and every
// delivery that was claimed ends in one result.
func TestTheRulesHoldInRandomHistories(t *testing.T) {
	t.Parallel()
	count := 4
	if full {
		count = 12
	}
	for _, seed := range seeds(t, count) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			n := testNumbers
			if seed%4 > 0 { // few places, so that all bounds are reached
				n = smallNumbers()
			}
			w := newWorld(t, seed, n)
			w.handOver = seed%2 == 0
			hosts := 2 + w.rand.IntN(8)*w.rand.IntN(20)
			for range 100 + w.rand.IntN(200) {
				answers := []func(*world) (time.Duration, bool){
					takes(time.Millisecond, 30*time.Millisecond),
					takes(time.Millisecond, 30*time.Millisecond),
					takes(50*time.Millisecond, 150*time.Millisecond),
					takes(300*time.Millisecond, 2*time.Second),
					sometimes(300 * time.Millisecond),
					hangs,
					fails,
					alternates(time.Duration(1+w.rand.IntN(14)) * time.Second),
					w.from(time.Duration(w.rand.IntN(30))*time.Second, takes(time.Millisecond, 20*time.Millisecond), hangs),
					w.from(time.Duration(w.rand.IntN(30))*time.Second, hangs, takes(time.Millisecond, 20*time.Millisecond)),
					w.from(time.Duration(w.rand.IntN(30))*time.Second, fails, takes(time.Millisecond, 20*time.Millisecond)),
				}
				r := w.receiver(host(w.rand.IntN(hosts)), w.rand.IntN(2) == 0, answers[w.rand.IntN(len(answers))])
				for range w.rand.IntN(20) {
					w.event(r)
				}
				w.every(time.Duration(200+w.rand.IntN(5000))*time.Millisecond, func() { w.event(r) })
			}
			w.after(time.Duration(w.rand.IntN(30))*time.Second, func() {
				w.storeDown = w.now.Add(time.Duration(w.rand.IntN(10)) * time.Second)
			})
			w.after(time.Duration(w.rand.IntN(30))*time.Second, func() {
				w.slowWrite = time.Duration(w.rand.IntN(10)) * time.Second
			})
			w.run(45 * time.Second)
			w.stop()
			t.Logf("%d webhooks, %d steps", len(w.receivers), w.steps)
		})
	}
}
