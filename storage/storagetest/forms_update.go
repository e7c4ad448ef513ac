package storagetest

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/formsvc/formsvc/storage"
)

func formUpdateCases() []Case {
	return []Case{
		{"update_members", "UpdateForm changes the fields that are set, increases the revision by one and returns the new state.", updateFormMembers},
		{"update_sections", "UpdateForm replaces the sections that are set and retains the others.", updateFormSections},
		{"update_format", "A change with a section sets the format, and a change without sections does not.", updateFormFormat},
		{"update_same_values", "If every value and byte stays the same, UpdateForm does not change the revision and UpdatedAt, but still checks IfRevision.", updateFormSameValues},
		{"if_revision", "UpdateForm with IfRevision succeeds if the form is at one of these revisions.", ifRevision},
		{"if_revision_mismatch", "If IfRevision does not match, UpdateForm returns a *RevisionError with the current revision and changes nothing.", ifRevisionMismatch},
		{"move", "UpdateForm moves a form to another accessible workspace.", moveForm},
		{"move_takes_owner", "UpdateForm returns ErrNotOwner if the form would leave a workspace that the actor does not own.", moveTakesOwner},
		{"update_order_of_errors", "UpdateForm checks the form, the target workspace, the owner and the revision in this order.", updateFormOrder},
		{"update_documents", "UpdateForm writes Documents with the form, or returns ErrUnimplemented and changes nothing if the store has no documents.", updateFormDocuments},
		{"status_both_ways", "A form can be published and made a draft again.", statusBothWays},
	}
}

// update changes a form as the host.
func (b *bundle) update(id storage.ID, c storage.FormChange) storage.Form {
	b.Helper()
	got, err := b.store.UpdateForm(b.Context(), storage.AsHost(), id, c)
	b.ok(err, "UpdateForm")
	return got
}

func updateFormMembers(b *bundle) {
	want := b.anyForm()
	check := func(what string, c storage.FormChange) {
		b.Helper()
		c.At = b.tick()
		want.Revision++
		want.UpdatedAt = c.At
		same(b, b.update(want.ID, c), want, "what UpdateForm returns with a new %s", what)
		same(b, b.getForm(want.ID), want, "Form after UpdateForm with a new %s", what)
	}
	want.Name = text("Renamed")
	check("name", storage.FormChange{Name: &want.Name})
	want.Type = "MULTI"
	check("type", storage.FormChange{Type: &want.Type})
	want.Status = storage.StatusDraft
	check("status", storage.FormChange{Status: &want.Status})
	want.Acceptance = storage.AcceptanceRules{Closed: true, CloseAt: at(time.Minute), ResponseLimit: 3}
	check("gate", storage.FormChange{Acceptance: &want.Acceptance})
	want.Acceptance.OpenAt = at(time.Second)
	check("opening time", storage.FormChange{Acceptance: &want.Acceptance})
	want.Acceptance = storage.AcceptanceRules{}
	check("gate that is empty", storage.FormChange{Acceptance: &want.Acceptance})
}

func updateFormSections(b *bundle) {
	want := b.anyForm()
	values := [...]string{`[]`, `{"closed":true}`, `{}`, `{"n":1e2}`, `["a","b"]`}
	for i, wanted := range want.Sections() {
		c := storage.FormChange{At: b.tick(), Definition: storage.Definition{Format: 1}}
		*c.Definition.Sections()[i].Value = json.RawMessage(values[i])
		*wanted.Value = json.RawMessage(values[i])
		want.Revision++
		want.UpdatedAt = c.At
		same(b, b.update(want.ID, c), want, "what UpdateForm returns with new %s", wanted.Name)
		same(b, b.getForm(want.ID), want, "Form after UpdateForm with new %s", wanted.Name)
	}
}

func updateFormFormat(b *bundle) {
	f := b.anyForm()
	f = b.update(f.ID, storage.FormChange{Definition: storage.Definition{Theme: json.RawMessage(`{}`), Format: 5}, At: b.tick()})
	same(b, f.Definition.Format, 5, "Format after a change of a section")
	f = b.update(f.ID, storage.FormChange{Name: ptr("x"), Definition: storage.Definition{Format: 9}, At: b.tick()})
	same(b, f.Definition.Format, 5, "Format after a change of no section")
	same(b, b.getForm(f.ID).Definition.Format, 5, "Format as it is stored")
}

