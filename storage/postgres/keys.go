package postgres

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

const keyColumns = `k.id, k.user_id, k.name, k.prefix, k.scopes, k.created_at, k.expires_at, k.revoked_at, k.last_used_at`

const userColumns = `k.user_name, k.user_email`

func appendKeyTargets(to []any, k *storage.Key) []any {
	return append(to,
		&k.ID, &k.UserID, &k.Name, &k.Prefix, (*scopesColumn)(&k.Scopes),
		&k.CreatedAt, &k.ExpiresAt, &k.RevokedAt, &k.LastUsedAt)
}

// createKey also updates the user's name and email address in the user's other keys.
const createKey = `
WITH room AS (
	SELECT $13::bigint < 1 OR $13::bigint > (
		SELECT count(*) FROM formsvc.api_keys k
		WHERE k.user_id = $1::bytea AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > $9::timestamptz)
	) AS ok
), made AS (
	INSERT INTO formsvc.api_keys (id, user_id, user_name, user_email,
		name, prefix, scopes, hash, created_at, expires_at, revoked_at, last_used_at)
	SELECT $4::bytea, $1::bytea, $2::text, $3::text, $5::text, $6::text, $7::text[], $8::bytea,
		$9::timestamptz, $10::timestamptz, $11::timestamptz, $12::timestamptz
	FROM room WHERE room.ok
	ON CONFLICT DO NOTHING
	RETURNING user_id
), others AS (
	UPDATE formsvc.api_keys k SET user_name = $2::text, user_email = $3::text
	FROM made
	WHERE k.user_id = made.user_id AND (k.user_name, k.user_email) IS DISTINCT FROM ($2::text, $3::text)
)
SELECT room.ok, EXISTS (SELECT 1 FROM made) FROM room`

// CreateKey implements [storage.KeyStore].
func (s *Store) CreateKey(ctx context.Context, n storage.NewKey) error {
	u, k := n.User, n.Key
	if k.UserID != u.ID {
		return storage.ErrInvalidValue
	}
	scopes := conn.ColumnArg(k.Scopes, func(scope *storage.Scope) string { return string(*scope) })
	return s.db.Create(ctx, s.lockStatement(lockKeys, u.ID), conn.NewStatement(createKey, u.ID[:], u.Name, u.Email,
		k.ID[:], k.Name, k.Prefix, scopes, n.Hash[:],
		k.CreatedAt.UTC(), conn.TimeArg(k.ExpiresAt), conn.TimeArg(k.RevokedAt), conn.TimeArg(k.LastUsedAt), int64(max(n.Max, 0))))
}

const keyByHash = `
SELECT ` + keyColumns + `, ` + userColumns + `
FROM formsvc.api_keys k
WHERE k.hash = $1::bytea`

// KeyByHash implements [storage.KeyStore].
func (s *Store) KeyByHash(ctx context.Context, hash [32]byte) (storage.Key, storage.User, error) {
	var k storage.Key
	var u storage.User
	err := s.db.ReadRow(ctx, keyByHash, conn.RowScanner(append(appendKeyTargets(make([]any, 0, 11), &k), &u.Name, &u.Email)...), hash[:])
	u.ID = k.UserID
	if err != nil {
		return storage.Key{}, storage.User{}, err
	}
	return k, u, nil
}

// formForKey checks the key before it looks up the form. Without permission, the form's columns are null.
var formForKey = `
SELECT ` + keyColumns + `, ` + userColumns + `, k.xmin, f.version, ` + formColumnsWithoutLimit + `
FROM formsvc.api_keys k
LEFT JOIN LATERAL (
	SELECT f.*, f.xmin AS version FROM formsvc.forms f
	WHERE k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > $4::timestamptz)
		AND ($3::text = '' OR $3::text = ANY (k.scopes))
		AND f.id = $2::bytea AND ` + rowNotTrashed + `
		AND EXISTS (SELECT FROM formsvc.workspace_users a WHERE a.workspace_id = f.workspace_id AND a.user_id = k.user_id)
	OFFSET 0
) f ON true
WHERE k.hash = $1::bytea`

// keyPermits reports whether k is valid at the given time and has the scope. An empty scope is always permitted.
func keyPermits(k *storage.Key, scope storage.Scope, at time.Time) bool {
	return k.RevokedAt.IsZero() && (k.ExpiresAt.IsZero() || k.ExpiresAt.After(at)) &&
		(scope == "" || slices.Contains(k.Scopes, scope))
}

// versionsForKey returns the versions of a key and a form if the key is not revoked and the user $4 has access to the
// workspace $3. $3 and $4 come from the cache and are valid if the versions match. The three lookups do not depend on
// each other. This keeps the statement's setup simple, which is half of its cost.
const versionsForKey = `
SELECT k.xmin, f.xmin, f.updated_at
FROM formsvc.api_keys k, formsvc.forms f, formsvc.workspace_users a
WHERE k.hash = $1::bytea AND k.revoked_at IS NULL
	AND f.id = $2::bytea AND ` + rowNotTrashed + `
	AND a.workspace_id = $3::bytea AND a.user_id = $4::bytea`

// FormForKey implements [storage.KeyStore]. It returns unchanged keys and forms from the process's cache.
func (s *Store) FormForKey(ctx context.Context, p storage.FormForKeyParams) (storage.FormForKey, error) {
	var out storage.FormForKey
	err := s.db.Read(ctx, func(ctx context.Context) error {
		if s.cache != nil {
			same, err := s.cachedFormForKey(ctx, p, &out)
			if same || err != nil {
				return err
			}
		}
		return s.readFormForKey(ctx, p, &out)
	})
	if err != nil {
		return storage.FormForKey{}, err
	}
	return out, nil
}

