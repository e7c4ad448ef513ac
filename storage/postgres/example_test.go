package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres"
)

// databaseURL is the host's, and bouncerURL that of the same database behind a PgBouncer. The
// test below runs the examples on a database of their own.
var databaseURL, bouncerURL string

// The tables are made before the service starts: by the program that deploys it, or by
// each process, for as many as there are.
func ExampleMigrate() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, databaseURL)
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	if err := postgres.Migrate(ctx, pool); err != nil {
		log.Fatal(err)
	}
}

// Behind PgBouncer in transaction mode Migrate takes the address of the server itself, and the
// service that of PgBouncer. Before version 1.21 it needs exec mode.
func ExampleMigrate_pgBouncer() {
	ctx := context.Background()
	direct, err := pgxpool.New(ctx, databaseURL)
	if err != nil {
		log.Fatal(err)
	}
	err = postgres.Migrate(ctx, direct)
	direct.Close()
	if err != nil {
		log.Fatal(err)
	}
	config, err := pgxpool.ParseConfig(bouncerURL)
	if err != nil {
		log.Fatal(err)
	}
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	svc, err := formsvc.New(formsvc.WithStorage(postgres.New(pool)))
	if err != nil {
		log.Fatal(err)
	}
	defer svc.Close(ctx)
	if err := svc.Check(ctx); err != nil {
		log.Fatal(err)
	}
}

func ExampleNew() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, databaseURL) // the host's, which stays as it is
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	store := postgres.New(pool)
	if err := store.CheckVersion(ctx); err != nil {
		log.Fatal(err) // the tables are too old or too new, or rights are missing
	}
	svc, err := formsvc.New(formsvc.WithStorage(store))
	if err != nil {
		log.Fatal(err)
	}
	defer svc.Close(ctx)
}

// A service whose callers give up after three seconds waits no longer for its database.
func ExampleWithTimeout() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, databaseURL)
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	store := postgres.New(pool, postgres.WithTimeout(3*time.Second))
	svc, err := formsvc.New(formsvc.WithStorage(store))
	if err != nil {
		log.Fatal(err)
	}
	defer svc.Close(ctx)
}

// The tables are in a schema that the host names, and the service's faults beside a call
// are in the host's log.
func ExampleWithSchema() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, databaseURL)
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	schema, logger := postgres.WithSchema("customer_forms"), postgres.WithLogger(slog.Default())
	if err := postgres.Migrate(ctx, pool, schema, logger); err != nil {
		log.Fatal(err)
	}
	svc, err := formsvc.New(formsvc.WithStorage(postgres.New(pool, schema, logger)))
	if err != nil {
		log.Fatal(err)
	}
	defer svc.Close(ctx)
}

// A program that does not migrate tells at its start who has to do what.
func ExampleStore_CheckVersion() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, databaseURL)
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	err = postgres.New(pool).CheckVersion(ctx)
	var version *postgres.VersionError
	var setup *postgres.SetupError
	switch {
	case errors.As(err, &version) && version.Oldest > version.Want:
		log.Fatal("deploy a newer program: ", err)
	case errors.As(err, &version):
		log.Fatal("run the migrations: ", err)
	case errors.As(err, &setup):
		for _, fault := range setup.Problems {
			log.Println("missing:", fault)
		}
		log.Fatal(err)
	case err != nil:
		log.Fatal("the database cannot be reached: ", err)
	}
}

