// Package keyring creates API keys and finds their users.
package keyring

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash/maphash"
	"log/slog"
	"slices"
	"time"

	"github.com/formsvc/formsvc/internal/batching"
	"github.com/formsvc/formsvc/internal/cache"
	"github.com/formsvc/formsvc/internal/textclean"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// Keyring creates and resolves API keys. It is safe for concurrent use.
type Keyring struct {
	keyPrefix  string // prefix of every key
	store      storage.KeyStore
	clock      func() time.Time
	lastUses   *batching.Batcher[storage.Key]      // keys with their last uses
	recentUses *cache.Cache[storage.ID, time.Time] // last uses that were passed to lastUses
	// keyIDs maps a seeded hash of each resolved key to its ID. The IDs are used only for rate limits, so revoked keys and
	// hash collisions are acceptable.
	keyIDs *cache.Cache[uint64, string]
	seed   maphash.Seed
}

// New returns a keyring whose keys start with <prefix>_live_.
func New(prefix string, store storage.KeyStore, clock func() time.Time, logger *slog.Logger) *Keyring {
	k := &Keyring{
		keyPrefix: prefix + "_live_", store: store, clock: clock, recentUses: new(cache.Cache[storage.ID, time.Time]),
		keyIDs: new(cache.Cache[uint64, string]), seed: maphash.MakeSeed(),
	}
	k.lastUses = batching.New("last uses of keys", logger, k.writeLastUses)
	return k
}

// WithStore returns a keyring with another store. Last uses are still written to the first store, because the other
// store may be a transaction that has already ended.
func (k *Keyring) WithStore(store storage.KeyStore) *Keyring {
	copied := *k
	copied.store = store
	return &copied
}

// Close writes the pending last uses.
func (k *Keyring) Close(ctx context.Context) error { return k.lastUses.Close(ctx) }

// Create creates a key with an ID from newID, and returns its record and the key. If the request is invalid, it returns
// a [*schema.Error] with all violations. If the user has too many keys, it returns [storage.ErrLimitReached].
func (k *Keyring) Create(ctx context.Context, r schema.KeyRequest, now time.Time, newID func(time.Time) storage.ID) (storage.Key, string, error) {
	if err := validate(r, now); err != nil {
		return storage.Key{}, "", err
	}
	key := generateKey(k.keyPrefix)
	record := storage.Key{
		ID:        newID(now),
		UserID:    r.User.ID,
		Name:      textclean.CleanName(r.Name),
		Prefix:    key[:len(k.keyPrefix)+displayedDigits],
		Scopes:    slices.Compact(slices.Sorted(slices.Values(r.Scopes))),
		CreatedAt: now,
		ExpiresAt: expiresAt(r),
	}
	err := k.store.CreateKey(ctx, storage.NewKey{User: r.User, Key: record, Hash: hashKey(key), Max: maxKeys})
	return record, key, err
}

// ResolveKey returns the owner of a key, or [schema.ErrInvalidKey].
func (k *Keyring) ResolveKey(ctx context.Context, key string) (schema.Principal, error) {
	if !isWellFormed(k.keyPrefix, key) {
		return schema.Principal{}, schema.ErrInvalidKey
	}
	stored, user, err := k.store.KeyByHash(ctx, hashKey(key))
	return k.checkKey(key, stored, user, k.clock(), err)
}

// FormForKey returns the owner of a key and a form, which is nil if the owner cannot access it. It reads the form only
// if the key has the scope. It does not check the key's format, because the key must already have been resolved.
func (k *Keyring) FormForKey(ctx context.Context, key string, form storage.ID, scope storage.Scope) (schema.Principal, *storage.Form, error) {
	now := k.clock()
	got, err := k.store.FormForKey(ctx, storage.FormForKeyParams{Hash: hashKey(key), Form: form, Scope: scope, At: now})
	owner, err := k.checkKey(key, got.Key, got.User, now, err)
	return owner, got.Form, err
}

func hashKey(key string) [sha256.Size]byte {
	var b [128]byte // on the stack
	return sha256.Sum256(append(b[:0], key...))
}

// CachedKeyID returns the KeyID of a key that was resolved in this process, or "". The key may no longer be valid.
func (k *Keyring) CachedKeyID(key string) string {
	id, _ := k.keyIDs.Get(maphash.String(k.seed, key))
	return id
}

func (k *Keyring) checkKey(key string, stored storage.Key, user storage.User, now time.Time, err error) (schema.Principal, error) {
	if errors.Is(err, storage.ErrNotFound) {
		return schema.Principal{}, schema.ErrInvalidKey
	}
	if err != nil {
		return schema.Principal{}, err
	}
	if !stored.RevokedAt.IsZero() || !stored.ExpiresAt.IsZero() && !now.Before(stored.ExpiresAt) {
		return schema.Principal{}, schema.ErrInvalidKey
	}
	k.recordUse(stored, now)
	return schema.Principal{
		KeyID:  k.cacheKeyID(key, stored),
		UserID: user.ID,
		Name:   user.Name,
		Email:  user.Email,
		Scopes: stored.Scopes,
	}, nil
}

func (k *Keyring) cacheKeyID(key string, stored storage.Key) string {
	var text [2 * len(stored.ID)]byte
	hex.Encode(text[:], stored.ID[:])
	if id := k.CachedKeyID(key); id == string(text[:]) {
		return id
	}
	id := string(text[:])
	k.keyIDs.Put(maphash.String(k.seed, key), id, len(id))
	return id
}
