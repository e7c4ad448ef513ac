package memory

import (
	"context"
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// DeleteUser implements [storage.RemovalStore]. Nothing is left for Sweep.
func (s *Store) DeleteUser(ctx context.Context, user storage.ID, at time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if at.IsZero() || !storage.ValidTime(at) {
		return storage.ErrInvalidValue
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.users[user]
	if u == nil {
		return nil
	}
	for _, k := range slices.Clone(u.keys.items) {
		s.removeKey(k)
	}
	for _, w := range slices.Clone(u.workspaces.items) {
		if w.rec.OwnerID == user {
			s.deleteWorkspace(w, at)
		} else {
			delete(w.members, user)
		}
	}
	for _, sh := range s.shelves {
		if sh.owner == user {
			for _, f := range newest(sh.trash.items, len(sh.trash.items)) {
				s.purge(f)
			}
		}
	}
	delete(s.users, user)
	return nil
}

// PurgeForm implements [storage.RemovalStore].
func (s *Store) PurgeForm(ctx context.Context, id storage.ID) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.forms[id]
	if f == nil || !f.trashed() {
		return storage.ErrNotFound
	}
	s.purge(f)
	return nil
}

// EraseSubmissions implements [storage.RemovalStore].
func (s *Store) EraseSubmissions(ctx context.Context, form storage.ID, ids []storage.ID) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f, n := s.forms[form], 0
	for _, id := range ids {
		if f != nil && f.byID[id] != nil {
			f.answers.forget(id)
			f.remove(f.byID[id])
			n++
		}
	}
	return n, nil
}

// PurgeSubmissions implements [storage.RemovalStore].
func (s *Store) PurgeSubmissions(ctx context.Context, p storage.PurgeSubmissionsParams) (storage.PurgedSubmissions, error) {
	if err := ctx.Err(); err != nil {
		return storage.PurgedSubmissions{}, err
	}
	if err := check(p.Before); err != nil {
		return storage.PurgedSubmissions{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, id := range p.Forms {
		f := s.forms[id]
		if f == nil || p.Max < 1 {
			continue
		}
		old := f.submissions.older(storage.Position{Time: p.Before})
		for _, sub := range slices.Clone(f.submissions.items[:min(old, p.Max-n)]) {
			f.answers.forget(sub.rec.ID)
			f.remove(sub)
			f.kept++
			n++
		}
		if n == p.Max {
			return storage.PurgedSubmissions{Submissions: n, More: true}, nil
		}
	}
	return storage.PurgedSubmissions{Submissions: n}, nil
}
