package storagetest

import (
	"bytes"
	"time"

	"github.com/formsvc/formsvc/storage"
)

func claimCases() []Case {
	return []Case{
		{"due", "A delivery can be claimed when it is queued, and after a result with RetryIn only when that time has passed.", claimWhenDue},
		{"oldest_first", "Within a webhook, the oldest delivery is claimed first.", claimOldestFirst},
		{"current_webhook", "A claimed delivery contains the webhook's URL, hostname and secret as of the claim.", claimCurrentWebhook},
		{"old_secret", "A claimed delivery contains a replaced secret for OldSecretLifetime, and never a removed secret.", claimOldSecret},
		{"same_body", "An event's body has the same bytes in every claim and for every webhook.", claimSameBody},
		{"room", "A claim returns at most MaxDeliveries deliveries of a pool.", claimRoom},
		{"pools", "Each pool is claimed separately: webhooks with a fast Health, other healthy webhooks, and all others.", claimPools},
		{"per_webhook", "Webhooks limits the deliveries of the listed webhooks, and PerWebhook those of other healthy webhooks; an unhealthy webhook receives one.", claimPerWebhook},
		{"per_host", "Hosts and PerHost limit the deliveries for each hostname in a pool.", claimPerHost},
		{"without", "Webhooks in ExcludedWorkspaces receive no deliveries of the pool, and a form that moved counts for its new workspace.", claimWithout},
		{"max_bytes", "MaxBytes limits the size of the bodies in each pool, but one delivery of each pool always fits.", claimMaxBytes},
		{"standing", "The next delivery of a webhook contains the Health of the last result.", claimStanding},
		{"generations", "A limit in Webhooks applies to the Generation in Generations, or to every Generation without an entry.", claimGenerations},
		{"ages", "Age is the time since a delivery was queued or redelivered, and FailedAgo the time since the last failure.", claimAges},
		{"failing_for", "FailingFor is the time since the first failure, and ends with a success.", claimFailingFor},
		{"paused_for", "A delivery of a webhook that is or was paused contains the remaining time of the pause and its reason, until a success.", claimPausedFor},
	}
}

func claimWhenDue(b *bundle) {
	w := b.addWebhook(b.anyForm().ID)
	e := b.enqueue(w.ID)
	d := b.claimOne()
	same(b, d.Lease.EventID, e.ID, "the event that is due")
	b.finish(retried(d, b.tick(), time.Hour))
	b.claimNone("due in an hour")
	b.submit(b.formOf(w))
	b.finish(retried(b.claimOne(), b.tick(), aMoment))
	same(b, b.claimEventually(b.everything())[0].Attempt, 2, "Attempt of the delivery that is due after a moment")
	b.claimNone("due in an hour")
}

func claimOldestFirst(b *bundle) {
	w := b.addWebhook(b.anyForm().ID)
	var want []storage.ID
	for range 6 {
		want = append(want, b.enqueue(w.ID).ID)
	}
	p := b.everything()
	p.NewOrFailing.MaxDeliveries = 1
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
	b.updateWebhook(w.ID, storage.WebhookChange{URL: ptr("https://Now.example.net:8443/now"), Secret: ptr([]byte("the secret of now"))})
	d := b.claimOne()
	same(b, d.URL, "https://Now.example.net:8443/now", "Delivery.URL")
	same(b, d.Host, "now.example.net", "Delivery.Host")
	same(b, d.Secret, []byte("the secret of now"), "Delivery.Secret")
	same(b, d.FormID, f.ID, "Delivery.FormID")
}

func claimOldSecret(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	now := time.Now()
	secret := func(text string, at time.Time) {
		b.updateWebhook(w.ID, storage.WebhookChange{Secret: ptr([]byte(text)), At: at})
	}
	check := func(want, old, when string) {
		b.Helper()
		b.submit(f)
		d := b.claimOne()
		b.finish(ended(d, b.tick()))
		same(b, string(d.Secret), want, "Delivery.Secret %s", when)
		same(b, string(d.OldSecret), old, "Delivery.OldSecret %s", when)
	}
	first := string(secretOf(w))
	check(first, "", "of a webhook with its first delivery")
	secret("second", now)
	check("second", first, "after it was replaced")
	b.updateWebhook(w.ID, storage.WebhookChange{URL: ptr("https://example.net/elsewhere"), At: now})
	check("second", first, "after another change")
	secret("third", now)
	check("third", "second", "after it was replaced twice")
	secret("third", now.Add(time.Minute))
	check("third", "second", "after the same field was set again")
	secret("", now)
	check("", "", "after it was removed")
	secret("fourth", now)
	check("fourth", "", "after there was none")
	secret("fifth", now.Add(-storage.OldSecretLifetime))
	check("fifth", "", "when it was replaced OldSecretKept ago")
}

