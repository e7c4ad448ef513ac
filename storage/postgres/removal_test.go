package postgres

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/storage"
)

// removeUser does what the service does for DeleteUser.
func removeUser(ctx context.Context, s *Store, user storage.ID) error {
	if err := s.DeleteUser(ctx, user, time.Now()); err != nil {
		return err
	}
	return removeRest(ctx, s)
}

func removeRest(ctx context.Context, s *Store) error {
	for {
		swept, err := s.Sweep(ctx, storage.SweepParams{Now: time.Now(), Removals: true, Max: 2})
		if err != nil || !swept.More {
			return err
		}
	}
}

// leftRows names the tables that have rows. A claim empties arrivals, which knows
// nothing but ids of webhooks, and a user's counts are in one schema with its version.
func leftRows(t *testing.T, pool *pgxpool.Pool, s *Store) []string {
	t.Helper()
	rows, err := pool.Query(t.Context(), `
		SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relkind = 'r' AND c.relname NOT IN ('formsvc_version', 'upkeep', 'arrivals')`, s.db.Schema)
	must(t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(t, err)
	var left []string
	for _, table := range tables {
		if n := count(t, pool, s, table); n > 0 {
			left = append(left, fmt.Sprintf("%s: %d", table, n))
		}
	}
	slices.Sort(left)
	return left
}

// A response counts as removed when its removal is committed, not before.
func TestARemovalThatIsNotCommittedCountsNothing(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	r := response(0)
	mustSubmit(t, s, r)
	execute(t, pool, s, `
		CREATE FUNCTION formsvc.refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no commit''; END';
		CREATE CONSTRAINT TRIGGER refuse AFTER DELETE ON formsvc.submissions DEFERRABLE INITIALLY DEFERRED
			FOR EACH ROW EXECUTE FUNCTION formsvc.refuse()`, pgx.QueryExecModeSimpleProtocol)
	n, err := s.EraseSubmissions(t.Context(), r.Submission.FormID, []storage.ID{r.Submission.ID})
	if n != 0 || err == nil || count(t, pool, s, "submissions") != 1 {
		t.Errorf("%d removed, %v", n, err)
	}
}

// A response may be stored by a transaction that began before the user was deleted. Its
// rows are removed with the others.
func TestARemovalWaitsForTheResponsesOnTheirWay(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(ctx context.Context, s *Store) error{
		"of a user": func(ctx context.Context, s *Store) error { return removeUser(ctx, s, pgseed.ID(pgseed.User, 0)) },
		"of a form": func(ctx context.Context, s *Store) error {
			if err := s.DeleteWorkspace(ctx, storage.AsHost(), pgseed.ID(pgseed.Workspace, 0), time.Now()); err != nil {
				return err
			}
			for i := range 3 {
				if err := s.PurgeForm(ctx, pgseed.ID(pgseed.Form, i)); err != nil {
					return err
				}
			}
			return removeUser(ctx, s, pgseed.ID(pgseed.User, 0))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, pool := seeded(t)
			tx := begin(t, pool)
			mustSubmit(t, s.On(tx), response(1))
			done := make(chan error, 1)
			go func() { done <- remove(context.WithoutCancel(t.Context()), s) }()
			ended := false
			eventually(t, "the removal waits for the response, or has ended", func() bool {
				ended = ended || len(done) > 0
				return ended || waited(t, pool, tx)
			})
			if ended {
				t.Error("the removal has not waited for the response")
			}
			must(t, tx.Commit(t.Context()))
			must(t, <-done)
			if left := leftRows(t, pool, s); len(left) > 0 {
				t.Errorf("rows are left: %v", left)
			}
		})
	}
}

