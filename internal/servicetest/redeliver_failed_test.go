package servicetest_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/storage"
)

// outage is a receiver that ends every delivery without success until it is repaired, and counts
// the events that it took.
type outage struct {
	url      string
	repaired atomic.Bool
	mu       sync.Mutex
	taken    map[string]int
}

func newOutage(t *testing.T) *outage {
	o := &outage{taken: map[string]int{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !o.repaired.Load() {
			w.WriteHeader(http.StatusGone)
			return
		}
		id, _, _ := strings.Cut(strings.TrimPrefix(servicetest.ReadAll(t, r.Body), `{"id":"`), `"`)
		o.mu.Lock()
		defer o.mu.Unlock()
		o.taken[id]++
	}))
	t.Cleanup(server.Close)
	o.url = server.URL
	return o
}

// answered stores n responses, lets the receiver refuse them, and returns the form's webhook.
func (o *outage) answered(t *testing.T, b *servicetest.Bundle, n int) (form, hook formsvc.ID, last formsvc.Submission) {
	t.Helper()
	form = b.Form(servicetest.TextBlock, `{}`)
	hook = b.Webhook(form, o.url, servicetest.Secret)
	stop := dispatching(t, b)
	for range n {
		var err error
		if last, err = b.Answer(form, "name", `"Ann"`); err != nil {
			t.Fatal(err)
		}
	}
	b.Deliveries(hook, n)
	stop()
	return form, hook, last
}

// cutOff is a store that fails after some redeliveries.
type cutOff struct {
	storage.Storage
	left   *int
	before func() // each
}

func (s cutOff) RedeliverFailed(ctx context.Context, webhook, delivery storage.ID) error {
	if *s.left--; *s.left < 0 {
		return storage.ErrUnavailable
	}
	s.before()
	return s.Storage.RedeliverFailed(ctx, webhook, delivery)
}

func TestRedeliverFailed(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		ctx, o := t.Context(), newOutage(t)
		form, hook, last := o.answered(t, b, 5)
		_, foreign, _ := o.answered(t, b, 2) // of another form
		want := func(n int, cause error) func(int, error) {
			return func(got int, err error) {
				t.Helper()
				if got != n || !errors.Is(err, cause) {
					t.Errorf("RedeliverFailed: %d, %v; want %d, %v", got, err, n, cause)
				}
			}
		}
		want(0, nil)(b.RedeliverFailed(ctx, hook, time.Now().Add(time.Hour)))
		want(0, formsvc.ErrNotFound)(b.RedeliverFailed(ctx, form, time.Time{}))
		if err := b.AsHost().DeleteSubmission(ctx, form, last.ID); err != nil {
			t.Fatal(err)
		}

		// It is disabled: nothing is queued.
		b.Do(http.MethodPatch, "/webhooks/"+hook.String(), `{"enabled":false}`, nil)
		want(0, formsvc.ErrConflict)(b.RedeliverFailed(ctx, hook, time.Time{}))
		b.Do(http.MethodPatch, "/webhooks/"+hook.String(), `{"enabled":true}`, nil)

		// A store that fails, and a caller who gives up, leave the rest to the next call.
		left := 1
		want(1, storage.ErrUnavailable)(b.Using(cutOff{b.Store, &left, func() {}}).RedeliverFailed(ctx, hook, time.Time{}))
		cancelled, cancel := context.WithCancel(ctx)
		left = 5
		calls := 0
		want(1, context.Canceled)(b.Using(cutOff{b.Store, &left, func() {
			// The first one is queued already, and passed over.
			if calls++; calls == 3 {
				cancel()
			}
		}}).RedeliverFailed(cancelled, hook, time.Time{}))

		// Calls at the same time queue each once.
		var all atomic.Int64
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				n, err := b.RedeliverFailed(ctx, hook, time.Now().Add(-time.Hour))
				if err != nil {
					t.Error(err)
				}
				all.Add(int64(n))
			})
		}
		group.Wait()
		if all.Load() != 2 {
			t.Errorf("calls at once queued %d, want the 2 that were left of 4", all.Load())
		}
		want(0, nil)(b.RedeliverFailed(ctx, hook, time.Time{}))

		o.repaired.Store(true)
		stop := dispatching(t, b)
		b.Deliveries(hook, 9)
		stop()
		want(0, nil)(b.RedeliverFailed(ctx, hook, time.Time{}))
		o.mu.Lock()
		defer o.mu.Unlock()
		if len(o.taken) != 4 {
			t.Errorf("%d events were taken, want 4: %v", len(o.taken), o.taken)
		}
		for id, n := range o.taken {
			if n != 1 {
				t.Errorf("event %s was sent %d times", id, n)
			}
		}
		want(2, nil)(b.RedeliverFailed(ctx, foreign, time.Time{}))
	})
}
