package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
	"github.com/formsvc/formsvc/storage/storagetest"
)

// The whole suite in a host's transaction for each case, which is rolled back.
// The cases about concurrency stay on the pool: a transaction is for one
// goroutine.
func TestStorageInATransaction(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	schemas := newSchemas(t)
	schema := pgtest.Schema(t)
	pool := pgtest.Pool(t, pgtest.MaxConns(8))
	createTables(t, pool, schema)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if got, err := New(pool, WithSchema(schema)).Workspaces(ctx, storage.AsHost(), storage.Page{Limit: 1}); err != nil || len(got) != 0 {
			t.Errorf("after the rollbacks: %d workspaces, %v", len(got), err)
		}
	})
	storagetest.Run(t, func(t *testing.T) storage.Storage {
		if strings.Contains(t.Name(), "/concurren") {
			return New(pool, WithSchema(schemas.lend(t)))
		}
		schema := schema
		// A note waits for no other transaction, and webhooks for all forms would wait for those of other cases.
		if strings.Contains(t.Name(), "/upkeep/") || strings.Contains(t.Name(), "/all_forms") {
			schema = schemas.lend(t)
		}
		tx := begin(t, pool)
		t.Cleanup(func() { wantError(t, "roll back", tx.Rollback(context.WithoutCancel(t.Context())), nil) })
		return New(pool, WithSchema(schema)).On(tx)
	})
}

// The store's own time is not that of a host's transaction.
func TestOnlyTheHostBoundsItsTransaction(t *testing.T) {
	t.Parallel()
	outside, pool := testStore(t)
	s := New(pool, WithSchema(outside.db.Schema), WithTimeout(time.Nanosecond))
	list := func(s *Store) error {
		return errorOf(s.Workspaces(t.Context(), storage.AsHost(), storage.Page{Limit: 1}))
	}
	wantError(t, "on the pool", list(s), storage.ErrUnavailable)
	wantError(t, "in a transaction", pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error { return list(s.On(tx)) }), nil)
}

// What a method answers is no error of the transaction.
func TestARefusalDoesNotEndTheHostsTransaction(t *testing.T) {
	t.Parallel()
	outside, pool := testStore(t)
	tx := begin(t, pool)
	s := outside.On(tx)
	ctx, host := t.Context(), storage.AsHost()
	w := storage.Workspace{ID: storage.ID{1}, PublicID: "w", OwnerID: storage.ID{2}}
	f := storage.Form{
		ID: storage.ID{3}, PublicID: "f", WorkspaceID: w.ID, Status: storage.StatusDraft,
		FormContent: noBlocks(),
	}
	user, key := storage.User{ID: storage.ID{2}}, storage.Key{ID: storage.ID{4}, UserID: storage.ID{2}}
	for _, step := range []struct {
		name string
		do   func() error
		want error
	}{
		{"CreateWorkspace", func() error { return s.CreateWorkspace(ctx, w, 1) }, nil},
		{"CreateWorkspace again", func() error { return s.CreateWorkspace(ctx, w, 0) }, storage.ErrConflict},
		{"CreateWorkspace, one too many", func() error { return s.CreateWorkspace(ctx, w, 1) }, storage.ErrLimitReached},
		{"CreateForm", func() error { return s.CreateForm(ctx, host, f) }, nil},
		{"CreateForm again", func() error { return s.CreateForm(ctx, host, f) }, storage.ErrConflict},
		{"CreateForm nowhere", func() error { return s.CreateForm(ctx, host, storage.Form{WorkspaceID: storage.ID{9}}) }, storage.ErrNotFound},
		{"UpdateForm at another revision", func() error {
			_, err := s.UpdateForm(ctx, host, f.ID, storage.FormChange{IfRevision: []int64{9}})
			return err
		}, storage.ErrRevisionMismatch},
		{"CreateKey", func() error { return s.CreateKey(ctx, storage.NewKey{User: user, Key: key, Hash: [32]byte{1}, Max: 1}) }, nil},
		{"CreateKey again", func() error { return s.CreateKey(ctx, storage.NewKey{User: user, Key: key, Hash: [32]byte{2}, Max: 0}) }, storage.ErrConflict},
		{"CreateKey, one too many", func() error { return s.CreateKey(ctx, storage.NewKey{User: user, Key: key, Hash: [32]byte{2}, Max: 1}) }, storage.ErrLimitReached},
		{"RestoreForm", func() error { return s.RestoreForm(ctx, f.ID, storage.ID{}, f.CreatedAt) }, storage.ErrNotFound},
		{"SetMember of the owner", func() error { return s.SetMember(ctx, w.ID, w.OwnerID, false) }, storage.ErrConflict},
		{"CheckVersion", func() error { return New(tx, WithSchema("no_such_schema")).CheckVersion(ctx) }, storage.ErrUnavailable},
		{"Form", func() error { _, err := s.Form(ctx, storage.As(w.OwnerID), f.ID); return err }, nil},
	} {
		if err := step.do(); !errors.Is(err, step.want) {
			t.Fatalf("%s: %v, want %v", step.name, err, step.want)
		}
		if _, err := outside.Workspace(ctx, host, w.ID); !errors.Is(err, storage.ErrNotFound) {
			t.Fatalf("%s: outside of the transaction: %v", step.name, err)
		}
	}
	must(t, tx.Commit(ctx))
	wantError(t, "after the commit: Form", errorOf(outside.Form(ctx, host, f.ID)), nil)
}

