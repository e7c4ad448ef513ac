package storagetest

import (
	"encoding/json"
	"time"

	"github.com/formsvc/formsvc/storage"
)

func formUpdateCases() []Case {
	return []Case{
		{"update_members", "UpdateForm changes the members that are set, raises the revision by one and returns the form as it is then.", updateFormMembers},
		{"update_sections", "UpdateForm replaces the sections that are set and keeps the others.", updateFormSections},
		{"update_format", "A change of any section sets the format, a change of none leaves it.", updateFormFormat},
		{"update_same_values", "UpdateForm raises the revision also when the values are what they were.", updateFormSameValues},
		{"if_revision", "UpdateForm with IfRevision succeeds when the form's revision is one of those.", ifRevision},
		{"if_revision_mismatch", "UpdateForm returns a *RevisionError with the current revision when IfRevision does not hold, and changes nothing.", ifRevisionMismatch},
		{"move", "UpdateForm moves a form to another accessible workspace.", moveForm},
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
	want.Status = storage.StatusDraft
	check("status", storage.FormChange{Status: &want.Status})
	want.Gate = storage.Gate{Closed: true, CloseAt: at(time.Minute), ResponseLimit: 3}
	check("gate", storage.FormChange{Gate: &want.Gate})
	want.Gate = storage.Gate{}
	check("gate that is empty", storage.FormChange{Gate: &want.Gate})
	check("time only", storage.FormChange{})
}

func updateFormSections(b *bundle) {
	want := b.anyForm()
	for _, s := range []struct {
		name  string
		of    func(*storage.Definition) *json.RawMessage
		value string
	}{
		{"blocks", func(d *storage.Definition) *json.RawMessage { return &d.Blocks }, `[]`},
		{"settings", func(d *storage.Definition) *json.RawMessage { return &d.Settings }, `{"closed":true}`},
		{"theme", func(d *storage.Definition) *json.RawMessage { return &d.Theme }, `{}`},
		{"variables", func(d *storage.Definition) *json.RawMessage { return &d.Variables }, `{"n":1e2}`},
		{"hidden fields", func(d *storage.Definition) *json.RawMessage { return &d.HiddenFields }, `["a","b"]`},
	} {
		c := storage.FormChange{At: b.tick(), Definition: storage.Definition{Format: 1}}
		*s.of(&c.Definition) = json.RawMessage(s.value)
		*s.of(&want.Definition) = json.RawMessage(s.value)
		want.Revision++
		want.UpdatedAt = c.At
		same(b, b.update(want.ID, c), want, "what UpdateForm returns with new %s", s.name)
		same(b, b.getForm(want.ID), want, "Form after UpdateForm with new %s", s.name)
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
	f := b.anyForm()
	got := b.update(f.ID, storage.FormChange{Name: &f.Name, At: b.tick()})
	same(b, got.Revision, int64(2), "Revision after an update with the same name")
}

func ifRevision(b *bundle) {
	f := b.anyForm()
	for i, accepted := range [][]int64{{1}, {7, 2, 9}, {3, 3}, {}} {
		got := b.update(f.ID, storage.FormChange{Name: ptr("x"), IfRevision: accepted, At: b.tick()})
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
		list, err := b.store.Forms(b.Context(), storage.As(owner), storage.FormQuery{WorkspaceID: w.id, Page: storage.Page{Limit: 10}})
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
