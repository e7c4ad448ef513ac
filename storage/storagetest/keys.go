package storagetest

import (
	"time"

	"github.com/formsvc/formsvc/storage"
)

func keyCases() []Case {
	return []Case{
		{"create_and_read", "A key and its user are returned as they were created.", createKey},
		{"create_for_another", "CreateKey returns ErrInvalidValue for a key of another user, and changes neither user.", createKeyForAnother},
		{"create_updates_user", "CreateKey updates the user.", createKeyUpdatesUser},
		{"create_taken", "CreateKey returns ErrConflict if the ID or the hash is taken, and does not change the user.", createTakenKey},
		{"create_limit", "CreateKey returns ErrLimitReached if the user has Max active keys, and does not change the user.", createKeyLimit},
		{"limit_counts_active", "Keys that are revoked, or expired at the new key's CreatedAt, do not count against Max.", keyLimitCountsActive},
		{"unknown", "An unknown hash is ErrNotFound, and an unknown user has no keys.", unknownKey},
		{"list", "Keys lists a user's keys newest first, including revoked and expired keys.", listKeys},
		{"revoke", "RevokeKey sets RevokedAt, and does not change the time of a revoked key.", revokeKey},
		{"revoke_unknown", "RevokeKey returns ErrNotFound if the user has no such key.", revokeUnknownKey},
		{"touch", "TouchKeys sets LastUsedAt unless it is already later, and ignores unknown keys.", touchKeys},
	}
}

func (b *bundle) keyByHash(hash [32]byte) (storage.Key, storage.User) {
	b.Helper()
	k, u, err := b.store.KeyByHash(b.Context(), hash)
	b.ok(err, "KeyByHash")
	return k, u
}

func createKey(b *bundle) {
	user := b.user()
	for _, edit := range []func(*storage.Key){
		func(*storage.Key) {},
		func(k *storage.Key) { k.Scopes, k.ExpiresAt = storage.Scopes(), at(time.Hour) },
		func(k *storage.Key) { k.Scopes = nil },
	} {
		want, hash := b.addKey(user, edit)
		k, u := b.keyByHash(hash)
		same(b, k, want, "Key")
		same(b, u, newUser(user), "User")
	}
}

func createKeyForAnother(b *bundle) {
	user, other := b.user(), b.user()
	b.addKey(user)
	b.addKey(other)
	b.unchanged("CreateKey for another user", func() {
		for _, wrong := range []storage.ID{other, newID(), {}} {
			k, hash := b.newKey(user)
			k.UserID = wrong
			renamed := storage.User{ID: user, Name: "changed"}
			b.is(b.store.CreateKey(b.Context(), storage.NewKey{User: renamed, Key: k, Hash: hash}), storage.ErrInvalidValue, "CreateKey")
			_, _, err := b.store.KeyByHash(b.Context(), hash)
			b.is(err, storage.ErrNotFound, "KeyByHash of a key that was rejected")
		}
	})
}

func createKeyUpdatesUser(b *bundle) {
	user := b.user()
	_, first := b.addKey(user)
	k, second := b.newKey(user)
	renamed := storage.User{ID: user, Name: "Grace", Email: "grace@example.com"}
	b.ok(b.store.CreateKey(b.Context(), storage.NewKey{User: renamed, Key: k, Hash: second, Max: 0}), "CreateKey")
	for _, hash := range [][32]byte{first, second} {
		_, u := b.keyByHash(hash)
		same(b, u, renamed, "User after CreateKey with other particulars")
	}
}

func createTakenKey(b *bundle) {
	user, other := b.user(), b.user()
	taken, hash := b.addKey(user)
	b.addKey(other)
	renamed := storage.User{ID: other, Name: "changed", Email: "changed@example.com"}
	b.unchanged("CreateKey with an existing ID or hash", func() {
		k, _ := b.newKey(other)
		b.is(b.store.CreateKey(b.Context(), storage.NewKey{User: renamed, Key: k, Hash: hash, Max: 0}), storage.ErrConflict, "CreateKey with an existing hash")
		_, free := b.newKey(other)
		k.ID = taken.ID
		b.is(b.store.CreateKey(b.Context(), storage.NewKey{User: renamed, Key: k, Hash: free, Max: 0}), storage.ErrConflict, "CreateKey with an existing ID")
	})
}

func createKeyLimit(b *bundle) {
	user := b.user()
	create := func(u storage.User, limit int) error {
		k, hash := b.newKey(u.ID)
		err := b.store.CreateKey(b.Context(), storage.NewKey{User: u, Key: k, Hash: hash, Max: limit})
		if err == nil {
			b.hashes = append(b.hashes, hash)
		}
		return err
	}
	for i := range 3 {
		b.ok(create(newUser(user), 3), "CreateKey %d of at most 3", i+1)
	}
	b.unchanged("CreateKey beyond max", func() {
		renamed := storage.User{ID: user, Name: "changed"}
		b.is(create(renamed, 3), storage.ErrLimitReached, "CreateKey 4 of at most 3")
		b.is(create(renamed, 1), storage.ErrLimitReached, "CreateKey 4 of at most 1")
	})
	b.ok(create(newUser(b.user()), 1), "CreateKey 1 of another user")
	b.ok(create(newUser(user), 0), "CreateKey with max 0")
	b.ok(create(newUser(user), -1), "CreateKey with max -1")
}

