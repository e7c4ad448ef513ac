package storagetest

import (
	"time"

	"github.com/formsvc/formsvc/storage"
)

func finishCases() []Case {
	return []Case{
		{"reschedule", "A result with RetryIn makes the delivery due again after that time, as the next attempt, and the history contains this time.", finishReschedules},
		{"end", "A result without RetryIn removes the delivery from the queue.", finishEnds},
		{"finish_twice", "Repeating FinishDeliveries with the same results has no effect.", finishTwice},
		{"finish_batch", "FinishDeliveries records a batch of several webhooks in one step.", finishBatch},
		{"history_cut", "The history contains the MaxHistory newest attempts of each webhook, newest first.", historyCut},
		{"finish_many", "Results beyond MaxFinishedResults are recorded too.", finishMany},
		{"cut_attempt_is_gone", "An attempt that was truncated cannot be redelivered, but the body remains for other references.", cutAttemptGone},
	}
}

func finishReschedules(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	b.submit(f)
	var want []storage.Delivery
	for attempt := 1; attempt <= 4; attempt++ {
		d := b.claimOne()
		same(b, d.Attempt, attempt, "Attempt")
		r := retried(d, b.tick(), atOnce)
		if attempt == 4 {
			r.RetryIn = time.Hour
		}
		r.Delivery.NextAttemptAt = at(0) // not read
		b.finish(r)
		r.Delivery.NextAttemptAt = time.Time{}
		want = append([]storage.Delivery{*r.Delivery}, want...)
	}
	b.claimNone("due in an hour")
	same(b, b.attempts(w.ID), want, "Deliveries")
	list, err := b.store.Deliveries(b.Context(), storage.AsHost(), w.ID, 2)
	b.ok(err, "Deliveries")
	if len(list) != 2 || list[1].NextAttemptAt.IsZero() {
		b.Fatalf("NextAttemptAt: want when the next attempt is due, got none")
	}
	if wait := list[0].NextAttemptAt.Sub(list[1].NextAttemptAt); wait < time.Hour || wait > 2*time.Hour {
		b.Errorf("NextAttemptAt: want an hour later than after the previous result, got %v", wait)
	}
}

func finishEnds(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	b.submit(f)
	r := succeeded(b.claimOne(), b.tick())
	b.finish(r)
	b.nothingPending("the delivery ended")
	b.claimNone("the delivery ended")
	list, err := b.store.Deliveries(b.Context(), storage.AsHost(), w.ID, 10)
	b.ok(err, "Deliveries")
	same(b, list, []storage.Delivery{*r.Delivery}, "Deliveries")
}

func finishTwice(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	b.submit(f)
	b.submit(f)
	batch := b.claimSome(2)
	done := []storage.Result{ended(batch[0], b.tick()), retried(batch[1], b.tick(), time.Hour)}
	b.finish(done...)
	b.unchanged("FinishDeliveries with results that were settled", func() {
		for range 2 {
			_, err := b.store.FinishDeliveries(b.Context(), done)
			b.ok(err, "FinishDeliveries, again")
		}
	})
	b.fenced(done[0], "its delivery ended")
	same(b, len(b.attempts(w.ID)), 2, "attempts in the history")
	b.claimNone("due in an hour")
	b.updateWebhook(w.ID, storage.WebhookChange{Enabled: ptr(true)}) // makes it due
	same(b, b.claimOne().Attempt, 2, "Attempt of the delivery that was rescheduled")

	// The old results come once more, while the next attempt is under way.
	b.fenced(done[1], "the delivery was claimed again since")
	b.claimNone("the lease of the second attempt holds")

	// Twice in one call.
	b.submit(f)
	last := ended(b.claimOne(), b.tick())
	got, err := b.store.FinishDeliveries(b.Context(), []storage.Result{last, last})
	b.ok(err, "FinishDeliveries with the same result twice")
	same(b, got, []storage.Lease{last.Lease}, "fenced leases if the same result is passed twice")
	same(b, len(b.attempts(w.ID)), 3, "attempts in the history")
}

