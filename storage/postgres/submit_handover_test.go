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
	form    storage.ID // that it was asked for last
	leased  int
}

func (r *room) Reserve(form storage.ID) ([]storage.ID, time.Duration) {
	r.form = form
	return []storage.ID{r.webhook}, time.Hour
}

func (r *room) HandOver(leased []storage.ClaimedDelivery, _ bool) { r.leased += len(leased) }

// The statements that store responses, and those that lease their deliveries too, are not
// planned anew for the lengths of their arrays, which takes several times as long as the
// rest of it.
func TestStoringIsNotPlannedAnew(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t, pgtest.MaxConns(1))
	s := New(pool, WithSchema(filled(t, pool, pgseed.Size{Forms: 1000, Webhooks: 1000})))
	to := &room{webhook: pgseed.ID(pgseed.Webhook, 0)}
	const times = 20
	number := 0
	for _, together := range []int{1, 3} {
		for _, key := range []storage.ID{{}, pgseed.ID(pgseed.Form, 0)} { // of any form, of one
			for i := range 2 * times {
				var group []storage.NewSubmission
				for k := range together {
					n := responseTo(0, number)
					if number++; key.IsZero() {
						n.Submission.FormID = pgseed.ID(pgseed.Form, k)
					}
					if i%2 == 0 {
						n.HandOver = to
					}
					group = append(group, n)
				}
				if _, err := s.submitTogether(t.Context(), key, group); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if want := (1 + 1 + 1 + 3) * times; to.leased != want { // the webhook is of one form
		t.Fatalf("%d deliveries are handed over, want %d", to.leased, want)
	}
	var statements, most int
	err := pool.QueryRow(t.Context(), `SELECT count(*), COALESCE(max(p.custom_plans), 0) FROM pg_prepared_statements p
		WHERE p.custom_plans + p.generic_plans = $1 AND p.statement LIKE '%WITH form AS%'`, times).Scan(&statements, &most)
	if err != nil {
		t.Fatal(err)
	}
	if statements != 8 || most > 5 { // what the server tries first
		t.Errorf("of %d statements one was planned %d times for %d calls, want 8 and 5", statements, most, times)
	}
}
