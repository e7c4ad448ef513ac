package storagetest

import (
	"time"

	"github.com/formsvc/formsvc/storage"
)

func leaseCases() []Case {
	return []Case{
		{"lease_holds", "A leased delivery is not claimed again, also not through another handle on the same data.", leaseHolds},
		{"lease_expires", "A delivery whose lease has expired is claimed again, with a larger token.", leaseExpires},
		{"lease_released", "A result without an attempt releases the lease: the delivery retains its attempt number and is due after RetryIn.", leaseReleased},
		{"stale_lease_fenced", "A result under a lease whose delivery was claimed again is fenced and changes nothing.", staleLease},
		{"expired_lease_counts", "A result under an expired lease still counts if the delivery was not claimed again.", expiredLease},
		{"unknown_lease_fenced", "A result for a missing delivery is fenced, and the other results of the batch count.", unknownLease},
		{"token_rises", "Each lease of a delivery has a larger token than the earlier leases, also after a retry and a redelivery.", tokenRises},
		{"lease_of_other_handle", "A result can be recorded through any handle on the same data.", leaseOfOtherHandle},
		{"redeliver_leased", "Redeliver of a leased delivery does not change the lease, and makes the delivery due when the lease ends without success.", redeliverLeased},
		{"redeliver_late", "After a redelivery, a failure under an expired lease leaves the delivery due immediately, and a success ends it.", redeliverLate},
		{"redelivery_fails", "A redelivery during a lease requests one attempt, whose failure counts like every other failure.", redeliveryFails},
		{"lease_of_redelivered_fenced", "A result under a lease from before a redelivery does not end the new delivery.", leaseBeforeRedelivery},
	}
}

// aMoment is a lease that runs out while a case waits for it.
const aMoment = 5 * time.Millisecond

// claimBriefly claims the single delivery that is due under a short lease.
func (b *bundle) claimBriefly() storage.ClaimedDelivery {
	b.Helper()
	p := b.everything()
	p.Lease = aMoment
	return only(b, b.claim(p), "ClaimDeliveries")
}

// claimAgain waits until the lease of the only delivery runs out and claims it.
func (b *bundle) claimAgain() storage.ClaimedDelivery {
	b.Helper()
	return b.claimEventually(b.everything())[0]
}

func leaseHolds(b *bundle) {
	f := b.anyForm()
	b.addWebhook(f.ID)
	b.submit(f)
	d := b.claimOne()
	b.claimNone("the lease holds")
	got, _, err := b.second.ClaimDeliveries(b.Context(), b.everything())
	b.ok(err, "ClaimDeliveries of another handle")
	same(b, len(got), 0, "deliveries claimed by another handle while the lease is valid")
	b.finish(ended(d, b.tick()))
}

func leaseOfOtherHandle(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	b.submit(f)
	d := b.claimOne()
	fenced, err := b.second.FinishDeliveries(b.Context(), []storage.Result{ended(d, b.tick())})
	b.ok(err, "FinishDeliveries of another handle")
	same(b, len(fenced), 0, "leases that are fenced for another handle")
	same(b, len(b.attempts(w.ID)), 1, "attempts in the history")
	b.nothingPending("another handle settled the lease")
}

// resultOfRedelivered is a result for attempt 2 of a delivery that is redelivered meanwhile.
type resultOfRedelivered struct {
	result func(d storage.ClaimedDelivery) storage.Result
	again  int // the attempt that comes next; 0: none
}

func (b *bundle) resultsOfRedelivered() map[string]resultOfRedelivered {
	return map[string]resultOfRedelivered{
		"success":                {func(d storage.ClaimedDelivery) storage.Result { return succeeded(d, b.tick()) }, 0},
		"a failure, tried later": {func(d storage.ClaimedDelivery) storage.Result { return paused(d, b.tick(), time.Hour) }, 3},
		"a failure, the last":    {func(d storage.ClaimedDelivery) storage.Result { return ended(d, b.tick()) }, 1},
		"nothing sent":           {func(d storage.ClaimedDelivery) storage.Result { return storage.Result{Lease: d.Lease} }, 2},
	}
}

