package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/formsvc/formsvc/storage"
)

//go:embed schema.sql
var schema string

// Store keeps everything in one SQLite file. Any number of processes on one machine
// may have it open. It is safe for concurrent use.
type Store struct {
	storage.Unimplemented // methods that later versions add

	now    func() time.Time // the clock of deliveries
	writer *sql.DB          // one connection
	reader *sql.DB
}

var _ storage.Storage = (*Store)(nil)

// Option changes how [Open] opens a store.
type Option func(*Store)

// WithClock sets the clock of deliveries. The default, also for nil, is [time.Now].
func WithClock(now func() time.Time) Option {
	return func(s *Store) {
		if now != nil {
			s.now = now
		}
	}
}

// Open opens the file, which it creates when there is none. The caller closes the
// store.
func Open(ctx context.Context, file string, opts ...Option) (*Store, error) {
	s := &Store{now: time.Now}
	for _, opt := range opts {
		opt(s)
	}
	// WAL lets readers go on while somebody writes. The writer waits for the writers of
	// other handles. It takes the lock when it begins, because a transaction that has
	// read cannot wait for the lock any more.
	open := func(more string) (*sql.DB, error) {
		return sql.Open("sqlite", "file:"+(&url.URL{Path: file}).EscapedPath()+
			"?_pragma=busy_timeout(30000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)"+more)
	}
	var err error
	if s.writer, err = open("&_txlock=immediate"); err != nil {
		return nil, err
	}
	if s.reader, err = open("&_pragma=query_only(1)"); err != nil {
		return nil, errors.Join(err, s.writer.Close())
	}
	s.writer.SetMaxOpenConns(1)
	s.reader.SetMaxOpenConns(4)
	err = s.write(ctx, func(tx *tx) error {
		if _, err := tx.exec(schema); err != nil {
			return err
		}
		_, err := tx.exec(`INSERT INTO upkeep (id, since) VALUES (1, ?) ON CONFLICT DO NOTHING`, s.now())
		return err
	})
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close closes the file.
func (s *Store) Close() error { return errors.Join(s.reader.Close(), s.writer.Close()) }

// write runs f in a transaction of its own: writers follow one another, so what f
// reads stays true until the commit. A context that ends while it waits for its turn
// ends the call. From then on the context is only looked at before the commit. So the
// driver never interrupts a statement or a commit, and the caller knows what became
// of its call.
func (s *Store) write(ctx context.Context, f func(*tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	conn, err := s.writer.Conn(ctx)
	if err != nil {
		return failure(ctx, err)
	}
	defer conn.Close()
	whole := context.WithoutCancel(ctx)
	begun, err := conn.BeginTx(whole, nil)
	if err != nil {
		return failure(ctx, err)
	}
	defer begun.Rollback() // after a commit there is nothing to undo
	if err := f(&tx{ctx: whole, tx: begun}); err != nil {
		return failure(ctx, err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := begun.Commit(); err != nil {
		// SQLite leaves the transaction open: it ends with its connection.
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		return fmt.Errorf("%w: %w", storage.ErrOutcomeUnknown, err)
	}
	return nil
}

// read runs f on one snapshot of the data.
func (s *Store) read(ctx context.Context, f func(*tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	begun, err := s.reader.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return failure(ctx, err)
	}
	defer begun.Rollback() // there is nothing to undo
	if err := f(&tx{ctx: ctx, tx: begun}); err != nil {
		return failure(ctx, err)
	}
	return nil
}

// failure gives an error of the driver the meaning that the contract has for it.
func failure(ctx context.Context, err error) error {
	if ended := ctx.Err(); ended != nil {
		return ended
	}
	var e *sqlite.Error
	if errors.As(err, &e) && (e.Code()&0xff == sqlite3.SQLITE_BUSY || e.Code()&0xff == sqlite3.SQLITE_CANTOPEN) {
		return fmt.Errorf("%w: %w", storage.ErrUnavailable, err)
	}
	return err
}

// tx is a transaction. Its arguments may be ids, times and booleans.
type tx struct {
	ctx context.Context
	tx  *sql.Tx
}

// exec returns how many rows it changed.
func (t *tx) exec(query string, args ...any) (int, error) {
	result, err := t.tx.ExecContext(t.ctx, query, encode(args)...)
	if err != nil {
		return 0, err
	}
	n, err := result.RowsAffected()
	return int(n), err
}

// one reads one row. ErrNotFound: there is none.
func (t *tx) one(query string, args []any, to ...any) error {
	err := t.tx.QueryRowContext(t.ctx, query, encode(args)...).Scan(to...)
	if errors.Is(err, sql.ErrNoRows) {
		return storage.ErrNotFound
	}
	return err
}

// exists reports whether the query finds a row.
func (t *tx) exists(query string, args ...any) (found bool, err error) {
	err = t.one("SELECT EXISTS ("+query+")", args, &found)
	return found, err
}

type scanner interface{ Scan(to ...any) error }

// all reads every row with scan.
func all[T any](t *tx, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	rows, err := t.tx.QueryContext(t.ctx, query, encode(args)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}

func scanID(row scanner) (id storage.ID, err error) {
	err = row.Scan(&id)
	return id, err
}
