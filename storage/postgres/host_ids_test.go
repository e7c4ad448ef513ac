package postgres

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
)

// A host keeps ids in tables of its own: 12 bytes in a bytea column and 24 digits in a
// text column, by pgx and by database/sql.
func TestAHostKeepsIDsInColumnsOfItsOwn(t *testing.T) {
	t.Parallel()
	want := storage.ID{0x5f, 0x2b, 0xff, 0, 0x9d, 0x3a, 0x4b, 0x6c, 0x7d, 0x8e, 0x9f, 1}
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			schema := pgtest.Schema(t)
			pool := pgtest.Pool(t, pgtest.Mode(mode))
			db := stdlib.OpenDBFromPool(pool)
			defer db.Close()
			exec := func(text string, args ...any) error {
				_, err := pool.Exec(t.Context(), text, args...)
				return err
			}
			for _, statement := range []string{`CREATE SCHEMA ` + schema, fmt.Sprintf(`CREATE TABLE %s.hosts (name text, b bytea, s text)`, schema)} {
				must(t, exec(statement))
			}
			// In these two modes nobody knows a column's type. What they make of it is
			// documented: digits, or an error.
			typed := mode != pgx.QueryExecModeExec && mode != pgx.QueryExecModeSimpleProtocol
			insert := fmt.Sprintf(`INSERT INTO %s.hosts VALUES ($1, $2, $3)`, schema)
			write := map[string]func(name string, b any) error{
				"pgx": func(name string, b any) error { return exec(insert, name, b, want) },
				"database/sql": func(name string, b any) error {
					_, err := db.ExecContext(t.Context(), insert, name, b, want)
					return err
				},
			}
			for name, write := range write {
				var given any = want
				if !typed {
					given = want[:]
				}
				if err := write(name, given); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				var size int
				var digits string
				read := fmt.Sprintf(`SELECT length(b), s FROM %s.hosts WHERE name = $1`, schema)
				must(t, pool.QueryRow(t.Context(), read, name).Scan(&size, &digits))
				if size != 12 || digits != want.String() {
					t.Errorf("%s: %d bytes and the text %q, want 12 and %s", name, size, digits, want)
				}

				both := fmt.Sprintf(`SELECT b, s FROM %s.hosts WHERE name = $1 AND s = $2`, schema)
				var b, s storage.ID
				if err := pool.QueryRow(t.Context(), both, name, want).Scan(&b, &s); err != nil || b != want || s != want {
					t.Errorf("%s, read by pgx: %s, %s, %v", name, b, s, err)
				}
				var n sql.Null[storage.ID]
				if err := db.QueryRowContext(t.Context(), both, name, want).Scan(&n, &s); err != nil || !n.Valid || n.V != want || s != want {
					t.Errorf("%s, read by database/sql: %+v, %s, %v", name, n, s, err)
				}
			}

			var pointer *storage.ID
			var null sql.Null[storage.ID]
			var id storage.ID
			if err := pool.QueryRow(t.Context(), `SELECT NULL::bytea`).Scan(&pointer); err != nil || pointer != nil {
				t.Errorf("null into a pointer: %v, %v", pointer, err)
			}
			if err := db.QueryRowContext(t.Context(), `SELECT NULL::text`).Scan(&null); err != nil || null.Valid {
				t.Errorf("null into a sql.Null: %+v, %v", null, err)
			}
			if err := pool.QueryRow(t.Context(), `SELECT NULL::bytea`).Scan(&id); err == nil {
				t.Error("null into an id: no error")
			}
			if err := pool.QueryRow(t.Context(), `SELECT 'not an id'`).Scan(&id); err == nil {
				t.Error("other text into an id: no error")
			}
		})
	}
}
