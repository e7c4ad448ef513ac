package storagetest

import (
	"strings"
	"time"

	"github.com/formsvc/formsvc/storage"
)

func workspaceCases() []Case {
	return []Case{
		{"create_and_read", "A workspace is returned as it was created.", createWorkspace},
		{"create_taken", "CreateWorkspace returns ErrConflict if the ID or the public ID is taken.", createTakenWorkspace},
		{"create_limit", "CreateWorkspace returns ErrLimitReached if the owner owns max workspaces, and memberships do not count.", createWorkspaceLimit},
		{"create_unlimited", "CreateWorkspace with a max below 1 has no limit.", createWorkspaceUnlimited},
		{"unknown", "A workspace that does not exist is ErrNotFound.", unknownWorkspace},
		{"list", "Workspaces lists the workspaces that the actor owns or is a member of, newest first.", listWorkspaces},
		{"update", "UpdateWorkspace changes the name and UpdatedAt, returns the workspace, and retains the rest.", updateWorkspace},
		{"update_nothing", "UpdateWorkspace without set fields changes only UpdatedAt.", updateWorkspaceNothing},
		{"member_is_not_owner", "A member who updates or deletes a workspace receives ErrNotOwner and changes nothing.", memberIsNotOwner},
		{"hand_over", "A new owner owns the workspace and is not listed as a member, and the previous owner becomes a member.", handOver},
		{"hand_over_to_owner", "Transferring a workspace to its owner changes neither the owner nor the members.", handOverToOwner},
		{"delete_trashes_forms", "DeleteWorkspace removes the workspace and its members and moves its forms to the trash.", deleteWorkspace},
		{"delete_ends_deliveries", "DeleteWorkspace ends the pending deliveries of its forms.", deleteWorkspaceDeliveries},
		{"delete_at_once", "After DeleteWorkspace, every form of the workspace is in the trash for every method, and the workspace has no name.", deleteWorkspaceAtOnce},
		{"delete_keeps_trash", "DeleteWorkspace does not change forms that are already in the trash.", deleteWorkspaceKeepsTrash},
		{"delete_leaves_others", "DeleteWorkspace does not change other workspaces of the owner.", deleteWorkspaceLeavesOthers},
	}
}

func createWorkspace(b *bundle) {
	want := b.addWorkspace(b.user())
	got, err := b.store.Workspace(b.Context(), storage.As(want.OwnerID), want.ID)
	b.ok(err, "Workspace")
	same(b, got, want, "Workspace")
}

func createTakenWorkspace(b *bundle) {
	first := b.addWorkspace(b.user())
	sameID, samePublicID := b.newWorkspace(b.user()), b.newWorkspace(b.user())
	sameID.ID, samePublicID.PublicID = first.ID, first.PublicID
	b.unchanged("CreateWorkspace with an existing ID", func() {
		b.is(b.store.CreateWorkspace(b.Context(), sameID, 0), storage.ErrConflict, "CreateWorkspace with an existing ID")
		b.is(b.store.CreateWorkspace(b.Context(), samePublicID, 0), storage.ErrConflict, "CreateWorkspace with an existing PublicID")
	})
}

func createWorkspaceLimit(b *bundle) {
	owner, other := b.user(), b.user()
	joined := b.addWorkspace(other)
	b.ok(b.store.SetMember(b.Context(), joined.ID, owner, true), "SetMember")
	for i := range 3 {
		b.ok(b.store.CreateWorkspace(b.Context(), b.newWorkspace(owner), 3), "CreateWorkspace %d of at most 3", i+1)
	}
	b.unchanged("CreateWorkspace beyond max", func() {
		b.is(b.store.CreateWorkspace(b.Context(), b.newWorkspace(owner), 3), storage.ErrLimitReached, "CreateWorkspace 4 of at most 3")
		b.is(b.store.CreateWorkspace(b.Context(), b.newWorkspace(owner), 2), storage.ErrLimitReached, "CreateWorkspace 4 of at most 2")
	})
	b.ok(b.store.CreateWorkspace(b.Context(), b.newWorkspace(owner), 4), "CreateWorkspace 4 of at most 4")
	b.ok(b.store.CreateWorkspace(b.Context(), b.newWorkspace(b.user()), 1), "CreateWorkspace 1 for another owner")
}

