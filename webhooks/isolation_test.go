package webhooks

import (
	"context"
	"errors"
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
	bad, mostBad   int
	good, mostGood int
	read           atomic.Int64
}

func (n *receivers) enter(count, most *int) (leave func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	*count++
	*most = max(*most, *count)
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		*count--
	}
}

func (n *receivers) RoundTrip(r *http.Request) (*http.Response, error) {
	kind, _, _ := strings.Cut(r.URL.Host, "-")
	if kind == "good" {
		defer n.enter(&n.good, &n.mostGood)()
		time.Sleep(50 * time.Millisecond)
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
		return nil, r.Context().Err()
	}
}

// timeOfGood tells how long 50 healthy webhooks with 40 deliveries each take,
// beside so many which are not, all of them new.
func timeOfGood(t *testing.T, bad int) (took time.Duration, n *receivers) {
	t.Helper()
	inBubble(t, func(t *testing.T) {
		n = &receivers{}
		b := newBench(t, Config{}, n)
		kinds := []string{"hangs", "drips", "resets", "streams", "hangs"}
		for i := range bad { // in front of the others
			id := b.webhook(fmt.Sprintf("https://%s-%d.example/", kinds[i%len(kinds)], i), nil)
			for range 40 {
				b.event(id, "x")
			}
		}
		good := map[storage.ID]bool{}
		for i := range 50 {
			id := b.webhook(fmt.Sprintf("https://good-%d.example/", i), nil)
			good[id] = true
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

// Time is the bubble's, so this does not depend on the machine.
func TestBadDestinationsCostHealthyOnesNothing(t *testing.T) {
	t.Parallel()
	alone, _ := timeOfGood(t, 0)
	for _, bad := range []int{50, 150} {
		t.Run(fmt.Sprintf("beside %d bad ones", bad), func(t *testing.T) {
			beside, n := timeOfGood(t, bad)
			if beside > alone*12/10 {
				t.Errorf("healthy ones took %s, alone they take %s", beside, alone)
			}
			t.Logf("%s alone, %s beside %d; at most %d requests to bad ones, %d to good ones", alone, beside, bad, n.mostBad, n.mostGood)
			if n.mostBad > atOnce*DefaultInFlight || n.mostGood > 2*DefaultInFlight {
				t.Errorf("%d requests at once to bad ones and %d to good ones", n.mostBad, n.mostGood)
			}
			// What is read of an answer that does not end is bounded.
			if got := n.read.Load(); got > int64(bad)*40*maxResponseBody {
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
		b := newBench(t, Config{}, roundTrip(func(*http.Request) (*http.Response, error) {
			if sent.Add(1) == 1 {
				<-answer
				return reply(200), nil
			}
			time.Sleep(time.Hour)
			return nil, errors.New("late")
		}))
		id := b.webhook(hook, nil)
		for range 20 {
			b.event(id, "x")
		}
		b.run()
		time.Sleep(10 * time.Second)
		if got := sent.Load(); got != 1 {
			t.Errorf("%d requests before the first answer, want 1", got)
		}
		// What is not sent is not kept from others meanwhile.
		free, err := b.store.ClaimDeliveries(t.Context(), storage.ClaimParams{Now: time.Now(), Lease: time.Nanosecond, Max: 100, PerWebhook: 100})
		must(t, err)
		if len(free) != 19 {
			t.Errorf("%d deliveries can be claimed, want 19", len(free))
		}
		time.Sleep(time.Millisecond) // that lease is over
		close(answer)
		time.Sleep(500 * time.Millisecond)
		if got := sent.Load(); got != 1+DefaultInFlightWebhook {
			t.Errorf("%d requests after the first answer, want %d more", got, DefaultInFlightWebhook)
		}
	})
}

func TestSlowDestinationsLeaveTheSlots(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		var hung atomic.Bool
		b := newBench(t, Config{InFlight: 16, InFlightWebhook: 16}, roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.URL.Host == "turns.example" && hung.Load() {
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			time.Sleep(10 * time.Millisecond)
			return reply(200), nil
		}))
		turns := b.webhook("https://turns.example/", nil)
		b.event(turns, "x")
		b.run()
		b.seen.wait(t, 1) // it answers
		hung.Store(true)
		for range 100 {
			b.event(turns, "x") // and takes all slots
		}
		time.Sleep(2 * time.Second)
		good := b.webhook("https://good.example/", nil)
		for range 50 {
			b.event(good, "x")
		}
		started := time.Now()
		b.d.Wake()
		for _, a := range b.seen.wait(t, 50) {
			if a.WebhookID != good {
				t.Fatalf("the dead one ended first: %+v", a)
			}
		}
		if took := time.Since(started); took > 100*time.Millisecond {
			t.Errorf("the good one took %s", took)
		}
	})
}
