package scheduler

import (
	"slices"
	"testing"
	"time"
)

// smallNumbers have few places, so that little reaches every bound.
func smallNumbers() Numbers {
	n := Default(8, 48, 4, 15*time.Second)
	n.Rows, n.Patience = 50, 300*time.Millisecond
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
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	w := newWorld(t, 1, testNumbers)
	for i := range 100 {
		r := w.receiver(host(i), true, takes(60*time.Millisecond, 60*time.Millisecond))
		for range 60 {
			w.event(r)
		}
	}
	w.slowWrite = 9 * time.Second
	w.run(8 * time.Second) // every step is checked
	if want := w.n.quick.holds + w.n.Second; w.most != want {
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
		n := Default(64, second, 4, 15*time.Second)
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

// 770 new webhooks of one owner have their first event at the same instant. All requests begin
// within a second, and within the time that the places take when there are more.
func TestManyNewWebhooksAtOnceBeginWithinASecond(t *testing.T) {
	t.Parallel()
	for hooks, most := range map[int]time.Duration{770: time.Second, 3000: 3 * time.Second} {
		for _, owners := range []int{1, hooks} {
			w := newWorld(t, 1, testNumbers)
			w.unchecked = true
			workspace, longest := w.id(), time.Duration(0)
			w.late = func(_ *receiver, waited time.Duration) { longest = max(longest, waited) }
			for i := range hooks {
				r := w.receiver(host(i), false, takes(50*time.Millisecond, 900*time.Millisecond))
				if owners == 1 {
					r.workspace = workspace
				}
				w.event(r)
			}
			w.run(10 * time.Second)
			if t.Logf("%d new ones of %d: %s", hooks, owners, longest); longest > most || w.sent() < hooks {
				t.Errorf("%d new webhooks of %d owners: %d requests, the last after %s, want all within %s", hooks, owners, w.sent(), longest, most)
			}
			w.stop()
		}
	}
}

// sent is how many requests have begun.
func (w *world) sent() (n int) {
	for _, r := range w.receivers {
		n += r.sent
	}
	return n
}

// Owners have many webhooks that take 14 s for every answer, and more events than that. The
// receivers of others, which take 0.9 to 2 s and have a backlog, get nine tenths of what four
// requests at once can do.
func TestPatientWebhooksOfOneOwnerDelayNobody(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	n := Default(64, 512, 4, 15*time.Second) // the owners have work for more
	for owners, each := range map[int]int{1: 200, 8: 50} {
		w := newWorld(t, 1, n)
		w.unchecked = true
		for range owners {
			workspace := w.id()
			for range each {
				r := w.receiver(host(w.serial), true, takes(14*time.Second, 14*time.Second))
				r.workspace = workspace
				w.every(3*time.Second, func() {
					if len(r.pending) < 8 {
						w.event(r)
					}
				})
			}
		}
		w.run(30 * time.Second) // until they have all that they get
		var honest []*receiver
		for range 20 {
			took := 900*time.Millisecond + time.Duration(w.rand.Int64N(int64(1100*time.Millisecond)))
			r := w.receiver(host(w.serial), false, takes(took, took))
			r.took = took
			for range 200 {
				w.event(r)
			}
			honest = append(honest, r)
		}
		w.run(5 * time.Second) // they are known to work
		before := map[*receiver]int{}
		for _, r := range honest {
			before[r] = r.passed
		}
		const watched = 40 * time.Second
		w.run(watched)
		for _, r := range honest {
			if got, most := float64(r.passed-before[r]), 4*float64(watched)/float64(r.took); got < 0.9*most {
				t.Errorf("%d owners with %d: a receiver of %s gets %.0f of %.0f", owners, each, r.took, got, most)
				break
			}
		}
		w.stop()
	}
}
