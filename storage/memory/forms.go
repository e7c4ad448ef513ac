package memory

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
)

type form struct {
	pos storage.Position
	// rec is never changed, only replaced. Its Full and its DuplicatesCovered are not
	// kept; see full and covered.
	rec *storage.Form

	submissions index[*submission]
	byID        map[storage.ID]*submission
	byKey       map[string]*submission // by idempotency key
	answers     uniqueAnswers
	kept        int64 // places of submissions that were purged

	funnel   funnel
	lifetime storage.Counters // zero: not set

	webhooks index[*webhook]
}

func (f *form) place() storage.Position { return f.pos }

func (f *form) trashed() bool { return !f.rec.TrashedAt.IsZero() }

func (f *form) full() bool {
	limit := f.rec.Gate.ResponseLimit
	return limit > 0 && int64(len(f.submissions.items))+f.kept >= limit
}

// record returns the form as callers see it. Its sections are those that are stored:
// they never change, and callers only read them.
func (f *form) record() storage.Form {
	out := *f.rec
	out.Full, out.DuplicatesCovered = f.full(), f.covered()
	return out
}

func copyDefinition(d storage.Definition) storage.Definition {
	buf := make(arena, 0, len(d.Blocks)+len(d.Settings)+len(d.Theme)+len(d.Variables)+len(d.HiddenFields))
	d.Blocks = buf.copy(d.Blocks)
	d.Settings = buf.copy(d.Settings)
	d.Theme = buf.copy(d.Theme)
	d.Variables = buf.copy(d.Variables)
	d.HiddenFields = buf.copy(d.HiddenFields)
	return d
}

// live returns a form that is not in the trash, or nil.
func (s *Store) live(id storage.ID) *form {
	f := s.forms[id]
	if f == nil || f.trashed() {
		return nil
	}
	return f
}

// visible returns a form that the actor may see, or nil. The workspace of a form
// outside the trash always exists.
func (s *Store) visible(who storage.Actor, id storage.ID) *form {
	f := s.live(id)
	if f == nil || !sees(who, s.workspaces[f.rec.WorkspaceID]) {
		return nil
	}
	return f
}

// CreateForm implements [storage.FormStore].
func (s *Store) CreateForm(ctx context.Context, who storage.Actor, f storage.Form) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := check(f.Gate.Unique.Block, f.PublicID, f.Name, f.Type, f.Status, f.Gate.CloseAt, f.CreatedAt, f.UpdatedAt, f.Definition); err != nil {
		return err
	}
	f.Revision, f.Full, f.DuplicatesCovered, f.TrashedAt = 1, false, false, time.Time{}
	f.CreatedAt, f.UpdatedAt = utc(f.CreatedAt), utc(f.UpdatedAt)
	f.Gate.CloseAt = utc(f.Gate.CloseAt)
	f.Definition = copyDefinition(f.Definition)

	s.mu.Lock()
	defer s.mu.Unlock()
	if !sees(who, s.workspaces[f.WorkspaceID]) {
		return storage.ErrNotFound
	}
	if s.forms[f.ID] != nil || s.publicForms[f.PublicID] != nil {
		return storage.ErrConflict
	}
	rec := &form{
		pos:   storage.Position{Time: f.CreatedAt, ID: f.ID},
		rec:   &f,
		byID:  make(map[storage.ID]*submission),
		byKey: make(map[string]*submission),
	}
	rec.enterAnew()
	s.forms[f.ID] = rec
	s.publicForms[f.PublicID] = rec
	s.list(rec)
	return nil
}

// Form implements [storage.FormStore].
func (s *Store) Form(ctx context.Context, who storage.Actor, id storage.ID) (storage.Form, error) {
	if err := ctx.Err(); err != nil {
		return storage.Form{}, err
	}
	s.mu.RLock()
	f := s.visible(who, id)
	if f == nil {
		s.mu.RUnlock()
		return storage.Form{}, storage.ErrNotFound
	}
	out := f.record()
	s.mu.RUnlock()
	return out, nil
}

// FormByPublicID implements [storage.FormStore].
func (s *Store) FormByPublicID(ctx context.Context, publicID string) (storage.Form, error) {
	if err := ctx.Err(); err != nil {
		return storage.Form{}, err
	}
	s.mu.RLock()
	f := s.publicForms[publicID]
	if f == nil || f.trashed() {
		s.mu.RUnlock()
		return storage.Form{}, storage.ErrNotFound
	}
	out := f.record()
	s.mu.RUnlock()
	return out, nil
}

