package memory

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// partial is a stored partial submission. It is never modified; a save replaces it.
type partial struct {
	rec   storage.Partial
	token [32]byte
}

func (p *partial) position() storage.Position {
	return storage.Position{Time: p.rec.SavedAt, ID: p.rec.ID}
}

// isExpired reports whether p has expired or is nil.
func (p *partial) isExpired(now time.Time) bool { return p == nil || !p.rec.EndsAt.After(now) }

func (p *partial) isOpen(now time.Time) bool { return !p.isExpired(now) && p.rec.SubmissionID.IsZero() }

type partials struct {
	byToken    map[[32]byte]*partial
	open       index[*partial] // partial submissions that were not submitted
	nextExpiry time.Time       // no partial submission expires before this time
}

// put adds p. It replaces any partial submission with the same token.
func (x *partials) put(p *partial) {
	x.remove(x.byToken[p.token])
	if len(x.byToken) == 0 {
		x.byToken, x.nextExpiry = make(map[[32]byte]*partial), p.rec.EndsAt
	}
	x.byToken[p.token] = p
	if p.rec.SubmissionID.IsZero() {
		x.open.add(p)
	}
	if p.rec.EndsAt.Before(x.nextExpiry) {
		x.nextExpiry = p.rec.EndsAt
	}
}

func (x *partials) remove(p *partial) {
	if p != nil {
		delete(x.byToken, p.token)
		x.open.remove(p)
	}
}

// evictionCandidate returns the partial submission to replace when the limit is reached.
func (x *partials) evictionCandidate() *partial {
	for _, p := range slices.Backward(x.open.items) {
		if p.rec.Revision == 1 && !p.rec.LinkIssued {
			return p
		}
	}
	return x.open.items[0]
}

// removeExpired removes expired partial submissions, at most limit of them, and returns their number.
func (x *partials) removeExpired(now time.Time, limit int) (n int) {
	if x.nextExpiry.After(now) {
		return 0
	}
	x.nextExpiry = now.AddDate(100, 0, 0)
	for _, p := range x.byToken {
		if p.isExpired(now) && n < limit {
			x.remove(p)
			n++
		} else if p.rec.EndsAt.Before(x.nextExpiry) {
			x.nextExpiry = p.rec.EndsAt
		}
	}
	return n
}

func copyPartial(rec storage.Partial) storage.Partial {
	rec.Answers, rec.Hidden, rec.Metadata = bytes.Clone(rec.Answers), bytes.Clone(rec.Hidden), bytes.Clone(rec.Metadata)
	return rec
}

// SavePartial implements [storage.PartialStore]. If the limit is reached, it first removes expired partial submissions.
func (s *Store) SavePartial(ctx context.Context, p storage.SavePartialParams) (int64, error) {
	rec := p.Partial
	values := []any{rec.Answers, rec.Hidden, rec.Metadata, rec.Block, rec.Respondent, rec.SavedAt, rec.EndsAt}
	return withRecordResult(ctx, s, s.findForm(storage.AsHost(), rec.FormID), values, func(f *form) (int64, error) {
		old := f.partials.byToken[p.Token]
		if p.New && rec.Respondent != "" && !old.isOpen(rec.SavedAt) {
			old = nil // replaced
		}
		switch {
		case f.rec.Status != storage.StatusPublished, !p.New && old.isExpired(rec.SavedAt):
			return 0, storage.ErrNotFound
		case p.New && old != nil, !p.New && !old.isOpen(rec.SavedAt):
			return 0, storage.ErrConflict
		case !p.New && p.IfRevision != 0 && p.IfRevision != old.rec.Revision:
			return 0, &storage.RevisionError{Current: old.rec.Revision, Kind: "partial"}
		}
		rec = copyPartial(rec)
		rec.SavedAt, rec.EndsAt, rec.SubmissionID = toUTC(rec.SavedAt), toUTC(rec.EndsAt), storage.ID{}
		if p.New {
			rec.Revision, rec.CreatedAt = 1, rec.SavedAt
			if x := &f.partials; p.Max > 0 && len(x.open.items) >= p.Max {
				if x.removeExpired(rec.SavedAt, len(x.byToken)); len(x.open.items) >= p.Max {
					x.remove(x.evictionCandidate())
				}
			}
		} else {
			rec.ID, rec.Revision, rec.CreatedAt, rec.Respondent = old.rec.ID, old.rec.Revision+1, old.rec.CreatedAt, old.rec.Respondent
			rec.Verified, rec.LinkIssued = rec.Verified || old.rec.Verified, rec.LinkIssued || old.rec.LinkIssued
		}
		f.partials.put(&partial{rec, p.Token})
		return rec.Revision, nil
	})
}

// clearPartial clears the answers of the partial submission that sub completes, if any, and marks it as submitted.
func (f *form) clearPartial(token [32]byte, sub *submission) {
	if p := f.partials.byToken[token]; token != [32]byte{} && p.isOpen(sub.rec.SubmittedAt) {
		rec := p.rec
		rec.Answers, rec.Hidden, rec.Metadata, rec.Block, rec.Seconds, rec.SubmissionID = nil, nil, nil, "", 0, sub.rec.ID
		f.partials.put(&partial{rec, token})
	}
}

// Partial implements [storage.PartialStore].
func (s *Store) Partial(ctx context.Context, formID storage.ID, token [32]byte, now time.Time) (storage.Partial, error) {
	return withRecordResult(ctx, s, s.findForm(storage.AsHost(), formID), []any{now}, func(f *form) (storage.Partial, error) {
		p := f.partials.byToken[token]
		if p.isExpired(now) {
			return storage.Partial{}, storage.ErrNotFound
		}
		return copyPartial(p.rec), nil
	})
}

// Partials implements [storage.PartialStore]. The records passed to each share the stored bytes.
func (s *Store) Partials(ctx context.Context, actor storage.Actor, formID storage.ID, q storage.PartialQuery, each func(*storage.Partial) error) (more bool, err error) {
	limit := max(0, q.Page.Limit)
	found, err := withRecordResult(ctx, s, s.findForm(actor, formID), []any{q.Now, q.Page}, func(f *form) ([]storage.Partial, error) {
		q.Page.Limit = limit + 1
		return pageOf(slices.Values(f.partials.open.items), q.Page, (*partial).position, func(p *partial) storage.Partial { return p.rec },
			func(p *partial) bool { return !p.isExpired(q.Now) && (p.rec.Verified || !q.Verified) }), nil
	})
	for i := range found[:min(limit, len(found))] {
		if err := each(&found[i]); err != nil {
			return false, err
		}
	}
	return limit > 0 && len(found) > limit, err
}

// DeletePartials implements [storage.PartialStore]. It reads all partial submissions of the form.
func (s *Store) DeletePartials(ctx context.Context, actor storage.Actor, id storage.ID, p storage.DeletePartialsParams) (n int, more bool, err error) {
	find := s.findForm(actor, id)
	if actor.Host() {
		find = func() *form { return s.forms[id] }
	}
	err = withRecord(ctx, s, find, []any{p.SavedBefore}, func(f *form) error {
		for token, old := range f.partials.byToken {
			if !old.rec.SavedAt.Before(p.SavedBefore) && !slices.Contains(p.IDs, old.rec.ID) && (token != p.Token || token == [32]byte{}) {
				continue
			}
			if n >= p.Max {
				more = n > 0
				return nil
			}
			f.partials.remove(old)
			n++
		}
		return nil
	})
	return n, more, err
}
