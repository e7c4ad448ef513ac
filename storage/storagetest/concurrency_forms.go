package storagetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/formsvc/formsvc/storage"
)

func concurrentFormCases() []Case {
	return []Case{
		{"create_form_public_id", "Of 20 concurrent calls of CreateForm with the same public ID in two workspaces, exactly one succeeds, and FormByPublicID returns its form.", parallelPublicID},
		{"update_form_if_revision", "Of 20 concurrent updates with the same IfRevision, exactly one succeeds.", parallelIfRevision},
		{"update_form_sections", "Concurrent updates of different sections are all stored.", parallelSections},
		{"submit_during_trash", "A form that moves to the trash while submissions arrive retains the accepted submissions and has no pending delivery.", submitDuringTrash},
		{"submit_during_disable", "A webhook that is disabled while submissions arrive has no pending delivery afterwards.", submitDuringDisable},
		{"create_form_during_delete_workspace", "A form that is created while its workspace is deleted is in the trash afterwards, or is rejected.", createDuringDelete},
		{"move_form_during_delete_workspace", "A form that moves into a workspace while it is deleted is in the trash afterwards, or does not move.", moveDuringDelete},
		{"sweep", "Concurrent sweeps purge each form once and return no error.", parallelSweeps},
		{"removals", "When Sweep with RemovalsOnly reports no more work, the rows of earlier removals are removed, even with concurrent sweeps.", removalsDuringSweeps},
		{"members", "Concurrent calls of SetMember for different users are all stored.", parallelMembers},
	}
}

func parallelPublicID(b *bundle) {
	workspaces := []storage.ID{b.anyForm().WorkspaceID, b.anyForm().WorkspaceID}
	for range 5 {
		const n = 20
		publicID, forms := text("public"), make([]storage.Form, n)
		for i := range forms {
			forms[i] = b.newForm(workspaces[i%2])
			forms[i].PublicID = publicID
		}
		found := make([]storage.Form, n)
		errs := together(n, func(i int) error {
			err := b.store.CreateForm(b.Context(), storage.AsHost(), forms[i])
			var e error
			if found[i], e = b.store.FormByPublicID(b.Context(), publicID); e != nil {
				return e
			}
			return err
		})
		same(b, b.outcome(errs, storage.ErrConflict, "CreateForm"), 1, "calls of CreateForm that succeeded")
		for i, err := range errs {
			same(b, found[i].ID, found[0].ID, "the form that a call found")
			if err == nil {
				same(b, found[i].ID, forms[i].ID, "the form that was created")
			}
		}
	}
}

func parallelIfRevision(b *bundle) {
	f := b.anyForm()
	for revision := int64(1); revision <= 5; revision++ {
		const n = 20
		errs := together(n, func(i int) error {
			_, err := b.store.UpdateForm(b.Context(), storage.AsHost(), f.ID, storage.FormChange{
				Name: ptr(fmt.Sprint(revision, i)), IfRevision: []int64{revision}, At: at(time.Hour),
			})
			return err
		})
		same(b, b.outcome(errs, storage.ErrRevisionMismatch, "UpdateForm"), 1, "calls of UpdateForm that succeeded")
		got := b.getForm(f.ID)
		same(b, got.Revision, revision+1, "Revision")
		for i, err := range errs {
			if err == nil {
				same(b, got.Name, fmt.Sprint(revision, i), "Name from the call that succeeded")
			} else if mismatch := (*storage.RevisionError)(nil); errors.As(err, &mismatch) {
				same(b, mismatch.Current, revision+1, "RevisionError.Current")
			}
		}
	}
}