func updateFormSameValues(b *bundle) {
	f := b.anyForm(func(f *storage.Form) {
		f.Acceptance = storage.AcceptanceRules{OpenAt: at(-time.Hour), CloseAt: at(time.Hour), ResponseLimit: 5}
	})
	changes := map[string]storage.FormChange{
		"time only":   {},
		"name":        {Name: &f.Name},
		"type":        {Type: &f.Type},
		"status":      {Status: &f.Status},
		"workspace":   {WorkspaceID: &f.WorkspaceID},
		"gate":        {Acceptance: &f.Acceptance},
		"sections":    {Definition: f.Definition},
		"all of that": {Name: &f.Name, Type: &f.Type, Status: &f.Status, WorkspaceID: &f.WorkspaceID, Acceptance: &f.Acceptance, Definition: f.Definition},
	}
	for what, c := range changes {
		c.At = b.tick()
		same(b, b.update(f.ID, c), f, "what UpdateForm returns for the same values: %s", what)
		c.IfRevision = []int64{7}
		_, err := b.store.UpdateForm(b.Context(), storage.AsHost(), f.ID, c)
		b.isRevision(err, 1, "UpdateForm of the same values with another revision")
		same(b, b.getForm(f.ID), f, "Form after UpdateForm of the same values: %s", what)
	}
	f.Definition.Settings = json.RawMessage(`{"branding": true, "lang":"en"}`)
	f.Revision, f.UpdatedAt = 2, b.tick()
	got := b.update(f.ID, storage.FormChange{Name: &f.Name, Definition: f.Definition, At: f.UpdatedAt})
	same(b, got, f, "what UpdateForm returns when one of several values differs")
}

func moveTakesOwner(b *bundle) {
	w := b.furnish() // the member is one of both workspaces
	b.unchanged("a move by a member", func() {
		_, err := b.store.UpdateForm(b.Context(), storage.As(w.member), w.form.ID,
			storage.FormChange{Name: ptr("changed"), WorkspaceID: &w.second.ID, At: w.now})
		b.is(err, storage.ErrNotOwner, "UpdateForm by a member that moves the form")
	})
	_, err := b.store.UpdateForm(b.Context(), storage.As(w.member), w.form.ID,
		storage.FormChange{Name: ptr("changed"), WorkspaceID: &w.workspace.ID, At: w.now})
	b.ok(err, "UpdateForm by a member with the workspace where the form is")

	// The owner of the workspace that the form leaves need not own the other one.
	b.ok(b.store.SetMember(b.Context(), w.foreign.ID, w.owner, true), "SetMember")
	_, err = b.store.UpdateForm(b.Context(), storage.As(w.owner), w.form.ID, storage.FormChange{WorkspaceID: &w.foreign.ID, At: w.now})
	b.ok(err, "UpdateForm by the owner, into another user's workspace")
	_, err = b.store.UpdateForm(b.Context(), storage.As(w.owner), w.form.ID, storage.FormChange{WorkspaceID: &w.workspace.ID, At: w.now})
	b.is(err, storage.ErrNotOwner, "UpdateForm back to the previous workspace, by a user who does not own the current one")
}

func updateFormOrder(b *bundle) {
	w := b.furnish()
	unknown := newID()
	b.unchanged("UpdateForm with several faults", func() {
		for _, c := range []struct {
			what   string
			actor  storage.ID
			form   storage.ID
			change storage.FormChange
			want   error
		}{
			{"no such form, stale revision", w.owner, unknown, storage.FormChange{IfRevision: []int64{99}}, storage.ErrNotFound},
			{"unknown workspace, stale revision", w.owner, w.form.ID, storage.FormChange{WorkspaceID: &unknown, IfRevision: []int64{99}}, storage.ErrNotFound},
			{"foreign workspace, stale revision", w.owner, w.form.ID, storage.FormChange{WorkspaceID: &w.foreign.ID, IfRevision: []int64{99}}, storage.ErrNotFound},
			{"unknown workspace, not the owner", w.member, w.form.ID, storage.FormChange{WorkspaceID: &unknown}, storage.ErrNotFound},
			{"not the owner, stale revision", w.member, w.form.ID, storage.FormChange{WorkspaceID: &w.second.ID, IfRevision: []int64{99}}, storage.ErrNotOwner},
			{"stale revision", w.owner, w.form.ID, storage.FormChange{WorkspaceID: &w.second.ID, IfRevision: []int64{99}}, storage.ErrRevisionMismatch},
		} {
			c.change.Name, c.change.At = ptr("changed"), w.now
			_, err := b.store.UpdateForm(b.Context(), storage.As(c.actor), c.form, c.change)
			b.is(err, c.want, "UpdateForm: %s", c.what)
		}
	})
}

