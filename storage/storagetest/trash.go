package storagetest

import (
	"time"

	"github.com/formsvc/formsvc/storage"
)

func trashCases() []Case {
	return []Case{
		{"hides_form", "A form in the trash is ErrNotFound for every method that reads or changes it, also for the host.", trashHides},
		{"hides_from_lists", "A form in the trash and its webhooks are only in the list of the trash.", trashHidesFromLists},
		{"lists_trashed", "Forms with Trashed lists the forms in the trash with TrashedAt and an unchanged revision.", trashLists},
		{"ends_deliveries", "TrashForm permanently ends the pending deliveries of the form.", trashEndsDeliveries},
		{"lifetime_counters", "SetLifetimeCounters works on a form in the trash.", trashLifetime},
		{"if_revision", "TrashForm returns a *RevisionError if IfRevision does not match, but first checks for ErrNotFound.", trashIfRevision},
		{"restore", "RestoreForm into the previous workspace restores the form with all its records, and does not change the revision.", restoreForm},
		{"restore_elsewhere", "RestoreForm into another workspace increases the revision by one.", restoreElsewhere},
		{"restore_into_gone", "RestoreForm returns ErrConflict if the workspace does not exist, and the form stays in the trash.", restoreIntoGone},
		{"restore_not_trashed", "RestoreForm returns ErrNotFound if the form is not in the trash.", restoreNotTrashed},
	}
}

func (b *bundle) trashForm(id storage.ID) time.Time {
	b.Helper()
	when := b.tick()
	b.ok(b.store.TrashForm(b.Context(), storage.AsHost(), id, storage.TrashParams{At: when}), "TrashForm")
	return when
}

func trashHides(b *bundle) {
	w := b.furnish()
	b.trashForm(w.form.ID)
	host, now := storage.AsHost(), w.now
	b.unchanged("calls for a form in the trash", func() {
		_, err := b.store.Form(b.Context(), host, w.form.ID)
		b.is(err, storage.ErrNotFound, "Form")
		_, err = b.store.FormByPublicID(b.Context(), w.form.PublicID)
		b.is(err, storage.ErrNotFound, "FormByPublicID")
		_, err = b.store.UpdateForm(b.Context(), host, w.form.ID, storage.FormChange{Name: ptr("x"), At: now})
		b.is(err, storage.ErrNotFound, "UpdateForm")
		b.is(b.store.TrashForm(b.Context(), host, w.form.ID, storage.TrashParams{At: now}), storage.ErrNotFound, "TrashForm, again")
		_, _, err = b.store.Submit(b.Context(), b.newSubmission(w.form))
		b.is(err, storage.ErrNotFound, "Submit")
		_, err = b.store.SubmissionByKey(b.Context(), w.form.ID, w.first.IdempotencyKey)
		b.is(err, storage.ErrNotFound, "SubmissionByKey")
		_, err = b.store.Submission(b.Context(), host, w.form.ID, w.first.Submission.ID)
		b.is(err, storage.ErrNotFound, "Submission")
		_, err = storage.ListSubmissions(b.Context(), b.store, host, w.form.ID, storage.SubmissionsParams{Page: storage.Page{Limit: 1}})
		b.is(err, storage.ErrNotFound, "Submissions")
		b.is(b.store.DeleteSubmission(b.Context(), host, w.form.ID, w.first.Submission.ID), storage.ErrNotFound, "DeleteSubmission")
		b.is(b.store.CountFunnel(b.Context(), counted(w.form.ID, now, storage.Counters{Views: 1})), storage.ErrNotFound, "CountFunnel")
		_, err = b.store.Funnel(b.Context(), host, w.form.ID, storage.Window{})
		b.is(err, storage.ErrNotFound, "Funnel")
		b.is(b.createWebhook(b.newWebhook(w.form.ID), 0), storage.ErrNotFound, "CreateWebhook")
		_, err = b.store.Webhook(b.Context(), host, w.webhook.ID)
		b.is(err, storage.ErrNotFound, "Webhook")
		_, err = b.store.UpdateWebhook(b.Context(), host, w.webhook.ID, storage.WebhookChange{URL: ptr("https://x.example/"), At: now})
		b.is(err, storage.ErrNotFound, "UpdateWebhook")
		b.is(b.store.DeleteWebhook(b.Context(), host, w.webhook.ID), storage.ErrNotFound, "DeleteWebhook")
		_, err = b.store.Deliveries(b.Context(), host, w.webhook.ID, 10)
		b.is(err, storage.ErrNotFound, "Deliveries")
		b.is(b.store.Enqueue(b.Context(), w.webhook.ID, newEvent()), storage.ErrNotFound, "Enqueue")
		b.is(b.store.Redeliver(b.Context(), w.webhook.ID, w.attempt.ID), storage.ErrNotFound, "Redeliver")
	})
}

