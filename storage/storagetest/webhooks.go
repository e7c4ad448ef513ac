package storagetest

import (
	"bytes"
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
)

func webhookCases() []Case {
	return []Case{
		{"create_and_read", "A webhook is returned as it was created.", createWebhook},
		{"create_taken", "CreateWebhook returns ErrConflict if the ID is taken.", createTakenWebhook},
		{"create_limit", "CreateWebhook returns ErrLimitReached if the form has Max webhooks, and a Max below 1 means no limit.", createWebhookLimit},
		{"unknown", "A webhook that does not exist, or whose form does not exist, is ErrNotFound.", unknownWebhook},
		{"list", "Webhooks lists the webhooks of all forms, newest first.", listWebhooks},
		{"update", "UpdateWebhook changes the fields that are set, returns the webhook and retains the rest.", updateWebhook},
		{"update_secret", "A nil Secret does not change the secret, and a pointer to an empty Secret removes it.", updateWebhookSecret},
		{"secrets", "Secrets lists webhooks that have a secret, in ascending order of ID, including webhooks of forms in the trash.", listSecrets},
		{"replace_secrets", "ReplaceSecrets replaces only secrets that still have the expected value.", replaceSecrets},
		{"old_secrets", "Secrets and ReplaceSecrets include old secrets, until a sweep after OldSecretLifetime removes them.", oldSecrets},
		{"form_details", "An event has its Details for the webhooks that have FormDetails when it is queued.", formDetails},
		{"delete", "DeleteWebhook removes a webhook with its history and leaves the others of the form.", deleteWebhook},
		{"deliveries", "Deliveries returns up to max of the newest deliveries by (CreatedAt, ID), as they were recorded.", listAttempts},
	}
}

func (b *bundle) getWebhook(id storage.ID) storage.Webhook {
	b.Helper()
	got, err := b.store.Webhook(b.Context(), storage.AsHost(), id)
	b.ok(err, "Webhook")
	return got
}

func (b *bundle) updateWebhook(id storage.ID, c storage.WebhookChange) storage.Webhook {
	b.Helper()
	if c.At.IsZero() {
		c.At = b.tick()
	}
	got, err := b.store.UpdateWebhook(b.Context(), storage.AsHost(), id, c)
	b.ok(err, "UpdateWebhook")
	return got
}

func createWebhook(b *bundle) {
	f := b.anyForm()
	for _, want := range []storage.Webhook{
		b.addWebhook(f.ID),
		b.addWebhook(f.ID, asDisabled),
		b.addWebhook(f.ID, withFormDetails),
		b.addWebhook(f.ID, withUpdates),
		b.addWebhook(f.ID, func(w *storage.Webhook) { w.HasSecret = false }),
	} {
		same(b, b.getWebhook(want.ID), want, "Webhook")
	}
}

func withFormDetails(w *storage.Webhook) { w.FormDetails = true }

func formDetails(b *bundle) {
	f := b.anyForm()
	plain, detailed := b.addWebhook(f.ID), b.addWebhook(f.ID, withFormDetails)
	b.rank(plain.ID, quick)
	b.rank(detailed.ID, quick)
	details := []byte(`,"formName":"F"}}`)
	withDetails := func(n *storage.NewSubmission) {
		n.Event.Body, n.Event.Details = []byte(`{"id":"1","response":{"formId":"2"}}`), details
	}
	bodies := func(got []storage.ClaimedDelivery) map[storage.ID]string {
		of := map[storage.ID]string{}
		for _, d := range got {
			of[d.Lease.WebhookID] = string(d.Body)
		}
		return of
	}
	short, long := `{"id":"1","response":{"formId":"2"}}`, `{"id":"1","response":{"formId":"2","formName":"F"}}`
	want := map[storage.ID]string{plain.ID: short, detailed.ID: long}
	h := &hands{webhooks: []storage.ID{plain.ID, detailed.ID}, lease: time.Hour}
	b.submit(f, withDetails, func(n *storage.NewSubmission) { n.Dispatcher = h })
	same(b, bodies(append(b.claimAll(), h.got...)), want, "the bodies that were dispatched or claimed")

	// A queued event retains its bytes, in each attempt.
	b.submit(f, withDetails)
	b.updateWebhook(plain.ID, storage.WebhookChange{FormDetails: ptr(true)})
	b.updateWebhook(detailed.ID, storage.WebhookChange{FormDetails: ptr(false)})
	got := b.claimSome(2)
	same(b, bodies(got), want, "the bodies after a change of FormDetails")
	for _, d := range got {
		a := attemptOf(d, b.tick())
		b.finish(storage.Result{Lease: d.Lease, Delivery: a})
		b.ok(b.store.Redeliver(b.Context(), d.Lease.WebhookID, a.ID), "Redeliver")
	}
	same(b, bodies(b.claimSome(2)), want, "the bodies of redeliveries")
	b.submit(f, withDetails)
	same(b, bodies(b.claimSome(2)), map[storage.ID]string{plain.ID: long, detailed.ID: short}, "the bodies of a later event")
	b.updateWebhook(plain.ID, storage.WebhookChange{FormDetails: ptr(false)})
	b.submit(f, withDetails)
	same(b, bodies(b.claimSome(2)), map[storage.ID]string{plain.ID: short, detailed.ID: short}, "the bodies of an event that no webhook has with details")
	b.submit(f)
	b.claimSome(2)
}

