package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// tableSize is how large a table is, in bytes and rows. The rows are estimates.
type tableSize struct {
	name           string
	table, indexes int64
	live, dead     int64
	vacuumed       int64 // how often by the server itself
}

func (t tableSize) bytes() int64 { return t.table + t.indexes }

func (t tableSize) String() string {
	return fmt.Sprintf("%-10s %6d kB, indexes %6d kB, %7d rows, %6d dead, vacuumed %d times",
		t.name, t.table/1024, t.indexes/1024, t.live, t.dead, t.vacuumed)
}

// sizes returns those of the tables that deliveries pass through.
func (db *database) sizes(ctx context.Context) ([]tableSize, error) {
	rows, err := db.pool.Query(ctx, `
SELECT c.relname, pg_table_size(c.oid), pg_indexes_size(c.oid), COALESCE(s.n_live_tup, 0), COALESCE(s.n_dead_tup, 0), COALESCE(s.autovacuum_count, 0)
FROM pg_class c LEFT JOIN pg_stat_all_tables s ON s.relid = c.oid
WHERE c.relnamespace = $1::text::regnamespace AND c.relkind = 'r' AND c.relname IN ('deliveries', 'events', 'attempts', 'webhooks')
ORDER BY c.relname`, db.schema)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (t tableSize, err error) {
		err = row.Scan(&t.name, &t.table, &t.indexes, &t.live, &t.dead, &t.vacuumed)
		return t, err
	})
}
