package storagetest

import "github.com/formsvc/formsvc/storage"

// formForKeyCases are a group of their own: a store that gains nothing from
// FormForKey returns ErrUnimplemented and skips it.
func formForKeyCases() []Case {
	return []Case{
		{"key_and_form", "FormForKey returns what KeyByHash and, for the key's user, Form return.", formForKey},
		{"invisible_form", "FormForKey returns a nil form, and the key, when the key's user may not see the form.", formForKeyInvisible},
		{"unknown_key", "FormForKey returns ErrNotFound when there is no such key.", formForUnknownKey},
		{"inactive_key", "FormForKey returns keys that are revoked or expired, as KeyByHash does.", formForInactiveKey},
		{"copies", "FormForKey hands out copies.", formForKeyCopies},
		contextCase("ended_context", formForKeyOperation()),
	}
}

func formForKey(b *bundle) {
	w := b.furnish()
	_, memberHash := b.addKey(w.member)
	for who, hash := range map[string][32]byte{"the owner": w.hash, "a member": memberHash} {
		wantKey, wantUser := b.keyByHash(hash)
		k, u, f, err := b.store.FormForKey(b.Context(), hash, w.form.ID)
		b.ok(err, "FormForKey")
		same(b, k, wantKey, "Key of %s", who)
		same(b, u, wantUser, "User, %s", who)
		same(b, f, ptr(b.getForm(w.form.ID)), "Form for %s", who)
	}
}

func formForKeyInvisible(b *bundle) {
	w := b.furnish()
	foreign := b.addForm(w.foreign.ID)
	for what, id := range map[string]storage.ID{
		"a foreign form": foreign.ID, "one in the trash": w.trashed.ID, "an unknown one": newID(), "the zero id": {},
	} {
		k, u, f, err := b.store.FormForKey(b.Context(), w.hash, id)
		b.ok(err, "FormForKey, %s", what)
		same(b, k, w.key, "Key, %s", what)
		same(b, u.ID, w.owner, "User.ID, %s", what)
		same(b, f, nil, "Form, %s", what)
	}
}

func formForUnknownKey(b *bundle) {
	f := b.anyForm()
	_, _, got, err := b.store.FormForKey(b.Context(), [32]byte{1}, f.ID)
	b.is(err, storage.ErrNotFound, "FormForKey with an unknown hash")
	same(b, got, nil, "Form for an unknown key")
}

func formForInactiveKey(b *bundle) {
	w := b.furnish()
	revoked := b.tick()
	b.ok(b.store.RevokeKey(b.Context(), w.owner, w.key.ID, revoked), "RevokeKey")
	k, _, _, err := b.store.FormForKey(b.Context(), w.hash, w.form.ID)
	b.ok(err, "FormForKey with a revoked key")
	same(b, k.RevokedAt, revoked, "RevokedAt")
}

func formForKeyCopies(b *bundle) {
	w := b.furnish()
	k, _, f, err := b.store.FormForKey(b.Context(), w.hash, w.form.ID)
	b.ok(err, "FormForKey")
	if f == nil {
		b.Fatalf("FormForKey: want the owner's form, got none")
	}
	clear(k.Scopes)
	spoilDefinition(f.Definition)
	f.Name = "changed"
	gotKey, _ := b.keyByHash(w.hash)
	same(b, gotKey, w.key, "Key after the caller overwrote what FormForKey returned")
	same(b, b.getForm(w.form.ID).Definition, w.form.Definition, "Definition after the caller overwrote what FormForKey returned")
	same(b, b.getForm(w.form.ID).Name, w.form.Name, "Name after the caller overwrote what FormForKey returned")
}
