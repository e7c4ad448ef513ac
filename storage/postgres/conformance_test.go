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

// A setup is how a host runs the store: how queries go to the server, on which tables, as whom.
type setup struct {
	name    string
	mode    pgx.QueryExecMode        // default: pgx's own
	bouncer bool                     // PgBouncer is between the store and the server
	tables  func(*testing.T) string  // default: those of this version
	role    bool                     // with the rights of the documentation and nothing else
	record  func(*pgxpool.Config)    // looks at what is run
	after   func(*testing.T, *Store) // when the suite is through
}

// The suite in every setup. The first two, with TestPartitionsSQL, have between them what the
// others have one by one: FORMSVC_TEST_MODES=all runs those, too, and -short only the first.
func TestStorage(t *testing.T) {
	t.Parallel()
	seen := &recorder{}
	setups := []setup{
		{
			name: "default mode, documented rights", role: true, record: seen.trace,
			after: func(t *testing.T, s *Store) {
				rare(t, s)
				noStatementScansATable(t, seen.statements)
				everyStatementKeepsOnePlan(t, seen.statements)
			},
		},
	}
	if !testing.Short() {
		setups = append(setups, setup{name: "simple protocol, next tables", mode: pgx.QueryExecModeSimpleProtocol, tables: nextTables})
	}
	if os.Getenv("FORMSVC_TEST_MODES") == "all" {
		setups = append(setups,
			setup{name: "default mode"},
			setup{name: "exec mode", mode: pgx.QueryExecModeExec},
			setup{name: "simple protocol", mode: pgx.QueryExecModeSimpleProtocol},
			setup{name: "PgBouncer, exec mode", mode: pgx.QueryExecModeExec, bouncer: true},
			setup{name: "PgBouncer, simple protocol", mode: pgx.QueryExecModeSimpleProtocol, bouncer: true},
			setup{name: "all partitions", tables: inAllPartitions},
			setup{name: "next tables", tables: nextTables},
		)
	}
	for _, c := range setups {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t)
		})
	}
}

func (c setup) run(t *testing.T) {
	up := migrations(t, "up")
	if c.tables != nil {
		up = c.tables(t)
	}
	schemas, owner := schemasFrom(t, up), pgtest.Pool(t)
	options := []pgtest.Option{pgtest.MaxConns(8)}
	if c.mode != 0 {
		options = append(options, pgtest.Mode(c.mode))
	}
	if c.record != nil {
		options = append(options, c.record)
	}
	url, name := pgtest.URL(t), ""
	if c.bouncer {
		url = pgtest.PgBouncer(t, url)
	}
	if c.role {
		name = pgtest.Schema(t)
		options = append(options, asRole(t, owner, name))
		// How values are written as text is a setting of the role.
		if _, err := owner.Exec(t.Context(), "ALTER ROLE "+name+" SET datestyle = 'German'; ALTER ROLE "+name+" SET bytea_output = 'escape'",
			pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatal(err)
		}
	}
	pool := pgtest.PoolAt(t, url, options...)
	open := func(t *testing.T) *Store {
		s := New(pool, WithSchema(schemas.lend(t)))
		if !c.role {
			return s
		}
		run(t, owner, strings.Join(grants(t, name, s.db.Schema), ";"), pgx.QueryExecModeSimpleProtocol)
		must(t, s.CheckVersion(t.Context()))
		return s
	}
	t.Run("suite", func(t *testing.T) {
		storagetest.Run(t, func(t *testing.T) storage.Storage { return open(t) },
			storagetest.SecondHandle(func(_ *testing.T, first storage.Storage) storage.Storage {
				return New(pool, WithSchema(first.(*Store).db.Schema))
			}))
	})
	if c.after != nil {
		c.after(t, open(t))
	}
}

// rare makes the calls that only chance or a host would start.
func rare(t *testing.T, s *Store) {
	t.Helper()
	must(t, errorOf(s.foldForm(t.Context(), storage.ID{1})))
	must(t, s.deleteWithoutEvent(t.Context(), []storage.ClaimedDelivery{{Lease: storage.Lease{WebhookID: storage.ID{1}, EventID: storage.ID{1}}}}))
	must(t, errorOf(s.Sweep(t.Context(), storage.SweepParams{TrashBefore: time.Now(), KeysBefore: time.Now(), Max: 1})))
}
