package postgres_test

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/storage/postgres"
)

// What all tests of the host share, on tables that Migrate has made.
var (
	testPool    *pgxpool.Pool
	testStore   *postgres.Store
	testService *formsvc.Service
)

// inTransaction gives a test the service in a transaction that is rolled back when the test
// ends. The host's own statements run on the transaction too.
func inTransaction(t testing.TB) (*formsvc.Service, pgx.Tx) {
	t.Helper()
	tx, err := testPool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tx.Rollback(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return testService.WithStorage(testStore.On(tx)), tx
}

// inSchema gives a test a service on tables of its own, for what has to be committed: a
// dispatcher that sends webhooks, or calls at the same time.
func inSchema(t testing.TB, opts ...formsvc.Option) *formsvc.Service {
	t.Helper()
	name := "test_" + strings.ToLower(rand.Text())
	schema := postgres.WithSchema(name)
	if err := postgres.Migrate(t.Context(), testPool, schema); err != nil {
		t.Fatal(err)
	}
	svc, err := formsvc.New(append(opts, formsvc.WithStorage(postgres.New(testPool, schema)))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		closed := svc.Close(ctx) // what is pending needs the tables
		_, err := testPool.Exec(ctx, "DROP SCHEMA "+name+" CASCADE")
		if err := errors.Join(closed, err); err != nil {
			t.Error(err)
		}
	})
	return svc
}

// hostsTest is what go test gives to a test.
var hostsTest testing.TB

// Tests of a host take a transaction each or a schema each.
func Example_testsOfAHost() {
	t := hostsTest
	svc, tx := inTransaction(t)
	ann := formsvc.UserIDFrom("ann")
	workspace, err := svc.As(ann).CreateWorkspace(t.Context(), formsvc.WorkspaceCreate{Name: "Tested"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `INSERT INTO teams (name, workspace) VALUES ('Tested', $1)`, workspace.ID); err != nil {
		t.Fatal(err)
	}
	// … and whatever the host does with svc and tx. Nothing of it stays.
}
