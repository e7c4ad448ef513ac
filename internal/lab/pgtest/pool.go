package pgtest

import (
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// maxConns keeps tests that run in parallel below the server's limit.
const maxConns = 4

// An Option changes a pool's configuration before the pool is made.
type Option func(*pgxpool.Config)

// Mode is the way queries go to the server. Default: pgx's own,
// QueryExecModeCacheStatement.
func Mode(mode pgx.QueryExecMode) Option {
	return func(c *pgxpool.Config) { c.ConnConfig.DefaultQueryExecMode = mode }
}

// MaxConns is the most connections that the pool has. Default: 4.
func MaxConns(n int32) Option {
	return func(c *pgxpool.Config) { c.MaxConns = n }
}

// Pool returns a pool on the server that all tests share. It connects when it
// is used first and is closed when the test ends; a connection that has not been
// released by then fails the test.
func Pool(t TB, options ...Option) *pgxpool.Pool {
	t.Helper()
	return PoolAt(t, URL(t), options...)
}

// PoolAt is Pool on the server with this connection string: a Server's, or a
// PgBouncer's.
func PoolAt(t TB, url string, options ...Option) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatalf("connection string of the test database: %v", err)
	}
	config.MaxConns = maxConns
	for _, option := range options {
		option(config)
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatalf("pool: %v", err)
	}
	t.Cleanup(func() { closePool(t, pool, time.Minute) })
	return pool
}

// closePool closes the pool, which waits for every connection to come back.
func closePool(t TB, pool *pgxpool.Pool, wait time.Duration) {
	t.Helper()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		pool.Close()
	}()
	select {
	case <-closed:
	case <-time.After(wait):
		t.Errorf("the pool does not close: %d of its connections have not been released", pool.Stat().AcquiredConns())
	}
}
