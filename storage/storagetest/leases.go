package storagetest

import (
	"time"

	"github.com/formsvc/formsvc/storage"
)

func leaseCases() []Case {
	return []Case{
		{"lease_holds", "A delivery under a lease is not claimed again, whatever the caller's clock says.", leaseHolds},
		{"lease_expires", "A lease that ran out is claimed again, with a larger token.", leaseExpires},
		{"lease_released", "A result without an attempt gives the lease back: the delivery is due as it was, with the same number.", leaseReleased},
		{"stale_lease_fenced", "A result under a lease that was claimed again since is fenced and changes nothing.", staleLease},
		{"expired_lease_counts", "A lease that ran out but was not claimed again still counts.", expiredLease},
		{"unknown_lease_fenced", "A result for a delivery that is not there is fenced, and the others of the batch count.", unknownLease},
		{"token_rises", "Each lease of a delivery has a larger token than those before, after a retry and a redelivery too.", tokenRises},
		{"lease_of_redelivered_fenced", "A lease from before a redelivery does not settle the new delivery.", leaseBeforeRedelivery},
	}
}

// aMoment is a lease that runs out while a case waits for it.
const aMoment = 5 * time.Millisecond

// claimBriefly claims the single delivery that is due under a short lease.
func (b *bundle) claimBriefly() storage.Delivery {
	b.Helper()
	p := everything(soon())
	p.Lease = aMoment
	return only(b, b.claim(p), "ClaimDeliveries")
}

// claimAgain waits until the lease of the only delivery runs out and claims it.
func (b *bundle) claimAgain() storage.Delivery {
	b.Helper()
	return b.claimEventually(everything(soon()))[0]
}

func leaseHolds(b *bundle) {
	f := b.anyForm()
	b.addWebhook(f.ID)
	b.submit(f)
	d := b.claimOne(soon())
	for _, later := range []time.Duration{0, time.Minute, 24 * time.Hour, 10_000 * time.Hour} {
		b.claimNone(soon().Add(later), "the lease holds on the store's clock, %v later on the caller's", later)
	}
	b.finish(100, ended(d, b.tick()))
}

func leaseExpires(b *bundle) {
	f := b.anyForm()
	b.addWebhook(f.ID)
	n := b.submit(f)
	first := b.claimBriefly()
	second := b.claimAgain()
	same(b, second.Lease.EventID, n.Event.ID, "the event claimed again")
	same(b, second.Body, n.Event.Body, "Body, claimed again")
	if second.Lease.Token <= first.Lease.Token {
		b.Errorf("Lease.Token: want more than %d, that of the earlier lease, got %d", first.Lease.Token, second.Lease.Token)
	}
	b.finish(100, ended(second, b.tick()))
	b.nothingPending("the second lease was settled")
}

func leaseReleased(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	b.submit(f)
	b.finish(100, retried(b.claimOne(soon()), b.tick(), soon()))
	stats := b.stats(soon())
	first := b.claimOne(soon())
	b.finish(100, storage.Result{Lease: first.Lease, Failures: 7, PausedUntil: soon().Add(time.Hour)})
	same(b, b.stats(soon()), stats, "QueueStats after the lease was given back")
	second := b.claimOne(soon())
	same(b, second.Attempt, 2, "Attempt after the lease was given back")
	same(b, second.Failures, 0, "Failures: those of a result without an attempt are ignored")
	same(b, len(b.attempts(w.ID)), 1, "attempts in the history: nothing was sent the second time")
	if second.Lease.Token <= first.Lease.Token {
		b.Errorf("Lease.Token: want more than %d, that of the lease that was given back, got %d", first.Lease.Token, second.Lease.Token)
	}
	b.fenced(ended(first, b.tick()), "the delivery was claimed again since")
}

