package webhooks

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// endlessBody is a body that never ends: a byte every pause, or as fast as it is
// read. Like that of a real connection it ends with the request.
type endlessBody struct {
	ctx   context.Context
	pause time.Duration
	read  *atomic.Int64
	leave func()
}

func (e endlessBody) Read(p []byte) (int, error) {
	if e.pause > 0 {
		select {
		case <-time.After(e.pause):
			p = p[:1]
		case <-e.ctx.Done():
		}
	}
	if err := e.ctx.Err(); err != nil {
		return 0, err
	}
	e.read.Add(int64(len(p)))
	return len(p), nil
}

func (e endlessBody) Close() error {
	e.leave()
	return nil
}

// receivers stands for the network: what a host does is in its name.
type receivers struct {
	mu             sync.Mutex
	all, most      int
	bad, mostBad   int
	good, mostGood int
	read           atomic.Int64
}

func (n *receivers) enter(count, most *int) (leave func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	*count++
	*most = max(*most, *count)
	n.all++
	n.most = max(n.most, n.all)
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		*count--
		n.all--
	}
}

func (n *receivers) RoundTrip(r *http.Request) (*http.Response, error) {
	kind, _, _ := strings.Cut(r.URL.Host, "-")
	if kind == "good" {
		defer n.enter(&n.good, &n.mostGood)()
		time.Sleep(45 * time.Millisecond)
		return reply(200), nil
	}
	leave := n.enter(&n.bad, &n.mostBad)
	body := func(pause time.Duration) *http.Response {
		resp := reply(200)
		resp.Body = http.MaxBytesReader(nil, endlessBody{r.Context(), pause, &n.read, leave}, maxResponseBody)
		return resp
	}
	switch kind {
	case "drips":
		return body(time.Second), nil
	case "streams":
		return body(0), nil
	case "resets":
		defer leave()
		time.Sleep(10 * time.Millisecond)
		return nil, io.ErrUnexpectedEOF
	default: // hangs
		defer leave()
		<-r.Context().Done()
		return nil, context.Cause(r.Context())
	}
}

// timeOfGood tells how long 50 healthy webhooks with 40 deliveries each take,
// beside bad ones of these kinds, all of them new.
func timeOfGood(t *testing.T, bad int, kinds ...string) (took time.Duration, n *receivers) {
	t.Helper()
	inBubble(t, func(t *testing.T) {
		n = &receivers{}
		b := newBench(t, Config{}, n)
		for i := range bad { // in front of the others
			id := b.webhook(fmt.Sprintf("https://%s-%d.example/", kinds[i%len(kinds)], i), nil)
			for range 40 {
				b.event(id, "x")
			}
		}
		good, untried := map[storage.ID]bool{}, map[storage.ID]bool{}
		for i := range 50 {
			id := b.webhook(fmt.Sprintf("https://good-%d.example/", i), nil)
			good[id], untried[id] = true, true
			for range 40 {
				b.event(id, "x")
			}
		}
		started := time.Now()
		stop := b.run()
		for left := 50 * 40; left > 0; {
			a := <-b.seen.attempts
			if good[a.WebhookID] {
				left--
				delete(untried, a.WebhookID)
			}
			if len(untried) > 0 && time.Since(started) > 500*time.Millisecond {
				t.Fatalf("%d healthy webhooks wait for others", len(untried))
			}
			if a.Error == ClassTimeout {
				t.Fatal("a healthy webhook waited for the time-out of another one")
			}
		}
		took = time.Since(started)
		stop()
	})
	return took, n
}

// Half of 100 destinations are new and bad and have 2,000 deliveries. Time is the
// bubble's, so this does not depend on the machine.
func TestBadDestinationsCostHealthyOnesNothing(t *testing.T) {
	t.Parallel()
	alone, _ := timeOfGood(t, 0)
	for _, c := range []struct {
		kinds string
		most  float64 // times as long
	}{
		{"hangs drips resets streams", 1.2},
		{"resets streams", 1.2},
		// Each of them holds a slot until its first time-out, which leaves 14: what can
		// be had with receivers that take 45 ms.
		{"hangs", 3.5},
		{"drips", 3.5},
	} {
		t.Run(c.kinds, func(t *testing.T) {
			beside, n := timeOfGood(t, 50, strings.Fields(c.kinds)...)
			t.Logf("%s alone, %s beside; at most %d requests to bad ones, %d to good ones", alone, beside, n.mostBad, n.mostGood)
			if beside.Seconds() > alone.Seconds()*c.most {
				t.Errorf("healthy ones took %s, alone they take %s", beside, alone)
			}
			if n.mostBad > 50 || n.mostGood > DefaultInFlight {
				t.Errorf("%d requests at once to bad ones, %d to good ones", n.mostBad, n.mostGood)
			}
			// What is read of an answer that does not end is bounded.
			if got := n.read.Load(); got > 50*40*maxResponseBody {
				t.Errorf("%d bytes were read", got)
			}
		})
	}
}

