package webhooks

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Receivers that take their time get nearly what four requests at once can do, and
// those with a large page for an answer are not slow.
func TestHonestReceiversGetTheirFourRequests(t *testing.T) {
	t.Parallel()
	for _, took := range []time.Duration{20 * time.Millisecond, 300 * time.Millisecond, 2 * time.Second} {
		t.Run(took.String(), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				var sent atomic.Int32
				b := newBench(t, Config{}, roundTrip(func(*http.Request) (*http.Response, error) {
					sent.Add(1)
					time.Sleep(took)
					resp := reply(200)
					resp.Body = http.MaxBytesReader(nil, page{strings.NewReader(strings.Repeat("x", 100<<10))}, maxResponseBody)
					return resp, nil
				}))
				b.d.store = busy(b.store) // its calls take as long as those of a busy database
				for w := range 10 {
					id := b.webhook(fmt.Sprintf("https://h%d.example/", w), nil)
					for range 1200 {
						b.event(id, "x")
					}
				}
				b.run()
				time.Sleep(time.Second + 4*took) // until they are known to be good
				before, span := sent.Load(), max(4*time.Second, 20*took)
				time.Sleep(span)
				got, want := float64(sent.Load()-before), 10*4*span.Seconds()/took.Seconds()
				t.Logf("%.2f of what four at once can do", got/want)
				if got < 0.9*want {
					t.Errorf("%.0f requests in %s, four at once can do %.0f", got, span, want)
				}
				if due := b.stats().Due; due < 1000 {
					t.Errorf("%d deliveries were left: too few to keep all busy", due)
				}
			})
		})
	}
}

type page struct{ *strings.Reader }

func (page) Close() error { return nil }
