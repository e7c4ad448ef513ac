package storagetest

import (
	"bytes"
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
)

func claimCases() []Case {
	return []Case{
		{"due", "A delivery is claimed from its due time on, and not before.", claimWhenDue},
		{"due_order", "Within a webhook the earliest due comes first.", claimDueOrder},
		{"current_webhook", "A delivery carries the webhook's URL and secret as they are when it is claimed.", claimCurrentWebhook},
		{"same_body", "An event's body is the same bytes on every claim and for every webhook.", claimSameBody},
		{"max", "Max bounds the whole batch.", claimMax},
		{"per_webhook", "PerWebhook less Held bounds the deliveries of one webhook.", claimPerWebhook},
		{"pause", "Nothing of a webhook is claimed before PausedUntil; other webhooks are not affected.", claimPause},
		{"pause_ends", "A result without a pause ends an earlier one.", claimPauseEnds},
		{"url_clears_pause", "A new URL clears the webhook's failures and its pause; other changes do not.", claimURLClearsPause},
		{"url_outlives_old_results", "A result of a lease from before a new URL neither counts as its failure nor pauses it.", claimURLOutlivesOldResults},
		{"failures", "Failures of the last result come with the next delivery of the webhook.", claimFailures},
	}
}

func claimWhenDue(b *bundle) {
	w := b.addWebhook(b.anyForm().ID)
	e := b.enqueue(w.ID, at(time.Hour))
	b.claimNone(at(0), "due in an hour")
	b.claimNone(at(time.Hour-time.Microsecond), "due in a microsecond")
	same(b, b.claimOne(at(time.Hour)).Lease.EventID, e.ID, "the event that is due")
}

func claimDueOrder(b *bundle) {
	w := b.addWebhook(b.anyForm().ID)
	var want []storage.ID
	events := map[int]storage.ID{}
	minutes := []int{5, 1, 9, 3, 7, 2}
	for _, m := range minutes {
		events[m] = b.enqueue(w.ID, at(time.Duration(m)*time.Minute)).ID
	}
	slices.Sort(minutes)
	for _, m := range minutes {
		want = append(want, events[m])
	}
	p := everything(soon())
	p.Max = 1
	var got []storage.ID
	for range want {
		got = append(got, idsOf(b.claim(p), eventID)...)
	}
	same(b, got, want, "events, claimed one by one")
}

func claimCurrentWebhook(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	b.submit(f)
	b.updateWebhook(w.ID, storage.WebhookChange{URL: ptr("https://example.net/now"), Secret: ptr([]byte("the secret of now"))})
	d := b.claimOne(soon())
	same(b, d.URL, "https://example.net/now", "Delivery.URL")
	same(b, d.Secret, []byte("the secret of now"), "Delivery.Secret")
}

func claimSameBody(b *bundle) {
	f := b.anyForm()
	b.addWebhook(f.ID)
	b.addWebhook(f.ID)
	body := []byte("{ \"b\" : 1.0 ,\n\t\"a\":\"\\u00e9\", \"b\": 2 }  ")
	b.submit(f, func(n *storage.NewSubmission) { n.Event.Body = bytes.Clone(body) })
	now := soon()
	for range 3 {
		batch := b.claimSome(now, 2)
		var done []storage.Result
		now = now.Add(time.Hour)
		for _, d := range batch {
			same(b, d.Body, body, "Body of attempt %d", d.Attempt)
			done = append(done, retried(d, b.tick(), now))
		}
		b.finish(100, done...)
	}
}

func claimMax(b *bundle) {
	want := b.backlog(3, 4)
	p := everything(soon())
	p.Max = 0
	same(b, len(b.claim(p)), 0, "deliveries claimed with Max 0")
	p.Max = 5
	got := 0
	for _, n := range []int{5, 5, 2, 0} {
		batch := b.claim(p)
		same(b, len(batch), n, "deliveries claimed with Max 5 after %d of %d", got, want)
		got += len(batch)
	}
}

