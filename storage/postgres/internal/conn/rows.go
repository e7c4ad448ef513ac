package conn

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/storage"
)

// Query runs one statement.
func (c *Conn) Query(ctx context.Context, text string, args []any) (pgx.Rows, error) {
	if err := CheckArgs(args); err != nil {
		return nil, err
	}
	return c.DBFor(ctx).Query(ctx, c.RewriteSQL(text), args...)
}

// QueryRow runs one statement and passes its first row to scan, which can use the row's memory until it returns. If the
// statement returns no row, QueryRow returns [pgx.ErrNoRows].
func (c *Conn) QueryRow(ctx context.Context, text string, scan func(pgx.Rows) error, args ...any) error {
	rows, err := c.Query(ctx, text, args)
	if err != nil {
		return err
	}
	return FirstRow(rows, scan)
}

// FirstRow passes the first row to scan. It reads all rows, because the server reports the commit after the last row.
func FirstRow(rows pgx.Rows, scan func(pgx.Rows) error) error {
	_, err := pgx.CollectOneRow(rows, func(pgx.CollectableRow) (none struct{}, err error) { return none, scan(rows) })
	return err
}

// ReadRow is like QueryRow, but for a statement that changes nothing. Without a row, it returns ErrNotFound.
func (c *Conn) ReadRow(ctx context.Context, text string, scan func(pgx.Rows) error, args ...any) error {
	return c.Read(ctx, func(ctx context.Context) error {
		return TranslateNoRow(c.QueryRow(ctx, text, scan, args...), storage.ErrNotFound)
	})
}

// ReadOne reads one record, as ReadRow does. The function targets returns pointers to the record's fields in column
// order.
func ReadOne[T any](ctx context.Context, c *Conn, targets func(*T) []any, text string, args ...any) (found T, err error) {
	if err = c.ReadRow(ctx, text, RowScanner(targets(&found)...), args...); err != nil {
		found = *new(T)
	}
	return found, err
}

// ReadAll is like ReadOne, but reads all rows of a statement.
func ReadAll[T any](ctx context.Context, c *Conn, targets func(*T) []any, text string, args ...any) (found []T, err error) {
	err = c.Read(ctx, func(ctx context.Context) (err error) {
		found, err = Collect(ctx, c, text, targets, args...)
		return err
	})
	return found, err
}

// ChangeRows runs one statement, as Write does, and returns the number of changed rows.
func (c *Conn) ChangeRows(ctx context.Context, text string, args ...any) (n int, err error) {
	if err = c.Change(ctx, Statement{text: text, args: args, n: &n}); err != nil { // the commit may have failed
		n = 0
	}
	return n, err
}

// ChangeRow is like ChangeRows, but returns ErrNotFound if the statement changes no row.
func (c *Conn) ChangeRow(ctx context.Context, text string, args ...any) error {
	n, err := c.ChangeRows(ctx, text, args...)
	if err == nil && n == 0 {
		return storage.ErrNotFound
	}
	return err
}

// Collect runs one statement and returns its rows.
func Collect[T any](ctx context.Context, c *Conn, text string, targets func(*T) []any, args ...any) ([]T, error) {
	rows, err := c.Query(ctx, text, args)
	if err != nil {
		return nil, err
	}
	return pgx.AppendRows([]T(nil), rows, func(row pgx.CollectableRow) (v T, err error) {
		err = Scan(row, targets(&v)...)
		return v, err
	})
}

// Each runs one statement, scans each row into the targets, and then calls do.
func (c *Conn) Each(ctx context.Context, text string, targets []any, do func(), args ...any) error {
	rows, err := c.Query(ctx, text, args)
	if err != nil {
		return err
	}
	return EachRow(rows, targets, do)
}

// EachRow is like Each, but reads rows from a query that was already sent.
func EachRow(rows pgx.Rows, targets []any, do func()) error {
	_, err := pgx.ForEachRow(rows, ScanTargets(targets...), func() error {
		do()
		return nil
	})
	return err
}

// Exec runs one statement and returns the number of changed rows.
func (c *Conn) Exec(ctx context.Context, text string, args ...any) (int64, error) {
	if err := CheckArgs(args); err != nil {
		return 0, err
	}
	tag, err := c.DBFor(ctx).Exec(ctx, c.RewriteSQL(text), args...)
	return tag.RowsAffected(), err
}
