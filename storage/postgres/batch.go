package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/storage"
)

// silentFor bounds how long the locks of a transaction outlive a process that is cut off
// from the server: that ends a session which says nothing for so long.
const silentFor = `SET LOCAL idle_in_transaction_session_timeout = '10s'`

// transaction runs do in one transaction, that of the host or one of its own, and in the
// latter case again as write does. Each statement sees what was committed before it began.
func (s *Store) transaction(ctx context.Context, do func(context.Context, *Store) error) error {
	return s.write(ctx, func(ctx context.Context) error {
		if s.inTx {
			return do(ctx, s)
		}
		return pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, silentFor); err != nil {
				return err
			}
			return do(ctx, s.On(tx))
		})
	})
}

// statement is one of a batch.
type statement struct {
	text string
	args []any
	read func(pgx.Rows) error // nil: its rows do not matter
}

func run(text string, args ...any) statement { return statement{text: text, args: args} }

// each hands the rows of the statement to read.
func (q statement) each(read func(pgx.Rows) error) statement {
	q.read = read
	return q
}

// row hands the first row of the statement to scan. Without a row the batch returns
// [pgx.ErrNoRows].
func (q statement) row(scan func(pgx.Rows) error) statement {
	return q.each(func(rows pgx.Rows) error { return firstRow(rows, scan) })
}

// into scans the first row of the statement.
func (q statement) into(targets ...any) statement {
	return q.row(func(rows pgx.Rows) error { return rows.Scan(targets...) })
}

// change sends a batch, as write does. Without a row that a statement asks for it returns
// ErrNotFound.
func (s *Store) change(ctx context.Context, batch ...statement) error {
	return s.write(ctx, func(ctx context.Context) error {
		return noRow(s.send(ctx, batch...), storage.ErrNotFound)
	})
}

// create is change for a record that is made under a lock, unless there are too many of them
// or one with its id: the row of the second statement says of both that it is not so.
func (s *Store) create(ctx context.Context, lock, insert statement) error {
	var room, made bool
	err := s.change(ctx, lock, insert.into(&room, &made))
	switch {
	case err != nil:
		return err
	case !room:
		return storage.ErrLimitReached
	case !made:
		return storage.ErrConflict
	}
	return nil
}

// send runs a batch in one round trip. Outside a host's transaction the batch is one
// transaction; each statement in it sees what was committed before that statement began,
// so a statement that follows a lock sees what the lock has waited for.
func (s *Store) send(ctx context.Context, batch ...statement) error {
	b := &pgx.Batch{}
	for _, q := range batch {
		if err := checkArgs(q.args); err != nil {
			return err
		}
		b.Queue(s.sql(q.text), q.args...)
	}
	results := s.db.SendBatch(ctx, b)
	defer func() { _ = results.Close() }() // when a read panics
	err := readResults(results, batch)
	// The transaction is committed when Close says so.
	if closed := results.Close(); err == nil || closed != nil && isResult(err) {
		err = closed
	}
	return err
}

func readResults(results pgx.BatchResults, batch []statement) error {
	for _, q := range batch {
		if q.read == nil {
			if _, err := results.Exec(); err != nil {
				return err
			}
			continue
		}
		rows, err := results.Query()
		if err != nil {
			return err
		}
		if err := q.read(rows); err != nil {
			return err
		}
	}
	return nil
}
