package memory

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
)

type workspace struct {
	rec     storage.Workspace
	members map[storage.ID]bool // without the owner
}

func (w *workspace) position() storage.Position {
	return storage.Position{Time: w.rec.CreatedAt, ID: w.rec.ID}
}

func (w *workspace) copy() storage.Workspace { return w.rec }

func canAccess(actor storage.Actor, w *workspace) bool {
	if w == nil {
		return false
	}
	user, ok := actor.User()
	return actor.Host() || ok && (user == w.rec.OwnerID || w.members[user])
}

// canManage reports whether an actor that can access the workspace can also change it.
func canManage(actor storage.Actor, w *workspace) bool {
	return actor.Host() || actor == storage.As(w.rec.OwnerID)
}

func (s *Store) findWorkspace(actor storage.Actor, id storage.ID) func() *workspace {
	return func() *workspace {
		if w := s.workspaces[id]; canAccess(actor, w) {
			return w
		}
		return nil
	}
}

// CreateWorkspace implements [storage.WorkspaceStore].
func (s *Store) CreateWorkspace(ctx context.Context, w storage.Workspace, limit int) error {
	return withLock(ctx, s, []any{w.PublicID, w.Name, w.CreatedAt, w.UpdatedAt}, func() error {
		owned, taken := 0, s.workspaces[w.ID] != nil
		for _, other := range s.workspaces {
			if other.rec.OwnerID == w.OwnerID {
				owned++
			}
			taken = taken || other.rec.PublicID == w.PublicID
		}
		switch {
		case limit > 0 && owned >= limit:
			return storage.ErrLimitReached
		case taken:
			return storage.ErrConflict
		}
		w.CreatedAt, w.UpdatedAt = toUTC(w.CreatedAt), toUTC(w.UpdatedAt)
		s.workspaces[w.ID] = &workspace{rec: w, members: make(map[storage.ID]bool)}
		return nil
	})
}

// Workspace implements [storage.WorkspaceStore].
func (s *Store) Workspace(ctx context.Context, actor storage.Actor, id storage.ID) (storage.Workspace, error) {
	return withRecordResult(ctx, s, s.findWorkspace(actor, id), nil, func(w *workspace) (storage.Workspace, error) {
		return w.rec, nil
	})
}

// Workspaces implements [storage.WorkspaceStore].
func (s *Store) Workspaces(ctx context.Context, actor storage.Actor, page storage.Page) ([]storage.Workspace, error) {
	return readPage(ctx, s, maps.Values(s.workspaces), page, (*workspace).position, (*workspace).copy,
		func(w *workspace) bool { return canAccess(actor, w) })
}

// UpdateWorkspace implements [storage.WorkspaceStore].
func (s *Store) UpdateWorkspace(ctx context.Context, actor storage.Actor, id storage.ID, c storage.WorkspaceChange) (storage.Workspace, error) {
	return withRecordResult(ctx, s, s.findWorkspace(actor, id), []any{c.Name, c.At}, func(w *workspace) (storage.Workspace, error) {
		if !canManage(actor, w) {
			return storage.Workspace{}, storage.ErrNotOwner
		}
		setIfGiven(&w.rec.Name, c.Name)
		if c.Owner != nil {
			w.members[w.rec.OwnerID] = true
			delete(w.members, *c.Owner)
			w.rec.OwnerID = *c.Owner
		}
		w.rec.UpdatedAt = toUTC(c.At)
		return w.rec, nil
	})
}

// DeleteWorkspace implements [storage.WorkspaceStore]. It returns ErrInvalidValue if at is zero, as TrashForm does.
func (s *Store) DeleteWorkspace(ctx context.Context, actor storage.Actor, id storage.ID, at time.Time) error {
	return withRecord(ctx, s, s.findWorkspace(actor, id), []any{requiredTime(at)}, func(w *workspace) error {
		if !canManage(actor, w) {
			return storage.ErrNotOwner
		}
		s.deleteWorkspace(w, at)
		return nil
	})
}

func (s *Store) deleteWorkspace(w *workspace, at time.Time) {
	delete(s.workspaces, w.rec.ID)
	for _, f := range s.forms {
		if f.rec.WorkspaceID == w.rec.ID {
			f.lastOwner = w.rec.OwnerID
			f.moveToTrash(at)
		}
	}
}

// SetMember implements [storage.WorkspaceStore].
func (s *Store) SetMember(ctx context.Context, workspaceID, user storage.ID, member bool) error {
	return withRecord(ctx, s, s.findWorkspace(storage.AsHost(), workspaceID), nil, func(w *workspace) error {
		switch {
		case !member && user == w.rec.OwnerID:
			return storage.ErrConflict
		case !member:
			delete(w.members, user)
		case user != w.rec.OwnerID:
			w.members[user] = true
		}
		return nil
	})
}

// Members implements [storage.WorkspaceStore].
func (s *Store) Members(ctx context.Context, workspaceID storage.ID) ([]storage.ID, error) {
	return withRecordResult(ctx, s, s.findWorkspace(storage.AsHost(), workspaceID), nil, func(w *workspace) ([]storage.ID, error) {
		members := slices.AppendSeq([]storage.ID{}, maps.Keys(w.members))
		slices.SortFunc(members, compareIDs)
		return members, nil
	})
}