func parallelSections(b *bundle) {
	f := b.anyForm()
	const rounds, writers = 8, 6
	for round := range rounds {
		value := json.RawMessage(fmt.Sprintf(`{"round":%d}`, round))
		name := fmt.Sprintf("round %d", round)
		errs := together(writers, func(i int) error {
			c := storage.FormChange{At: at(time.Hour), Definition: storage.Definition{Format: 1}}
			if sections := c.Definition.Sections(); i < len(sections) {
				*sections[i].Value = value
			} else {
				c.Name = &name
			}
			_, err := b.store.UpdateForm(b.Context(), storage.AsHost(), f.ID, c)
			return err
		})
		for _, err := range errs {
			b.ok(err, "UpdateForm of one section concurrently with updates of the other sections")
		}
		got := b.getForm(f.ID)
		same(b, got.Definition, storage.Definition{
			Blocks: value, Settings: value, Theme: value, Variables: value, HiddenFields: value, Format: 1,
		}, "Definition after concurrent updates of all sections")
		same(b, got.Name, name, "Name after concurrent updates of all sections")
		same(b, got.Revision, int64(1+(round+1)*writers), "Revision: want an increase by one for each update")
	}
}

func submitDuringTrash(b *bundle) {
	for range 4 {
		f := b.anyForm()
		b.addWebhook(f.ID)
		errs := together(17, func(i int) error {
			if i == 8 {
				return b.store.TrashForm(b.Context(), storage.AsHost(), f.ID, storage.TrashParams{At: at(time.Hour)})
			}
			_, _, err := b.store.Submit(b.Context(), submissionAt(f, at(0)))
			return err
		})
		b.ok(errs[8], "TrashForm concurrently with Submit")
		accepted := b.outcome(errs, storage.ErrNotFound, "Submit") - 1
		b.nothingPending("the form moved to the trash while submissions arrived")
		b.ok(b.store.RestoreForm(b.Context(), f.ID, storage.ID{}, at(2*time.Hour)), "RestoreForm")
		same(b, len(b.submissions(f.ID)), accepted, "number of submissions: as many as were accepted")
		b.nothingPending("the form was in the trash")
	}
}

func submitDuringDisable(b *bundle) {
	f := b.anyForm()
	for range 4 {
		w := b.addWebhook(f.ID)
		errs := together(17, func(i int) error {
			if i == 8 {
				_, err := b.store.UpdateWebhook(b.Context(), storage.AsHost(), w.ID, storage.WebhookChange{Enabled: ptr(false), At: at(time.Hour)})
				return err
			}
			_, _, err := b.store.Submit(b.Context(), submissionAt(f, at(0)))
			return err
		})
		for _, err := range errs {
			b.ok(err, "Submit concurrently with UpdateWebhook")
		}
		b.updateWebhook(w.ID, storage.WebhookChange{Enabled: ptr(true)})
		b.nothingPending("the webhook was disabled while submissions arrived")
		b.updateWebhook(w.ID, storage.WebhookChange{Enabled: ptr(false)})
	}
	same(b, len(b.submissions(f.ID)), 4*16, "number of submissions")
}

func createDuringDelete(b *bundle) {
	for range 4 {
		w := b.addWorkspace(b.user())
		forms := make([]storage.Form, 12)
		for i := range forms {
			forms[i] = b.newForm(w.ID)
		}
		before := len(b.trash())
		errs := together(len(forms)+1, func(i int) error {
			if i == len(forms) {
				return b.store.DeleteWorkspace(b.Context(), storage.As(w.OwnerID), w.ID, at(time.Hour))
			}
			return b.store.CreateForm(b.Context(), storage.AsHost(), forms[i])
		})
		b.ok(errs[len(forms)], "DeleteWorkspace concurrently with CreateForm")
		created := b.outcome(errs, storage.ErrNotFound, "CreateForm") - 1
		same(b, len(b.trash())-before, created, "forms in the trash: as many as were created")
		b.noLiveForms()
	}
}

