package storagetest

import (
	"time"

	"github.com/formsvc/formsvc/storage"
)

func endingCases() []Case {
	return []Case{
		{"disable_ends", "Disabling a webhook permanently ends its pending deliveries, but not those of other webhooks.", disableEnds},
		{"delete_webhook_ends", "Deleting a webhook ends its pending deliveries, but not those of other webhooks.", deleteWebhookEnds},
		{"trash_ends", "Trashing a form ends its pending deliveries, but not those of other forms.", trashEnds},
		{"ended_body_lives", "An attempt of a delivery that was ended can be redelivered.", endedBodyLives},
		{"ended_lease_fenced", "A result for a delivery that was ended in the meantime is fenced and changes nothing.", endedLeaseFenced},
	}
}

// twoForms submits twice to a form with two webhooks and once to another form
// with one.
func (b *bundle) twoForms() (f storage.Form, mine, beside, elsewhere storage.Webhook) {
	b.Helper()
	f = b.anyForm()
	mine, beside = b.addWebhook(f.ID), b.addWebhook(f.ID)
	other := b.anyForm()
	elsewhere = b.addWebhook(other.ID)
	b.submit(f)
	b.submit(f)
	b.submit(other)
	return f, mine, beside, elsewhere
}

// pendingOf counts what can be claimed, by webhook.
func (b *bundle) pendingOf() map[storage.ID]int {
	b.Helper()
	got := map[storage.ID]int{}
	for _, d := range b.claim(b.everything()) {
		got[d.Lease.WebhookID]++
	}
	return got
}

func disableEnds(b *bundle) {
	_, mine, beside, elsewhere := b.twoForms()
	b.updateWebhook(mine.ID, storage.WebhookChange{Enabled: ptr(false)})
	same(b, b.stats().Due, int64(3), "pending deliveries after one of three webhooks was disabled")
	b.updateWebhook(mine.ID, storage.WebhookChange{Enabled: ptr(true)})
	got := b.pendingOf()
	same(b, got[mine.ID], 0, "deliveries of the webhook that was disabled")
	same(b, got[beside.ID], 2, "deliveries of the other webhook of the form")
	same(b, got[elsewhere.ID], 1, "deliveries of another form's webhook")
}

func deleteWebhookEnds(b *bundle) {
	_, mine, beside, elsewhere := b.twoForms()
	b.ok(b.store.DeleteWebhook(b.Context(), storage.AsHost(), mine.ID), "DeleteWebhook")
	same(b, b.stats().Due, int64(3), "pending deliveries after one of three webhooks was deleted")
	got := b.pendingOf()
	same(b, got[mine.ID], 0, "deliveries of the webhook that was deleted")
	same(b, got[beside.ID], 2, "deliveries of the other webhook of the form")
	same(b, got[elsewhere.ID], 1, "deliveries of another form's webhook")
}

func trashEnds(b *bundle) {
	f, mine, beside, elsewhere := b.twoForms()
	b.trashForm(f.ID)
	same(b, b.stats().Due, int64(1), "pending deliveries after one of two forms was trashed")
	got := b.pendingOf()
	same(b, got[mine.ID]+got[beside.ID], 0, "deliveries of the form that was trashed")
	same(b, got[elsewhere.ID], 1, "deliveries of the other form")
}

func endedBodyLives(b *bundle) {
	for what, end := range map[string]func(f storage.Form, w storage.Webhook){
		"disabled": func(_ storage.Form, w storage.Webhook) {
			b.updateWebhook(w.ID, storage.WebhookChange{Enabled: ptr(false)})
			b.nothingPending("the webhook was disabled")
			b.updateWebhook(w.ID, storage.WebhookChange{Enabled: ptr(true)})
		},
		"trashed": func(f storage.Form, _ storage.Webhook) {
			b.trashForm(f.ID)
			b.nothingPending("the form was trashed")
			b.ok(b.store.RestoreForm(b.Context(), f.ID, storage.ID{}, b.tick()), "RestoreForm")
		},
	} {
		f := b.anyForm()
		w := b.addWebhook(f.ID)
		n := b.submit(f)
		var last storage.ID
		for _, wait := range []time.Duration{atOnce, time.Hour} {
			r := retried(b.claimOne(), b.tick(), wait)
			b.finish(r)
			last = r.Delivery.ID
		}
		end(f, w)
		b.nothingFollows(w.ID)
		b.sweep(storage.SweepParams{Now: soon().Add(10_000 * time.Hour), Max: 100})
		b.ok(b.store.Redeliver(b.Context(), w.ID, last), "Redeliver of an attempt, after its delivery ended because it was %s", what)
		d := b.claimOne()
		same(b, d.Body, n.Event.Body, "Body")
		b.finish(succeeded(d, b.tick()))
	}
}

func endedLeaseFenced(b *bundle) {
	for what, end := range map[string]func(f storage.Form, w storage.Webhook, n storage.NewSubmission){
		"its webhook was disabled": func(_ storage.Form, w storage.Webhook, _ storage.NewSubmission) {
			b.updateWebhook(w.ID, storage.WebhookChange{Enabled: ptr(false)})
		},
		"its webhook was deleted": func(_ storage.Form, w storage.Webhook, _ storage.NewSubmission) {
			b.ok(b.store.DeleteWebhook(b.Context(), storage.AsHost(), w.ID), "DeleteWebhook")
		},
		"its form was trashed": func(f storage.Form, _ storage.Webhook, _ storage.NewSubmission) {
			b.trashForm(f.ID)
		},
		"its submission was deleted": func(_ storage.Form, _ storage.Webhook, n storage.NewSubmission) {
			b.deleteSubmission(n)
		},
	} {
		f := b.anyForm()
		w := b.addWebhook(f.ID)
		n := b.submit(f)
		d := b.claimOne()
		end(f, w, n)
		b.unchanged("FinishDeliveries of a delivery that was ended", func() {
			b.fenced(retried(d, b.tick(), atOnce), what)
			b.fenced(ended(d, b.tick().Add(time.Second)), what)
		})
		b.claimNone("%s", what)
	}
}
