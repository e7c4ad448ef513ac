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
	"github.com/formsvc/formsvc/internal/visible"
	"github.com/formsvc/formsvc/storage"
)

// ErrInvalid is the error for a key that is unknown, malformed, expired or revoked.
var ErrInvalid = errors.New("keyring: invalid key")

// Owner is whose a key is, and what the key may do.
type Owner struct {
	KeyID       string
	UserID      storage.ID
	Name, Email string
	Scopes      []storage.Scope
}

// Keyring makes keys and resolves them. It is safe for concurrent use.
type Keyring struct {
	keyPrefix  string // what every key begins with
	store      storage.KeyStore
	clock      func() time.Time
	lastUses   *batching.Batcher[storage.Key]      // with their last uses
	recentUses *cache.Cache[storage.ID, time.Time] // the last uses that the storage knows, or will soon
	// keyIDs has the keys that were valid. Whether one still is, the storage says. Keys are
	// known by a hash with a seed of this process. The hash is good enough, because it only
	// counts a call: for two keys with the same hash, calls of one key would at worst count
	// against the limit of the other key.
	keyIDs *cache.Cache[uint64, string] // their ids, as text
	seed   maphash.Seed
}

// New returns a keyring whose keys begin with <prefix>_live_.
func New(prefix string, store storage.KeyStore, clock func() time.Time, logger *slog.Logger) *Keyring {
	k := &Keyring{
		keyPrefix: prefix + "_live_", store: store, clock: clock, recentUses: new(cache.Cache[storage.ID, time.Time]),
		keyIDs: new(cache.Cache[uint64, string]), seed: maphash.MakeSeed(),
	}
	k.lastUses = batching.New("last uses of keys", logger, k.writeLastUses)
	return k
}

// On is the keyring on another store. Last uses are still written to the first
// store: the other may be a transaction that is over when they are.
func (k *Keyring) WithStore(store storage.KeyStore) *Keyring {
	copied := *k
	copied.store = store
	return &copied
}

// Close waits until the last uses that are pending are written.
func (k *Keyring) Close(ctx context.Context) error { return k.lastUses.Close(ctx) }

// Create makes a key with the id that newID gives, and returns the record of the key and the
// key itself. It returns a [*schema.Error] that lists every fault of the request, and
// [storage.ErrLimitReached] when the user holds as many keys as are allowed.
func (k *Keyring) Create(ctx context.Context, r Request, now time.Time, newID func(time.Time) storage.ID) (storage.Key, string, error) {
	if err := r.validate(now); err != nil {
		return storage.Key{}, "", err
	}
	key := generateKey(k.keyPrefix)
	made := storage.Key{
		ID:        newID(now),
		UserID:    r.User.ID,
		Name:      visible.Name(r.Name),
		Prefix:    key[:len(k.keyPrefix)+displayedDigits],
		Scopes:    slices.Compact(slices.Sorted(slices.Values(r.Scopes))),
		CreatedAt: now,
		ExpiresAt: r.expiresAt(),
	}
	err := k.store.CreateKey(ctx, storage.NewKey{User: r.User, Key: made, Hash: hashKey(key), Max: maxKeys})
	return made, key, err
}

// Resolve returns the owner of a key, or [ErrInvalid].
func (k *Keyring) Resolve(ctx context.Context, key string) (Owner, error) {
	if !isWellFormed(k.keyPrefix, key) {
		return Owner{}, ErrInvalid
	}
	stored, user, err := k.store.KeyByHash(ctx, hashKey(key))
	return k.checkKey(key, stored, user, k.clock(), err)
}

// FormForKey is Resolve with a form in the same step, nil when the owner may not see it. The
// form is read only for a key that has the scope. A key that was resolved before is well
// formed, so that is not checked again.
func (k *Keyring) FormForKey(ctx context.Context, key string, form storage.ID, scope storage.Scope) (Owner, *storage.Form, error) {
	now := k.clock()
	got, err := k.store.FormForKey(ctx, storage.FormForKeyParams{Hash: hashKey(key), Form: form, Scope: scope, At: now})
	owner, err := k.checkKey(key, got.Key, got.User, now, err)
	return owner, got.Form, err
}

func hashKey(key string) [sha256.Size]byte {
	var b [128]byte // on the stack
	return sha256.Sum256(append(b[:0], key...))
}

// Remembered returns the KeyID that the key had when it was last resolved here, or "" if it was not
// resolved. The id proves nothing about the key.
func (k *Keyring) CachedKeyID(key string) string {
	id, _ := k.keyIDs.Get(maphash.String(k.seed, key))
	return id
}

// owner checks a key that was read at now.
func (k *Keyring) checkKey(key string, stored storage.Key, user storage.User, now time.Time, err error) (Owner, error) {
	if errors.Is(err, storage.ErrNotFound) {
		return Owner{}, ErrInvalid
	}
	if err != nil {
		return Owner{}, err
	}
	if !stored.RevokedAt.IsZero() || !stored.ExpiresAt.IsZero() && !now.Before(stored.ExpiresAt) {
		return Owner{}, ErrInvalid
	}
	k.recordUse(stored, now)
	return Owner{
		KeyID:  k.cacheKeyID(key, stored),
		UserID: user.ID,
		Name:   user.Name,
		Email:  user.Email,
		Scopes: stored.Scopes,
	}, nil
}

// remember remembers a key and returns its id as text.
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
