package storagetest

import (
	"time"

	"github.com/formsvc/formsvc/storage"
)

func localCases() []Case {
	return []Case{
		{"hidden", "Only AsLocal accesses local webhooks, and it accesses no others.", localHidden},
		{"limit", "Local webhooks do not count toward Max, and have no limit.", localLimit},
		{"trash", "AsLocal accesses webhooks of forms in the trash, but not of purged forms.", localTrash},
		{"claim", "Deliveries to a local webhook are claimed only if its URL is in Local.", localClaim},
		{"hand_over", "Deliveries to a local webhook can be dispatched directly.", localHandOver},
		{"all_forms", "A webhook for all forms is copied to each form that exists or is created later, but gets no deliveries.", localForAllForms},
		{"all_forms_change", "Changes to a webhook for all forms apply to later copies, and not to existing ones.", localForAllFormsChange},
		{"all_forms_taken", "CreateWebhook for all forms returns ErrConflict if the ID is taken, and ErrNotFound without AsLocal.", localForAllFormsTaken},
		{"concurrent_all_forms", "A form that is created during CreateWebhook for all forms gets a copy.", localForAllFormsConcurrent},
		{"all_forms_endings", "Deliveries to a copy end when its form moves to the trash or the copy is disabled or deleted.", localEndings},
	}
}

const localURL = "local:mail"

func asLocal(w *storage.Webhook) {
	w.URL, w.HasSecret, w.FormDetails, w.Updates = localURL, false, true, true
}

// allForms adds a webhook for all forms.
func (b *bundle) allForms() storage.Webhook {
	b.Helper()
	w := b.newWebhook(storage.ID{})
	asLocal(&w)
	b.ok(b.store.CreateWebhook(b.Context(), storage.AsLocal(), storage.NewWebhook{Webhook: w}), "CreateWebhook for all forms")
	return w
}

// localOf returns the only local webhook of the form.
func (b *bundle) localOf(form storage.ID) storage.Webhook {
	b.Helper()
	found, err := b.store.FormWebhooks(b.Context(), storage.AsLocal(), form)
	b.ok(err, "FormWebhooks")
	if len(found) != 1 {
		b.Fatalf("FormWebhooks: want one local webhook, got %d", len(found))
	}
	return found[0]
}

func (b *bundle) claimLocal() []storage.ClaimedDelivery {
	b.Helper()
	p := b.everything()
	p.Local = []string{localURL, "local:other"}
	return b.claim(p)
}

func (b *bundle) webhookIDs(actor storage.Actor) (ids []storage.ID) {
	b.Helper()
	for after := (*storage.Position)(nil); ; { // small pages
		found, err := b.store.Webhooks(b.Context(), actor, storage.Page{Limit: 2, After: after})
		b.ok(err, "Webhooks")
		if len(found) == 0 {
			return ids
		}
		for _, w := range found {
			ids = append(ids, w.ID)
		}
		last := found[len(found)-1]
		after = &storage.Position{Time: last.CreatedAt, ID: last.ID}
	}
}

func localHidden(b *bundle) {
	f := b.anyForm()
	local, other := b.addWebhook(f.ID, asLocal), b.addWebhook(f.ID)
	b.enqueue(local.ID)
	b.enqueue(other.ID)
	for _, d := range b.claimLocal() {
		b.finish(storage.Result{Lease: d.Lease, Delivery: attemptOf(d, b.tick()), RetryIn: time.Hour, Health: storage.Health{Failures: 1}, PauseFor: time.Hour})
	}
	workspace, err := b.store.Workspace(b.Context(), storage.AsHost(), f.WorkspaceID)
	b.ok(err, "Workspace")
	for name, actor := range map[string]storage.Actor{"AsHost": storage.AsHost(), "the owner": storage.As(workspace.OwnerID), "AsLocal": storage.AsLocal()} {
		seen, unseen := other.ID, local.ID
		if actor.Local() {
			seen, unseen = unseen, seen
		}
		same(b, b.webhookIDs(actor), []storage.ID{seen}, "Webhooks of %s", name)
		found, err := b.store.FormWebhooks(b.Context(), actor, f.ID)
		b.ok(err, "FormWebhooks of %s", name)
		same(b, len(found) == 1 && found[0].ID == seen, true, "FormWebhooks of %s", name)
		paused, err := b.store.PausedWebhooks(b.Context(), actor, storage.Page{Limit: 10})
		b.ok(err, "PausedWebhooks of %s", name)
		same(b, len(paused) == 1 && paused[0].WebhookID == seen, true, "PausedWebhooks of %s", name)
		got, err := b.store.Webhook(b.Context(), actor, seen)
		b.ok(err, "Webhook of %s", name)
		same(b, got.ID, seen, "Webhook of %s", name)
		log, err := b.store.Deliveries(b.Context(), actor, seen, 10)
		b.ok(err, "Deliveries of %s", name)
		same(b, len(log), 1, "Deliveries of %s", name)

		_, err = b.store.Webhook(b.Context(), actor, unseen)
		b.is(err, storage.ErrNotFound, "the other Webhook of %s", name)
		_, err = b.store.Deliveries(b.Context(), actor, unseen, 10)
		b.is(err, storage.ErrNotFound, "the other Deliveries of %s", name)
		_, err = b.store.UpdateWebhook(b.Context(), actor, unseen, storage.WebhookChange{Enabled: ptr(false), At: b.tick()})
		b.is(err, storage.ErrNotFound, "the other UpdateWebhook of %s", name)
		b.is(b.store.DeleteWebhook(b.Context(), actor, unseen), storage.ErrNotFound, "the other DeleteWebhook of %s", name)
	}
	for actor, id := range map[storage.Actor]storage.ID{storage.AsHost(): other.ID, storage.AsLocal(): local.ID} {
		_, err := b.store.UpdateWebhook(b.Context(), actor, id, storage.WebhookChange{Enabled: ptr(false), At: b.tick()})
		b.ok(err, "UpdateWebhook")
		b.ok(b.store.DeleteWebhook(b.Context(), actor, id), "DeleteWebhook")
		same(b, b.webhookIDs(actor), nil, "Webhooks after DeleteWebhook")
	}
}