func keyLimitCountsActive(b *bundle) {
	user := b.user()
	revoked, _ := b.addKey(user)
	b.ok(b.store.RevokeKey(b.Context(), user, revoked.ID, b.tick()), "RevokeKey")
	b.addKey(user, func(k *storage.Key) { k.ExpiresAt = k.CreatedAt.Add(time.Millisecond) })
	b.addKey(user, func(k *storage.Key) { k.ExpiresAt = at(1000 * time.Hour) })
	k, hash := b.newKey(user)
	b.ok(b.store.CreateKey(b.Context(), storage.NewKey{User: newUser(user), Key: k, Hash: hash, Max: 2}), "CreateKey with Max 2 and one active, one revoked and one expired key")
	k, hash = b.newKey(user)
	b.is(b.store.CreateKey(b.Context(), storage.NewKey{User: newUser(user), Key: k, Hash: hash, Max: 2}), storage.ErrLimitReached, "CreateKey with Max 2 and two active keys")
	k, hash = b.newKey(user)
	k.CreatedAt = at(2000 * time.Hour)
	b.ok(b.store.CreateKey(b.Context(), storage.NewKey{User: newUser(user), Key: k, Hash: hash, Max: 2}), "CreateKey when one of two keys has expired by its CreatedAt")
}

func unknownKey(b *bundle) {
	b.addKey(b.user())
	_, _, err := b.store.KeyByHash(b.Context(), [32]byte{})
	b.is(err, storage.ErrNotFound, "KeyByHash")
	got, err := b.store.Keys(b.Context(), b.user())
	b.ok(err, "Keys of an unknown user")
	same(b, got, nil, "Keys of an unknown user")
}

func listKeys(b *bundle) {
	user := b.user()
	first, _ := b.addKey(user)
	b.addKey(b.user())
	expired, _ := b.addKey(user, func(k *storage.Key) { k.ExpiresAt = at(-time.Hour) })
	first.RevokedAt = b.tick()
	b.ok(b.store.RevokeKey(b.Context(), user, first.ID, first.RevokedAt), "RevokeKey")
	low, _ := b.addKey(user, func(k *storage.Key) { k.ID = storage.ID{0x7f}; k.CreatedAt = at(time.Hour) })
	high, _ := b.addKey(user, func(k *storage.Key) { k.ID = storage.ID{0x80}; k.CreatedAt = at(time.Hour) })
	got, err := b.store.Keys(b.Context(), user)
	b.ok(err, "Keys")
	same(b, got, []storage.Key{high, low, expired, first}, "Keys")
}

func revokeKey(b *bundle) {
	user := b.user()
	want, hash := b.addKey(user)
	other, otherHash := b.addKey(user)
	want.RevokedAt = b.tick()
	b.ok(b.store.RevokeKey(b.Context(), user, want.ID, want.RevokedAt), "RevokeKey")
	b.ok(b.store.RevokeKey(b.Context(), user, want.ID, b.tick()), "RevokeKey, again")
	got, _ := b.keyByHash(hash)
	same(b, got, want, "Key after it was revoked twice")
	got, _ = b.keyByHash(otherHash)
	same(b, got, other, "another key of the user")
}

func revokeUnknownKey(b *bundle) {
	user, other := b.user(), b.user()
	b.addKey(user)
	k, _ := b.addKey(other)
	unknown := b.user()
	b.unchanged("RevokeKey of a key that the user does not have", func() {
		b.is(b.store.RevokeKey(b.Context(), user, k.ID, b.tick()), storage.ErrNotFound, "RevokeKey of another user's key")
		b.is(b.store.RevokeKey(b.Context(), user, newID(), b.tick()), storage.ErrNotFound, "RevokeKey of an unknown key")
		b.is(b.store.RevokeKey(b.Context(), unknown, k.ID, b.tick()), storage.ErrNotFound, "RevokeKey by an unknown user")
	})
}

func touchKeys(b *bundle) {
	one, oneHash := b.addKey(b.user())
	two, twoHash := b.addKey(b.user())
	check := func(what string, wantOne, wantTwo time.Time) {
		b.Helper()
		got, _ := b.keyByHash(oneHash)
		same(b, got.LastUsedAt, wantOne, "LastUsedAt of the first key, %s", what)
		got, _ = b.keyByHash(twoHash)
		same(b, got.LastUsedAt, wantTwo, "LastUsedAt of the second key, %s", what)
	}
	early, late := at(time.Minute), at(time.Hour)
	b.ok(b.store.TouchKeys(b.Context(), nil), "TouchKeys without keys")
	b.ok(b.store.TouchKeys(b.Context(), map[storage.ID]time.Time{one.ID: late, two.ID: early, newID(): late}), "TouchKeys")
	check("used once", late, early)
	b.ok(b.store.TouchKeys(b.Context(), map[storage.ID]time.Time{one.ID: early, two.ID: late}), "TouchKeys with an earlier time for one")
	check("used at an earlier and at a later time", late, late)
}