func claimSameBody(b *bundle) {
	f := b.anyForm()
	b.addWebhook(f.ID)
	b.addWebhook(f.ID)
	body := []byte("{ \"b\" : 1.0 ,\n\t\"a\":\"\\u00e9\", \"b\": 2 }  ")
	b.submit(f, func(n *storage.NewSubmission) { n.Event.Body = bytes.Clone(body) })
	for range 3 {
		var done []storage.Result
		for _, d := range b.claimSome(2) {
			same(b, d.Body, body, "Body of attempt %d", d.Attempt)
			done = append(done, retried(d, b.tick(), atOnce))
		}
		b.finish(done...)
	}
}

func claimRoom(b *bundle) {
	want := b.backlog(3, 4)
	p := b.everything()
	for _, none := range []int{0, -1} {
		p.NewOrFailing.MaxDeliveries = none
		same(b, len(b.claim(p)), 0, "deliveries claimed with MaxDeliveries %d", none)
	}
	p.NewOrFailing.MaxDeliveries = 5
	got := 0
	for _, n := range []int{5, 5, 2, 0} {
		batch := b.claim(p)
		same(b, len(batch), n, "deliveries claimed with MaxDeliveries 5 after %d of %d", got, want)
		got += len(batch)
	}
}

// ranked adds a webhook that has a standing, and a number of deliveries.
func (b *bundle) ranked(s storage.Health, deliveries int, edit ...func(*storage.Webhook)) storage.ID {
	b.Helper()
	w := b.addWebhook(b.anyForm().ID, edit...)
	if s != (storage.Health{}) {
		b.rank(w.ID, s)
	}
	for range deliveries {
		b.enqueue(w.ID)
	}
	return w.ID
}

// rank gives a webhook that has nothing pending a standing.
func (b *bundle) rank(webhook storage.ID, s storage.Health) {
	b.Helper()
	e := b.enqueue(webhook)
	for _, d := range b.claimAll() {
		r := storage.Result{Lease: d.Lease}
		if d.Lease.EventID == e.ID {
			r = succeeded(d, b.tick())
			r.Health = s
		}
		b.finish(r)
	}
}

// claimedOf claims once and counts by webhook.
func (b *bundle) claimedOf(p storage.ClaimParams) map[storage.ID]int {
	b.Helper()
	got := map[storage.ID]int{}
	for _, d := range b.claim(p) {
		got[d.Lease.WebhookID]++
	}
	return got
}

func claimPools(b *bundle) {
	fast, sluggish, fresh := b.ranked(quick, 0), b.ranked(slow, 0), b.ranked(storage.Health{}, 0)
	failing := b.ranked(storage.Health{Succeeded: true, Failures: 1}, 0)
	for _, w := range []storage.ID{fast, sluggish, fresh, failing} {
		for range 3 {
			b.enqueue(w)
		}
	}
	p := b.everything()
	p.Fast.MaxDeliveries, p.Slow.MaxDeliveries, p.NewOrFailing.MaxDeliveries = 2, 0, 0
	same(b, b.claimedOf(p), map[storage.ID]int{fast: 2}, "deliveries claimed with Fast.MaxDeliveries 2 and no other pool")
	p.Fast.MaxDeliveries, p.Slow.MaxDeliveries = 0, 1
	same(b, b.claimedOf(p), map[storage.ID]int{sluggish: 1}, "deliveries claimed with Slow.MaxDeliveries 1 and no other pool")
	p.Slow.MaxDeliveries, p.NewOrFailing.MaxDeliveries = 0, everyRecord
	same(b, b.claimedOf(p), map[storage.ID]int{fresh: 3, failing: 3}, "deliveries claimed with NewOrFailing.MaxDeliveries and no other pool")
	p.Fast.MaxDeliveries, p.Slow.MaxDeliveries, p.NewOrFailing.MaxDeliveries = everyRecord, everyRecord, 0
	same(b, b.claimedOf(p), map[storage.ID]int{fast: 1, sluggish: 2}, "deliveries claimed with NewOrFailing.MaxDeliveries 0")
}

