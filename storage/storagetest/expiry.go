package storagetest

import (
	"time"

	"github.com/formsvc/formsvc/storage"
)

func expiryCases() []Case {
	return []Case{
		{"expire", "ExpireDeliveries ends the waiting deliveries of a webhook that has failed for MaxAge, with one summary.", expire},
		{"expire_not_young", "ExpireDeliveries does not end deliveries younger than MaxAge, or deliveries of webhooks that have failed for less.", expireNotYoung},
		{"expire_not_good", "ExpireDeliveries does not end deliveries of a webhook without current failures, however old they are.", expireNotGood},
		{"expire_not_leased", "ExpireDeliveries does not end leased deliveries or deliveries that wait for their next attempt.", expireNotLeased},
		{"expire_redelivered", "A redelivery restarts the age of a delivery.", expireRedelivered},
		{"expire_pieces", "Each call of ExpireDeliveries ends up to Max deliveries, and the next call continues, over all webhooks.", expirePieces},
		{"expire_summary", "The summary contains the oldest delivery, and its event can be redelivered.", expireSummary},
		{"end_expired", "A result with a Summary ends its delivery, and the summary is added within the same limits.", endExpired},
		{"end_expired_asked", "A result with a Summary adds no summary if the delivery was redelivered after the claim.", endExpiredAsked},
		{"expire_quiet", "A webhook receives no second summary within ExpiredSummaryInterval, and summaries remove no attempt from its history.", expireQuiet},
	}
}

func (b *bundle) expireParams(maxAge time.Duration) storage.ExpireParams {
	return storage.ExpireParams{MaxAge: maxAge, Max: everyRecord, At: b.tick(), NewID: newID}
}

// expire runs one whole pass.
func (b *bundle) expire(maxAge time.Duration) (ended int, summaries []storage.Delivery) {
	b.Helper()
	p := b.expireParams(maxAge)
	for {
		got, err := b.store.ExpireDeliveries(b.Context(), p)
		b.ok(err, "ExpireDeliveries")
		ended += got.Deliveries
		summaries = append(summaries, got.Summaries...)
		if got.Next.IsZero() {
			return ended, summaries
		}
		p.From = got.Next
	}
}

// dead adds a webhook that is paused with a number of deliveries that wait.
func (b *bundle) dead(deliveries int) (storage.Form, storage.Webhook) {
	b.Helper()
	f, w := b.pausedWebhook(time.Hour, deliveries)
	b.claimNone("the webhook is paused") // what waits is known to wait
	return f, w
}

func expire(b *bundle) {
	f, w := b.dead(3)
	_, other := b.dead(2)
	ended, summaries := b.expire(0)
	same(b, ended, 5, "deliveries that ended")
	same(b, len(summaries), 2, "summaries that were added")
	b.nothingPending("everything has expired")
	for _, id := range []storage.ID{w.ID, other.ID} {
		a := b.newestAttempt(id)
		same(b, a.Error, storage.DeliveryExpired, "Error of the newest attempt")
		same(b, a.Status, 0, "Status of the summary")
		same(b, a.Success, false, "Success of the summary")
		same(b, len(b.attempts(id)), 2, "attempts in the history")
		b.nothingFollows(id)
	}
	ended, summaries = b.expire(0)
	same(b, ended+len(summaries), 0, "deliveries and summaries of a second pass")
	b.updateWebhook(w.ID, storage.WebhookChange{URL: ptr("https://example.net/elsewhere")})
	b.submit(f)
	b.claimOne()
}

func expireNotYoung(b *bundle) {
	b.dead(3)
	ended, _ := b.expire(time.Hour)
	same(b, ended, 0, "deliveries that ended with MaxAge an hour")
	same(b, b.counts(), storage.QueueStats{Waiting: 3}, "QueueStats")
}

func expireNotGood(b *bundle) {
	f := b.anyForm()
	b.addWebhook(f.ID)
	b.submit(f)
	b.submit(f)
	p := b.everything()
	p.NewOrFailing.MaxDeliveries = 1
	b.finish(retried(only(b, b.claim(p), "ClaimDeliveries"), b.tick(), atOnce)) // its Standing is without failures
	ended, _ := b.expire(0)
	same(b, ended, 0, "deliveries that ended")
	same(b, len(b.claimAll()), 2, "deliveries that are left")
}

