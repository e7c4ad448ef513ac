package storagetest

import (
	"time"

	"github.com/formsvc/formsvc/storage"
)

func pauseCases() []Case {
	return []Case{
		{"pause", "No delivery of a webhook is claimed during its pause, and other webhooks are not affected.", pauseHolds},
		{"pause_is_over", "After a pause the webhook's deliveries are claimed again.", pauseIsOver},
		{"pause_ends", "A result without PauseFor or without failures ends an earlier pause.", pauseEnds},
		{"last_result_counts", "Of several results of a webhook in one call, the last one determines its Health and pause.", lastResultCounts},
		{"url_ends_pause", "A new URL resets the Health to that of a new webhook and ends the pause.", urlEndsPause},
		{"url_outlives_old_results", "A result of a lease from before a new URL neither changes the Health nor pauses the webhook, nor hides a result of the new URL.", urlOutlivesOldResults},
		{"url_comes_back", "A webhook that returns to an earlier URL has a different Generation.", urlComesBack},
		{"change_probes", "A change that sets URL or Enabled makes one pending delivery claimable immediately despite a pause, and other changes do not.", changeProbes},
		{"change_probes_retry", "A change that sets URL or Enabled can also make a delivery due that waits for its next attempt.", changeProbesRetry},
		{"url_probes_retry", "A new URL makes a delivery due immediately that waits for its next attempt.", urlProbesRetry},
		{"enable_ends_pause", "Enabling a disabled webhook ends its pause.", enableEndsPause},
		{"enqueue_probes", "An event from Enqueue is claimed although the webhook is paused, and no other delivery of the webhook is.", enqueueProbes},
		{"redeliver_probes", "A delivery that Redeliver queues or makes due is claimed although the webhook is paused, and no other delivery of the webhook is.", redeliverProbes},
		{"probe_without_room", "A delivery that was requested while the limit was reached is claimed before the backlog of a paused webhook, and no other is.", probeWithoutRoom},
		{"paused_list", "PausedWebhooks lists exactly the paused webhooks, newest first.", pausedList},
		{"paused_list_of_user", "PausedWebhooks lists a user's paused webhooks, and none for the zero actor.", pausedListOfUser},
		{"paused_list_trash", "PausedWebhooks omits webhooks of forms in the trash.", pausedListTrash},
	}
}

// pausedWebhook adds a webhook that is paused, with a number of deliveries.
func (b *bundle) pausedWebhook(pause time.Duration, deliveries int) (storage.Form, storage.Webhook) {
	b.Helper()
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	b.submit(f)
	b.finish(paused(b.claimOne(), b.tick(), pause))
	for range deliveries - 1 {
		b.submit(f)
	}
	return f, w
}

func pauseHolds(b *bundle) {
	b.pausedWebhook(time.Hour, 2)
	other := b.addWebhook(b.anyForm().ID).ID
	b.enqueue(other)
	same(b, b.claimOne().Lease.WebhookID, other, "the webhook that is not paused")
	b.claimNone("the webhook is paused")
}

func pauseIsOver(b *bundle) {
	b.pausedWebhook(aMoment, 3)
	got := b.claimEventually(b.everything())
	same(b, len(append(got, b.claimAll()...)), 3, "deliveries claimed after the pause ended")
	same(b, got[0].Health.Failures, 10, "Failures after the pause ended")
}

func pauseEnds(b *bundle) {
	for name, edit := range map[string]func(*storage.Result){
		"PauseFor 0": func(r *storage.Result) { r.Health, r.PauseFor = storage.Health{Failures: 3}, 0 },
		"a Standing without failures": func(r *storage.Result) {
			r.Health, r.PauseFor, r.PauseReason = quick, time.Hour, storage.PauseFailures
		},
	} {
		f := b.anyForm()
		w := b.addWebhook(f.ID)
		b.submit(f)
		b.submit(f)
		batch := b.claimSome(2)
		b.finish(paused(batch[0], b.tick(), time.Hour))
		b.claimNone("the webhook is paused")
		r := ended(batch[1], b.tick())
		edit(&r)
		b.finish(r)
		same(b, b.claimOne().Lease.WebhookID, w.ID, "the webhook whose pause ended with %s", name)
	}
}