func claimPerWebhook(b *bundle) {
	one, two, three, fresh := b.ranked(quick, 0), b.ranked(slow, 0), b.ranked(quick, 0), b.ranked(storage.Health{}, 0)
	failing := b.ranked(storage.Health{Succeeded: true, Failures: 2}, 0)
	for range 20 {
		for _, w := range []storage.ID{one, two, three, fresh, failing} {
			b.enqueue(w)
		}
	}
	for i, c := range []struct{ named, want map[storage.ID]int }{
		{nil, map[storage.ID]int{one: 4, two: 4, three: 4, fresh: 1, failing: 1}},
		{map[storage.ID]int{one: 3, two: 1, fresh: 0}, map[storage.ID]int{one: 3, two: 1, three: 4, failing: 1}},
		{map[storage.ID]int{one: 0, two: -5, newID(): 4, failing: 3}, map[storage.ID]int{three: 4, fresh: 1, failing: 3}},
		{map[storage.ID]int{one: 6, two: 3, fresh: 2, failing: 0}, map[storage.ID]int{one: 6, two: 3, three: 4, fresh: 2}},
	} {
		p := b.everything()
		p.PerWebhook, p.Webhooks = 4, c.named
		same(b, b.claimedOf(p), c.want, "claim %d: deliveries by webhook with PerWebhook 4", i+1)
	}
	p := b.everything()
	p.PerWebhook, p.Webhooks = 0, nil
	same(b, b.claimedOf(p), map[storage.ID]int{}, "deliveries by webhook with PerWebhook 0")
}

func atHost(host string) func(*storage.Webhook) {
	return func(w *storage.Webhook) { w.URL = "https://" + host + "/" + text("hook") }
}

func claimPerHost(b *bundle) {
	hosts := map[storage.ID]string{}
	for _, s := range []storage.Health{quick, {}} {
		for _, host := range []string{"a.example", "a.example", "b.example", "c.example"} {
			hosts[b.ranked(s, 0, atHost(host))] = host
		}
	}
	for w := range hosts {
		for range 10 {
			b.enqueue(w)
		}
	}
	claimed := func(quick, others storage.Pool) map[string]int {
		b.Helper()
		p := b.everything()
		p.Fast, p.NewOrFailing = quick, others
		got := map[string]int{}
		for _, d := range b.claim(p) {
			pool := " others"
			if d.Health.Fast() {
				pool = " quick"
			}
			same(b, d.Host, hosts[d.Lease.WebhookID], "Delivery.Host")
			got[d.Host+pool]++
		}
		return got
	}
	all := storage.Pool{MaxDeliveries: everyRecord}
	same(b, claimed(
		storage.Pool{MaxDeliveries: everyRecord, PerHost: 4},
		storage.Pool{MaxDeliveries: everyRecord, PerHost: 2, Hosts: map[string]int{"a.example": 3, "b.example": 0}},
	), map[string]int{
		"a.example quick": 4, "b.example quick": 4, "c.example quick": 4,
		"a.example others": 3, "c.example others": 2,
	}, "deliveries by hostname and pool")
	same(b, claimed(storage.Pool{MaxDeliveries: 5, Hosts: map[string]int{"a.example": 0, "b.example": -1}}, storage.Pool{}),
		map[string]int{"c.example quick": 5}, "deliveries by hostname with a limit of 0 for two hostnames")
	same(b, claimed(all, all), map[string]int{
		"a.example quick": 16, "b.example quick": 6, "c.example quick": 1,
		"a.example others": 17, "b.example others": 10, "c.example others": 8,
	}, "deliveries that are left")
}

func claimWithout(b *bundle) {
	for _, s := range []storage.Health{quick, slow, {}} {
		from, to := b.addWorkspace(b.user()), b.addWorkspace(b.user())
		moves, stays, other := b.addForm(from.ID), b.addForm(from.ID), b.addForm(to.ID)
		hooks := map[storage.ID]storage.ID{}
		for _, f := range []storage.Form{moves, stays, other} {
			w := b.addWebhook(f.ID)
			if hooks[f.ID] = w.ID; s != (storage.Health{}) {
				b.rank(w.ID, s)
			}
		}
		_, err := b.store.UpdateForm(b.Context(), storage.AsHost(), moves.ID, storage.FormChange{WorkspaceID: &to.ID, At: b.tick()})
		b.ok(err, "UpdateForm")
		for _, w := range hooks {
			b.enqueue(w)
		}
		without := func(all ...storage.ID) storage.ClaimParams {
			p := b.everything()
			p.Fast.ExcludedWorkspaces, p.Slow.ExcludedWorkspaces, p.NewOrFailing.ExcludedWorkspaces = all, all, all
			return p
		}
		same(b, b.claimedOf(without(from.ID, to.ID)), map[storage.ID]int{}, "deliveries of %+v without both workspaces", s)
		same(b, b.claimedOf(without(newID(), to.ID)), map[storage.ID]int{hooks[stays.ID]: 1}, "deliveries of %+v without the workspace that a form moved to", s)
		same(b, b.claimedOf(without(from.ID)), map[storage.ID]int{hooks[moves.ID]: 1, hooks[other.ID]: 1}, "deliveries of %+v without the workspace that a form left", s)
	}
}

