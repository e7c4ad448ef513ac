package storagetest

import (
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
)

func queueCases() []Case {
	return []Case{
		{"enqueue", "Enqueue queues an event without a submission for one webhook.", enqueue},
		{"enqueue_refused", "Enqueue returns ErrNotFound for an unknown webhook and ErrConflict for a disabled one, and queues nothing.", enqueueRefused},
		{"enqueue_pending", "Enqueue of an event that is pending for the webhook changes nothing.", enqueuePending},
		{"enqueue_single", "Enqueue of a Single event makes the pending event due, and queues nothing.", enqueueSingle},
		{"redeliver", "Redeliver queues the event of an earlier attempt again, starting at attempt 1, with the same body.", redeliver},
		{"redeliver_pending", "Redeliver of an event that is still pending makes it due now instead.", redeliverPending},
		{"redeliver_order", "Of a webhook's requested deliveries, the oldest is claimed first, even before a delivery whose earlier lease may still have a result.", redeliverOrder},
		{"redeliver_test_event", "An event without a submission can be redelivered too.", redeliverTestEvent},
		{"redeliver_unknown", "Redeliver returns ErrNotFound if the webhook has no such attempt.", redeliverUnknown},
		{"redeliver_disabled", "Redeliver returns ErrConflict if the webhook is disabled.", redeliverDisabled},
		{"stats", "QueueStats counts due deliveries, including leased ones, and waiting deliveries, and returns when the oldest due delivery was queued.", queueStats},
		{"stats_pause", "QueueStats counts the deliveries of a paused webhook as waiting.", queueStatsPause},
	}
}

func enqueue(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	b.addWebhook(f.ID) // gets nothing
	e := b.enqueue(w.ID)
	d := b.claimOne()
	same(b, d, storage.ClaimedDelivery{
		Lease:  storage.Lease{WebhookID: w.ID, EventID: e.ID, Token: d.Lease.Token},
		FormID: f.ID, WorkspaceID: f.WorkspaceID, EventType: e.Type, Body: e.Body, URL: w.URL, Host: storage.Hostname(w.URL), Secret: secretOf(w), Attempt: 1, Age: d.Age,
	}, "Delivery")
	same(b, b.submissions(f.ID), nil, "Submissions: an event without a submission must not create one")
}

func enqueueRefused(b *bundle) {
	w := b.addWebhook(b.anyForm().ID, asDisabled)
	b.is(b.store.Enqueue(b.Context(), newID(), newEvent()), storage.ErrNotFound, "Enqueue for an unknown webhook")
	b.is(b.store.Enqueue(b.Context(), w.ID, newEvent()), storage.ErrConflict, "Enqueue for a disabled webhook")
	b.updateWebhook(w.ID, storage.WebhookChange{Enabled: ptr(true)})
	b.nothingPending("Enqueue was rejected")
	same(b, b.sweep(storage.SweepParams{Now: soon(), Max: 100}).Events, 0, "Events of Sweep: want 0, because no event body without references may exist")
}

func enqueuePending(b *bundle) {
	w := b.addWebhook(b.anyForm().ID)
	e := b.enqueue(w.ID)
	b.ok(b.store.Enqueue(b.Context(), w.ID, e), "Enqueue of an event that is pending")
	d := b.claimOne()
	b.ok(b.store.Enqueue(b.Context(), w.ID, e), "Enqueue of an event that is under a lease")
	b.finish(succeeded(d, b.tick()))
	b.nothingPending("it was delivered")
}

func enqueueSingle(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	single := func() storage.Event {
		e := newEvent()
		e.Single = true
		b.ok(b.store.Enqueue(b.Context(), w.ID, e), "Enqueue of a Single event")
		return e
	}
	first := single()
	single()
	d := b.claimOne()
	same(b, d.Lease.EventID, first.ID, "the event after two calls")
	b.finish(retried(d, b.tick(), time.Hour))
	b.claimNone("it waits for its next attempt")
	single()
	d = b.claimOne()
	same(b, d.Lease.EventID, first.ID, "the event that is no longer pending")
	b.finish(succeeded(d, b.tick()))
	b.nothingPending("it was delivered")
	b.submit(f)
	second := single()
	var events []storage.ID
	for _, d := range b.claimSome(2) { // a response holds no Single event back
		events = append(events, d.Lease.EventID)
	}
	if !slices.Contains(events, second.ID) {
		b.Errorf("the events are %v, want %s among them", events, second.ID)
	}
}

// sent submits to the form and ends the delivery of its only webhook.
func (b *bundle) sent(f storage.Form) (storage.NewSubmission, storage.Delivery) {
	b.Helper()
	n := b.submit(f)
	r := ended(b.claimOne(), b.tick())
	b.finish(r)
	return n, *r.Delivery
}

func redeliver(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	n, first := b.sent(f)
	b.ok(b.store.Redeliver(b.Context(), w.ID, first.ID), "Redeliver")
	d := b.claimOne()
	same(b, d, storage.ClaimedDelivery{
		Lease:  storage.Lease{WebhookID: w.ID, EventID: n.Event.ID, Token: d.Lease.Token},
		FormID: f.ID, WorkspaceID: f.WorkspaceID, SubmissionID: n.Submission.ID, EventType: n.Event.Type, Body: n.Event.Body,
		URL: w.URL, Host: storage.Hostname(w.URL), Secret: secretOf(w), Attempt: 1, Age: d.Age,
	}, "Delivery")
	second := ended(d, b.tick())
	b.finish(second)
	same(b, b.attempts(w.ID), []storage.Delivery{*second.Delivery, first}, "Deliveries after the redelivery")
	b.ok(b.store.Redeliver(b.Context(), w.ID, first.ID), "Redeliver of the first attempt, again")
	b.claimOne()
}

