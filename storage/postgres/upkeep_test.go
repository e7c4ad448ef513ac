package postgres

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/storage"
)

// A poll writes nothing but once a minute, whatever number of processes polls, and waits for
// nobody who holds the note.
func TestWorkIsNotedRarely(t *testing.T) {
	t.Parallel()
	s, pool := testStore(t)
	claim := func(s *Store) {
		t.Helper()
		if _, _, err := s.ClaimDeliveries(t.Context(), storage.ClaimParams{}); err != nil {
			t.Fatal(err)
		}
	}
	version := func() (xmin string) {
		t.Helper()
		must(t, pool.QueryRow(t.Context(), s.db.SQL(`SELECT xmin::text FROM formsvc.upkeep WHERE work = 'dispatched'`)).Scan(&xmin))
		return xmin
	}
	another := func() *Store { return New(pool, WithSchema(s.db.Schema)) }
	made := version()
	claim(s)
	first := version()
	if first == made {
		t.Error("the first claim was not noted")
	}
	claim(another())
	if version() != first {
		t.Error("another process noted again within a minute")
	}
	execute(t, pool, s, `UPDATE formsvc.upkeep SET done_at = done_at - interval '61 seconds'`)
	old := version()
	claim(s)
	if version() != old {
		t.Error("the same process noted again within a minute")
	}
	claim(another())
	again := version()
	if again == old {
		t.Error("another process did not note after a minute")
	}
	execute(t, pool, s, `UPDATE formsvc.upkeep SET done_at = done_at + interval '1 day'`)
	ahead := version()
	claim(another())
	if version() == ahead {
		t.Error("a note from the time before the clock was set back stays")
	}

	execute(t, pool, s, `UPDATE formsvc.upkeep SET done_at = NULL`)
	err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), s.db.SQL(`SELECT FROM formsvc.upkeep FOR UPDATE`)); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, _, err := another().ClaimDeliveries(ctx, storage.ClaimParams{})
		return errors.Join(err, ctx.Err()) // the note fails silently when it waits until then
	})
	if err != nil {
		t.Errorf("a claim while somebody holds the note: %v", err)
	}
}

// A host that empties all tables is not told that nobody works.
func TestUpkeepWithoutRows(t *testing.T) {
	t.Parallel()
	s, pool := testStore(t)
	execute(t, pool, s, `DELETE FROM formsvc.upkeep`)
	u, err := s.Upkeep(t.Context())
	if err != nil || u.Since != u.Now || !u.Dispatched.IsZero() || !u.Maintained.IsZero() {
		t.Errorf("Upkeep = %+v, %v", u, err)
	}
}
