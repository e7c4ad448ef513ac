package storagetest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
)

func concurrentDeliveryCases() []Case {
	return []Case{
		{"claims", "Concurrent claims return each delivery to exactly one caller.", parallelClaims},
		{"finish", "Concurrent calls of FinishDeliveries with the same results record each attempt once.", parallelFinish},
		{"claim_and_finish", "Workers that claim and finish concurrently deliver each event once, while new events are queued.", parallelWorkers},
		{"enqueue_and_redeliver", "Concurrent calls of Enqueue and Redeliver for one event queue one delivery.", parallelEnqueue},
		{"no_wake_up_lost", "No delivery is lost that is queued while others claim with low limits, pause and finish.", noWakeUpLost},
		{"leaving", "Concurrent sweeps, and concurrent purges, pass each submission to BeforeDelete and end.", leavingAtOnce},
		{"redeliver_failed", "Of concurrent calls of RedeliverFailed for one attempt, one queues a delivery, and none does after the attempt succeeded.", parallelRedeliverFailed},
		{"redeliver", "Concurrent calls of Redeliver for one attempt queue one delivery.", parallelRedeliver},
	}
}

// backlog queues deliveries for a number of webhooks and returns how many.
func (b *bundle) backlog(webhooks, events int) int {
	b.Helper()
	f := b.anyForm()
	for range webhooks {
		b.addWebhook(f.ID)
	}
	for range events {
		b.submit(f)
	}
	return webhooks * events
}

func parallelClaims(b *bundle) {
	want := b.backlog(5, 30)
	const workers = 8
	claimed := make([][]storage.ClaimedDelivery, workers)
	p := b.everything()
	p.NewOrFailing.MaxDeliveries = 7
	stores := []storage.Storage{b.store, b.second}
	errs := together(workers, func(i int) error {
		for {
			got, more, err := stores[i%2].ClaimDeliveries(b.Context(), p)
			if err != nil || len(got) == 0 && !more {
				return err
			}
			claimed[i] = append(claimed[i], got...)
		}
	})
	for _, err := range errs {
		b.ok(err, "ClaimDeliveries concurrently with other calls")
	}
	// What the workers left to each other comes now.
	rest := b.claimAll()
	b.eachOnce(append(slices.Concat(claimed...), rest...), want)
}

// eachOnce reports a failure unless these are the wanted number of deliveries
// and no two are of the same webhook and event.
func (b *bundle) eachOnce(claimed []storage.ClaimedDelivery, want int) {
	b.Helper()
	seen := map[storage.Lease]bool{}
	for _, d := range claimed {
		l := d.Lease
		l.Token = 0
		if seen[l] {
			b.Errorf("ClaimDeliveries: event %s for webhook %s was leased twice before its first lease expired", l.EventID, l.WebhookID)
		}
		seen[l] = true
	}
	same(b, len(claimed), want, "deliveries claimed by all callers together")
}

func parallelFinish(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	var done []storage.Result
	for range 20 {
		b.submit(f)
	}
	for i, d := range b.claimSome(20) {
		r := ended(d, at(time.Duration(i)*time.Minute))
		if i%2 == 0 {
			r.RetryIn = time.Hour
		}
		done = append(done, r)
	}
	errs := together(8, func(int) error {
		return settle(b.Context(), b.store, done)
	})
	for _, err := range errs {
		b.ok(err, "FinishDeliveries concurrently with calls with the same results")
	}
	same(b, len(b.attempts(w.ID)), 20, "number of attempts in the history")
	same(b, b.counts(), storage.QueueStats{Waiting: 10}, "QueueStats: half of the deliveries were rescheduled")
}

// settle finishes deliveries, again and again while others hold what some of them change.
func settle(ctx context.Context, store storage.DeliveryStore, done []storage.Result) error {
	for range 10_000 {
		_, err := store.FinishDeliveries(ctx, done)
		var held *storage.BlockedResultsError
		if !errors.As(err, &held) {
			return err
		}
		done = slices.DeleteFunc(slices.Clone(done), func(r storage.Result) bool { return !slices.Contains(held.Leases, r.Lease) })
	}
	return errors.New("FinishDeliveries returned BlockedResultsError in 10,000 consecutive calls")
}

func parallelWorkers(b *bundle) {
	f := b.anyForm()
	hooks := []storage.ID{b.addWebhook(f.ID).ID, b.addWebhook(f.ID).ID, b.addWebhook(f.ID).ID}
	const workers, submitters, each = 4, 4, 8
	delivered := make([][]storage.ClaimedDelivery, workers)
	p := b.everything()
	p.NewOrFailing.MaxDeliveries, p.Webhooks, p.PerWebhook = 5, nil, 1
	work := func(i int, rounds int) error {
		for range rounds {
			got, _, err := b.store.ClaimDeliveries(b.Context(), p)
			if err != nil {
				return err
			}
			var done []storage.Result
			for _, d := range got {
				done = append(done, ended(d, at(0)))
			}
			if err := settle(b.Context(), b.store, done); err != nil {
				return err
			}
			delivered[i] = append(delivered[i], got...)
		}
		return nil
	}
	errs := together(workers+submitters, func(i int) error {
		if i < workers {
			return work(i, 15)
		}
		for range each {
			if _, _, err := b.store.Submit(b.Context(), submissionAt(f, at(0))); err != nil {
				return err
			}
		}
		return nil
	})
	for _, err := range errs {
		b.ok(err, "ClaimDeliveries, FinishDeliveries and Submit concurrently")
	}
	rest := b.claimAll()
	for _, d := range rest {
		b.finish(ended(d, at(0)))
	}
	b.eachOnce(append(slices.Concat(delivered...), rest...), len(hooks)*submitters*each)
	for _, w := range hooks {
		same(b, len(b.attempts(w)), submitters*each, "number of attempts in the history of one webhook")
	}
	b.nothingPending("everything was delivered")
}