func createTakenWebhook(b *bundle) {
	first := b.addWebhook(b.anyForm().ID)
	again := b.newWebhook(b.anyForm().ID)
	again.ID = first.ID
	b.unchanged("CreateWebhook with an existing ID", func() {
		b.is(b.createWebhook(again, 0), storage.ErrConflict, "CreateWebhook with an existing ID")
	})
}

func createWebhookLimit(b *bundle) {
	f, other := b.anyForm(), b.anyForm()
	for i := range 3 {
		w := b.newWebhook(f.ID)
		w.Enabled = i > 0 // disabled ones count too
		b.ok(b.createWebhook(w, 3), "CreateWebhook %d of at most 3", i+1)
	}
	b.unchanged("CreateWebhook beyond max", func() {
		b.is(b.createWebhook(b.newWebhook(f.ID), 3), storage.ErrLimitReached, "CreateWebhook 4 of at most 3")
		b.is(b.createWebhook(b.newWebhook(f.ID), 1), storage.ErrLimitReached, "CreateWebhook 4 of at most 1")
	})
	b.ok(b.createWebhook(b.newWebhook(other.ID), 1), "CreateWebhook 1 of another form")
	b.ok(b.createWebhook(b.newWebhook(f.ID), 0), "CreateWebhook with max 0")
	b.ok(b.createWebhook(b.newWebhook(f.ID), -1), "CreateWebhook with max -1")
}

func unknownWebhook(b *bundle) {
	host := storage.AsHost()
	b.is(b.createWebhook(b.newWebhook(newID()), 0), storage.ErrNotFound, "CreateWebhook for an unknown form")
	_, err := b.store.Webhook(b.Context(), host, newID())
	b.is(err, storage.ErrNotFound, "Webhook")
	_, err = b.store.UpdateWebhook(b.Context(), host, newID(), storage.WebhookChange{URL: ptr("https://x.example/"), At: b.tick()})
	b.is(err, storage.ErrNotFound, "UpdateWebhook")
	b.is(b.store.DeleteWebhook(b.Context(), host, newID()), storage.ErrNotFound, "DeleteWebhook")
	_, err = b.store.Deliveries(b.Context(), host, newID(), 10)
	b.is(err, storage.ErrNotFound, "Deliveries")
}

func listWebhooks(b *bundle) {
	one := b.anyForm()
	two := b.anyForm()
	first, second, third := b.addWebhook(one.ID), b.addWebhook(two.ID), b.addWebhook(one.ID, asDisabled)
	got, err := b.store.Webhooks(b.Context(), storage.AsHost(), storage.Page{Limit: 10})
	b.ok(err, "Webhooks")
	same(b, got, []storage.Webhook{third, second, first}, "Webhooks")
	got, err = b.store.FormWebhooks(b.Context(), storage.AsHost(), one.ID)
	b.ok(err, "FormWebhooks")
	same(b, got, []storage.Webhook{third, first}, "FormWebhooks")
	got, err = b.store.FormWebhooks(b.Context(), storage.AsHost(), b.anyForm().ID)
	b.ok(err, "FormWebhooks")
	same(b, got, nil, "FormWebhooks of a form without any")
}

func updateWebhook(b *bundle) {
	want := b.addWebhook(b.anyForm().ID)
	check := func(what string, c storage.WebhookChange) {
		b.Helper()
		got := b.updateWebhook(want.ID, c)
		want.UpdatedAt = at(time.Duration(b.ticks) * time.Second)
		same(b, got, want, "what UpdateWebhook returns with a new %s", what)
		same(b, b.getWebhook(want.ID), want, "Webhook after UpdateWebhook with a new %s", what)
	}
	want.URL = "https://example.org/new"
	check("url", storage.WebhookChange{URL: &want.URL})
	want.Enabled = false
	check("enabled", storage.WebhookChange{Enabled: ptr(false)})
	want.FormDetails = true
	check("form details", storage.WebhookChange{FormDetails: ptr(true)})
	want.Updates = true
	check("updates", storage.WebhookChange{Updates: ptr(true)})
	check("secret", storage.WebhookChange{Secret: ptr([]byte("another secret"))})
	same(b, b.secret(want.ID), "another secret", "the secret after UpdateWebhook")
	want.HasSecret = false
	check("secret that is empty", storage.WebhookChange{Secret: new([]byte)})
	want.HasSecret = true
	check("first secret", storage.WebhookChange{Secret: ptr([]byte("first secret"))})
	check("time only", storage.WebhookChange{})
}