func expireNotLeased(b *bundle) {
	f, w := b.dead(2)
	b.updateWebhook(w.ID, storage.WebhookChange{Enabled: ptr(true)})
	leased := b.claimOne()
	ended, _ := b.expire(0)
	same(b, ended, 1, "number of expired deliveries: the other delivery is leased")
	r := paused(leased, b.tick(), time.Hour)
	r.RetryIn = time.Hour
	b.finish(r)
	ended, _ = b.expire(0)
	same(b, ended, 0, "number of expired deliveries: the other delivery waits for its next attempt")
	b.submit(f)
	b.claimNone("the webhook is paused")
	ended, _ = b.expire(0)
	same(b, ended, 1, "number of expired deliveries after one more was queued")
}

func expireRedelivered(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	_, sent := b.sent(f)
	b.submit(f)
	b.finish(paused(b.claimOne(), b.tick(), time.Hour))
	before := b.stats()
	b.ok(b.store.Redeliver(b.Context(), w.ID, sent.ID), "Redeliver")
	d := b.claimOne()
	b.finish(paused(d, b.tick(), time.Hour))
	b.updateWebhook(w.ID, storage.WebhookChange{URL: ptr("https://example.net/elsewhere")})
	after := b.stats()
	same(b, after.Due, int64(2), "Due after the redelivery")
	if before.Due != 0 || after.OldestDue.IsZero() {
		b.Fatalf("QueueStats: want nothing due before and something due after the new URL, got %+v and %+v", before, after)
	}
	for _, d := range b.claimAll() {
		if d.Lease.EventID != sent.EventID {
			b.finish(ended(d, b.tick()))
		}
	}
	if young := b.stats().OldestDue; !young.After(after.OldestDue) {
		b.Errorf("OldestDue: want later than %s when only the redelivery is pending, got %s", renderTime(after.OldestDue), renderTime(young))
	}
}

func expirePieces(b *bundle) {
	left := map[storage.ID]int64{}
	for range 3 {
		_, w := b.dead(5)
		left[w.ID] = 5
	}
	p := b.expireParams(0)
	p.Max = 0
	got, err := b.store.ExpireDeliveries(b.Context(), p)
	b.ok(err, "ExpireDeliveries")
	same(b, got.Deliveries, 0, "deliveries that ended with Max 0")
	p.Max = 4
	total, summaries := 0, 0
	for range 20 {
		got, err := b.store.ExpireDeliveries(b.Context(), p)
		b.ok(err, "ExpireDeliveries")
		if got.Deliveries > 4 {
			b.Errorf("ExpireDeliveries: want at most 4 with Max 4, got %d", got.Deliveries)
		}
		total += got.Deliveries
		summaries += len(got.Summaries)
		if p.From = got.Next; p.From.IsZero() {
			break
		}
	}
	same(b, total, 15, "deliveries that ended")
	same(b, summaries, 3, "summaries: one for each webhook")
	same(b, p.From.IsZero(), true, "every webhook was looked at")
	b.nothingPending("everything has expired")
}

func expireSummary(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	oldest := b.submit(f)
	b.finish(paused(b.claimOne(), b.tick(), time.Hour))
	b.submit(f)
	b.claimNone("the webhook is paused")
	_, summaries := b.expire(0)
	a := only(b, summaries, "Expired.Summaries")
	same(b, a, b.newestAttempt(w.ID), "the summary that was returned")
	same(b, a.EventID, oldest.Event.ID, "EventID")
	same(b, a.SubmissionID, oldest.Submission.ID, "SubmissionID")
	same(b, a.EventType, oldest.Event.Type, "EventType")
	same(b, a.Attempt, 2, "Attempt")
	b.sweep(storage.SweepParams{Now: soon(), Max: 100})
	b.ok(b.store.Redeliver(b.Context(), w.ID, a.ID), "Redeliver of the summary")
	d := b.claimOne()
	same(b, d.Body, oldest.Event.Body, "Body")
	same(b, d.Attempt, 1, "Attempt")
	b.finish(succeeded(d, b.tick()))
	b.deleteSubmission(oldest)
	b.is(b.store.Redeliver(b.Context(), w.ID, a.ID), storage.ErrNotFound, "Redeliver of the summary after its submission was deleted")
}

