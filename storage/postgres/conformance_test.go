package postgres

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/storagetest"
)

// A house is how a host runs the store: how queries go to the server, on which tables, as whom.
type house struct {
	name    string
	mode    pgx.QueryExecMode
	bouncer bool                     // PgBouncer is between the store and the server
	tables  func(*testing.T) string  // default: those of this version
	role    bool                     // with the rights of the documentation and nothing else
	record  func(*pgxpool.Config)    // looks at what is run
	after   func(*testing.T, *Store) // when the suite is through
}

// The suite in every house. Four of them have everything that the others have, together, and run
// by default: FORMSVC_TEST_MODES=all runs each alone, too.
func TestStorage(t *testing.T) {
	t.Parallel()
	seen := &recorder{}
	inPartitions := func(t *testing.T) string { return partitioned(t, migrations(t, "up")) }
	houses := []house{
		{
			name: "default mode", mode: pgx.QueryExecModeCacheStatement, record: seen.trace,
			after: func(t *testing.T, s *Store) {
				rare(t, s)
				noStatementScansATable(t, seen.statements)
			},
		},
		{name: "simple protocol, next tables, documented rights", mode: pgx.QueryExecModeSimpleProtocol, tables: nextTables, role: true},
		{name: "PgBouncer, exec mode, partitions", mode: pgx.QueryExecModeExec, bouncer: true, tables: inPartitions},
	}
	if os.Getenv("FORMSVC_TEST_MODES") == "all" {
		houses = append(houses,
			house{name: "exec mode", mode: pgx.QueryExecModeExec},
			house{name: "simple protocol", mode: pgx.QueryExecModeSimpleProtocol},
			house{name: "PgBouncer, simple protocol", mode: pgx.QueryExecModeSimpleProtocol, bouncer: true},
			house{name: "partitions", tables: inPartitions},
			house{name: "next tables", tables: nextTables},
			house{name: "documented rights", role: true},
		)
	}
	for _, h := range houses {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			h.run(t)
		})
	}
}

func (h house) run(t *testing.T) {
	up := migrations(t, "up")
	if h.tables != nil {
		up = h.tables(t)
	}
	schemas, owner := schemasFrom(t, up), pgtest.Pool(t)
	options := []pgtest.Option{pgtest.Mode(h.mode), pgtest.MaxConns(8)}
	if h.record != nil {
		options = append(options, h.record)
	}
	url, name := pgtest.URL(t), ""
	if h.bouncer {
		url = pgtest.PgBouncer(t, url)
	}
	if h.role {
		name = pgtest.Schema(t)
		options = append(options, asRole(t, owner, name))
		// How values are written as text is a setting of the role.
		if _, err := owner.Exec(t.Context(), "ALTER ROLE "+name+" SET datestyle = 'German'; ALTER ROLE "+name+" SET bytea_output = 'escape'",
			pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatal(err)
		}
	}
	pool := pgtest.PoolAt(t, url, options...)
	t.Run("suite", func(t *testing.T) {
		storagetest.Run(t, func(t *testing.T) storage.Storage {
			s := New(pool, WithSchema(schemas.lend(t)))
			if !h.role {
				return s
			}
			if _, err := owner.Exec(t.Context(), strings.Join(grants(t, name, s.db.Schema), ";"), pgx.QueryExecModeSimpleProtocol); err != nil {
				t.Fatal(err)
			}
			if err := s.CheckVersion(t.Context()); err != nil {
				t.Fatal(err)
			}
			return s
		}, storagetest.SecondHandle(func(_ *testing.T, first storage.Storage) storage.Storage {
			return New(pool, WithSchema(first.(*Store).db.Schema))
		}))
	})
	if h.after != nil {
		h.after(t, New(pool, WithSchema(schemas.lend(t))))
	}
}

// rare makes the calls that only chance or a host would start.
func rare(t *testing.T, s *Store) {
	t.Helper()
	if _, err := s.foldForm(t.Context(), storage.ID{1}); err != nil {
		t.Fatal(err)
	}
	if err := s.endWithoutEvent(t.Context(), []storage.ClaimedDelivery{{Lease: storage.Lease{WebhookID: storage.ID{1}, EventID: storage.ID{1}}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Sweep(t.Context(), storage.SweepParams{TrashBefore: time.Now(), KeysBefore: time.Now(), Max: 1}); err != nil {
		t.Fatal(err)
	}
}
