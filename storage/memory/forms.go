package memory

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
)

type form struct {
	// In rec, LimitReached and DuplicateCheckReady are unset; the method copy sets them. The definition's bytes are
	// never modified.
	rec storage.Form
	// lastOwner is the last owner of the form's deleted workspace.
	lastOwner storage.ID

	submissions index[*submission]
	byID        map[storage.ID]*submission
	byKey       map[string]*submission // by idempotency key
	answers     uniqueAnswers
	purged      int64 // number of purged submissions that still count against the response limit
	partials    partials

	funnel   funnel
	lifetime storage.Counters // counters set by the host; zero if there are none
	removed  int64            // number of all removed submissions

	webhooks  []*webhook
	documents documents
}

func (f *form) position() storage.Position {
	return storage.Position{Time: f.rec.CreatedAt, ID: f.rec.ID}
}

func (f *form) inTrash() bool { return !f.rec.TrashedAt.IsZero() }

func (f *form) limitReached() bool {
	limit := f.rec.Acceptance.ResponseLimit
	return limit > 0 && int64(len(f.byID))+f.purged >= limit
}

// copy returns a copy for callers. It shares the stored sections, which are read only and never change.
func (f *form) copy() storage.Form {
	out := f.rec
	out.LimitReached, out.DuplicateCheckReady = f.limitReached(), f.duplicateCheckReady()
	return out
}

// visibleForm returns a form that the actor can access, or nil. The host can access all forms outside the trash.
func (s *Store) visibleForm(actor storage.Actor, id storage.ID) *form {
	f := s.forms[id]
	if f == nil || f.inTrash() || !canAccess(actor, s.workspaces[f.rec.WorkspaceID]) {
		return nil
	}
	return f
}

func (s *Store) findForm(actor storage.Actor, id storage.ID) func() *form {
	return func() *form { return s.visibleForm(actor, id) }
}

// CreateForm implements [storage.FormStore].
func (s *Store) CreateForm(ctx context.Context, actor storage.Actor, f storage.Form) error {
	return withLock(ctx, s, []any{f.PublicID, f.Name, f.Type, f.Status, &f.Acceptance, f.CreatedAt, f.UpdatedAt, f.Definition}, func() error {
		if !canAccess(actor, s.workspaces[f.WorkspaceID]) {
			return storage.ErrNotFound
		}
		if s.forms[f.ID] != nil || s.publicForms[f.PublicID] != nil {
			return storage.ErrConflict
		}
		f.Revision, f.LimitReached, f.DuplicateCheckReady, f.DocumentsRevision, f.TrashedAt = 1, false, false, 0, time.Time{}
		f.CreatedAt, f.UpdatedAt = toUTC(f.CreatedAt), toUTC(f.UpdatedAt)
		f.Acceptance.OpenAt, f.Acceptance.CloseAt = toUTC(f.Acceptance.OpenAt), toUTC(f.Acceptance.CloseAt)
		cloneSections(&f.Definition)
		rec := &form{
			rec:     f,
			byID:    make(map[storage.ID]*submission),
			byKey:   make(map[string]*submission),
			funnel:  funnel{counts: make(map[int64]storage.Counters)},
			answers: uniqueAnswers{counts: make(map[uniqueAnswer]int), bySubmission: make(map[storage.ID][]uniqueAnswer)},

			documents: make(documents),
		}
		s.forms[f.ID] = rec
		s.publicForms[f.PublicID] = rec
		for _, w := range s.allForms {
			s.copyForForm(w, rec)
		}
		return nil
	})
}

// Form implements [storage.FormStore].
func (s *Store) Form(ctx context.Context, actor storage.Actor, id storage.ID) (storage.Form, error) {
	return withRecordResult(ctx, s, s.findForm(actor, id), nil, func(f *form) (storage.Form, error) { return f.copy(), nil })
}

// FormByPublicID implements [storage.FormStore].
func (s *Store) FormByPublicID(ctx context.Context, publicID string) (storage.Form, error) {
	return withLockResult(ctx, s, nil, func() (storage.Form, error) {
		if f := s.publicForms[publicID]; f != nil && !f.inTrash() {
			return f.copy(), nil
		}
		return storage.Form{}, storage.ErrNotFound
	})
}