func redeliverLeased(b *bundle) {
	for name, c := range b.resultsOfRedelivered() {
		f := b.anyForm()
		w := b.addWebhook(f.ID)
		b.submit(f)
		first := retried(b.claimOne(), b.tick(), atOnce)
		b.finish(first)
		d := b.claimOne()
		b.ok(b.store.Redeliver(b.Context(), w.ID, first.Delivery.ID), "Redeliver of a delivery under a lease")
		b.claimNone("the lease holds")
		b.finish(c.result(d))
		b.redeliveredOnce(c, name)
	}
}

// redeliveredOnce holds what comes after the result against c.
func (b *bundle) redeliveredOnce(c resultOfRedelivered, name string) {
	b.Helper()
	got := b.claimAll()
	if c.again == 0 {
		same(b, len(got), 0, "deliveries after %s", name)
		return
	}
	next := only(b, got, "ClaimDeliveries after "+name)
	same(b, next.Attempt, c.again, "Attempt after %s", name)
	b.finish(ended(next, b.tick()))
	b.claimNone("it was redelivered once")
}

func redeliverLate(b *bundle) {
	for name, c := range b.resultsOfRedelivered() {
		for _, how := range []string{"redelivered during the lease", "redelivered after it", "asked for with UpdateWebhook"} {
			f := b.anyForm()
			w := b.addWebhook(f.ID)
			b.addWebhook(f.ID)
			b.submit(f)
			var first storage.ID
			for _, d := range b.claimSome(2) {
				r := retried(d, b.tick(), atOnce)
				b.finish(r)
				if d.Lease.WebhookID == w.ID {
					first = r.Delivery.ID
				}
			}
			redeliver := func(at string) {
				if how == at {
					b.ok(b.store.Redeliver(b.Context(), w.ID, first), "Redeliver")
				}
			}
			late := b.claimLate(w.ID, func() { redeliver("redelivered during the lease") })
			redeliver("redelivered after it")
			if how == "asked for with UpdateWebhook" {
				on := true
				_, err := b.store.UpdateWebhook(b.Context(), storage.AsHost(), w.ID, storage.WebhookChange{Enabled: &on, At: b.tick()})
				b.ok(err, "UpdateWebhook")
			}
			b.finish(c.result(late))
			b.redeliveredOnce(c, name+", late, "+how)
		}
	}
}

func redeliveryFails(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	b.submit(f)
	first := retried(b.claimOne(), b.tick(), atOnce)
	b.finish(first)
	b.claimBriefly()
	b.ok(b.store.Redeliver(b.Context(), w.ID, first.Delivery.ID), "Redeliver of a delivery under a lease")
	b.finish(ended(b.claimAgain(), b.tick()))
	b.nothingPending("the redelivery has finally failed")
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
		b.Errorf("Lease.Token: want more than the token of the earlier lease, %d, got %d", first.Lease.Token, second.Lease.Token)
	}
	b.finish(ended(second, b.tick()))
	b.nothingPending("the second lease was settled")
}

func leaseReleased(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	b.submit(f)
	b.finish(retried(b.claimOne(), b.tick(), atOnce))
	stats := b.stats()
	first := b.claimOne()
	r := paused(first, b.tick(), time.Hour)
	r.Delivery, r.RetryIn = nil, 0
	b.finish(r)
	same(b, b.stats(), stats, "QueueStats after the lease was released")
	second := b.claimOne()
	same(b, second.Attempt, 2, "Attempt after the lease was released")
	same(b, second.Health, storage.Health{}, "Health after a result without an attempt, whose Health must be ignored")
	same(b, len(b.attempts(w.ID)), 1, "attempts in the history: nothing was sent the second time")
	if second.Lease.Token <= first.Lease.Token {
		b.Errorf("Lease.Token: want more than the token of the released lease, %d, got %d", first.Lease.Token, second.Lease.Token)
	}
	b.fenced(ended(first, b.tick()), "the delivery was claimed again since")
	b.finish(storage.Result{Lease: second.Lease, RetryIn: time.Hour})
	b.claimNone("the delivery was released for an hour")
	same(b, b.counts(), storage.QueueStats{Waiting: 1}, "QueueStats after the delivery was released for an hour")
	b.enqueue(w.ID)
	b.finish(storage.Result{Lease: b.claimOne().Lease, RetryIn: aMoment})
	same(b, b.claimEventually(b.everything())[0].Attempt, 1, "Attempt of a delivery that was released for a moment")
}

