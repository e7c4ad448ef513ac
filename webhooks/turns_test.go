package webhooks

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// longTime is how long an answer takes that is slow but comes.
const longTime = 2 * time.Second

// failed makes the store know of so many failures of a webhook.
func (b *bench) failed(id storage.ID, failures int) {
	b.t.Helper()
	b.event(id, "x")
	list := b.claim(time.Minute)
	if len(list) != 1 || list[0].Lease.WebhookID != id {
		b.t.Fatalf("claimed %+v", list)
	}
	_, err := b.store.FinishDeliveries(context.Background(), []storage.Result{{
		Lease: list[0].Lease, Standing: storage.Standing{Failures: failures},
		Delivery: &storage.Delivery{ID: b.ids.New(time.Now()), WebhookID: id, EventID: list[0].Lease.EventID, Attempt: 1, Error: ClassTimeout, CreatedAt: time.Now().UTC()},
	}})
	must(b.t, err)
}

func hangs(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, context.Cause(r.Context())
}

// deadOrPrompt is a network in which hosts whose name begins with dead do not
// answer, and the others after 10 ms.
func deadOrPrompt(r *http.Request) (*http.Response, error) {
	if strings.HasPrefix(r.URL.Host, "dead") {
		return hangs(r)
	}
	time.Sleep(10 * time.Millisecond)
	return reply(200), nil
}

// A destination that answers no longer waits behind destinations that have not answered
// or were slow.
func TestADestinationThatAnswersChangesLines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dead     int // neighbours
		failures int // of all, before the run: slow ones. 0: unproven ones
	}{{8, 1}, {60, 1}, {200, 0}} {
		t.Run(fmt.Sprintf("%d dead, %d failures", c.dead, c.failures), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				b := newBench(t, Config{}, roundTrip(deadOrPrompt))
				good := b.webhook("https://good.example/", nil)
				all := []storage.ID{good}
				for w := range c.dead {
					all = append(all, b.webhook(fmt.Sprintf("https://dead%d.example/", w), nil))
				}
				for _, id := range all {
					if c.failures > 0 {
						b.failed(id, c.failures)
					}
				}
				for _, id := range all {
					for range 40 {
						b.event(id, "x")
					}
				}
				started := time.Now()
				b.run()
				var first time.Duration
				for left := 40; left > 0; {
					a := <-b.seen.attempts
					if a.WebhookID != good {
						continue
					}
					if left--; first == 0 {
						first = time.Since(started)
					}
				}
				if took := time.Since(started) - first; took > time.Second { // 10 × 10 ms
					t.Errorf("after its first answer it took %s for 39 deliveries", took)
				}
			})
		})
	}
}

// One slow destination does not wait for the turns of others that have nothing to
// send.
func TestASlowDestinationDoesNotWaitForIdleOnes(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		b := newBench(t, Config{}, roundTrip(func(*http.Request) (*http.Response, error) {
			time.Sleep(longTime + time.Second)
			return reply(200), nil
		}))
		var all []storage.ID
		for w := range 50 {
			all = append(all, b.webhook(fmt.Sprintf("https://h%d.example/", w), nil))
			b.event(all[w], "x")
		}
		b.run()
		b.seen.wait(t, len(all)) // all are known to be slow
		for range 10 {
			started := time.Now()
			b.event(all[7], "x")
			b.d.Wake()
			b.seen.wait(t, 1)
			if took := time.Since(started); took > longTime+2*time.Second {
				t.Errorf("its request began after %s", took-longTime-time.Second)
			}
		}
	})
}

// Deliveries that wait for slots of their class do not keep a new destination, which
// has slots of another one, from being claimed for.
func TestANewDestinationDoesNotWaitForAJam(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		begun := make(chan time.Time, 1)
		b := newBench(t, Config{}, roundTrip(func(r *http.Request) (*http.Response, error) {
			if strings.HasPrefix(r.URL.Host, "new") {
				begun <- time.Now()
				return reply(200), nil
			}
			time.Sleep(longTime - 100*time.Millisecond)
			return reply(200), nil
		}))
		for w := range 150 {
			id := b.webhook(fmt.Sprintf("https://h%d.example/", w), nil)
			for range 50 {
				b.event(id, "x")
			}
		}
		b.run()
		time.Sleep(20 * time.Second)
		for w := range 20 {
			id := b.webhook(fmt.Sprintf("https://new%d.example/", w), nil)
			queued := time.Now()
			b.event(id, "x")
			b.d.Wake()
			if took := (<-begun).Sub(queued); took > 100*time.Millisecond {
				t.Errorf("its request began after %s", took)
			}
			time.Sleep(730 * time.Millisecond)
		}
	})
}

