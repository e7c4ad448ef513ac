package memory

import (
	"testing"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// The last attempt of a delivery that ends without another one says so.
func TestNothingFollowsWhatEnded(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, b *bundle, hook storage.ID){
		"its webhook is disabled": func(t *testing.T, b *bundle, hook storage.ID) {
			_, err := b.store.UpdateWebhook(t.Context(), b.owner, hook, storage.WebhookChange{Enabled: new(bool), At: start})
			must(t, err)
		},
		"its form goes to the trash": func(t *testing.T, b *bundle, _ storage.ID) {
			must(t, b.store.TrashForm(t.Context(), b.owner, b.form, storage.TrashParams{At: start}))
			must(t, b.store.RestoreForm(t.Context(), b.form, storage.ID{}, start))
		},
		"it expires": func(t *testing.T, b *bundle, _ storage.ID) {
			p := storage.ExpireParams{NewID: func() storage.ID { return id('x', 1) }, At: start.Add(-time.Hour)}
			none, err := b.store.ExpireDeliveries(t.Context(), p)
			if err != nil || none.Deliveries != 0 || !none.Next.IsZero() {
				t.Errorf("a call with a Max of 0: %+v, %v", none, err)
			}
			p.Max = 1
			done, err := b.store.ExpireDeliveries(t.Context(), p)
			if err != nil || done.Deliveries != 1 {
				t.Errorf("ended %d deliveries, want 1: %v", done.Deliveries, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := start
			b := setup(t, WithClock(func() time.Time { return clock }))
			hook := b.addWebhook(t, 1)
			b.submit(t, 1)
			got, _, err := b.store.ClaimDeliveries(t.Context(), storage.ClaimParams{Others: storage.Pool{Room: 1}, PerWebhook: 1})
			must(t, err)
			_, err = b.store.FinishDeliveries(t.Context(), []storage.Result{{
				Lease: got[0].Lease, Delivery: &storage.Delivery{ID: id('a', 1), EventID: got[0].Lease.EventID, CreatedAt: start},
				RetryIn: time.Minute, Standing: storage.Standing{Failures: 1},
			}})
			must(t, err)
			newest := func() storage.Delivery {
				list, err := b.store.Deliveries(t.Context(), b.owner, hook, 1)
				must(t, err)
				return list[0]
			}
			if newest().NextAttemptAt.IsZero() {
				t.Fatal("nothing follows while the delivery waits")
			}
			clock = clock.Add(time.Hour)
			end(t, b, hook)
			if a := newest(); !a.NextAttemptAt.IsZero() {
				t.Errorf("NextAttemptAt = %v after the delivery ended", a.NextAttemptAt)
			}
		})
	}
}
