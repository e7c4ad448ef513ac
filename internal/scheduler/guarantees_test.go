package scheduler

import (
	"slices"
	"testing"
	"time"
)

// smallNumbers have few places, so that little reaches every bound.
func smallNumbers() Numbers {
	n := testNumbers
	n.Quick, n.Second, n.Ahead, n.Unrecorded, n.Rows, n.Patience = 8, 48, 128, 64, 50, 300*time.Millisecond
	return n
}

// A stop gives back at once what has not begun, though requests are under way.
func TestAStopGivesBackWhatWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, smallNumbers())
	for i := range 20 {
		r := w.receiver(host(i), true, takes(50*time.Millisecond, 90*time.Millisecond))
		for range 20 {
			w.event(r)
		}
	}
	w.run(500 * time.Millisecond)
	if waiting := w.s.quick.waiting; waiting == 0 || w.s.quick.used == 0 {
		t.Fatalf("%d deliveries wait and %d requests are under way, want some of both", waiting, w.s.quick.used)
	}
	w.step(Stop{})
	w.run(20 * time.Millisecond) // two writes take 8 ms each, a claim that was under way as long
	for lease, it := range w.leased {
		if it.state == "leased" {
			t.Errorf("%v was not begun and is not given back", lease)
		}
	}
	w.stop()
}

// When all webhooks of one host name hang, their requests fill half of the second pool
// and no more of it, so that those of another name that hang leave the quick pool.
func TestAHostNameThatHangsLeavesRoomToOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, smallNumbers())
	for range 2 * w.n.Second {
		w.event(w.receiver("same.example", true, hangs))
	}
	w.run(5 * time.Second)
	if got := w.s.second.hosts["same.example"].used; got != w.n.Second/2 {
		t.Fatalf("the name has %d places of the second pool, want %d", got, w.n.Second/2)
	}
	other := w.receiver("other.example", true, hangs)
	w.event(other)
	w.run(time.Second)
	if got := w.s.second.hosts["other.example"].used; got != 1 {
		t.Errorf("the other name has %d places of the second pool, want 1", got)
	}
	w.stop()
}

// A write that takes long and does not fail stops the requests at the bound: a process
// that is killed then repeats no more than that. Receivers of 60 ms are quick, and each
// of their requests moves over.
func TestASlowWriteBoundsWhatAKillRepeats(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, testNumbers)
	for i := range 100 {
		r := w.receiver(host(i), true, takes(60*time.Millisecond, 60*time.Millisecond))
		for range 40 {
			w.event(r)
		}
	}
	w.slowWrite = 9 * time.Second
	w.run(8 * time.Second) // every step is checked
	if want := w.n.Unrecorded + w.n.Second; w.most != want {
		t.Errorf("a kill would have repeated %d deliveries, want %d", w.most, want)
	}
	w.run(30 * time.Second)
	for _, r := range w.receivers {
		if len(r.pending) > 0 {
			t.Fatalf("%d deliveries of a webhook are left", len(r.pending))
		}
	}
	w.stop()
}

// While a backlog is sent nobody waits for the next poll, though claims often find no
// room, or pass over the webhooks whose results are just recorded.
func TestABacklogDoesNotWaitForThePoll(t *testing.T) {
	t.Parallel()
	for _, writes := range []time.Duration{time.Millisecond, 20 * time.Millisecond, 100 * time.Millisecond} {
		for _, quick := range []bool{true, false} {
			w := newWorld(t, 1, smallNumbers())
			w.unchecked = true
			w.writes = writes
			for i := range 20 {
				r := w.receiver(host(i), quick, takes(time.Millisecond, 5*time.Millisecond))
				for range 50 {
					w.event(r)
				}
			}
			most := w.longestStandstill()
			if want := 2 * w.n.Gather; most > want {
				t.Errorf("writes of %s, quick %v: nothing happens for %s, want at most %s", w.writes, quick, most, want)
			}
			w.stop()
		}
	}
}

// A burst that is handed over as far as there is room keeps the promise too, whether a
// claim finds room for the rest or passes the webhooks over.
func TestABurstThatIsHandedOverInPartDoesNotWaitForThePoll(t *testing.T) {
	t.Parallel()
	for _, took := range []time.Duration{5 * time.Millisecond, 20 * time.Millisecond, 40 * time.Millisecond} {
		for _, hooks := range []int{1, 20} {
			w := newWorld(t, 1, testNumbers)
			w.unchecked = true
			w.handOver = true
			for i := range hooks {
				w.receiver(host(i), true, takes(took, took))
			}
			for _, events := range []int{1, 1, 50} { // by the third they are known, and how long they take
				w.run(time.Second)
				for _, r := range w.receivers {
					for range events {
						w.event(r)
					}
				}
			}
			if most, want := w.longestStandstill(), 2*w.n.Gather; most > want {
				t.Errorf("%d webhooks of %s: nothing happens for %s, want at most %s", hooks, took, most, want)
			}
			w.stop()
		}
	}
}

// longestStandstill lets everything be sent and returns for how long at most nothing was
// under way.
func (w *world) longestStandstill() (most time.Duration) {
	var stands time.Duration
	for left := true; left && most < time.Second; w.run(time.Millisecond) {
		stands += time.Millisecond
		if w.s.quick.used+w.s.second.used > 0 || len(w.s.results.active) > 0 {
			stands = 0
		}
		most = max(most, stands)
		left = slices.ContainsFunc(w.receivers, func(r *receiver) bool { return len(r.pending) > 0 })
	}
	return most
}

// However many webhooks are new, and however few places there are, those that answer
// promptly wait for each other and not for a time-out.
func TestManyNewWebhooksThatAnswerDoNotWait(t *testing.T) {
	t.Parallel()
	for second, hooks := range map[int]int{1024: 1500, 64: 300, 8: 100, 2: 40, 1: 40} {
		n := testNumbers
		n.Second = second
		w := newWorld(t, 1, n)
		w.unchecked = true
		for i := range hooks {
			w.event(w.receiver(host(i), false, takes(time.Millisecond, 5*time.Millisecond)))
		}
		w.run(5 * time.Second)
		for _, r := range w.receivers {
			if len(r.pending) > 0 {
				t.Errorf("%d places: the event of %s is not sent after 5 s", second, r.host)
				break
			}
		}
		w.stop()
	}
}
