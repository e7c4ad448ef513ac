package memory

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// DeleteUser implements [storage.RemovalStore]. It removes everything except submissions, which Sweep removes.
func (s *Store) DeleteUser(ctx context.Context, user storage.ID, at time.Time) error {
	return withLock(ctx, s, []any{requiredTime(at)}, func() error {
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
				s.purgeForm(f)
			}
		}
		return nil
	})
}

// PurgeForm implements [storage.RemovalStore].
func (s *Store) PurgeForm(ctx context.Context, id storage.ID) error {
	return withLock(ctx, s, nil, func() error {
		f := s.forms[id]
		if f == nil || !f.inTrash() {
			return storage.ErrNotFound
		}
		s.purgeForm(f)
		return nil
	})
}

// purgeForm removes a form in the trash with all its records, except for submissions, which Sweep removes.
func (s *Store) purgeForm(f *form) {
	s.purgedSubmissions = append(s.purgedSubmissions, f.submissions.items...)
	delete(s.forms, f.rec.ID)
	delete(s.publicForms, f.rec.PublicID)
	for _, w := range f.webhooks {
		s.removeWebhook(w)
	}
}

// EraseSubmissions implements [storage.RemovalStore].
func (s *Store) EraseSubmissions(ctx context.Context, formID storage.ID, ids []storage.ID) (int, error) {
	return withLockResult(ctx, s, nil, func() (int, error) {
		f, n := s.forms[formID], 0
		for _, id := range ids {
			if f != nil && f.eraseSubmission(id) == nil {
				n++
			}
		}
		return n, nil
	})
}

// PurgeSubmissions implements [storage.RemovalStore].
func (s *Store) PurgeSubmissions(ctx context.Context, p storage.PurgeSubmissionsParams) (storage.PurgedSubmissions, error) {
	return withLockResult(ctx, s, []any{p.Before}, func() (storage.PurgedSubmissions, error) {
		var old []*submission
		for _, id := range p.Forms {
			if f := s.forms[id]; f != nil && len(old) < p.Max {
				n := min(f.submissions.countBefore(storage.Position{Time: p.Before}), p.Max-len(old))
				old = append(old, f.submissions.items[:n]...)
			}
		}
		if err := s.callBeforeDelete(ctx, p.BeforeDelete, old); err != nil {
			return storage.PurgedSubmissions{}, err
		}
		out := storage.PurgedSubmissions{More: len(old) > 0 && len(old) == p.Max}
		for _, sub := range old {
			if f := s.forms[sub.rec.FormID]; f != nil && f.eraseSubmission(sub.rec.ID) == nil {
				f.purged++
				out.Submissions++
			}
		}
		return out, nil
	})
}

// callBeforeDelete calls hook with subs. The store is unlocked during the call.
func (s *Store) callBeforeDelete(ctx context.Context, hook storage.BeforeDelete, subs []*submission) error {
	if hook == nil || len(subs) == 0 {
		return nil
	}
	s.mu.Unlock()
	defer s.mu.Lock()
	var leaving []storage.Submission
	for _, sub := range subs {
		leaving = append(leaving, storage.Submission{FormID: sub.rec.FormID, ID: sub.rec.ID, Answers: sub.rec.Answers})
		for i := range sub.history {
			leaving = append(leaving, storage.Submission{FormID: sub.rec.FormID, ID: sub.rec.ID, Answers: sub.history[i].Answers})
		}
	}
	return hook(ctx, leaving)
}

// Sweep implements [storage.Storage]. It never reports removed events, because a body is removed together with its last
// reference. Purged forms are removed immediately, except for their submissions, which Sweep removes in batches.
func (s *Store) Sweep(ctx context.Context, p storage.SweepParams) (storage.SweepResult, error) {
	return withLockResult(ctx, s, []any{p.Now, p.TrashBefore, p.KeysBefore}, func() (storage.SweepResult, error) {
		if !p.RemovalsOnly && p.Max > 0 {
			s.maintenance.LastMaintenance = toUTC(s.now())
		}
		var out storage.SweepResult
		for _, f := range s.forms {
			if f.inTrash() && f.rec.TrashedAt.Before(p.TrashBefore) && out.Forms < p.Max {
				s.purgeForm(f)
				out.Forms++
			}
		}
		for hash, k := range s.keys {
			if k.endedBefore(p.KeysBefore) && out.Keys < p.Max && !p.RemovalsOnly {
				delete(s.keys, hash)
				out.Keys++
			}
		}
		for _, w := range s.webhooks {
			if len(w.previousSecret.secret) > 0 && !w.previousSecret.until.After(p.Now) && out.Secrets < p.Max && !p.RemovalsOnly {
				w.previousSecret = previousSecret{}
				out.Secrets++
			}
		}
		partials := 0
		for _, f := range s.forms {
			if !p.RemovalsOnly {
				partials += f.partials.removeExpired(p.Now, p.Max-partials)
			}
		}
		going := slices.Clone(s.purgedSubmissions[:max(0, min(p.Max, len(s.purgedSubmissions)))])
		err := s.callBeforeDelete(ctx, p.BeforeDelete, going)
		if err == nil && len(going) > 0 && len(s.purgedSubmissions) > 0 && s.purgedSubmissions[0] == going[0] { // otherwise another call removed them
			s.purgedSubmissions = slices.Delete(s.purgedSubmissions, 0, len(going))
		}
		out.More = p.Max > 0 && (len(s.purgedSubmissions) > 0 || p.Max == max(out.Forms, out.Keys, out.Secrets, partials))
		return out, err
	})
}

// MaintenanceStatus implements [storage.Storage].
func (s *Store) MaintenanceStatus(ctx context.Context) (storage.MaintenanceStatus, error) {
	return withLockResult(ctx, s, nil, func() (storage.MaintenanceStatus, error) {
		s.maintenance.Now = toUTC(s.now())
		return s.maintenance, nil
	})
}
