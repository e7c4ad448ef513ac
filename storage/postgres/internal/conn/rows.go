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
	return c.DB.Query(ctx, c.SQL(text), args...)
}

// QueryRow runs one statement and hands its first row to scan, which may borrow
// the row's memory until it returns. Without a row it returns [pgx.ErrNoRows].
func (c *Conn) QueryRow(ctx context.Context, text string, scan func(pgx.Rows) error, args ...any) error {
	rows, err := c.Query(ctx, text, args)
	if err != nil {
		return err
	}
	return FirstRow(rows, scan)
}

// FirstRow hands the first row to scan. It reads to the end of the rows, because only there
// the server says that the statement is committed.
func FirstRow(rows pgx.Rows, scan func(pgx.Rows) error) error {
	defer rows.Close()
	if !rows.Next() {
		rows.Close()
		if err := rows.Err(); err != nil {
			return err
		}
		return pgx.ErrNoRows
	}
	if err := scan(rows); err != nil {
		return err
	}
	rows.Close()
	return rows.Err()
}

// ReadOne reads what scan makes of the row of a statement. Without a row it returns ErrNotFound.
func ReadOne[T any](ctx context.Context, c *Conn, scan func(pgx.Rows) (T, error), text string, args ...any) (found T, err error) {
	err = c.Read(ctx, func(ctx context.Context) error {
		err := c.QueryRow(ctx, text, func(rows pgx.Rows) (err error) {
			found, err = scan(rows)
			return err
		}, args...)
		return NoRow(err, storage.ErrNotFound)
	})
	if err != nil {
		found = *new(T)
	}
	return found, err
}

// ReadAll reads what scan makes of each row of a statement.
func ReadAll[T any](ctx context.Context, c *Conn, scan func(pgx.Rows) (T, error), text string, args ...any) (found []T, err error) {
	err = c.Read(ctx, func(ctx context.Context) (err error) {
		found, err = Collect(ctx, c, text, scan, args...)
		return err
	})
	return found, err
}

// ChangeRows runs one statement as Write does and returns how many rows it changed.
func (c *Conn) ChangeRows(ctx context.Context, text string, args ...any) (n int, err error) {
	err = c.Write(ctx, func(ctx context.Context) error {
		rows, err := c.Exec(ctx, text, args...)
		n = int(rows)
		return err
	})
	return n, err
}

// ChangeRow is ChangeRows for a statement that changes one row. When it changed none,
// ChangeRow returns ErrNotFound.
func (c *Conn) ChangeRow(ctx context.Context, text string, args ...any) error {
	n, err := c.ChangeRows(ctx, text, args...)
	if err == nil && n == 0 {
		return storage.ErrNotFound
	}
	return err
}

// Collect runs one statement and returns what scan makes of each row.
func Collect[T any](ctx context.Context, c *Conn, text string, scan func(pgx.Rows) (T, error), args ...any) ([]T, error) {
	rows, err := c.Query(ctx, text, args)
	if err != nil {
		return nil, err
	}
	return CollectRows(rows, scan)
}

// CollectRows returns what scan makes of each row.
func CollectRows[T any](rows pgx.Rows, scan func(pgx.Rows) (T, error)) ([]T, error) {
	return AppendRows(nil, rows, scan)
}

// AppendRows is CollectRows for a caller who knows about how many rows there are.
func AppendRows[T any](out []T, rows pgx.Rows, scan func(pgx.Rows) (T, error)) ([]T, error) {
	defer rows.Close()
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	rows.Close()
	return out, rows.Err()
}

// Exec runs one statement and returns how many rows it changed.
func (c *Conn) Exec(ctx context.Context, text string, args ...any) (int64, error) {
	if err := CheckArgs(args); err != nil {
		return 0, err
	}
	tag, err := c.DB.Exec(ctx, c.SQL(text), args...)
	return tag.RowsAffected(), err
}