func lastResultCounts(b *bundle) {
	f := b.anyForm()
	b.addWebhook(f.ID)
	for range 3 {
		b.submit(f)
	}
	batch, all := b.claimSome(3), storage.Page{Limit: 10}
	b.finish(paused(batch[0], b.tick(), time.Hour))
	before := b.pausedWebhooks(all)
	b.finish(succeeded(batch[1], b.tick()), paused(batch[2], b.tick(), time.Hour))
	after := b.pausedWebhooks(all)
	if len(before) != 1 || len(after) != 1 {
		b.Fatalf("PausedWebhooks: want one webhook in both calls, got %v and %v", before, after)
	}
	same(b, after[0].FailingSince, before[0].FailingSince, "FailingSince after a success and a failure in one call")
}

func urlEndsPause(b *bundle) {
	_, w := b.pausedWebhook(time.Hour, 3)
	b.claimNone("the webhook is paused")
	b.updateWebhook(w.ID, storage.WebhookChange{URL: ptr("https://example.net/elsewhere")})
	for _, d := range b.claimSome(3) {
		same(b, d.Health, storage.Health{}, "Health after a new URL")
		same(b, d.FailingFor, 0, "FailingFor after a new URL")
		same(b, d.Host, "example.net", "Host after a new URL")
	}
}

func urlOutlivesOldResults(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	b.submit(f)
	b.submit(f)
	old := b.claimSome(2)
	b.updateWebhook(w.ID, storage.WebhookChange{URL: ptr("https://example.net/elsewhere")})
	b.finish(paused(old[0], b.tick(), time.Hour))
	same(b, len(b.attempts(w.ID)), 1, "attempts: the result itself counts")
	d := b.claimOne()
	same(b, d.URL, "https://example.net/elsewhere", "URL")
	same(b, d.Attempt, 2, "Attempt")
	same(b, d.Health, storage.Health{}, "Health of the new URL")
	b.finish(paused(d, b.tick(), time.Hour), succeeded(old[1], b.tick()))
	b.claimNone("a result of the new URL pauses the webhook, although a result of the old URL follows")
}

// A URL that comes back is not the destination that it was.
func urlComesBack(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	b.submit(f)
	old := b.claimOne()
	b.submit(f)
	b.updateWebhook(w.ID, storage.WebhookChange{URL: ptr("https://example.net/elsewhere")})
	b.updateWebhook(w.ID, storage.WebhookChange{URL: &w.URL})
	d := b.claimOne()
	same(b, d.URL, old.URL, "URL")
	if d.Generation == old.Generation {
		b.Errorf("Delivery.Generation is %d before and after another URL", d.Generation)
	}
	b.finish(succeeded(d, b.tick()))
	b.submit(f)
	same(b, b.claimOne().Generation, d.Generation, "Generation of the same URL")
}

func changeProbes(b *bundle) {
	for name, c := range map[string]func(w storage.Webhook) storage.WebhookChange{
		"the same URL": func(w storage.Webhook) storage.WebhookChange { return storage.WebhookChange{URL: &w.URL} },
		"Enabled":      func(storage.Webhook) storage.WebhookChange { return storage.WebhookChange{Enabled: ptr(true)} },
	} {
		_, w := b.pausedWebhook(time.Hour, 3)
		b.claimNone("the webhook is paused")
		b.updateWebhook(w.ID, storage.WebhookChange{Secret: ptr([]byte("another secret"))})
		b.claimNone("the webhook is paused, and a new secret does not change that")
		b.updateWebhook(w.ID, c(w))
		d := b.claimOne()
		same(b, d.Lease.WebhookID, w.ID, "the webhook whose change named %s", name)
		same(b, d.Health.Failures, 10, "Failures after a change that named %s", name)
		b.finish(paused(d, b.tick(), time.Hour))
		b.claimNone("the probe failed")
	}
}

func changeProbesRetry(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	b.submit(f)
	r := paused(b.claimOne(), b.tick(), 2*time.Hour)
	r.RetryIn = time.Hour
	b.finish(r)
	b.claimNone("due in an hour")
	b.updateWebhook(w.ID, storage.WebhookChange{Enabled: ptr(true)})
	d := b.claimOne()
	same(b, d.Attempt, 2, "Attempt")

	// While it is under a lease there is nothing to make due.
	b.updateWebhook(w.ID, storage.WebhookChange{Enabled: ptr(true)})
	b.claimNone("the only delivery is under a lease")
	r = succeeded(d, b.tick())
	b.finish(r)
	b.nothingPending("it was delivered")
}

