package webhooks

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/formsvc/formsvc/storage"
)

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
		b.d.store = busy(b.store)
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

// Many dead destinations delay a good one neither when they are new nor after a
// restart, when the store knows that they failed.
func TestManyDeadDestinationsDelayNoClaim(t *testing.T) {
	t.Parallel()
	for _, failures := range []int{0, 1} {
		t.Run(fmt.Sprintf("%d failures before", failures), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				b := newBench(t, Config{}, roundTrip(deadOrPrompt))
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
				t.Logf("a good one takes %s on the average, %s at worst", sum/20, worst)
				if worst > time.Second {
					t.Errorf("a good destination waited %s for failing ones", worst)
				}
			})
		})
	}
}
