package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
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

// queue adds a statement to a batch.
func (s *Store) queue(b *pgx.Batch, text string, args ...any) {
	b.Queue(s.sql(text), args...)
}

// send runs a batch in one round trip and hands the rows of its last statement to
// read. Outside a host's transaction the batch is one transaction; each statement
// in it sees what was committed before that statement began, so a statement that
// follows a lock sees what the lock has waited for.
func (s *Store) send(ctx context.Context, b *pgx.Batch, read func(pgx.Rows) error) error {
	results, err := s.sendBatch(ctx, b)
	if err != nil {
		return err
	}
	err = readLast(results, b.Len(), read)
	// The transaction is committed when Close says so.
	if closed := results.Close(); err == nil || closed != nil && isResult(err) {
		err = closed
	}
	return err
}

// sendBatch sends what was queued. Whoever calls it closes the results, and takes
// the batch for committed when that returns nil.
func (s *Store) sendBatch(ctx context.Context, b *pgx.Batch) (pgx.BatchResults, error) {
	for _, q := range b.QueuedQueries {
		if err := checkArgs(q.Arguments); err != nil {
			return nil, err
		}
	}
	return s.db.SendBatch(ctx, b), nil
}

func readLast(results pgx.BatchResults, n int, read func(pgx.Rows) error) error {
	for range n - 1 {
		if _, err := results.Exec(); err != nil {
			return err
		}
	}
	rows, err := results.Query()
	if err != nil {
		return err
	}
	return read(rows)
}

// sendRow is send for a last statement of one row.
func (s *Store) sendRow(ctx context.Context, b *pgx.Batch, scan func(pgx.Rows) error) error {
	return s.send(ctx, b, func(rows pgx.Rows) error { return firstRow(rows, scan) })
}

// sendEach is send for a batch in which several statements return rows: there is one
// read for each statement, nil for those whose rows do not matter.
func (s *Store) sendEach(ctx context.Context, b *pgx.Batch, read ...func(pgx.Rows) error) error {
	results, err := s.sendBatch(ctx, b)
	if err != nil {
		return err
	}
	defer func() { _ = results.Close() }() // when a read panics
	err = readEach(results, read)
	// The transaction is committed when Close says so.
	if closed := results.Close(); err == nil || closed != nil && isResult(err) {
		err = closed
	}
	return err
}

func readEach(results pgx.BatchResults, read []func(pgx.Rows) error) error {
	for _, f := range read {
		if f == nil {
			if _, err := results.Exec(); err != nil {
				return err
			}
			continue
		}
		rows, err := results.Query()
		if err != nil {
			return err
		}
		if err := f(rows); err != nil {
			return err
		}
	}
	return nil
}
