package storagetest

import (
	"strings"
	"time"

	"github.com/formsvc/formsvc/storage"
)

func formCases() []Case {
	return []Case{
		{"create_and_read", "A form is returned as it was created, with revision 1.", createForm},
		{"create_taken", "CreateForm returns ErrConflict if the ID or the public ID is taken. Public IDs that differ in case are different.", createTakenForm},
		{"create_without_workspace", "CreateForm returns ErrNotFound if the workspace does not exist.", createFormNowhere},
		{"unknown", "A form that does not exist is ErrNotFound.", unknownForm},
		{"by_public_id", "FormByPublicID returns a form with its definition, whatever its status.", formByPublicID},
		{"list_without_definition", "Forms lists forms without their definitions.", listFormsBare},
		{"list_of_workspace", "Forms with a workspace lists only the forms of that workspace.", listFormsOfWorkspace},
		{"list_of_unknown_workspace", "Forms of a workspace that is not accessible returns ErrNotFound, and an empty list for the host.", listFormsOfUnknown},
		{"full", "LimitReached reports whether as many submissions are stored as the response limit allows, without deleted submissions.", fullForm},
		{"full_follows_limit", "LimitReached immediately reflects a change of the response limit.", fullFollowsLimit},
		{"revision_of_the_form_only", "Only changes of the form increase its revision.", revisionStays},
	}
}

func createForm(b *bundle) {
	want := b.anyForm(func(f *storage.Form) {
		f.Type = "MULTI"
		f.Acceptance = storage.AcceptanceRules{Closed: true, OpenAt: at(-time.Hour), CloseAt: at(time.Hour), ResponseLimit: 12}
		f.Definition.Format = 7
	})
	same(b, b.getForm(want.ID), want, "Form")
	draft := b.anyForm(asDraft)
	same(b, b.getForm(draft.ID), draft, "Form of a draft without a gate")
}

func createTakenForm(b *bundle) {
	first := b.anyForm()
	sameID, samePublicID := b.newForm(first.WorkspaceID), b.newForm(first.WorkspaceID)
	sameID.ID, samePublicID.PublicID = first.ID, first.PublicID
	b.unchanged("CreateForm with an existing ID", func() {
		b.is(b.store.CreateForm(b.Context(), storage.AsHost(), sameID), storage.ErrConflict, "CreateForm with an existing ID")
		b.is(b.store.CreateForm(b.Context(), storage.AsHost(), samePublicID), storage.ErrConflict, "CreateForm with an existing PublicID")
	})
	b.ok(b.store.TrashForm(b.Context(), storage.AsHost(), first.ID, storage.TrashParams{At: b.tick()}), "TrashForm")
	b.is(b.store.CreateForm(b.Context(), storage.AsHost(), samePublicID), storage.ErrConflict,
		"CreateForm with the PublicID of a form in the trash, which may come back")
	lower, upper := b.newForm(first.WorkspaceID), b.newForm(first.WorkspaceID)
	lower.PublicID = text("case")
	upper.PublicID = strings.ToUpper(lower.PublicID)
	for _, f := range []storage.Form{lower, upper} {
		b.ok(b.store.CreateForm(b.Context(), storage.AsHost(), f), "CreateForm with the PublicID %s", f.PublicID)
		got, err := b.store.FormByPublicID(b.Context(), f.PublicID)
		b.ok(err, "FormByPublicID")
		same(b, got.ID, f.ID, "the form with the PublicID %s", f.PublicID)
	}
}

func createFormNowhere(b *bundle) {
	user := b.user()
	b.is(b.store.CreateForm(b.Context(), storage.AsHost(), b.newForm(newID())), storage.ErrNotFound, "CreateForm by the host")
	b.is(b.store.CreateForm(b.Context(), storage.As(user), b.newForm(newID())), storage.ErrNotFound, "CreateForm by a user")
	b.is(b.store.CreateForm(b.Context(), storage.AsHost(), b.newForm(storage.ID{})), storage.ErrNotFound, "CreateForm in the zero workspace")
}

func unknownForm(b *bundle) {
	host := storage.AsHost()
	_, err := b.store.Form(b.Context(), host, newID())
	b.is(err, storage.ErrNotFound, "Form")
	_, err = b.store.FormByPublicID(b.Context(), text("f"))
	b.is(err, storage.ErrNotFound, "FormByPublicID")
	_, err = b.store.FormByPublicID(b.Context(), "")
	b.is(err, storage.ErrNotFound, "FormByPublicID of the empty string")
	_, err = b.store.UpdateForm(b.Context(), host, newID(), storage.FormChange{Name: ptr("x"), At: b.tick()})
	b.is(err, storage.ErrNotFound, "UpdateForm")
	b.is(b.store.TrashForm(b.Context(), host, newID(), storage.TrashParams{At: b.tick()}), storage.ErrNotFound, "TrashForm")
	b.is(b.store.RestoreForm(b.Context(), newID(), storage.ID{}, b.tick()), storage.ErrNotFound, "RestoreForm")
}

func formByPublicID(b *bundle) {
	for _, want := range []storage.Form{b.anyForm(), b.anyForm(asDraft)} {
		got, err := b.store.FormByPublicID(b.Context(), want.PublicID)
		b.ok(err, "FormByPublicID of a %s form", want.Status)
		same(b, got, want, "FormByPublicID")
	}
}

