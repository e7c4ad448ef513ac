package postgres

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

const workspaceColumns = `w.id, w.public_id, w.owner_id, w.name, w.created_at, w.updated_at`

func workspaceTargets(w *storage.Workspace) []any {
	return []any{&w.ID, &w.PublicID, &w.OwnerID, &w.Name, &w.CreatedAt, &w.UpdatedAt}
}

// lockWorkspaceRow serializes owner and member changes, so that the next statement sees earlier changes.
const lockWorkspaceRow = `SELECT 1 FROM formsvc.workspaces w WHERE w.id = $1::bytea FOR NO KEY UPDATE`

const createWorkspace = `
WITH room AS (
	SELECT $7::bigint < 1 OR $7::bigint > (
		SELECT count(*) FROM (
			SELECT 1 FROM formsvc.workspaces w WHERE w.owner_id = $3::bytea AND w.deleted_at IS NULL LIMIT (SELECT $7::bigint)
		) owned
	) AS ok
), made AS (
	INSERT INTO formsvc.workspaces (id, public_id, owner_id, name, created_at, updated_at)
	SELECT $1::bytea, $2::text, $3::bytea, $4::text, $5::timestamptz, $6::timestamptz FROM room WHERE room.ok
	ON CONFLICT DO NOTHING
	RETURNING id, owner_id, created_at
), owner AS (
	INSERT INTO formsvc.workspace_users (workspace_id, user_id, created_at, is_owner)
	SELECT made.id, made.owner_id, made.created_at, true FROM made
)
SELECT room.ok, EXISTS (SELECT 1 FROM made) FROM room`

// CreateWorkspace implements [storage.WorkspaceStore]. The ID of a deleted workspace cannot be used while forms in
// the trash refer to it.
func (s *Store) CreateWorkspace(ctx context.Context, w storage.Workspace, limit int) error {
	return s.db.Create(ctx, s.lockStatement(lockOwners, w.OwnerID),
		conn.NewStatement(createWorkspace, w.ID[:], w.PublicID, w.OwnerID[:], w.Name, w.CreatedAt.UTC(), w.UpdatedAt.UTC(), int64(max(limit, 0))))
}

const workspaceByID = `
SELECT ` + workspaceColumns + `
FROM formsvc.workspaces w
WHERE w.id = $1::bytea AND ` + workspaceAccess

// Workspace implements [storage.WorkspaceStore].
func (s *Store) Workspace(ctx context.Context, actor storage.Actor, id storage.ID) (storage.Workspace, error) {
	return conn.ReadOne(ctx, &s.db, workspaceTargets, workspaceByID, id[:], userArg(actor))
}

const workspaceExists = `
SELECT 1 FROM formsvc.workspaces w WHERE w.id = $1::bytea AND ` + workspaceAccess

var workspacesOfHost = sync.OnceValue(func() string {
	return mustBuildSQL(listSource{"formsvc.workspaces w", "w", workspaceColumns, "w.deleted_at IS NULL"}.selectForHost())
})

// workspacesOfUser reads a page from the index of workspaces by user, and then reads each workspace by ID.
const workspacesOfUser = `
SELECT ` + workspaceColumns + `
FROM (
	SELECT a.workspace_id FROM formsvc.workspace_users a
	WHERE a.user_id = $4::bytea AND (a.created_at, a.workspace_id) < (COALESCE((SELECT $1::timestamptz), 'infinity'), $2::bytea)
	ORDER BY a.created_at DESC, a.workspace_id DESC
	LIMIT ` + pageLimit + `
) a
CROSS JOIN LATERAL (SELECT w.* FROM formsvc.workspaces w WHERE w.id = a.workspace_id LIMIT 1) w
ORDER BY w.created_at DESC, w.id DESC`

// Workspaces implements [storage.WorkspaceStore].
func (s *Store) Workspaces(ctx context.Context, actor storage.Actor, page storage.Page) ([]storage.Workspace, error) {
	text, args := workspacesOfHost(), pageArgs(page)
	if !actor.Host() {
		text, args = workspacesOfUser, append(args, userArg(actor))
	}
	return conn.ReadAll(ctx, &s.db, workspaceTargets, text, args...)
}

const updateWorkspace = `
WITH seen AS (
	SELECT w.id, w.owner_id, $2::bytea IS NULL OR w.owner_id = $2::bytea AS allowed
	FROM formsvc.workspaces w
	WHERE w.id = $1::bytea AND ` + workspaceAccess + `
), changed AS (
	UPDATE formsvc.workspaces w
	SET name = COALESCE($3::text, w.name), owner_id = COALESCE($4::bytea, w.owner_id), updated_at = $5::timestamptz
	FROM seen
	WHERE w.id = seen.id AND seen.allowed
	RETURNING ` + workspaceColumns + `, seen.owner_id AS previous
), handed AS (
	INSERT INTO formsvc.workspace_users (workspace_id, user_id, created_at, is_owner)
	SELECT c.id, c.owner_id, c.created_at, true FROM changed c WHERE c.owner_id <> c.previous
	ON CONFLICT (workspace_id, user_id) DO UPDATE SET is_owner = true
), kept AS (
	UPDATE formsvc.workspace_users a SET is_owner = false
	FROM changed c
	WHERE a.workspace_id = c.id AND a.user_id = c.previous AND c.owner_id <> c.previous
)
SELECT seen.allowed, w.id, w.public_id, w.owner_id, w.name, w.created_at, w.updated_at
FROM seen LEFT JOIN changed w ON true`

