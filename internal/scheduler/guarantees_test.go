package scheduler

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// smallNumbers have few places, so that little reaches every bound.
func smallNumbers() Config {
	n := DefaultConfig(8, 48, 4, 15*time.Second)
	n.MaxBatch, n.MaxWait = 50, 300*time.Millisecond
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
	if waiting := w.s.fast.waiting; waiting == 0 || w.s.fast.inFlight == 0 {
		t.Fatalf("%d deliveries wait and %d requests are under way, want some of both", waiting, w.s.fast.inFlight)
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

// A burst that is handed over as far as there is room keeps the promise too, whether a
// claim finds room for the rest or passes the webhooks over.
func TestABurstThatIsHandedOverInPartDoesNotWaitForThePoll(t *testing.T) {
	t.Parallel()
	for _, took := range []time.Duration{5 * time.Millisecond, 20 * time.Millisecond, 40 * time.Millisecond} {
		for _, hooks := range []int{1, 20} {
			w := newWorld(t, 1, testNumbers)
			w.unchecked = true
			w.directDispatch = true
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
			if most, want := w.longestStandstill(), 2*w.n.BatchDelay; most > want {
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
		if w.s.fast.inFlight+w.s.slow.inFlight > 0 || len(w.s.results.writing) > 0 {
			stands = 0
		}
		most = max(most, stands)
		left = slices.ContainsFunc(w.receivers, func(r *receiver) bool { return len(r.pending) > 0 })
	}
	return most
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
	n := DefaultConfig(64, 512, 4, 15*time.Second) // the owners have work for more
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
			w.directDispatch = seed%2 == 0
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

// beside plays 40 seconds of 40 healthy webhooks with an event a second each beside
// others, and returns the worst share of healthy events in a window of ten seconds
// that waited for longer than a second, and how long 99 of 100 waited at most.
func beside(t *testing.T, answer func(*world) (time.Duration, bool), others func(w *world)) (worst float64, p99 time.Duration) {
	t.Helper()
	w := newWorld(t, 1, testNumbers)
	w.unchecked, w.directDispatch = true, true // the histories check, and with thousands of webhooks that takes long
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

// impure is what makes the scheduler depend on more than its input, besides imports: the clock,
// goroutines and channels.
var impure = regexp.MustCompile(`(?m)^\s*(go|select) |^[^/]*(\bchan |<-|\btime\.(Now|Since|Until|After|AfterFunc|Sleep|NewTimer|NewTicker|Tick)\b)`)

func isPure(t *testing.T, name string, text []byte) bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	allowed := []string{`"bytes"`, `"maps"`, `"slices"`, `"time"`, `"github.com/formsvc/formsvc/storage"`}
	return !impure.Match(text) && !slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return !slices.Contains(allowed, i.Path.Value) })
}

func TestTheSchedulerIsPure(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
	if len(names) < 5 {
		t.Fatalf("%d files are looked at", len(names))
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil || !isPure(t, name, text) {
			t.Errorf("%s depends on more than its input (%v)", name, err)
		}
	}
	// The test sees what it is for.
	for _, bad := range []string{
		"import \"os\"", "import \"math/rand/v2\"", "import \"time\"\nvar t = time.Now()", "func f() { \n go f() }", "var c chan int",
	} {
		if isPure(t, "bad.go", []byte("package scheduler\n"+bad)) {
			t.Errorf("%s is not seen", bad)
		}
	}
}
