package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
)

var queryModes = map[string]pgx.QueryExecMode{
	"default mode":    pgx.QueryExecModeCacheStatement,
	"exec mode":       pgx.QueryExecModeExec,
	"simple protocol": pgx.QueryExecModeSimpleProtocol,
}

// seeded returns a store with some forms, of which the first has a webhook.
func seeded(t *testing.T, options ...pgtest.Option) (*Store, *pgxpool.Pool) {
	t.Helper()
	s, pool := testStore(t, options...)
	must(t, pgseed.Fill(t.Context(), pool, s.db.Schema, pgseed.Size{Forms: 3, AnswerBytes: 100, Webhooks: 1}))
	return s, pool
}

// response returns a response to the first form.
func response(number int) storage.NewSubmission {
	now := pgseed.Start().Add(time.Duration(number) * time.Second)
	return storage.NewSubmission{
		Submission: storage.Submission{
			ID: pgseed.ID(pgseed.Submission, number), FormID: pgseed.ID(pgseed.Form, 0), SubmittedAt: now,
			Answers: json.RawMessage(`[]`), Metadata: json.RawMessage(`{}`), Hidden: json.RawMessage(`{}`),
		},
		FormRevision: 1,
		Event:        storage.Event{ID: pgseed.ID(pgseed.Event, number), Type: "form.response.completed", Body: []byte(`{}`)},
	}
}

// roundTrips counts how often a connection begins to write after it has read: its
// round trips.
type roundTrips struct {
	net.Conn
	mu      *sync.Mutex
	n       *int
	reading bool
}

func (c *roundTrips) Write(b []byte) (int, error) {
	c.mu.Lock()
	if c.reading {
		*c.n++
	}
	c.reading = false
	c.mu.Unlock()
	return c.Conn.Write(b)
}

func (c *roundTrips) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.mu.Lock()
	c.reading = c.reading || n > 0
	c.mu.Unlock()
	return n, err
}

func TestACallIsOneRoundTrip(t *testing.T) {
	t.Parallel()
	form, host := pgseed.ID(pgseed.Form, 0), storage.AsHost()
	calls := map[string]func(s *Store, i int) error{
		"Submit": func(s *Store, i int) error {
			_, _, err := s.Submit(t.Context(), responseTo(1, i)) // the first form gets other revisions
			return err
		},
		"SavePartial":               func(s *Store, i int) error { return errorOf(s.SavePartial(t.Context(), half(0, i))) },
		"SavePartial again":         func(s *Store, i int) error { return errorOf(s.SavePartial(t.Context(), later(half(0, 100), 100+i))) },
		"PutDocument":               func(s *Store, _ int) error { return putVersion(s) },
		"UpdateForm":                func(s *Store, _ int) error { return renameWith(s) },
		"UpdateForm with documents": func(s *Store, _ int) error { return renameWith(s, versionOf("a"), versionOf("b")) },
		"Document": func(s *Store, _ int) error {
			return errorOf(s.Document(t.Context(), host, form, "version", "0000000000000001"))
		},
		"Documents": func(s *Store, _ int) error {
			_, _, err := s.Documents(t.Context(), host, form, storage.DocumentQuery{Kind: "version", Limit: 9})
			return err
		},
	}
	for name, mode := range queryModes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var n int
			s, _ := seeded(t, pgtest.Mode(mode), pgtest.MaxConns(1), func(c *pgxpool.Config) {
				dial := c.ConnConfig.DialFunc
				c.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
					conn, err := dial(ctx, network, addr)
					return &roundTrips{Conn: conn, mu: &mu, n: &n}, err
				}
			})
			keep(t, s, half(0, 100))
			for what, call := range calls {
				for i := range 3 {
					mu.Lock()
					n = 0
					mu.Unlock()
					must(t, call(s, i))
					mu.Lock()
					// In the default mode the first call prepares its statements as well.
					if n != 1 && (i > 0 || mode != pgx.QueryExecModeCacheStatement) {
						t.Errorf("call %d of %s made %d round trips", i, what, n)
					}
					mu.Unlock()
				}
			}
		})
	}
}

// The statement must not begin before the lock is there, nor the lock end before
// the statement has.
func TestSubmitHoldsTheFormsLock(t *testing.T) {
	t.Parallel()
	for name, mode := range queryModes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, pool := seeded(t, pgtest.Mode(mode))
			n := response(1)
			n.IdempotencyKey = "taken"

			// Somebody else stores the same key and does not commit yet.
			tx := begin(t, pool)
			other := response(2)
			other.IdempotencyKey = "taken"
			mustSubmit(t, s.On(tx), other)
			done := make(chan error, 1)
			go func() {
				got, replayed, err := s.Submit(context.WithoutCancel(t.Context()), n)
				if err == nil && (!replayed || got.ID != other.Submission.ID) {
					err = errors.New("the response was stored beside the other one")
				}
				done <- err
			}()
			const holders = `SELECT count(*) FROM pg_locks
				WHERE locktype = 'advisory' AND granted AND mode = 'ShareLock'
					AND (classid::bigint << 32 | objid::bigint) = $1::bigint`
			key := s.lockKey(lockForms, n.Submission.FormID)
			eventually(t, "both hold the lock, one of them while its statement waits", func() bool {
				var held int
				must(t, pool.QueryRow(t.Context(), holders, key).Scan(&held))
				return held == 2
			})
			must(t, tx.Commit(t.Context()))
			must(t, <-done)
		})
	}
}

// eventually waits for something that another connection does.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-limit.C:
			t.Fatalf("after a minute it is not so: %s", what)
		}
	}
}