func updateWebhookSecret(b *bundle) {
	want := b.addWebhook(b.anyForm().ID)
	b.updateWebhook(want.ID, storage.WebhookChange{Enabled: ptr(true)})
	same(b, b.secret(want.ID), string(secretOf(want)), "Secret that is not set in the change")
	for _, empty := range [][]byte{{}, nil} {
		b.updateWebhook(want.ID, storage.WebhookChange{Secret: ptr(secretOf(want))})
		same(b, b.updateWebhook(want.ID, storage.WebhookChange{Secret: &empty}).HasSecret, false, "HasSecret when Secret was set to empty")
		same(b, b.secret(want.ID), "", "Secret that was set to empty, read again")
	}
}

func listSecrets(b *bundle) {
	kept, trashed := b.anyForm(), b.anyForm()
	var want []storage.StoredSecret
	for _, form := range []storage.ID{kept.ID, trashed.ID, kept.ID, trashed.ID} {
		w := b.addWebhook(form)
		want = append(want, storage.StoredSecret{WebhookID: w.ID, Secret: secretOf(w)})
	}
	b.addWebhook(kept.ID, func(w *storage.Webhook) { w.HasSecret = false })
	b.ok(b.store.DeleteWorkspace(b.Context(), storage.AsHost(), trashed.WorkspaceID, b.tick()), "DeleteWorkspace")
	slices.SortFunc(want, func(a, b storage.StoredSecret) int { return bytes.Compare(a.WebhookID[:], b.WebhookID[:]) })
	var got []storage.StoredSecret
	var after storage.ID
	for {
		page, err := b.store.Secrets(b.Context(), after, 3)
		b.ok(err, "Secrets")
		if len(page) == 0 {
			break
		}
		if len(page) > 3 {
			b.Fatalf("Secrets, at most 3: got %d", len(page))
		}
		got = append(got, page...)
		after = page[len(page)-1].WebhookID
	}
	same(b, got, want, "Secrets, page by page")
	none, err := b.store.Secrets(b.Context(), storage.ID{}, 0)
	b.ok(err, "Secrets, at most 0")
	same(b, len(none), 0, "Secrets, at most 0")
}

func oldSecrets(b *bundle) {
	f := b.anyForm()
	one, two := b.addWebhook(f.ID), b.addWebhook(f.ID)
	now := time.Now()
	b.updateWebhook(one.ID, storage.WebhookChange{Secret: ptr([]byte("new")), At: now.Add(-time.Hour)})
	b.updateWebhook(two.ID, storage.WebhookChange{Secret: ptr([]byte("new")), At: now})
	replace := func(w storage.Webhook, from, to string) storage.SecretReplacement {
		return storage.SecretReplacement{WebhookID: w.ID, From: []byte(from), To: []byte(to)}
	}
	first := func(w storage.Webhook) string { return string(secretOf(w)) }
	n, err := b.store.ReplaceSecrets(b.Context(), []storage.SecretReplacement{
		replace(one, first(one), "ONE"), replace(one, "new", "NEW"), replace(two, "unknown", "ONE"), replace(two, first(two), "TWO"),
	})
	b.ok(err, "ReplaceSecrets")
	same(b, n, 3, "the number of replaced secrets, old ones included")
	list := func() map[storage.ID][2]string {
		b.Helper()
		got, err := b.store.Secrets(b.Context(), storage.ID{}, 100)
		b.ok(err, "Secrets")
		all := map[storage.ID][2]string{}
		for _, s := range got {
			all[s.WebhookID] = [2]string{string(s.Secret), string(s.OldSecret)}
		}
		return all
	}
	want := map[storage.ID][2]string{one.ID: {"NEW", "ONE"}, two.ID: {"new", "TWO"}}
	same(b, list(), want, "Secrets after ReplaceSecrets")
	b.submit(f)
	for _, d := range b.claimSome(2) {
		got := [2]string{string(d.Secret), string(d.OldSecret)}
		same(b, got, want[d.Lease.WebhookID], "the secrets of a delivery after ReplaceSecrets")
	}
	sweep := func(after time.Duration, wiped int) {
		b.Helper()
		swept := b.sweep(storage.SweepParams{Now: now.Add(after), Max: 100})
		same(b, swept.Secrets, wiped, "Swept.Secrets")
	}
	sweep(storage.OldSecretLifetime-time.Hour-time.Minute, 0)
	same(b, list(), want, "Secrets while all old secrets are valid")
	sweep(storage.OldSecretLifetime-time.Minute, 1)
	want = map[storage.ID][2]string{one.ID: {"NEW", ""}, two.ID: {"new", "TWO"}}
	same(b, list(), want, "Secrets after OldSecretLifetime of the first old secret")
	sweep(storage.OldSecretLifetime+time.Minute, 1)
	same(b, list(), map[storage.ID][2]string{one.ID: {"NEW", ""}, two.ID: {"new", ""}}, "Secrets after another sweep")
	sweep(storage.OldSecretLifetime+time.Minute, 0)
}

