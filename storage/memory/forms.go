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
	// rec is never changed, only replaced. Its Full is not kept; see full.
	rec *storage.Form

	submissions index[*submission]
	byID        map[storage.ID]*submission
	byKey       map[string]*submission // by idempotency key
	byAnswer    map[string]*submission // by unique answer

	funnel   funnel
	lifetime storage.Counters // zero: not set

	webhooks index[*webhook]
}

func (f *form) place() storage.Position { return f.pos }

func (f *form) trashed() bool { return !f.rec.TrashedAt.IsZero() }

func (f *form) full() bool {
	limit := f.rec.Gate.ResponseLimit
	return limit > 0 && int64(len(f.submissions.items)) >= limit
}

// copyForm returns the caller's own copy of a snapshot. Its sections are those that
// are stored: they never change, and callers only read them.
func copyForm(rec *storage.Form, full bool) storage.Form {
	out := *rec
	out.Full = full
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
	if err := check(f.PublicID, f.Name, f.Type, f.Status, f.Gate.CloseAt, f.CreatedAt, f.UpdatedAt, f.Definition); err != nil {
		return err
	}
	f.Revision, f.Full, f.TrashedAt = 1, false, time.Time{}
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
		pos:      storage.Position{Time: f.CreatedAt, ID: f.ID},
		rec:      &f,
		byID:     make(map[storage.ID]*submission),
		byKey:    make(map[string]*submission),
		byAnswer: make(map[string]*submission),
	}
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
	rec, full := f.rec, f.full()
	s.mu.RUnlock()
	return copyForm(rec, full), nil
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
	rec, full := f.rec, f.full()
	s.mu.RUnlock()
	return copyForm(rec, full), nil
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
		out[i] = *f.rec
		out[i].Full = f.full()
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
		if err := check(c.Gate.CloseAt); err != nil {
			return storage.Form{}, err
		}
	}
	c.Definition = copyDefinition(c.Definition)

	s.mu.Lock()
	rec, full, err := s.updateForm(who, id, c)
	s.mu.Unlock()
	if err != nil {
		return storage.Form{}, err
	}
	return copyForm(rec, full), nil
}

// updateForm makes the change. Every check comes before it, in the order of the
// contract.
func (s *Store) updateForm(who storage.Actor, id storage.ID, c storage.FormChange) (rec *storage.Form, full bool, err error) {
	f := s.visible(who, id)
	if f == nil {
		return nil, false, storage.ErrNotFound
	}
	if c.WorkspaceID != nil {
		if !sees(who, s.workspaces[*c.WorkspaceID]) {
			return nil, false, storage.ErrNotFound
		}
		if *c.WorkspaceID != f.rec.WorkspaceID {
			if _, err := s.owned(who, f.rec.WorkspaceID); err != nil {
				return nil, false, err
			}
		}
	}
	if err := f.at(c.IfRevision); err != nil {
		return nil, false, err
	}
	if rec := changed(f.rec, c); !same(rec, f.rec) {
		rec.Revision++
		rec.UpdatedAt = utc(c.At)
		s.replace(f, rec)
	}
	return f.rec, f.full(), nil
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
