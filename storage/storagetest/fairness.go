package storagetest

import (
	"time"

	"github.com/formsvc/formsvc/storage"
)

func fairnessCases() []Case {
	return []Case{
		{"fair_batch", "A backlog of one webhook does not keep others out of a batch that has room for them.", fairBatch},
		{"fair_turns", "The webhook that was served least recently comes first.", fairTurns},
		{"fair_to_newcomers", "A webhook that was never served comes before one with a backlog that was.", fairToNewcomers},
		{"fair_over_batches", "Batches that are smaller than the number of webhooks serve all of them in turn.", fairOverBatches},
		{"fair_past_full", "Webhooks that have no room hold back nobody.", fairPastFull},
	}
}

// queue adds a webhook with a number of deliveries, the first due at due.
func (b *bundle) queue(deliveries int, due time.Time) storage.ID {
	b.Helper()
	w := b.addWebhook(b.anyForm().ID)
	for i := range deliveries {
		b.enqueue(w.ID, due.Add(time.Duration(i)*time.Millisecond))
	}
	return w.ID
}

// serve claims a batch at a time that is later than that of the batch before,
// so that stores may take either clock for the order of service.
func (b *bundle) serve(turn, most, perWebhook int, held map[storage.ID]int) map[storage.ID]int {
	b.Helper()
	got := map[storage.ID]int{}
	for _, d := range b.claim(storage.ClaimParams{
		Now: soon().Add(time.Duration(turn) * time.Second), Lease: time.Hour, Max: most, PerWebhook: perWebhook, Held: held,
	}) {
		got[d.Lease.WebhookID]++
	}
	return got
}

func fairBatch(b *bundle) {
	backlog := b.queue(30, at(0))
	late, later := b.queue(1, at(time.Hour)), b.queue(1, at(2*time.Hour))
	got := b.serve(0, 10, 4, nil)
	same(b, got[backlog], 4, "deliveries of the webhook with a backlog, PerWebhook 4")
	same(b, got[late], 1, "deliveries of a webhook with one that was due an hour later")
	same(b, got[later], 1, "deliveries of a webhook with one that was due two hours later")
}

func fairTurns(b *bundle) {
	one, two := b.queue(20, at(0)), b.queue(20, at(time.Hour))
	last := storage.ID{}
	for turn := range 10 {
		got := b.serve(turn, 1, 4, nil)
		if len(got) != 1 {
			b.Fatalf("ClaimDeliveries: want one delivery in turn %d, got those of %d webhooks", turn+1, len(got))
		}
		served := one
		if got[two] > 0 {
			served = two
		}
		if served == last {
			b.Errorf("ClaimDeliveries: turn %d went to the webhook that was served in the turn before, though another one was waiting", turn+1)
		}
		last = served
	}
}

func fairToNewcomers(b *bundle) {
	backlog := b.queue(20, at(0))
	for turn := range 3 {
		same(b, b.serve(turn, 2, 2, nil)[backlog], 2, "deliveries of the only webhook")
	}
	newcomer := b.queue(1, soon())
	got := b.serve(3, 1, 2, nil)
	same(b, got[newcomer], 1, "deliveries of a webhook that was never served, in a batch of one")
}

func fairOverBatches(b *bundle) {
	const webhooks = 6
	for i := range webhooks {
		b.queue(12, at(time.Duration(i)*time.Minute))
	}
	// However a store fills a batch, webhook by webhook or round and round, one
	// batch for each webhook reaches them all.
	served := map[storage.ID]int{}
	for turn := range webhooks {
		for w, n := range b.serve(turn, 4, 4, nil) {
			served[w] += n
		}
	}
	same(b, len(served), webhooks, "webhooks served by as many batches of 4")
}

func fairPastFull(b *bundle) {
	held := map[storage.ID]int{}
	for range 6 {
		held[b.queue(10, at(0))] = 4
	}
	free := b.queue(1, at(time.Hour))
	got := b.serve(0, 2, 4, held)
	same(b, got[free], 1, "deliveries of the webhook that has room, in a batch of 2")
	same(b, len(got), 1, "webhooks in the batch")
}