func TestAnErrorInTheHostsTransactionIsTheHosts(t *testing.T) {
	t.Parallel()
	outside, pool := testStore(t)
	err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		s := outside.On(tx)
		_, err := s.UpdateForm(t.Context(), storage.AsHost(), storage.ID{1}, storage.FormChange{Definition: storage.Definition{Theme: []byte(`{`)}})
		expect(t, errors.Is(err, storage.ErrInvalidValue), "UpdateForm = %v", err)
		// The transaction is lost, and says so.
		_, err = s.Workspaces(t.Context(), storage.AsHost(), storage.Page{Limit: 1})
		return err
	})
	expect(t, conn.SQLState(err) == "25P02", "the next call = %v", err)
}

// A host's transaction of database/sql takes the store in: what it rolls back never was,
// what it commits is there, and both see each other's writes before.
func TestTheHostsTransactionOfDatabaseSQL(t *testing.T) {
	t.Parallel()
	outside, pool := testStore(t)
	db := stdlib.OpenDBFromPool(pool)
	t.Cleanup(func() { db.Close() })
	ctx := t.Context()
	table := outside.db.RewriteSQL("formsvc.workspaces")

	for i, end := range []struct {
		name string
		do   func(*sql.Tx) error
		left error
	}{{"rolled back", (*sql.Tx).Rollback, storage.ErrNotFound}, {"committed", (*sql.Tx).Commit, nil}} {
		conn, err := db.Conn(ctx)
		must(t, err)
		tx, err := conn.BeginTx(ctx, nil)
		must(t, err)
		w := storage.Workspace{ID: storage.ID{1, byte(i)}, PublicID: end.name, OwnerID: storage.ID{2}, Name: "W"}
		err = outside.InSQLTx(ctx, conn, func(s *Store) error {
			if err := s.CreateWorkspace(ctx, w, 10); err != nil {
				return err
			}
			// A refusal is an answer and does not end the transaction.
			wantError(t, "the same workspace again", s.CreateWorkspace(ctx, w, 10), storage.ErrConflict)
			f := storage.Form{
				ID: storage.ID{3, byte(i)}, PublicID: end.name, WorkspaceID: w.ID, Status: storage.StatusPublished,
				FormContent: noBlocks(),
			}
			if err := s.CreateForm(ctx, storage.AsHost(), f); err != nil {
				return err
			}
			_, _, err := s.Submit(ctx, storage.NewSubmission{
				Submission:   storage.Submission{ID: storage.ID{4, byte(i)}, FormID: f.ID, Answers: []byte(`[]`), Metadata: []byte(`{}`), Hidden: []byte(`{}`)},
				FormRevision: 1, Event: storage.Event{ID: storage.ID{5, byte(i)}, Type: "t", Body: []byte(`{}`)},
			})
			return err
		})
		must(t, err)
		var name string
		if err := tx.QueryRowContext(ctx, "SELECT name FROM "+table+" WHERE id = $1", w.ID[:]).Scan(&name); err != nil || name != "W" {
			t.Errorf("%s: the host's statement sees %q, %v", end.name, name, err)
		}
		if _, err := outside.Workspace(ctx, storage.AsHost(), w.ID); !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("%s: others see it before: %v", end.name, err)
		}
		must(t, end.do(tx))
		if _, err := outside.Submission(ctx, storage.AsHost(), storage.ID{3, byte(i)}, storage.ID{4, byte(i)}); !errors.Is(err, end.left) {
			t.Errorf("%s: the response afterwards: %v, want %v", end.name, err, end.left)
		}
		called := false
		err = outside.InSQLTx(ctx, conn, func(*Store) error { called = true; return nil })
		if called || err == nil || !strings.Contains(err.Error(), "no transaction") {
			t.Errorf("%s: after the transaction: %v", end.name, err)
		}
		// The connection is as good as before.
		check(t, conn.PingContext(ctx))
		check(t, conn.Close())
	}
}

