package postgres

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/internal/lab/pgseed"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
)

// A process forgets a cached form when the form, the access to the form or the key
// changes, whoever made the change.
func TestARememberedFormIsTheFormAsItIs(t *testing.T) {
	t.Parallel()
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			s, pool := seeded(t, pgtest.Mode(mode))
			form, owner := pgseed.ID(pgseed.Form, 0), pgseed.ID(pgseed.User, 0)
			ask := func() *storage.Form {
				t.Helper()
				got, err := s.FormForKey(t.Context(), storage.FormForKeyParams{
					Hash: pgseed.KeyHash(0), Form: form, Scope: storage.ScopeFormsRead, At: pgseed.Start(),
				})
				if err != nil || got.User.ID != owner {
					t.Fatalf("FormForKey = %v, %v", got.User, err)
				}
				return got.Form
			}
			do := func(statement string) {
				t.Helper()
				execute(t, pool, s, statement, pgx.QueryExecModeSimpleProtocol)
			}
			if first, second := ask(), ask(); first == nil || !reflect.DeepEqual(first, second) {
				t.Fatalf("the form is %v and then %v", first, second)
			}
			if _, ok := s.cache.keys.Get(pgseed.KeyHash(0)); !ok {
				t.Fatal("the key is not remembered")
			}
			name := "another name"
			other := New(pgtest.Pool(t), WithSchema(s.db.Schema))
			if _, err := other.UpdateForm(t.Context(), storage.As(owner), form, storage.FormChange{At: pgseed.Start(), Name: &name}); err != nil {
				t.Fatal(err)
			}
			if got := ask(); got.Name != name {
				t.Errorf("after a change by another process the name is %q", got.Name)
			}
			do(`UPDATE formsvc.forms SET name = 'by hand' WHERE id = '\x` + form.String() + `'`)
			if got := ask(); got.Name != "by hand" {
				t.Errorf("after a change by hand the name is %q", got.Name)
			}
			limit := storage.FormChange{At: pgseed.Start(), Gate: &storage.Gate{ResponseLimit: 1}}
			changed, err := other.UpdateForm(t.Context(), storage.As(owner), form, limit)
			must(t, err)
			if got := ask(); got.Full {
				t.Error("the form is full before its first response")
			}
			mustSubmit(t, other, atRevision(response(1), changed.Revision))
			if got := ask(); !got.Full {
				t.Error("the form is not full after the last response that it takes")
			}
			for _, step := range []struct{ change, back string }{
				{
					`CREATE TABLE formsvc.kept AS SELECT * FROM formsvc.workspace_users; DELETE FROM formsvc.workspace_users`,
					`INSERT INTO formsvc.workspace_users SELECT * FROM formsvc.kept`,
				},
				{`UPDATE formsvc.forms SET trashed_at = now()`, `UPDATE formsvc.forms SET trashed_at = NULL`},
				{`UPDATE formsvc.api_keys SET revoked_at = now()`, `UPDATE formsvc.api_keys SET revoked_at = NULL`},
				{`UPDATE formsvc.api_keys SET scopes = '{}'`, `UPDATE formsvc.api_keys SET scopes = '{forms:read}'`},
			} {
				do(step.change)
				if got := ask(); got != nil {
					t.Errorf("after %s the form is still there", step.change)
				}
				do(step.back)
				if got := ask(); got == nil {
					t.Errorf("after %s the form is not there", step.back)
				}
			}
		})
	}
}

// A key is handed out as it is, and its scopes as the caller's own.
func TestARememberedKeyIsTheKeyAsItIs(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	params := storage.FormForKeyParams{Hash: pgseed.KeyHash(0), Form: pgseed.ID(pgseed.Form, 0), At: pgseed.Start()}
	for _, change := range []string{
		`name = 'x'`, `user_name = 'Bob'`, `user_email = 'bob@example.com'`, `scopes = '{forms:write,forms:read}'`,
		`last_used_at = '2026-01-02T00:00:00Z'`, `expires_at = '2100-01-01T00:00:00Z'`,
	} {
		if _, err := pool.Exec(t.Context(), s.db.SQL(`UPDATE formsvc.api_keys SET `+change), pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatal(err)
		}
		wantKey, wantUser, err := s.KeyByHash(t.Context(), params.Hash)
		must(t, err)
		for range 3 {
			got, err := s.FormForKey(t.Context(), params)
			if err != nil || got.Form == nil || !reflect.DeepEqual(got.Key, wantKey) || got.User != wantUser {
				t.Fatalf("after %s: %+v, %+v, %v; want %+v, %+v", change, got.Key, got.User, err, wantKey, wantUser)
			}
			clear(got.Key.Scopes)
		}
	}
	// It expires without a change of its row.
	params.At = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	if got, err := s.FormForKey(t.Context(), params); err != nil || got.Form != nil {
		t.Errorf("for a key that has expired: %v, %v", got.Form, err)
	}
}

