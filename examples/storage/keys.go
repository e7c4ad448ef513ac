package main

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
)

const keyColumns = `id, user, name, prefix, scopes, created, expires, revoked, last_used`

func scanKey(row scanner) (k storage.Key, err error) {
	var scopes []byte
	err = row.Scan(&k.ID, &k.UserID, &k.Name, &k.Prefix, &scopes, at(&k.CreatedAt), at(&k.ExpiresAt), at(&k.RevokedAt), at(&k.LastUsedAt))
	if err != nil {
		return k, err
	}
	return k, json.Unmarshal(scopes, &k.Scopes)
}

// CreateKey implements [storage.KeyStore].
func (s *Store) CreateKey(ctx context.Context, n storage.NewKey) error {
	u, k := n.User, n.Key
	if err := check(u.Name, u.Email, k.Name, k.Prefix, k.Scopes, k.CreatedAt, k.ExpiresAt, k.RevokedAt, k.LastUsedAt); err != nil {
		return err
	}
	if k.UserID != u.ID {
		return storage.ErrInvalidValue
	}
	scopes, err := json.Marshal(k.Scopes)
	if err != nil {
		return err
	}
	return s.write(ctx, func(tx *tx) error {
		var active int
		err := tx.one(`SELECT count(*) FROM keys WHERE user = ?1 AND revoked = 0 AND (expires = 0 OR expires > ?2)`, []any{u.ID, k.CreatedAt}, &active)
		if err != nil {
			return err
		}
		if n.Max > 0 && active >= n.Max {
			return storage.ErrLimitReached
		}
		_, err = tx.exec(`INSERT INTO users (id, name, email) VALUES (?, ?, ?)
			ON CONFLICT DO UPDATE SET name = excluded.name, email = excluded.email`, u.ID, u.Name, u.Email)
		if err != nil {
			return err
		}
		return added(tx.exec(`INSERT INTO keys (`+keyColumns+`, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			k.ID, k.UserID, k.Name, k.Prefix, string(scopes), k.CreatedAt, k.ExpiresAt, k.RevokedAt, k.LastUsedAt, n.Hash[:]))
	})
}

func (t *tx) keyByHash(hash [32]byte) (storage.Key, storage.User, error) {
	keys, err := all(t, scanKey, `SELECT `+keyColumns+` FROM keys WHERE hash = ?`, hash[:])
	if err == nil && len(keys) == 0 {
		err = storage.ErrNotFound
	}
	if err != nil {
		return storage.Key{}, storage.User{}, err
	}
	user := storage.User{ID: keys[0].UserID}
	err = t.one(`SELECT name, email FROM users WHERE id = ?`, []any{user.ID}, &user.Name, &user.Email)
	return keys[0], user, err
}

// KeyByHash implements [storage.KeyStore].
func (s *Store) KeyByHash(ctx context.Context, hash [32]byte) (key storage.Key, user storage.User, err error) {
	err = s.read(ctx, func(tx *tx) error {
		key, user, err = tx.keyByHash(hash)
		return err
	})
	return key, user, err
}

// FormForKey implements [storage.KeyStore].
func (s *Store) FormForKey(ctx context.Context, p storage.FormForKeyParams) (found storage.FormForKey, err error) {
	err = s.read(ctx, func(tx *tx) error {
		if found.Key, found.User, err = tx.keyByHash(p.Hash); err != nil {
			return err
		}
		k := found.Key
		if !k.RevokedAt.IsZero() || !k.ExpiresAt.IsZero() && !k.ExpiresAt.After(p.At) || p.Scope != "" && !slices.Contains(k.Scopes, p.Scope) {
			return nil
		}
		form, err := tx.visibleForm(storage.As(k.UserID), p.Form)
		if errors.Is(err, storage.ErrNotFound) {
			return nil
		}
		found.Form = &form
		return err
	})
	if err != nil {
		return storage.FormForKey{}, err
	}
	return found, nil
}

// Keys implements [storage.KeyStore].
func (s *Store) Keys(ctx context.Context, user storage.ID) (keys []storage.Key, err error) {
	err = s.read(ctx, func(tx *tx) error {
		keys, err = all(tx, scanKey, `SELECT `+keyColumns+` FROM keys WHERE user = ? ORDER BY created DESC, id DESC`, user)
		return err
	})
	return keys, err
}

// RevokeKey implements [storage.KeyStore].
func (s *Store) RevokeKey(ctx context.Context, user, id storage.ID, at time.Time) error {
	if err := check(at); err != nil {
		return err
	}
	return s.write(ctx, func(tx *tx) error {
		n, err := tx.exec(`UPDATE keys SET revoked = CASE revoked WHEN 0 THEN ? ELSE revoked END WHERE id = ? AND user = ?`, at, id, user)
		if err == nil && n == 0 {
			return storage.ErrNotFound
		}
		return err
	})
}

// TouchKeys implements [storage.KeyStore].
func (s *Store) TouchKeys(ctx context.Context, used map[storage.ID]time.Time) error {
	for _, at := range used {
		if err := check(at); err != nil {
			return err
		}
	}
	return s.write(ctx, func(tx *tx) error {
		for id, at := range used {
			if _, err := tx.exec(`UPDATE keys SET last_used = ?1 WHERE id = ?2 AND last_used < ?1`, at, id); err != nil {
				return err
			}
		}
		return nil
	})
}