func listFormsBare(b *bundle) {
	f := b.anyForm()
	list, err := b.store.Forms(b.Context(), storage.AsHost(), storage.FormsParams{Page: storage.Page{Limit: 10}})
	b.ok(err, "Forms")
	got := only(b, list, "Forms")
	d := got.Definition
	if n := len(d.Blocks) + len(d.Settings) + len(d.Theme) + len(d.Variables) + len(d.HiddenFields); n > 0 {
		b.Errorf("Forms: want empty definitions, got %d bytes", n)
	}
	got.Definition, f.Definition = storage.Definition{}, storage.Definition{}
	same(b, got, f, "the rest of the form in the list")
}

func listFormsOfWorkspace(b *bundle) {
	owner := b.user()
	one, two := b.addWorkspace(owner), b.addWorkspace(owner)
	first, other, second := b.addForm(one.ID), b.addForm(two.ID), b.addForm(one.ID)
	for name, actor := range map[string]storage.Actor{"the owner": storage.As(owner), "the host": storage.AsHost()} {
		list := func(q storage.FormsParams) []storage.ID {
			q.Page.Limit = 10
			got, err := b.store.Forms(b.Context(), actor, q)
			b.ok(err, "Forms")
			return idsOf(got, formID)
		}
		same(b, list(storage.FormsParams{WorkspaceID: one.ID}), []storage.ID{second.ID, first.ID}, "Forms of one workspace for %s", name)
		same(b, list(storage.FormsParams{}), []storage.ID{second.ID, other.ID, first.ID}, "Forms of all workspaces for %s", name)
		same(b, list(storage.FormsParams{Trashed: true}), nil, "Forms in the empty trash for %s", name)
	}
}

func listFormsOfUnknown(b *bundle) {
	f := b.anyForm()
	for _, trashed := range []bool{false, true} {
		q := storage.FormsParams{WorkspaceID: newID(), Trashed: trashed, Page: storage.Page{Limit: 10}}
		_, err := b.store.Forms(b.Context(), storage.As(b.user()), q)
		b.is(err, storage.ErrNotFound, "Forms of an unknown workspace for a user")
		got, err := b.store.Forms(b.Context(), storage.AsHost(), q)
		b.ok(err, "Forms of an unknown workspace for the host")
		same(b, got, nil, "Forms of an unknown workspace for the host")
		q.WorkspaceID = f.WorkspaceID
		_, err = b.store.Forms(b.Context(), storage.As(b.user()), q)
		b.is(err, storage.ErrNotFound, "Forms of a workspace of another user")
	}
}

// full reports a failure unless every way to read the form tells the same.
func (b *bundle) full(f storage.Form, want bool, when string) {
	b.Helper()
	same(b, b.getForm(f.ID).LimitReached, want, "Form.LimitReached %s", when)
	got, err := b.store.FormByPublicID(b.Context(), f.PublicID)
	b.ok(err, "FormByPublicID")
	same(b, got.LimitReached, want, "LimitReached in FormByPublicID %s", when)
	list, err := b.store.Forms(b.Context(), storage.AsHost(), storage.FormsParams{WorkspaceID: f.WorkspaceID, Page: storage.Page{Limit: 1}})
	b.ok(err, "Forms")
	if len(list) != 1 || list[0].LimitReached != want {
		b.Errorf("LimitReached in Forms %s: want %v, got %v", when, want, list)
	}
}

func fullForm(b *bundle) {
	f := b.anyForm(withLimit(2))
	b.full(f, false, "without submissions")
	b.submit(f)
	b.full(f, false, "with 1 submission of 2")
	n := b.submit(f)
	b.full(f, true, "with 2 submissions of 2")
	b.ok(b.store.DeleteSubmission(b.Context(), storage.AsHost(), f.ID, n.Submission.ID), "DeleteSubmission")
	b.full(f, false, "after one of 2 was deleted")

	unlimited := b.anyForm()
	b.submit(unlimited)
	b.full(unlimited, false, "without a limit")
}

func fullFollowsLimit(b *bundle) {
	f := b.anyForm()
	b.submit(f)
	b.submit(f)
	for _, step := range []struct {
		limit int64
		full  bool
	}{{3, false}, {2, true}, {1, true}, {0, false}} {
		got, err := b.store.UpdateForm(b.Context(), storage.AsHost(), f.ID,
			storage.FormChange{Acceptance: &storage.AcceptanceRules{ResponseLimit: step.limit}, At: b.tick()})
		b.ok(err, "UpdateForm with a limit of %d", step.limit)
		same(b, got.LimitReached, step.full, "LimitReached in the result of UpdateForm with 2 submissions and the limit %d", step.limit)
		b.full(f, step.full, "after UpdateForm")
	}
}

func revisionStays(b *bundle) {
	f := b.anyForm()
	w := b.addWebhook(f.ID)
	n := b.submit(f)
	b.finish(ended(b.claimOne(), b.tick()))
	b.ok(b.store.CountFunnel(b.Context(), counted(f.ID, b.tick(), storage.Counters{Views: 1})), "CountFunnel")
	b.ok(b.store.SetLifetimeCounters(b.Context(), f.ID, storage.Counters{Views: 1}), "SetLifetimeCounters")
	b.ok(b.store.DeleteSubmission(b.Context(), storage.AsHost(), f.ID, n.Submission.ID), "DeleteSubmission")
	b.ok(b.store.DeleteWebhook(b.Context(), storage.AsHost(), w.ID), "DeleteWebhook")
	_, err := b.store.UpdateWorkspace(b.Context(), storage.AsHost(), f.WorkspaceID, storage.WorkspaceChange{Name: ptr("x"), At: b.tick()})
	b.ok(err, "UpdateWorkspace")
	same(b, b.getForm(f.ID).Revision, int64(1), "Revision after calls that do not change the form")
}