func ifRevision(b *bundle) {
	f := b.anyForm()
	for i, accepted := range [][]int64{{1}, {7, 2, 9}, {3, 3}, {}} {
		got := b.update(f.ID, storage.FormChange{Name: ptr(text("Form")), IfRevision: accepted, At: b.tick()})
		same(b, got.Revision, int64(i+2), "Revision after UpdateForm with IfRevision %v", accepted)
	}
}

func ifRevisionMismatch(b *bundle) {
	f := b.anyForm()
	b.update(f.ID, storage.FormChange{Name: ptr("x"), At: b.tick()})
	b.unchanged("UpdateForm with other revisions", func() {
		for _, expected := range [][]int64{{1}, {3}, {0}, {1, 3, -2}} {
			_, err := b.store.UpdateForm(b.Context(), storage.AsHost(), f.ID, storage.FormChange{
				Name: ptr("y"), Status: ptr(storage.StatusDraft), IfRevision: expected, At: b.tick(),
				Definition: storage.Definition{Blocks: json.RawMessage(`[1]`), Format: 2},
			})
			b.isRevision(err, 2, "UpdateForm with revisions that do not hold")
		}
	})
}

func moveForm(b *bundle) {
	owner := b.user()
	from, into := b.addWorkspace(owner), b.addWorkspace(owner)
	want := b.addForm(from.ID)
	want.WorkspaceID, want.Revision, want.UpdatedAt = into.ID, 2, b.tick()
	got, err := b.store.UpdateForm(b.Context(), storage.As(owner), want.ID, storage.FormChange{WorkspaceID: &into.ID, At: want.UpdatedAt})
	b.ok(err, "UpdateForm with a new workspace")
	same(b, got, want, "what UpdateForm returns")
	for _, w := range []struct {
		id   storage.ID
		want []storage.ID
	}{{from.ID, nil}, {into.ID, []storage.ID{want.ID}}} {
		list, err := b.store.Forms(b.Context(), storage.As(owner), storage.FormsParams{WorkspaceID: w.id, Page: storage.Page{Limit: 10}})
		b.ok(err, "Forms")
		same(b, idsOf(list, formID), w.want, "Forms of a workspace after the move")
	}
}

func statusBothWays(b *bundle) {
	f := b.anyForm(asDraft)
	for _, status := range []string{storage.StatusPublished, storage.StatusDraft, storage.StatusPublished} {
		b.update(f.ID, storage.FormChange{Status: &status, At: b.tick()})
		same(b, b.getForm(f.ID).Status, status, "Status")
	}
}

func updateFormDocuments(b *bundle) {
	f := b.anyForm()
	c := b.newDocument(version, "a")
	change := storage.FormChange{Name: ptr("changed"), At: b.tick(), Documents: []storage.DocumentChange{c}}
	if noDocuments(b.Context(), b.store) != "" {
		b.unchanged("UpdateForm with documents", func() {
			_, err := b.store.UpdateForm(b.Context(), storage.AsHost(), f.ID, change)
			if !errors.Is(err, storage.ErrUnimplemented) {
				b.Errorf("UpdateForm with documents: want ErrUnimplemented, as from PutDocument, got: %v", err)
			}
		})
		return
	}
	b.update(f.ID, change)
	same(b, b.document(f.ID, c.Kind, c.Key), documentOf(c), "Document after UpdateForm")
}