// busy is a store whose calls take as long as those of a busy database.
type busy struct{ storage.DeliveryStore }

func (s busy) ClaimDeliveries(ctx context.Context, p storage.ClaimParams) ([]storage.ClaimedDelivery, bool, error) {
	time.Sleep(30 * time.Millisecond)
	return s.DeliveryStore.ClaimDeliveries(ctx, p)
}

func (s busy) FinishDeliveries(ctx context.Context, done []storage.Result) ([]storage.Lease, error) {
	time.Sleep(5 * time.Millisecond)
	return s.DeliveryStore.FinishDeliveries(ctx, done)
}

// Backlogs of destinations that answer alike shrink alike.
func TestBacklogsShrinkTogether(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		const destinations, each = 100, 300
		var mu sync.Mutex
		sent := map[string]int{}
		total := 0
		half := make(chan struct{})
		b := newBench(t, Config{}, roundTrip(func(r *http.Request) (*http.Response, error) {
			time.Sleep(2500 * time.Microsecond)
			mu.Lock()
			defer mu.Unlock()
			sent[r.URL.Host]++
			if total++; total == destinations*each/2 {
				close(half)
			}
			if total >= destinations*each/2 {
				return nil, errors.New("enough")
			}
			return reply(200), nil
		}))
		b.d.store = busy{b.store}
		for w := range destinations {
			id := b.webhook(fmt.Sprintf("https://h%d.example/", w), nil)
			for range each {
				b.event(id, "x")
			}
		}
		b.run()
		<-half
		mu.Lock()
		defer mu.Unlock()
		least, most := each, 0
		for _, n := range sent {
			least, most = min(least, n), max(most, n)
		}
		t.Logf("between %d and %d of %d", least, most, each)
		if len(sent) < destinations || least < each*2/5 || most > each*13/20 {
			t.Errorf("when half was sent: of one destination %d of %d, of another %d", least, each, most)
		}
	})
}

// Slow destinations that work get turns.
func TestSlowDestinationsTakeTurns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n    int
		took time.Duration
	}{{30, 3 * time.Second}, {200, 700 * time.Millisecond}} {
		t.Run(fmt.Sprintf("%d of %s", c.n, c.took), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				var mu sync.Mutex
				sent := map[string]int{}
				b := newBench(t, Config{}, roundTrip(func(r *http.Request) (*http.Response, error) {
					mu.Lock()
					sent[r.URL.Host]++
					mu.Unlock()
					time.Sleep(c.took)
					return reply(200), nil
				}))
				st := &counting{DeliveryStore: b.store}
				b.d.store = st
				for w := range c.n {
					id := b.webhook(fmt.Sprintf("https://h%d.example/", w), nil)
					for range 150 {
						b.event(id, "x")
					}
				}
				b.run()
				span := 30 * c.took // four at once send 120 of the 150: nobody runs out
				time.Sleep(span)
				mu.Lock()
				defer mu.Unlock()
				least, most, total := 1<<30, 0, 0
				for _, n := range sent {
					least, most, total = min(least, n), max(most, n), total+n
				}
				t.Logf("between %d and %d requests in %s, %d in all; %d claims, %d writes", least, most, span, total, st.claims.Load(), st.others.Load())
				if len(sent) < c.n || least*4 < most {
					t.Errorf("a destination got %d, another %d requests, %d none", least, most, c.n-len(sent))
				}
			})
		})
	}
}

