package storagetest

import (
	"time"

	"github.com/formsvc/formsvc/storage"
)

// formForKeyCases are a group of their own: a store that gains nothing from
// FormForKey returns ErrUnimplemented and skips it.
func formForKeyCases() []Case {
	return []Case{
		{"key_and_form", "FormForKey returns what KeyByHash and, for the key's user, Form return.", formForKey},
		{"invisible_form", "FormForKey returns the key and a nil form if the key's user cannot access the form.", formForKeyInvisible},
		{"unknown_key", "FormForKey returns ErrNotFound for an unknown key.", formForUnknownKey},
		{"inactive_key", "FormForKey returns keys that are revoked, or expired at At, without the form.", formForInactiveKey},
		{"scope", "FormForKey returns the key without the form if the key lacks the scope.", formForKeyScope},
		{"copies", "FormForKey returns copies.", formForKeyCopies},
		contextCase("ended_context", formForKeyOperation()),
	}
}

// formForKey calls FormForKey when the world's keys are active.
func (b *bundle) formForKey(hash [32]byte, form storage.ID, scope storage.Scope) storage.FormForKey {
	b.Helper()
	got, err := b.store.FormForKey(b.Context(), storage.FormForKeyParams{Hash: hash, Form: form, Scope: scope, At: at(0)})
	b.ok(err, "FormForKey")
	return got
}

func formForKey(b *bundle) {
	w := b.furnish()
	_, memberHash := b.addKey(w.member)
	for actor, hash := range map[string][32]byte{"the owner": w.hash, "a member": memberHash} {
		wantKey, wantUser := b.keyByHash(hash)
		got := b.formForKey(hash, w.form.ID, "")
		same(b, got.Key, wantKey, "Key of %s", actor)
		same(b, got.User, wantUser, "User, %s", actor)
		same(b, got.Form, ptr(b.getForm(w.form.ID)), "Form for %s", actor)
	}
}

func formForKeyInvisible(b *bundle) {
	w := b.furnish()
	foreign := b.addForm(w.foreign.ID)
	for what, id := range map[string]storage.ID{
		"a foreign form": foreign.ID, "one in the trash": w.trashed.ID, "an unknown one": newID(), "the zero id": {},
	} {
		got := b.formForKey(w.hash, id, "")
		same(b, got.Key, w.key, "Key, %s", what)
		same(b, got.User.ID, w.owner, "User.ID, %s", what)
		same(b, got.Form, nil, "Form, %s", what)
	}
}

func formForUnknownKey(b *bundle) {
	f := b.anyForm()
	got, err := b.store.FormForKey(b.Context(), storage.FormForKeyParams{Hash: [32]byte{1}, Form: f.ID, At: at(0)})
	b.is(err, storage.ErrNotFound, "FormForKey with an unknown hash")
	same(b, got.Form, nil, "Form for an unknown key")
}

func formForInactiveKey(b *bundle) {
	w := b.furnish()
	end := at(time.Hour)
	expiring, hash := b.addKey(w.owner, func(k *storage.Key) { k.ExpiresAt = end })
	for _, c := range []struct {
		what string
		at   time.Time
		want *storage.Form
	}{
		{"just before it expires", end.Add(-time.Microsecond), ptr(b.getForm(w.form.ID))},
		{"when it expires", end, nil},
		{"after it expired", end.Add(time.Hour), nil},
	} {
		got, err := b.store.FormForKey(b.Context(), storage.FormForKeyParams{Hash: hash, Form: w.form.ID, At: c.at})
		b.ok(err, "FormForKey %s", c.what)
		same(b, got.Key, expiring, "Key, %s", c.what)
		same(b, got.Form, c.want, "Form, %s", c.what)
	}

	revoked := b.tick()
	b.ok(b.store.RevokeKey(b.Context(), w.owner, w.key.ID, revoked), "RevokeKey")
	got := b.formForKey(w.hash, w.form.ID, "")
	same(b, got.Key.RevokedAt, revoked, "RevokedAt")
	same(b, got.Form, nil, "Form for a revoked key")
}

func formForKeyScope(b *bundle) {
	w := b.furnish()
	k, hash := b.addKey(w.owner, func(k *storage.Key) {
		k.Scopes = []storage.Scope{storage.ScopeFormsRead, storage.ScopeAnalyticsRead}
	})
	for scope, want := range map[storage.Scope]*storage.Form{
		storage.ScopeFormsRead: ptr(b.getForm(w.form.ID)), storage.ScopeAnalyticsRead: ptr(b.getForm(w.form.ID)),
		storage.ScopeFormsWrite: nil, "forms": nil,
	} {
		got := b.formForKey(hash, w.form.ID, scope)
		same(b, got.Key, k, "Key, when the scope is %s", scope)
		same(b, got.Form, want, "Form, when the scope is %s", scope)
	}
}

func formForKeyCopies(b *bundle) {
	w := b.furnish()
	got := b.formForKey(w.hash, w.form.ID, "")
	if got.Form == nil {
		b.Fatalf("FormForKey: want the owner's form, got none")
	}
	clear(got.Key.Scopes)
	got.Form.Name = "changed"
	k, _ := b.keyByHash(w.hash)
	same(b, k, w.key, "Key after the caller overwrote the result of FormForKey")
	same(b, b.getForm(w.form.ID).Name, w.form.Name, "Name after the caller overwrote the result of FormForKey")
}
