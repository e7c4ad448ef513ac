package storagetest

import (
	"errors"

	"github.com/formsvc/formsvc/storage"
)

// isolationCases has one case for each call that takes an actor, and some about
// records of two tenants in one call.
func isolationCases() []Case {
	var cases []Case
	for _, op := range actorOperations() {
		cases = append(cases, Case{
			Name:  op.name,
			About: op.method + " shows and changes what belongs to the actor's workspaces, and to nobody else's; the zero actor has none, the host all.",
			run:   func(b *bundle) { actorSees(b, op) },
		})
	}
	return append(cases,
		Case{"lists_hold_own", "A list contains only the records of the actor's workspaces.", listsHoldOwn},
		Case{"former_member", "A user who is no longer a member cannot access anything in the workspace.", formerMember},
		Case{"former_owner", "A user who transferred a workspace and then left it cannot access anything in it.", formerOwner},
		Case{"moved_form", "A form that moved, and its webhooks and submissions, are accessible only in the new workspace.", movedForm},
		Case{"move_into_foreign", "Moving a form to a workspace that is not accessible returns ErrNotFound and changes nothing.", moveIntoForeign},
		Case{"submission_through_own_form", "A submission of another user's form is ErrNotFound with a form of the actor.", submissionThroughOwnForm},
		Case{"own_revision_of_foreign", "A form that is not accessible is ErrNotFound even if the expected revision does not match.", foreignRevision},
		Case{"foreign_key", "A user's keys can be listed and revoked only with that user's ID.", foreignKey},
	)
}

func actorSees(b *bundle, op operation) {
	w := b.furnish()
	ownerOnly := op.method == "UpdateWorkspace" || op.method == "DeleteWorkspace"
	b.unchanged(op.method+" by actors without access", func() {
		for name, actor := range map[string]storage.Actor{
			"another user":        storage.As(w.stranger),
			"an unknown user":     storage.As(newID()),
			"the zero actor":      {},
			"As with the zero ID": storage.As(storage.ID{}),
		} {
			if err := op.call(b.Context(), b.store, w, actor); !errors.Is(err, errNothing) {
				b.is(err, storage.ErrNotFound, "%s by %s", op.method, name)
			}
		}
		if ownerOnly {
			b.is(op.call(b.Context(), b.store, w, storage.As(w.member)), storage.ErrNotOwner, "%s by a member", op.method)
		}
	})
	// Calls that can be made once only get a world of their own for each actor.
	b.ok(op.call(b.Context(), b.store, w, storage.AsHost()), "%s by the host", op.method)
	w = b.refurnish(w)
	b.ok(op.call(b.Context(), b.store, w, storage.As(w.owner)), "%s by the owner", op.method)
	if !ownerOnly {
		w = b.refurnish(w)
		b.ok(op.call(b.Context(), b.store, w, storage.As(w.member)), "%s by a member", op.method)
	}
}

// refurnish makes another world beside the one given, whose delivery that is
// not claimed is settled first.
func (b *bundle) refurnish(w *world) *world {
	b.Helper()
	for _, d := range b.claimAll() {
		b.finish(ended(d, w.now))
	}
	return b.furnish()
}

func listsHoldOwn(b *bundle) {
	type tenant struct {
		owner     storage.ID
		workspace storage.Workspace
		form      storage.Form
		trashed   storage.Form
		webhook   storage.Webhook
	}
	var tenants [2]tenant
	for i := range tenants {
		t := &tenants[i]
		t.owner = b.user()
		t.workspace = b.addWorkspace(t.owner)
		t.form = b.addForm(t.workspace.ID)
		t.trashed = b.addForm(t.workspace.ID)
		t.webhook = b.addWebhook(t.form.ID)
		b.ok(b.store.TrashForm(b.Context(), storage.As(t.owner), t.trashed.ID, storage.TrashParams{At: b.tick()}), "TrashForm")
	}
	lists := func(actor storage.Actor) (all [4][]storage.ID) {
		page := storage.Page{Limit: 100}
		workspaces, err := b.store.Workspaces(b.Context(), actor, page)
		b.ok(err, "Workspaces")
		forms, err := b.store.Forms(b.Context(), actor, storage.FormsParams{Page: page})
		b.ok(err, "Forms")
		trashed, err := b.store.Forms(b.Context(), actor, storage.FormsParams{Trashed: true, Page: page})
		b.ok(err, "Forms in the trash")
		webhooks, err := b.store.Webhooks(b.Context(), actor, page)
		b.ok(err, "Webhooks")
		all[0], all[1] = idsOf(workspaces, workspaceID), idsOf(forms, formID)
		all[2], all[3] = idsOf(trashed, formID), idsOf(webhooks, webhookID)
		return all
	}
	for i, name := range []string{"Workspaces", "Forms", "Forms in the trash", "Webhooks"} {
		ids := func(t tenant) storage.ID {
			return [4]storage.ID{t.workspace.ID, t.form.ID, t.trashed.ID, t.webhook.ID}[i]
		}
		same(b, lists(storage.As(tenants[0].owner))[i], []storage.ID{ids(tenants[0])}, "%s of the first tenant", name)
		same(b, lists(storage.As(tenants[1].owner))[i], []storage.ID{ids(tenants[1])}, "%s of the second tenant", name)
		same(b, lists(storage.AsHost())[i], []storage.ID{ids(tenants[1]), ids(tenants[0])}, "%s for the host", name)
		same(b, lists(storage.Actor{})[i], nil, "%s for the zero actor", name)
	}
}