func staleLease(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	b.submit(f)
	stale := b.claimBriefly()
	current := b.claimAgain()
	b.unchanged("FinishDeliveries with a stale lease", func() {
		r := retried(stale, b.tick(), soon().Add(time.Hour))
		r.Failures, r.PausedUntil = 9, soon().Add(100*time.Hour)
		b.fenced(r, "the delivery was claimed again since")
		b.fenced(ended(stale, b.tick()), "the delivery was claimed again since")
		b.fenced(storage.Result{Lease: stale.Lease}, "the delivery was claimed again since")
	})
	b.claimNone(soon(), "the current lease holds")
	b.finish(100, retried(current, b.tick(), soon()))
	same(b, len(b.attempts(w.ID)), 1, "attempts in the history: that of the current lease")
	next := b.claimOne(soon())
	same(b, next.Attempt, 2, "Attempt: one result counted")
	same(b, next.Failures, 0, "Failures: those of the fenced result do not count")
}

func expiredLease(b *bundle) {
	// Two webhooks are claimed under one lease. That one of them can be claimed
	// again shows that the lease of the other ran out too.
	f := b.anyForm()
	one, two := b.addWebhook(f.ID), b.addWebhook(f.ID)
	b.submit(f)
	p := everything(soon())
	p.Lease = aMoment
	var mine storage.Delivery
	batch := b.claim(p)
	same(b, len(batch), 2, "deliveries of one event for two webhooks")
	for _, d := range batch {
		if d.Lease.WebhookID == one.ID {
			mine = d
		}
	}
	p = everything(soon())
	p.Held = map[storage.ID]int{one.ID: p.PerWebhook}
	for _, d := range b.claimEventually(p) {
		same(b, d.Lease.WebhookID, two.ID, "the webhook with room")
	}
	b.finish(100, ended(mine, b.tick()))
	same(b, len(b.attempts(one.ID)), 1, "attempts in the history")
	b.claimNone(soon(), "one delivery ended, the other is under a lease")
}

func unknownLease(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	b.submit(f)
	d := b.claimOne(soon())
	wrong := []storage.Lease{
		{WebhookID: newID(), EventID: d.Lease.EventID, Token: d.Lease.Token},
		{WebhookID: w.ID, EventID: newID(), Token: d.Lease.Token},
		{WebhookID: w.ID, EventID: d.Lease.EventID, Token: d.Lease.Token - 1},
	}
	var done []storage.Result
	for _, l := range wrong {
		r := ended(d, b.tick())
		r.Lease = l
		done = append(done, r)
	}
	done = append(done, ended(d, b.tick()))
	got, err := b.store.FinishDeliveries(b.Context(), done, 100)
	b.ok(err, "FinishDeliveries")
	same(b, len(got), len(wrong), "leases that are fenced")
	for _, l := range got {
		if l == d.Lease {
			b.Errorf("FinishDeliveries: the lease that holds is fenced")
		}
	}
	same(b, len(b.attempts(w.ID)), 1, "attempts in the history")
	b.nothingPending("the delivery ended")

	got, err = b.store.FinishDeliveries(b.Context(), nil, 100)
	b.ok(err, "FinishDeliveries without results")
	same(b, got, nil, "leases that are fenced without results")
}

func tokenRises(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	b.submit(f)
	var last int64
	for i := range 6 {
		d := b.claimOne(soon())
		if i > 0 && d.Lease.Token <= last {
			b.Errorf("Lease.Token of claim %d: want more than %d, got %d", i+1, last, d.Lease.Token)
		}
		last = d.Lease.Token
		switch i % 3 {
		case 0:
			b.finish(100, storage.Result{Lease: d.Lease})
		case 1:
			b.finish(100, retried(d, b.tick(), soon()))
		default:
			r := ended(d, b.tick())
			b.finish(100, r)
			b.ok(b.store.Redeliver(b.Context(), w.ID, r.Attempt.ID, soon()), "Redeliver")
		}
	}
}

func leaseBeforeRedelivery(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	b.submit(f)
	stale := b.claimBriefly()
	second := ended(b.claimAgain(), b.tick())
	b.finish(100, second)
	b.ok(b.store.Redeliver(b.Context(), w.ID, second.Attempt.ID, soon()), "Redeliver")
	current := b.claimOne(soon())
	b.fenced(ended(stale, b.tick()), "its delivery ended, and the event was queued again")
	late := second
	late.Attempt = attemptOf(current, b.tick())
	b.fenced(late, "its delivery ended, and the event was queued again")
	b.finish(100, ended(current, b.tick()))
	same(b, len(b.attempts(w.ID)), 2, "attempts in the history")
}
