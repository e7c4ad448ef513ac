package postgres

import (
	"crypto/rand"
	"testing"

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
	seen := map[int64]string{}
	for _, schema := range []string{"formsvc", "other"} {
		s := New(nil, WithSchema(schema))
		for _, kind := range []lockKind{lockForms, lockFunnels, lockOwners, lockKeys, lockValues, lockPartials, lockProbes, "migrations"} {
			key := s.lockKey(kind, storage.ID{10: 1})
			if other, taken := seen[key]; taken {
				t.Errorf("%s %s and %s share a lock", schema, kind, other)
			}
			seen[key] = schema + " " + string(kind)
		}
	}
}
