package memory

import (
	"context"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// TrashForm implements [storage.FormStore].
func (s *Store) TrashForm(ctx context.Context, who storage.Actor, id storage.ID, p storage.TrashParams) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if p.At.IsZero() || !storage.ValidTime(p.At) {
		return storage.ErrInvalidValue
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.visible(who, id)
	if f == nil {
		return storage.ErrNotFound
	}
	if err := f.at(p.IfRevision); err != nil {
		return err
	}
	s.trash(f, p.At)
	return nil
}

// trash moves f to the trash and ends its pending deliveries.
func (s *Store) trash(f *form, at time.Time) {
	rec := *f.rec
	rec.TrashedAt = utc(at)
	s.replace(f, &rec)
	for _, w := range f.webhooks.items {
		w.lane.clear()
	}
}

// RestoreForm implements [storage.FormStore]. UpdatedAt becomes at when the form
// changes its workspace, as with every other change of its revision.
func (s *Store) RestoreForm(ctx context.Context, id, workspace storage.ID, at time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := check(at); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.forms[id]
	if f == nil || !f.trashed() {
		return storage.ErrNotFound
	}
	rec := *f.rec
	rec.TrashedAt = time.Time{}
	if !workspace.IsZero() && workspace != rec.WorkspaceID {
		rec.WorkspaceID = workspace
		rec.Revision++
		rec.UpdatedAt = utc(at)
	}
	if s.workspaces[rec.WorkspaceID] == nil {
		return storage.ErrConflict
	}
	s.replace(f, &rec)
	return nil
}

// purge removes a form in the trash and everything of it. Its deliveries ended
// when it was trashed.
func (s *Store) purge(f *form) {
	s.unlist(f)
	delete(s.forms, f.rec.ID)
	delete(s.publicForms, f.rec.PublicID)
	for _, w := range f.webhooks.items {
		delete(s.webhooks, w.rec.ID)
		w.close()
		s.queue.remove(w)
	}
}