// Whatever do does, the host ends its transaction then: neither waits for the other. An error of do
// comes back as it is.
func TestWhatEndsTheHostsTransactionOfDatabaseSQL(t *testing.T) {
	t.Parallel()
	outside, pool := testStore(t)
	db := stdlib.OpenDBFromPool(pool)
	t.Cleanup(func() { db.Close() })
	own := errors.New("own")
	for name, do := range map[string]func(*Store) error{
		"an error": func(s *Store) error {
			_, err := s.Workspace(t.Context(), storage.AsHost(), storage.ID{9})
			wantError(t, "Workspace", err, storage.ErrNotFound)
			return own
		},
		"a panic":       func(*Store) error { panic(own) },
		"a broken conn": func(*Store) error { return errors.Join(own, driver.ErrBadConn) },
	} {
		conn, err := db.Conn(t.Context())
		must(t, err)
		tx, err := conn.BeginTx(t.Context(), nil)
		must(t, err)
		func() {
			defer func() {
				if value, _ := recover().(error); value != nil {
					err = value
				}
			}()
			err = outside.InSQLTx(t.Context(), conn, do)
		}()
		expect(t, errors.Is(err, own), "%s: %v", name, err)
		if err := errors.Join(tx.Rollback(), conn.Close()); err != nil {
			t.Errorf("%s: the end: %v", name, err)
		}
	}
}

// A host keeps ids in tables of its own: 12 bytes in a bytea column and 24 digits in a
// text column, by pgx and by database/sql.
func TestAHostKeepsIDsInColumnsOfItsOwn(t *testing.T) {
	t.Parallel()
	want := storage.ID{0x5f, 0x2b, 0xff, 0, 0x9d, 0x3a, 0x4b, 0x6c, 0x7d, 0x8e, 0x9f, 1}
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			schema := pgtest.Schema(t)
			pool := pgtest.Pool(t, pgtest.Mode(mode))
			db := stdlib.OpenDBFromPool(pool)
			defer db.Close()
			exec := func(text string, args ...any) error { return errorOf(pool.Exec(t.Context(), text, args...)) }
			for _, statement := range []string{`CREATE SCHEMA ` + schema, fmt.Sprintf(`CREATE TABLE %s.hosts (name text, b bytea, s text)`, schema)} {
				must(t, exec(statement))
			}
			// In these two modes nobody knows a column's type. What they make of it is
			// documented: digits, or an error.
			typed := mode != pgx.QueryExecModeExec && mode != pgx.QueryExecModeSimpleProtocol
			insert := fmt.Sprintf(`INSERT INTO %s.hosts VALUES ($1, $2, $3)`, schema)
			write := map[string]func(name string, b any) error{
				"pgx":          func(name string, b any) error { return exec(insert, name, b, want) },
				"database/sql": func(name string, b any) error { return errorOf(db.ExecContext(t.Context(), insert, name, b, want)) },
			}
			for name, write := range write {
				var given any = want
				if !typed {
					given = want[:]
				}
				if err := write(name, given); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				var size int
				var digits string
				read := fmt.Sprintf(`SELECT length(b), s FROM %s.hosts WHERE name = $1`, schema)
				must(t, pool.QueryRow(t.Context(), read, name).Scan(&size, &digits))
				if size != 12 || digits != want.String() {
					t.Errorf("%s: %d bytes and the text %q, want 12 and %s", name, size, digits, want)
				}

				both := fmt.Sprintf(`SELECT b, s FROM %s.hosts WHERE name = $1 AND s = $2`, schema)
				var b, s storage.ID
				if err := pool.QueryRow(t.Context(), both, name, want).Scan(&b, &s); err != nil || b != want || s != want {
					t.Errorf("%s, read by pgx: %s, %s, %v", name, b, s, err)
				}
				var n sql.Null[storage.ID]
				if err := db.QueryRowContext(t.Context(), both, name, want).Scan(&n, &s); err != nil || !n.Valid || n.V != want || s != want {
					t.Errorf("%s, read by database/sql: %+v, %s, %v", name, n, s, err)
				}
			}
		})
	}
}

