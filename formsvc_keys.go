package formsvc

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/maphash"
	"log/slog"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/formsvc/formsvc/handler"
	"github.com/formsvc/formsvc/internal/faults"
	"github.com/formsvc/formsvc/internal/visible"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

const (
	// maxKeys is how many active, unexpired keys a user may hold.
	maxKeys = 20
	// maxKeyName is the longest name of a key, in characters.
	maxKeyName = 120
)

// KeyRequest asks for an API key.
type KeyRequest struct {
	// User owns the key. User.ID is required. Name (at most 200 characters) and Email
	// (at most 254) are what GET /me shows; they replace what an earlier key of the
	// user brought, also when they are empty.
	User User
	// Name tells the user's keys apart. 1 to 120 characters, none of them a control
	// character or one that turns the direction of text.
	Name string
	// Scopes are what the key may do. At least one.
	Scopes []Scope
	// ExpiresAt ends the key. Nil: never.
	ExpiresAt *time.Time
}

// IssuedKey is a new key. Secret is the whole key; it is shown here once and
// cannot be had again. Printed or logged, an IssuedKey shows the key's prefix only, and
// its JSON is without the Secret: a host that sends a key to its owner sends that member
// by its name. Inside an unexported field of another struct, and for the verbs %p and %w
// (go vet reports those), package fmt asks no method: nothing hides the Secret there.
type IssuedKey struct {
	Key    Key
	Secret string `json:"-"`
}

// String names the key without its secret.
func (k IssuedKey) String() string { return k.Key.Prefix + secretMask }

// Format prints String, whatever the verb.
func (k IssuedKey) Format(f fmt.State, verb rune) {
	_, _ = fmt.Fprintf(f, fmt.FormatString(f, verb), k.String())
}

// LogValue logs the key without its secret.
func (k IssuedKey) LogValue() slog.Value { return slog.StringValue(k.String()) }

// CreateKey makes an API key. It returns a [*schema.Error] that lists every fault of
// the request, and [ErrLimitReached] when the user holds 20 active, unexpired keys
// already, also when several calls run at once. A service with a [KeyResolver] of the
// host's accepts the key only when that resolver does, see [Service.ResolveKey].
func (s *Service) CreateKey(ctx context.Context, r KeyRequest) (IssuedKey, error) {
	now := s.now()
	if err := r.check(now); err != nil {
		return IssuedKey{}, err
	}
	k := Key{
		ID:        s.ids.New(now),
		UserID:    r.User.ID,
		Name:      strings.TrimSpace(r.Name),
		Scopes:    slices.Compact(slices.Sorted(slices.Values(r.Scopes))),
		CreatedAt: now,
		ExpiresAt: expiry(r),
	}
	secret := s.keys.generate()
	k.Prefix = secret[:len(s.keys.start)+displayed]
	if err := s.storage.CreateKey(ctx, storage.NewKey{User: r.User, Key: k, Hash: sha256.Sum256([]byte(secret)), Max: maxKeys}); err != nil {
		return IssuedKey{}, err
	}
	return IssuedKey{Key: k, Secret: secret}, nil
}

// The longest name and e-mail address of a user, in characters.
const (
	maxUserName  = 200
	maxUserEmail = 254
)

// check reports everything that is wrong with a request for a key as one
// [*schema.Error]. now is when the key is made.
func (r KeyRequest) check(now time.Time) error {
	broken := []error{
		checkText("/user/name", r.User.Name, 0, maxUserName),
		checkText("/user/email", r.User.Email, 0, maxUserEmail),
		checkText("/name", strings.TrimSpace(r.Name), 1, maxKeyName),
	}
	switch name := strings.TrimSpace(r.Name); {
	case name == "" || strings.ContainsRune(name, 0): // checkText says so
	case visible.IsBlank(name):
		broken = append(broken, violation("/name", schema.CodeTooShort, "must have a character that can be seen"))
	case visible.Misleads(name):
		broken = append(broken, violation("/name", schema.CodeBadFormat, faults.MessageMisleads))
	}
	if r.User.ID.IsZero() {
		broken = append(broken, violation("/user/id", schema.CodeRequired, "is required"))
	}
	if len(r.Scopes) == 0 {
		broken = append(broken, violation("/scopes", schema.CodeTooFew, "must have at least 1 scope"))
	}
	for i, scope := range r.Scopes {
		if !scope.Valid() {
			broken = append(broken, violation("/scopes/"+strconv.Itoa(i), schema.CodeNotAllowed, "is not a scope of the API"))
		}
	}
	if r.ExpiresAt != nil && !expiry(r).After(now) {
		broken = append(broken, violation("/expires_at", schema.CodeOutOfRange, "must be in the future"))
	}
	return faults.Join(broken...)
}

