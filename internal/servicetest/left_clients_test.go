package servicetest_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/servicetest"
)

// Clients disconnect at any moment while their submissions are stored. Whatever is stored is sent
// immediately, not when a lease that nobody works on has ended.
func TestWebhooksOfClientsWhoLeaveAreSentAtOnce(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		var mu sync.Mutex
		sent := map[formsvc.ID]bool{}
		receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			var event struct {
				Response struct{ SubmissionID formsvc.ID }
			}
			_ = json.NewDecoder(r.Body).Decode(&event)
			mu.Lock()
			defer mu.Unlock()
			sent[event.Response.SubmissionID] = true
		}))
		t.Cleanup(receiver.Close)
		form := b.Form(servicetest.TextBlock, `{}`)
		hook := b.Webhook(form, receiver.URL, servicetest.Secret)
		b.Dispatch()
		began := time.Now()
		if _, err := b.Answer(form, "name", `"first"`); err != nil {
			t.Fatal(err)
		}
		span := 3 * time.Since(began) // some leave and some stay, however busy the machine is
		b.Deliveries(hook, 1)         // it is known to be quick, so that room is made for it
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				for range 40 {
					ctx, leave := context.WithTimeout(t.Context(), rand.N(span))
					_, _ = b.Submit(ctx, formsvc.Response{FormID: form, Answers: servicetest.Answers("name", `"x"`)})
					leave()
				}
			})
		}
		group.Wait()
		var stored []formsvc.ID
		unsent := func() (n int) {
			stored = nil
			for s, err := range b.AsHost().Submissions(t.Context(), form, formsvc.SubmissionQuery{}) {
				if err != nil {
					t.Fatal(err)
				}
				stored = append(stored, s.ID)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, id := range stored {
				if !sent[id] {
					n++
				}
			}
			return n
		}
		end := time.Now().Add(15 * time.Second) // a lease is longer
		n := unsent()
		for n > 0 && time.Now().Before(end) {
			n = unsent()
		}
		if n > 0 || len(stored) < 2 {
			t.Errorf("of %d submissions %d are not sent", len(stored), n)
		}
	})
}
