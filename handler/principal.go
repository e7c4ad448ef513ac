package handler

import (
	"context"
	"errors"
	"slices"

	"github.com/formsvc/formsvc/internal/keyring"
	"github.com/formsvc/formsvc/storage"
)

// Principal is the user that an API key belongs to, with the key's scopes.
type Principal struct {
	// KeyID identifies the key in the rate limiter and in logs. It must not be empty, and must not be the key itself.
	// Callers with the same KeyID share a rate limit. For example, a multi-tenant host can use the tenant's ID, see
	// examples/tenants.
	KeyID string
	// UserID is the user who owns the key. It must not be zero. If a host's IDs have a different format, the host can
	// derive UserID with formsvc.UserIDFrom from an ID that is unique among all of the storage's users.
	UserID storage.ID
	// Name and Email are returned by GET /me.
	Name  string
	Email string
	// Scopes are the scopes that the key grants. Unknown scopes are ignored.
	Scopes []storage.Scope
}

// Has reports whether the principal's scopes contain s.
func (p Principal) Has(s storage.Scope) bool {
	return slices.Contains(p.Scopes, s)
}

// KeyResolver resolves API keys. A host can provide its own implementation.
type KeyResolver interface {
	// ResolveKey returns the principal for a key. If the key is unknown, malformed, expired or revoked, ResolveKey must
	// return [ErrInvalidKey], possibly wrapped, and the request gets a 401. Any other error is logged and results in a
	// 503. A principal with a zero UserID or an empty KeyID is logged and results in a 500. ctx is the request's
	// context. ResolveKey is called for every request and must be safe for concurrent use. A revocation must take
	// effect by the next call.
	ResolveKey(ctx context.Context, key string) (Principal, error)
}

// formKeyResolver is a [KeyResolver] that can read a key and a form in one statement, such as the built-in
// [keyring.Keyring]. If FormForKey returns [storage.ErrUnimplemented], they are read separately. CachedKeyID returns
// the key's ID, which the rate limiter needs before the key is resolved.
type formKeyResolver interface {
	FormForKey(ctx context.Context, key string, form storage.ID, scope storage.Scope) (keyring.Owner, *storage.Form, error)
	CachedKeyID(key string) (keyID string)
}

// ErrInvalidKey is the error that a [KeyResolver] returns for a key that it does not accept.
var ErrInvalidKey = errors.New("formsvc: invalid API key")
