package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
)

func versionOf(key string) storage.DocumentChange {
	return storage.DocumentChange{Kind: "version", Key: key, Value: json.RawMessage(`{"v":1}`), At: pgseed.Start()}
}

func putVersion(s *Store, edit ...func(*storage.DocumentChange)) error {
	c := versionOf("new")
	for _, e := range edit {
		e(&c)
	}
	_, err := s.PutDocument(context.Background(), storage.AsHost(), pgseed.ID(pgseed.Form, 0), c)
	return err
}

// renameWith gives the form a name that it has not.
func renameWith(s *Store, documents ...storage.DocumentChange) error {
	name := time.Now().String()
	_, err := s.UpdateForm(context.Background(), storage.AsHost(), pgseed.ID(pgseed.Form, 0), storage.FormChange{Name: &name, Documents: documents})
	return err
}

// Whoever changes documents waits for the form's row, and sees what was done under its lock.
func TestDocumentsAreChangedUnderTheLockOfTheForm(t *testing.T) {
	t.Parallel()
	form := pgseed.ID(pgseed.Form, 0)
	none := func(c *storage.DocumentChange) { c.IfRevision = []int64{0} }
	calls := map[string]func(*Store) error{
		"PutDocument": func(s *Store) error { return putVersion(s, none) },
		"UpdateForm": func(s *Store) error {
			c := versionOf("new")
			none(&c)
			return renameWith(s, c)
		},
	}
	for name, first := range map[string]struct {
		do   func(ctx context.Context, s *Store) error
		want error
		left int // documents of the form
	}{
		"a document":      {func(_ context.Context, s *Store) error { return putVersion(s) }, storage.ErrRevisionMismatch, 2},
		"one with a form": {func(_ context.Context, s *Store) error { return renameWith(s, versionOf("new")) }, storage.ErrRevisionMismatch, 2},
		"a form trashed": {func(ctx context.Context, s *Store) error {
			return s.TrashForm(ctx, storage.AsHost(), form, storage.TrashParams{At: time.Now()})
		}, storage.ErrNotFound, 1},
		"a form that was read": {func(ctx context.Context, s *Store) error { return errorOf(s.Form(ctx, storage.AsHost(), form)) }, nil, 2},
	} {
		for call, run := range calls {
			t.Run(call+" after "+name, func(t *testing.T) {
				t.Parallel()
				s, pool := seeded(t, pgtest.MaxConns(6))
				tx := begin(t, pool)
				must(t, first.do(t.Context(), s.On(tx)))
				done := make(chan error, 1)
				go func() { done <- run(s) }()
				eventually(t, "it waits, or has ended", func() bool { return len(done) > 0 || waited(t, pool, tx) })
				if waits := len(done) == 0; waits != (first.want != nil) {
					t.Errorf("that it waits is %t", waits)
				}
				must(t, tx.Commit(t.Context()))
				if err := <-done; !errors.Is(err, first.want) {
					t.Errorf("it returns %v, want %v", err, first.want)
				}
				if n := documentsOf(t, pool, s, form); n != first.left {
					t.Errorf("the form has %d documents, want %d", n, first.left)
				}
			})
		}
	}
}

func documentsOf(t *testing.T, pool *pgxpool.Pool, s *Store, form storage.ID) (n int) {
	t.Helper()
	must(t, pool.QueryRow(t.Context(), s.db.RewriteSQL(`SELECT count(*) FROM formsvc.documents WHERE form_id = $1`), pgx.QueryExecModeExec, form[:]).Scan(&n))
	return n
}

// Large documents of a purged form go some at a time, before the form's row.
func TestDocumentsOfPurgedFormsGoInPieces(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	form := pgseed.ID(pgseed.Form, 0)
	for i := range 9 {
		must(t, putVersion(s, func(c *storage.DocumentChange) { c.Key = fmt.Sprint(i) }))
	}
	for _, text := range []string{
		`UPDATE formsvc.documents SET value_bytes = 6 << 20`,
		`UPDATE formsvc.forms SET trashed_at = now(), purged_at = now() WHERE public_id = 'f0'`,
	} {
		execute(t, pool, s, text)
	}
	for _, c := range []struct{ most, left int }{{100, 7}, {2, 5}, {1, 4}, {100, 1}, {100, 0}} { // three of them are 18 MB
		if more, err := s.removePurgedForms(t.Context(), storage.SweepParams{Max: c.most}, nil); err != nil || !more {
			t.Fatal(more, err)
		}
		if left := documentsOf(t, pool, s, form); left != c.left {
			t.Errorf("a piece of at most %d leaves %d documents, want %d", c.most, left, c.left)
		}
		if c.left > 0 && count(t, pool, s, "forms") != 3 {
			t.Fatal("the form goes before its documents")
		}
	}
	wantRows(t, pool, s, 2, "documents")
}
