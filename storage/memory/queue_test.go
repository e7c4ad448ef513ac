package memory

import (
	"container/heap"
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/formsvc/formsvc/storage"
)

func TestSchedule(t *testing.T) {
	t.Parallel()

	t.Run("Counts and pops what a plain list would", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			var l lane
			all := make(map[*delivery]time.Time)
			seconds := rapid.Int64Range(0, 9)
			drawn := func(t *rapid.T) *delivery {
				n := rapid.IntRange(0, 30).Draw(t, "delivery")
				for d := range all {
					if d.event.id == id('e', n) {
						return d
					}
				}
				return nil
			}
			n := 0
			t.Repeat(map[string]func(*rapid.T){
				"add": func(t *rapid.T) {
					due := time.Unix(seconds.Draw(t, "due"), 0)
					d := &delivery{event: &event{id: id('e', n)}}
					l.move(d, &l.free, due)
					all[d] = due
					n++
				},
				"move": func(t *rapid.T) {
					if d := drawn(t); d != nil {
						all[d] = time.Unix(seconds.Draw(t, "due"), 0)
						l.move(d, &l.free, all[d])
					}
				},
				"remove": func(t *rapid.T) {
					if d := drawn(t); d != nil {
						l.remove(d)
						delete(all, d)
					}
				},
				"pop": func(t *rapid.T) {
					if len(l.free) == 0 {
						return
					}
					d := heap.Pop(&l.free).(*delivery)
					due, ok := all[d]
					if !ok {
						t.Fatal("popped what was not there")
					}
					delete(all, d)
					for _, other := range all {
						if other.Before(due) {
							t.Fatalf("popped %v before %v", due, other)
						}
					}
				},
				"": func(t *rapid.T) {
					now := time.Unix(seconds.Draw(t, "now"), 0)
					var want int64
					for _, due := range all {
						if !due.After(now) {
							want++
						}
					}
					if got := l.free.upTo(now); got != want {
						t.Fatalf("upTo = %d, want %d", got, want)
					}
					if len(l.free) != len(all) {
						t.Fatalf("%d in the heap, want %d", len(l.free), len(all))
					}
				},
			})
		})
	})
}

