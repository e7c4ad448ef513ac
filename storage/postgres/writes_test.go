package postgres

import (
	"context"
	"errors"
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

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

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
		_, list, found := strings.Cut(of.Doc.Text(), "These methods write")
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
	if _, _, err := store.Submit(t.Context(), response(1)); err != nil { // something to claim and to purge
		t.Fatal(err)
	}
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
		case m.Name == "Upkeep" && errors.As(err, new(*SetupError)): // it says that nothing can be written
		case err != nil && !errors.Is(err, storage.ErrNotFound):
			t.Errorf("%s: %v: it does not show whether it writes", m.Name, err)
		}
		must(t, tx.Rollback(context.WithoutCancel(t.Context())))
	}
	if diff := cmp.Diff(listedWriters(t), slices.Sorted(maps.Keys(writers))); diff != "" {
		t.Errorf("the methods that write, in the documentation of storage.Storage (-) and in truth (+):\n%s", diff)
	}
}
