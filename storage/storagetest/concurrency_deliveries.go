package storagetest

import (
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
)

func concurrentDeliveryCases() []Case {
	return []Case{
		{"claims", "Claims at once never give one delivery to two callers, and leave none out.", parallelClaims},
		{"finish", "Calls of FinishDeliveries at once with the same results record each attempt once.", parallelFinish},
		{"claim_and_finish", "Workers that claim and finish at once deliver each event once, while new ones come.", parallelWorkers},
		{"redeliver", "Calls of Redeliver at once for one attempt queue one delivery.", parallelRedeliver},
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
	claimed := make([][]storage.Delivery, workers)
	errs := together(workers, func(i int) error {
		for {
			got, err := b.store.ClaimDeliveries(b.Context(), storage.ClaimParams{Now: soon(), Lease: time.Hour, Max: 7, PerWebhook: 4})
			if err != nil || len(got) == 0 {
				return err
			}
			claimed[i] = append(claimed[i], got...)
		}
	})
	for _, err := range errs {
		b.ok(err, "ClaimDeliveries beside others")
	}
	// What the workers left to each other comes now.
	rest := b.claim(everything(soon()))
	b.eachOnce(append(slices.Concat(claimed...), rest...), want)
}

// eachOnce reports a failure unless these are the wanted number of deliveries
// and no two are of the same webhook and event.
func (b *bundle) eachOnce(claimed []storage.Delivery, want int) {
	b.Helper()
	seen := map[storage.Lease]bool{}
	for _, d := range claimed {
		l := d.Lease
		l.Token = 0
		if seen[l] {
			b.Errorf("ClaimDeliveries: event %s for webhook %s was given out twice while its lease held", l.EventID, l.WebhookID)
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
	for i, d := range b.claimSome(soon(), 20) {
		r := ended(d, at(time.Duration(i)*time.Minute))
		if i%2 == 0 {
			r.Attempt.NextAttemptAt = soon().Add(time.Hour)
		}
		done = append(done, r)
	}
	errs := together(8, func(int) error {
		_, err := b.store.FinishDeliveries(b.Context(), done, 100)
		return err
	})
	for _, err := range errs {
		b.ok(err, "FinishDeliveries beside others with the same results")
	}
	same(b, len(b.attempts(w.ID)), 20, "number of attempts in the history")
	for _, d := range b.claimSome(soon().Add(time.Hour), 10) {
		same(b, d.Attempt, 2, "Attempt of a delivery that was rescheduled")
	}
}

func parallelWorkers(b *bundle) {
	f := b.anyForm()
	hooks := []storage.ID{b.addWebhook(f.ID).ID, b.addWebhook(f.ID).ID, b.addWebhook(f.ID).ID}
	const workers, submitters, each = 4, 4, 8
	delivered := make([][]storage.Delivery, workers)
	work := func(i int, rounds int) error {
		for range rounds {
			got, err := b.store.ClaimDeliveries(b.Context(), storage.ClaimParams{Now: soon(), Lease: time.Hour, Max: 5, PerWebhook: 2})
			if err != nil {
				return err
			}
			var done []storage.Result
			for _, d := range got {
				done = append(done, ended(d, at(0)))
			}
			if _, err := b.store.FinishDeliveries(b.Context(), done, 1000); err != nil {
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
		b.ok(err, "ClaimDeliveries, FinishDeliveries and Submit at once")
	}
	rest := b.claim(everything(soon()))
	for _, d := range rest {
		b.finish(1000, ended(d, at(0)))
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
	sent := ended(b.claimOne(soon()), b.tick())
	b.finish(100, sent)
	for _, err := range together(10, func(int) error { return b.store.Redeliver(b.Context(), w.ID, sent.Attempt.ID, at(time.Hour)) }) {
		b.ok(err, "Redeliver beside others")
	}
	same(b, b.claimOne(soon()).Attempt, 1, "Attempt of a delivery that was queued again")
}
