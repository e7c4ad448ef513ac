package storagetest

import (
	"time"

	"github.com/formsvc/formsvc/storage"
)

func queueCases() []Case {
	return []Case{
		{"enqueue", "Enqueue queues an event of no submission for one webhook.", enqueue},
		{"enqueue_refused", "Enqueue returns ErrNotFound for an unknown webhook and ErrConflict for a disabled one, and queues nothing.", enqueueRefused},
		{"redeliver", "Redeliver queues the event of an earlier attempt again, from attempt 1, with the same body.", redeliver},
		{"redeliver_pending", "Redeliver of an event that is still pending makes it due at the given time instead.", redeliverPending},
		{"redeliver_test_event", "An event of no submission can be redelivered too.", redeliverTestEvent},
		{"redeliver_unknown", "Redeliver returns ErrNotFound when the webhook has no such attempt.", redeliverUnknown},
		{"redeliver_disabled", "Redeliver returns ErrConflict when the webhook is disabled.", redeliverDisabled},
		{"stats", "QueueStats counts what is due, claimed ones included, and what waits, and tells the earliest due time.", queueStats},
		{"stats_pause", "QueueStats counts the deliveries of a paused webhook as waiting.", queueStatsPause},
	}
}

func enqueue(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	b.addWebhook(f.ID) // gets nothing
	e := b.enqueue(w.ID, at(time.Hour))
	b.claimNone(at(time.Hour-time.Microsecond), "due in a microsecond")
	d := b.claimOne(at(time.Hour))
	same(b, d, storage.Delivery{
		Lease:     storage.Lease{WebhookID: w.ID, EventID: e.ID, Token: d.Lease.Token},
		EventType: e.Type, Body: e.Body, URL: w.URL, Secret: w.Secret, Attempt: 1,
	}, "Delivery")
	same(b, b.submissions(f.ID), nil, "Submissions: an event of no submission makes none")
}

func enqueueRefused(b *bundle) {
	w := b.addWebhook(b.anyForm().ID, asDisabled)
	b.is(b.store.Enqueue(b.Context(), newID(), newEvent(), at(0)), storage.ErrNotFound, "Enqueue for an unknown webhook")
	b.is(b.store.Enqueue(b.Context(), w.ID, newEvent(), at(0)), storage.ErrConflict, "Enqueue for a disabled webhook")
	b.updateWebhook(w.ID, storage.WebhookChange{Enabled: ptr(true)})
	b.nothingPending("Enqueue was refused")
	same(b, b.sweep(storage.SweepParams{Now: soon(), Max: 100}).Events, 0, "Events that Sweep removed: none may have been kept")
}

// sent submits to the form and ends the delivery of its only webhook.
func (b *bundle) sent(f storage.Form) (storage.NewSubmission, storage.Attempt) {
	b.Helper()
	n := b.submit(f)
	r := ended(b.claimOne(soon()), b.tick())
	b.finish(100, r)
	return n, *r.Attempt
}

func redeliver(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	n, first := b.sent(f)
	due := soon().Add(time.Hour)
	b.ok(b.store.Redeliver(b.Context(), w.ID, first.ID, due), "Redeliver")
	b.claimNone(due.Add(-time.Microsecond), "due in a microsecond")
	d := b.claimOne(due)
	same(b, d, storage.Delivery{
		Lease:        storage.Lease{WebhookID: w.ID, EventID: n.Event.ID, Token: d.Lease.Token},
		SubmissionID: n.Submission.ID, EventType: n.Event.Type, Body: n.Event.Body,
		URL: w.URL, Secret: w.Secret, Attempt: 1,
	}, "Delivery")
	second := ended(d, b.tick())
	b.finish(100, second)
	same(b, b.attempts(w.ID), []storage.Attempt{*second.Attempt, first}, "Attempts after the redelivery")
	b.ok(b.store.Redeliver(b.Context(), w.ID, first.ID, due), "Redeliver of the first attempt, again")
	b.claimOne(due)
}

func redeliverPending(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	b.submit(f)
	later := soon().Add(100 * time.Hour)
	r := retried(b.claimOne(soon()), b.tick(), later)
	b.finish(100, r)
	b.ok(b.store.Redeliver(b.Context(), w.ID, r.Attempt.ID, soon()), "Redeliver of a pending event")
	d := b.claimOne(soon())
	same(b, d.Attempt, 2, "Attempt: only the due time changed")
	b.finish(100, ended(d, b.tick()))
	b.claimNone(later, "there is one delivery for each webhook and event")
	b.nothingPending("there is one delivery for each webhook and event")
}