// Maintenance of another process has done some pieces and not committed the last one.
func TestARemovalWaitsForTheSweepsOfOthers(t *testing.T) {
	t.Parallel()
	for pieces := 1; pieces <= 12; pieces++ {
		for _, commits := range []bool{true, false} {
			t.Run(fmt.Sprintf("%d pieces, commits %t", pieces, commits), func(t *testing.T) {
				t.Parallel()
				s, pool := seeded(t)
				mustSubmit(t, s, response(1))
				must(t, s.DeleteUser(t.Context(), pgseed.ID(pgseed.User, 0), time.Now()))
				other := New(pool, WithSchema(s.db.Schema))
				p := storage.SweepParams{Now: time.Now(), Max: 1}
				for range pieces - 1 {
					if _, err := other.Sweep(t.Context(), p); err != nil {
						t.Fatal(err)
					}
				}
				tx := begin(t, pool)
				if _, err := other.On(tx).Sweep(t.Context(), p); err != nil {
					t.Fatal(err)
				}
				type outcome struct {
					err  error
					left []string
				}
				done := make(chan outcome, 1)
				go func() {
					err := removeRest(context.WithoutCancel(t.Context()), s)
					done <- outcome{err, leftRows(t, pool, s)} // as they are when the call returns
				}()
				eventually(t, "the removal waits for the other, or has ended", func() bool { return len(done) > 0 || waited(t, pool, tx) })
				end := tx.Commit
				if !commits {
					end = tx.Rollback
				}
				must(t, end(t.Context()))
				if got := <-done; got.err != nil || len(got.left) > 0 {
					t.Errorf("rows are left: %v, %v", got.left, got.err)
				}
			})
		}
	}
}

// before calls a function before the transactions of a store, by their number.
type before struct {
	*pgxpool.Pool
	number int
	do     func(number int)
}

func (b *before) next() { b.do(b.number); b.number++ }

func (b *before) SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults {
	b.next()
	return b.Pool.SendBatch(ctx, batch)
}

func (b *before) Query(ctx context.Context, text string, args ...any) (pgx.Rows, error) {
	b.next()
	return b.Pool.Query(ctx, text, args...)
}

// Between any two steps of a removal another process sweeps once, or until it has
// nothing left to do.
func TestARemovalMissesNothingThatOthersDoBetweenItsSteps(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	for _, sweeps := range []int{1, 2, 3, 100} {
		t.Run(fmt.Sprint(sweeps), func(t *testing.T) {
			t.Parallel()
			steps := 1
			for at := 0; at < steps; at++ {
				s, pool := seeded(t)
				mustSubmit(t, s, response(1))
				other := New(pool, WithSchema(s.db.Schema))
				db := &before{Pool: pool, do: func(number int) {
					steps = max(steps, number+1)
					if number != at {
						return
					}
					for range sweeps {
						if swept, err := other.Sweep(t.Context(), storage.SweepParams{Now: time.Now(), Removals: true, Max: 1}); err != nil {
							t.Error(err)
						} else if !swept.More {
							return
						}
					}
				}}
				must(t, removeUser(t.Context(), New(db, WithSchema(s.db.Schema)), pgseed.ID(pgseed.User, 0)))
				if left := leftRows(t, pool, s); len(left) > 0 {
					t.Fatalf("%d sweeps of another before statement %d: rows are left: %v", sweeps, at, left)
				}
			}
			if steps < 10 {
				t.Errorf("a removal has %d statements", steps)
			}
		})
	}
}

// A transaction of the host's holds the row of a form, for a foreign key of its own. The
// removal waits for it, and does not ask again and again.
func TestARemovalWaitsForARowThatAHostHolds(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	tx := begin(t, pool)
	execute(t, tx, s, `SELECT FROM formsvc.forms FOR KEY SHARE`)
	done := make(chan error, 1)
	go func() { done <- removeUser(context.WithoutCancel(t.Context()), s, pgseed.ID(pgseed.User, 0)) }()
	eventually(t, "the removal waits for the row", func() bool { return waited(t, pool, tx) })
	must(t, tx.Rollback(t.Context()))
	must(t, <-done)
	if left := leftRows(t, pool, s); len(left) > 0 {
		t.Errorf("rows are left: %v", left)
	}
}