func trashHidesFromLists(b *bundle) {
	f := b.anyForm()
	b.addWebhook(f.ID)
	stays := b.addForm(f.WorkspaceID)
	b.trashForm(f.ID)
	forms, err := b.store.Forms(b.Context(), storage.AsHost(), storage.FormsParams{Page: storage.Page{Limit: 10}})
	b.ok(err, "Forms")
	same(b, idsOf(forms, formID), []storage.ID{stays.ID}, "Forms")
	forms, err = b.store.Forms(b.Context(), storage.AsHost(), storage.FormsParams{WorkspaceID: f.WorkspaceID, Page: storage.Page{Limit: 10}})
	b.ok(err, "Forms of the workspace")
	same(b, idsOf(forms, formID), []storage.ID{stays.ID}, "Forms of the workspace")
	webhooks, err := b.store.Webhooks(b.Context(), storage.AsHost(), storage.Page{Limit: 10})
	b.ok(err, "Webhooks")
	same(b, webhooks, nil, "Webhooks")
}

func trashIfRevision(b *bundle) {
	w := b.furnish()
	b.update(w.form.ID, storage.FormChange{Name: ptr("x"), At: b.tick()})
	b.unchanged("TrashForm with another revision", func() {
		stale := storage.TrashParams{At: w.now, IfRevision: []int64{1, 3}}
		b.isRevision(b.store.TrashForm(b.Context(), storage.As(w.owner), w.form.ID, stale), 2, "TrashForm with revisions that do not hold")
		b.is(b.store.TrashForm(b.Context(), storage.As(w.stranger), w.form.ID, stale), storage.ErrNotFound, "TrashForm of a form of another user")
		b.is(b.store.TrashForm(b.Context(), storage.As(w.owner), w.trashed.ID, stale), storage.ErrNotFound, "TrashForm of a form in the trash")
		b.is(b.store.TrashForm(b.Context(), storage.As(w.owner), w.form.ID, storage.TrashParams{}), storage.ErrInvalidValue, "TrashForm at no time")
	})
	p := storage.TrashParams{At: w.now, IfRevision: []int64{1, 2}}
	b.ok(b.store.TrashForm(b.Context(), storage.As(w.owner), w.form.ID, p), "TrashForm with a matching revision")
}

func trashLists(b *bundle) {
	want := b.anyForm()
	other := b.anyForm()
	member := b.addMember(want.WorkspaceID)
	b.update(want.ID, storage.FormChange{Name: ptr("Renamed"), At: b.tick()})
	want.TrashedAt = b.trashForm(want.ID)
	b.trashForm(other.ID)
	got, err := b.store.Forms(b.Context(), storage.As(member),
		storage.FormsParams{WorkspaceID: want.WorkspaceID, Trashed: true, Page: storage.Page{Limit: 10}})
	b.ok(err, "Forms in the trash")
	form := only(b, got, "Forms in the trash of one workspace")
	same(b, form.ID, want.ID, "the form in the trash")
	same(b, form.TrashedAt, want.TrashedAt, "TrashedAt")
	same(b, form.Revision, int64(2), "Revision in the trash")
	same(b, idsOf(b.trash(), formID), []storage.ID{other.ID, want.ID}, "Forms in the trash for the host")
}

func trashEndsDeliveries(b *bundle) {
	f := b.anyForm()
	b.addWebhook(f.ID)
	b.submit(f)
	claimed := b.claimOne()
	b.submit(f)
	b.trashForm(f.ID)
	b.nothingPending("the form is in the trash")
	b.claimNone("the form is in the trash")
	b.fenced(retried(claimed, soon(), atOnce), "its form is in the trash")
	b.ok(b.store.RestoreForm(b.Context(), f.ID, storage.ID{}, b.tick()), "RestoreForm")
	b.nothingPending("a form that is restored does not bring back deliveries")
	b.claimNone("a form that is restored does not bring back deliveries")
}

