package handler

import (
	"context"
	"errors"
	"slices"

	"github.com/formsvc/formsvc/internal/keyring"
	"github.com/formsvc/formsvc/storage"
)

// Principal is the user of an API key, with the scopes of the key.
type Principal struct {
	// KeyID identifies the key in the rate limiter and in logs. It is not the key itself and must not be empty.
	// Callers with the same KeyID share a rate limit. For example, a multi-tenant host can use the tenant's ID, see
	// examples/tenants.
	KeyID string
	// UserID is the user who owns the key. It must not be zero. Hosts with IDs of another format derive it with
	// formsvc.UserIDFrom from an ID that is unique among all users of the storage.
	UserID storage.ID
	// Name and Email are returned by GET /me.
	Name  string
	Email string
	// Scopes are the scopes of the key. Unknown scopes are ignored.
	Scopes []storage.Scope
}

// Has reports whether the principal's scopes contain s.
func (p Principal) Has(s storage.Scope) bool {
	return slices.Contains(p.Scopes, s)
}

// KeyResolver resolves API keys. A host can provide its own implementation.
type KeyResolver interface {
	// ResolveKey returns the principal of a key. For an unknown, malformed, expired or revoked key, it must return
	// [ErrInvalidKey], which can be wrapped. The request then gets 401. Other errors are logged and result in 503. A
	// principal with a zero UserID or an empty KeyID is logged and results in 500. ctx is the context of the request.
	// ResolveKey is called for every request and must be safe for concurrent use. A revocation must take effect for
	// the next call.
	ResolveKey(ctx context.Context, key string) (Principal, error)
}

// formKeyResolver is a [KeyResolver] that can read a key and a form in one statement, like the built-in
// [keyring.Keyring]. If FormForKey returns [storage.ErrUnimplemented], they are read separately. CachedKeyID returns
// the key's ID, which the rate limiter needs before the key is resolved.
type formKeyResolver interface {
	FormForKey(ctx context.Context, key string, form storage.ID, scope storage.Scope) (keyring.Owner, *storage.Form, error)
	CachedKeyID(key string) (keyID string)
}

// ErrInvalidKey is returned by a [KeyResolver] for a key that it does not accept.
var ErrInvalidKey = errors.New("formsvc: invalid API key")
