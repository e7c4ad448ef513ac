package postgres

import (
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
)

// After a failover the connections of a pool are left on a server that only reads. Each way
// of writing finds a server that writes within one call, and none of these connections stays.
func TestReadOnlyConnectionsLeaveThePool(t *testing.T) {
	t.Parallel()
	const most = 8
	id := pgseed.ID(pgseed.Form, 0)
	for name, write := range map[string]func(*testing.T, *Store) error{
		"a batch": func(t *testing.T, s *Store) error {
			_, err := s.UpdateForm(t.Context(), storage.AsHost(), id, storage.FormChange{Name: ptr("n"), At: pgseed.Start()})
			return err
		},
		"a response": func(t *testing.T, s *Store) error {
			_, _, err := s.Submit(t.Context(), response(5))
			return err
		},
		"a partial submission": func(t *testing.T, s *Store) error {
			_, err := s.SavePartial(t.Context(), half(0, 1))
			return err
		},
		"the dispatcher": func(t *testing.T, s *Store) error {
			_, _, err := s.ClaimDeliveries(t.Context(), everything())
			return err
		},
		"a sweep": func(t *testing.T, s *Store) error {
			_, err := s.bringBack(t.Context(), storage.SweepParams{Max: 10}, new(storage.Swept))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := pgtest.Pool(t, pgtest.MaxConns(most))
			schema := filled(t, pool, pgseed.Size{Forms: 1, Webhooks: 1, Deliveries: 1})
			var all []*pgxpool.Conn
			for range most {
				c, err := pool.Acquire(t.Context())
				must(t, err)
				if _, err := c.Exec(t.Context(), `SET default_transaction_read_only = on`); err != nil {
					t.Fatal(err)
				}
				all = append(all, c)
			}
			for _, c := range all {
				c.Release()
			}
			s := New(pool, WithSchema(schema))
			if err := write(t, s); err != nil {
				t.Errorf("the first call: %v", err)
			}
			eventually(t, "no read-only connection is left", func() bool {
				for _, c := range pool.AcquireAllIdle(t.Context()) {
					var on string
					err := c.QueryRow(t.Context(), `SHOW default_transaction_read_only`).Scan(&on)
					c.Release()
					if err != nil || on == "on" {
						return false
					}
				}
				return true
			})
		})
	}
}

// In a host's transaction the connection is the host's.
func TestAReadOnlyTransactionOfAHostStaysOpen(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	tx, err := pool.BeginTx(t.Context(), pgx.TxOptions{AccessMode: pgx.ReadOnly})
	must(t, err)
	_, _, err = s.On(tx).Submit(t.Context(), response(1))
	if !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("Submit = %v", err)
	}
	if tx.Conn().IsClosed() {
		t.Error("the host's connection is closed")
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Error(fmt.Errorf("rollback: %w", err))
	}
}
