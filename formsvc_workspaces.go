package formsvc

import (
	"context"

	"github.com/formsvc/formsvc/internal/faults"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// checkUser refuses the zero id, which to the storage means nobody.
func checkUser(path string, id ID) error {
	if id.IsZero() {
		return faults.One(path, schema.CodeRequired, "is required")
	}
	return nil
}

// CreateWorkspace makes a workspace for an owner. The name is trimmed and must
// have 1 to 120 characters, none of them a control character or one that turns the
// direction of text, else the error is a [*schema.Error]. It returns [ErrLimitReached]
// when the owner has as many workspaces as are allowed (Limits.Workspaces).
func (s *Service) CreateWorkspace(ctx context.Context, owner ID, name string) (Workspace, error) {
	return s.AsHost().CreateWorkspace(ctx, WorkspaceCreate{Name: name, Owner: owner})
}

// AddMember lets a user see and use a workspace. Only its owner may change or
// delete the workspace itself. Adding twice is not an error. It returns [ErrNotFound]
// when there is no such workspace.
func (s *Service) AddMember(ctx context.Context, workspaceID, userID ID) error {
	if err := checkUser("/user", userID); err != nil {
		return err
	}
	return s.storage.SetMember(ctx, workspaceID, userID, true)
}

// RemoveMember ends a membership. Removing somebody who is not a member is not an error. It
// returns [ErrNotFound] when there is no such workspace, and [ErrConflict] for
// its owner: see [Service.TransferWorkspace].
func (s *Service) RemoveMember(ctx context.Context, workspaceID, userID ID) error {
	return s.storage.SetMember(ctx, workspaceID, userID, false)
}

// Members lists a workspace's members in ascending order, without the owner. It
// returns [ErrNotFound] when there is no such workspace.
func (s *Service) Members(ctx context.Context, workspaceID ID) ([]ID, error) {
	return s.storage.Members(ctx, workspaceID)
}

// TransferWorkspace makes another user the owner; the previous one becomes a
// member. It returns [ErrNotFound] when there is no such workspace. The new owner
// may come to have more workspaces than Limits.Workspaces, which bounds making
// them only.
func (s *Service) TransferWorkspace(ctx context.Context, workspaceID, newOwner ID) error {
	if err := checkUser("/owner", newOwner); err != nil {
		return err
	}
	_, err := s.storage.UpdateWorkspace(ctx, storage.AsHost(), workspaceID,
		storage.WorkspaceChange{Owner: &newOwner, At: s.now()})
	return err
}
