package postgres

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/stdlib"

	"github.com/formsvc/formsvc/storage"
)

// A host's transaction of database/sql takes the store in: what it rolls back never was,
// what it commits is there, and both see each other's writes before.
func TestTheHostsTransactionOfDatabaseSQL(t *testing.T) {
	t.Parallel()
	outside, pool := testStore(t)
	db := stdlib.OpenDBFromPool(pool)
	t.Cleanup(func() { db.Close() })
	ctx := t.Context()
	table := outside.db.SQL("formsvc.workspaces")

	for i, end := range []struct {
		name string
		do   func(*sql.Tx) error
		left error
	}{{"rolled back", (*sql.Tx).Rollback, storage.ErrNotFound}, {"committed", (*sql.Tx).Commit, nil}} {
		conn, err := db.Conn(ctx)
		must(t, err)
		tx, err := conn.BeginTx(ctx, nil)
		must(t, err)
		w := storage.Workspace{ID: storage.ID{1, byte(i)}, PublicID: end.name, OwnerID: storage.ID{2}, Name: "W"}
		err = outside.InSQLTx(ctx, conn, func(s *Store) error {
			if err := s.CreateWorkspace(ctx, w, 10); err != nil {
				return err
			}
			// A refusal is an answer and does not end the transaction.
			if err := s.CreateWorkspace(ctx, w, 10); !errors.Is(err, storage.ErrConflict) {
				t.Errorf("the same workspace again: %v", err)
			}
			f := storage.Form{
				ID: storage.ID{3, byte(i)}, PublicID: end.name, WorkspaceID: w.ID, Status: storage.StatusPublished,
				FormContent: noBlocks(),
			}
			if err := s.CreateForm(ctx, storage.AsHost(), f); err != nil {
				return err
			}
			_, _, err := s.Submit(ctx, storage.NewSubmission{
				Submission:   storage.Submission{ID: storage.ID{4, byte(i)}, FormID: f.ID, Answers: []byte(`[]`), Metadata: []byte(`{}`), Hidden: []byte(`{}`)},
				FormRevision: 1, Event: storage.Event{ID: storage.ID{5, byte(i)}, Type: "t", Body: []byte(`{}`)},
			})
			return err
		})
		must(t, err)
		var name string
		if err := tx.QueryRowContext(ctx, "SELECT name FROM "+table+" WHERE id = $1", w.ID[:]).Scan(&name); err != nil || name != "W" {
			t.Errorf("%s: the host's statement sees %q, %v", end.name, name, err)
		}
		if _, err := outside.Workspace(ctx, storage.AsHost(), w.ID); !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("%s: others see it before: %v", end.name, err)
		}
		must(t, end.do(tx))
		if _, err := outside.Submission(ctx, storage.AsHost(), storage.ID{3, byte(i)}, storage.ID{4, byte(i)}); !errors.Is(err, end.left) {
			t.Errorf("%s: the response afterwards: %v, want %v", end.name, err, end.left)
		}
		called := false
		err = outside.InSQLTx(ctx, conn, func(*Store) error { called = true; return nil })
		if called || err == nil || !strings.Contains(err.Error(), "no transaction") {
			t.Errorf("%s: after the transaction: %v", end.name, err)
		}
		// The connection is as good as before.
		if err := conn.PingContext(ctx); err != nil {
			t.Error(err)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
}

// An error of do comes back as it is, and the host rolls back.
func TestAnErrorInTheHostsTransactionOfDatabaseSQL(t *testing.T) {
	t.Parallel()
	outside, pool := testStore(t)
	db := stdlib.OpenDBFromPool(pool)
	t.Cleanup(func() { db.Close() })
	conn, err := db.Conn(t.Context())
	must(t, err)
	defer conn.Close()
	tx, err := conn.BeginTx(t.Context(), nil)
	must(t, err)
	own := errors.New("own")
	if err := outside.InSQLTx(t.Context(), conn, func(s *Store) error {
		_, err := s.Workspace(t.Context(), storage.AsHost(), storage.ID{9})
		return errors.Join(own, err)
	}); !errors.Is(err, own) || !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("%v, want do's error", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Error(err)
	}
}

// Whatever do does, the host ends its transaction then: neither waits for the other.
func TestWhatEndsTheHostsTransactionOfDatabaseSQL(t *testing.T) {
	t.Parallel()
	outside, pool := testStore(t)
	db := stdlib.OpenDBFromPool(pool)
	t.Cleanup(func() { db.Close() })
	own := errors.New("own")
	for name, do := range map[string]func(*Store) error{
		"a panic":       func(*Store) error { panic(own) },
		"a broken conn": func(*Store) error { return errors.Join(own, driver.ErrBadConn) },
	} {
		conn, err := db.Conn(t.Context())
		must(t, err)
		tx, err := conn.BeginTx(t.Context(), nil)
		must(t, err)
		func() {
			defer func() {
				if value, _ := recover().(error); value != nil {
					err = value
				}
			}()
			err = outside.InSQLTx(t.Context(), conn, do)
		}()
		if !errors.Is(err, own) {
			t.Errorf("%s: %v", name, err)
		}
		if err := errors.Join(tx.Rollback(), conn.Close()); err != nil {
			t.Errorf("%s: the end: %v", name, err)
		}
	}
}
