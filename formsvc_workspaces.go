package formsvc

import (
	"context"
	"errors"

	"github.com/formsvc/formsvc/storage"
)

var errZeroUser = errors.New("formsvc: the user id is zero")

// CreateWorkspace makes a workspace for an owner. The name is trimmed and must
// have 1 to 120 characters, else the error is a [*schema.Error]. It returns
// [ErrLimitReached] when the owner has as many workspaces as are allowed
// (Limits.Workspaces).
func (s *Service) CreateWorkspace(ctx context.Context, owner ID, name string) (Workspace, error) {
	if owner.IsZero() {
		return Workspace{}, errZeroUser
	}
	return s.handler.CreateWorkspace(ctx, owner, name)
}

// AddMember lets a user see and use a workspace. Only its owner may change or
// delete the workspace itself. Adding twice is no error. It returns [ErrNotFound]
// when there is no such workspace.
func (s *Service) AddMember(ctx context.Context, workspaceID, userID ID) error {
	if userID.IsZero() {
		return errZeroUser
	}
	return s.storage.SetMember(ctx, workspaceID, userID, true)
}

// RemoveMember ends a membership. Removing who is no member is no error. It
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
	if newOwner.IsZero() {
		return errZeroUser
	}
	_, err := s.storage.UpdateWorkspace(ctx, storage.AsHost(), workspaceID,
		storage.WorkspaceChange{Owner: &newOwner, At: s.now()})
	return err
}