// The program that deploys tells which migration failed, and why.
func ExampleMigrationError() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, databaseURL)
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	err = postgres.Migrate(ctx, pool)
	var failed *postgres.MigrationError
	var cause *pgconn.PgError
	if errors.As(err, &failed) && errors.As(err, &cause) {
		log.Fatalf("migration %d of schema %s: %s (%s)", failed.Version, failed.Schema, cause.Message, cause.Code)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// A host with a tool of its own for migrations copies the files to where the tool looks for
// them.
func ExampleMigrations() {
	dir, err := os.MkdirTemp("", "migrations") // the tool's directory
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.CopyFS(dir, postgres.Migrations()); err != nil {
		log.Fatal(err)
	}
	up, err := filepath.Glob(filepath.Join(dir, "*.up.sql"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(filepath.Base(up[0]))
	// Output: 0001_tables.up.sql
}

// A workspace is made in the host's own transaction, with the host's own row.
func ExampleStore_On() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, databaseURL)
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	store := postgres.New(pool)
	svc, err := formsvc.New(formsvc.WithStorage(store))
	if err != nil {
		log.Fatal(err)
	}
	defer svc.Close(ctx)
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		workspace, err := svc.WithStorage(store.On(tx)).As(formsvc.UserIDFrom("ann")).CreateWorkspace(ctx, formsvc.WorkspaceCreate{Name: "Customers"})
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO teams (name, workspace) VALUES ('Customers', $1)`, workspace.ID)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	svc.Dispatcher().Wake() // for what the transaction queued, if anything
}

// audited writes what happens to workspaces into a table of the host's, in the transaction
// that it happens in. The documentation of [storage.Storage] lists all methods that write.
type audited struct {
	storage.Storage
	tx pgx.Tx
}

func (a audited) CreateWorkspace(ctx context.Context, w storage.Workspace, limit int) error {
	if err := a.Storage.CreateWorkspace(ctx, w, limit); err != nil {
		return err // as it is: callers compare with errors.Is
	}
	_, err := a.tx.Exec(ctx, `INSERT INTO audit (what, workspace) VALUES ('created', $1)`, w.ID)
	return err
}

// A decorator goes around the store of each transaction: the service's own decorator would
// not see what happens on the copy.
func ExampleStore_On_decorator() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, databaseURL)
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	store := postgres.New(pool)
	svc, err := formsvc.New(formsvc.WithStorage(store))
	if err != nil {
		log.Fatal(err)
	}
	defer svc.Close(ctx)
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		ann := svc.WithStorage(audited{store.On(tx), tx}).As(formsvc.UserIDFrom("ann"))
		_, err := ann.CreateWorkspace(ctx, formsvc.WorkspaceCreate{Name: "Audited"})
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
}

// The same in a transaction of database/sql, which takes its connections from the pool, so that
// there is one pool. sql.Open("pgx", url) would be a second one beside it.
func ExampleStore_InSQLTx() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, databaseURL)
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	store := postgres.New(pool)
	svc, err := formsvc.New(formsvc.WithStorage(store))
	if err != nil {
		log.Fatal(err)
	}
	defer svc.Close(ctx)
	db := stdlib.OpenDBFromPool(pool)
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	var workspace formsvc.Workspace
	err = store.InSQLTx(ctx, conn, func(store *postgres.Store) error {
		workspace, err = svc.WithStorage(store).As(formsvc.UserIDFrom("ann")).CreateWorkspace(ctx, formsvc.WorkspaceCreate{Name: "Partners"})
		return err
	})
	if err == nil {
		_, err = tx.ExecContext(ctx, `INSERT INTO teams (name, workspace) VALUES ('Partners', $1)`, workspace.ID)
	}
	if err == nil {
		err = tx.Commit()
	}
	if err != nil {
		log.Fatal(err)
	}
}

// The examples run in their order on a database of their own.
func TestTheExamplesRun(t *testing.T) {
	t.Parallel()
	admin := pgtest.Pool(t)
	name := strings.ReplaceAll(pgtest.Schema(t), "formsvc", "examples")
	if _, err := admin.Exec(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := admin.Exec(context.WithoutCancel(t.Context()), "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	config := admin.Config().ConnConfig
	databaseURL = fmt.Sprintf("host=%s port=%d user=%s password='%s' dbname=%s sslmode=prefer", config.Host, config.Port, config.User, config.Password, name)
	pool := pgtest.PoolAt(t, databaseURL)
	if _, err := pool.Exec(t.Context(), `CREATE TABLE teams (name text, workspace bytea); CREATE TABLE audit (what text, workspace bytea)`); err != nil {
		t.Fatal(err)
	}
	ExampleMigrate()
	ExampleMigrationError()
	ExampleNew()
	ExampleStore_CheckVersion()
	ExampleWithSchema()
	ExampleWithTimeout()
	ExampleStore_On()
	ExampleStore_On_decorator()
	ExampleStore_InSQLTx()
	var teams, audits int
	err := pool.QueryRow(t.Context(), `SELECT count(*) FROM teams JOIN formsvc.workspaces w ON w.id = workspace AND w.name = teams.name`).Scan(&teams)
	if err != nil || teams != 2 {
		t.Errorf("%d teams with a workspace, %v; want 2", teams, err)
	}
	err = pool.QueryRow(t.Context(), `SELECT count(*) FROM audit JOIN formsvc.workspaces w ON w.id = workspace AND w.name = 'Audited'`).Scan(&audits)
	if err != nil || audits != 1 {
		t.Errorf("%d workspaces were audited, %v; want 1", audits, err)
	}
	t.Run("tests of a host", func(t *testing.T) { testsOfAHost(t, pool) })
	t.Run("behind PgBouncer", func(t *testing.T) {
		bouncerURL = pgtest.PgBouncer(t, databaseURL)
		ExampleMigrate_pgBouncer()
	})
}

// testsOfAHost runs the helpers of the example: what a test in a transaction did is gone with
// it, and a test in a schema leaves no schema.
func testsOfAHost(t *testing.T, pool *pgxpool.Pool) {
	testPool, testStore = pool, postgres.New(pool)
	var err error
	if testService, err = formsvc.New(formsvc.WithStorage(testStore)); err != nil {
		t.Fatal(err)
	}
	left := func() (rows, schemas int) {
		err := pool.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM teams WHERE name = 'Tested') + (SELECT count(*) FROM formsvc.workspaces WHERE name = 'Tested'),
			(SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'test\_%')`).Scan(&rows, &schemas)
		if err != nil {
			t.Fatal(err)
		}
		return rows, schemas
	}
	t.Run("example", func(t *testing.T) {
		hostsTest = t
		Example_testsOfAHost()
		if rows, _ := left(); rows != 0 {
			t.Errorf("others see %d rows", rows)
		}
	})
	t.Run("in a transaction", func(t *testing.T) {
		svc, _ := inTransaction(t)
		form := publish(t, svc)
		if err := svc.RecordView(t.Context(), form.ID); err != nil {
			t.Error(err)
		}
		metrics, err := svc.AsHost().Metrics(t.Context(), form.ID, "today")
		if err != nil || metrics.Views != 1 {
			t.Errorf("%d views, %v; want the one at once", metrics.Views, err)
		}
	})
	t.Run("in a schema", func(t *testing.T) {
		svc := inSchema(t)
		form := publish(t, svc)
		if err := svc.RecordView(t.Context(), form.ID); err != nil { // is pending when the test ends
			t.Error(err)
		}
		if _, schemas := left(); schemas != 1 {
			t.Errorf("%d schemas, want the test's", schemas)
		}
	})
	if rows, schemas := left(); rows != 0 || schemas != 0 {
		t.Errorf("%d rows and %d schemas are left", rows, schemas)
	}
}

func publish(t *testing.T, svc *formsvc.Service) formsvc.Form {
	t.Helper()
	ann := svc.As(formsvc.UserIDFrom("ann"))
	workspace, err := ann.CreateWorkspace(t.Context(), formsvc.WorkspaceCreate{Name: "Tested"})
	if err != nil {
		t.Fatal(err)
	}
	form, err := ann.CreateForm(t.Context(), formsvc.FormCreate{Workspace: workspace.ID, Name: "Tested"})
	if err != nil {
		t.Fatal(err)
	}
	if form, err = ann.PublishForm(t.Context(), form.ID); err != nil {
		t.Fatal(err)
	}
	return form
}

// A nil pool is found before the first call.
func ExampleStore_Validate() {
	var pool *pgxpool.Pool // its error was not looked at
	fmt.Println(postgres.New(pool).Validate())
	// Output: postgres: the pool or transaction is nil
}