func localLimit(b *bundle) {
	f := b.anyForm()
	for range 3 {
		w := b.newWebhook(f.ID)
		asLocal(&w)
		b.ok(b.createWebhook(w, 1), "CreateWebhook with a local URL")
	}
	b.ok(b.createWebhook(b.newWebhook(f.ID), 1), "CreateWebhook 1 of at most 1")
	b.is(b.createWebhook(b.newWebhook(f.ID), 1), storage.ErrLimitReached, "CreateWebhook 2 of at most 1")
}

func localTrash(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID, asLocal)
	b.trashForm(f.ID)
	same(b, b.localOf(f.ID).ID, w.ID, "the local webhook of a form in the trash")
	got, err := b.store.UpdateWebhook(b.Context(), storage.AsLocal(), w.ID, storage.WebhookChange{Enabled: ptr(false), At: b.tick()})
	b.ok(err, "UpdateWebhook")
	same(b, got.Enabled, false, "Enabled")
	b.is(b.store.Enqueue(b.Context(), w.ID, newEvent()), storage.ErrNotFound, "Enqueue for a form in the trash")
	b.ok(b.store.PurgeForm(b.Context(), f.ID), "PurgeForm")
	_, err = b.store.Webhook(b.Context(), storage.AsLocal(), w.ID)
	b.is(err, storage.ErrNotFound, "Webhook of a purged form")
	same(b, b.webhookIDs(storage.AsLocal()), nil, "Webhooks after PurgeForm")
}

func localClaim(b *bundle) {
	f := b.anyForm()
	w, other := b.addWebhook(f.ID, asLocal), b.addWebhook(f.ID)
	b.submit(f)
	got := b.claimAll()
	same(b, len(got) == 1 && got[0].Lease.WebhookID == other.ID, true, "a claim without Local")
	p := b.everything()
	p.Local = []string{"local:mai", "local:mail2", "LOCAL:MAIL", "local:other"}
	same(b, len(b.claim(p)), 0, "deliveries claimed with other names in Local")
	got = b.claimLocal()
	if len(got) != 1 {
		b.Fatalf("ClaimDeliveries: want the delivery of the local webhook, got %d", len(got))
	}
	same(b, got[0].Lease.WebhookID, w.ID, "the webhook")
	same(b, got[0].URL, localURL, "the URL")
	// A new name moves the deliveries to the processes that serve it.
	b.finish(storage.Result{Lease: got[0].Lease})
	_, err := b.store.UpdateWebhook(b.Context(), storage.AsLocal(), w.ID, storage.WebhookChange{URL: ptr("local:other"), At: b.tick()})
	b.ok(err, "UpdateWebhook")
	p.Local = []string{localURL}
	same(b, len(b.claim(p)), 0, "deliveries claimed with the old name in Local")
	same(b, len(b.claimLocal()), 1, "deliveries claimed with the new name in Local")
}

func localHandOver(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID, asLocal)
	b.enqueue(w.ID)
	for _, d := range b.claimLocal() {
		b.finish(storage.Result{Lease: d.Lease, Delivery: attemptOf(d, b.tick()), Health: quick})
	}
	_, h := b.submitHanding(f, time.Hour, w.ID)
	same(b, len(h.got)+len(b.claimLocal()), 1, "deliveries that were dispatched or claimed")
}

