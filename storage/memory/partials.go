package memory

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// partial never changes once it is stored: a save puts another one in its place.
type partial struct {
	rec   storage.Partial
	token [32]byte
}

func (p *partial) place() storage.Position {
	return storage.Position{Time: p.rec.SavedAt, ID: p.rec.ID}
}

// over reports whether p has ended, or is nil.
func (p *partial) over(now time.Time) bool { return p == nil || !p.rec.EndsAt.After(now) }

func (p *partial) open(now time.Time) bool { return !p.over(now) && p.rec.SubmissionID.IsZero() }

func copyPartial(rec storage.Partial) storage.Partial {
	rec.Answers, rec.Hidden, rec.Metadata = bytes.Clone(rec.Answers), bytes.Clone(rec.Hidden), bytes.Clone(rec.Metadata)
	return rec
}

// SavePartial implements [storage.PartialStore]. A new one looks at all half responses of the
// form when there are as many as it may have.
func (s *Store) SavePartial(ctx context.Context, p storage.SavePartialParams) (revision int64, err error) {
	rec := p.Partial
	f, err := s.lockForm(ctx, storage.AsHost(), rec.FormID, rec.Answers, rec.Hidden, rec.Metadata, rec.Block, rec.SavedAt, rec.EndsAt)
	if err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	old := f.partials[p.Token]
	switch {
	case f.rec.Status != storage.StatusPublished, !p.New && old.over(rec.SavedAt):
		return 0, storage.ErrNotFound
	case p.New && old != nil, !p.New && !old.open(rec.SavedAt):
		return 0, storage.ErrConflict
	case !p.New && p.IfRevision != 0 && p.IfRevision != old.rec.Revision:
		return 0, &storage.RevisionError{Current: old.rec.Revision, Kind: "partial"}
	}
	rec = copyPartial(rec)
	rec.SavedAt, rec.EndsAt, rec.SubmissionID = utc(rec.SavedAt), utc(rec.EndsAt), storage.ID{}
	if p.New {
		rec.Revision, rec.CreatedAt = 1, rec.SavedAt
		f.makeRoom(p.Max, rec.SavedAt)
	} else {
		rec.ID, rec.Revision, rec.CreatedAt = old.rec.ID, old.rec.Revision+1, old.rec.CreatedAt
	}
	f.partials[p.Token] = &partial{rec, p.Token}
	return rec.Revision, nil
}

// makeRoom removes the half response that was saved longest ago when there are most.
func (f *form) makeRoom(most int, now time.Time) {
	if most < 1 || len(f.partials) < most {
		return
	}
	var oldest *partial
	n := 0
	for _, p := range f.partials {
		if !p.open(now) {
			continue
		}
		if n++; oldest == nil || comparePositions(p.place(), oldest.place()) < 0 {
			oldest = p
		}
	}
	if n >= most {
		delete(f.partials, oldest.token)
	}
}

// emptyPartial empties the half response that a response was begun with, if it is there.
func (f *form) emptyPartial(token [32]byte, sub *submission) {
	if p := f.partials[token]; token != [32]byte{} && p.open(sub.rec.SubmittedAt) {
		rec := p.rec
		rec.Answers, rec.Hidden, rec.Metadata, rec.Block, rec.Seconds, rec.SubmissionID = nil, nil, nil, "", 0, sub.rec.ID
		f.partials[token] = &partial{rec, token}
	}
}

// Partial implements [storage.PartialStore].
func (s *Store) Partial(ctx context.Context, form storage.ID, token [32]byte, now time.Time) (storage.Partial, error) {
	f, err := s.lockForm(ctx, storage.AsHost(), form, now)
	if err != nil {
		return storage.Partial{}, err
	}
	defer s.mu.Unlock()
	p := f.partials[token]
	if p.over(now) {
		return storage.Partial{}, storage.ErrNotFound
	}
	return copyPartial(p.rec), nil
}

// Partials implements [storage.PartialStore]. It lends as Submissions does.
func (s *Store) Partials(ctx context.Context, who storage.Actor, form storage.ID, q storage.PartialQuery, each func(*storage.Partial) error) (more bool, err error) {
	f, err := s.lockForm(ctx, who, form, q.Now, q.Page)
	if err != nil {
		return false, err
	}
	limit := max(0, q.Page.Limit)
	q.Page.Limit = limit + 1
	found := pageOf(maps.Values(f.partials), q.Page, (*partial).place, func(p *partial) storage.Partial { return p.rec },
		func(p *partial) bool { return p.open(q.Now) })
	s.mu.Unlock()
	for i := range found[:min(limit, len(found))] {
		if err := each(&found[i]); err != nil {
			return false, err
		}
	}
	return limit > 0 && len(found) > limit, nil
}

// DeletePartials implements [storage.PartialStore]. It looks at all half responses of the form.
func (s *Store) DeletePartials(ctx context.Context, who storage.Actor, id storage.ID, p storage.DeletePartialsParams) (n int, more bool, err error) {
	f, err := lockOne(ctx, s, []any{p.SavedBefore}, func() *form {
		if who.Host() {
			return s.forms[id]
		}
		return s.visible(who, id)
	})
	if err != nil {
		return 0, false, err
	}
	defer s.mu.Unlock()
	for token, old := range f.partials {
		if !old.rec.SavedAt.Before(p.SavedBefore) && !slices.Contains(p.IDs, old.rec.ID) && (token != p.Token || token == [32]byte{}) {
			continue
		}
		if n >= p.Max {
			return n, n > 0, nil
		}
		delete(f.partials, token)
		n++
	}
	return n, false, nil
}