func createWorkspaceUnlimited(b *bundle) {
	owner := b.user()
	for _, limit := range []int{0, -1, 0} {
		b.ok(b.store.CreateWorkspace(b.Context(), b.newWorkspace(owner), limit), "CreateWorkspace with max %d", limit)
	}
	got, err := b.store.Workspaces(b.Context(), storage.As(owner), storage.Page{Limit: 10})
	b.ok(err, "Workspaces")
	same(b, len(got), 3, "number of workspaces")
}

func unknownWorkspace(b *bundle) {
	b.addWorkspace(b.user())
	for _, actor := range []storage.Actor{storage.AsHost(), storage.As(b.user())} {
		_, err := b.store.Workspace(b.Context(), actor, newID())
		b.is(err, storage.ErrNotFound, "Workspace")
		_, err = b.store.UpdateWorkspace(b.Context(), actor, newID(), storage.WorkspaceChange{Name: ptr("x"), At: b.tick()})
		b.is(err, storage.ErrNotFound, "UpdateWorkspace")
		b.is(b.store.DeleteWorkspace(b.Context(), actor, newID(), b.tick()), storage.ErrNotFound, "DeleteWorkspace")
	}
}

func listWorkspaces(b *bundle) {
	user := b.user()
	owned := b.addWorkspace(user)
	joined := b.addWorkspace(b.user())
	b.addWorkspace(b.user()) // nothing to do with the user
	b.ok(b.store.SetMember(b.Context(), joined.ID, user, true), "SetMember")
	got, err := b.store.Workspaces(b.Context(), storage.As(user), storage.Page{Limit: 10})
	b.ok(err, "Workspaces")
	same(b, got, []storage.Workspace{joined, owned}, "Workspaces")
}

func updateWorkspace(b *bundle) {
	want := b.addWorkspace(b.user())
	for _, actor := range []storage.Actor{storage.As(want.OwnerID), storage.AsHost()} {
		want.Name, want.UpdatedAt = text("Renamed"), b.tick()
		got, err := b.store.UpdateWorkspace(b.Context(), actor, want.ID, storage.WorkspaceChange{Name: &want.Name, At: want.UpdatedAt})
		b.ok(err, "UpdateWorkspace")
		same(b, got, want, "what UpdateWorkspace returns")
		got, err = b.store.Workspace(b.Context(), actor, want.ID)
		b.ok(err, "Workspace")
		same(b, got, want, "Workspace after UpdateWorkspace")
	}
}

func updateWorkspaceNothing(b *bundle) {
	want := b.addWorkspace(b.user())
	want.UpdatedAt = b.tick()
	got, err := b.store.UpdateWorkspace(b.Context(), storage.As(want.OwnerID), want.ID, storage.WorkspaceChange{At: want.UpdatedAt})
	b.ok(err, "UpdateWorkspace")
	same(b, got, want, "what UpdateWorkspace returns")
}

func memberIsNotOwner(b *bundle) {
	w := b.addWorkspace(b.user())
	b.addForm(w.ID)
	member := b.addMember(w.ID)
	b.unchanged("calls of a member", func() {
		for _, c := range []storage.WorkspaceChange{{Name: ptr("x"), At: at(0)}, {Owner: &member, At: at(0)}, {At: at(0)}} {
			_, err := b.store.UpdateWorkspace(b.Context(), storage.As(member), w.ID, c)
			b.is(err, storage.ErrNotOwner, "UpdateWorkspace by a member")
		}
		b.is(b.store.DeleteWorkspace(b.Context(), storage.As(member), w.ID, b.tick()), storage.ErrNotOwner, "DeleteWorkspace by a member")
	})
}

func handOver(b *bundle) {
	w := b.addWorkspace(b.user())
	previous, other := w.OwnerID, b.addMember(w.ID)
	next := b.addMember(w.ID)
	w.OwnerID, w.UpdatedAt = next, b.tick()
	got, err := b.store.UpdateWorkspace(b.Context(), storage.As(previous), w.ID, storage.WorkspaceChange{Owner: &next, At: w.UpdatedAt})
	b.ok(err, "UpdateWorkspace with a new owner")
	same(b, got, w, "what UpdateWorkspace returns")
	b.members(w.ID, previous, other)

	_, err = b.store.UpdateWorkspace(b.Context(), storage.As(previous), w.ID, storage.WorkspaceChange{Name: ptr("x"), At: b.tick()})
	b.is(err, storage.ErrNotOwner, "UpdateWorkspace by the previous owner")
	b.ok(b.store.DeleteWorkspace(b.Context(), storage.As(next), w.ID, b.tick()), "DeleteWorkspace by the new owner")
}