func claimPerWebhook(b *bundle) {
	f := b.anyForm()
	one, two, three := b.addWebhook(f.ID).ID, b.addWebhook(f.ID).ID, b.addWebhook(f.ID).ID
	for range 20 {
		b.submit(f)
	}
	for i, c := range []struct {
		held map[storage.ID]int
		want map[storage.ID]int
	}{
		{nil, map[storage.ID]int{one: 4, two: 4, three: 4}},
		{map[storage.ID]int{one: 1, two: 3}, map[storage.ID]int{one: 3, two: 1, three: 4}},
		{map[storage.ID]int{one: 4, two: 9, newID(): 4}, map[storage.ID]int{one: 0, two: 0, three: 4}},
		{map[storage.ID]int{one: -2, two: 1}, map[storage.ID]int{one: 6, two: 3, three: 4}},
	} {
		p := everything(soon())
		p.PerWebhook, p.Held = 4, c.held
		got := map[storage.ID]int{}
		for _, d := range b.claim(p) {
			got[d.Lease.WebhookID]++
		}
		for n, w := range []storage.ID{one, two, three} {
			same(b, got[w], c.want[w], "claim %d: deliveries of webhook %d with PerWebhook 4 and %d held", i+1, n+1, c.held[w])
		}
	}
}

// pause fails the webhook's only due delivery and pauses the webhook. The
// delivery is due again at once.
func (b *bundle) pause(until time.Time, failures int) storage.Delivery {
	b.Helper()
	d := b.claimOne(soon())
	r := retried(d, b.tick(), soon())
	r.Failures, r.PausedUntil = failures, until
	b.finish(100, r)
	return d
}

func claimPause(b *bundle) {
	f := b.anyForm()
	b.addWebhook(f.ID)
	b.submit(f)
	until := soon().Add(time.Hour)
	b.pause(until, 10)
	b.submit(f) // more work for the paused webhook
	other := b.addWebhook(b.anyForm().ID).ID
	b.enqueue(other, at(0))
	same(b, b.claimOne(soon()).Lease.WebhookID, other, "the webhook that is not paused")
	b.claimNone(until.Add(-time.Microsecond), "the webhook is paused for a microsecond more")
	same(b, len(b.claim(everything(until))), 2, "deliveries claimed when the pause is over")
}

func claimPauseEnds(b *bundle) {
	f := b.anyForm()
	b.addWebhook(f.ID)
	b.submit(f)
	later := soon().Add(time.Hour)
	b.pause(later, 10)
	b.finish(100, ended(b.claimOne(later), b.tick()))
	b.submit(f)
	same(b, b.claimOne(soon()).Failures, 0, "Failures after a result without any")
}

func claimURLClearsPause(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	b.submit(f)
	b.pause(soon().Add(time.Hour), 10)
	b.updateWebhook(w.ID, storage.WebhookChange{Secret: ptr([]byte("another secret")), Enabled: ptr(true)})
	b.claimNone(soon(), "the webhook is paused, and only a new URL clears that")
	b.updateWebhook(w.ID, storage.WebhookChange{URL: ptr("https://example.net/elsewhere")})
	d := b.claimOne(soon())
	same(b, d.Failures, 0, "Failures after a new URL")
	same(b, d.Attempt, 2, "Attempt after a new URL")
}

func claimURLOutlivesOldResults(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	b.submit(f)
	old := b.claimOne(soon())
	b.updateWebhook(w.ID, storage.WebhookChange{URL: ptr("https://example.net/elsewhere")})
	r := retried(old, b.tick(), soon())
	r.Failures, r.PausedUntil = 10, soon().Add(time.Hour)
	b.finish(100, r)
	same(b, len(b.attempts(w.ID)), 1, "attempts: the result itself counts")
	d := b.claimOne(soon())
	same(b, d.URL, "https://example.net/elsewhere", "URL")
	same(b, d.Failures, 0, "Failures of the new URL")
	next := retried(d, b.tick(), soon())
	next.Failures, next.PausedUntil = 10, soon().Add(time.Hour)
	b.finish(100, next)
	b.claimNone(soon(), "a result of the new URL pauses it")
}

func claimFailures(b *bundle) {
	f := b.anyForm()
	b.addWebhook(f.ID)
	b.submit(f)
	b.pause(time.Time{}, 3)
	b.submit(f)
	for _, d := range b.claimSome(soon(), 2) {
		same(b, d.Failures, 3, "Failures")
	}
}
