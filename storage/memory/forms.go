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
	// rec has neither Full nor DuplicateCheckReady; see copy. The bytes of its definition
	// are replaced, never changed.
	rec storage.Form
	// lastOwner is who owned the form's workspace when it was deleted.
	lastOwner storage.ID

	submissions index[*submission]
	byID        map[storage.ID]*submission
	byKey       map[string]*submission // by idempotency key
	answers     uniqueAnswers
	kept        int64 // places of submissions that were purged
	partials    partials

	funnel   funnel
	lifetime storage.Counters // zero: not set
	removed  int64            // submissions, ever

	webhooks  []*webhook
	documents documents
}

func (f *form) place() storage.Position { return storage.Position{Time: f.rec.CreatedAt, ID: f.rec.ID} }

func (f *form) trashed() bool { return !f.rec.TrashedAt.IsZero() }

func (f *form) full() bool {
	limit := f.rec.Acceptance.ResponseLimit
	return limit > 0 && int64(len(f.byID))+f.kept >= limit
}

// copy returns the form as callers see it. Its sections are those that are stored:
// they never change, and callers only read them.
func (f *form) copy() storage.Form {
	out := f.rec
	out.LimitReached, out.DuplicateCheckReady = f.full(), f.covered()
	return out
}

// visible returns a form that the actor may see, or nil. The host sees all that are not
// in the trash: the workspace of such a form exists.
func (s *Store) visible(who storage.Actor, id storage.ID) *form {
	f := s.forms[id]
	if f == nil || f.trashed() || !sees(who, s.workspaces[f.rec.WorkspaceID]) {
		return nil
	}
	return f
}

// form finds a form that the actor may see.
func (s *Store) form(who storage.Actor, id storage.ID) func() *form {
	return func() *form { return s.visible(who, id) }
}

// CreateForm implements [storage.FormStore].
func (s *Store) CreateForm(ctx context.Context, who storage.Actor, f storage.Form) error {
	return do(ctx, s, []any{f.PublicID, f.Name, f.Type, f.Status, &f.Acceptance, f.CreatedAt, f.UpdatedAt, f.Definition}, func() error {
		if !sees(who, s.workspaces[f.WorkspaceID]) {
			return storage.ErrNotFound
		}
		if s.forms[f.ID] != nil || s.publicForms[f.PublicID] != nil {
			return storage.ErrConflict
		}
		f.Revision, f.LimitReached, f.DuplicateCheckReady, f.DocumentsRevision, f.TrashedAt = 1, false, false, 0, time.Time{}
		f.CreatedAt, f.UpdatedAt, f.Acceptance.CloseAt = utc(f.CreatedAt), utc(f.UpdatedAt), utc(f.Acceptance.CloseAt)
		ownSections(&f.Definition)
		rec := &form{
			rec:     f,
			byID:    make(map[storage.ID]*submission),
			byKey:   make(map[string]*submission),
			funnel:  funnel{counts: make(map[int64]storage.Counters)},
			answers: uniqueAnswers{counts: make(map[uniqueAnswer]int), of: make(map[storage.ID][]uniqueAnswer)},

			documents: make(documents),
		}
		s.forms[f.ID] = rec
		s.publicForms[f.PublicID] = rec
		return nil
	})
}

// Form implements [storage.FormStore].
func (s *Store) Form(ctx context.Context, who storage.Actor, id storage.ID) (storage.Form, error) {
	return getWith(ctx, s, s.form(who, id), nil, func(f *form) (storage.Form, error) { return f.copy(), nil })
}

// FormByPublicID implements [storage.FormStore].
func (s *Store) FormByPublicID(ctx context.Context, publicID string) (storage.Form, error) {
	return get(ctx, s, nil, func() (storage.Form, error) {
		if f := s.publicForms[publicID]; f != nil && !f.trashed() {
			return f.copy(), nil
		}
		return storage.Form{}, storage.ErrNotFound
	})
}

