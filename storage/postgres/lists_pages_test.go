package postgres

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
)

// cost is what EXPLAIN (ANALYZE, BUFFERS) counted.
type cost struct{ rows, buffers int64 }

func measure(ctx context.Context, t testing.TB, pool *pgxpool.Pool, text string, args []any) cost {
	t.Helper()
	var raw []byte
	args = append([]any{pgx.QueryExecModeExec}, args...)
	must(t, pool.QueryRow(ctx, "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+text, args...).Scan(&raw))
	plan, err := explained(raw)
	must(t, err)
	var c cost
	plan.each(false, func(n *planNode, _ bool) {
		if n.Relation != "" {
			c.rows += int64(n.Rows * n.Loops)
		}
	})
	c.buffers = plan.Hit + plan.Read
	return c
}

// costOf runs a call and measures the statement that it made.
func costOf(t testing.TB, pool *pgxpool.Pool, seen *recorder, schema string, call func(s *Store) error) cost {
	t.Helper()
	s := New(pool, WithSchema(schema))
	statements := seen.of(t, func() error { return call(s) })
	if len(statements) != 1 {
		t.Fatalf("%d statements for a page", len(statements))
	}
	for text, runs := range statements {
		return measure(t.Context(), t, pool, s.db.SQL(text), runs[0])
	}
	return cost{}
}

func (c cost) within(o cost, share float64) bool {
	near := func(a, b int64) bool { return float64(a) <= float64(b)*(1+share) && float64(b) <= float64(a)*(1+share) }
	return near(c.rows, o.rows) && near(c.buffers, o.buffers)
}

// A page costs the same at the top and at the bottom of a list, and however long
// the list is. EXPLAIN counts it, so that no clock is needed.
func TestPagesCostTheSame(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	seen := &recorder{}
	pool := pgtest.Pool(t, seen.trace)
	small := filled(t, pool, pgseed.Size{Forms: 1000, Submissions: 1000, Partials: 1000, AnswerBytes: 1000})
	large := filled(t, pool, pgseed.Size{Forms: 10_000, Submissions: 60_000, Partials: 20_000, AnswerBytes: 1000, Others: 1000})
	user := storage.As(pgseed.ID(pgseed.User, 0))

	after := func(k pgseed.Kind, number int) *storage.Position {
		return &storage.Position{Time: pgseed.Start().Add(time.Duration(number) * time.Second), ID: pgseed.ID(k, number)}
	}
	submissions := func(at *storage.Position) func(s *Store) error {
		return func(s *Store) error {
			_, err := storage.ListSubmissions(t.Context(), s, user, pgseed.ID(pgseed.Form, 0), storage.SubmissionsParams{Page: storage.Page{After: at, Limit: 100}})
			return err
		}
	}
	forms := func(workspace storage.ID, at *storage.Position) func(s *Store) error {
		return func(s *Store) error {
			_, err := s.Forms(t.Context(), user, storage.FormsParams{WorkspaceID: workspace, Page: storage.Page{After: at, Limit: 100}})
			return err
		}
	}
	partials := func(at *storage.Position) func(s *Store) error {
		return func(s *Store) error {
			_, err := s.Partials(t.Context(), user, pgseed.ID(pgseed.Form, 0), storage.PartialQuery{Page: storage.Page{After: at, Limit: 100}, Now: pgseed.Start()},
				func(*storage.Partial) error { return nil })
			return err
		}
	}
	workspace := pgseed.ID(pgseed.Workspace, 0)
	for _, c := range []struct {
		name               string
		first, deep, short func(s *Store) error
	}{
		{"submissions", submissions(nil), submissions(after(pgseed.Submission, 150)), submissions(nil)},
		{"half responses", partials(nil), partials(after(pgseed.Partial, 150)), partials(nil)},
		{"forms of a workspace", forms(workspace, nil), forms(workspace, after(pgseed.Form, 150)), forms(workspace, nil)},
		{"forms of all workspaces", forms(storage.ID{}, nil), forms(storage.ID{}, after(pgseed.Form, 150)), forms(storage.ID{}, nil)},
	} {
		t.Run(c.name, func(t *testing.T) {
			first, deep, short := costOf(t, pool, seen, large, c.first), costOf(t, pool, seen, large, c.deep), costOf(t, pool, seen, small, c.short)
			t.Logf("first %+v, deepest %+v, of a short list %+v", first, deep, short)
			if !deep.within(first, 0.2) {
				t.Errorf("the deepest page costs %+v, the first one %+v", deep, first)
			}
			if !short.within(first, 0.2) {
				t.Errorf("a page of a short list costs %+v, one of a long list %+v", short, first)
			}
		})
	}
}

// readsPage returns a function that reads a page of the first form's submissions.
func readsPage(s *Store, limit int) func(ctx context.Context, each func(*storage.Submission) error) error {
	form, user := pgseed.ID(pgseed.Form, 0), storage.As(pgseed.ID(pgseed.User, 0))
	return func(ctx context.Context, each func(*storage.Submission) error) error {
		_, err := s.Submissions(ctx, user, form, storage.SubmissionsParams{Page: storage.Page{Limit: limit}}, each)
		return err
	}
}

// What was lent cannot be taken back: a page that is lost in the middle is an error. One
// that is lost before is read again.
func TestAPageIsLentOnce(t *testing.T) {
	t.Parallel()
	direct := pgtest.Pool(t)
	schema := filled(t, direct, pgseed.Size{Forms: 1, Submissions: 100, AnswerBytes: 100_000}) // more than sockets hold
	p := newProxy(t)
	s := New(pgtest.Pool(t, p.through, pgtest.MaxConns(1)), WithSchema(schema))
	read := readsPage(s, 100)
	var backend uint32
	warm := func() {
		must(t, s.db.DB.QueryRow(t.Context(), `SELECT pg_backend_pid()`).Scan(&backend))
	}
	lent := map[storage.ID]int{}
	count := func(sub *storage.Submission) error { lent[sub.ID]++; return nil }
	warm()
	p.cut.Store(true)
	if err := read(t.Context(), count); err != nil || len(lent) != 100 || len(p.found) != 1 {
		t.Errorf("lost before the first record: %d records, %v", len(lent), err)
	}

	clear(lent)
	warm()
	err := read(t.Context(), func(sub *storage.Submission) error {
		if len(lent) == 0 {
			if _, err := direct.Exec(t.Context(), `SELECT pg_terminate_backend($1)`, backend); err != nil {
				t.Error(err)
			}
		}
		return count(sub)
	})
	if !errors.Is(err, storage.ErrUnavailable) || len(lent) == 0 || len(lent) == 100 {
		t.Errorf("lost after the first record: %d records, %v; want some and ErrUnavailable", len(lent), err)
	}
	for id, n := range lent {
		if n != 1 {
			t.Errorf("%v was lent %d times", id, n)
		}
	}
}

// A function that panics or refuses a record leaves the connection usable.
func TestAPageThatIsNotTakenLeavesTheConnection(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t, pgtest.MaxConns(1))
	s := New(pool, WithSchema(filled(t, pool, pgseed.Size{Forms: 1, Submissions: 50, AnswerBytes: 1000})))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	read := readsPage(s, 50)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic did not arrive")
			}
		}()
		_ = read(ctx, func(*storage.Submission) error { panic("not today") })
	}()
	refused := errors.New("no")
	if err := read(ctx, func(*storage.Submission) error { return refused }); !errors.Is(err, refused) {
		t.Errorf("after a panic: %v, want the error of the function", err)
	}
	n := 0
	if err := read(ctx, func(*storage.Submission) error { n++; return nil }); err != nil || n != 50 {
		t.Errorf("after it was refused: %d records, %v", n, err)
	}
}