func TestLeaseClock(t *testing.T) {
	t.Parallel()
	ctx := context.Background()

	// claim takes what there is. Its Now is far ahead of the store's clock, which
	// must not matter.
	claim := func(t *testing.T, b *bundle) []storage.Delivery {
		t.Helper()
		got, err := b.store.ClaimDeliveries(ctx, storage.ClaimParams{
			Now: start.Add(1000 * time.Hour), Lease: time.Minute, Max: 9, PerWebhook: 9,
		})
		must(t, err)
		return got
	}
	held := func(t *testing.T) (*bundle, *atomic.Int64, storage.Delivery) {
		t.Helper()
		var passed atomic.Int64
		b := setup(t, WithClock(func() time.Time { return start.Add(time.Duration(passed.Load())) }))
		b.addWebhook(t, 1)
		b.submit(t, 1)
		got := claim(t, b)
		if len(got) != 1 {
			t.Fatalf("claimed %d, want 1", len(got))
		}
		return b, &passed, got[0]
	}

	t.Run("A lease holds until its end on the store's clock, whatever the caller's time", func(t *testing.T) {
		t.Parallel()
		b, passed, first := held(t)
		passed.Store(int64(time.Minute - 1))
		if got := claim(t, b); len(got) != 0 {
			t.Fatalf("claimed %d under a lease, want 0", len(got))
		}
		passed.Store(int64(time.Minute))
		got := claim(t, b)
		if len(got) != 1 || got[0].Lease.Token <= first.Lease.Token {
			t.Fatalf("claimed %+v after token %d", got, first.Lease.Token)
		}
	})

	t.Run("A lease that ran out and was freed, but not claimed again, still counts", func(t *testing.T) {
		t.Parallel()
		b, passed, first := held(t)
		passed.Store(int64(time.Hour))
		b.store.webhooks[first.Lease.WebhookID].lane.reclaim(start.Add(time.Hour))
		fenced, err := b.store.FinishDeliveries(ctx, []storage.Result{{
			Lease: first.Lease, Attempt: &storage.Attempt{ID: id('a', 1), CreatedAt: start},
		}}, 100)
		must(t, err)
		if len(fenced) != 0 || len(claim(t, b)) != 0 {
			t.Errorf("fenced = %v, or the delivery did not end", fenced)
		}
	})

	t.Run("Redelivering what is under a lease does not hand it out twice", func(t *testing.T) {
		t.Parallel()
		b, _, first := held(t)
		again := []storage.Result{{Lease: first.Lease, Attempt: &storage.Attempt{
			ID: id('a', 1), CreatedAt: start, NextAttemptAt: start.Add(time.Second),
		}}}
		_, err := b.store.FinishDeliveries(ctx, again, 100)
		must(t, err)
		if got := claim(t, b); len(got) != 1 {
			t.Fatalf("claimed %d, want 1", len(got))
		}
		must(t, b.store.Redeliver(ctx, first.Lease.WebhookID, id('a', 1), start))
		if got := claim(t, b); len(got) != 0 {
			t.Errorf("claimed %+v, which is under a lease", got)
		}
	})

	t.Run("A settled lease cannot be used again", func(t *testing.T) {
		t.Parallel()
		b, _, first := held(t)
		later := []storage.Result{{Lease: first.Lease, Attempt: &storage.Attempt{
			ID: id('a', 1), CreatedAt: start, NextAttemptAt: start.Add(time.Second),
		}}}
		for i, want := range []int{0, 1} {
			fenced, err := b.store.FinishDeliveries(ctx, later, 100)
			must(t, err)
			if len(fenced) != want {
				t.Errorf("call %d: fenced %d, want %d", i, len(fenced), want)
			}
		}
		if got := claim(t, b); len(got) != 1 || got[0].Attempt != 2 {
			t.Errorf("claimed %+v, want one at attempt 2", got)
		}
	})
}

func TestQueue(t *testing.T) {
	t.Parallel()
	ctx := context.Background()

	t.Run("Takes turns also while the clock stands still", func(t *testing.T) {
		t.Parallel()
		b := setup(t, WithClock(func() time.Time { return start }))
		for i := range 3 {
			b.addWebhook(t, i)
		}
		for i := range 5 {
			b.submit(t, i)
		}
		served := make(map[storage.ID]int)
		for range 9 {
			got, err := b.store.ClaimDeliveries(ctx, storage.ClaimParams{
				Now: start.Add(time.Hour), Lease: time.Minute, Max: 1, PerWebhook: 9,
			})
			must(t, err)
			served[got[0].Lease.WebhookID]++
		}
		want := map[storage.ID]int{id('h', 0): 3, id('h', 1): 3, id('h', 2): 3}
		if diff := cmp.Diff(want, served); diff != "" {
			t.Errorf("served (-want +got):\n%s", diff)
		}
	})

	t.Run("A webhook that comes back with work stands where it was last served", func(t *testing.T) {
		t.Parallel()
		var q queue
		hooks := make([]*webhook, 3)
		for i := range hooks {
			hooks[i] = &webhook{rec: storage.Webhook{ID: id('h', i)}}
		}
		next := 0
		give := func(w *webhook) {
			next++
			q.add(w, &event{id: id('e', next)}, start)
		}
		claim := func() storage.ID {
			got := q.claim(storage.ClaimParams{Now: start, Lease: time.Hour, Max: 1, PerWebhook: 9}, start)
			if len(got) != 1 {
				t.Fatalf("claimed %d, want 1", len(got))
			}
			return got[0].delivery.Lease.WebhookID
		}
		finish := func(w *webhook) { w.lane.clear() }

		give(hooks[0])
		give(hooks[1])
		claim() // 0, which then has nothing left
		finish(hooks[0])
		claim() // 1
		finish(hooks[1])
		// Nobody asks while all are empty. They come back in another order.
		give(hooks[2])
		give(hooks[1])
		give(hooks[0])
		var order []storage.ID
		for range 3 {
			order = append(order, claim())
		}
		want := []storage.ID{id('h', 2), id('h', 0), id('h', 1)}
		if diff := cmp.Diff(want, order); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
	})

	t.Run("A webhook leaves the queue when it is empty and comes back with new work", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		hook := b.addWebhook(t, 1)
		b.submit(t, 1)
		must(t, b.store.DeleteSubmission(ctx, b.owner, b.form, id('s', 1)))
		claim := func() int {
			got, err := b.store.ClaimDeliveries(ctx, storage.ClaimParams{
				Now: start.Add(time.Hour), Lease: time.Minute, Max: 9, PerWebhook: 9,
			})
			must(t, err)
			return len(got)
		}
		if n, queued := claim(), len(b.store.queue.webhooks); n != 0 || queued != 0 {
			t.Errorf("claimed %d and kept %d webhooks, want none", n, queued)
		}
		must(t, b.store.Enqueue(ctx, hook, storage.Event{ID: id('e', 2)}, start))
		if n, queued := claim(), len(b.store.queue.webhooks); n != 1 || queued != 1 {
			t.Errorf("claimed %d and kept %d webhooks, want one each", n, queued)
		}
	})
}