// Rows of a host that refer to submissions with ON DELETE CASCADE are removed with them, whatever
// removes the submissions, with whole tables and with partitioned ones.
func TestRowsOfHostsAreRemovedWithTheirSubmissions(t *testing.T) {
	t.Parallel()
	for _, partitioned := range []bool{false, true} {
		t.Run(map[bool]string{false: "whole tables", true: "partitions"}[partitioned], func(t *testing.T) {
			t.Parallel()
			s, pool := testStore(t)
			if partitioned {
				run(t, pool, partitionsSQL(t, s.db.Schema), pgx.QueryExecModeSimpleProtocol)
			}
			must(t, pgseed.Fill(t.Context(), pool, s.db.Schema, pgseed.Size{Forms: 3, AnswerBytes: 100, Webhooks: 1}))
			run := func(text string, args ...any) {
				t.Helper()
				execute(t, pool, s, text, args...)
			}
			run(`CREATE TABLE formsvc.shop_orders (
				form_id bytea, submission_id bytea, note text,
				FOREIGN KEY (form_id, submission_id) REFERENCES formsvc.submissions (form_id, id) ON DELETE CASCADE)`)
			run(`CREATE INDEX ON formsvc.shop_orders (form_id, submission_id)`)
			form := pgseed.ID(pgseed.Form, 0)
			for i := 1; i <= 5; i++ {
				// In one transaction, as a host does.
				tx := begin(t, pool)
				n := response(i)
				mustSubmit(t, s.On(tx), n)
				execute(t, tx, s, `INSERT INTO formsvc.shop_orders VALUES ($1, $2, 'x')`, form[:], n.Submission.ID[:])
				must(t, tx.Commit(t.Context()))
			}
			left := func(want int, after string, err error) {
				t.Helper()
				if n := count(t, pool, s, "shop_orders"); err != nil || n != want {
					t.Errorf("%d rows of the host are left after %s, want %d; %v", n, after, want, err)
				}
			}
			left(5, "five submissions", nil)
			left(4, "DeleteSubmission", s.DeleteSubmission(t.Context(), storage.AsHost(), form, response(1).Submission.ID))
			_, err := s.EraseSubmissions(t.Context(), form, []storage.ID{response(2).Submission.ID})
			left(3, "EraseSubmissions", err)
			_, err = s.PurgeSubmissions(t.Context(), storage.PurgeSubmissionsParams{Forms: []storage.ID{form}, Before: response(4).Submission.SubmittedAt, Max: 100})
			left(2, "PurgeSubmissions", err)
			must(t, s.TrashForm(t.Context(), storage.AsHost(), form, storage.TrashParams{At: pgseed.Start().Add(time.Hour)}))
			left(2, "TrashForm", s.PurgeForm(t.Context(), form))
			for more := true; more && err == nil; {
				var swept storage.SweepResult
				swept, err = s.Sweep(t.Context(), storage.SweepParams{Now: pgseed.Start(), RemovalsOnly: true, Max: 100})
				more = swept.More
			}
			left(0, "the sweep of a purged form", err)
		})
	}
}

// listedWriters are the methods that the documentation of [storage.Storage] says write.
func listedWriters(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../storage.go", nil, parser.ParseComments)
	must(t, err)
	for _, d := range file.Decls {
		of, ok := d.(*ast.GenDecl)
		if !ok || of.Tok != token.TYPE || of.Specs[0].(*ast.TypeSpec).Name.Name != "Storage" {
			continue
		}
		_, list, found := strings.Cut(of.Doc.Text(), "The following methods write")
		if !found {
			break
		}
		var names []string
		for line := range strings.Lines(list) {
			if strings.HasPrefix(line, "\t") {
				names = append(names, regexp.MustCompile(`\w+`).FindAllString(line, -1)...)
			}
		}
		slices.Sort(names)
		return names
	}
	t.Fatal("the documentation of Storage has no list of the methods that write")
	return nil
}

