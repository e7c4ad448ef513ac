package conn

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/storage"
)

// transactionSettings limits how long a transaction waits for locks, and how long it holds them if the client is lost.
const transactionSettings = `SELECT set_config('idle_in_transaction_session_timeout', '10s', true), ` + LockTimeoutSet

// Transaction runs do in the host's transaction if there is one. Otherwise it runs do in a new transaction, which it
// retries as Write does. Each statement sees the data committed before the statement began.
func (c *Conn) Transaction(ctx context.Context, do func(context.Context, DB) error) error {
	return c.Write(ctx, func(ctx context.Context) error {
		if c.InTx {
			return do(ctx, c.DB)
		}
		return pgx.BeginFunc(ctx, c.DBFor(ctx), func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, transactionSettings); err != nil {
				return err
			}
			return do(ctx, tx)
		})
	})
}

// Statement is one statement of a batch.
type Statement struct {
	text string
	args []any
	read func(pgx.Rows) error // receives the rows; if nil, they are ignored
	n    *int                 // receives the number of changed rows, unless nil
	key  Key                  // identifies the lock that the statement takes
}

// NewStatement returns a statement whose rows are ignored.
func NewStatement(text string, args ...any) Statement { return Statement{text: text, args: args} }

// ReadEach returns a copy of the statement that passes its rows to read.
func (q Statement) ReadEach(read func(pgx.Rows) error) Statement {
	q.read = read
	return q
}

// ReadRow returns a copy of the statement that passes its first row to scan. Without a row, the batch returns
// [pgx.ErrNoRows].
func (q Statement) ReadRow(scan func(pgx.Rows) error) Statement {
	return q.ReadEach(func(rows pgx.Rows) error { return FirstRow(rows, scan) })
}

// ScanInto returns a copy of the statement that scans its first row into targets, as the function [Into] does.
func (q Statement) ScanInto(into ...any) Statement { return q.ReadRow(RowScanner(into...)) }

// Create inserts a record under a lock, using Change. The insert statement returns whether the limit allows the record,
// and whether the record's ID is new.
func (c *Conn) Create(ctx context.Context, lock, insert Statement) error {
	var room, made bool
	err := c.Change(ctx, lock, insert.ScanInto(&room, &made))
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

// Send runs a batch in one round trip. Outside of a host's transaction, the batch is one transaction. Each statement
// sees the data committed before it began. After a statement that takes a lock, this includes the changes made by the
// lock's previous holder.
func (c *Conn) Send(ctx context.Context, batch ...Statement) error {
	b := &pgx.Batch{}
	for _, q := range batch {
		if err := CheckArgs(q.args); err != nil {
			return err
		}
		b.Queue(c.RewriteSQL(q.text), q.args...)
	}
	results := c.DBFor(ctx).SendBatch(ctx, b)
	defer func() { _ = results.Close() }() // in case a read panics
	err := readResults(results, batch)
	// Close returns the outcome of the commit.
	if closed := results.Close(); err == nil || closed != nil && isStatementResult(err) {
		err = closed
	}
	return err
}

func readResults(results pgx.BatchResults, batch []Statement) error {
	for _, q := range batch {
		if q.read == nil {
			tag, err := results.Exec()
			if err != nil {
				return err
			}
			if q.n != nil {
				*q.n = int(tag.RowsAffected())
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