func formerMember(b *bundle) {
	w := b.furnish()
	b.ok(b.store.SetMember(b.Context(), w.workspace.ID, w.member, false), "SetMember")
	b.seesNothing(w, w.member)
}

func formerOwner(b *bundle) {
	w := b.furnish()
	_, err := b.store.UpdateWorkspace(b.Context(), storage.As(w.owner), w.workspace.ID,
		storage.WorkspaceChange{Owner: &w.stranger, At: w.now})
	b.ok(err, "UpdateWorkspace with a new owner")
	b.ok(b.store.SetMember(b.Context(), w.workspace.ID, w.owner, false), "SetMember for the previous owner")
	b.seesNothing(w, w.owner)
}

// seesNothing goes through every call with an actor.
func (b *bundle) seesNothing(w *world, user storage.ID) {
	b.Helper()
	b.unchanged("calls by actors without access", func() {
		for _, op := range actorOperations() {
			if err := op.call(b.Context(), b.store, w, storage.As(user)); !errors.Is(err, errNothing) {
				b.is(err, storage.ErrNotFound, "%s", op.method)
			}
		}
	})
}

func movedForm(b *bundle) {
	w := b.furnish()
	_, err := b.store.UpdateForm(b.Context(), storage.AsHost(), w.form.ID,
		storage.FormChange{WorkspaceID: &w.foreign.ID, At: w.now})
	b.ok(err, "UpdateForm with a new workspace")

	_, err = b.store.Form(b.Context(), storage.As(w.owner), w.form.ID)
	b.is(err, storage.ErrNotFound, "Form by the owner of the workspace that it left")
	_, err = b.store.Webhook(b.Context(), storage.As(w.owner), w.webhook.ID)
	b.is(err, storage.ErrNotFound, "Webhook by the owner of the workspace that the form left")
	_, err = b.store.Submission(b.Context(), storage.As(w.owner), w.form.ID, w.first.Submission.ID)
	b.is(err, storage.ErrNotFound, "Submission by the owner of the workspace that the form left")

	_, err = b.store.Form(b.Context(), storage.As(w.stranger), w.form.ID)
	b.ok(err, "Form by the owner of its workspace")
	webhooks, err := b.store.Webhooks(b.Context(), storage.As(w.stranger), storage.Page{Limit: 10})
	b.ok(err, "Webhooks")
	same(b, idsOf(webhooks, webhookID), []storage.ID{w.webhook.ID}, "Webhooks by the owner of the form's workspace")
	_, err = b.store.Submission(b.Context(), storage.As(w.stranger), w.form.ID, w.first.Submission.ID)
	b.ok(err, "Submission by the owner of the form's workspace")
}

func moveIntoForeign(b *bundle) {
	w := b.furnish()
	b.unchanged("UpdateForm with a workspace that is not accessible", func() {
		for _, into := range []storage.ID{w.foreign.ID, newID()} {
			_, err := b.store.UpdateForm(b.Context(), storage.As(w.owner), w.form.ID,
				storage.FormChange{Name: ptr("changed"), WorkspaceID: &into, At: w.now})
			b.is(err, storage.ErrNotFound, "UpdateForm into a workspace that is not accessible")
		}
	})
}

func submissionThroughOwnForm(b *bundle) {
	w := b.furnish()
	own := b.addForm(w.foreign.ID)
	b.unchanged("DeleteSubmission with another form of the actor", func() {
		_, err := b.store.Submission(b.Context(), storage.As(w.stranger), own.ID, w.first.Submission.ID)
		b.is(err, storage.ErrNotFound, "Submission of another form")
		err = b.store.DeleteSubmission(b.Context(), storage.As(w.stranger), own.ID, w.first.Submission.ID)
		b.is(err, storage.ErrNotFound, "DeleteSubmission of another form")
		_, err = b.store.SubmissionByKey(b.Context(), own.ID, w.first.IdempotencyKey)
		b.is(err, storage.ErrNotFound, "SubmissionByKey with another form's key")
	})
}

func foreignRevision(b *bundle) {
	w := b.furnish()
	_, err := b.store.UpdateForm(b.Context(), storage.As(w.stranger), w.form.ID,
		storage.FormChange{Name: ptr("changed"), IfRevision: []int64{99}, At: w.now})
	b.is(err, storage.ErrNotFound, "UpdateForm of a form of another user with a wrong revision")
}

func foreignKey(b *bundle) {
	w := b.furnish()
	keys, err := b.store.Keys(b.Context(), w.stranger)
	b.ok(err, "Keys")
	same(b, keys, nil, "Keys of a user who has none")
	b.unchanged("RevokeKey by another user", func() {
		b.is(b.store.RevokeKey(b.Context(), w.stranger, w.key.ID, w.now), storage.ErrNotFound, "RevokeKey by another user")
	})
}
