package postgres

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
)

// handed notes the events of the deliveries that it gets.
type handed struct {
	webhooks []storage.ID

	mu     sync.Mutex
	events map[storage.ID]bool
}

func (h *handed) Reserve(storage.ID) ([]storage.ID, time.Duration) { return h.webhooks, time.Hour }

func (h *handed) Dispatch(leased []storage.ClaimedDelivery, _ bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, d := range leased {
		h.events[d.Lease.EventID] = true
	}
}

// Clients disconnect while their responses are stored, alone or with others. What is stored is
// handed over all the same: otherwise it waits for the end of its lease.
func TestResponsesOfCallersWhoLeaveAreHandedOver(t *testing.T) {
	t.Parallel()
	for _, callers := range []int{1, 8} {
		for _, checked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d callers, checked %t", callers, checked), func(t *testing.T) {
				t.Parallel()
				s, pool := seeded(t, pgtest.MaxConns(6))
				to := &handed{webhooks: []storage.ID{pgseed.ID(pgseed.Webhook, 0)}, events: map[storage.ID]bool{}}
				began := time.Now()
				mustSubmit(t, s, response(100_000))
				first := time.Since(began)
				var group sync.WaitGroup
				var left atomic.Int32
				for caller := range callers {
					group.Go(func() {
						usual := first
						for i := range 240 / callers {
							n := response(1000*caller + i)
							if n.Dispatcher = to; checked {
								n.UniqueAnswer = n.Submission.ID[:]
							}
							// Some leave and some stay, however busy the machine is.
							ctx, leave := context.WithTimeout(t.Context(), rand.N(2*usual))
							began := time.Now()
							if _, _, err := s.Submit(ctx, n); err != nil {
								left.Add(1)
							} else {
								usual = time.Since(began)
							}
							leave()
						}
					})
				}
				group.Wait()
				eventually(t, "nothing is being stored", func() bool { return s.submitBatches.batched.isIdle() && s.submitBatches.single.isIdle() })
				rows, err := pool.Query(t.Context(), s.db.RewriteSQL(`SELECT event_id FROM formsvc.deliveries WHERE token <> 0`))
				must(t, err)
				stored, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
				must(t, err)
				late := 0
				for _, event := range stored {
					if !to.events[storage.ID(event)] {
						late++
					}
				}
				if late > 0 {
					t.Errorf("of %d leased deliveries %d were not handed over; %d callers left", len(stored), late, left.Load())
				}
				if len(stored) == 0 || left.Load() == 0 {
					t.Errorf("%d leased deliveries, %d callers left: nothing was tried", len(stored), left.Load())
				}
			})
		}
	}
}