func trashLifetime(b *bundle) {
	f := b.anyForm()
	b.trashForm(f.ID)
	want := storage.Counters{Views: 10, Starts: 5, Submissions: 2}
	b.ok(b.store.SetLifetimeCounters(b.Context(), f.ID, want), "SetLifetimeCounters of a form in the trash")
	b.ok(b.store.RestoreForm(b.Context(), f.ID, storage.ID{}, b.tick()), "RestoreForm")
	same(b, b.funnel(f.ID, time.Time{}, time.Time{}).Lifetime, &want, "Lifetime")
}

func restoreForm(b *bundle) {
	w := b.furnish()
	form := b.getForm(w.form.ID)
	submissions := b.submissions(w.form.ID)
	funnel := b.funnel(w.form.ID, time.Time{}, time.Time{})
	history := b.attempts(w.webhook.ID)
	b.trashForm(w.form.ID)
	b.ok(b.store.RestoreForm(b.Context(), w.form.ID, storage.ID{}, b.tick()), "RestoreForm")

	got := b.getForm(w.form.ID)
	same(b, got.TrashedAt, time.Time{}, "TrashedAt after RestoreForm")
	got.UpdatedAt = form.UpdatedAt // not told by the contract
	same(b, got, form, "Form after RestoreForm")
	same(b, b.submissions(w.form.ID), submissions, "Submissions after RestoreForm")
	same(b, b.funnel(w.form.ID, time.Time{}, time.Time{}), funnel, "Funnel after RestoreForm")
	same(b, b.attempts(w.webhook.ID), history, "Deliveries after RestoreForm")
	for _, f := range b.trash() {
		if f.ID == w.form.ID {
			b.Errorf("Forms with Trashed: the list still contains the restored form")
		}
	}

	b.trashForm(w.form.ID)
	b.ok(b.store.RestoreForm(b.Context(), w.form.ID, w.workspace.ID, b.tick()), "RestoreForm into the workspace where it was")
	same(b, b.getForm(w.form.ID).Revision, form.Revision, "Revision after RestoreForm into the workspace where it was")
}

func restoreElsewhere(b *bundle) {
	f := b.anyForm()
	into := b.addWorkspace(b.user())
	b.trashForm(f.ID)
	b.ok(b.store.RestoreForm(b.Context(), f.ID, into.ID, b.tick()), "RestoreForm into another workspace")
	got := b.getForm(f.ID)
	same(b, got.WorkspaceID, into.ID, "WorkspaceID after RestoreForm")
	same(b, got.Revision, int64(2), "Revision after RestoreForm into another workspace")
	_, err := b.store.Form(b.Context(), storage.As(into.OwnerID), f.ID)
	b.ok(err, "Form by the owner of the workspace that it was restored into")

	b.ok(b.store.DeleteWorkspace(b.Context(), storage.AsHost(), into.ID, b.tick()), "DeleteWorkspace")
	b.ok(b.store.RestoreForm(b.Context(), f.ID, f.WorkspaceID, b.tick()), "RestoreForm after the form's workspace was deleted")
	same(b, b.getForm(f.ID).Revision, int64(3), "Revision after the second RestoreForm")
}

func restoreIntoGone(b *bundle) {
	f := b.anyForm()
	gone := b.addWorkspace(b.user())
	b.ok(b.store.DeleteWorkspace(b.Context(), storage.AsHost(), gone.ID, b.tick()), "DeleteWorkspace")
	b.ok(b.store.DeleteWorkspace(b.Context(), storage.AsHost(), f.WorkspaceID, b.tick()), "DeleteWorkspace")
	b.unchanged("RestoreForm into a workspace that does not exist", func() {
		for what, into := range map[string]storage.ID{
			"its own, which is gone": {}, "its own, by name": f.WorkspaceID, "one that is gone": gone.ID, "an unknown one": newID(),
		} {
			b.is(b.store.RestoreForm(b.Context(), f.ID, into, b.tick()), storage.ErrConflict, "RestoreForm into %s", what)
		}
	})
}

func restoreNotTrashed(b *bundle) {
	f := b.anyForm()
	b.unchanged("RestoreForm of a form that is not in the trash", func() {
		b.is(b.store.RestoreForm(b.Context(), f.ID, storage.ID{}, b.tick()), storage.ErrNotFound, "RestoreForm")
		b.is(b.store.RestoreForm(b.Context(), f.ID, f.WorkspaceID, b.tick()), storage.ErrNotFound, "RestoreForm with a workspace")
	})
}
