package storagetest

import (
	"fmt"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// atOnce is a delay that has passed by the next call.
const atOnce = time.Nanosecond

// everything claims whatever is due of the bundle's webhooks, under a lease that
// outlives the case.
func (b *bundle) everything() storage.ClaimParams {
	p := storage.ClaimParams{
		Lease: time.Hour, Fast: storage.Pool{MaxDeliveries: everyRecord}, Slow: storage.Pool{MaxDeliveries: everyRecord}, NewOrFailing: storage.Pool{MaxDeliveries: everyRecord},
		Webhooks: map[storage.ID]int{}, PerWebhook: everyRecord,
	}
	for _, w := range b.webhooks {
		p.Webhooks[w] = everyRecord // one that never succeeded would get one
	}
	return p
}

// claim claims until the store has no more to give at once.
func (b *bundle) claim(p storage.ClaimParams) []storage.ClaimedDelivery {
	b.Helper()
	var all []storage.ClaimedDelivery
	for range 1000 {
		got, more, err := b.store.ClaimDeliveries(b.Context(), p)
		b.ok(err, "ClaimDeliveries")
		all = append(all, got...)
		if !more || len(got) > 0 {
			return all
		}
	}
	b.Fatalf("ClaimDeliveries: says again and again that another call may bring more, and brings nothing")
	return nil
}

// claimAll claims everything, in as many calls as it takes.
func (b *bundle) claimAll() []storage.ClaimedDelivery {
	b.Helper()
	var all []storage.ClaimedDelivery
	for {
		got := b.claim(b.everything())
		if all = append(all, got...); len(got) == 0 {
			return all
		}
	}
}

// claimOne claims the single delivery that is due.
func (b *bundle) claimOne() storage.ClaimedDelivery {
	b.Helper()
	return b.claimSome(1)[0]
}

// claimSome claims what is due and ends the case unless there are n.
func (b *bundle) claimSome(n int) []storage.ClaimedDelivery {
	b.Helper()
	got := b.claimAll()
	if len(got) != n {
		b.Fatalf("ClaimDeliveries: want %d, which are due, got %d", n, len(got))
	}
	return got
}

// claimNone reports a failure when anything can be claimed.
func (b *bundle) claimNone(why string, args ...any) {
	b.Helper()
	if got := b.claimAll(); len(got) > 0 {
		b.Errorf("ClaimDeliveries: want none (%s), got %d, the first for webhook %s",
			fmt.Sprintf(why, args...), len(got), got[0].Lease.WebhookID)
	}
}

// claimEventually claims until a delivery comes, for what has to become due on
// the store's clock first.
func (b *bundle) claimEventually(p storage.ClaimParams) []storage.ClaimedDelivery {
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
			b.Fatalf("ClaimDeliveries: a delivery that should be due after a few milliseconds by the store's clock was not due within 20 s")
		case <-b.Context().Done():
			b.Fatalf("ClaimDeliveries: no delivery became due before the end of the test: %v", b.Context().Err())
		}
	}
}

// attemptOf returns a failed attempt at the delivery.
func attemptOf(d storage.ClaimedDelivery, when time.Time) *storage.Delivery {
	return &storage.Delivery{
		ID: newID(), WebhookID: d.Lease.WebhookID, EventID: d.Lease.EventID,
		EventType: d.EventType, SubmissionID: d.SubmissionID, Attempt: d.Attempt,
		Status: 503, Error: "status", Duration: 150 * time.Millisecond, CreatedAt: when,
	}
}

// ended is the result of a delivery that failed and is not tried again.
func ended(d storage.ClaimedDelivery, when time.Time) storage.Result {
	return storage.Result{Lease: d.Lease, Delivery: attemptOf(d, when)}
}

// retried is the result of a delivery that is tried again after a delay.
func retried(d storage.ClaimedDelivery, when time.Time, after time.Duration) storage.Result {
	r := ended(d, when)
	r.RetryIn = after
	return r
}

// succeeded is the result of a delivery that was taken, by a webhook that is
// quick.
func succeeded(d storage.ClaimedDelivery, when time.Time) storage.Result {
	r := ended(d, when)
	r.Delivery.Status, r.Delivery.Success, r.Delivery.Error = 204, true, ""
	r.Health = quick
	return r
}

var (
	quick = storage.Health{Succeeded: true}
	slow  = storage.Health{Succeeded: true, SuccessesUntilFast: 8}
)

// paused is the result of a failure that pauses the webhook. Its delivery is due
// again at once, but for the pause.
func paused(d storage.ClaimedDelivery, when time.Time, pause time.Duration) storage.Result {
	r := retried(d, when, atOnce)
	r.Health = storage.Health{Failures: 10}
	r.PauseFor = pause // for PauseFailures, which is what no reason stands for
	return r
}

// finish settles claimed deliveries, none of which may be fenced.
func (b *bundle) finish(done ...storage.Result) {
	b.Helper()
	fenced, err := b.store.FinishDeliveries(b.Context(), done)
	b.ok(err, "FinishDeliveries")
	if len(fenced) > 0 {
		b.Fatalf("FinishDeliveries: want no lease fenced, got %d of %d", len(fenced), len(done))
	}
}

// fenced settles one delivery, whose lease has to come back as fenced.
func (b *bundle) fenced(r storage.Result, why string) {
	b.Helper()
	got, err := b.store.FinishDeliveries(b.Context(), []storage.Result{r})
	b.ok(err, "FinishDeliveries")
	if len(got) != 1 || got[0] != r.Lease {
		b.Errorf("FinishDeliveries: want the lease returned as fenced (%s), got %v", why, got)
	}
}

// attempts returns the history. The store decides the time of the next attempt, so that
// time is left out.
func (b *bundle) attempts(webhook storage.ID) []storage.Delivery {
	b.Helper()
	got, err := b.store.Deliveries(b.Context(), storage.AsHost(), webhook, 1000)
	b.ok(err, "Deliveries")
	for i := range got {
		got[i].NextAttemptAt = time.Time{}
	}
	return got
}

// nothingFollows fails if the newest attempt says that another one comes.
func (b *bundle) nothingFollows(webhook storage.ID) {
	b.Helper()
	got, err := b.store.Deliveries(b.Context(), storage.AsHost(), webhook, 1)
	b.ok(err, "Deliveries")
	if len(got) != 1 || !got[0].NextAttemptAt.IsZero() {
		b.Errorf("Deliveries: want no NextAttemptAt after the delivery ended, got %v", got)
	}
}

// newestAttempt returns the first one of the history.
func (b *bundle) newestAttempt(webhook storage.ID) storage.Delivery {
	b.Helper()
	all := b.attempts(webhook)
	if len(all) == 0 {
		b.Fatalf("Deliveries: want at least one delivery, got none")
	}
	return all[0]
}

func (b *bundle) stats() storage.QueueStats {
	b.Helper()
	got, err := b.store.QueueStats(b.Context())
	b.ok(err, "QueueStats")
	return got
}

// counts returns the statistics without a time.
func (b *bundle) counts() storage.QueueStats {
	b.Helper()
	got := b.stats()
	got.OldestDue = time.Time{}
	return got
}

// nothingPending reports a failure when a delivery is pending, due or not.
func (b *bundle) nothingPending(why string) {
	b.Helper()
	if s := b.stats(); s.Due+s.Waiting != 0 {
		b.Errorf("QueueStats: want no pending delivery (%s), got Due %d and Waiting %d", why, s.Due, s.Waiting)
	}
}