// TestEventBodies looks at whether the garbage collector can have the event.
func TestEventBodies(t *testing.T) {
	t.Parallel()
	ctx := context.Background()

	// delivered returns a store whose one event was delivered and stands in the
	// history of two webhooks only.
	delivered := func(t *testing.T) (*bundle, weak.Pointer[event]) {
		t.Helper()
		b := setup(t)
		b.addWebhook(t, 1)
		b.addWebhook(t, 2)
		b.submit(t, 1)
		kept := weak.Make(b.store.webhooks[id('h', 1)].lane.pending[id('e', 1)].event)
		got, err := b.store.ClaimDeliveries(ctx, storage.ClaimParams{Now: start.Add(time.Hour), Lease: time.Hour, Max: 9, PerWebhook: 9})
		must(t, err)
		var done []storage.Result
		for i, d := range got {
			done = append(done, storage.Result{Lease: d.Lease, Attempt: &storage.Attempt{
				ID: id('a', i), WebhookID: d.Lease.WebhookID, EventID: d.Lease.EventID, CreatedAt: start,
			}})
		}
		_, err = b.store.FinishDeliveries(ctx, done, 100)
		must(t, err)
		return b, kept
	}
	for name, c := range map[string]struct {
		do   func(*bundle) error
		kept bool
	}{
		"stays while a history refers to it": {func(b *bundle) error {
			return b.store.DeleteWebhook(ctx, b.owner, id('h', 1))
		}, true},
		"goes with the last history that refers to it": {func(b *bundle) error {
			must(t, b.store.DeleteWebhook(ctx, b.owner, id('h', 1)))
			return b.store.DeleteWebhook(ctx, b.owner, id('h', 2))
		}, false},
		"goes with its form": {func(b *bundle) error {
			must(t, b.store.TrashForm(ctx, b.owner, b.form, storage.TrashParams{At: start}))
			_, err := b.store.Sweep(ctx, storage.SweepParams{TrashBefore: start.Add(time.Second), Max: 1})
			return err
		}, false},
		"goes with its submission": {func(b *bundle) error {
			return b.store.DeleteSubmission(ctx, b.owner, b.form, id('s', 1))
		}, false},
	} {
		t.Run("The body "+name, func(t *testing.T) {
			t.Parallel()
			b, event := delivered(t)
			must(t, c.do(b))
			runtime.GC()
			if got := event.Value() != nil; got != c.kept {
				t.Errorf("still in memory: %v, want %v", got, c.kept)
			}
			runtime.KeepAlive(b)
		})
	}
}