// Forms implements [storage.FormStore].
func (s *Store) Forms(ctx context.Context, who storage.Actor, q storage.FormQuery) ([]storage.Form, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := check(q.Page); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	shelves, err := s.shelvesFor(who, q.WorkspaceID)
	if err != nil {
		return nil, err
	}
	lists := make([]*index[*form], len(shelves))
	for i, sh := range shelves {
		lists[i] = &sh.forms
		if q.Trashed {
			lists[i] = &sh.trash
		}
	}
	found := merge(lists, q.Page)
	out := make([]storage.Form, len(found))
	for i, f := range found {
		out[i] = f.record()
		out[i].Definition = storage.Definition{}
	}
	return out, nil
}

// UpdateForm implements [storage.FormStore].
func (s *Store) UpdateForm(ctx context.Context, who storage.Actor, id storage.ID, c storage.FormChange) (storage.Form, error) {
	if err := ctx.Err(); err != nil {
		return storage.Form{}, err
	}
	if err := check(c.Name, c.Status, c.Definition, c.At); err != nil {
		return storage.Form{}, err
	}
	if c.Gate != nil {
		if err := check(c.Gate.CloseAt, c.Gate.Unique.Block); err != nil {
			return storage.Form{}, err
		}
	}
	c.Definition = copyDefinition(c.Definition)

	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := s.updateForm(who, id, c)
	if err != nil {
		return storage.Form{}, err
	}
	return f.record(), nil
}

// updateForm makes the change. Every check comes before it, in the order of the
// contract.
func (s *Store) updateForm(who storage.Actor, id storage.ID, c storage.FormChange) (*form, error) {
	f := s.visible(who, id)
	if f == nil {
		return nil, storage.ErrNotFound
	}
	if c.WorkspaceID != nil {
		if !sees(who, s.workspaces[*c.WorkspaceID]) {
			return nil, storage.ErrNotFound
		}
		if *c.WorkspaceID != f.rec.WorkspaceID {
			if _, err := s.owned(who, f.rec.WorkspaceID); err != nil {
				return nil, err
			}
		}
	}
	if err := f.at(c.IfRevision); err != nil {
		return nil, err
	}
	if rec := changed(f.rec, c); !same(rec, f.rec) {
		rec.Revision++
		rec.UpdatedAt = utc(c.At)
		anotherField := rec.Gate.Unique.Block != f.rec.Gate.Unique.Block
		s.replace(f, rec)
		if anotherField {
			f.enterAnew()
		}
	}
	return f, nil
}

// at returns nil when the form is at one of the revisions, or there are none.
func (f *form) at(revisions []int64) error {
	if len(revisions) > 0 && !slices.Contains(revisions, f.rec.Revision) {
		return &storage.RevisionError{Current: f.rec.Revision}
	}
	return nil
}

// same reports whether two records of a form differ in nothing that a change can
// set.
func same(a, b *storage.Form) bool {
	return a.Name == b.Name && a.Status == b.Status && a.WorkspaceID == b.WorkspaceID && a.Gate == b.Gate &&
		a.Definition.Format == b.Definition.Format &&
		bytes.Equal(a.Definition.Blocks, b.Definition.Blocks) &&
		bytes.Equal(a.Definition.Settings, b.Definition.Settings) &&
		bytes.Equal(a.Definition.Theme, b.Definition.Theme) &&
		bytes.Equal(a.Definition.Variables, b.Definition.Variables) &&
		bytes.Equal(a.Definition.HiddenFields, b.Definition.HiddenFields)
}

// changed returns a new record, at the old revision. It shares the sections that stay with the old
// one, and those that change with c.
func changed(old *storage.Form, c storage.FormChange) *storage.Form {
	rec := *old
	if c.Name != nil {
		rec.Name = *c.Name
	}
	if c.Status != nil {
		rec.Status = *c.Status
	}
	if c.WorkspaceID != nil {
		rec.WorkspaceID = *c.WorkspaceID
	}
	if c.Gate != nil {
		rec.Gate = *c.Gate
		rec.Gate.CloseAt = utc(rec.Gate.CloseAt)
		if rec.Gate.Unique.Block == old.Gate.Unique.Block {
			rec.Gate.Unique.Rules = old.Gate.Unique.Rules
		}
	}
	d := c.Definition
	if d.Blocks != nil {
		rec.Definition.Blocks = d.Blocks
	}
	if d.Settings != nil {
		rec.Definition.Settings = d.Settings
	}
	if d.Theme != nil {
		rec.Definition.Theme = d.Theme
	}
	if d.Variables != nil {
		rec.Definition.Variables = d.Variables
	}
	if d.HiddenFields != nil {
		rec.Definition.HiddenFields = d.HiddenFields
	}
	if d.Blocks != nil || d.Settings != nil || d.Theme != nil || d.Variables != nil || d.HiddenFields != nil {
		rec.Definition.Format = d.Format
	}
	return &rec
}
