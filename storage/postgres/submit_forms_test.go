package postgres

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
)

// sent counts the statements of a pool that were sent with a response's id, and those that
// went a form's own way.
type sent struct {
	mu             sync.Mutex
	times          map[storage.ID]int
	ofAForm, alone int
}

func (s *sent) trace(c *pgxpool.Config) { c.ConnConfig.Tracer = s }

func (s *sent) TraceBatchStart(ctx context.Context, _ *pgx.Conn, b pgx.TraceBatchStartData) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range b.Batch.QueuedQueries {
		switch {
		case strings.Contains(q.SQL, "), verdict AS ("):
			s.alone++
		case strings.Contains(q.SQL, "), given AS ") && strings.Contains(q.SQL, "unique_answers"):
			s.ofAForm++
		}
		for id := range s.times {
			for _, arg := range q.Arguments {
				list, _ := arg.([][]byte)
				if one, ok := arg.([]byte); ok {
					list = [][]byte{one}
				}
				for _, value := range list {
					if bytes.Equal(value, id[:]) {
						s.times[id]++
					}
				}
			}
		}
	}
	return ctx
}
func (*sent) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (*sent) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

func (*sent) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}
func (*sent) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

const spread = 50 // forms

// spreadOut returns a store on forms with a webhook each, and what its pool sends.
func spreadOut(t *testing.T) (*Store, *pgxpool.Pool, *sent) {
	t.Helper()
	seen := &sent{times: map[storage.ID]int{}}
	pool := pgtest.Pool(t, pgtest.MaxConns(6), seen.trace)
	return New(pool, WithSchema(filled(t, pool, pgseed.Size{Forms: spread, Webhooks: spread}))), pool, seen
}

// atOnce submits responses that are all there before the first of them is stored.
func atOnce(t *testing.T, s *Store, pool *pgxpool.Pool, group []storage.NewSubmission) *inFlight {
	t.Helper()
	var taken []*pgxpool.Conn
	for range pool.Config().MaxConns {
		c, err := pool.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
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
	if err := pool.QueryRow(t.Context(), s.db.SQL(`SELECT count(DISTINCT xmin::text) FROM formsvc.submissions`)).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// None of them goes its form's own way, with which every response would be stored too.
func TestResponsesToManyFormsAreStoredInOneTransaction(t *testing.T) {
	t.Parallel()
	s, pool, seen := spreadOut(t)
	group := append(oneToEach(spread), responseTo(0, 1000), responseTo(1, 1001), responseTo(2, 1002))
	for i := range group {
		switch i % 5 {
		case 1:
			group[i].IdempotencyKey = "the same for each form, not for its responses"[:20+i%7]
		case 2:
			group[i].HandOver = &room{webhook: pgseed.ID(pgseed.Webhook, i%spread)}
		case 3:
			group[i].Event = storage.Event{}
		}
	}
	calls := atOnce(t, s, pool, group)
	calls.group.Wait()
	for number, err := range calls.errs {
		if err != nil {
			t.Errorf("Submit %d: %v", number, err)
		}
	}
	if n := transactions(t, pool, s); n != 1 || seen.ofAForm != 0 || seen.alone != 0 {
		t.Errorf("%d transactions, %d statements of one form and %d of one response, want 1 and none", n, seen.ofAForm, seen.alone)
	}
	const told = spread + 3 - 10
	for table, want := range map[string]int{"submissions": spread + 3, "events": told, "deliveries": told, "arrivals": told - 11 - 2} {
		if n := count(t, pool, s, table); n != want {
			t.Errorf("%d rows in %s, want %d", n, table, want)
		}
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
		if to, ok := n.HandOver.(*room); ok && (to.leased != 1 || to.form != n.Submission.FormID) {
			t.Errorf("response %d: %d deliveries are handed over, of form %s", i, to.leased, to.form)
		}
	}
}

// A form that a host's transaction holds and one with a limit go their own way: the others
// are stored meanwhile.
func TestAFormWithItsOwnWayDelaysNoOther(t *testing.T) {
	t.Parallel()
	s, pool, _ := spreadOut(t)
	const held, limited = 7, 8
	if _, err := s.UpdateForm(t.Context(), storage.AsHost(), pgseed.ID(pgseed.Form, limited),
		storage.FormChange{At: pgseed.Start(), Gate: &storage.Gate{ResponseLimit: 1}}); err != nil {
		t.Fatal(err)
	}
	group := append(oneToEach(spread), responseTo(limited, 1000))
	group[limited], group[spread] = atRevision(group[limited], 2), atRevision(group[spread], 2)
	release := hold(t, s, held)
	calls := atOnce(t, s, pool, group)
	eventually(t, "all others are stored", func() bool { return calls.returned() == len(group)-1 })
	eventually(t, "the response to the held form waits for it", func() bool { return waitingFor(t, pool, s, held) == 1 })
	for i := range 20 { // one at a time, so that it is a group of its own
		if _, _, err := s.Submit(t.Context(), responseTo(i%held, 3000+i)); err != nil {
			t.Fatal(err)
		}
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

// Each other response of the group is sent again once.
func TestAResponseThatCannotBeStoredCostsTheOthersOneRepetition(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spoil func(*storage.NewSubmission)
		want  error
	}{
		"not JSON":      {func(n *storage.NewSubmission) { n.Submission.Answers = json.RawMessage(`{`) }, storage.ErrInvalidValue},
		"a taken event": {func(n *storage.NewSubmission) { n.Event.ID = pgseed.ID(pgseed.Event, 5000) }, storage.ErrConflict},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, pool, seen := spreadOut(t)
			if _, _, err := s.Submit(t.Context(), responseTo(0, 5000)); err != nil {
				t.Fatal(err)
			}
			group := oneToEach(spread)
			const bad = 20
			test.spoil(&group[bad])
			for _, n := range group {
				seen.times[n.Submission.ID] = 0
			}
			calls := atOnce(t, s, pool, group)
			calls.group.Wait()
			for i, n := range group {
				want := error(nil)
				if i == bad {
					want = test.want
				}
				if times := seen.times[n.Submission.ID]; !errors.Is(calls.errs[i], want) || times != 2 {
					t.Errorf("response %d was sent %d times and got %v, want 2 times and %v", i, times, calls.errs[i], want)
				}
			}
		})
	}
}

// What is the same in two forms is no repetition, though both are in one group.
func TestTheSameValuesInTwoForms(t *testing.T) {
	t.Parallel()
	s, pool, _ := spreadOut(t)
	group := oneToEach(spread)
	for i := range group {
		group[i].Submission.ID, group[i].IdempotencyKey = group[0].Submission.ID, fmt.Sprint("key ", i%2)
	}
	for range 2 { // the second time each is a replay
		calls := atOnce(t, s, pool, group)
		calls.group.Wait()
		for i, err := range calls.errs {
			if err != nil {
				t.Errorf("Submit %d: %v", i, err)
			}
		}
	}
	if n := count(t, pool, s, "submissions"); n != spread {
		t.Errorf("%d responses are stored, want one for each form", n)
	}
}
