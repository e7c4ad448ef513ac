package memory

import (
	"bytes"
	"context"
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

// partials are the half responses of a form. The zero value is none.
type partials struct {
	byToken map[[32]byte]*partial
	open    index[*partial] // those that were not submitted
}

func (x *partials) put(p *partial) {
	x.remove(x.byToken[p.token])
	if x.byToken == nil {
		x.byToken = make(map[[32]byte]*partial)
	}
	x.byToken[p.token] = p
	if p.rec.SubmissionID.IsZero() {
		x.open.add(p)
	}
}

func (x *partials) remove(p *partial) {
	if p != nil {
		delete(x.byToken, p.token)
		x.open.remove(p)
	}
}

// makeRoom removes those that were saved longest ago until there are fewer than most, beside
// those that are over.
func (x *partials) makeRoom(most int, now time.Time) {
	n := len(x.open.items)
	if n < most {
		return
	}
	for _, p := range x.open.items {
		if p.over(now) {
			n--
		}
	}
	for i := 0; n >= most; {
		if p := x.open.items[i]; p.over(now) {
			i++
		} else {
			x.remove(p)
			n--
		}
	}
}

// submit empties the one that a response was begun with, if it is there.
func (x *partials) submit(token [32]byte, sub *submission) {
	if p := x.byToken[token]; token != [32]byte{} && !p.over(sub.rec.SubmittedAt) && p.rec.SubmissionID.IsZero() {
		rec := p.rec
		rec.Answers, rec.Hidden, rec.Metadata, rec.Block, rec.Seconds = nil, nil, nil, "", 0
		rec.SubmissionID = sub.rec.ID
		x.put(&partial{rec, token})
	}
}

// SavePartial implements [storage.PartialStore].
func (s *Store) SavePartial(ctx context.Context, p storage.SavePartialParams) (int64, error) {
	rec := p.Partial
	f, err := s.lockForm(ctx, storage.AsHost(), rec.FormID, rec.Answers, rec.Hidden, rec.Metadata, rec.Block, rec.SavedAt, rec.EndsAt)
	if err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	old := f.partials.byToken[p.Token]
	switch {
	case f.rec.Status != storage.StatusPublished, !p.New && old.over(rec.SavedAt):
		return 0, storage.ErrNotFound
	case p.New && old != nil, !p.New && !old.rec.SubmissionID.IsZero():
		return 0, storage.ErrConflict
	case !p.New && p.IfRevision != 0 && p.IfRevision != old.rec.Revision:
		return 0, &storage.RevisionError{Current: old.rec.Revision, Kind: "partial"}
	}
	rec.SavedAt, rec.EndsAt, rec.SubmissionID = utc(rec.SavedAt), utc(rec.EndsAt), storage.ID{}
	rec.Answers, rec.Hidden, rec.Metadata = bytes.Clone(rec.Answers), bytes.Clone(rec.Hidden), bytes.Clone(rec.Metadata)
	if p.New {
		rec.Revision, rec.CreatedAt = 1, rec.SavedAt
		if p.Max > 0 {
			f.partials.makeRoom(p.Max, rec.SavedAt)
		}
	} else {
		rec.ID, rec.Revision, rec.CreatedAt = old.rec.ID, old.rec.Revision+1, old.rec.CreatedAt
	}
	f.partials.put(&partial{rec, p.Token})
	return rec.Revision, nil
}

// Partial implements [storage.PartialStore].
func (s *Store) Partial(ctx context.Context, form storage.ID, token [32]byte, now time.Time) (storage.Partial, error) {
	f, err := s.lockForm(ctx, storage.AsHost(), form, now)
	if err != nil {
		return storage.Partial{}, err
	}
	defer s.mu.Unlock()
	p := f.partials.byToken[token]
	if p.over(now) {
		return storage.Partial{}, storage.ErrNotFound
	}
	rec := p.rec
	rec.Answers, rec.Hidden, rec.Metadata = bytes.Clone(rec.Answers), bytes.Clone(rec.Hidden), bytes.Clone(rec.Metadata)
	return rec, nil
}

// Partials implements [storage.PartialStore]. It lends as Submissions does.
func (s *Store) Partials(ctx context.Context, who storage.Actor, form storage.ID, q storage.PartialQuery, each func(*storage.Partial) error) (more bool, err error) {
	f, err := s.lockForm(ctx, who, form, q.Now, q.Page)
	if err != nil {
		return false, err
	}
	var found []*partial
	at := len(f.partials.open.items)
	if q.Page.After != nil {
		at = f.partials.open.before(*q.Page.After)
	}
	for _, p := range slices.Backward(f.partials.open.items[:at]) {
		if p.over(q.Now) {
			continue
		}
		if more = len(found) >= q.Page.Limit; more {
			break
		}
		found = append(found, p)
	}
	s.mu.Unlock()
	for _, p := range found {
		rec := p.rec
		if err := each(&rec); err != nil {
			return false, err
		}
	}
	return more && len(found) > 0, nil
}

// DeletePartials implements [storage.PartialStore]. It looks at all half responses of the form.
func (s *Store) DeletePartials(ctx context.Context, who storage.Actor, form storage.ID, p storage.DeletePartialsParams) (n int, more bool, err error) {
	if err := s.lock(ctx, p.SavedBefore); err != nil {
		return 0, false, err
	}
	defer s.mu.Unlock()
	f := s.visible(who, form)
	if f == nil && who.Host() {
		f = s.forms[form]
	}
	if f == nil {
		return 0, false, storage.ErrNotFound
	}
	for token, partial := range f.partials.byToken {
		if !partial.rec.SavedAt.Before(p.SavedBefore) && !slices.Contains(p.IDs, partial.rec.ID) && (token != p.Token || token == [32]byte{}) {
			continue
		}
		if n >= p.Max {
			return n, n > 0, nil
		}
		f.partials.remove(partial)
		n++
	}
	return n, false, nil
}