func handOverToOwner(b *bundle) {
	w := b.addWorkspace(b.user())
	member := b.addMember(w.ID)
	w.UpdatedAt = b.tick()
	got, err := b.store.UpdateWorkspace(b.Context(), storage.As(w.OwnerID), w.ID, storage.WorkspaceChange{Owner: &w.OwnerID, At: w.UpdatedAt})
	b.ok(err, "UpdateWorkspace with the same owner")
	same(b, got, w, "what UpdateWorkspace returns")
	b.members(w.ID, member)
}

func deleteWorkspace(b *bundle) {
	w := b.addWorkspace(b.user())
	member := b.addMember(w.ID)
	first, second := b.addForm(w.ID), b.addForm(w.ID)
	when := b.tick()
	b.ok(b.store.DeleteWorkspace(b.Context(), storage.As(w.OwnerID), w.ID, when), "DeleteWorkspace")

	for _, actor := range []storage.Actor{storage.AsHost(), storage.As(w.OwnerID), storage.As(member)} {
		_, err := b.store.Workspace(b.Context(), actor, w.ID)
		b.is(err, storage.ErrNotFound, "Workspace after DeleteWorkspace")
		_, err = b.store.Form(b.Context(), actor, first.ID)
		b.is(err, storage.ErrNotFound, "Form after DeleteWorkspace")
	}
	_, err := b.store.Members(b.Context(), w.ID)
	b.is(err, storage.ErrNotFound, "Members after DeleteWorkspace")

	got, err := b.store.Forms(b.Context(), storage.AsHost(),
		storage.FormsParams{WorkspaceID: w.ID, Trashed: true, Page: storage.Page{Limit: 10}})
	b.ok(err, "Forms in the trash, of a workspace that no longer exists, for the host")
	same(b, idsOf(got, formID), []storage.ID{second.ID, first.ID}, "Forms in the trash")
	for _, f := range got {
		same(b, f.TrashedAt, when, "TrashedAt")
		same(b, f.Revision, int64(1), "Revision after the move to the trash")
	}
	_, err = b.store.Forms(b.Context(), storage.As(w.OwnerID),
		storage.FormsParams{WorkspaceID: w.ID, Trashed: true, Page: storage.Page{Limit: 10}})
	b.is(err, storage.ErrNotFound, "Forms of a workspace that no longer exists, for its former owner")
}

func deleteWorkspaceDeliveries(b *bundle) {
	f := b.anyForm()
	b.addWebhook(f.ID)
	b.submit(f)
	same(b, b.stats().Due, int64(1), "pending deliveries before DeleteWorkspace")
	b.ok(b.store.DeleteWorkspace(b.Context(), storage.AsHost(), f.WorkspaceID, b.tick()), "DeleteWorkspace")
	b.nothingPending("the form's workspace was deleted")
	b.claimNone("the form's workspace was deleted")
}