// A transaction reads what it has written, and leaves nothing of it behind.
func TestATransactionRemembersNoForm(t *testing.T) {
	t.Parallel()
	s, pool := seeded(t)
	form, name := pgseed.ID(pgseed.Form, 0), "never committed"
	params := storage.FormForKeyParams{Hash: pgseed.KeyHash(0), Form: form, At: pgseed.Start()}
	before, err := s.FormForKey(t.Context(), params)
	must(t, err)
	tx, err := pool.Begin(t.Context())
	must(t, err)
	on := s.On(tx)
	if _, err := on.UpdateForm(t.Context(), storage.AsHost(), form, storage.FormChange{At: pgseed.Start(), Name: &name}); err != nil {
		t.Fatal(err)
	}
	if got, err := on.FormForKey(t.Context(), params); err != nil || got.Form.Name != name {
		t.Errorf("in the transaction: %v, %v", got.Form, err)
	}
	must(t, tx.Rollback(t.Context()))
	if got, err := s.FormForKey(t.Context(), params); err != nil || got.Form.Name != before.Form.Name {
		t.Errorf("after the rollback: %v, %v", got.Form, err)
	}
}

// However a form is read, its definition is there once, until it is another one.
func TestADefinitionIsKeptOnce(t *testing.T) {
	t.Parallel()
	s, _ := seeded(t)
	form := pgseed.ID(pgseed.Form, 0)
	reads := []func() (storage.Form, error){
		func() (storage.Form, error) { return s.Form(t.Context(), storage.AsHost(), form) },
		func() (storage.Form, error) {
			f, err := s.Form(t.Context(), storage.AsHost(), form)
			if err != nil {
				return f, err
			}
			return s.FormByPublicID(t.Context(), f.PublicID)
		},
		func() (storage.Form, error) {
			got, err := s.FormForKey(t.Context(), storage.FormForKeyParams{Hash: pgseed.KeyHash(0), Form: form, At: pgseed.Start()})
			if err != nil || got.Form == nil {
				return storage.Form{}, fmt.Errorf("FormForKey: %v, %w", got.Form, err)
			}
			return *got.Form, nil
		},
	}
	sections := func(f storage.Form) (all []*byte) {
		for _, section := range f.Definition.Sections() {
			all = append(all, unsafe.SliceData(*section.Value))
		}
		return all
	}
	name := "another name"
	var last []*byte
	for step, change := range []storage.FormChange{
		{Definition: storage.Definition{Blocks: json.RawMessage(`[{"id":"a"}]`), Format: 2}},
		{Definition: storage.Definition{Blocks: json.RawMessage(`[{"id":"b"}]`), Format: 2}},
		{Name: &name}, // not the definition
	} {
		change.At = pgseed.Start().Add(time.Duration(step+1) * time.Second)
		want, err := s.UpdateForm(t.Context(), storage.AsHost(), form, change)
		must(t, err)
		first := last
		if change.Name == nil {
			first = nil
		}
		for round := range 2 {
			for i := range reads {
				got, err := reads[(step+i)%len(reads)]() // each of them is the first once
				if err != nil || !reflect.DeepEqual(got, want) {
					t.Fatalf("step %d, round %d, read %d: %+v, %v; want %+v", step, round, i, got, err, want)
				}
				if first == nil {
					first = sections(got)
				}
				if !slices.Equal(sections(got), first) {
					t.Errorf("step %d, round %d, read %d: the definition is there once more", step, round, i)
				}
			}
		}
		last = first
	}
}
