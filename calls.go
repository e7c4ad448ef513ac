package formsvc

import (
	"context"

	"github.com/formsvc/formsvc/internal/keyring"
)

// CreateKey makes an API key. It returns a [*schema.Error] that lists every fault of
// the request, and [ErrLimitReached] when the user holds 20 active, unexpired keys
// already, also when several calls run at once. A service with a [KeyResolver] of the
// host's accepts the key only when that resolver does, see [Service.ResolveKey].
func (s *Service) CreateKey(ctx context.Context, r KeyRequest) (IssuedKey, error) {
	key, secret, err := s.keys.Create(ctx, keyring.Request(r), s.now(), s.ids.New)
	if err != nil {
		return IssuedKey{}, err
	}
	return IssuedKey{Key: key, Secret: secret}, nil
}

// Keys lists a user's keys, newest first, revoked and expired ones included until
// 90 days after their end.
func (s *Service) Keys(ctx context.Context, userID ID) ([]Key, error) {
	return s.storage.Keys(ctx, userID)
}

// ResolveKey returns the principal of a key that [Service.CreateKey] made, or
// [ErrInvalidKey]. A host's [KeyResolver] that knows login sessions passes everything
// else on to it.
func (s *Service) ResolveKey(ctx context.Context, key string) (Principal, error) {
	return s.keys.ResolveKey(ctx, key)
}

// RevokeKey ends a key; it takes effect with the next request. It returns
// [ErrNotFound] when the user has no such key. Revoking twice is not an error.
func (s *Service) RevokeKey(ctx context.Context, userID, keyID ID) error {
	return s.storage.RevokeKey(ctx, userID, keyID, s.now())
}
