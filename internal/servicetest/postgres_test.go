package servicetest_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres"
)

// A host submits inside its own transaction: what it rolls back never was, and
// what it commits is sent.
func TestASubmitInTheHostsTransaction(t *testing.T) {
	t.Parallel()
	url, requests := servicetest.Receiver(t)
	schema := pgtest.Schema(t)
	pool := pgtest.Pool(t, pgtest.MaxConns(8))
	store := servicetest.Migrated(t, pool, postgres.WithSchema(schema))
	b := servicetest.SetupOn(t, store, servicetest.Loopback(), formsvc.WithoutRateLimit())
	form := b.Form(servicetest.TextBlock, `{}`)
	b.Webhook(form, url, servicetest.Secret)
	b.Dispatch()

	submit := func(name string, end func(pgx.Tx) error) {
		t.Helper()
		tx, err := pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		inTx := b.Using(store.On(tx))
		if _, err := inTx.Submit(t.Context(), formsvc.Response{FormID: form, Answers: servicetest.Answers("name", `"`+name+`"`)}); err != nil {
			t.Fatal(err)
		}
		if err := end(tx); err != nil {
			t.Fatal(err)
		}
		b.Dispatcher().Wake()
	}
	submit("rolled back", func(tx pgx.Tx) error { return tx.Rollback(t.Context()) })
	if n := b.Submissions(form); n != 0 {
		t.Errorf("%d submissions after a rollback, want 0", n)
	}
	submit("committed", func(tx pgx.Tx) error { return tx.Commit(t.Context()) })
	if got := <-requests; !strings.Contains(got.Body, "committed") {
		t.Errorf("sent %s, want the response that was committed", got.Body)
	}
	if n := b.Submissions(form); n != 1 {
		t.Errorf("%d submissions, want 1", n)
	}
}

// A transaction that is rolled back takes its revision with it, and the number
// comes to mean another definition. What the transaction compiled must not be used
// for that one.
func TestARolledBackDefinitionIsNotRemembered(t *testing.T) {
	t.Parallel()
	schema := pgtest.Schema(t)
	pool := pgtest.Pool(t)
	store := servicetest.Migrated(t, pool, postgres.WithSchema(schema))
	b := servicetest.SetupOn(t, store)
	form := b.Form(servicetest.TextBlock, `{}`)
	path := "/forms/" + form.String()

	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	inTx := *b
	inTx.Service = b.Using(store.On(tx))
	numbers := `[{"id":"name","type":"number"}]`
	if w := inTx.Do(http.MethodPatch, path, `{"definition":{"blocks":`+numbers+`}}`, nil); w.Code != http.StatusOK {
		t.Fatalf("in the transaction: %d %s", w.Code, w.Body)
	}
	for _, step := range []struct {
		on     *formsvc.Service
		answer string
		stored bool
	}{{inTx.Service, `1`, true}, {inTx.Service, `"text"`, false}} {
		_, err := step.on.Submit(t.Context(), formsvc.Response{FormID: form, Answers: servicetest.Answers("name", step.answer)})
		if (err == nil) != step.stored {
			t.Errorf("in the transaction, %s: %v", step.answer, err)
		}
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}

	// The same revision again, with another definition.
	texts := `[{"id":"name","type":"long_text"}]`
	if w := b.Do(http.MethodPatch, path, `{"definition":{"blocks":`+texts+`}}`, nil); w.Code != http.StatusOK {
		t.Fatalf("after the rollback: %d %s", w.Code, w.Body)
	}
	var refused *formsvc.Error
	if _, err := b.Submit(t.Context(), formsvc.Response{FormID: form, Answers: servicetest.Answers("name", `1`)}); !errors.As(err, &refused) {
		t.Errorf("a number: %v, want an Error", err)
	}
	if _, err := b.Submit(t.Context(), formsvc.Response{FormID: form, Answers: servicetest.Answers("name", `"text"`)}); err != nil {
		t.Errorf("a text: %v", err)
	}
}

// A host that forgets the schema of its service does not write into another one.
func TestAStoreOnATransactionKeepsItsSchema(t *testing.T) {
	t.Parallel()
	database := pgtest.NewServer(t, pgtest.Config{})
	pool := pgtest.PoolAt(t, database.URL())
	other := servicetest.Migrated(t, pool)
	store := servicetest.Migrated(t, pool, postgres.WithSchema("tenant"))
	b := servicetest.SetupOn(t, store)
	form := b.Form(servicetest.TextBlock, `{}`)

	submit := func(on func(pgx.Tx) storage.Storage) error {
		return pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
			_, err := b.Using(on(tx)).Submit(t.Context(), formsvc.Response{FormID: form, Answers: servicetest.Answers("name", `"x"`)})
			return err
		})
	}
	if err := submit(func(tx pgx.Tx) storage.Storage { return store.On(tx) }); err != nil {
		t.Errorf("Store.On: %v", err)
	}
	err := submit(func(tx pgx.Tx) storage.Storage { return postgres.New(tx) })
	if err == nil || !strings.Contains(err.Error(), `"tenant"`) {
		t.Errorf("New without a schema: %v, want an error that names the other schema", err)
	}
	for name, named := range map[string]postgres.Option{"the right one": postgres.WithSchema("tenant"), "the default one": postgres.WithSchema(postgres.DefaultSchema)} {
		err := submit(func(tx pgx.Tx) storage.Storage { return postgres.New(tx, named) })
		if (err == nil) != (name == "the right one") || err != nil && !errors.Is(err, formsvc.ErrNotFound) {
			t.Errorf("New with the schema of %s: %v", name, err)
		}
	}
	if n := b.Submissions(form); n != 2 {
		t.Errorf("%d submissions, want 2", n)
	}
	if found, err := other.Workspaces(t.Context(), storage.AsHost(), storage.Page{Limit: 1}); err != nil || len(found) != 0 {
		t.Errorf("the other schema has %d workspaces, %v", len(found), err)
	}

	// With one schema in the database there is nothing to forget. What the service has gathered
	// goes with the other one.
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(t.Context(), `DROP SCHEMA tenant CASCADE`); err != nil {
		t.Fatal(err)
	}
	err = submit(func(tx pgx.Tx) storage.Storage { return postgres.New(tx) })
	if !errors.Is(err, formsvc.ErrNotFound) {
		t.Errorf("New without a schema, in a database with one: %v, want ErrNotFound", err)
	}
}