func claimMaxBytes(b *bundle) {
	f := b.anyForm()
	b.addWebhook(f.ID)
	for range 7 {
		b.submit(f, func(n *storage.NewSubmission) { n.Event.Body = bytes.Repeat([]byte("x"), 1000) })
	}
	p := b.everything()
	for _, c := range []struct{ bytes, want int }{{2999, 2}, {1, 1}, {1000, 1}, {2000, 2}, {0, 1}} {
		p.MaxBytes = c.bytes
		same(b, len(b.claim(p)), c.want, "deliveries of 1000 bytes claimed with MaxBytes %d", c.bytes)
	}
	hooks := []storage.ID{b.ranked(quick, 0), b.ranked(storage.Health{}, 0)}
	for range 4 {
		for _, w := range hooks {
			e := newEvent()
			e.Body = bytes.Repeat([]byte("x"), 1000)
			b.ok(b.store.Enqueue(b.Context(), w, e), "Enqueue")
		}
	}
	for _, c := range []struct{ bytes, want int }{{1, 1}, {2999, 2}} {
		p := b.everything()
		p.MaxBytes = c.bytes
		same(b, b.claimedOf(p), map[storage.ID]int{hooks[0]: c.want, hooks[1]: c.want}, "deliveries of 1000 bytes of each pool with MaxBytes %d", c.bytes)
	}
}

func claimStanding(b *bundle) {
	f := b.anyForm()
	b.addWebhook(f.ID)
	b.submit(f)
	b.submit(f)
	batch := b.claimSome(2)
	same(b, batch[0].Health, storage.Health{}, "Health of a new webhook")
	one, two := retried(batch[0], b.tick(), atOnce), retried(batch[1], b.tick(), atOnce)
	one.Health, two.Health = storage.Health{Failures: 1}, storage.Health{Failures: 2}
	b.finish(one, two)
	for _, want := range []storage.Health{{Failures: 2}, {Succeeded: true, SuccessesUntilFast: 7}, {Succeeded: true}, {Succeeded: true, SuccessesUntilFast: 3, Failures: 4}} {
		if want.Failures != 2 {
			var done []storage.Result
			for _, d := range b.claimSome(2) {
				r := retried(d, b.tick(), atOnce)
				r.Health = want
				done = append(done, r)
			}
			b.finish(done...)
		}
		batch = b.claimSome(2)
		for _, d := range batch {
			same(b, d.Health, want, "Health after a result that sets it")
		}
		b.finish(storage.Result{Lease: batch[0].Lease}, storage.Result{Lease: batch[1].Lease})
	}
}

func claimGenerations(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	for range 3 {
		b.enqueue(w.ID)
	}
	p := b.everything()
	p.Webhooks[w.ID], p.PerWebhook = 1, 4
	old := only(b, b.claim(p), "ClaimDeliveries with a limit of 1 in Webhooks")
	p.Webhooks[w.ID], p.Generations = 0, map[storage.ID]int64{w.ID: old.Generation}
	same(b, len(b.claim(p)), 0, "deliveries claimed with a limit of 0 for the webhook's Generation")
	b.updateWebhook(w.ID, storage.WebhookChange{URL: ptr("https://example.net/elsewhere")})
	p.Generations[newID()] = old.Generation
	moved := only(b, b.claim(p), "ClaimDeliveries with a limit of 0 for the Generation of the earlier URL: one delivery of an unhealthy webhook")
	same(b, moved.URL, "https://example.net/elsewhere", "URL")
	p.Generations[w.ID] = moved.Generation
	same(b, len(b.claim(p)), 0, "deliveries claimed with a limit of 0 for the Generation of the new URL")
	p.Generations = nil
	same(b, len(b.claim(p)), 0, "deliveries claimed with a limit of 0 without a Generation")
	b.updateWebhook(w.ID, storage.WebhookChange{URL: ptr("https://example.net/again")})
	same(b, len(b.claim(p)), 0, "deliveries claimed with a limit of 0 without a Generation, after a change of the URL")
}

