package servicetest

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
	"github.com/formsvc/formsvc/storage/postgres"
)

// Stores are one storage of each kind, by name.
func Stores(t testing.TB) map[string]storage.Storage {
	t.Helper()
	return map[string]storage.Storage{"memory": memory.New(), "postgres": PostgresStore(t)}
}

// OnEachStorage runs a test on a service with a storage in memory and, beside it, on a service with
// PostgreSQL. Both deliver to this machine and have no rate limit.
func OnEachStorage(t *testing.T, test func(t *testing.T, b *Bundle)) {
	t.Helper()
	for name, open := range map[string]func(*testing.T) storage.Storage{
		"memory":   func(*testing.T) storage.Storage { return memory.New() },
		"postgres": func(t *testing.T) storage.Storage { return PostgresStore(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, SetupOn(t, open(t), Loopback(), formsvc.WithoutRateLimit()))
		})
	}
}

// PostgresStore is a store in a schema of its own on the tests' server.
func PostgresStore(t testing.TB) *postgres.Store {
	t.Helper()
	schema := pgtest.Schema(t)
	pool := pgtest.Pool(t, pgtest.MaxConns(8))
	return Migrated(t, pool, postgres.WithSchema(schema))
}

// Migrated is a store on a pool, of which the tables are made.
func Migrated(t testing.TB, pool *pgxpool.Pool, opts ...postgres.Option) *postgres.Store {
	t.Helper()
	if err := postgres.Migrate(t.Context(), pool, opts...); err != nil {
		t.Fatal(err)
	}
	return postgres.New(pool, opts...)
}