// cachedFormForKey sets out if the cached key and form are current and the key permits access. If not, it returns
// false.
func (s *Store) cachedFormForKey(ctx context.Context, p storage.FormForKeyParams, out *storage.FormForKey) (same bool, err error) {
	key, knowsKey := s.cache.keys.Get(p.Hash)
	form, knowsForm := s.cache.forms.Get(p.Form)
	if !knowsKey || !knowsForm || !keyPermits(&key.key, p.Scope, p.At) {
		return false, nil
	}
	var ofKey, ofForm rowVersion
	var updatedAt time.Time
	err = s.db.QueryRow(ctx, versionsForKey, conn.RowScanner(&ofKey, &ofForm, &updatedAt), p.Hash[:], p.Form[:], form.form.WorkspaceID[:], key.key.UserID[:])
	if err != nil || ofKey != key.version || !form.matches(ofForm, updatedAt) {
		return false, conn.TranslateNoRow(err, nil)
	}
	*out = storage.FormForKey{Key: key.key, User: key.user, Form: &form.form}
	out.Key.Scopes = slices.Clone(key.key.Scopes)
	return true, s.readLimitReached(ctx, &form.form)
}

func (s *Store) readFormForKey(ctx context.Context, p storage.FormForKeyParams, out *storage.FormForKey) error {
	var f storage.Form
	var ofKey rowVersion
	*out = storage.FormForKey{}
	err := s.db.QueryRow(ctx, formForKey, func(rows pgx.Rows) error {
		before := append(appendKeyTargets(make([]any, 0, 41), &out.Key), &out.User.Name, &out.User.Email, &ofKey)
		return s.scanForm(rows, before, &f)
	}, p.Hash[:], p.Form[:], string(p.Scope), p.At.UTC())
	out.User.ID = out.Key.UserID
	if err != nil || f.ID.IsZero() {
		return conn.TranslateNoRow(err, storage.ErrNotFound)
	}
	if s.cache != nil {
		key := cachedKey{version: ofKey, key: out.Key, user: out.User}
		key.key.Scopes = slices.Clone(out.Key.Scopes)
		s.cache.keys.Put(p.Hash, key, 0)
	}
	out.Form = &f
	return s.readLimitReached(ctx, &f)
}

const keysOfUser = `
SELECT ` + keyColumns + `
FROM formsvc.api_keys k
WHERE k.user_id = $1::bytea
ORDER BY k.created_at DESC, k.id DESC`

// Keys implements [storage.KeyStore].
func (s *Store) Keys(ctx context.Context, user storage.ID) ([]storage.Key, error) {
	return conn.ReadAll(ctx, &s.db, func(k *storage.Key) []any { return appendKeyTargets(nil, k) }, keysOfUser, user[:])
}

const revokeKey = `
UPDATE formsvc.api_keys k SET revoked_at = COALESCE(k.revoked_at, $3::timestamptz)
WHERE k.id = $1::bytea AND k.user_id = $2::bytea`

// RevokeKey implements [storage.KeyStore].
func (s *Store) RevokeKey(ctx context.Context, user, key storage.ID, at time.Time) error {
	return s.db.ChangeRow(ctx, revokeKey, key[:], user[:], conn.TimeArg(at))
}

// touchKeys locks rows in ID order, so that concurrent calls cannot deadlock.
const touchKeys = `
WITH touched AS (
	SELECT k.id, t.at
	FROM unnest((SELECT $1::bytea[]), (SELECT $2::timestamptz[])) AS t (id, at)
	JOIN formsvc.api_keys k ON k.id = t.id
	ORDER BY k.id
	FOR NO KEY UPDATE OF k
)
UPDATE formsvc.api_keys k SET last_used_at = touched.at
FROM touched
WHERE k.id = touched.id AND (k.last_used_at IS NULL OR k.last_used_at < touched.at)`

// TouchKeys implements [storage.KeyStore].
func (s *Store) TouchKeys(ctx context.Context, used map[storage.ID]time.Time) error {
	if len(used) == 0 {
		return ctx.Err()
	}
	sorted := slices.SortedFunc(maps.Keys(used), func(a, b storage.ID) int { return bytes.Compare(a[:], b[:]) })
	times := conn.ColumnArg(sorted, func(id *storage.ID) time.Time { return used[*id].UTC() })
	_, err := s.db.ChangeRows(ctx, touchKeys, conn.IDsArg(sorted), times)
	return err
}

// scopesColumn scans a text[]. It does not allocate known scopes, because every request reads the scopes of its key.
type scopesColumn []storage.Scope

func (c *scopesColumn) SetDimensions(dimensions []pgtype.ArrayDimension) error {
	*c = nil
	if len(dimensions) > 0 {
		*c = make(scopesColumn, dimensions[0].Length)
	}
	return nil
}

func (c *scopesColumn) ScanIndex(i int) any { return (*scopeElement)(&(*c)[i]) }

func (c *scopesColumn) ScanIndexType() any { return new(scopeElement) }

type scopeElement storage.Scope

var knownScopes = storage.Scopes()

func (e *scopeElement) ScanBytes(b []byte) error {
	if i := slices.IndexFunc(knownScopes, func(s storage.Scope) bool { return string(s) == string(b) }); i >= 0 {
		*e = scopeElement(knownScopes[i])
		return nil
	}
	*e = scopeElement(b)
	return nil
}
