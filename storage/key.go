package storage

import (
	"context"
	"time"
)

// User is the owner of keys, as GET /me tells.
type User struct {
	ID    ID
	Name  string
	Email string
}

// Key is what is kept of an API key: everything but the key itself.
type Key struct {
	ID         ID
	UserID     ID
	Name       string
	Prefix     string // the first characters of the key, for display
	Scopes     []Scope
	CreatedAt  time.Time
	ExpiresAt  time.Time // zero: never
	RevokedAt  time.Time // zero: not revoked
	LastUsedAt time.Time // zero: not used yet; at most a minute behind
}

// NewKey is a key to keep.
type NewKey struct {
	User User
	Key  Key
	Hash [32]byte // the SHA-256 of the whole key
	// Max bounds the user's active keys. Below 1: no bound.
	Max int
}

// FormForKeyParams asks for a key and for one form of the key's user. The form is
// read only when the key has Scope and is neither revoked nor expired at At.
type FormForKeyParams struct {
	Hash  [32]byte // the SHA-256 of the whole key
	Form  ID
	Scope Scope // empty: no scope is needed
	At    time.Time
}

// FormForKey is a key with its user and a form. The caller still checks the key,
// which is returned as KeyByHash returns it.
type FormForKey struct {
	Key  Key
	User User
	// Form is nil when it was not read, and when the user may not see it.
	Form *Form
}

// KeyStore keeps the built-in API keys. Requests ask it unless the host has a KeyResolver
// of its own; that one may still pass keys on to the service's ResolveKey, and the
// service's CreateKey, Keys and RevokeKey use it in any case.
type KeyStore interface {
	// CreateKey adds k.Key, and adds or updates its user. Of several errors it MUST
	// return the first:
	//
	//  1. ErrInvalidValue when k.Key.UserID is not k.User.ID.
	//  2. ErrLimitReached when the user has k.Max keys that are neither revoked nor
	//     expired at k.Key.CreatedAt, also when several calls run at once.
	//  3. ErrConflict when k.Key.ID or k.Hash is taken.
	CreateKey(ctx context.Context, k NewKey) error

	// KeyByHash returns a key and its user, revoked and expired keys included, or
	// ErrNotFound.
	KeyByHash(ctx context.Context, hash [32]byte) (Key, User, error)

	// Keys lists a user's keys, newest first by (CreatedAt, ID), revoked and
	// expired ones included. It is empty for an unknown user.
	Keys(ctx context.Context, user ID) ([]Key, error)

	// RevokeKey revokes a key from the next call on. It MUST return ErrNotFound
	// when the user has no such key. A key that is already revoked keeps its time.
	RevokeKey(ctx context.Context, user, key ID, at time.Time) error

	// FormForKey is KeyByHash and, for the key's user, Form, in one step. It reads
	// no form for a key that could not use it; see [FormForKeyParams]. ErrNotFound
	// is about the key. A store that gains nothing from it returns
	// ErrUnimplemented; callers then make two calls.
	FormForKey(ctx context.Context, p FormForKeyParams) (FormForKey, error)

	// TouchKeys sets LastUsedAt of each key to the given time unless it is later
	// already. Unknown keys are passed over.
	TouchKeys(ctx context.Context, used map[ID]time.Time) error
}
