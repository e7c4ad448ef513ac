package main

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// live is the condition for a form outside the trash; visible also asks whether the
// actor sees the form. The workspace of a live form always exists.
const (
	live    = `f.trashed = 0`
	visible = live + ` AND (?1 OR f.workspace IN (` + accessible + `))`
)

const formColumns = `f.id, f.public_id, f.workspace, f.name, f.type, f.status, f.revision,
	f.closed, f.close_at, f.response_limit, f.response_limit > 0 AND f.responses >= f.response_limit,
	f.unique_block, f.unique_rules, f.unique_block <> '' AND f.unique_to IS NULL, f.beside,
	f.created, f.updated, f.trashed`

const definitionColumns = `f.blocks, f.settings, f.theme, f.variables, f.hidden_fields, f.format`

func formFields(f *storage.Form) []any {
	return []any{
		&f.ID, &f.PublicID, &f.WorkspaceID, &f.Name, &f.Type, &f.Status, &f.Revision,
		&f.Gate.Closed, at(&f.Gate.CloseAt), &f.Gate.ResponseLimit, &f.Full,
		&f.Gate.Unique.Block, &f.Gate.Unique.Rules, &f.DuplicatesCovered, &f.Beside,
		at(&f.CreatedAt), at(&f.UpdatedAt), at(&f.TrashedAt),
	}
}

func definitionFields(d *storage.Definition) []any {
	return []any{&d.Blocks, &d.Settings, &d.Theme, &d.Variables, &d.HiddenFields, &d.Format}
}

// form returns a form with its definition, or ErrNotFound.
func (t *tx) form(condition string, args []any) (f storage.Form, err error) {
	err = t.one(`SELECT `+formColumns+`, `+definitionColumns+` FROM forms f WHERE `+condition, args,
		append(formFields(&f), definitionFields(&f.Definition)...)...)
	if err != nil {
		return storage.Form{}, err
	}
	return f, nil
}

func (t *tx) visibleForm(who storage.Actor, id storage.ID) (storage.Form, error) {
	return t.form(visible+` AND f.id = ?3`, whom(who, id))
}

// formIsVisible returns ErrNotFound when the actor does not see the form.
func (t *tx) formIsVisible(who storage.Actor, id storage.ID) error {
	found, err := t.exists(`SELECT 1 FROM forms f WHERE `+visible+` AND f.id = ?3`, whom(who, id)...)
	if err == nil && !found {
		return storage.ErrNotFound
	}
	return err
}