// outlived is the result of a delivery that is too old to be tried again.
func outlived(d storage.ClaimedDelivery, when time.Time) storage.Result {
	r := ended(d, when)
	if r.Summary = newID(); compareIDs(r.Summary, r.Delivery.ID) < 0 { // it is listed as the newer one
		r.Summary, r.Delivery.ID = r.Delivery.ID, r.Summary
	}
	return r
}

func endExpired(b *bundle) {
	f := b.anyForm()
	w, other := b.addWebhook(f.ID), b.addWebhook(f.ID)
	n := b.submit(f)
	results := map[storage.ID]storage.Result{}
	var all []storage.Result
	for _, d := range b.claimSome(2) {
		r := outlived(d, b.tick())
		results[d.Lease.WebhookID], all = r, append(all, r)
	}
	b.finish(all...)
	b.nothingPending("the deliveries ended")
	for _, id := range []storage.ID{w.ID, other.ID} {
		r := results[id]
		list, err := b.store.Deliveries(b.Context(), storage.AsHost(), id, 10)
		b.ok(err, "Deliveries")
		summary := storage.Delivery{
			ID: r.Summary, WebhookID: id, EventID: n.Event.ID, EventType: n.Event.Type, SubmissionID: n.Submission.ID,
			Attempt: 2, Error: storage.DeliveryExpired, CreatedAt: r.Delivery.CreatedAt,
		}
		same(b, list, []storage.Delivery{summary, *r.Delivery}, "Deliveries: the summary and the last attempt")
	}
	b.submit(f)
	for _, d := range b.claimSome(2) {
		b.finish(outlived(d, b.tick()))
	}
	same(b, len(b.attempts(w.ID)), 3, "number of attempts and summaries: want no second summary within ExpiredSummaryInterval")

	want := b.deliverMany(w.ID, storage.MaxHistory, at(time.Hour))
	same(b, len(b.attempts(w.ID)), len(want)+1, "number of attempts and summaries")
	b.ok(b.store.DeleteWebhook(b.Context(), storage.AsHost(), other.ID), "DeleteWebhook")
	b.ok(b.store.Redeliver(b.Context(), w.ID, results[w.ID].Summary), "Redeliver of the summary, which alone keeps the event")
	same(b, b.claimOne().Body, n.Event.Body, "Body")
}

func endExpiredAsked(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	_, sent := b.sent(f)
	b.ok(b.store.Redeliver(b.Context(), w.ID, sent.ID), "Redeliver")
	d := b.claimOne()
	b.ok(b.store.Redeliver(b.Context(), w.ID, sent.ID), "Redeliver of a leased delivery")
	b.finish(outlived(d, b.tick()))
	same(b, b.claimOne().Attempt, 1, "Attempt")
	for _, a := range b.attempts(w.ID) {
		same(b, a.Error, "status", "Error of the entry in the history")
	}
}

func expireQuiet(b *bundle) {
	f, w := b.dead(1)
	b.expire(0)
	kept := b.attempts(w.ID)
	b.submit(f)
	b.claimNone("the webhook is paused")
	ended, summaries := b.expire(0)
	same(b, ended, 1, "deliveries that ended")
	same(b, len(summaries), 0, "number of summaries within ExpiredSummaryInterval of the previous one")
	same(b, b.attempts(w.ID), kept, "Deliveries")
	b.updateWebhook(w.ID, storage.WebhookChange{URL: ptr("https://example.net/elsewhere")})
	want := b.deliverMany(w.ID, storage.MaxHistory, at(time.Hour))
	same(b, b.attempts(w.ID), append(want, kept[0]), "number of Deliveries: the summary is in addition to MaxHistory attempts")
}
