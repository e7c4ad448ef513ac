package memory

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
)

type key struct{ rec storage.Key }

func (k *key) position() storage.Position {
	return storage.Position{Time: k.rec.CreatedAt, ID: k.rec.ID}
}

func (k *key) copy() storage.Key {
	rec := k.rec
	rec.Scopes = slices.Clone(rec.Scopes)
	return rec
}

func (k *key) isActive(t time.Time) bool {
	return k.rec.RevokedAt.IsZero() && (k.rec.ExpiresAt.IsZero() || k.rec.ExpiresAt.After(t))
}

func (k *key) endedBefore(t time.Time) bool {
	before := func(end time.Time) bool { return !end.IsZero() && end.Before(t) }
	return before(k.rec.RevokedAt) || before(k.rec.ExpiresAt)
}

// CreateKey implements [storage.KeyStore].
func (s *Store) CreateKey(ctx context.Context, n storage.NewKey) error {
	u, k := n.User, &key{n.Key}
	values := []any{
		u.Name, u.Email, k.rec.Name, k.rec.Prefix, k.rec.Scopes,
		k.rec.CreatedAt, k.rec.ExpiresAt, k.rec.RevokedAt, k.rec.LastUsedAt,
	}
	return withLock(ctx, s, values, func() error {
		active, taken := 0, s.keys[n.Hash] != nil
		for _, other := range s.keys {
			if other.rec.UserID == u.ID && other.isActive(k.rec.CreatedAt) {
				active++
			}
			taken = taken || other.rec.ID == k.rec.ID
		}
		switch {
		case k.rec.UserID != u.ID:
			return storage.ErrInvalidValue
		case n.Max > 0 && active >= n.Max:
			return storage.ErrLimitReached
		case taken:
			return storage.ErrConflict
		}
		k.rec = k.copy()
		k.rec.CreatedAt, k.rec.ExpiresAt = toUTC(k.rec.CreatedAt), toUTC(k.rec.ExpiresAt)
		k.rec.RevokedAt, k.rec.LastUsedAt = toUTC(k.rec.RevokedAt), toUTC(k.rec.LastUsedAt)
		s.keys[n.Hash] = k
		s.users[u.ID] = u
		return nil
	})
}

// KeyByHash implements [storage.KeyStore].
func (s *Store) KeyByHash(ctx context.Context, hash [32]byte) (storage.Key, storage.User, error) {
	found, err := s.FormForKey(ctx, storage.FormForKeyParams{Hash: hash})
	return found.Key, found.User, err
}

// Keys implements [storage.KeyStore].
func (s *Store) Keys(ctx context.Context, user storage.ID) ([]storage.Key, error) {
	return readPage(ctx, s, maps.Values(s.keys), storage.Page{Limit: math.MaxInt}, (*key).position, (*key).copy,
		func(k *key) bool { return k.rec.UserID == user })
}

// RevokeKey implements [storage.KeyStore].
func (s *Store) RevokeKey(ctx context.Context, user, id storage.ID, at time.Time) error {
	return withLock(ctx, s, []any{at}, func() error {
		for _, k := range s.keys {
			if k.rec.ID == id && k.rec.UserID == user {
				k.rec.RevokedAt = cmp.Or(k.rec.RevokedAt, toUTC(at))
				return nil
			}
		}
		return storage.ErrNotFound
	})
}

// FormForKey implements [storage.KeyStore].
func (s *Store) FormForKey(ctx context.Context, p storage.FormForKeyParams) (storage.FormForKey, error) {
	return withLockResult(ctx, s, nil, func() (out storage.FormForKey, err error) {
		k := s.keys[p.Hash]
		if k == nil {
			return out, storage.ErrNotFound
		}
		out.Key, out.User = k.copy(), s.users[k.rec.UserID]
		if k.isActive(p.At) && (p.Scope == "" || slices.Contains(k.rec.Scopes, p.Scope)) {
			if f := s.visibleForm(storage.As(k.rec.UserID), p.Form); f != nil {
				form := f.copy()
				out.Form = &form
			}
		}
		return out, nil
	})
}

// TouchKeys implements [storage.KeyStore].
func (s *Store) TouchKeys(ctx context.Context, used map[storage.ID]time.Time) error {
	return withLock(ctx, s, []any{slices.Collect(maps.Values(used))}, func() error {
		for _, k := range s.keys {
			if at := used[k.rec.ID]; at.After(k.rec.LastUsedAt) {
				k.rec.LastUsedAt = toUTC(at)
			}
		}
		return nil
	})
}