func TestAWebhookThatHasNotAnsweredGetsOneRequest(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		var sent atomic.Int32
		answer := make(chan struct{})
		b := newBench(t, Config{InFlightWebhook: 3}, roundTrip(func(r *http.Request) (*http.Response, error) {
			if sent.Add(1) == 1 {
				<-answer
				return reply(200), nil
			}
			return hangs(r)
		}))
		id := b.webhook(hook, nil)
		for range 20 {
			b.event(id, "x")
		}
		b.run()
		time.Sleep(2 * time.Second)
		if got := sent.Load(); got != 1 {
			t.Errorf("%d requests before the first answer, want 1", got)
		}
		// What is not sent is not kept from others meanwhile.
		free := b.claim(time.Nanosecond)
		expect(t, len(free) == 19, "%d deliveries can be claimed, want 19", len(free))
		time.Sleep(time.Millisecond) // that lease is over
		close(answer)
		time.Sleep(500 * time.Millisecond)
		if got := sent.Load(); got != 1+3 {
			t.Errorf("%d requests after the first answer, want 3 more", got)
		}
	})
}

// What is sent and not written is sent again when the process dies.
func TestWhatIsSentAndNotWrittenIsBounded(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		var sent atomic.Int32
		b := newBench(t, Config{InFlight: 8}, roundTrip(func(*http.Request) (*http.Response, error) { sent.Add(1); return reply(200), nil }))
		open := make(chan struct{})
		b.d.store = gated{b.store, takes(0), func() error { <-open; return nil }}
		for w := range 20 {
			id := b.webhook(fmt.Sprintf("https://h%d.example/", w), nil)
			for range 20 {
				b.event(id, "x")
			}
		}
		b.run()
		time.Sleep(5 * time.Second)
		// The first request of each is one of the second pool.
		if got := sent.Load(); got != 20+8*8 {
			t.Errorf("%d requests while nothing is written, want %d", got, 20+8*8)
		}
		close(open)
		b.seen.wait(t, 400)
		time.Sleep(time.Minute)
		if got := sent.Load(); got != 400 {
			t.Errorf("%d requests for 400 deliveries", got)
		}
	})
}

func hangs(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, context.Cause(r.Context())
}

// Requests that hang at the old URL hold back neither what waits for the new one nor a
// test event, whether the webhook is new or has been quick.
func TestANewURLDoesNotWaitForTheOldOne(t *testing.T) {
	t.Parallel()
	for name, quick := range map[string]bool{"a new one": false, "a quick one": true} {
		inBubble(t, func(t *testing.T) {
			hangs := !quick
			arrived := make(chan time.Time, 10)
			b := newBench(t, Config{}, roundTrip(func(r *http.Request) (*http.Response, error) {
				if r.URL.Host == "new.example" {
					arrived <- time.Now()
				} else if hangs {
					<-r.Context().Done()
					return nil, context.Cause(r.Context())
				}
				return reply(200), nil
			}))
			id := b.webhook("https://old.example/", nil)
			b.run()
			if quick {
				for range 20 { // it is new, and slow for its first successes
					b.event(id, "x")
					b.seen.wait(t, 1)
				}
				hangs = true
			}
			for range 6 {
				b.event(id, "x")
			}
			time.Sleep(2 * time.Second)
			to := "https://new.example/"
			_, err := b.store.UpdateWebhook(t.Context(), storage.AsHost(), id, storage.WebhookChange{URL: &to, At: time.Now()})
			must(t, err)
			b.testEvent(id)
			moved := time.Now()
			b.d.Wake()
			for i := range 2 {
				if late := (<-arrived).Sub(moved); late > time.Second {
					t.Errorf("%s: delivery %d came to the new URL after %s", name, i+1, late)
				}
			}
		})
	}
}