// Forms implements [storage.FormStore].
func (s *Store) Forms(ctx context.Context, who storage.Actor, q storage.FormsParams) ([]storage.Form, error) {
	return get(ctx, s, []any{q.Page}, func() ([]storage.Form, error) {
		one := !q.WorkspaceID.IsZero()
		if one && !who.Host() && !sees(who, s.workspaces[q.WorkspaceID]) {
			return nil, storage.ErrNotFound
		}
		out := pageOf(maps.Values(s.forms), q.Page, (*form).place, (*form).copy, func(f *form) bool {
			return f.trashed() == q.Trashed && (!one || f.rec.WorkspaceID == q.WorkspaceID) &&
				(who.Host() || sees(who, s.workspaces[f.rec.WorkspaceID]))
		})
		for i := range out {
			out[i].Definition = storage.Definition{}
		}
		return out, nil
	})
}

// UpdateForm implements [storage.FormStore].
func (s *Store) UpdateForm(ctx context.Context, who storage.Actor, id storage.ID, c storage.FormChange) (storage.Form, error) {
	return getWith(ctx, s, s.form(who, id), []any{c.Name, c.Type, c.Status, c.Definition, c.Acceptance, c.At, c.Documents}, func(f *form) (storage.Form, error) {
		switch from, to := f.rec.WorkspaceID, c.WorkspaceID; {
		case to == nil:
		case !sees(who, s.workspaces[*to]):
			return storage.Form{}, storage.ErrNotFound
		case *to != from && !owns(who, s.workspaces[from]):
			return storage.Form{}, storage.ErrNotOwner
		}
		if err := f.at(c.IfRevision); err != nil {
			return storage.Form{}, err
		}
		if rec := changed(f.rec, c); !reflect.DeepEqual(rec, f.rec) {
			rec.Revision++
			rec.UpdatedAt = utc(c.At)
			if err := f.documents.change(&rec, c.Documents); err != nil {
				return storage.Form{}, err
			}
			old := f.rec.Acceptance.Unique.Block
			if f.rec = rec; rec.Acceptance.Unique.Block != old {
				s.enterAnew(f)
			}
		}
		return f.copy(), nil
	})
}

// at returns nil when the form is at one of the revisions, or there are none.
func (f *form) at(revisions []int64) error {
	if len(revisions) > 0 && !slices.Contains(revisions, f.rec.Revision) {
		return &storage.RevisionError{Current: f.rec.Revision}
	}
	return nil
}

// changed returns a changed record, at the old revision.
func changed(rec storage.Form, c storage.FormChange) storage.Form {
	set(&rec.Name, c.Name)
	set(&rec.Type, c.Type)
	set(&rec.Status, c.Status)
	set(&rec.WorkspaceID, c.WorkspaceID)
	if c.Acceptance != nil {
		old := rec.Acceptance.Unique
		rec.Acceptance = *c.Acceptance
		rec.Acceptance.CloseAt = utc(rec.Acceptance.CloseAt)
		if rec.Acceptance.Unique.Block == old.Block {
			rec.Acceptance.Unique.Rules = old.Rules
		}
	}
	ownSections(&c.Definition)
	rec.Definition.Apply(c.Definition)
	return rec
}

// ownSections replaces the bytes of the caller.
func ownSections(d *storage.Definition) {
	for _, section := range d.Sections() {
		*section.Value = bytes.Clone(*section.Value)
	}
}

// TrashForm implements [storage.FormStore].
func (s *Store) TrashForm(ctx context.Context, who storage.Actor, id storage.ID, p storage.TrashParams) error {
	return doWith(ctx, s, s.form(who, id), []any{mark(p.At)}, func(f *form) error {
		if err := f.at(p.IfRevision); err != nil {
			return err
		}
		f.trash(p.At)
		return nil
	})
}

// trash moves f to the trash, if it is not there, and ends its pending deliveries.
func (f *form) trash(at time.Time) {
	if f.trashed() {
		return
	}
	f.rec.TrashedAt = utc(at)
	for _, w := range f.webhooks {
		w.endPending()
	}
}

// RestoreForm implements [storage.FormStore]. UpdatedAt becomes at when the form
// changes its workspace, as with every other change of its revision.
func (s *Store) RestoreForm(ctx context.Context, id, workspaceID storage.ID, at time.Time) error {
	return do(ctx, s, []any{at}, func() error {
		f := s.forms[id]
		if f == nil || !f.trashed() {
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
			f.rec.UpdatedAt = utc(at)
		}
		return nil
	})
}
