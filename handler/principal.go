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
	// KeyID names the key in the rate limiter and in logs. It is not the key
	// itself and must not be empty. Callers of a service with one KeyID share a
	// budget: a host whose tenants have users of their own puts the tenant into it,
	// see examples/tenants.
	KeyID string
	// UserID is the owner. It must not be zero. A host with ids of another form derives
	// the UserID with formsvc.UserIDFrom, from an id that is unique among all users of
	// the storage.
	UserID storage.ID
	// Name and Email are shown by GET /me.
	Name  string
	Email string
	// Scopes are the scopes of the key. Unknown scopes are ignored.
	Scopes []storage.Scope
}

// Has reports whether the principal's scopes contain s.
func (p Principal) Has(s storage.Scope) bool {
	return slices.Contains(p.Scopes, s)
}

// KeyResolver finds out whose key a request carries. A host with its own auth
// brings its own.
type KeyResolver interface {
	// ResolveKey returns the principal of a key. It returns [ErrInvalidKey], which
	// may be wrapped, for a key that is unknown, malformed, expired or revoked: the
	// caller gets 401. Any other error is 503 and logged. A principal with a zero
	// UserID or an empty KeyID is 500 and logged. ctx is the request's. It is
	// called for every request, from many goroutines at once; revocation is to
	// take effect with the next call.
	ResolveKey(ctx context.Context, key string) (Principal, error)
}

// formKeyResolver is a [KeyResolver] that can read a form in the same step, as the resolver of the
// built-in keys does: see [keyring.Keyring]. If FormForKey returns [storage.ErrUnimplemented], the
// key and the form are read in two steps. The rate limiter is asked by the Remembered id before the
// key is resolved.
type formKeyResolver interface {
	FormForKey(ctx context.Context, key string, form storage.ID, scope storage.Scope) (keyring.Owner, *storage.Form, error)
	Remembered(key string) (keyID string)
}

// ErrInvalidKey is the error of a [KeyResolver] for a key that it does not accept.
var ErrInvalidKey = errors.New("formsvc: invalid API key")