func localForAllForms(b *bundle) {
	one, two := b.anyForm(), b.anyForm()
	b.trashForm(two.ID)
	all := b.allForms()
	got, err := b.store.Webhook(b.Context(), storage.AsLocal(), all.ID)
	b.ok(err, "Webhook")
	same(b, got, all, "the webhook for all forms")
	three := b.anyForm()
	for _, f := range []storage.Form{one, two, three} {
		w := b.localOf(f.ID)
		same(b, w, storage.Webhook{ID: w.ID, FormID: f.ID, AllForms: all.ID, URL: localURL, Enabled: true, FormDetails: true, Updates: true, CreatedAt: all.CreatedAt, UpdatedAt: all.UpdatedAt}, "a copy")
	}
	same(b, len(b.webhookIDs(storage.AsLocal())), 4, "the number of local webhooks")
	same(b, b.localOf(storage.ID{}).ID, all.ID, "FormWebhooks of no form")
	b.ok(b.store.RestoreForm(b.Context(), two.ID, storage.ID{}, b.tick()), "RestoreForm")
	for _, f := range []storage.Form{one, two, three} {
		b.submit(b.getForm(f.ID))
	}
	forms := map[storage.ID]bool{}
	for _, d := range b.claimLocal() {
		forms[d.FormID] = true
		same(b, d.WorkspaceID, b.getForm(d.FormID).WorkspaceID, "the workspace of a delivery")
	}
	same(b, forms, map[storage.ID]bool{one.ID: true, two.ID: true, three.ID: true}, "the forms of the deliveries")
	b.is(b.store.Enqueue(b.Context(), all.ID, newEvent()), storage.ErrNotFound, "Enqueue for all forms")
	same(b, b.webhookIDs(storage.AsHost()), nil, "Webhooks of the host")
}

func localForAllFormsChange(b *bundle) {
	one := b.anyForm()
	all := b.allForms()
	c := storage.WebhookChange{URL: ptr("local:other"), Enabled: ptr(false), At: b.tick()}
	got, err := b.store.UpdateWebhook(b.Context(), storage.AsLocal(), all.ID, c)
	b.ok(err, "UpdateWebhook")
	all.URL, all.Enabled, all.UpdatedAt = "local:other", false, c.At
	same(b, got, all, "the changed webhook for all forms")
	same(b, b.localOf(one.ID).URL, localURL, "the URL of the existing copy")
	two := b.anyForm()
	w := b.localOf(two.ID)
	same(b, w.URL == "local:other" && !w.Enabled, true, "whether a later copy has the changes")
	b.ok(b.store.DeleteWebhook(b.Context(), storage.AsLocal(), all.ID), "DeleteWebhook")
	three := b.anyForm()
	found, err := b.store.FormWebhooks(b.Context(), storage.AsLocal(), three.ID)
	b.ok(err, "FormWebhooks")
	same(b, found, nil, "the local webhooks of a later form")
	b.localOf(one.ID)
	b.localOf(two.ID)
}

func localForAllFormsTaken(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	again := storage.Webhook{ID: w.ID, URL: localURL, Enabled: true, CreatedAt: b.tick(), UpdatedAt: b.tick()}
	b.unchanged("CreateWebhook for all forms", func() {
		b.is(b.store.CreateWebhook(b.Context(), storage.AsLocal(), storage.NewWebhook{Webhook: again}), storage.ErrConflict, "CreateWebhook with an existing ID")
		again.ID = newID()
		b.is(b.store.CreateWebhook(b.Context(), storage.AsHost(), storage.NewWebhook{Webhook: again}), storage.ErrNotFound, "CreateWebhook of the host without a form")
	})
}

func localForAllFormsConcurrent(b *bundle) {
	workspace := b.anyForm().WorkspaceID
	forms := make([]storage.Form, 10)
	for i := range forms {
		forms[i] = b.newForm(workspace)
	}
	all := b.newWebhook(storage.ID{})
	asLocal(&all)
	for _, err := range together(len(forms)+1, func(i int) error {
		if i == len(forms)/2 {
			return b.store.CreateWebhook(b.Context(), storage.AsLocal(), storage.NewWebhook{Webhook: all})
		}
		return b.store.CreateForm(b.Context(), storage.AsHost(), forms[i%len(forms)])
	}) {
		if err != nil {
			b.is(err, storage.ErrConflict, "CreateForm or CreateWebhook") // one form is created twice or not at all
		}
	}
	for _, f := range forms {
		if _, err := b.store.Form(b.Context(), storage.AsHost(), f.ID); err == nil {
			same(b, b.localOf(f.ID).AllForms, all.ID, "AllForms")
		}
	}
}

func localEndings(b *bundle) {
	forms := []storage.Form{b.anyForm(), b.anyForm(), b.anyForm(), b.anyForm()}
	b.allForms()
	for i, end := range []func(f storage.Form, w storage.Webhook){
		func(f storage.Form, _ storage.Webhook) { b.trashForm(f.ID) },
		func(_ storage.Form, w storage.Webhook) {
			_, err := b.store.UpdateWebhook(b.Context(), storage.AsLocal(), w.ID, storage.WebhookChange{Enabled: ptr(false), At: b.tick()})
			b.ok(err, "UpdateWebhook")
		},
		func(_ storage.Form, w storage.Webhook) {
			b.ok(b.store.DeleteWebhook(b.Context(), storage.AsLocal(), w.ID), "DeleteWebhook")
		},
	} {
		b.submit(forms[i])
		end(forms[i], b.localOf(forms[i].ID))
	}
	b.submit(forms[3])
	got := b.claimLocal()
	same(b, len(got) == 1 && got[0].FormID == forms[3].ID, true, "whether only the delivery of the other form is left")
}
