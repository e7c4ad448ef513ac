package memory

import (
	"context"
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
)

type workspace struct {
	rec     storage.Workspace
	members map[storage.ID]struct{} // without the owner
}

func (w *workspace) place() storage.Position {
	return storage.Position{Time: w.rec.CreatedAt, ID: w.rec.ID}
}

// sees reports whether the workspace is accessible. A nil one is not.
func sees(who storage.Actor, w *workspace) bool {
	if w == nil {
		return false
	}
	if who.Host() {
		return true
	}
	id, ok := who.User()
	if !ok {
		return false
	}
	if w.rec.OwnerID == id {
		return true
	}
	_, ok = w.members[id]
	return ok
}

// owned returns a workspace that the actor may change, with the errors of
// UpdateWorkspace.
func (s *Store) owned(who storage.Actor, id storage.ID) (*workspace, error) {
	w := s.workspaces[id]
	if !sees(who, w) {
		return nil, storage.ErrNotFound
	}
	if user, _ := who.User(); !who.Host() && user != w.rec.OwnerID {
		return nil, storage.ErrNotOwner
	}
	return w, nil
}

// CreateWorkspace implements [storage.WorkspaceStore].
func (s *Store) CreateWorkspace(ctx context.Context, w storage.Workspace, limit int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := check(w.PublicID, w.Name, w.CreatedAt, w.UpdatedAt); err != nil {
		return err
	}
	w.CreatedAt, w.UpdatedAt = utc(w.CreatedAt), utc(w.UpdatedAt)

	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.users[w.OwnerID]; limit > 0 && u != nil && u.owned >= limit {
		return storage.ErrLimitReached
	}
	if s.workspaces[w.ID] != nil {
		return storage.ErrConflict
	}
	if _, taken := s.publicWorkspaces[w.PublicID]; taken {
		return storage.ErrConflict
	}
	rec := &workspace{rec: w, members: make(map[storage.ID]struct{})}
	s.workspaces[w.ID] = rec
	s.publicWorkspaces[w.PublicID] = struct{}{}
	if sh := s.shelves[w.ID]; sh != nil { // of an earlier workspace with this id
		sh.owner = storage.ID{}
	}
	s.allWorkspaces.add(rec)
	owner := s.user(w.OwnerID)
	owner.workspaces.add(rec)
	owner.owned++
	return nil
}

// Workspace implements [storage.WorkspaceStore].
func (s *Store) Workspace(ctx context.Context, who storage.Actor, id storage.ID) (storage.Workspace, error) {
	if err := ctx.Err(); err != nil {
		return storage.Workspace{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	w := s.workspaces[id]
	if !sees(who, w) {
		return storage.Workspace{}, storage.ErrNotFound
	}
	return w.rec, nil
}

// Workspaces implements [storage.WorkspaceStore].
func (s *Store) Workspaces(ctx context.Context, who storage.Actor, page storage.Page) ([]storage.Workspace, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := check(page); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	list := &s.allWorkspaces
	if !who.Host() {
		id, ok := who.User()
		u := s.users[id]
		if !ok || u == nil {
			return nil, nil
		}
		list = &u.workspaces
	}
	found := newest(list.after(page.After), page.Limit)
	out := make([]storage.Workspace, len(found))
	for i, w := range found {
		out[i] = w.rec
	}
	return out, nil
}

// UpdateWorkspace implements [storage.WorkspaceStore].
func (s *Store) UpdateWorkspace(ctx context.Context, who storage.Actor, id storage.ID, c storage.WorkspaceChange) (storage.Workspace, error) {
	if err := ctx.Err(); err != nil {
		return storage.Workspace{}, err
	}
	if err := check(c.Name, c.At); err != nil {
		return storage.Workspace{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w, err := s.owned(who, id)
	if err != nil {
		return storage.Workspace{}, err
	}
	if c.Name != nil {
		w.rec.Name = *c.Name
	}
	if c.Owner != nil && *c.Owner != w.rec.OwnerID {
		s.handOver(w, *c.Owner)
	}
	w.rec.UpdatedAt = utc(c.At)
	return w.rec, nil
}

// handOver makes another user the owner and the previous owner a member.
func (s *Store) handOver(w *workspace, to storage.ID) {
	s.user(w.rec.OwnerID).owned--
	w.members[w.rec.OwnerID] = struct{}{}

	delete(w.members, to)
	w.rec.OwnerID = to
	owner := s.user(to)
	owner.owned++
	owner.workspaces.add(w) // nothing when it was a member
}

// DeleteWorkspace implements [storage.WorkspaceStore]. A zero time is
// ErrInvalidValue, as for TrashForm.
func (s *Store) DeleteWorkspace(ctx context.Context, who storage.Actor, id storage.ID, at time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if at.IsZero() || !storage.ValidTime(at) {
		return storage.ErrInvalidValue
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w, err := s.owned(who, id)
	if err != nil {
		return err
	}
	s.deleteWorkspace(w, at)
	return nil
}

// deleteWorkspace removes w and moves its forms to the trash.
func (s *Store) deleteWorkspace(w *workspace, at time.Time) {
	id := w.rec.ID
	if sh := s.shelves[id]; sh != nil {
		// Newest first: taking the last one off the shelf moves nothing.
		for _, f := range newest(sh.forms.items, len(sh.forms.items)) {
			s.trash(f, at)
		}
		s.shelves[id].owner = w.rec.OwnerID
	}
	delete(s.workspaces, id)
	delete(s.publicWorkspaces, w.rec.PublicID)
	s.allWorkspaces.remove(w)
	owner := s.user(w.rec.OwnerID)
	owner.owned--
	owner.workspaces.remove(w)
	for member := range w.members {
		s.user(member).workspaces.remove(w)
	}
}

// SetMember implements [storage.WorkspaceStore].
func (s *Store) SetMember(ctx context.Context, workspace, user storage.ID, member bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.workspaces[workspace]
	if w == nil {
		return storage.ErrNotFound
	}
	if user == w.rec.OwnerID {
		if !member {
			return storage.ErrConflict
		}
		return nil
	}
	if member {
		w.members[user] = struct{}{}
		s.user(user).workspaces.add(w) // nothing when it is one already
		return nil
	}
	if _, ok := w.members[user]; ok {
		delete(w.members, user)
		s.user(user).workspaces.remove(w)
	}
	return nil
}

// Members implements [storage.WorkspaceStore].
func (s *Store) Members(ctx context.Context, workspace storage.ID) ([]storage.ID, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	w := s.workspaces[workspace]
	if w == nil {
		return nil, storage.ErrNotFound
	}
	out := make([]storage.ID, 0, len(w.members))
	for id := range w.members {
		out = append(out, id)
	}
	slices.SortFunc(out, compareIDs)
	return out, nil
}