// CreateForm implements [storage.FormStore].
func (s *Store) CreateForm(ctx context.Context, who storage.Actor, f storage.Form) error {
	if err := check(f.PublicID, f.Name, f.Type, f.Status, f.Gate.CloseAt, f.Gate.Unique.Block, f.CreatedAt, f.UpdatedAt, f.Definition); err != nil {
		return err
	}
	return s.write(ctx, func(tx *tx) error {
		if _, err := tx.workspace(who, f.WorkspaceID); err != nil {
			return err
		}
		d := f.Definition
		return added(tx.exec(`INSERT INTO forms (id, public_id, workspace, name, type, status, revision,
				closed, close_at, response_limit, unique_block, unique_rules, created, updated,
				blocks, settings, theme, variables, hidden_fields, format)
			VALUES (?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			f.ID, f.PublicID, f.WorkspaceID, f.Name, f.Type, f.Status,
			f.Gate.Closed, f.Gate.CloseAt, f.Gate.ResponseLimit, f.Gate.Unique.Block, f.Gate.Unique.Rules, f.CreatedAt, f.UpdatedAt,
			[]byte(d.Blocks), []byte(d.Settings), []byte(d.Theme), []byte(d.Variables), []byte(d.HiddenFields), d.Format))
	})
}

// Form implements [storage.FormStore].
func (s *Store) Form(ctx context.Context, who storage.Actor, id storage.ID) (f storage.Form, err error) {
	err = s.read(ctx, func(tx *tx) error {
		f, err = tx.visibleForm(who, id)
		return err
	})
	return f, err
}

// FormByPublicID implements [storage.FormStore].
func (s *Store) FormByPublicID(ctx context.Context, publicID string) (f storage.Form, err error) {
	err = s.read(ctx, func(tx *tx) error {
		f, err = tx.form(live+` AND f.public_id = ?`, []any{publicID})
		return err
	})
	return f, err
}

// Forms implements [storage.FormStore].
func (s *Store) Forms(ctx context.Context, who storage.Actor, q storage.FormsParams) (found []storage.Form, err error) {
	if err := check(q.Page); err != nil {
		return nil, err
	}
	condition := live
	if q.Trashed {
		condition = `f.trashed > 0 AND NOT f.purged`
	}
	if !q.WorkspaceID.IsZero() {
		condition += ` AND f.workspace = ?6`
	}
	err = s.read(ctx, func(tx *tx) error {
		if !q.WorkspaceID.IsZero() && !who.Host() {
			if _, err := tx.workspace(who, q.WorkspaceID); err != nil {
				return err
			}
		}
		time, id := start(q.Page)
		found, err = all(tx, func(row scanner) (f storage.Form, err error) {
			err = row.Scan(formFields(&f)...)
			return f, err
		}, `SELECT `+formColumns+` FROM forms f
			WHERE `+condition+` AND (?1 OR f.workspace IN (`+accessible+`)) AND (f.created, f.id) < (?3, ?4)
			ORDER BY f.created DESC, f.id DESC LIMIT ?5`, whom(who, time, id, max(q.Page.Limit, 0), q.WorkspaceID)...)
		return err
	})
	return found, err
}

// UpdateForm implements [storage.FormStore].
func (s *Store) UpdateForm(ctx context.Context, who storage.Actor, id storage.ID, c storage.FormChange) (f storage.Form, err error) {
	if err := check(c.Name, c.Status, c.Definition, c.At); err != nil {
		return f, err
	}
	if !storage.ValidDocuments(c.Documents) {
		return f, storage.ErrInvalidValue
	}
	if c.Gate != nil {
		if err := check(c.Gate.CloseAt, c.Gate.Unique.Block); err != nil {
			return f, err
		}
	}
	err = s.write(ctx, func(tx *tx) error {
		if f, err = tx.visibleForm(who, id); err != nil {
			return err
		}
		if c.WorkspaceID != nil {
			if _, err := tx.workspace(who, *c.WorkspaceID); err != nil {
				return err
			}
			if *c.WorkspaceID != f.WorkspaceID {
				if _, err := tx.owned(who, f.WorkspaceID); err != nil {
					return err
				}
			}
		}
		if err := atRevision(f, c.IfRevision); err != nil {
			return err
		}
		to := changed(f, c)
		if same(f, to) {
			return nil
		}
		d := to.Definition
		_, err := tx.exec(`UPDATE forms SET revision = revision + 1, updated = ?, name = ?, status = ?, workspace = ?,
				closed = ?, close_at = ?, response_limit = ?, unique_block = ?, unique_rules = ?,
				blocks = ?, settings = ?, theme = ?, variables = ?, hidden_fields = ?, format = ?
			WHERE id = ?`,
			c.At, to.Name, to.Status, to.WorkspaceID, to.Gate.Closed, to.Gate.CloseAt, to.Gate.ResponseLimit, to.Gate.Unique.Block, to.Gate.Unique.Rules,
			[]byte(d.Blocks), []byte(d.Settings), []byte(d.Theme), []byte(d.Variables), []byte(d.HiddenFields), d.Format, id)
		if err == nil && to.Gate.Unique.Block != f.Gate.Unique.Block {
			err = tx.enterAnew(id)
		}
		if err == nil {
			err = tx.changeDocuments(id, c.Documents)
		}
		if err != nil {
			return err
		}
		f, err = tx.visibleForm(storage.AsHost(), id)
		return err
	})
	if err != nil {
		return storage.Form{}, err
	}
	return f, nil
}

// atRevision returns nil when the form is at one of the revisions, or there are none.
func atRevision(f storage.Form, revisions []int64) error {
	if len(revisions) > 0 && !slices.Contains(revisions, f.Revision) {
		return &storage.RevisionError{Current: f.Revision}
	}
	return nil
}

// changed returns the form with everything that the change names.
func changed(f storage.Form, c storage.FormChange) storage.Form {
	set(&f.Name, c.Name)
	set(&f.Status, c.Status)
	set(&f.WorkspaceID, c.WorkspaceID)
	if c.Gate != nil {
		old := f.Gate.Unique
		f.Gate = *c.Gate
		if f.Gate.Unique.Block == old.Block {
			f.Gate.Unique = old
		}
		f.Gate.CloseAt = time.UnixMicro(f.Gate.CloseAt.UnixMicro()).UTC() // as it is stored
	}
	old, d := sections(&f.Definition), sections(&c.Definition)
	for i := range old {
		if *d[i] != nil {
			*old[i], f.Definition.Format = *d[i], c.Definition.Format
		}
	}
	return f
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

func sections(d *storage.Definition) [5]*json.RawMessage {
	return [...]*json.RawMessage{&d.Blocks, &d.Settings, &d.Theme, &d.Variables, &d.HiddenFields}
}

// same reports whether two versions of a form differ in nothing that a change can
// set.
func same(a, b storage.Form) bool {
	one, two := sections(&a.Definition), sections(&b.Definition)
	for i := range one {
		if !bytes.Equal(*one[i], *two[i]) {
			return false
		}
	}
	return a.Name == b.Name && a.Status == b.Status && a.WorkspaceID == b.WorkspaceID && a.Gate == b.Gate &&
		a.Definition.Format == b.Definition.Format
}

// TrashForm implements [storage.FormStore].
func (s *Store) TrashForm(ctx context.Context, who storage.Actor, id storage.ID, p storage.TrashParams) error {
	if p.At.IsZero() || !storage.ValidTime(p.At) {
		return storage.ErrInvalidValue
	}
	return s.write(ctx, func(tx *tx) error {
		f, err := tx.visibleForm(who, id)
		if err != nil {
			return err
		}
		if err := atRevision(f, p.IfRevision); err != nil {
			return err
		}
		return tx.trash(`id = ?2`, p.At, id)
	})
}

// trash moves forms to the trash and ends their pending deliveries. The condition's
// parameter is ?2.
func (t *tx) trash(condition string, at time.Time, id storage.ID) error {
	_, err := t.exec(`DELETE FROM deliveries WHERE webhook IN
		(SELECT id FROM webhooks WHERE form IN (SELECT id FROM forms WHERE `+condition+`))`, at, id)
	if err != nil {
		return err
	}
	_, err = t.exec(`UPDATE forms SET trashed = ?1 WHERE trashed = 0 AND `+condition, at, id)
	return err
}

// RestoreForm implements [storage.FormStore].
func (s *Store) RestoreForm(ctx context.Context, id, workspace storage.ID, at time.Time) error {
	if err := check(at); err != nil {
		return err
	}
	return s.write(ctx, func(tx *tx) error {
		f, err := tx.form(`f.trashed > 0 AND NOT f.purged AND f.id = ?`, []any{id})
		if err != nil {
			return err
		}
		if !workspace.IsZero() && workspace != f.WorkspaceID {
			f.WorkspaceID, f.UpdatedAt = workspace, at
			f.Revision++
		}
		found, err := tx.exists(`SELECT 1 FROM workspaces WHERE id = ?`, f.WorkspaceID)
		if err != nil {
			return err
		}
		if !found {
			return storage.ErrConflict
		}
		_, err = tx.exec(`UPDATE forms SET trashed = 0, owner = NULL, workspace = ?, revision = ?, updated = ? WHERE id = ?`,
			f.WorkspaceID, f.Revision, f.UpdatedAt, id)
		return err
	})
}