func claimAges(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	queued := time.Now()
	b.submit(f)
	upTo := func(got time.Duration, began time.Time, what string) {
		b.Helper()
		if most := time.Since(began) + time.Millisecond; got < 0 || got > most {
			b.Errorf("%s: want up to %s, got %s", what, most, got)
		}
	}
	first := b.claimOne()
	upTo(first.Age, queued, "Age of the first attempt")
	same(b, first.FailedAgo, 0, "FailedAgo of a webhook that never failed")
	var last storage.ClaimedDelivery
	var failed time.Time
	for i, d := range []int{1, 2} {
		if i == 0 {
			last = first
		}
		failed = time.Now()
		r := retried(last, b.tick(), aMoment)
		r.Health = storage.Health{Failures: d}
		b.finish(r)
		last = only(b, b.claimEventually(b.everything()), "ClaimDeliveries")
	}
	upTo(last.Age, queued, "Age of the third attempt")
	upTo(last.FailedAgo, failed, "FailedAgo after the second failure")
	if last.FailedAgo <= 0 || last.FailedAgo >= last.FailingFor || last.Age <= last.FailingFor {
		b.Errorf("want FailedAgo, FailingFor and Age in this order, got %s, %s and %s", last.FailedAgo, last.FailingFor, last.Age)
	}
	r := ended(last, b.tick())
	r.Health = storage.Health{Failures: 3}
	b.finish(r)
	again := time.Now()
	b.ok(b.store.Redeliver(b.Context(), w.ID, r.Delivery.ID), "Redeliver")
	d := b.claimOne()
	upTo(d.Age, again, "Age after Redeliver")
	b.ok(b.store.Redeliver(b.Context(), w.ID, r.Delivery.ID), "Redeliver of a leased delivery")
	hastened := time.Now()
	b.finish(retried(d, b.tick(), time.Hour))
	upTo(b.claimOne().Age, hastened.Add(-time.Since(again)), "Age after Redeliver during a lease")
}

func claimFailingFor(b *bundle) {
	f := b.anyForm()
	b.addWebhook(f.ID)
	b.submit(f)
	try := func(s storage.Health) time.Duration {
		b.Helper()
		r := retried(b.claimOne(), b.tick(), atOnce)
		r.Health = s
		b.finish(r)
		d := b.claimOne()
		b.finish(storage.Result{Lease: d.Lease})
		return d.FailingFor
	}
	same(b, try(quick), 0, "FailingFor after a success")
	began := time.Now()
	first := try(storage.Health{Failures: 1})
	if most := time.Since(began) + time.Millisecond; first <= 0 || first > most {
		b.Errorf("FailingFor: want up to %s after the first failure, got %s", most, first)
	}
	if second := try(storage.Health{Failures: 2}); second <= first {
		b.Errorf("FailingFor: want more than %s after the second failure, got %s", first, second)
	}
	same(b, try(quick), 0, "FailingFor after a success")
	began = time.Now()
	again := try(storage.Health{Failures: 1, Succeeded: true})
	if most := time.Since(began) + time.Millisecond; again <= 0 || again > most {
		b.Errorf("FailingFor: want up to %s after a failure that follows a success, got %s", most, again)
	}
}

func claimPausedFor(b *bundle) {
	began := time.Now()
	_, w := b.pausedWebhook(time.Hour, 2)
	b.enqueue(w.ID)
	probe := b.claimOne()
	least := time.Hour - time.Since(began) - time.Millisecond
	if probe.PausedFor < least || probe.PausedFor > time.Hour {
		b.Errorf("PausedFor: want %s to an hour, got %s", least, probe.PausedFor)
	}
	same(b, probe.PauseReason, storage.PauseFailures, "PauseReason of a probe")

	over := paused(probe, b.tick(), aMoment)
	over.PauseReason, over.RetryIn = storage.PauseRetryAfter, 0
	b.finish(over)
	d := b.claimEventually(b.everything())[0]
	same(b, d.PausedFor, 0, "PausedFor after the pause ended")
	same(b, d.PauseReason, storage.PauseRetryAfter, "PauseReason after the pause ended")
	r := retried(d, b.tick(), atOnce)
	r.Health = quick
	b.finish(r)
	for _, d := range b.claimAll() {
		same(b, d.PausedFor, 0, "PausedFor after a success")
		same(b, d.PauseReason, "", "PauseReason after a success")
	}
}
