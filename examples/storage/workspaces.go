package main

import (
	"context"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// accessible selects the workspaces that an actor sees; whom returns its parameters.
const accessible = `
	SELECT id FROM workspaces WHERE ?1 OR owner = ?2
	UNION ALL SELECT workspace FROM members WHERE user = ?2`

// whom returns the first two parameters of a query: whether the actor is the host,
// and its user, which is null when it has none.
func whom(who storage.Actor, more ...any) []any {
	var user any
	if id, ok := who.User(); ok {
		user = id
	}
	return append([]any{who.Host(), user}, more...)
}

const workspaceColumns = `id, public_id, owner, name, created, updated`

func scanWorkspace(row scanner) (w storage.Workspace, err error) {
	err = row.Scan(&w.ID, &w.PublicID, &w.OwnerID, &w.Name, at(&w.CreatedAt), at(&w.UpdatedAt))
	return w, err
}

// workspace returns a workspace that the actor sees, or ErrNotFound.
func (t *tx) workspace(who storage.Actor, id storage.ID) (w storage.Workspace, err error) {
	err = t.one(`SELECT `+workspaceColumns+` FROM workspaces WHERE id = ?3 AND id IN (`+accessible+`)`, whom(who, id),
		&w.ID, &w.PublicID, &w.OwnerID, &w.Name, at(&w.CreatedAt), at(&w.UpdatedAt))
	return w, err
}

// owned returns a workspace that the actor may change, with the errors of
// UpdateWorkspace.
func (t *tx) owned(who storage.Actor, id storage.ID) (storage.Workspace, error) {
	w, err := t.workspace(who, id)
	if user, _ := who.User(); err == nil && !who.Host() && user != w.OwnerID {
		return w, storage.ErrNotOwner
	}
	return w, err
}

// CreateWorkspace implements [storage.WorkspaceStore].
func (s *Store) CreateWorkspace(ctx context.Context, w storage.Workspace, limit int) error {
	if err := check(w.PublicID, w.Name, w.CreatedAt, w.UpdatedAt); err != nil {
		return err
	}
	return s.write(ctx, func(tx *tx) error {
		var owned int
		if err := tx.one(`SELECT count(*) FROM workspaces WHERE owner = ?`, []any{w.OwnerID}, &owned); err != nil {
			return err
		}
		if limit > 0 && owned >= limit {
			return storage.ErrLimitReached
		}
		return added(tx.exec(`INSERT INTO workspaces (`+workspaceColumns+`) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			w.ID, w.PublicID, w.OwnerID, w.Name, w.CreatedAt, w.UpdatedAt))
	})
}

// added returns ErrConflict when an INSERT with ON CONFLICT DO NOTHING did nothing.
func added(rows int, err error) error {
	if err == nil && rows == 0 {
		return storage.ErrConflict
	}
	return err
}

// Workspace implements [storage.WorkspaceStore].
func (s *Store) Workspace(ctx context.Context, who storage.Actor, id storage.ID) (w storage.Workspace, err error) {
	err = s.read(ctx, func(tx *tx) error {
		w, err = tx.workspace(who, id)
		return err
	})
	return w, err
}

// Workspaces implements [storage.WorkspaceStore].
func (s *Store) Workspaces(ctx context.Context, who storage.Actor, page storage.Page) (found []storage.Workspace, err error) {
	if err := check(page); err != nil {
		return nil, err
	}
	err = s.read(ctx, func(tx *tx) error {
		time, id := start(page)
		found, err = all(tx, scanWorkspace, `SELECT `+workspaceColumns+` FROM workspaces
			WHERE (?1 OR id IN (`+accessible+`)) AND (created, id) < (?3, ?4)
			ORDER BY created DESC, id DESC LIMIT ?5`, whom(who, time, id, max(page.Limit, 0))...)
		return err
	})
	return found, err
}

// UpdateWorkspace implements [storage.WorkspaceStore].
func (s *Store) UpdateWorkspace(ctx context.Context, who storage.Actor, id storage.ID, c storage.WorkspaceChange) (w storage.Workspace, err error) {
	if err := check(c.Name, c.At); err != nil {
		return w, err
	}
	err = s.write(ctx, func(tx *tx) error {
		if w, err = tx.owned(who, id); err != nil {
			return err
		}
		if c.Name != nil {
			w.Name = *c.Name
		}
		if c.Owner != nil && *c.Owner != w.OwnerID {
			if err := tx.setMember(id, w.OwnerID, true); err != nil {
				return err
			}
			if err := tx.setMember(id, *c.Owner, false); err != nil {
				return err
			}
			w.OwnerID = *c.Owner
		}
		if _, err := tx.exec(`UPDATE workspaces SET owner = ?, name = ?, updated = ? WHERE id = ?`, w.OwnerID, w.Name, c.At, id); err != nil {
			return err
		}
		w, err = tx.workspace(storage.AsHost(), id)
		return err
	})
	if err != nil {
		return storage.Workspace{}, err
	}
	return w, nil
}

// DeleteWorkspace implements [storage.WorkspaceStore].
func (s *Store) DeleteWorkspace(ctx context.Context, who storage.Actor, id storage.ID, at time.Time) error {
	if at.IsZero() || !storage.ValidTime(at) {
		return storage.ErrInvalidValue
	}
	return s.write(ctx, func(tx *tx) error {
		w, err := tx.owned(who, id)
		if err != nil {
			return err
		}
		return tx.deleteWorkspace(id, w.OwnerID, at)
	})
}

func (t *tx) deleteWorkspace(id, owner storage.ID, at time.Time) error {
	if err := t.trash(`workspace = ?2`, at, id); err != nil {
		return err
	}
	if _, err := t.exec(`UPDATE forms SET owner = ? WHERE workspace = ?`, owner, id); err != nil {
		return err
	}
	_, err := t.exec(`DELETE FROM workspaces WHERE id = ?`, id)
	return err
}

// SetMember implements [storage.WorkspaceStore].
func (s *Store) SetMember(ctx context.Context, workspace, user storage.ID, member bool) error {
	return s.write(ctx, func(tx *tx) error {
		w, err := tx.workspace(storage.AsHost(), workspace)
		switch {
		case err != nil:
			return err
		case w.OwnerID != user:
			return tx.setMember(workspace, user, member)
		case !member:
			return storage.ErrConflict
		}
		return nil
	})
}

func (t *tx) setMember(workspace, user storage.ID, member bool) error {
	query := `DELETE FROM members WHERE workspace = ? AND user = ?`
	if member {
		query = `INSERT INTO members (workspace, user) VALUES (?, ?) ON CONFLICT DO NOTHING`
	}
	_, err := t.exec(query, workspace, user)
	return err
}

// Members implements [storage.WorkspaceStore].
func (s *Store) Members(ctx context.Context, workspace storage.ID) (members []storage.ID, err error) {
	err = s.read(ctx, func(tx *tx) error {
		if _, err := tx.workspace(storage.AsHost(), workspace); err != nil {
			return err
		}
		members, err = all(tx, scanID, `SELECT user FROM members WHERE workspace = ? ORDER BY user`, workspace)
		return err
	})
	return members, err
}
