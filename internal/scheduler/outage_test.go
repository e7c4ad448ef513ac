package scheduler

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"
)

// beside plays 40 seconds of 40 healthy webhooks with an event a second each beside
// others, and returns the worst share of healthy events in a window of ten seconds
// that waited for longer than a second, and how long 99 of 100 waited at most.
func beside(t *testing.T, answer func(*world) (time.Duration, bool), others func(w *world)) (worst float64, p99 time.Duration) {
	t.Helper()
	w := newWorld(t, 1, testNumbers)
	w.unchecked, w.handOver = true, true // the histories check, and with thousands of webhooks that takes long
	healthy := map[*receiver]bool{}
	for i := range 40 {
		r := w.receiver(fmt.Sprintf("healthy%d.example", i), true, answer)
		healthy[r] = true
		w.every(time.Second, func() { w.event(r) })
	}
	began := w.now
	var waits [7][]time.Duration
	w.late = func(r *receiver, waited time.Duration) {
		if i := int(w.now.Sub(began) / (10 * time.Second)); healthy[r] && i < len(waits) {
			waits[i] = append(waits[i], waited)
		}
	}
	others(w)
	w.run(40 * time.Second)
	var run []time.Duration
	for _, all := range waits[:4] {
		if len(all) < 300 {
			t.Fatalf("%d healthy events in ten seconds", len(all))
		}
		slices.Sort(all)
		late, _ := slices.BinarySearch(all, time.Second+1)
		worst = max(worst, float64(len(all)-late)/float64(len(all)))
		run = append(run, all...)
	}
	w.stop()
	slices.Sort(run)
	return worst, run[len(run)*99/100]
}

// hanging adds webhooks that were quick and hang from the fifth second on.
func hanging(n int, oneName, atOnce bool) func(*world) {
	return hangingAfter(prompt, n, oneName, atOnce)
}

// prompt and busy are what healthy webhooks do. The time of a request is measured by the
// process that makes it: when that has to wait for a processor, all answers take long.
var (
	prompt = takes(10*time.Millisecond, 30*time.Millisecond)
	busy   = takes(100*time.Millisecond, 400*time.Millisecond)
)

func hangingAfter(before func(*world) (time.Duration, bool), n int, oneName, atOnce bool) func(*world) {
	return func(w *world) {
		for i := range n {
			name := "same.example"
			if !oneName {
				name = host(i)
			}
			r := w.receiver(name, true, w.from(5*time.Second, before, hangs))
			if atOnce {
				var again func()
				again = func() {
					w.event(r)
					w.after(4*time.Second, again)
				}
				w.after(3*time.Second, again)
				continue
			}
			w.every(3500*time.Millisecond, func() { w.event(r) })
		}
	}
}

// The promise: at most one of a hundred healthy events is late in any ten seconds.
func TestOutagesDelayNobodyElse(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	type scenario struct {
		name    string
		others  func(*world)
		healthy func(*world) (time.Duration, bool)
		p99     time.Duration // zero: 250 ms
	}
	var all []scenario
	sizes, newOnes, many := []int{120, 1200}, 150, 500 // more than 1,024 had places for before
	if full {
		sizes, newOnes, many = []int{45, 250, 700, 1500, 3000}, 2000, 1000
	}
	for _, n := range sizes {
		for _, oneName := range []bool{false, true} {
			all = append(all, scenario{fmt.Sprintf("%d begin to hang, one name %v", n, oneName), hanging(n, oneName, false), prompt, 0})
			if oneName || n <= many { // 1,280 may in a second
				all = append(all, scenario{fmt.Sprintf("%d begin to hang at once, one name %v", n, oneName), hanging(n, oneName, true), prompt, 0})
			}
		}
	}
	all = append(all,
		scenario{fmt.Sprintf("%d begin to hang at once", many), hanging(many, false, true), prompt, time.Second},
		scenario{fmt.Sprintf("%d begin to hang at once beside some that are slow at times", many), hanging(many, false, true), sometimes(600 * time.Millisecond), time.Second},
		scenario{fmt.Sprintf("%d begin to hang at once, and the process is busy", many), hangingAfter(busy, many, false, true), busy, time.Second},
		scenario{fmt.Sprintf("%d new ones hang", newOnes), func(w *world) {
			for i := range newOnes {
				r := w.receiver(host(i), false, hangs)
				w.every(3500*time.Millisecond, func() { w.event(r) })
			}
		}, prompt, 0},
		scenario{"a backlog after a restart", func(w *world) {
			for i := range 400 {
				r := w.receiver(host(i), true, hangs)
				for range 50 {
					w.event(r)
				}
			}
		}, prompt, 0},
		scenario{"80 alternate", func(w *world) {
			for i := range 80 {
				r := w.receiver(host(i), true, alternates(14*time.Second))
				w.every(time.Second, func() { w.event(r) })
			}
		}, prompt, 0},
	)
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			worst, p99 := beside(t, c.healthy, c.others)
			t.Logf("%.2f %% late, 99 %% within %s", 100*worst, p99)
			if worst > 0.01 || p99 > cmp.Or(c.p99, 250*time.Millisecond) {
				t.Errorf("of the healthy events of ten seconds %.1f %% were late; 99 %% of all waited for up to %s", 100*worst, p99)
			}
		})
	}
}