func finishBatch(b *bundle) {
	want := b.backlog(4, 5)
	batch := b.claimSome(want)
	var done []storage.Result
	for i, d := range batch {
		switch i % 3 {
		case 0:
			done = append(done, ended(d, b.tick()))
		case 1:
			done = append(done, retried(d, b.tick(), time.Hour))
		default:
			done = append(done, storage.Result{Lease: d.Lease})
		}
	}
	b.finish(done...)
	same(b, b.counts(), storage.QueueStats{Due: 6, Waiting: 7}, "QueueStats after 6 leases were released and 7 deliveries rescheduled")
	same(b, len(b.claimAll()), 6, "deliveries whose lease was released")
}

// deliver sends one event and returns its attempt, made at when.
func (b *bundle) deliver(webhook storage.ID, when time.Time) storage.Delivery {
	b.Helper()
	b.enqueue(webhook)
	r := ended(b.claimOne(), when)
	b.finish(r)
	return *r.Delivery
}

// deliverMany sends n events in one call of FinishDeliveries. It returns the
// attempts newest first; they were made a second apart, the first at when.
func (b *bundle) deliverMany(webhook storage.ID, n int, when time.Time) []storage.Delivery {
	b.Helper()
	for range n {
		b.enqueue(webhook)
	}
	var done []storage.Result
	var made []storage.Delivery
	for i, d := range b.claimSome(n) {
		done = append(done, ended(d, when.Add(time.Duration(i)*time.Second)))
		made = append([]storage.Delivery{*done[i].Delivery}, made...)
	}
	b.finish(done...)
	return made
}

func finishMany(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	const n = storage.MaxFinishedResults + 7
	for range n {
		b.submit(f)
	}
	var done []storage.Result
	batch := b.claimSome(n)
	for i, d := range batch {
		if i%2 == 0 {
			done = append(done, succeeded(d, at(0)))
		} else {
			done = append(done, storage.Result{Lease: d.Lease})
		}
	}
	done = append(done, succeeded(batch[0], at(0)))
	fenced, err := b.store.FinishDeliveries(b.Context(), done)
	b.ok(err, "FinishDeliveries")
	same(b, fenced, []storage.Lease{batch[0].Lease}, "fenced leases, with one result twice")
	same(b, len(b.attempts(w.ID)), storage.MaxHistory, "attempts in the history")
	same(b, b.counts(), storage.QueueStats{Due: n / 2}, "QueueStats after half of the leases were released")
}

func historyCut(b *bundle) {
	f := b.anyForm()
	w, other := b.addWebhook(f.ID).ID, b.addWebhook(f.ID).ID
	untouched := b.deliver(other, at(-time.Hour))
	const kept = storage.MaxHistory
	want := b.deliverMany(w, kept-2, at(0))
	for i := range 4 {
		want = append([]storage.Delivery{b.deliver(w, at(time.Hour+time.Duration(i)*time.Minute))}, want...)
		same(b, b.attempts(w), want[:min(kept, len(want))], "Deliveries after %d", len(want))
	}
	// One that is older than all that are kept is the one to go, at the latest with
	// the next one.
	b.deliver(w, at(-time.Hour))
	want = append(b.deliverMany(w, 5, at(2*time.Hour)), want...)
	same(b, b.attempts(w), want[:kept], "Deliveries after an attempt that is older than the history, and 5 more")
	want = append(b.deliverMany(w, kept+3, at(3*time.Hour)), want...)
	same(b, b.attempts(w), want[:kept], "Deliveries after MaxHistory results in one call")
	same(b, b.attempts(other), []storage.Delivery{untouched}, "Deliveries of another webhook")
}

func cutAttemptGone(b *bundle) {
	f := b.anyForm()
	one, two := b.addWebhook(f.ID).ID, b.addWebhook(f.ID).ID
	n := b.submit(f)
	attempts := map[storage.ID]storage.ID{}
	for _, d := range b.claimSome(2) {
		r := ended(d, b.tick())
		b.finish(r)
		attempts[d.Lease.WebhookID] = r.Delivery.ID
	}
	b.deliverMany(one, storage.MaxHistory, at(time.Hour)) // cuts the attempt of webhook one
	b.sweep(storage.SweepParams{Now: soon().Add(10_000 * time.Hour), Max: 100})
	b.is(b.store.Redeliver(b.Context(), one, attempts[one]), storage.ErrNotFound, "Redeliver of an attempt that was cut")
	b.ok(b.store.Redeliver(b.Context(), two, attempts[two]), "Redeliver of an attempt of the same event that is in the history")
	same(b, b.claimOne().Body, n.Event.Body, "Body")
}
