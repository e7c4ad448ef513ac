package memory

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// DeleteUser implements [storage.RemovalStore]. Nothing is left for Sweep.
func (s *Store) DeleteUser(ctx context.Context, user storage.ID, at time.Time) error {
	if err := s.lock(ctx, mark(at)); err != nil {
		return err
	}
	defer s.mu.Unlock()
	delete(s.users, user)
	maps.DeleteFunc(s.keys, func(_ [32]byte, k *key) bool { return k.rec.UserID == user })
	for _, w := range s.workspaces {
		delete(w.members, user)
		if w.rec.OwnerID == user {
			s.deleteWorkspace(w, at)
		}
	}
	for _, f := range s.forms {
		if s.workspaces[f.rec.WorkspaceID] == nil && f.lastOwner == user {
			s.purge(f)
		}
	}
	return nil
}

// PurgeForm implements [storage.RemovalStore].
func (s *Store) PurgeForm(ctx context.Context, id storage.ID) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	f := s.forms[id]
	if f == nil || !f.trashed() {
		return storage.ErrNotFound
	}
	s.purge(f)
	return nil
}

// purge removes a form in the trash and everything of it.
func (s *Store) purge(f *form) {
	delete(s.forms, f.rec.ID)
	delete(s.publicForms, f.rec.PublicID)
	for _, w := range f.webhooks {
		s.removeWebhook(w)
	}
}

// EraseSubmissions implements [storage.RemovalStore].
func (s *Store) EraseSubmissions(ctx context.Context, form storage.ID, ids []storage.ID) (int, error) {
	if err := s.lock(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	f, n := s.forms[form], 0
	for _, id := range ids {
		if f != nil && f.erase(id) == nil {
			n++
		}
	}
	return n, nil
}

// PurgeSubmissions implements [storage.RemovalStore].
func (s *Store) PurgeSubmissions(ctx context.Context, p storage.PurgeSubmissionsParams) (storage.PurgedSubmissions, error) {
	if err := s.lock(ctx, p.Before); err != nil {
		return storage.PurgedSubmissions{}, err
	}
	defer s.mu.Unlock()
	var out storage.PurgedSubmissions
	for _, id := range p.Forms {
		f := s.forms[id]
		if f == nil || p.Max < 1 {
			continue
		}
		old := min(f.submissions.before(storage.Position{Time: p.Before}), p.Max-out.Submissions)
		for _, sub := range slices.Clone(f.submissions.items[:old]) {
			f.answers.free(sub.rec.ID)
			f.remove(sub)
			f.kept++
			out.Submissions++
		}
		if out.More = out.Submissions == p.Max; out.More {
			break
		}
	}
	return out, nil
}

// Sweep implements [storage.Storage]. It never counts an event: here their bodies go
// as soon as nothing refers to them. A form goes with everything of its own at once.
func (s *Store) Sweep(ctx context.Context, p storage.SweepParams) (storage.Swept, error) {
	if err := s.lock(ctx, p.Now, p.TrashBefore, p.KeysBefore); err != nil {
		return storage.Swept{}, err
	}
	defer s.mu.Unlock()
	var out storage.Swept
	for _, f := range s.forms {
		if f.trashed() && f.rec.TrashedAt.Before(p.TrashBefore) && out.Forms < p.Max {
			s.purge(f)
			out.Forms++
		}
	}
	for hash, k := range s.keys {
		if k.endedBefore(p.KeysBefore) && out.Keys < p.Max && !p.Removals {
			delete(s.keys, hash)
			out.Keys++
		}
	}
	for _, w := range s.webhooks {
		wiped := false
		for _, old := range []*oldSecret{&w.old, &w.older} {
			if len(old.secret) > 0 && !old.until.After(p.Now) && out.Secrets < p.Max && !p.Removals {
				*old, wiped = oldSecret{}, true
			}
		}
		if wiped {
			out.Secrets++
		}
	}
	out.More = p.Max > 0 && p.Max == max(out.Forms, out.Keys, out.Secrets)
	return out, nil
}