func replaceSecrets(b *bundle) {
	f := b.anyForm()
	one, two, other := b.addWebhook(f.ID), b.addWebhook(f.ID), b.addWebhook(f.ID)
	none := b.addWebhook(f.ID, func(w *storage.Webhook) { w.HasSecret = false })
	from := func(w storage.Webhook, previous []byte, next string) storage.SecretReplacement {
		return storage.SecretReplacement{WebhookID: w.ID, From: previous, To: []byte(next)}
	}
	n, err := b.store.ReplaceSecrets(b.Context(), []storage.SecretReplacement{
		from(two, secretOf(two), "TWO"), from(one, secretOf(one), "ONE"), from(other, []byte("another"), "OTHER"), from(none, []byte("x"), "NONE"),
		{WebhookID: newID(), From: []byte("x"), To: []byte("y")},
	})
	b.ok(err, "ReplaceSecrets")
	same(b, n, 2, "the number of replaced secrets")
	for _, want := range []storage.Webhook{one, two, other, none} {
		same(b, b.getWebhook(want.ID), want, "Webhook after ReplaceSecrets")
	}
	same(b, []string{b.secret(one.ID), b.secret(two.ID), b.secret(other.ID), b.secret(none.ID)},
		[]string{"ONE", "TWO", string(secretOf(other)), ""}, "the secrets after ReplaceSecrets")
	n, err = b.store.ReplaceSecrets(b.Context(), nil)
	b.ok(err, "ReplaceSecrets of nothing")
	same(b, n, 0, "the number of replaced secrets, of none")
}

func deleteWebhook(b *bundle) {
	f := b.anyForm()
	gone, stays := b.addWebhook(f.ID), b.addWebhook(f.ID)
	b.submit(f)
	for _, d := range b.claimAll() {
		b.finish(ended(d, b.tick()))
	}
	b.ok(b.store.DeleteWebhook(b.Context(), storage.AsHost(), gone.ID), "DeleteWebhook")
	_, err := b.store.Webhook(b.Context(), storage.AsHost(), gone.ID)
	b.is(err, storage.ErrNotFound, "Webhook after DeleteWebhook")
	b.is(b.store.DeleteWebhook(b.Context(), storage.AsHost(), gone.ID), storage.ErrNotFound, "DeleteWebhook, again")
	_, err = b.store.Deliveries(b.Context(), storage.AsHost(), gone.ID, 10)
	b.is(err, storage.ErrNotFound, "Deliveries after DeleteWebhook")

	same(b, b.getWebhook(stays.ID), stays, "the other webhook of the form")
	kept := only(b, b.attempts(stays.ID), "Deliveries of the other webhook")
	b.ok(b.store.Redeliver(b.Context(), stays.ID, kept.ID),
		"Redeliver of the other webhook's attempt at the same event")

	// Nothing of the old one may turn up under its id.
	again := b.newWebhook(f.ID)
	again.ID = gone.ID
	b.ok(b.createWebhook(again, 0), "CreateWebhook with the ID of a deleted record")
	same(b, b.attempts(gone.ID), nil, "Deliveries of a webhook with the ID of a deleted record")
}

func listAttempts(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	same(b, b.attempts(w.ID), nil, "Deliveries before the first")
	b.submit(f)
	b.submit(f)
	b.submit(f)
	var want []storage.Delivery
	for i, d := range b.claimSome(3) {
		r := retried(d, at(time.Hour), time.Hour) // all at the same time: the id decides
		r.Delivery.ID = storage.ID{0x7f + byte(i), byte(i)}
		if i == 1 {
			r.Delivery.Status, r.Delivery.Success, r.Delivery.Error = 204, true, ""
			r.RetryIn = 0
		}
		b.finish(r)
		want = append([]storage.Delivery{*r.Delivery}, want...)
	}
	same(b, b.attempts(w.ID), want, "Deliveries")
	got, err := b.store.Deliveries(b.Context(), storage.AsHost(), w.ID, 2)
	b.ok(err, "Deliveries, at most 2")
	same(b, idsOf(got, attemptID), idsOf(want[:2], attemptID), "Deliveries, at most 2")
}
