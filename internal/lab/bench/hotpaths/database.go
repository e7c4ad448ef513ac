package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/internal/lab/bench/cpu"
	"github.com/formsvc/formsvc/storage/postgres"
)

const databaseURL = "FORMSVC_TEST_DATABASE_URL"

// database is a schema of its own on the PostgreSQL server.
type database struct {
	pool   *pgxpool.Pool
	schema string
}

func openDatabase(ctx context.Context, schema string, connections int) (*database, error) {
	config, err := pgxpool.ParseConfig(os.Getenv(databaseURL))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", databaseURL, err)
	}
	config.MaxConns = int32(connections) //nolint:gosec // a small number
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	return &database{pool: pool, schema: schema}, nil
}

func (db *database) migrate(ctx context.Context) error {
	return postgres.Migrate(ctx, db.pool, postgres.WithSchema(db.schema))
}

func (db *database) store() *postgres.Store {
	return postgres.New(db.pool, postgres.WithSchema(db.schema))
}

// filled reports whether the schema is there.
func (db *database) filled(ctx context.Context) (there bool, err error) {
	err = db.pool.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", pgx.Identifier{db.schema, "bench_facts"}.Sanitize()).Scan(&there)
	return there, err
}

// drop removes the schema, also when ctx has ended.
func (db *database) drop(ctx context.Context) error {
	_, err := db.pool.Exec(context.WithoutCancel(ctx), "DROP SCHEMA IF EXISTS "+pgx.Identifier{db.schema}.Sanitize()+" CASCADE")
	return err
}

// sql returns a statement for the schema; it is written with "formsvc." before
// each table.
func (db *database) sql(text string) string {
	return strings.ReplaceAll(text, "formsvc.", pgx.Identifier{db.schema}.Sanitize()+".")
}

// run runs statements without parameters.
func (db *database) run(ctx context.Context, text string) error {
	_, err := db.pool.Exec(ctx, db.sql(text), pgx.QueryExecModeSimpleProtocol)
	return err
}

// server returns the PostgreSQL server, when that is on this machine.
func (db *database) server(ctx context.Context) (cpu.Server, error) {
	var backend int
	err := db.pool.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&backend)
	return cpu.ServerOf(backend), err
}
