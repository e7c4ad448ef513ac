package conn

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/storage"
)

// transactionSettings are the settings of a transaction. They bound its waits for locks, and how long its
// own locks outlive a process that is cut off from the server: the server ends a session that
// says nothing for so long.
const transactionSettings = `SELECT set_config('idle_in_transaction_session_timeout', '10s', true), ` + LockTimeoutSet

// Transaction runs do in one transaction: in the host's, or in a transaction of its own,
// which is tried again as Write does. Each statement sees what was committed before the
// statement began.
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

// Statement is a part of a batch.
type Statement struct {
	text string
	args []any
	read func(pgx.Rows) error // nil: its rows do not matter
	n    *int                 // if not nil, it gets the number of rows without a read
	key  Key                  // of a lock that it takes
}

// Run is a statement whose rows do not matter.
func Run(text string, args ...any) Statement { return Statement{text: text, args: args} }

// Each hands the rows of the statement to read.
func (q Statement) Each(read func(pgx.Rows) error) Statement {
	q.read = read
	return q
}

// Row hands the first row of the statement to scan. Without a row the batch returns
// [pgx.ErrNoRows].
func (q Statement) Row(scan func(pgx.Rows) error) Statement {
	return q.Each(func(rows pgx.Rows) error { return FirstRow(rows, scan) })
}

// Into scans the first row of the statement, as the function [Into] does.
func (q Statement) Into(into ...any) Statement { return q.Row(Into(into...)) }

// Create is Change for a record that is made under a lock. The row of the second statement
// says whether there was room for the record, and whether no other record has its id.
func (c *Conn) Create(ctx context.Context, lock, insert Statement) error {
	var room, made bool
	err := c.Change(ctx, lock, insert.Into(&room, &made))
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

// Send runs a batch in one round trip. Outside a host's transaction the batch is one
// transaction; each statement in it sees what was committed before that statement began,
// so a statement after a lock sees the changes that the lock has waited for.
func (c *Conn) Send(ctx context.Context, batch ...Statement) error {
	b := &pgx.Batch{}
	for _, q := range batch {
		if err := CheckArgs(q.args); err != nil {
			return err
		}
		b.Queue(c.SQL(q.text), q.args...)
	}
	results := c.DBFor(ctx).SendBatch(ctx, b)
	defer func() { _ = results.Close() }() // when a read panics
	err := readResults(results, batch)
	// The transaction is committed when Close says so.
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