func deleteWorkspaceAtOnce(b *bundle) {
	w := b.furnish()
	name, foreign := w.workspace.Name, b.addForm(w.foreign.ID)
	b.ok(b.store.DeleteWorkspace(b.Context(), storage.AsHost(), w.workspace.ID, w.now), "DeleteWorkspace")
	host := storage.AsHost()
	b.unchanged("calls for records in a deleted workspace", func() {
		_, err := b.store.Form(b.Context(), host, w.form.ID)
		b.is(err, storage.ErrNotFound, "Form")
		_, err = b.store.FormByPublicID(b.Context(), w.form.PublicID)
		b.is(err, storage.ErrNotFound, "FormByPublicID")
		_, err = b.store.UpdateForm(b.Context(), host, w.form.ID, storage.FormChange{Name: ptr("x"), WorkspaceID: &w.second.ID, At: w.now})
		b.is(err, storage.ErrNotFound, "UpdateForm")
		b.is(b.store.TrashForm(b.Context(), host, w.form.ID, storage.TrashParams{At: w.now}), storage.ErrNotFound, "TrashForm")
		_, _, err = b.store.Submit(b.Context(), b.newSubmission(w.form))
		b.is(err, storage.ErrNotFound, "Submit")
		_, _, err = b.store.Submit(b.Context(), w.first)
		b.is(err, storage.ErrNotFound, "Submit with the same idempotency key")
		_, err = b.store.SubmissionByKey(b.Context(), w.form.ID, w.first.IdempotencyKey)
		b.is(err, storage.ErrNotFound, "SubmissionByKey")
		_, err = storage.ListSubmissions(b.Context(), b.store, host, w.form.ID, storage.SubmissionsParams{Page: storage.Page{Limit: 1}})
		b.is(err, storage.ErrNotFound, "Submissions")
		b.is(b.store.DeleteSubmission(b.Context(), host, w.form.ID, w.first.Submission.ID), storage.ErrNotFound, "DeleteSubmission")
		b.is(b.store.CountFunnel(b.Context(), counted(w.form.ID, w.now, storage.Counters{Views: 1})), storage.ErrNotFound, "CountFunnel")
		_, err = b.store.Funnel(b.Context(), host, w.form.ID, storage.Window{})
		b.is(err, storage.ErrNotFound, "Funnel")
		b.is(b.createWebhook(b.newWebhook(w.form.ID), 0), storage.ErrNotFound, "CreateWebhook")
		_, err = b.store.Webhook(b.Context(), host, w.webhook.ID)
		b.is(err, storage.ErrNotFound, "Webhook")
		b.is(b.store.CreateForm(b.Context(), host, b.newForm(w.workspace.ID)), storage.ErrNotFound, "CreateForm")
		_, err = b.store.UpdateForm(b.Context(), host, foreign.ID, storage.FormChange{WorkspaceID: &w.workspace.ID, At: w.now})
		b.is(err, storage.ErrNotFound, "UpdateForm into it")
	})
	for _, q := range []storage.FormsParams{{}, {WorkspaceID: w.workspace.ID}} {
		q.Page.Limit = 100
		list, err := b.store.Forms(b.Context(), host, q)
		b.ok(err, "Forms")
		for _, f := range list {
			if f.WorkspaceID == w.workspace.ID {
				b.Errorf("Forms: want no form of a deleted workspace, got %s", f.ID)
			}
		}
	}
	hooks, err := b.store.Webhooks(b.Context(), host, storage.Page{Limit: 100})
	b.ok(err, "Webhooks")
	same(b, hooks, nil, "Webhooks")
	if shown := b.snapshot(); strings.Contains(shown, name) {
		b.Errorf("the name of a deleted workspace is still shown")
	}
	b.ok(b.store.SetLifetimeCounters(b.Context(), w.form.ID, storage.Counters{Views: 1}), "SetLifetimeCounters of a form in the trash")
	b.ok(b.store.RestoreForm(b.Context(), w.form.ID, w.second.ID, w.now), "RestoreForm out of a deleted workspace")
	same(b, len(b.submissions(w.form.ID)), 3, "submissions of a form that was restored")
}

func deleteWorkspaceKeepsTrash(b *bundle) {
	f := b.anyForm()
	when := b.tick()
	b.ok(b.store.TrashForm(b.Context(), storage.AsHost(), f.ID, storage.TrashParams{At: when}), "TrashForm")
	b.ok(b.store.DeleteWorkspace(b.Context(), storage.AsHost(), f.WorkspaceID, when.Add(time.Hour)), "DeleteWorkspace")
	same(b, only(b, b.trash(), "Forms in the trash").TrashedAt, when, "TrashedAt of a form that was in the trash before")
}

func deleteWorkspaceLeavesOthers(b *bundle) {
	owner := b.user()
	other := b.addWorkspace(owner)
	f := b.addForm(other.ID)
	b.addWebhook(f.ID)
	b.submit(f)
	gone := b.addWorkspace(owner)
	before := b.getForm(f.ID)
	b.ok(b.store.DeleteWorkspace(b.Context(), storage.As(owner), gone.ID, b.tick()), "DeleteWorkspace")
	same(b, b.getForm(f.ID), before, "Form in another workspace")
	b.claimOne()
}
