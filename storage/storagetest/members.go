package storagetest

import (
	"bytes"
	"slices"

	"github.com/formsvc/formsvc/storage"
)

func memberCases() []Case {
	return []Case{
		{"list", "Members returns the members in ascending order, without the owner.", listMembers},
		{"twice", "Adding or removing a member twice is not an error.", memberTwice},
		{"owner_as_member", "Adding the owner as a member is not an error and changes nothing.", ownerAsMember},
		{"remove_owner", "Removing the owner returns ErrConflict.", removeOwner},
		{"unknown_workspace", "SetMember and Members return ErrNotFound for an unknown workspace.", membersOfUnknown},
		{"access", "A member has access from the call that adds the member to the call that removes the member.", memberAccess},
	}
}

// members reports a failure unless the workspace has exactly these members.
func (b *bundle) members(workspace storage.ID, want ...storage.ID) {
	b.Helper()
	got, err := b.store.Members(b.Context(), workspace)
	b.ok(err, "Members")
	slices.SortFunc(want, compareIDs)
	same(b, got, want, "Members, in ascending order")
}

func compareIDs(a, b storage.ID) int { return bytes.Compare(a[:], b[:]) }

func listMembers(b *bundle) {
	w := b.addWorkspace(b.user())
	b.members(w.ID)
	var want []storage.ID
	for range 12 {
		want = append(want, b.addMember(w.ID))
	}
	b.members(w.ID, want...)
	b.members(b.addWorkspace(b.user()).ID)
}

func memberTwice(b *bundle) {
	w := b.addWorkspace(b.user())
	member, never := b.addMember(w.ID), b.user()
	b.ok(b.store.SetMember(b.Context(), w.ID, member, true), "SetMember true, again")
	b.members(w.ID, member)
	b.ok(b.store.SetMember(b.Context(), w.ID, member, false), "SetMember false")
	b.ok(b.store.SetMember(b.Context(), w.ID, member, false), "SetMember false, again")
	b.ok(b.store.SetMember(b.Context(), w.ID, never, false), "SetMember false, for a user who never was a member")
	b.members(w.ID)
}

func ownerAsMember(b *bundle) {
	w := b.addWorkspace(b.user())
	b.unchanged("SetMember true for the owner", func() {
		b.ok(b.store.SetMember(b.Context(), w.ID, w.OwnerID, true), "SetMember true for the owner")
	})
	b.members(w.ID)
	got, err := b.store.Workspace(b.Context(), storage.As(w.OwnerID), w.ID)
	b.ok(err, "Workspace")
	same(b, got, w, "Workspace")
}

func removeOwner(b *bundle) {
	w := b.addWorkspace(b.user())
	b.unchanged("SetMember false for the owner", func() {
		b.is(b.store.SetMember(b.Context(), w.ID, w.OwnerID, false), storage.ErrConflict, "SetMember false for the owner")
	})
}

func membersOfUnknown(b *bundle) {
	b.is(b.store.SetMember(b.Context(), newID(), b.user(), true), storage.ErrNotFound, "SetMember true")
	b.is(b.store.SetMember(b.Context(), newID(), b.user(), false), storage.ErrNotFound, "SetMember false")
	_, err := b.store.Members(b.Context(), newID())
	b.is(err, storage.ErrNotFound, "Members")
}

func memberAccess(b *bundle) {
	f := b.anyForm()
	user := b.user()
	_, err := b.store.Form(b.Context(), storage.As(user), f.ID)
	b.is(err, storage.ErrNotFound, "Form before the user is a member")
	b.ok(b.store.SetMember(b.Context(), f.WorkspaceID, user, true), "SetMember true")
	_, err = b.store.Form(b.Context(), storage.As(user), f.ID)
	b.ok(err, "Form for a member")
	b.ok(b.store.SetMember(b.Context(), f.WorkspaceID, user, false), "SetMember false")
	_, err = b.store.Form(b.Context(), storage.As(user), f.ID)
	b.is(err, storage.ErrNotFound, "Form after the user was a member")
}