func redeliverTestEvent(b *bundle) {
	w := b.addWebhook(b.anyForm().ID)
	e := b.enqueue(w.ID, at(0))
	r := ended(b.claimOne(soon()), b.tick())
	b.finish(100, r)
	b.sweep(storage.SweepParams{Now: soon().Add(10_000 * time.Hour), Max: 100})
	b.ok(b.store.Redeliver(b.Context(), w.ID, r.Attempt.ID, soon()), "Redeliver of an event of no submission")
	same(b, b.claimOne(soon()).Body, e.Body, "Body")
}

func redeliverUnknown(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	_, attempt := b.sent(f)
	other := b.addWebhook(f.ID)
	b.unchanged("Redeliver of an attempt that the webhook does not have", func() {
		b.is(b.store.Redeliver(b.Context(), w.ID, newID(), soon()), storage.ErrNotFound, "Redeliver of an unknown attempt")
		b.is(b.store.Redeliver(b.Context(), newID(), attempt.ID, soon()), storage.ErrNotFound, "Redeliver for an unknown webhook")
		b.is(b.store.Redeliver(b.Context(), other.ID, attempt.ID, soon()), storage.ErrNotFound, "Redeliver of another webhook's attempt")
	})
}

func redeliverDisabled(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	_, attempt := b.sent(f)
	b.updateWebhook(w.ID, storage.WebhookChange{Enabled: ptr(false)})
	b.is(b.store.Redeliver(b.Context(), w.ID, attempt.ID, soon()), storage.ErrConflict, "Redeliver for a disabled webhook")
	b.nothingPending("Redeliver was refused")
	b.updateWebhook(w.ID, storage.WebhookChange{Enabled: ptr(true)})
	b.ok(b.store.Redeliver(b.Context(), w.ID, attempt.ID, soon()), "Redeliver after the webhook was enabled again")
}

func queueStats(b *bundle) {
	same(b, b.stats(soon()), storage.QueueStats{}, "QueueStats of an empty queue")
	w := b.addWebhook(b.anyForm().ID).ID
	other := b.addWebhook(b.anyForm().ID).ID
	b.enqueue(w, at(3*time.Hour))
	b.enqueue(w, at(time.Hour))
	b.enqueue(other, at(2*time.Hour))
	for _, c := range []struct {
		now  time.Time
		want storage.QueueStats
	}{
		{at(0), storage.QueueStats{Waiting: 3}},
		{at(time.Hour - time.Microsecond), storage.QueueStats{Waiting: 3}},
		{at(time.Hour), storage.QueueStats{Due: 1, Waiting: 2, OldestDue: at(time.Hour)}},
		{at(2 * time.Hour), storage.QueueStats{Due: 2, Waiting: 1, OldestDue: at(time.Hour)}},
		{soon(), storage.QueueStats{Due: 3, OldestDue: at(time.Hour)}},
	} {
		same(b, b.stats(c.now), c.want, "QueueStats at %s", renderTime(c.now))
	}

	d := b.claimOne(at(time.Hour))
	same(b, b.stats(at(2*time.Hour)), storage.QueueStats{Due: 2, Waiting: 1, OldestDue: at(time.Hour)}, "QueueStats while the oldest is claimed")
	b.finish(100, retried(d, b.tick(), at(5*time.Hour)))
	same(b, b.stats(at(2*time.Hour)), storage.QueueStats{Due: 1, Waiting: 2, OldestDue: at(2 * time.Hour)}, "QueueStats after the oldest was rescheduled")
	b.finish(100, ended(b.claimOne(at(2*time.Hour)), b.tick()))
	same(b, b.stats(at(2*time.Hour)), storage.QueueStats{Waiting: 2}, "QueueStats after the only one due ended")
}

func queueStatsPause(b *bundle) {
	f := b.anyForm()
	b.addWebhook(f.ID)
	b.submit(f)
	until := soon().Add(time.Hour)
	b.pause(until, 1)
	b.submit(f)
	same(b, b.stats(soon()), storage.QueueStats{Waiting: 2}, "QueueStats while the webhook is paused")
	got := b.stats(until)
	same(b, got.Due, int64(2), "Due when the pause is over")
	same(b, got.Waiting, int64(0), "Waiting when the pause is over")
}
