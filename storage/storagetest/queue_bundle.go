package storagetest

import (
	"fmt"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// everything claims whatever is due at now, under a lease that outlives the
// case.
func everything(now time.Time) storage.ClaimParams {
	return storage.ClaimParams{Now: now, Lease: time.Hour, Max: 10_000, PerWebhook: 10_000}
}

func (b *bundle) claim(p storage.ClaimParams) []storage.Delivery {
	b.Helper()
	got, err := b.store.ClaimDeliveries(b.Context(), p)
	b.ok(err, "ClaimDeliveries")
	return got
}

// claimOne claims the single delivery that is due at now.
func (b *bundle) claimOne(now time.Time) storage.Delivery {
	b.Helper()
	return b.claimSome(now, 1)[0]
}

// claimSome claims what is due at now and ends the case unless there are n.
func (b *bundle) claimSome(now time.Time, n int) []storage.Delivery {
	b.Helper()
	got := b.claim(everything(now))
	if len(got) != n {
		b.Fatalf("ClaimDeliveries: want %d, which are due, got %d", n, len(got))
	}
	return got
}

// claimNone reports a failure when anything can be claimed at now.
func (b *bundle) claimNone(now time.Time, why string, args ...any) {
	b.Helper()
	if got := b.claim(everything(now)); len(got) > 0 {
		b.Errorf("ClaimDeliveries: want none (%s), got %d, the first for webhook %s",
			fmt.Sprintf(why, args...), len(got), got[0].Lease.WebhookID)
	}
}

// claimEventually claims until a delivery comes, for leases that have to run
// out on the store's clock first.
func (b *bundle) claimEventually(p storage.ClaimParams) []storage.Delivery {
	b.Helper()
	pause := time.NewTicker(2 * time.Millisecond)
	defer pause.Stop()
	limit := time.NewTimer(20 * time.Second)
	defer limit.Stop()
	for {
		if got := b.claim(p); len(got) > 0 {
			return got
		}
		select {
		case <-pause.C:
		case <-limit.C:
			b.Fatalf("ClaimDeliveries: a lease of a few milliseconds did not run out within 20 s on the store's clock")
		case <-b.Context().Done():
			b.Fatalf("ClaimDeliveries: the test ended before a lease of a few milliseconds ran out: %v", b.Context().Err())
		}
	}
}

// attemptOf returns a failed attempt at the delivery, after which it ends.
func attemptOf(d storage.Delivery, when time.Time) *storage.Attempt {
	return &storage.Attempt{
		ID: newID(), WebhookID: d.Lease.WebhookID, EventID: d.Lease.EventID,
		EventType: d.EventType, SubmissionID: d.SubmissionID, Attempt: d.Attempt,
		Status: 503, Error: "status", Duration: 150 * time.Millisecond, CreatedAt: when,
	}
}

// ended is the result of a delivery that is not tried again.
func ended(d storage.Delivery, when time.Time) storage.Result {
	return storage.Result{Lease: d.Lease, Attempt: attemptOf(d, when)}
}

// retried is the result of a delivery that is tried again at next.
func retried(d storage.Delivery, when, next time.Time) storage.Result {
	r := ended(d, when)
	r.Attempt.NextAttemptAt = next
	return r
}

// finish settles claimed deliveries, none of which may be fenced.
func (b *bundle) finish(keep int, done ...storage.Result) {
	b.Helper()
	fenced, err := b.store.FinishDeliveries(b.Context(), done, keep)
	b.ok(err, "FinishDeliveries")
	if len(fenced) > 0 {
		b.Fatalf("FinishDeliveries: want no lease fenced, got %d of %d", len(fenced), len(done))
	}
}

// fenced settles one delivery, whose lease has to come back as fenced.
func (b *bundle) fenced(r storage.Result, why string) {
	b.Helper()
	got, err := b.store.FinishDeliveries(b.Context(), []storage.Result{r}, 100)
	b.ok(err, "FinishDeliveries")
	if len(got) != 1 || got[0] != r.Lease {
		b.Errorf("FinishDeliveries: want the lease returned as fenced (%s), got %v", why, got)
	}
}

func (b *bundle) attempts(webhook storage.ID) []storage.Attempt {
	b.Helper()
	got, err := b.store.Attempts(b.Context(), storage.AsHost(), webhook, 1000)
	b.ok(err, "Attempts")
	return got
}

func (b *bundle) stats(now time.Time) storage.QueueStats {
	b.Helper()
	got, err := b.store.QueueStats(b.Context(), now)
	b.ok(err, "QueueStats")
	return got
}

// nothingPending reports a failure when a delivery is pending, due or not.
func (b *bundle) nothingPending(why string) {
	b.Helper()
	if s := b.stats(soon()); s.Due+s.Waiting != 0 {
		b.Errorf("QueueStats: want no pending delivery (%s), got Due %d and Waiting %d", why, s.Due, s.Waiting)
	}
}
