package memory

import (
	"context"
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
)

type key struct {
	// rec.Scopes is never changed.
	rec  storage.Key
	hash [32]byte
	user *user
}

func (k *key) place() storage.Position {
	return storage.Position{Time: k.rec.CreatedAt, ID: k.rec.ID}
}

// activeAt reports whether the key is neither revoked nor expired at t.
func (k *key) activeAt(t time.Time) bool {
	return k.rec.RevokedAt.IsZero() && (k.rec.ExpiresAt.IsZero() || k.rec.ExpiresAt.After(t))
}

// has reports whether the key has the scope. The empty one is no demand.
func (k *key) has(scope storage.Scope) bool {
	return scope == "" || slices.Contains(k.rec.Scopes, scope)
}

// endedBefore reports whether the key was revoked or expired before t.
func (k *key) endedBefore(t time.Time) bool {
	before := func(end time.Time) bool { return !end.IsZero() && end.Before(t) }
	return before(k.rec.RevokedAt) || before(k.rec.ExpiresAt)
}

func copyKey(rec storage.Key) storage.Key {
	rec.Scopes = slices.Clone(rec.Scopes)
	return rec
}

// CreateKey implements [storage.KeyStore].
func (s *Store) CreateKey(ctx context.Context, n storage.NewKey) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	u, k, hash, limit := n.User, copyKey(n.Key), n.Hash, n.Max
	if err := check(u.Name, u.Email, k.Name, k.Prefix, k.Scopes, k.CreatedAt, k.ExpiresAt, k.RevokedAt, k.LastUsedAt); err != nil {
		return err
	}
	if k.UserID != u.ID {
		return storage.ErrInvalidValue
	}
	k.CreatedAt, k.ExpiresAt = utc(k.CreatedAt), utc(k.ExpiresAt)
	k.RevokedAt, k.LastUsedAt = utc(k.RevokedAt), utc(k.LastUsedAt)

	s.mu.Lock()
	defer s.mu.Unlock()
	if limit > 0 && s.activeKeys(u.ID, k.CreatedAt) >= limit {
		return storage.ErrLimitReached
	}
	if s.keys[k.ID] != nil || s.keysByHash[hash] != nil {
		return storage.ErrConflict
	}
	owner := s.user(u.ID)
	owner.account = u
	rec := &key{rec: k, hash: hash, user: owner}
	s.keys[k.ID] = rec
	s.keysByHash[hash] = rec
	owner.keys.add(rec)
	return nil
}

func (s *Store) activeKeys(user storage.ID, at time.Time) int {
	u := s.users[user]
	if u == nil {
		return 0
	}
	n := 0
	for _, k := range u.keys.items {
		if k.activeAt(at) {
			n++
		}
	}
	return n
}

// KeyByHash implements [storage.KeyStore].
func (s *Store) KeyByHash(ctx context.Context, hash [32]byte) (storage.Key, storage.User, error) {
	if err := ctx.Err(); err != nil {
		return storage.Key{}, storage.User{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	k := s.keysByHash[hash]
	if k == nil {
		return storage.Key{}, storage.User{}, storage.ErrNotFound
	}
	return copyKey(k.rec), k.user.account, nil
}

// FormForKey implements [storage.KeyStore].
func (s *Store) FormForKey(ctx context.Context, p storage.FormForKeyParams) (storage.FormForKey, error) {
	if err := ctx.Err(); err != nil {
		return storage.FormForKey{}, err
	}
	s.mu.RLock()
	k := s.keysByHash[p.Hash]
	if k == nil {
		s.mu.RUnlock()
		return storage.FormForKey{}, storage.ErrNotFound
	}
	out := storage.FormForKey{Key: k.rec, User: k.user.account}
	if k.activeAt(p.At) && k.has(p.Scope) {
		if f := s.visible(storage.As(out.User.ID), p.Form); f != nil {
			form := f.record()
			out.Form = &form
		}
	}
	s.mu.RUnlock()

	out.Key = copyKey(out.Key)
	return out, nil
}

// SubmissionsForKey implements [storage.KeyStore].
func (s *Store) SubmissionsForKey(ctx context.Context, p storage.SubmissionsForKeyParams, each func(*storage.Submission) error) (storage.SubmissionsForKey, error) {
	if err := ctx.Err(); err != nil {
		return storage.SubmissionsForKey{}, err
	}
	if err := check(p.Query.Since, p.Query.Until, p.Query.Page); err != nil {
		return storage.SubmissionsForKey{}, err
	}
	s.mu.RLock()
	k := s.keysByHash[p.Hash]
	if k == nil {
		s.mu.RUnlock()
		return storage.SubmissionsForKey{}, storage.ErrNotFound
	}
	out := storage.SubmissionsForKey{Key: k.rec, User: k.user.account}
	var found []*submission
	if k.activeAt(p.At) && k.has(p.Scope) {
		if f := s.visible(storage.As(out.User.ID), p.Form); f != nil {
			out.Found = true
			found, out.More = f.page(p.Query)
		}
	}
	s.mu.RUnlock()

	out.Key = copyKey(out.Key)
	return out, lend(found, each)
}

// Keys implements [storage.KeyStore].
func (s *Store) Keys(ctx context.Context, user storage.ID) ([]storage.Key, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	u := s.users[user]
	if u == nil {
		return nil, nil
	}
	found := newest(u.keys.items, len(u.keys.items))
	out := make([]storage.Key, len(found))
	for i, k := range found {
		out[i] = copyKey(k.rec)
	}
	return out, nil
}

// RevokeKey implements [storage.KeyStore].
func (s *Store) RevokeKey(ctx context.Context, user, id storage.ID, at time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := check(at); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.keys[id]
	if k == nil || k.rec.UserID != user {
		return storage.ErrNotFound
	}
	if k.rec.RevokedAt.IsZero() {
		k.rec.RevokedAt = utc(at)
	}
	return nil
}

// TouchKeys implements [storage.KeyStore].
func (s *Store) TouchKeys(ctx context.Context, used map[storage.ID]time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, at := range used {
		if err := check(at); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, at := range used {
		if k := s.keys[id]; k != nil && at.After(k.rec.LastUsedAt) {
			k.rec.LastUsedAt = utc(at)
		}
	}
	return nil
}

// removeKey forgets a key.
func (s *Store) removeKey(k *key) {
	delete(s.keys, k.rec.ID)
	delete(s.keysByHash, k.hash)
	k.user.keys.remove(k)
}
