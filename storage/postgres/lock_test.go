package postgres

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/formsvc/formsvc/storage"
)

func TestALockHasTheSameKeyInGoAndInSQL(t *testing.T) {
	t.Parallel()
	s, pool := testStore(t)
	ids := []storage.ID{{}, {4: 0x80}, {11: 1}, {4: 0xff, 5: 0xff, 6: 0xff, 7: 0xff, 8: 0xff, 9: 0xff, 10: 0xff, 11: 0xff}}
	for range 20 {
		var id storage.ID
		_, _ = rand.Read(id[:])
		ids = append(ids, id)
	}
	for _, id := range ids {
		var ofForm, ofWebhook int64
		err := pool.QueryRow(t.Context(), `
			SELECT `+lockKeyOfForm+`, `+lockKeyOfWebhook+`
			FROM (SELECT $1::bytea AS id) f, (SELECT $1::bytea AS form_id) w`,
			id[:], s.lockSalt(lockForms)).Scan(&ofForm, &ofWebhook)
		if want := s.lockKey(lockForms, id); err != nil || ofForm != want || ofWebhook != want {
			t.Errorf("%s: %d and %d in SQL (%v), %d in Go", id, ofForm, ofWebhook, err, want)
		}
	}
}

func TestLocksOfKindsAndSchemasDoNotMeet(t *testing.T) {
	t.Parallel()
	id := storage.ID{10: 1}
	seen := map[int64]string{}
	for _, schema := range []string{"formsvc", "other"} {
		s := New(nil, WithSchema(schema))
		for _, kind := range []lockKind{lockForms, lockOwners, lockKeys, lockMigrations} {
			key := s.lockKey(kind, id)
			if other, taken := seen[key]; taken {
				t.Errorf("%s %s and %s share a lock", schema, kind, other)
			}
			seen[key] = schema + " " + string(kind)
		}
	}
}

// A workspace may have more forms than the server has room for locks.
func TestAWorkspaceOfManyFormsIsDeleted(t *testing.T) {
	t.Parallel()
	s, pool := testStore(t)
	w := storage.Workspace{ID: storage.ID{1}, PublicID: "w", OwnerID: storage.ID{2}}
	if err := s.CreateWorkspace(t.Context(), w, 0); err != nil {
		t.Fatal(err)
	}
	var many int
	if err := pool.QueryRow(t.Context(), `
		SELECT 2 * current_setting('max_locks_per_transaction')::int * current_setting('max_connections')::int`).Scan(&many); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(t.Context(), s.sql(`
		INSERT INTO formsvc.forms (id, public_id, workspace_id, name, type, status, revision, closed, response_limit,
			created_at, updated_at, format, blocks, settings, theme, variables, hidden_fields)
		SELECT decode(lpad(to_hex(n), 24, '0'), 'hex'), n::text, $1, '', '', '', 1, false, 0, now(), now(), 1, '[]', '{}', '{}', '{}', '[]'
		FROM generate_series(1, $2::int) n`), w.ID[:], many); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteWorkspace(t.Context(), storage.As(w.OwnerID), w.ID, time.Now()); err != nil {
		t.Fatal(err)
	}
	page := storage.Page{Limit: many + 1}
	if live, err := s.Forms(t.Context(), storage.AsHost(), storage.FormQuery{Page: page}); err != nil || len(live) != 0 {
		t.Errorf("%d forms are not in the trash (%v)", len(live), err)
	}
	if trashed, err := s.Forms(t.Context(), storage.AsHost(), storage.FormQuery{Trashed: true, Page: page}); err != nil || len(trashed) != many {
		t.Errorf("%d forms are in the trash (%v)", len(trashed), err)
	}
}
