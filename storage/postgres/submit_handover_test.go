package postgres

import (
	"testing"
	"time"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
)

// room is a storage.HandOver with room for one webhook.
type room struct {
	webhook storage.ID
	leased  int
}

func (r *room) Reserve(storage.ID) ([]storage.ID, time.Duration) {
	return []storage.ID{r.webhook}, time.Hour
}

func (r *room) HandOver(leased []storage.ClaimedDelivery, _ bool) { r.leased += len(leased) }

// The statement that stores responses and leases their deliveries is not planned anew for
// the lengths of its arrays, which takes several times as long as the rest of it.
func TestHandOversAreNotPlannedAnew(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t, pgtest.MaxConns(1))
	s := New(pool, WithSchema(filled(t, pool, pgseed.Size{Forms: 1000, Webhooks: 1000})))
	form, to := pgseed.ID(pgseed.Form, 0), &room{webhook: pgseed.ID(pgseed.Webhook, 0)}
	const times = 20
	for _, together := range []int{1, 3} {
		for i := range times {
			var group []storage.NewSubmission
			for k := range together {
				n := response(100*together + times*k + i)
				n.HandOver = to
				group = append(group, n)
			}
			if _, err := s.submitTogether(t.Context(), form, group, false); err != nil {
				t.Fatal(err)
			}
		}
	}
	if to.leased != 4*times {
		t.Fatalf("%d deliveries are handed over, want %d", to.leased, 4*times)
	}
	var statements, most int
	err := pool.QueryRow(t.Context(), `SELECT count(*), COALESCE(max(p.custom_plans), 0) FROM pg_prepared_statements p
		WHERE p.custom_plans + p.generic_plans = $1 AND p.statement LIKE '%nextval%'`, times).Scan(&statements, &most)
	if err != nil {
		t.Fatal(err)
	}
	if statements != 2 || most > 5 { // what the server tries first
		t.Errorf("of %d statements one was planned %d times for %d calls, want 2 and 5", statements, most, times)
	}
}