func redeliverPending(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	b.submit(f)
	r := retried(b.claimOne(), b.tick(), time.Hour)
	b.finish(r)
	b.claimNone("due in an hour")
	b.ok(b.store.Redeliver(b.Context(), w.ID, r.Delivery.ID), "Redeliver of a pending event")
	d := b.claimOne()
	same(b, d.Attempt, 2, "Attempt: only the due time changed")
	b.finish(ended(d, b.tick()))
	b.nothingPending("there is one delivery for each webhook and event")
}

func redeliverOrder(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	b.submit(f)
	r := retried(b.claimOne(), b.tick(), atOnce)
	b.finish(r)
	p := b.everything()
	p.Lease = atOnce
	b.claimEventually(p)
	older := b.enqueue(w.ID)
	b.ok(b.store.Redeliver(b.Context(), w.ID, r.Delivery.ID), "Redeliver of an event whose lease ran out")
	p.Webhooks[w.ID] = 1
	same(b, b.claimEventually(p)[0].Lease.EventID, older.ID, "EventID of the delivery that is claimed first")
}

func redeliverTestEvent(b *bundle) {
	w := b.addWebhook(b.anyForm().ID)
	e := b.enqueue(w.ID)
	r := ended(b.claimOne(), b.tick())
	b.finish(r)
	b.sweep(storage.SweepParams{Now: soon().Add(10_000 * time.Hour), Max: 100})
	b.ok(b.store.Redeliver(b.Context(), w.ID, r.Delivery.ID), "Redeliver of an event of no submission")
	same(b, b.claimOne().Body, e.Body, "Body")
}

func redeliverUnknown(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	_, attempt := b.sent(f)
	other := b.addWebhook(f.ID)
	b.unchanged("Redeliver of an attempt that the webhook does not have", func() {
		b.is(b.store.Redeliver(b.Context(), w.ID, newID()), storage.ErrNotFound, "Redeliver of an unknown attempt")
		b.is(b.store.Redeliver(b.Context(), newID(), attempt.ID), storage.ErrNotFound, "Redeliver for an unknown webhook")
		b.is(b.store.Redeliver(b.Context(), other.ID, attempt.ID), storage.ErrNotFound, "Redeliver of another webhook's attempt")
	})
}

func redeliverDisabled(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	_, attempt := b.sent(f)
	b.updateWebhook(w.ID, storage.WebhookChange{Enabled: ptr(false)})
	b.is(b.store.Redeliver(b.Context(), w.ID, attempt.ID), storage.ErrConflict, "Redeliver for a disabled webhook")
	b.nothingPending("Redeliver was rejected")
	b.updateWebhook(w.ID, storage.WebhookChange{Enabled: ptr(true)})
	b.ok(b.store.Redeliver(b.Context(), w.ID, attempt.ID), "Redeliver after the webhook was enabled again")
}

func queueStats(b *bundle) {
	same(b, b.stats(), storage.QueueStats{}, "QueueStats of an empty queue")
	w, other := b.addWebhook(b.anyForm().ID).ID, b.addWebhook(b.anyForm().ID).ID
	b.enqueue(w)
	first := b.stats()
	same(b, first.Due, int64(1), "Due with one delivery")
	if first.OldestDue.IsZero() {
		b.Errorf("OldestDue: want when the delivery was queued, got none")
	}
	d := b.claimOne()
	b.enqueue(other)
	b.enqueue(other)
	same(b, b.stats(), storage.QueueStats{Due: 3, OldestDue: first.OldestDue}, "QueueStats while the oldest is claimed")
	b.finish(retried(d, b.tick(), time.Hour))
	same(b, b.counts(), storage.QueueStats{Due: 2, Waiting: 1}, "QueueStats after the oldest was rescheduled")
	if second := b.stats().OldestDue; !second.After(first.OldestDue) {
		b.Errorf("OldestDue: want later than %s after the oldest was rescheduled, got %s", renderTime(first.OldestDue), renderTime(second))
	}
	for _, d := range b.claimSome(2) {
		b.finish(ended(d, b.tick()))
	}
	same(b, b.stats(), storage.QueueStats{Waiting: 1}, "QueueStats after those that were due ended")
}

func queueStatsPause(b *bundle) {
	_, w := b.pausedWebhook(time.Hour, 2)
	same(b, b.stats(), storage.QueueStats{Waiting: 2}, "QueueStats while the webhook is paused")
	b.claimNone("the webhook is paused")
	same(b, b.stats(), storage.QueueStats{Waiting: 2}, "QueueStats while the webhook is paused, after a claim")
	b.updateWebhook(w.ID, storage.WebhookChange{URL: ptr("https://example.net/elsewhere")})
	same(b, b.counts(), storage.QueueStats{Due: 2}, "QueueStats when the pause has ended")
}
