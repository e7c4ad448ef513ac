package storagetest

import (
	"github.com/formsvc/formsvc/storage"
)

func turnCases() []Case {
	return []Case{
		{"fair_batch", "A backlog of one webhook does not exclude other webhooks from a claim with a sufficient limit.", fairBatch},
		{"fair_turns", "The least recently served webhook comes first, also for another handle on the same data.", fairTurns},
		{"fair_to_newcomers", "A webhook with its first delivery comes before a webhook with a backlog that was already served.", fairToNewcomers},
		{"fair_over_claims", "Claims that are smaller than the number of webhooks serve all webhooks in round robin.", fairOverClaims},
		{"fair_past_full", "Webhooks and hostnames without capacity do not delay others.", fairPastFull},
		{"fair_pools", "A pool without capacity does not delay other pools.", fairPools},
	}
}

// serve claims a batch with PerWebhook for every webhook.
func (b *bundle) serve(store storage.Storage, most, perWebhook int) map[storage.ID]int {
	b.Helper()
	p := b.everything()
	p.Fast.MaxDeliveries, p.Slow.MaxDeliveries, p.NewOrFailing.MaxDeliveries, p.Webhooks = most, 0, 0, nil
	p.PerWebhook = perWebhook
	got := map[storage.ID]int{}
	for more, n := true, 0; more && n == 0; {
		claimed, again, err := store.ClaimDeliveries(b.Context(), p)
		b.ok(err, "ClaimDeliveries")
		for _, d := range claimed {
			got[d.Lease.WebhookID]++
		}
		more, n = again, len(claimed)
	}
	return got
}

func fairBatch(b *bundle) {
	backlog, late, later := b.ranked(quick, 0), b.ranked(quick, 0), b.ranked(quick, 0)
	for range 30 {
		b.enqueue(backlog)
	}
	b.enqueue(late)
	b.enqueue(later)
	same(b, b.serve(b.store, 12, 4), map[storage.ID]int{backlog: 4, late: 1, later: 1}, "deliveries by webhook, PerWebhook 4")
}

func fairTurns(b *bundle) {
	one, two := b.ranked(quick, 0), b.ranked(quick, 0)
	for _, w := range []storage.ID{one, two} {
		for range 20 {
			b.enqueue(w)
		}
	}
	b.serve(b.store, 2, 1) // both are known to have a backlog
	last := storage.ID{}
	for turn := range 10 {
		store := b.store
		if turn%4 > 1 {
			store = b.second
		}
		got := b.serve(store, 1, 4)
		if len(got) != 1 {
			b.Fatalf("ClaimDeliveries: want one delivery in claim %d, got deliveries of %d webhooks", turn+1, len(got))
		}
		served := one
		if got[two] > 0 {
			served = two
		}
		if served == last {
			b.Errorf("ClaimDeliveries: claim %d served the same webhook as the previous claim, although another webhook was waiting", turn+1)
		}
		last = served
	}
}

func fairToNewcomers(b *bundle) {
	backlog, newcomer := b.ranked(quick, 0), b.ranked(quick, 0)
	for range 20 {
		b.enqueue(backlog)
	}
	for range 3 {
		same(b, b.serve(b.store, 2, 2)[backlog], 2, "deliveries of the only webhook")
	}
	b.enqueue(newcomer)
	got := 0
	for range 2 { // one turn may be that of the backlog
		got += b.serve(b.store, 1, 2)[newcomer]
	}
	same(b, got, 1, "deliveries of a webhook with its first delivery, in two claims of one")
}

func fairOverClaims(b *bundle) {
	const webhooks = 6
	var hooks []storage.ID
	for range webhooks {
		hooks = append(hooks, b.ranked(quick, 0))
	}
	for _, w := range hooks {
		for range 12 {
			b.enqueue(w)
		}
	}
	// However a store fills a claim, webhook by webhook or round and round, one
	// claim for each webhook reaches them all.
	served := map[storage.ID]int{}
	for range webhooks {
		for w, n := range b.serve(b.store, 4, 4) {
			served[w] += n
		}
	}
	same(b, len(served), webhooks, "webhooks that were served by as many claims with MaxDeliveries 4")
}

func fairPastFull(b *bundle) {
	full := map[storage.ID]int{}
	var sameHost []storage.ID
	for range 6 {
		full[b.ranked(quick, 0)] = 0
		sameHost = append(sameHost, b.ranked(quick, 0, atHost("full.example")))
	}
	free := b.ranked(quick, 0)
	for w := range full {
		for range 5 {
			b.enqueue(w)
		}
	}
	for _, w := range sameHost {
		b.enqueue(w)
	}
	b.enqueue(free)
	p := b.everything()
	p.Fast = storage.Pool{MaxDeliveries: 2, Hosts: map[string]int{"full.example": 0}}
	p.Webhooks, p.PerWebhook = full, 4
	for turn := range 3 {
		want := map[storage.ID]int{free: 1}
		if turn > 0 {
			want = map[storage.ID]int{}
		}
		same(b, b.claimedOf(p), want, "claim %d: deliveries of the webhook without a limit", turn+1)
	}
	p.Fast = storage.Pool{MaxDeliveries: 5, Hosts: map[string]int{"full.example": 4}}
	same(b, len(b.claimedOf(p)), 4, "webhooks of the hostname that has capacity again")
}

func fairPools(b *bundle) {
	fast, fresh := b.ranked(quick, 0), b.ranked(storage.Health{}, 0)
	for range 8 {
		b.enqueue(fast)
	}
	p := b.everything()
	p.Fast.MaxDeliveries = 0
	for range 3 {
		same(b, len(b.claim(p)), 0, "deliveries claimed while the fast pool has no capacity")
	}
	b.enqueue(fresh)
	same(b, b.claimedOf(p), map[storage.ID]int{fresh: 1}, "deliveries claimed for the other pools")
	p = b.everything()
	p.NewOrFailing.MaxDeliveries = 0
	got := b.claim(p)
	same(b, len(append(got, b.claim(p)...)), 8, "deliveries claimed for the fast pool")
}