func urlProbesRetry(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	b.submit(f)
	b.finish(retried(b.claimOne(), b.tick(), time.Hour))
	b.claimNone("due in an hour")
	b.updateWebhook(w.ID, storage.WebhookChange{URL: ptr("https://example.net/elsewhere")})
	d := b.claimOne()
	same(b, d.URL, "https://example.net/elsewhere", "URL")
	same(b, d.Attempt, 2, "Attempt")
}

func enableEndsPause(b *bundle) {
	f, w := b.pausedWebhook(time.Hour, 2)
	b.claimNone("the webhook is paused")
	b.updateWebhook(w.ID, storage.WebhookChange{Enabled: ptr(false)})
	same(b, len(b.pausedWebhooks(storage.Page{Limit: 10})), 1, "paused webhooks while it is disabled")
	b.updateWebhook(w.ID, storage.WebhookChange{Enabled: ptr(true)})
	same(b, b.pausedWebhooks(storage.Page{Limit: 10}), nil, "PausedWebhooks after it was enabled")
	b.submit(f)
	d := b.claimOne()
	same(b, d.Health.Failures, 10, "Failures after it was enabled")
	same(b, d.PauseReason, "", "PauseReason after it was enabled")
}

func probeWithoutRoom(b *bundle) {
	_, w := b.pausedWebhook(time.Hour, 3)
	b.claimNone("the webhook is paused")
	full := b.everything()
	full.Webhooks[w.ID] = 0
	var asked []storage.ID
	for range 3 {
		asked = append(asked, b.enqueue(w.ID).ID)
		same(b, len(b.claim(full)), 0, "deliveries claimed with a limit of 0")
	}
	one := b.everything()
	one.Webhooks[w.ID] = 1
	for i, want := range asked {
		same(b, idsOf(b.claim(one), eventID), []storage.ID{want}, "events of claim %d", i+1)
	}
	b.claimNone("the webhook is paused")
}

func enqueueProbes(b *bundle) {
	_, w := b.pausedWebhook(time.Hour, 3)
	b.claimNone("the webhook is paused")
	e := b.enqueue(w.ID)
	d := b.claimOne()
	same(b, d.Lease.EventID, e.ID, "the event that was queued by Enqueue")

	// Nothing was sent: it is claimed again, still despite the pause.
	b.finish(storage.Result{Lease: d.Lease})
	d = b.claimOne()
	same(b, d.Lease.EventID, e.ID, "the event that Enqueue queued, after its lease was released")
	b.finish(paused(d, b.tick(), time.Hour))
	b.claimNone("it failed, and waits like the others")
	d = func() storage.ClaimedDelivery { b.enqueue(w.ID); return b.claimOne() }()
	b.finish(succeeded(d, b.tick()))
	same(b, len(b.claimAll()), 4, "deliveries claimed after a success ended the pause")
}

func redeliverProbes(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	_, sent := b.sent(f)
	b.submit(f)
	waiting := paused(b.claimOne(), b.tick(), time.Hour)
	b.finish(waiting)
	b.submit(f)
	b.claimNone("the webhook is paused")
	b.ok(b.store.Redeliver(b.Context(), w.ID, sent.ID), "Redeliver of an event that ended")
	d := b.claimOne()
	same(b, d.Lease.EventID, sent.EventID, "the event that ended")
	b.finish(paused(d, b.tick(), time.Hour))
	b.claimNone("the webhook is paused")
	b.ok(b.store.Redeliver(b.Context(), w.ID, waiting.Delivery.ID), "Redeliver of an event that waits")
	same(b, b.claimOne().Lease.EventID, waiting.Lease.EventID, "the event that waited")
}

func (b *bundle) pausedWebhooks(page storage.Page) []storage.PausedWebhook {
	b.Helper()
	got, err := b.store.PausedWebhooks(b.Context(), storage.AsHost(), page)
	b.ok(err, "PausedWebhooks")
	return got
}

