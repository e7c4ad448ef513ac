package storagetest

import (
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// submissionsForKeyCases are a group of their own: a store that gains nothing from
// SubmissionsForKey returns ErrUnimplemented and skips it.
func submissionsForKeyCases() []Case {
	return []Case{
		{"key_and_page", "SubmissionsForKey returns what KeyByHash returns and lends what, for the key's user, Submissions lends.", submissionsForKey},
		{"empty_page", "SubmissionsForKey finds a page without submissions.", submissionsForKeyEmpty},
		{"invisible_form", "SubmissionsForKey returns the key and lends nothing when the key's user may not see the form.", submissionsForKeyInvisible},
		{"unknown_key", "SubmissionsForKey returns ErrNotFound when there is no such key, and lends nothing.", submissionsForUnknownKey},
		{"inactive_key", "SubmissionsForKey returns keys that are revoked, or expired at At, as KeyByHash does, and lends nothing.", submissionsForInactiveKey},
		{"scope", "SubmissionsForKey returns the key, and lends nothing, when the key lacks the scope.", submissionsForKeyScope},
		{"refused", "SubmissionsForKey ends with the error of the function that it calls.", submissionsForKeyRefused},
		contextCase("ended_context", submissionsForKeyOperation()),
	}
}

// forKey calls SubmissionsForKey and returns what was lent too.
func (b *bundle) forKey(p storage.SubmissionsForKeyParams) (storage.SubmissionsForKey, storage.SubmissionPage) {
	b.Helper()
	if p.At.IsZero() {
		p.At = at(0)
	}
	var page storage.SubmissionPage
	got, err := b.store.SubmissionsForKey(b.Context(), p, func(s *storage.Submission) error {
		page.Submissions = append(page.Submissions, clone(s))
		return nil
	})
	b.ok(err, "SubmissionsForKey")
	page.More = got.More
	return got, page
}

func submissionsForKey(b *bundle) {
	w := b.furnish()
	_, memberHash := b.addKey(w.member)
	for who, hash := range map[string][32]byte{"the owner": w.hash, "a member": memberHash} {
		wantKey, wantUser := b.keyByHash(hash)
		for _, q := range []storage.SubmissionsParams{
			{Page: storage.Page{Limit: 10}},
			{Page: storage.Page{Limit: 2}},
			{Page: storage.Page{Limit: 10}, MaxBytes: 1},
			{Page: storage.Page{Limit: 10, After: &storage.Position{Time: w.waiting.Submission.SubmittedAt, ID: w.waiting.Submission.ID}}},
			{Page: storage.Page{Limit: 10}, Since: at(1000 * time.Hour)},
		} {
			got, page := b.forKey(storage.SubmissionsForKeyParams{Hash: hash, Form: w.form.ID, Query: q})
			same(b, got.Key, wantKey, "Key of %s", who)
			same(b, got.User, wantUser, "User, %s", who)
			same(b, got.Found, true, "Found for %s", who)
			same(b, page, b.page(w.form.ID, q), "the page of %+v for %s", q, who)
		}
	}
}

func submissionsForKeyEmpty(b *bundle) {
	w := b.furnish()
	empty := b.addForm(w.workspace.ID)
	got, page := b.forKey(storage.SubmissionsForKeyParams{Hash: w.hash, Form: empty.ID, Query: everySubmission})
	same(b, got.Found, true, "Found")
	same(b, len(page.Submissions), 0, "submissions")
}

var everySubmission = storage.SubmissionsParams{Page: storage.Page{Limit: 100}}

// withheld checks that the key is returned and nothing lent.
func (b *bundle) withheld(p storage.SubmissionsForKeyParams, want storage.Key, what string) {
	b.Helper()
	p.Query = everySubmission
	got, page := b.forKey(p)
	same(b, got.Key, want, "Key, %s", what)
	same(b, got.User.ID, want.UserID, "User.ID, %s", what)
	same(b, got.Found, false, "Found, %s", what)
	same(b, got.More, false, "More, %s", what)
	same(b, len(page.Submissions), 0, "submissions that were lent, %s", what)
}

func submissionsForKeyInvisible(b *bundle) {
	w := b.furnish()
	foreign := b.addForm(w.foreign.ID)
	b.submit(foreign)
	for what, id := range map[string]storage.ID{
		"a foreign form": foreign.ID, "one in the trash": w.trashed.ID, "an unknown one": newID(), "the zero id": {},
	} {
		b.withheld(storage.SubmissionsForKeyParams{Hash: w.hash, Form: id}, w.key, what)
	}
}

func submissionsForUnknownKey(b *bundle) {
	w := b.furnish()
	lent := 0
	got, err := b.store.SubmissionsForKey(b.Context(), storage.SubmissionsForKeyParams{
		Hash: [32]byte{1}, Form: w.form.ID, Query: everySubmission, At: at(0),
	}, func(*storage.Submission) error { lent++; return nil })
	b.is(err, storage.ErrNotFound, "SubmissionsForKey with an unknown hash")
	same(b, got.Found, false, "Found for an unknown key")
	same(b, lent, 0, "submissions that were lent for an unknown key")
}

func submissionsForInactiveKey(b *bundle) {
	w := b.furnish()
	end := at(time.Hour)
	expiring, hash := b.addKey(w.owner, func(k *storage.Key) { k.ExpiresAt = end })
	p := storage.SubmissionsForKeyParams{Hash: hash, Form: w.form.ID, Query: everySubmission, At: end.Add(-time.Microsecond)}
	got, page := b.forKey(p)
	same(b, got.Key, expiring, "Key just before it expires")
	same(b, len(page.Submissions), len(b.submissions(w.form.ID)), "submissions just before the key expires")
	p.At = end
	b.withheld(p, expiring, "when it expires")
	p.At = end.Add(time.Hour)
	b.withheld(p, expiring, "after it expired")

	b.ok(b.store.RevokeKey(b.Context(), w.owner, w.key.ID, b.tick()), "RevokeKey")
	revoked, _ := b.keyByHash(w.hash)
	b.withheld(storage.SubmissionsForKeyParams{Hash: w.hash, Form: w.form.ID}, revoked, "revoked")
}

func submissionsForKeyScope(b *bundle) {
	w := b.furnish()
	k, hash := b.addKey(w.owner, func(k *storage.Key) {
		k.Scopes = []storage.Scope{storage.ScopeSubmissionsRead, storage.ScopeAnalyticsRead}
	})
	for _, scope := range k.Scopes {
		got, page := b.forKey(storage.SubmissionsForKeyParams{Hash: hash, Form: w.form.ID, Query: everySubmission, Scope: scope})
		same(b, got.Found, true, "Found, when the scope is %s", scope)
		same(b, len(page.Submissions), len(b.submissions(w.form.ID)), "submissions, when the scope is %s", scope)
	}
	for _, scope := range []storage.Scope{storage.ScopeSubmissionsWrite, "submissions"} {
		b.withheld(storage.SubmissionsForKeyParams{Hash: hash, Form: w.form.ID, Scope: scope}, k, string(scope))
	}
}

func submissionsForKeyRefused(b *bundle) {
	w := b.furnish()
	b.refusesLoan(func(each func(*storage.Submission) error) error {
		_, err := b.store.SubmissionsForKey(b.Context(), storage.SubmissionsForKeyParams{Hash: w.hash, Form: w.form.ID, Query: everySubmission, At: at(0)}, each)
		return err
	})
}

func clone(lent *storage.Submission) storage.Submission {
	s := *lent
	s.Answers, s.Metadata, s.Hidden = slices.Clone(s.Answers), slices.Clone(s.Metadata), slices.Clone(s.Hidden)
	return s
}