// anyOf is a value with something in every part of it, so that a method that is given it
// reaches the database.
func anyOf(of reflect.Type) reflect.Value {
	v := reflect.New(of).Elem()
	switch of {
	case reflect.TypeFor[storage.Actor]():
		return reflect.ValueOf(storage.AsHost())
	case reflect.TypeFor[storage.ID]():
		return reflect.ValueOf(pgseed.ID(pgseed.Form, 0))
	case reflect.TypeFor[time.Time](): // later than all that is stored
		return reflect.ValueOf(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))
	}
	switch of.Kind() {
	case reflect.Interface: // an error is none, and nobody takes what is stored
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString("1")
	case reflect.Slice: // a text of one digit is JSON, too
		v = reflect.Append(v, anyOf(of.Elem()))
	case reflect.Array:
		for i := range v.Len() {
			v.Index(i).Set(anyOf(of.Elem()))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(of))
		v.SetMapIndex(anyOf(of.Key()), anyOf(of.Elem()))
	case reflect.Pointer:
		v.Set(reflect.New(of.Elem()))
		v.Elem().Set(anyOf(of.Elem()))
	case reflect.Struct:
		for i := range of.NumField() {
			if of.Field(i).IsExported() {
				v.Field(i).Set(anyOf(of.Field(i).Type))
			}
		}
	case reflect.Func:
		return reflect.MakeFunc(of, func([]reflect.Value) (results []reflect.Value) {
			for i := range of.NumOut() {
				results = append(results, anyOf(of.Out(i)))
			}
			return results
		})
	case reflect.Uint8:
		v.SetUint('1')
	case reflect.Float64:
		v.SetFloat(1)
	default:
		v.SetInt(1)
	}
	return v
}

// A decorator that is to see each change needs to know which methods change something. In a
// transaction that is read-only the server refuses exactly these.
func TestTheMethodsThatWriteAreListed(t *testing.T) {
	t.Parallel()
	store, pool := seeded(t)
	mustSubmit(t, store, response(1))
	methods := reflect.TypeFor[storage.Storage]()
	writers := map[string]bool{}
	for i := range methods.NumMethod() {
		m := methods.Method(i)
		if !m.IsExported() {
			continue
		}
		tx, err := pool.BeginTx(t.Context(), pgx.TxOptions{AccessMode: pgx.ReadOnly})
		must(t, err)
		args := []reflect.Value{reflect.ValueOf(t.Context())}
		for i := 1; i < m.Type.NumIn(); i++ {
			args = append(args, anyOf(m.Type.In(i)))
		}
		results := reflect.ValueOf(store.On(tx)).MethodByName(m.Name).Call(args)
		err, _ = results[len(results)-1].Interface().(error)
		const readOnlyTransaction = "25006"
		switch {
		case conn.SQLState(err) == readOnlyTransaction:
			writers[m.Name] = true
		case m.Name == "MaintenanceStatus" && errors.As(err, new(*SetupError)): // it says that nothing can be written
		case err != nil && !errors.Is(err, storage.ErrNotFound):
			t.Errorf("%s: %v: it does not show whether it writes", m.Name, err)
		}
		must(t, tx.Rollback(context.WithoutCancel(t.Context())))
	}
	if diff := cmp.Diff(listedWriters(t), slices.Sorted(maps.Keys(writers))); diff != "" {
		t.Errorf("the methods that write, in the documentation of storage.Storage (-) and in truth (+):\n%s", diff)
	}
}

// A response whose id, or the id of its event, is taken is a conflict, together with others as
// in a host's transaction.
func TestAResponseWithATakenIDIsAConflict(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	mustSubmit(t, s, response(1))
	event, id := response(2), response(1)
	event.Event.ID, id.Event.ID = id.Event.ID, pgseed.ID(pgseed.Event, 3)
	for what, n := range map[string]storage.NewSubmission{"event": event, "id": id} {
		_, _, err := s.Submit(t.Context(), n)
		wantError(t, "with a taken "+what, err, storage.ErrConflict)
		_, _, err = s.On(begin(t, pool)).Submit(t.Context(), n)
		wantError(t, "in a transaction, with a taken "+what, err, storage.ErrConflict)
	}
	wantRows(t, pool, s, 1, "submissions")
}