func staleLease(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	b.submit(f)
	stale := b.claimBriefly()
	current := b.claimAgain()
	b.unchanged("FinishDeliveries with a stale lease", func() {
		b.fenced(paused(stale, b.tick(), time.Hour), "the delivery was claimed again since")
		b.fenced(ended(stale, b.tick()), "the delivery was claimed again since")
		b.fenced(storage.Result{Lease: stale.Lease}, "the delivery was claimed again since")
	})
	b.claimNone("the current lease is valid")
	b.finish(retried(current, b.tick(), atOnce))
	same(b, len(b.attempts(w.ID)), 1, "attempts in the history: want only the attempt of the current lease")
	next := b.claimOne()
	same(b, next.Attempt, 2, "Attempt: one result counted")
	same(b, next.Health, storage.Health{}, "Health after a fenced result, whose Health must be ignored")
}

// claimLate claims what is due of two webhooks, runs meanwhile, and returns the delivery
// of one of them when its lease has run out. That the other one can be claimed again shows
// that it has.
func (b *bundle) claimLate(one storage.ID, meanwhile func()) (late storage.ClaimedDelivery) {
	b.Helper()
	p := b.everything()
	p.Lease = aMoment
	batch := b.claim(p)
	same(b, len(batch), 2, "deliveries of one event for two webhooks")
	for _, d := range batch {
		if d.Lease.WebhookID == one {
			late = d
		}
	}
	meanwhile()
	p = b.everything()
	p.Webhooks[one] = 0
	for _, d := range b.claimEventually(p) {
		if d.Lease.WebhookID == one {
			b.Errorf("ClaimDeliveries: got a delivery of the webhook whose limit is 0")
		}
	}
	return late
}

func expiredLease(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	b.addWebhook(f.ID)
	b.submit(f)
	b.finish(ended(b.claimLate(w.ID, func() {}), b.tick()))
	same(b, len(b.attempts(w.ID)), 1, "attempts in the history")
	b.claimNone("one delivery ended, and the other is leased")
}

func unknownLease(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	b.submit(f)
	d := b.claimOne()
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
	got, err := b.store.FinishDeliveries(b.Context(), done)
	b.ok(err, "FinishDeliveries")
	same(b, len(got), len(wrong), "leases that are fenced")
	for _, l := range got {
		if l == d.Lease {
			b.Errorf("FinishDeliveries: a valid lease was returned as fenced")
		}
	}
	same(b, len(b.attempts(w.ID)), 1, "attempts in the history")
	b.nothingPending("the delivery ended")

	got, err = b.store.FinishDeliveries(b.Context(), nil)
	b.ok(err, "FinishDeliveries without results")
	same(b, got, nil, "leases that are fenced without results")
}

func tokenRises(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	b.submit(f)
	var last int64
	for i := range 6 {
		d := b.claimOne()
		if i > 0 && d.Lease.Token <= last {
			b.Errorf("Lease.Token of claim %d: want more than %d, got %d", i+1, last, d.Lease.Token)
		}
		last = d.Lease.Token
		switch i % 3 {
		case 0:
			b.finish(storage.Result{Lease: d.Lease})
		case 1:
			b.finish(retried(d, b.tick(), atOnce))
		default:
			r := ended(d, b.tick())
			b.finish(r)
			b.ok(b.store.Redeliver(b.Context(), w.ID, r.Delivery.ID), "Redeliver")
		}
	}
}

func leaseBeforeRedelivery(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	b.submit(f)
	stale := b.claimBriefly()
	second := ended(b.claimAgain(), b.tick())
	b.finish(second)
	b.ok(b.store.Redeliver(b.Context(), w.ID, second.Delivery.ID), "Redeliver")
	current := b.claimOne()
	b.fenced(ended(stale, b.tick()), "its delivery ended, and the event was queued again")
	late := second
	late.Delivery = attemptOf(current, b.tick())
	b.fenced(late, "its delivery ended, and the event was queued again")
	b.finish(ended(current, b.tick()))
	same(b, len(b.attempts(w.ID)), 2, "attempts in the history")
}
