package storagetest

import (
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
)

func finishCases() []Case {
	return []Case{
		{"reschedule", "A result with NextAttemptAt makes the delivery due again then, as the next attempt.", finishReschedules},
		{"end", "A result without NextAttemptAt takes the delivery out of the queue.", finishEnds},
		{"finish_twice", "FinishDeliveries twice with the same results does no harm.", finishTwice},
		{"finish_batch", "A batch is settled in one step, over several webhooks.", finishBatch},
		{"history_cut", "The history is cut to the newest keep attempts of each webhook, newest first.", historyCut},
		{"history_of_100", "With keep 100 the 100 newest attempts stay.", historyOf100},
		{"cut_attempt_is_gone", "An attempt that was cut cannot be redelivered; the body lives for those that refer to it.", cutAttemptGone},
	}
}

func finishReschedules(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	b.submit(f)
	now := soon()
	var want []storage.Attempt
	for attempt := 1; attempt <= 4; attempt++ {
		d := b.claimOne(now)
		same(b, d.Attempt, attempt, "Attempt")
		next := now.Add(time.Hour)
		r := retried(d, b.tick(), next)
		b.finish(100, r)
		want = append([]storage.Attempt{*r.Attempt}, want...)
		b.claimNone(next.Add(-time.Microsecond), "NextAttemptAt is a microsecond later")
		now = next
	}
	same(b, b.attempts(w.ID), want, "Attempts")
}

func finishEnds(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	b.submit(f)
	r := ended(b.claimOne(soon()), b.tick())
	r.Attempt.Status, r.Attempt.Success, r.Attempt.Error = 200, true, ""
	b.finish(100, r)
	b.nothingPending("the delivery ended")
	b.claimNone(soon().Add(1000*time.Hour), "the delivery ended")
	same(b, b.attempts(w.ID), []storage.Attempt{*r.Attempt}, "Attempts")
}

func finishTwice(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	b.submit(f)
	b.submit(f)
	next := soon().Add(time.Hour)
	batch := b.claimSome(soon(), 2)
	done := []storage.Result{ended(batch[0], b.tick()), retried(batch[1], b.tick(), next)}
	b.finish(100, done...)
	b.unchanged("FinishDeliveries with results that were settled", func() {
		for range 2 {
			_, err := b.store.FinishDeliveries(b.Context(), done, 100)
			b.ok(err, "FinishDeliveries, again")
		}
	})
	b.fenced(done[0], "its delivery ended")
	same(b, len(b.attempts(w.ID)), 2, "attempts in the history")
	b.claimNone(next.Add(-time.Microsecond), "NextAttemptAt is a microsecond later")
	same(b, b.claimOne(next).Attempt, 2, "Attempt of the delivery that was rescheduled")

	// The old results come once more, while the next attempt is under way.
	b.fenced(done[1], "the delivery was claimed again since")
	b.claimNone(next, "the lease of the second attempt holds")
}

func finishBatch(b *bundle) {
	want := b.backlog(4, 5)
	batch := b.claimSome(soon(), want)
	var done []storage.Result
	for i, d := range batch {
		switch i % 3 {
		case 0:
			done = append(done, ended(d, b.tick()))
		case 1:
			done = append(done, retried(d, b.tick(), soon().Add(time.Hour)))
		default:
			done = append(done, storage.Result{Lease: d.Lease})
		}
	}
	b.finish(100, done...)
	same(b, len(b.claim(everything(soon()))), 6, "deliveries whose lease was given back")
	same(b, len(b.claim(everything(soon().Add(time.Hour)))), 7, "deliveries that were rescheduled")
}

// deliver sends one event and returns its attempt, made at when.
func (b *bundle) deliver(webhook storage.ID, keep int, when time.Time) storage.Attempt {
	b.Helper()
	b.enqueue(webhook, at(0))
	r := ended(b.claimOne(soon()), when)
	b.finish(keep, r)
	return *r.Attempt
}

func historyCut(b *bundle) {
	f := b.anyForm()
	w, other := b.addWebhook(f.ID).ID, b.addWebhook(f.ID).ID
	untouched := b.deliver(other, 100, at(-time.Hour))
	var want []storage.Attempt
	for i := range 7 {
		want = append([]storage.Attempt{b.deliver(w, 3, at(time.Duration(i)*time.Minute))}, want...)
		same(b, b.attempts(w), want[:min(3, len(want))], "Attempts after %d, keep 3", i+1)
	}
	// One that is older than all that are kept is the one to go.
	b.deliver(w, 3, at(-time.Hour))
	same(b, b.attempts(w), want[:3], "Attempts after one that is older than the kept ones")
	same(b, b.attempts(other), []storage.Attempt{untouched}, "Attempts of another webhook")

	// More than keep in one batch.
	for range 5 {
		b.enqueue(w, at(0))
	}
	want = nil
	var done []storage.Result
	for i, d := range b.claimSome(soon(), 5) {
		done = append(done, ended(d, at(time.Hour+time.Duration(i)*time.Microsecond)))
		want = append([]storage.Attempt{*done[i].Attempt}, want...)
	}
	b.finish(3, done...)
	same(b, b.attempts(w), want[:3], "Attempts after a batch of 5, keep 3")
}

func historyOf100(b *bundle) {
	w := b.addWebhook(b.anyForm().ID).ID
	const sent, keep = 110, 100
	for range sent {
		b.enqueue(w, at(0))
	}
	var ids []storage.ID
	for i, d := range b.claimSome(soon(), sent) {
		r := ended(d, at(time.Duration(i)*time.Second))
		b.finish(keep, r)
		ids = append(ids, r.Attempt.ID)
	}
	slices.Reverse(ids)
	same(b, idsOf(b.attempts(w), attemptID), ids[:keep], "Attempts")
}

func cutAttemptGone(b *bundle) {
	f := b.anyForm()
	one, two := b.addWebhook(f.ID).ID, b.addWebhook(f.ID).ID
	n := b.submit(f)
	attempts := map[storage.ID]storage.ID{}
	for _, d := range b.claimSome(soon(), 2) {
		r := ended(d, b.tick())
		b.finish(1, r)
		attempts[d.Lease.WebhookID] = r.Attempt.ID
	}
	b.deliver(one, 1, b.tick()) // cuts the attempt of webhook one
	b.sweep(storage.SweepParams{Now: soon().Add(10_000 * time.Hour), Max: 100})
	b.is(b.store.Redeliver(b.Context(), one, attempts[one], soon()), storage.ErrNotFound, "Redeliver of an attempt that was cut")
	b.ok(b.store.Redeliver(b.Context(), two, attempts[two], soon()), "Redeliver of an attempt that is kept, of the same event")
	same(b, b.claimOne(soon()).Body, n.Event.Body, "Body")
}
