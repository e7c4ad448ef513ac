package storagetest

import (
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
)

func sweepCases() []Case {
	return []Case{
		{"forms", "Sweep purges exactly the forms that moved to the trash before TrashBefore.", sweepForms},
		{"forms_with_everything", "A purged form is removed with its submissions, idempotency keys, funnel, webhooks and deliveries.", sweepFormWhole},
		{"keys", "Sweep removes exactly the keys that were revoked or expired before KeysBefore.", sweepKeys},
		{"zero_bounds", "Sweep with zero TrashBefore and KeysBefore purges no form and removes no key.", sweepZero},
		{"removals", "Sweep with RemovalsOnly purges forms and does no other work.", sweepRemovals},
		{"max", "Each call of Sweep removes up to Max forms and keys, returns More while others remain, and does nothing if Max is below 1.", sweepMax},
		{"purge_at_once", "A form that Sweep purges is gone immediately for every method, however many rows it has, and later calls remove these rows.", sweepPurgesAtOnce},
		{"keeps_bodies_in_use", "Sweep does not remove event bodies to which the queue or a history refers.", sweepKeepsBodies},
	}
}

// sweep calls Sweep until there is no more to do and adds up what it reports.
func (b *bundle) sweep(p storage.SweepParams) storage.SweepResult {
	b.Helper()
	var sum storage.SweepResult
	for range 10_000 {
		got := b.sweepOnce(p)
		sum.Forms += got.Forms
		sum.Keys += got.Keys
		sum.Events += got.Events
		sum.Secrets += got.Secrets
		if !got.More {
			return sum
		}
	}
	b.Fatalf("Sweep: More is still true after 10,000 calls")
	return sum
}

func (b *bundle) sweepOnce(p storage.SweepParams) storage.SweepResult {
	b.Helper()
	got, err := b.store.Sweep(b.Context(), p)
	b.ok(err, "Sweep")
	return got
}

func sweepForms(b *bundle) {
	live := b.anyForm()
	limit := at(time.Hour)
	trashAt := func(when time.Time) storage.Form {
		f := b.addForm(live.WorkspaceID)
		b.ok(b.store.TrashForm(b.Context(), storage.AsHost(), f.ID, storage.TrashParams{At: when}), "TrashForm")
		return f
	}
	after, exact := trashAt(limit.Add(time.Microsecond)), trashAt(limit)
	before, long := trashAt(limit.Add(-time.Microsecond)), trashAt(limit.Add(-1000*time.Hour))
	same(b, b.sweep(storage.SweepParams{Now: soon(), TrashBefore: limit, Max: 100}).Forms, 2, "Forms that Sweep purged")
	same(b, idsOf(b.trash(), formID), []storage.ID{exact.ID, after.ID}, "Forms that are left in the trash")
	b.getForm(live.ID)
	for _, f := range []storage.Form{before, long} {
		b.is(b.store.RestoreForm(b.Context(), f.ID, storage.ID{}, b.tick()), storage.ErrNotFound, "RestoreForm of a purged form")
	}
	same(b, b.sweep(storage.SweepParams{Now: soon(), TrashBefore: limit, Max: 100}).Forms, 0, "Forms that a second Sweep purged")
}

func sweepFormWhole(b *bundle) {
	w := b.furnish()
	b.ok(b.store.SetLifetimeCounters(b.Context(), w.form.ID, storage.Counters{Views: 9}), "SetLifetimeCounters")
	b.trashForm(w.form.ID)
	b.sweep(storage.SweepParams{Now: w.now, TrashBefore: w.now, Max: 100})
	b.is(b.store.SetLifetimeCounters(b.Context(), w.form.ID, storage.Counters{Views: 1}), storage.ErrNotFound, "SetLifetimeCounters of a purged form")

	// A form and a webhook with the same ids show whatever was left.
	f := w.form
	b.ok(b.store.CreateForm(b.Context(), storage.AsHost(), f), "CreateForm with the id of a purged form")
	same(b, b.getForm(f.ID), f, "a form with the ID of a purged record")
	same(b, b.submissions(f.ID), nil, "Submissions of a form with the ID of a purged record")
	same(b, b.funnel(f.ID, time.Time{}, time.Time{}), storage.Funnel{}, "Funnel of a form with the ID of a purged record")
	_, err := b.store.SubmissionByKey(b.Context(), f.ID, w.first.IdempotencyKey)
	b.is(err, storage.ErrNotFound, "SubmissionByKey of a form with the ID of a purged record")
	webhooks, err := b.store.Webhooks(b.Context(), storage.AsHost(), storage.Page{Limit: 10})
	b.ok(err, "Webhooks")
	same(b, webhooks, nil, "Webhooks after their form was purged")
	b.ok(b.createWebhook(w.webhook, 0), "CreateWebhook with the ID of a purged record")
	same(b, b.attempts(w.webhook.ID), nil, "Deliveries of a webhook with the ID of a purged record")
	b.nothingPending("the form was purged")
	b.submit(f, withKey(w.first.IdempotencyKey), withAnswer(string(w.first.UniqueAnswer)))
}

func sweepKeys(b *bundle) {
	user := b.user()
	limit := at(time.Hour)
	const us = time.Microsecond
	expiring := func(when time.Time) storage.ID {
		k, _ := b.addKey(user, func(k *storage.Key) { k.ExpiresAt = when })
		return k.ID
	}
	revoked := func(when time.Time) storage.ID {
		k, _ := b.addKey(user)
		b.ok(b.store.RevokeKey(b.Context(), user, k.ID, when), "RevokeKey")
		return k.ID
	}
	active, _ := b.addKey(user)
	expiring(limit.Add(-us))
	revoked(limit.Add(-us))
	want := []storage.ID{active.ID, revoked(limit), expiring(limit), revoked(limit.Add(us)), expiring(limit.Add(us))}
	slices.Reverse(want) // newest first

	same(b, b.sweep(storage.SweepParams{Now: soon(), KeysBefore: limit, Max: 100}).Keys, 2, "Keys that Sweep removed")
	keys, err := b.store.Keys(b.Context(), user)
	b.ok(err, "Keys")
	same(b, idsOf(keys, keyID), want, "Keys that are left")
}