// Forms implements [storage.FormStore].
func (s *Store) Forms(ctx context.Context, actor storage.Actor, q storage.FormsParams) ([]storage.Form, error) {
	return withLockResult(ctx, s, []any{q.Page}, func() ([]storage.Form, error) {
		one := !q.WorkspaceID.IsZero()
		if one && !actor.Host() && !canAccess(actor, s.workspaces[q.WorkspaceID]) {
			return nil, storage.ErrNotFound
		}
		out := pageOf(maps.Values(s.forms), q.Page, (*form).position, (*form).copy, func(f *form) bool {
			return f.inTrash() == q.Trashed && (!one || f.rec.WorkspaceID == q.WorkspaceID) &&
				(actor.Host() || canAccess(actor, s.workspaces[f.rec.WorkspaceID]))
		})
		for i := range out {
			out[i].Definition = storage.Definition{}
		}
		return out, nil
	})
}

// UpdateForm implements [storage.FormStore].
func (s *Store) UpdateForm(ctx context.Context, actor storage.Actor, id storage.ID, c storage.FormChange) (storage.Form, error) {
	return withRecordResult(ctx, s, s.findForm(actor, id), []any{c.Name, c.Type, c.Status, c.Definition, c.Acceptance, c.At, c.Documents}, func(f *form) (storage.Form, error) {
		switch from, to := f.rec.WorkspaceID, c.WorkspaceID; {
		case to == nil:
		case !canAccess(actor, s.workspaces[*to]):
			return storage.Form{}, storage.ErrNotFound
		case *to != from && !canManage(actor, s.workspaces[from]):
			return storage.Form{}, storage.ErrNotOwner
		}
		if err := f.checkRevision(c.IfRevision); err != nil {
			return storage.Form{}, err
		}
		if rec := applyChange(f.rec, c); !reflect.DeepEqual(rec, f.rec) {
			rec.Revision++
			rec.UpdatedAt = toUTC(c.At)
			if err := f.documents.apply(&rec, c.Documents); err != nil {
				return storage.Form{}, err
			}
			old := f.rec.Acceptance.Unique.Block
			if f.rec = rec; rec.Acceptance.Unique.Block != old {
				s.restartBackfill(f)
			}
		}
		return f.copy(), nil
	})
}

func (f *form) checkRevision(revisions []int64) error {
	if len(revisions) > 0 && !slices.Contains(revisions, f.rec.Revision) {
		return &storage.RevisionError{Current: f.rec.Revision}
	}
	return nil
}

// applyChange returns rec with the change applied. It does not change the revision.
func applyChange(rec storage.Form, c storage.FormChange) storage.Form {
	setIfGiven(&rec.Name, c.Name)
	setIfGiven(&rec.Type, c.Type)
	setIfGiven(&rec.Status, c.Status)
	setIfGiven(&rec.WorkspaceID, c.WorkspaceID)
	if c.Acceptance != nil {
		old := rec.Acceptance.Unique
		rec.Acceptance = *c.Acceptance
		rec.Acceptance.OpenAt, rec.Acceptance.CloseAt = toUTC(rec.Acceptance.OpenAt), toUTC(rec.Acceptance.CloseAt)
		if rec.Acceptance.Unique.Block == old.Block {
			rec.Acceptance.Unique.Rules = old.Rules
		}
	}
	cloneSections(&c.Definition)
	rec.Definition.Apply(c.Definition)
	return rec
}

func cloneSections(d *storage.Definition) {
	for _, section := range d.Sections() {
		*section.Value = bytes.Clone(*section.Value)
	}
}

// TrashForm implements [storage.FormStore].
func (s *Store) TrashForm(ctx context.Context, actor storage.Actor, id storage.ID, p storage.TrashParams) error {
	return withRecord(ctx, s, s.findForm(actor, id), []any{requiredTime(p.At)}, func(f *form) error {
		if err := f.checkRevision(p.IfRevision); err != nil {
			return err
		}
		f.moveToTrash(p.At)
		return nil
	})
}

func (f *form) moveToTrash(at time.Time) {
	if f.inTrash() {
		return
	}
	f.rec.TrashedAt = toUTC(at)
	for _, w := range f.webhooks {
		w.cancelPending()
	}
}

// RestoreForm implements [storage.FormStore]. UpdatedAt changes only if the revision does.
func (s *Store) RestoreForm(ctx context.Context, id, workspaceID storage.ID, at time.Time) error {
	return withLock(ctx, s, []any{at}, func() error {
		f := s.forms[id]
		if f == nil || !f.inTrash() {
			return storage.ErrNotFound
		}
		workspaceID = cmp.Or(workspaceID, f.rec.WorkspaceID)
		if s.workspaces[workspaceID] == nil {
			return storage.ErrConflict
		}
		f.rec.TrashedAt = time.Time{}
		if workspaceID != f.rec.WorkspaceID {
			f.rec.WorkspaceID = workspaceID
			f.rec.Revision++
			f.rec.UpdatedAt = toUTC(at)
		}
		return nil
	})
}
