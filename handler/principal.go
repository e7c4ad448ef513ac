package handler

import (
	"context"

	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// Principal is the user that an API key belongs to, with the key's scopes. See [schema.Principal].
type Principal = schema.Principal

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
// keyring of the service. If FormForKey returns [storage.ErrUnimplemented], they are read separately. CachedKeyID returns
// the key's ID, which the rate limiter needs before the key is resolved.
type formKeyResolver interface {
	FormForKey(ctx context.Context, key string, form storage.ID, scope storage.Scope) (Principal, *storage.Form, error)
	CachedKeyID(key string) (keyID string)
}

// ErrInvalidKey is the error that a [KeyResolver] returns for a key that it does not accept.
var ErrInvalidKey = schema.ErrInvalidKey
