package storage

import (
	"context"
	"time"
)

// User describes a user of API keys, as returned by GET /me.
type User struct {
	ID    ID
	Name  string
	Email string
}

// Key describes an API key, without the key itself.
type Key struct {
	ID         ID
	UserID     ID
	Name       string
	Prefix     string // first characters of the key, for display
	Scopes     []Scope
	CreatedAt  time.Time
	ExpiresAt  time.Time // a zero value means never
	RevokedAt  time.Time // zero if not revoked
	LastUsedAt time.Time // zero if never used; up to a minute out of date
}

// NewKey contains the parameters of CreateKey.
type NewKey struct {
	User User
	Key  Key
	Hash [32]byte // SHA-256 of the complete key
	Max  int      // limits the user's active keys; a value below 1 means no limit
}

// FormForKeyParams identifies a key and a form. FormForKey reads the form only if the key has Scope and is neither
// revoked nor expired at At.
type FormForKeyParams struct {
	Hash  [32]byte // SHA-256 of the whole key
	Form  ID
	Scope Scope // if empty, no scope is required
	At    time.Time
}

// FormForKey is a key with its user and a form. The caller must still check that the key is valid.
type FormForKey struct {
	Key  Key
	User User
	Form *Form // nil if it was not read or the user cannot access it
}

// KeyStore stores the service's own API keys. The service's CreateKey, Keys and RevokeKey methods always use it. API
// requests also use it, unless the host has a KeyResolver, which can pass keys on to the service's ResolveKey.
type KeyStore interface {
	// CreateKey adds k.Key, and adds or updates its user. If several errors apply, it MUST return the first of these:
	//
	// 1. ErrInvalidValue if k.Key.UserID is not k.User.ID.
	// 2. ErrLimitReached if the user has k.Max keys that are active at k.Key.CreatedAt, even under concurrency.
	// 3. ErrConflict if k.Key.ID or k.Hash is taken.
	CreateKey(ctx context.Context, k NewKey) error

	// KeyByHash returns a key and its user, or ErrNotFound. It also returns revoked and expired keys.
	KeyByHash(ctx context.Context, hash [32]byte) (Key, User, error)

	// Keys lists a user's keys, newest first by (CreatedAt, ID), including revoked and expired keys. The list is empty
	// for an unknown user.
	Keys(ctx context.Context, user ID) ([]Key, error)

	// RevokeKey revokes a key with immediate effect. It MUST return ErrNotFound if the user has no such key. If the key
	// is already revoked, RevokedAt does not change.
	RevokeKey(ctx context.Context, user, key ID, at time.Time) error

	// FormForKey combines KeyByHash and, for the key's user, Form in one step. It reads the form only if the key
	// permits it; see [FormForKeyParams]. It returns ErrNotFound if the key does not exist. A store that cannot combine
	// the two methods returns ErrUnimplemented, and the caller then calls both.
	FormForKey(ctx context.Context, p FormForKeyParams) (FormForKey, error)

	// TouchKeys sets each key's LastUsedAt to the given time, unless LastUsedAt is already later. Unknown keys are
	// ignored.
	TouchKeys(ctx context.Context, used map[ID]time.Time) error
}