func sweepZero(b *bundle) {
	w := b.furnish()
	b.unchanged("Sweep with zero values in SweepParams", func() {
		got := b.sweep(storage.SweepParams{Now: w.now.Add(1000 * time.Hour), Max: 100})
		same(b, got.Forms, 0, "Forms that Sweep purged")
		same(b, got.Keys, 0, "Keys that Sweep removed")
	})
}

func sweepRemovals(b *bundle) {
	user := b.user()
	f := b.addForm(b.addWorkspace(user).ID)
	b.trashForm(f.ID)
	key, _ := b.addKey(user, func(k *storage.Key) { k.ExpiresAt = at(0) })
	p := storage.SweepParams{Now: soon(), TrashBefore: soon(), KeysBefore: soon(), RemovalsOnly: true, Max: 100}
	same(b, b.sweep(p), storage.SweepResult{Forms: 1}, "result of Sweep with RemovalsOnly")
	keys, err := b.store.Keys(b.Context(), user)
	b.ok(err, "Keys")
	same(b, idsOf(keys, keyID), []storage.ID{key.ID}, "Keys after Sweep with RemovalsOnly")
	b.ok(b.store.CreateForm(b.Context(), storage.AsHost(), f), "CreateForm with the id of a purged form")
}

func sweepMax(b *bundle) {
	user := b.user()
	w := b.addWorkspace(user)
	for range 3 {
		b.trashForm(b.addForm(w.ID).ID)
		b.addKey(user, func(k *storage.Key) { k.ExpiresAt = at(0) })
	}
	p := storage.SweepParams{Now: soon(), TrashBefore: soon(), KeysBefore: soon()}
	for _, below := range []int{0, -1} {
		b.unchanged("Sweep with a Max below 1", func() {
			p.Max = below
			same(b, b.sweep(p), storage.SweepResult{}, "Swept with Max %d", below)
		})
	}
	p.Max = 2
	var sum storage.SweepResult
	for more := true; more; {
		got := b.sweepOnce(p)
		if got.Forms > 2 || got.Keys > 2 {
			b.Errorf("Sweep with Max 2: want at most 2 forms and keys a call, got %d and %d", got.Forms, got.Keys)
		}
		if sum.Forms+got.Forms < 3 && !got.More {
			b.Fatalf("Sweep: More does not hold while %d of 3 forms are purged", sum.Forms+got.Forms)
		}
		sum.Forms += got.Forms
		sum.Keys += got.Keys
		more = got.More
	}
	same(b, sum, storage.SweepResult{Forms: 3, Keys: 3}, "what calls of Sweep with Max 2 removed together")
}

func sweepPurgesAtOnce(b *bundle) {
	w := b.furnish()
	const submissions = 7
	for range submissions {
		b.submit(w.form)
	}
	b.trashForm(w.form.ID)
	p := storage.SweepParams{Now: w.now, TrashBefore: w.now, Max: 1}
	for purged := 0; purged < 2; { // the world has one form in the trash already
		got := b.sweepOnce(p)
		if purged += got.Forms; purged < 2 && !got.More {
			b.Fatalf("Sweep: More does not hold, though only %d of 2 forms are purged", purged)
		}
	}
	host := storage.AsHost()
	same(b, b.trash(), nil, "Forms in the trash after they were purged")
	same(b, only(b, []storage.SweepResult{b.sweepOnce(storage.SweepParams{Now: w.now, TrashBefore: w.now, Max: 1})}, "Swept").Forms, 0,
		"Forms that a later Sweep counts")
	b.is(b.store.RestoreForm(b.Context(), w.form.ID, storage.ID{}, b.tick()), storage.ErrNotFound, "RestoreForm of a purged form")
	b.is(b.store.SetLifetimeCounters(b.Context(), w.form.ID, storage.Counters{Views: 1}), storage.ErrNotFound, "SetLifetimeCounters of a purged form")
	_, err := b.store.Form(b.Context(), host, w.form.ID)
	b.is(err, storage.ErrNotFound, "Form after it was purged")
	b.sweep(p)
	b.ok(b.store.CreateForm(b.Context(), host, w.form), "CreateForm with the id of a purged form")
	same(b, b.submissions(w.form.ID), nil, "Submissions of a form with the ID of a purged record")
}

func sweepKeepsBodies(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	kept := b.submit(f)
	sent := ended(b.claimOne(), b.tick())
	b.finish(sent)
	queued := b.submit(f)
	p := storage.SweepParams{Now: soon().Add(10_000 * time.Hour), TrashBefore: soon(), KeysBefore: soon(), Max: 100}
	same(b, b.sweep(p).Events, 0, "Events that Sweep removed")

	d := b.claimOne()
	same(b, d.Body, queued.Event.Body, "Body of a pending delivery after Sweep")
	b.sweep(p) // while it is under a lease
	b.finish(ended(d, b.tick()))
	b.ok(b.store.Redeliver(b.Context(), w.ID, sent.Delivery.ID), "Redeliver after Sweep")
	same(b, b.claimOne().Body, kept.Event.Body, "Body of an event in the history after Sweep")
}
