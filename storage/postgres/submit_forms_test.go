package postgres

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
)

// room is a storage.DirectDispatcher that reserves one webhook.
type room struct {
	webhook storage.ID
	form    storage.ID // that it was asked for last
	leased  int
}

func (r *room) Reserve(form storage.ID) ([]storage.ID, time.Duration) {
	r.form = form
	return []storage.ID{r.webhook}, time.Hour
}

func (r *room) Dispatch(leased []storage.ClaimedDelivery, _ bool) { r.leased += len(leased) }

const spread = 50 // forms

// spreadOut returns a store on forms with a webhook each, and its pool.
func spreadOut(t *testing.T) (*Store, *pgxpool.Pool) {
	t.Helper()
	pool := pgtest.Pool(t, pgtest.MaxConns(6))
	return New(pool, WithSchema(filled(t, pool, pgseed.Size{Forms: spread, Webhooks: spread}))), pool
}

// atOnce submits responses that are all there before the first of them is stored.
func atOnce(t *testing.T, s *Store, pool *pgxpool.Pool, group []storage.NewSubmission) *inFlight {
	t.Helper()
	var taken []*pgxpool.Conn
	for range pool.Config().MaxConns {
		c, err := pool.Acquire(t.Context())
		must(t, err)
		taken = append(taken, c)
	}
	var calls inFlight
	for i, n := range group {
		calls.submit(t.Context(), s, i, n)
	}
	queuedForAny(t, s, len(group))
	for _, c := range taken {
		c.Release()
	}
	return &calls
}

func oneToEach(forms int) []storage.NewSubmission {
	group := make([]storage.NewSubmission, forms)
	for i := range group {
		group[i] = responseTo(i, i)
	}
	return group
}

func transactions(t *testing.T, pool *pgxpool.Pool, s *Store) (n int) {
	t.Helper()
	must(t, pool.QueryRow(t.Context(), s.db.RewriteSQL(`SELECT count(DISTINCT xmin::text) FROM formsvc.submissions`)).Scan(&n))
	return n
}

func TestResponsesToManyFormsAreStoredInOneTransaction(t *testing.T) {
	t.Parallel()
	s, pool := spreadOut(t)
	group := append(oneToEach(spread), responseTo(0, 1000), responseTo(1, 1001), responseTo(2, 1002))
	for i := range group {
		switch i % 5 {
		case 1:
			group[i].IdempotencyKey = "the same for each form, not for its responses"[:20+i%7]
		case 2:
			group[i].Dispatcher = &room{webhook: pgseed.ID(pgseed.Webhook, i%spread)}
		case 3:
			group[i].Event = storage.Event{}
		}
	}
	calls := atOnce(t, s, pool, group)
	calls.allStored(t)
	if n := transactions(t, pool, s); n != 1 {
		t.Errorf("%d transactions, want 1", n)
	}
	const told = spread + 3 - 10
	for table, want := range map[string]int{"submissions": spread + 3, "events": told, "deliveries": told, "arrivals": told - 11 - 2} {
		wantRows(t, pool, s, want, table)
	}
	for i := range spread {
		funnel, err := s.Funnel(t.Context(), storage.AsHost(), pgseed.ID(pgseed.Form, i), storage.Window{})
		want := 1
		if i < 3 {
			want = 2
		}
		if err != nil || funnel.Submissions != int64(want) {
			t.Errorf("the funnel of form %d counts %d (%v), want %d", i, funnel.Submissions, err, want)
		}
	}
	for i, n := range group {
		if to, ok := n.Dispatcher.(*room); ok && (to.leased != 1 || to.form != n.Submission.FormID) {
			t.Errorf("response %d: %d deliveries are handed over, of form %s", i, to.leased, to.form)
		}
	}
}

// A form that a host's transaction holds and one with a limit go their own way: the others
// are stored meanwhile.
func TestAFormWithItsOwnWayDelaysNoOther(t *testing.T) {
	t.Parallel()
	s, pool := spreadOut(t)
	const held, limited = 7, 8
	if _, err := s.UpdateForm(t.Context(), storage.AsHost(), pgseed.ID(pgseed.Form, limited),
		storage.FormChange{At: pgseed.Start(), Acceptance: &storage.AcceptanceRules{ResponseLimit: 1}}); err != nil {
		t.Fatal(err)
	}
	group := append(oneToEach(spread), responseTo(limited, 1000))
	group[limited], group[spread] = atRevision(group[limited], 2), atRevision(group[spread], 2)
	release := hold(t, s, held)
	calls := atOnce(t, s, pool, group)
	eventually(t, "all others are stored", func() bool { return calls.returned() == len(group)-1 })
	eventually(t, "the response to the held form waits for it", func() bool { return waitingFor(t, pool, s, held) == 1 })
	for i := range 20 { // one at a time, so that it is a group of its own
		mustSubmit(t, s, responseTo(i%held, 3000+i))
	}
	if calls.returned() != len(group)-1 {
		t.Error("a response was stored while its form was held")
	}
	release()
	calls.group.Wait()
	full := 0
	for number, err := range calls.errs {
		switch {
		case errors.Is(err, storage.ErrLimitReached) && (number == limited || number == spread):
			full++
		case err != nil:
			t.Errorf("Submit %d: %v", number, err)
		}
	}
	if full != 1 {
		t.Errorf("%d responses to the form with room for one were refused", full)
	}
}

// What is the same in two forms is no repetition, though both are in one group.
func TestTheSameValuesInTwoForms(t *testing.T) {
	t.Parallel()
	s, pool := spreadOut(t)
	group := oneToEach(spread)
	for i := range group {
		group[i].Submission.ID, group[i].IdempotencyKey = group[0].Submission.ID, fmt.Sprint("key ", i%2)
	}
	for range 2 { // the second time each is a replay
		calls := atOnce(t, s, pool, group)
		calls.allStored(t)
	}
	wantRows(t, pool, s, spread, "submissions")
}
