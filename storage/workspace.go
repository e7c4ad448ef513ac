package storage

import (
	"context"
	"time"
)

// Workspace is a set of forms with one owner and any number of members.
type Workspace struct {
	ID        ID
	PublicID  string
	OwnerID   ID
	Name      string
	CreatedAt time.Time
	UpdatedAt time.Time
}

// WorkspaceChange describes a change to a workspace. Nil fields are left unchanged. At becomes UpdatedAt.
type WorkspaceChange struct {
	Name *string
	// Owner is the new owner. The previous owner becomes a member. The new owner is no longer listed as a member.
	Owner *ID
	At    time.Time
}

// WorkspaceStore stores workspaces and their members. A workspace is accessible to its owner, its members and the host.
type WorkspaceStore interface {
	// CreateWorkspace adds w. It MUST return ErrLimitReached if w.OwnerID owns max workspaces or more, even under
	// concurrency, and otherwise ErrConflict if w.ID or w.PublicID is taken. A max below 1 means no limit.
	CreateWorkspace(ctx context.Context, w Workspace, max int) error

	// Workspace returns one workspace, or ErrNotFound.
	Workspace(ctx context.Context, actor Actor, id ID) (Workspace, error)

	// Workspaces lists the accessible workspaces, newest first by (CreatedAt, ID).
	Workspaces(ctx context.Context, actor Actor, page Page) ([]Workspace, error)

	// UpdateWorkspace changes one workspace and returns the new state. It MUST return ErrNotFound if the workspace is
	// not accessible, and otherwise ErrNotOwner if the actor is neither its owner nor the host.
	UpdateWorkspace(ctx context.Context, actor Actor, id ID, c WorkspaceChange) (Workspace, error)

	// DeleteWorkspace removes the workspace with its name and members, and moves all its forms to the trash as
	// [FormStore.TrashForm] does, in one step. A leased delivery can still be finished. DeleteWorkspace returns the
	// same errors as UpdateWorkspace.
	DeleteWorkspace(ctx context.Context, actor Actor, id ID, at time.Time) error

	// SetMember adds user to the workspace if member is true, and removes user otherwise. Repeating a call is not an
	// error. Adding the owner has no effect. It MUST return ErrNotFound if the workspace does not exist, and
	// ErrConflict if the call would remove the owner.
	SetMember(ctx context.Context, workspace, user ID, member bool) error

	// Members returns the members in ascending order, without the owner, or ErrNotFound for an unknown workspace.
	Members(ctx context.Context, workspace ID) ([]ID, error)
}
