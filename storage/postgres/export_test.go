package postgres

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/storage/postgres/internal/tables"
)

// What TestAFilledDatabaseIsServed uses, which works with the whole service.
var (
	ReferencesAreCounted = referencesAreCounted
	LeftRows             = leftRows
)

// NextStep adds to the tables.
const NextStep = nextStep

// MigrateToNext does what the next version's Migrate does, whose migration runs a statement
// and says that it serves this version.
func MigrateToNext(ctx context.Context, pool *pgxpool.Pool, statement string, opts ...Option) error {
	return migrateTo(ctx, nextBuild(tables.ThisBuild.Version, statement), pool, opts...)
}

// SQL is a text with the name of the store's schema.
func (s *Store) SQL(t *testing.T, text string) string { t.Helper(); return s.db.SQL(text) }