// UpdateWorkspace implements [storage.WorkspaceStore].
func (s *Store) UpdateWorkspace(ctx context.Context, actor storage.Actor, id storage.ID, c storage.WorkspaceChange) (storage.Workspace, error) {
	var w storage.Workspace
	var allowed bool
	err := s.db.Change(ctx, conn.NewStatement(lockWorkspaceRow, id[:]),
		conn.NewStatement(updateWorkspace, id[:], userArg(actor), c.Name, conn.IDPointerArg(c.Owner), c.At.UTC()).
			ScanInto(append([]any{&allowed}, workspaceTargets(&w)...)...))
	if err == nil && !allowed {
		return storage.Workspace{}, storage.ErrNotOwner
	}
	return w, err
}

// deleteWorkspace moves the workspace's forms to the trash (see formNotTrashed). Sweeps update the forms' rows later.
const deleteWorkspace = `
WITH closed AS (
	UPDATE formsvc.workspaces w SET deleted_at = $3::timestamptz, name = ''
	WHERE w.id = $1::bytea AND w.deleted_at IS NULL AND ($2::bytea IS NULL OR w.owner_id = $2::bytea)
	RETURNING w.id
)
DELETE FROM formsvc.workspace_users a USING closed WHERE a.workspace_id = closed.id`

// canDeleteWorkspace checks whether the actor can delete the workspace, before deleteWorkspace removes access.
const canDeleteWorkspace = `
SELECT $2::bytea IS NULL OR w.owner_id = $2::bytea
FROM formsvc.workspaces w
WHERE w.id = $1::bytea AND ` + workspaceAccess

// DeleteWorkspace implements [storage.WorkspaceStore]. Its duration does not depend on the number of forms. It waits
// for transactions that add a form to the workspace, but not for submissions.
func (s *Store) DeleteWorkspace(ctx context.Context, actor storage.Actor, id storage.ID, at time.Time) error {
	if at.IsZero() {
		return storage.ErrInvalidValue
	}
	var allowed bool
	err := s.db.Change(ctx, conn.NewStatement(lockWorkspaceRow, id[:]),
		conn.NewStatement(canDeleteWorkspace, id[:], userArg(actor)).ScanInto(&allowed),
		conn.NewStatement(deleteWorkspace, id[:], userArg(actor), at.UTC()))
	if err == nil && !allowed {
		return storage.ErrNotOwner
	}
	return err
}

const setMember = `
WITH seen AS (
	SELECT w.id, w.owner_id, w.created_at FROM formsvc.workspaces w WHERE w.id = $1::bytea AND w.deleted_at IS NULL
), added AS (
	INSERT INTO formsvc.workspace_users (workspace_id, user_id, created_at, is_owner)
	SELECT seen.id, $2::bytea, seen.created_at, false FROM seen WHERE $3::boolean AND seen.owner_id <> $2::bytea
	ON CONFLICT DO NOTHING
), ended AS (
	DELETE FROM formsvc.workspace_users a USING seen
	WHERE NOT $3::boolean AND a.workspace_id = seen.id AND a.user_id = $2::bytea AND seen.owner_id <> $2::bytea
)
SELECT seen.owner_id = $2::bytea FROM seen`

// SetMember implements [storage.WorkspaceStore].
func (s *Store) SetMember(ctx context.Context, workspace, user storage.ID, member bool) error {
	var owner bool
	err := s.db.Change(ctx, conn.NewStatement(lockWorkspaceRow, workspace[:]), conn.NewStatement(setMember, workspace[:], user[:], member).ScanInto(&owner))
	if err == nil && owner && !member {
		return storage.ErrConflict
	}
	return err
}

// members returns a row of null for a workspace without members.
const members = `
SELECT a.user_id
FROM formsvc.workspaces w
LEFT JOIN formsvc.workspace_users a ON a.workspace_id = w.id AND NOT a.is_owner
WHERE w.id = $1::bytea AND w.deleted_at IS NULL
ORDER BY a.user_id`

// Members implements [storage.WorkspaceStore].
func (s *Store) Members(ctx context.Context, workspace storage.ID) ([]storage.ID, error) {
	found, err := conn.ReadAll(ctx, &s.db, func(id *storage.ID) []any { return []any{id} }, members, workspace[:])
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, storage.ErrNotFound
	}
	return slices.DeleteFunc(found, storage.ID.IsZero), nil
}
