package storagetest

import (
	"time"

	"github.com/formsvc/formsvc/storage"
)

// webhooksForKeyCases are a group of their own, like submissionsForKeyCases.
func webhooksForKeyCases() []Case {
	return []Case{
		{"key_and_page", "WebhooksForKey returns what KeyByHash returns and what, for the key's user, Webhooks returns.", webhooksForKey},
		{"unknown_key", "WebhooksForKey returns ErrNotFound when there is no such key, and no webhook.", webhooksForUnknownKey},
		{"unusable_key", "WebhooksForKey returns keys that are revoked, expired at At or lack the scope as KeyByHash does, and no webhook.", webhooksForUnusableKey},
		contextCase("ended_context", webhooksForKeyOperation()),
	}
}

func (b *bundle) webhooksForKey(p storage.WebhooksForKeyParams) storage.WebhooksForKey {
	b.Helper()
	if p.At.IsZero() {
		p.At = at(0)
	}
	if p.Page.Limit == 0 {
		p.Page.Limit = 100
	}
	got, err := b.store.WebhooksForKey(b.Context(), p)
	b.ok(err, "WebhooksForKey")
	return got
}

func webhooksForKey(b *bundle) {
	w := b.furnish()
	b.addWebhook(b.addForm(w.foreign.ID).ID)
	for range 3 {
		b.addWebhook(w.form.ID)
	}
	_, memberHash := b.addKey(w.member)
	_, strangerHash := b.addKey(newID())
	for who, hash := range map[string][32]byte{"the owner": w.hash, "a member": memberHash, "a stranger": strangerHash} {
		wantKey, wantUser := b.keyByHash(hash)
		var page storage.Page
		for _, page.Limit = range []int{2, 3, 10} {
			got := b.webhooksForKey(storage.WebhooksForKeyParams{Hash: hash, Page: page})
			same(b, got.Key, wantKey, "Key of %s", who)
			same(b, got.User, wantUser, "User, %s", who)
			want, err := b.store.Webhooks(b.Context(), storage.As(wantUser.ID), page)
			b.ok(err, "Webhooks")
			same(b, got.Webhooks, want, "the page of %+v for %s", page, who)
			if len(want) > 0 {
				end := want[len(want)-1]
				page.After = &storage.Position{Time: end.CreatedAt, ID: end.ID}
			}
		}
	}
}

func webhooksForUnknownKey(b *bundle) {
	b.furnish()
	got, err := b.store.WebhooksForKey(b.Context(), storage.WebhooksForKeyParams{Hash: [32]byte{1}, Page: storage.Page{Limit: 10}, At: at(0)})
	b.is(err, storage.ErrNotFound, "WebhooksForKey with an unknown hash")
	same(b, len(got.Webhooks), 0, "webhooks for an unknown key")
}

func webhooksForUnusableKey(b *bundle) {
	w := b.furnish()
	end := at(time.Hour)
	k, hash := b.addKey(w.owner, func(k *storage.Key) {
		k.ExpiresAt, k.Scopes = end, []storage.Scope{storage.ScopeWebhooksRead}
	})
	p := storage.WebhooksForKeyParams{Hash: hash, Scope: storage.ScopeWebhooksRead, At: end.Add(-time.Microsecond)}
	if got := b.webhooksForKey(p); len(got.Webhooks) == 0 {
		b.Errorf("no webhook for a key just before it expires")
	}
	withheld := func(p storage.WebhooksForKeyParams, want storage.Key, what string) {
		got := b.webhooksForKey(p)
		same(b, got.Key, want, "Key, %s", what)
		same(b, got.User.ID, want.UserID, "User.ID, %s", what)
		same(b, len(got.Webhooks), 0, "webhooks, %s", what)
	}
	p.At = end
	withheld(p, k, "when it expires")
	p.At, p.Scope = at(0), storage.ScopeWebhooksWrite
	withheld(p, k, "without the scope")

	b.ok(b.store.RevokeKey(b.Context(), w.owner, w.key.ID, b.tick()), "RevokeKey")
	revoked, _ := b.keyByHash(w.hash)
	withheld(storage.WebhooksForKeyParams{Hash: w.hash}, revoked, "revoked")
}