// expiry is when the key ends, in whole seconds; zero for never.
func expiry(r KeyRequest) time.Time {
	if r.ExpiresAt == nil {
		return time.Time{}
	}
	return r.ExpiresAt.UTC().Truncate(time.Second)
}

// checkText holds text from a host to what every storage can keep: valid UTF-8
// without U+0000, with least to most characters.
func checkText(path, text string, least, most int) error {
	switch n := utf8.RuneCountInString(text); {
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return violation(path, schema.CodeBadFormat, "must be valid UTF-8 without U+0000")
	case n < least:
		return violation(path, schema.CodeTooShort, "must not be empty")
	case n > most:
		return violation(path, schema.CodeTooLong, "must have at most "+strconv.Itoa(most)+" characters")
	}
	return nil
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

// keyring knows the format of built-in keys and resolves them. It is the default
// [KeyResolver].
type keyring struct {
	start string // what every key begins with
	store storage.KeyStore
	clock func() time.Time
	uses  *lastUses
	ids   *keyIDs
}

func newKeyring(prefix string, store storage.KeyStore, clock func() time.Time, logger *slog.Logger) *keyring {
	return &keyring{start: prefix + "_live_", store: store, clock: clock, uses: newLastUses(store, logger), ids: newKeyIDs()}
}

// using is the keyring on another store. Last uses are still written to the first
// one: the other may be a transaction that is over when they are.
func (k *keyring) using(store storage.KeyStore) *keyring {
	copied := *k
	copied.store = store
	return &copied
}

func (k *keyring) close(ctx context.Context) error { return k.uses.close(ctx) }

const (
	base62       = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	randomDigits = 43 // 32 bytes in base62
	checkDigits  = 6  // a CRC-32 in base62
	displayed    = 6  // digits of the secret that are kept for display
)

// generate makes a key: the start, 32 random bytes in base62, and a checksum of
// both, by which a mistyped key is refused without a look-up.
func (k *keyring) generate() string {
	var random [32]byte
	rand.Read(random[:]) // never fails, says its documentation
	b := append([]byte(k.start), make([]byte, randomDigits)...)
	n, radix, digit := new(big.Int).SetBytes(random[:]), big.NewInt(62), new(big.Int)
	for i := len(b) - 1; i >= len(k.start); i-- {
		n.DivMod(n, radix, digit)
		b[i] = base62[digit.Int64()]
	}
	return string(appendChecksum(b))
}

func appendChecksum(b []byte) []byte {
	sum := crc32.ChecksumIEEE(b)
	b = append(b, "000000"...)
	for i := len(b) - 1; sum > 0; i-- {
		b[i] = base62[sum%62]
		sum /= 62
	}
	return b
}

// wellFormed reports whether a key has the service's format and checksum.
func (k *keyring) wellFormed(key string) bool {
	if len(key) != len(k.start)+randomDigits+checkDigits || !strings.HasPrefix(key, k.start) {
		return false
	}
	body := len(key) - checkDigits
	given := uint64(0)
	for i := body; i < len(key); i++ {
		digit := strings.IndexByte(base62, key[i])
		if digit < 0 {
			return false
		}
		given = given*62 + uint64(digit)
	}
	var b [64]byte // holds every key with a prefix of up to 9 characters; append makes room for others
	return given == uint64(crc32.ChecksumIEEE(append(b[:0], key[:body]...)))
}

// ResolveKey implements [KeyResolver].
func (k *keyring) ResolveKey(ctx context.Context, key string) (Principal, error) {
	if !k.wellFormed(key) {
		return Principal{}, ErrInvalidKey
	}
	stored, user, err := k.store.KeyByHash(ctx, hashOf(key))
	return k.principal(key, stored, user, k.clock(), err)
}

// FormForKey is ResolveKey with the form of the request in the same step. The form
// is read only for a key that has the scope. A key that was resolved before is well
// formed, so that is not checked again.
func (k *keyring) FormForKey(ctx context.Context, key string, form storage.ID, scope Scope) (Principal, *storage.Form, error) {
	now := k.clock()
	got, err := k.store.FormForKey(ctx, storage.FormForKeyParams{Hash: hashOf(key), Form: form, Scope: scope, At: now})
	principal, err := k.principal(key, got.Key, got.User, now, err)
	if err != nil {
		return Principal{}, nil, err
	}
	return principal, got.Form, nil
}

// SubmissionsForKey is ResolveKey with a page of submissions in the same step. None is
// lent for a key without the scope.
func (k *keyring) SubmissionsForKey(ctx context.Context, key string, form storage.ID, q storage.SubmissionsParams, scope Scope,
	each func(*storage.Submission) error,
) (p Principal, found, more bool, err error) {
	now := k.clock()
	got, err := k.store.SubmissionsForKey(ctx, storage.SubmissionsForKeyParams{
		Hash: hashOf(key), Form: form, Query: q, Scope: scope, At: now,
	}, each)
	if p, err = k.principal(key, got.Key, got.User, now, err); err != nil {
		return Principal{}, false, false, err
	}
	return p, got.Found, got.More, nil
}

func hashOf(key string) [sha256.Size]byte {
	var b [128]byte // on the stack
	return sha256.Sum256(append(b[:0], key...))
}

// Remembered is part of what package handler asks of a KeyResolver that can read as well.
func (k *keyring) Remembered(key string) (keyID string, user storage.ID) {
	known := k.ids.get(key)
	return known.id, known.user
}

// principal checks a key that was read at now.
func (k *keyring) principal(key string, stored Key, user User, now time.Time, err error) (handler.Principal, error) {
	if errors.Is(err, storage.ErrNotFound) {
		return Principal{}, ErrInvalidKey
	}
	if err != nil {
		return Principal{}, err
	}
	if !stored.RevokedAt.IsZero() || !stored.ExpiresAt.IsZero() && !now.Before(stored.ExpiresAt) {
		return Principal{}, ErrInvalidKey
	}
	k.uses.note(stored, now)
	return Principal{
		KeyID:  k.ids.put(key, stored),
		UserID: user.ID,
		Name:   user.Name,
		Email:  user.Email,
		Scopes: stored.Scopes,
	}, nil
}

// maxKeyIDs bounds how many keys are remembered, at about 100 bytes each.
const maxKeyIDs = 10_000

// keyIDs remembers the ids and users of keys that were valid. Whether one still is, the
// storage says. Keys are known by a hash with a seed of this process, which serves here
// because this only counts a call and reads a cursor: for two keys with the same hash,
// calls of one would at worst count against the limit of the other.
type keyIDs struct {
	seed maphash.Seed
	mu   sync.RWMutex
	ids  map[uint64]keyID
}

// keyID is the id of a key, as text, and whose it is.
type keyID struct {
	id   string
	user ID
}

func newKeyIDs() *keyIDs { return &keyIDs{seed: maphash.MakeSeed(), ids: map[uint64]keyID{}} }

func (k *keyIDs) get(key string) keyID {
	hash := maphash.String(k.seed, key)
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.ids[hash]
}

// put remembers a key and returns its id as text.
func (k *keyIDs) put(key string, stored Key) string {
	var text [2 * len(stored.ID)]byte
	hex.Encode(text[:], stored.ID[:])
	if known := k.get(key); known.id == string(text[:]) {
		return known.id
	}
	hash := maphash.String(k.seed, key)
	k.mu.Lock()
	defer k.mu.Unlock()
	for victim := range k.ids { // any one: map order is random enough
		if len(k.ids) < maxKeyIDs {
			break
		}
		delete(k.ids, victim)
	}
	k.ids[hash] = keyID{string(text[:]), stored.UserID}
	return k.ids[hash].id
}