func pausedList(b *bundle) {
	all := storage.Page{Limit: 100}
	same(b, b.pausedWebhooks(all), nil, "PausedWebhooks of none")
	b.ranked(storage.Health{Succeeded: true, Failures: 3}, 1) // fails, but is not paused
	b.claimAll()
	var want []storage.ID
	hooks := map[storage.ID]storage.Webhook{}
	for range 3 {
		_, w := b.pausedWebhook(time.Hour, 1)
		want = append([]storage.ID{w.ID}, want...)
		hooks[w.ID] = w
	}
	got := b.pausedWebhooks(all)
	same(b, idsOf(got, pausedID), want, "PausedWebhooks")
	for _, p := range got {
		w := hooks[p.WebhookID]
		same(b, p.FormID, w.FormID, "FormID")
		same(b, p.URL, w.URL, "URL")
		same(b, p.Failures, 10, "Failures")
		same(b, p.Reason, storage.PauseFailures, "Reason")
		if wait := p.PausedUntil.Sub(p.FailingSince); p.FailingSince.IsZero() || wait < time.Hour-time.Millisecond || wait > 2*time.Hour {
			b.Errorf("PausedWebhooks: want PausedUntil an hour after FailingSince, got %s and %s", renderTime(p.PausedUntil), renderTime(p.FailingSince))
		}
	}
	first := b.pausedWebhooks(storage.Page{Limit: 2})
	if len(first) != 2 {
		b.Fatalf("PausedWebhooks: want a page of 2, got %d", len(first))
	}
	same(b, idsOf(first, pausedID), want[:2], "the first page of PausedWebhooks")
	rest := b.pausedWebhooks(storage.Page{Limit: 2, After: &storage.Position{Time: first[1].FailingSince, ID: first[1].WebhookID}})
	same(b, idsOf(rest, pausedID), want[2:], "the second page of PausedWebhooks")

	b.updateWebhook(want[0], storage.WebhookChange{URL: ptr("https://example.net/elsewhere")})
	b.enqueue(want[1])
	for _, d := range b.claimAll() {
		b.finish(succeeded(d, b.tick()))
	}
	same(b, idsOf(b.pausedWebhooks(all), pausedID), want[2:], "PausedWebhooks after one webhook got a new URL and another succeeded")
	b.ok(b.store.DeleteWebhook(b.Context(), storage.AsHost(), want[2]), "DeleteWebhook")
	same(b, b.pausedWebhooks(all), nil, "PausedWebhooks after the last webhook was deleted")
}

func pausedID(p storage.PausedWebhook) storage.ID { return p.WebhookID }

func pausedListTrash(b *bundle) {
	f, w := b.pausedWebhook(time.Hour, 1)
	b.trashForm(f.ID)
	same(b, b.pausedWebhooks(storage.Page{Limit: 10}), nil, "PausedWebhooks after the form moved to the trash")
	b.ok(b.store.RestoreForm(b.Context(), f.ID, storage.ID{}, b.tick()), "RestoreForm")
	same(b, idsOf(b.pausedWebhooks(storage.Page{Limit: 10}), pausedID), []storage.ID{w.ID}, "PausedWebhooks after the form was restored")
}

func pausedListOfUser(b *bundle) {
	f, mine := b.pausedWebhook(time.Hour, 1)
	_, foreign := b.pausedWebhook(time.Hour, 1)
	workspace, err := b.store.Workspace(b.Context(), storage.AsHost(), f.WorkspaceID)
	b.ok(err, "Workspace")
	member, stranger := b.addMember(f.WorkspaceID), b.user()
	same(b, idsOf(b.pausedWebhooks(storage.Page{Limit: 10}), pausedID), []storage.ID{foreign.ID, mine.ID}, "PausedWebhooks of the host")
	for actor, want := range map[storage.Actor][]storage.ID{
		storage.As(workspace.OwnerID): {mine.ID}, storage.As(member): {mine.ID}, storage.As(stranger): nil, {}: nil,
	} {
		got, err := b.store.PausedWebhooks(b.Context(), actor, storage.Page{Limit: 1})
		b.ok(err, "PausedWebhooks")
		same(b, idsOf(got, pausedID), want, "PausedWebhooks")
	}
}
