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

// WorkspaceChange says what to change; nil members stay. At becomes UpdatedAt.
type WorkspaceChange struct {
	Name *string
	// Owner hands the workspace over. The previous owner becomes a member, and
	// the new one is no longer listed as a member.
	Owner *ID
	At    time.Time
}

// WorkspaceStore keeps workspaces and who may use them. A workspace is
// accessible to its owner, its members and the host.
type WorkspaceStore interface {
	// CreateWorkspace adds w. It MUST return ErrLimitReached when w.OwnerID
	// already owns max workspaces or more, also when several calls run at once,
	// and else ErrConflict when w.ID or w.PublicID is taken. A max below 1 is no
	// limit.
	CreateWorkspace(ctx context.Context, w Workspace, max int) error

	// Workspace returns one workspace, or ErrNotFound.
	Workspace(ctx context.Context, actor Actor, id ID) (Workspace, error)

	// Workspaces lists the accessible workspaces, newest first by (CreatedAt, ID).
	Workspaces(ctx context.Context, actor Actor, page Page) ([]Workspace, error)

	// UpdateWorkspace changes one workspace and returns it as it is then. It MUST
	// return ErrNotFound when the workspace is not accessible. It MUST return
	// ErrNotOwner when the workspace is accessible but the actor is neither its owner
	// nor the host.
	UpdateWorkspace(ctx context.Context, actor Actor, id ID, c WorkspaceChange) (Workspace, error)

	// DeleteWorkspace removes the workspace with its name and its member list, and
	// moves every form in it to the trash as [FormStore.TrashForm] does, all in one
	// step, however many forms there are. A delivery that is under a lease may still
	// be finished. Errors as for UpdateWorkspace.
	DeleteWorkspace(ctx context.Context, actor Actor, id ID, at time.Time) error

	// SetMember makes user a member of the workspace or ends that. Doing it twice
	// is no error, nor is making the owner a member, which changes nothing. It
	// MUST return ErrNotFound when there is no such workspace and ErrConflict when
	// the owner is to be removed.
	SetMember(ctx context.Context, workspace, user ID, member bool) error

	// Members returns the members in ascending order, without the owner, or
	// ErrNotFound when there is no such workspace.
	Members(ctx context.Context, workspace ID) ([]ID, error)
}