// Many dead destinations delay a good one neither when they are new nor after a
// restart, when the store knows that they failed.
func TestManyDeadDestinationsDelayNoClaim(t *testing.T) {
	t.Parallel()
	for _, failures := range []int{0, 1} {
		t.Run(fmt.Sprintf("%d failures before", failures), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				b := newBench(t, Config{}, roundTrip(deadOrPrompt))
				var released atomic.Int64
				b.d.store = releases{b.store, &released}
				good := b.webhook("https://good.example/", nil)
				b.event(good, "x")
				stop := b.run()
				b.seen.wait(t, 1) // it is known to answer
				time.Sleep(time.Second)
				stop()
				var dead []storage.ID
				for w := range 600 {
					id := b.webhook(fmt.Sprintf("https://dead%d.example/", w), nil)
					if failures > 0 {
						b.failed(id, failures)
					}
					dead = append(dead, id)
				}
				b.event(good, "x")
				b.run()
				b.seen.wait(t, 1)
				for _, id := range dead {
					for range 10 {
						b.event(id, "x")
					}
				}
				time.Sleep(20 * time.Second)
				var worst, sum time.Duration
				for range 20 {
					for len(b.seen.attempts) > 0 {
						<-b.seen.attempts
					}
					b.event(good, "x")
					started := time.Now()
					b.d.Wake()
					for {
						if a := <-b.seen.attempts; a.WebhookID == good {
							break
						}
					}
					worst, sum = max(worst, time.Since(started)), sum+time.Since(started)
				}
				t.Logf("a good one takes %s on the average, %s at worst; %d releases", sum/20, worst, released.Load())
				if worst > time.Second {
					t.Errorf("a good destination waited %s for failing ones", worst)
				}
			})
		})
	}
}

type releases struct {
	storage.DeliveryStore
	n *atomic.Int64
}

func (r releases) FinishDeliveries(ctx context.Context, done []storage.Result) ([]storage.Lease, error) {
	for _, d := range done {
		if d.Delivery == nil {
			r.n.Add(1)
		}
	}
	return r.DeliveryStore.FinishDeliveries(ctx, done)
}

// A destination that answered a moment ago is known to be prompt when its next
// event comes.
func TestAProvenDestinationStaysProven(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		b := newBench(t, Config{}, roundTrip(deadOrPrompt))
		good := b.webhook("https://good.example/", nil)
		b.event(good, "x")
		b.run()
		b.seen.wait(t, 1)
		time.Sleep(time.Second)
		for w := range 100 {
			id := b.webhook(fmt.Sprintf("https://dead%d.example/", w), nil)
			b.event(id, "x")
		}
		b.d.Wake()
		time.Sleep(time.Second)
		b.event(good, "x")
		started := time.Now()
		b.d.Wake()
		for {
			if a := <-b.seen.attempts; a.WebhookID == good {
				break
			}
		}
		if took := time.Since(started); took > 500*time.Millisecond {
			t.Errorf("a destination that answered two seconds ago waits %s for new ones that do not answer", took)
		}
	})
}

// Slow destinations get their eighth also while others could use all slots.
func TestSlowDestinationsAreServedUnderLoad(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		var mu sync.Mutex
		sent := map[string]int{}
		b := newBench(t, Config{}, roundTrip(func(r *http.Request) (*http.Response, error) {
			mu.Lock()
			kind, _, _ := strings.Cut(r.URL.Host, "-")
			sent[kind]++
			mu.Unlock()
			if kind == "slow" {
				time.Sleep(3 * time.Second)
			} else {
				time.Sleep(1200 * time.Millisecond)
			}
			return reply(200), nil
		}))
		for w := range 8 {
			id := b.webhook(fmt.Sprintf("https://slow-%d.example/", w), nil)
			for range 100 {
				b.event(id, "x")
			}
		}
		for w := range 300 {
			id := b.webhook(fmt.Sprintf("https://good-%d.example/", w), nil)
			for range 60 {
				b.event(id, "x")
			}
		}
		b.run()
		time.Sleep(30 * time.Second)
		mu.Lock()
		before := sent["slow"]
		mu.Unlock()
		time.Sleep(time.Minute)
		mu.Lock()
		defer mu.Unlock()
		t.Logf("slow %d, in the last minute %d, others %d", sent["slow"], sent["slow"]-before, sent["good"])
		if sent["slow"]-before < 20 { // of 8 × 60 ÷ 3
			t.Error("slow ones are starved")
		}
	})
}