func moveDuringDelete(b *bundle) {
	for range 4 {
		owner := b.user()
		from, into := b.addWorkspace(owner), b.addWorkspace(owner)
		f := b.addForm(from.ID)
		errs := together(2, func(i int) error {
			if i == 0 {
				return b.store.DeleteWorkspace(b.Context(), storage.As(owner), into.ID, at(time.Hour))
			}
			_, err := b.store.UpdateForm(b.Context(), storage.As(owner), f.ID, storage.FormChange{WorkspaceID: &into.ID, At: at(time.Hour)})
			return err
		})
		b.ok(errs[0], "DeleteWorkspace concurrently with UpdateForm")
		got, err := b.store.Form(b.Context(), storage.AsHost(), f.ID)
		if errs[1] == nil { // moved first, then trashed with the workspace
			b.is(err, storage.ErrNotFound, "Form that was moved into a workspace that was deleted")
			continue
		}
		b.is(errs[1], storage.ErrNotFound, "UpdateForm into a workspace that was deleted")
		b.ok(err, "Form whose move was rejected")
		same(b, got.WorkspaceID, from.ID, "WorkspaceID of a form whose move was rejected")
	}
}

// noLiveForms reports a failure when a form is outside the trash.
func (b *bundle) noLiveForms() {
	b.Helper()
	list, err := b.store.Forms(b.Context(), storage.AsHost(), storage.FormsParams{Page: storage.Page{Limit: 100}})
	b.ok(err, "Forms")
	if len(list) > 0 {
		b.Errorf("Forms: want none, because every workspace was deleted, got %d", len(list))
	}
}

func parallelSweeps(b *bundle) {
	w := b.addWorkspace(b.user())
	const forms = 12
	for range forms {
		b.trashForm(b.addForm(w.ID).ID)
	}
	purged := make([]int, 6)
	errs := together(len(purged), func(i int) error {
		for {
			got, err := b.store.Sweep(b.Context(), storage.SweepParams{Now: soon(), TrashBefore: soon(), Max: 100})
			purged[i] += got.Forms
			if err != nil || !got.More {
				return err
			}
		}
	})
	sum := 0
	for i, err := range errs {
		b.ok(err, "Sweep concurrently with other sweeps")
		sum += purged[i]
	}
	sum += b.sweep(storage.SweepParams{Now: soon(), TrashBefore: soon(), Max: 100}).Forms // what the others left to each other
	same(b, sum, forms, "forms purged by all sweeps together")
	same(b, b.trash(), nil, "Forms in the trash")
}

func removalsDuringSweeps(b *bundle) {
	elsewhere := b.addWorkspace(b.user())
	for range 5 {
		user := b.user()
		w := b.addWorkspace(user)
		var forms []storage.Form
		for range 4 {
			f := b.addForm(w.ID)
			b.submit(f)
			same(b, b.getForm(f.ID).ID, f.ID, "ID of a form before the removal")
			forms = append(forms, f)
		}
		done := make(chan struct{})
		for _, err := range together(3, func(i int) error {
			if i > 0 {
				for {
					select {
					case <-done:
						return nil
					default:
					}
					if _, err := b.store.Sweep(b.Context(), storage.SweepParams{Now: soon(), Max: 1}); err != nil {
						return err
					}
				}
			}
			defer close(done)
			if err := b.store.DeleteUser(b.Context(), user, soon()); err != nil {
				return err
			}
			for {
				swept, err := b.store.Sweep(b.Context(), storage.SweepParams{Now: soon(), RemovalsOnly: true, Max: 1})
				if err != nil {
					return err
				}
				if !swept.More {
					break
				}
			}
			for _, f := range forms { // whose ids are free now
				f.WorkspaceID = elsewhere.ID
				if err := b.store.CreateForm(b.Context(), storage.AsHost(), f); err != nil {
					return fmt.Errorf("CreateForm with the id of a removed form: %w", err)
				}
			}
			return nil
		}) {
			b.ok(err, "DeleteUser and Sweep with RemovalsOnly concurrently with other sweeps")
		}
	}
}

func parallelMembers(b *bundle) {
	w := b.addWorkspace(b.user())
	users := make([]storage.ID, 20)
	for i := range users {
		users[i] = newID()
	}
	for _, err := range together(len(users), func(i int) error { return b.store.SetMember(b.Context(), w.ID, users[i], true) }) {
		b.ok(err, "SetMember concurrently with other calls")
	}
	b.members(w.ID, users...)
}