func parallelRedeliver(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	b.submit(f)
	sent := ended(b.claimOne(), b.tick())
	b.finish(sent)
	for _, err := range together(10, func(int) error { return b.store.Redeliver(b.Context(), w.ID, sent.Delivery.ID) }) {
		b.ok(err, "Redeliver concurrently with other calls")
	}
	same(b, b.claimOne().Attempt, 1, "Attempt of a delivery that was queued again")
}

func parallelRedeliverFailed(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	for range 5 {
		b.submit(f)
		failed := ended(b.claimOne(), b.tick())
		b.finish(failed)
		queued := 0
		for _, err := range together(8, func(int) error { return b.store.RedeliverFailed(b.Context(), w.ID, failed.Delivery.ID) }) {
			if err == nil {
				queued++
			} else {
				b.is(err, storage.ErrNotFound, "RedeliverFailed concurrently with other calls")
			}
		}
		same(b, queued, 1, "concurrent calls of RedeliverFailed that queued the event")

		// The result of the new attempt comes while others ask: whoever looks sees one of the two.
		again := succeeded(b.claimOne(), b.tick())
		for _, err := range together(8, func(i int) error {
			if i == 0 {
				return settle(b.Context(), b.store, []storage.Result{again})
			}
			return b.store.RedeliverFailed(b.Context(), w.ID, failed.Delivery.ID)
		})[1:] {
			b.is(err, storage.ErrNotFound, "RedeliverFailed concurrently with the result of the next attempt")
		}
		b.nothingPending("the event was delivered")
	}
}

func parallelEnqueue(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	for range 5 {
		e := b.enqueue(w.ID)
		sent := ended(b.claimOne(), b.tick())
		b.finish(sent)
		for _, err := range together(8, func(i int) error {
			if i%2 == 0 {
				return b.store.Enqueue(b.Context(), w.ID, e)
			}
			return b.store.Redeliver(b.Context(), w.ID, sent.Delivery.ID)
		}) {
			b.ok(err, "concurrent calls of Enqueue and Redeliver for one event")
		}
		d := b.claimOne()
		same(b, d.Body, e.Body, "Body")
		b.finish(ended(d, b.tick()))
		b.nothingPending("it was delivered")
	}
}

// noWakeUpLost goes through every way in which a store may set deliveries aside,
// while their webhooks change. What is left in the end must be claimable.
func noWakeUpLost(b *bundle) {
	f := b.anyForm()
	var hooks []storage.ID
	for range 3 {
		hooks = append(hooks, b.addWebhook(f.ID, atHost("one.example")).ID)
	}
	const workers, submitters, each = 4, 4, 25
	stores := []storage.Storage{b.store, b.second}
	seen := make([]map[storage.Lease]bool, workers+1) // without the token
	note := func(i int, got []storage.ClaimedDelivery) {
		for _, d := range got {
			d.Lease.Token = 0
			seen[i][d.Lease] = true
		}
	}
	for i := range seen {
		seen[i] = map[storage.Lease]bool{}
	}
	work := func(i int) error {
		store := stores[i%2]
		for round := range 40 {
			p := storage.ClaimParams{
				Lease: time.Hour, Fast: storage.Pool{MaxDeliveries: 2, PerHost: 1 + round%2}, Slow: storage.Pool{MaxDeliveries: 2, PerHost: 1 + round%2}, NewOrFailing: storage.Pool{MaxDeliveries: 2, PerHost: 1 + round%2},
				Webhooks: map[storage.ID]int{hooks[round%3]: round % 2}, PerWebhook: 1,
			}
			got, _, err := store.ClaimDeliveries(b.Context(), p)
			if err != nil {
				return err
			}
			note(i, got)
			var done []storage.Result
			for _, d := range got {
				r := succeeded(d, at(0))
				switch (i + round) % 4 {
				case 0:
					r = paused(d, at(0), aMoment)
				case 1:
					r = storage.Result{Lease: d.Lease, RetryIn: aMoment}
				case 2:
					r.Health = slow
				}
				done = append(done, r)
			}
			if err := settle(b.Context(), store, done); err != nil {
				return err
			}
		}
		return nil
	}
	for _, err := range together(workers+submitters, func(i int) error {
		if i < workers {
			return work(i)
		}
		for range each {
			if _, _, err := stores[i%2].Submit(b.Context(), submissionAt(f, at(0))); err != nil {
				return err
			}
		}
		return nil
	}) {
		b.ok(err, "ClaimDeliveries, FinishDeliveries and Submit concurrently")
	}
	for {
		if st := b.stats(); st.Due+st.Waiting == 0 {
			break
		}
		got := b.claimEventually(b.everything()) // a stranded one never comes
		note(workers, got)
		for _, d := range got {
			b.finish(succeeded(d, at(0)))
		}
	}
	all := map[storage.Lease]bool{}
	for _, s := range seen {
		maps.Copy(all, s)
	}
	same(b, len(all), len(hooks)*submitters*each, "deliveries that were claimed at least once")
}
