package storagetest

import (
	"time"

	"github.com/formsvc/formsvc/storage"
)

func failedCases() []Case {
	return []Case{
		{"failed_again", "RedeliverFailed queues an event whose delivery ended without success, once and despite a pause, and no event of another webhook.", failedAgain},
		{"failed_only", "RedeliverFailed of a delivery that succeeded, waits or is leased returns ErrNotFound and changes nothing.", failedOnly},
		{"failed_latest", "RedeliverFailed considers the latest attempt of an event, including redeliveries and summaries.", failedLatest},
		{"failed_gone", "RedeliverFailed returns ErrNotFound if the event is gone, or for another user's webhook.", failedGone},
		{"failed_disabled", "RedeliverFailed returns ErrConflict if the webhook is disabled, even if that ended the delivery.", failedDisabled},
	}
}

// failed sends what is pending, one delivery, and returns its failed attempt, which is the last.
func (b *bundle) failed() storage.Delivery {
	b.Helper()
	r := ended(b.claimOne(), b.tick())
	b.finish(r)
	return *r.Delivery
}

func (b *bundle) notFailed(webhook storage.ID, a storage.Delivery, why string) {
	b.Helper()
	b.unchanged("RedeliverFailed: "+why, func() {
		b.is(b.store.RedeliverFailed(b.Context(), webhook, a.ID), storage.ErrNotFound, "RedeliverFailed: %s", why)
	})
}

func failedAgain(b *bundle) {
	f := b.anyForm()
	w, other := b.addWebhook(f.ID), b.addWebhook(f.ID)
	n := b.submit(f)
	for _, d := range b.claimSome(2) {
		b.finish(ended(d, b.tick()))
	}
	a, kept := b.newestAttempt(w.ID), b.newestAttempt(other.ID)
	b.submit(f)
	for _, d := range b.claimSome(2) {
		b.finish(paused(d, b.tick(), time.Hour))
	}
	b.claimNone("both webhooks are paused")

	b.ok(b.store.RedeliverFailed(b.Context(), w.ID, a.ID), "RedeliverFailed")
	b.notFailed(w.ID, a, "it was queued already")
	d := b.claimOne()
	same(b, d.Lease.WebhookID, w.ID, "WebhookID")
	same(b, d.Lease.EventID, a.EventID, "EventID")
	same(b, d.Body, n.Event.Body, "Body")
	same(b, d.Attempt, 1, "Attempt")
	b.finish(succeeded(d, b.tick()))
	b.notFailed(w.ID, a, "it succeeded since")
	b.ok(b.store.RedeliverFailed(b.Context(), other.ID, kept.ID), "RedeliverFailed for the other webhook")
}

func failedOnly(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	b.submit(f)
	good := succeeded(b.claimOne(), b.tick())
	b.finish(good)
	b.notFailed(w.ID, *good.Delivery, "it succeeded")
	b.submit(f)
	waits := retried(b.claimOne(), b.tick(), time.Hour)
	b.finish(waits)
	b.notFailed(w.ID, *waits.Delivery, "it waits for its next attempt")
	b.updateWebhook(w.ID, storage.WebhookChange{Enabled: ptr(true)}) // makes it due
	d := b.claimOne()
	b.notFailed(w.ID, *waits.Delivery, "it is under a lease")
	b.finish(ended(d, b.tick()))
	b.notFailed(w.ID, *waits.Delivery, "another attempt followed it")
	b.is(b.store.RedeliverFailed(b.Context(), w.ID, newID()), storage.ErrNotFound, "RedeliverFailed of an unknown delivery")
}

func failedLatest(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	b.submit(f)
	first := b.failed()
	b.ok(b.store.RedeliverFailed(b.Context(), w.ID, first.ID), "RedeliverFailed")
	second := b.failed()
	b.notFailed(w.ID, first, "it was tried and failed again")
	b.ok(b.store.RedeliverFailed(b.Context(), w.ID, second.ID), "RedeliverFailed of the latest attempt")
	tired := outlived(b.claimOne(), b.tick())
	b.finish(tired)
	b.notFailed(w.ID, *tired.Delivery, "a summary followed it")
	b.ok(b.store.RedeliverFailed(b.Context(), w.ID, tired.Summary), "RedeliverFailed of the summary")
	b.claimOne()
}

func failedGone(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	n := b.submit(f)
	a := b.failed()
	foreign := b.addWebhook(b.anyForm().ID)
	b.notFailed(foreign.ID, a, "it is a delivery of another user's webhook")
	b.deleteSubmission(n)
	b.notFailed(w.ID, a, "its submission was deleted")
	b.submit(f)
	a = b.failed()
	b.trashForm(f.ID)
	b.is(b.store.RedeliverFailed(b.Context(), w.ID, a.ID), storage.ErrNotFound, "RedeliverFailed while the form is in the trash")
}

func failedDisabled(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	b.submit(f)
	waits := retried(b.claimOne(), b.tick(), time.Hour)
	b.finish(waits)
	b.updateWebhook(w.ID, storage.WebhookChange{Enabled: ptr(false)})
	b.unchanged("RedeliverFailed for a disabled webhook", func() {
		b.is(b.store.RedeliverFailed(b.Context(), w.ID, waits.Delivery.ID), storage.ErrConflict, "RedeliverFailed for a disabled webhook")
	})
	b.updateWebhook(w.ID, storage.WebhookChange{Enabled: ptr(true)})
	b.ok(b.store.RedeliverFailed(b.Context(), w.ID, waits.Delivery.ID), "RedeliverFailed of a delivery that ended when the webhook was disabled")
	b.claimOne()
}
