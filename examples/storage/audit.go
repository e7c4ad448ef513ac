package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// Audited is a storage that logs who removed what. The embedded interface passes every other method
// through, also methods that later versions add.
type Audited struct {
	storage.Storage
	Log *slog.Logger
}

// note logs a call after it has returned, because an error means that nothing was removed. It returns
// the error as it is: callers compare it with errors.Is.
func (a Audited) note(ctx context.Context, actor storage.Actor, what string, err error, details ...any) error {
	name := "host"
	if user, ok := actor.User(); ok {
		name = user.String()
	}
	details = append(details, "actor", name)
	if err != nil {
		a.Log.WarnContext(ctx, what+" failed", append(details, "error", err)...)
		return err
	}
	a.Log.InfoContext(ctx, what, details...)
	return nil
}

// DeleteWorkspace removes a workspace with its forms.
func (a Audited) DeleteWorkspace(ctx context.Context, actor storage.Actor, id storage.ID, at time.Time) error {
	err := a.Storage.DeleteWorkspace(ctx, actor, id, at)
	return a.note(ctx, actor, "delete workspace", err, "workspace", id)
}

// TrashForm moves a form to the trash.
func (a Audited) TrashForm(ctx context.Context, actor storage.Actor, id storage.ID, p storage.TrashParams) error {
	err := a.Storage.TrashForm(ctx, actor, id, p)
	return a.note(ctx, actor, "trash form", err, "form", id)
}

// PurgeForm removes a form from the trash. Only the host can call it.
func (a Audited) PurgeForm(ctx context.Context, id storage.ID) error {
	err := a.Storage.PurgeForm(ctx, id)
	return a.note(ctx, storage.AsHost(), "purge form", err, "form", id)
}

// DeleteSubmission removes one submission.
func (a Audited) DeleteSubmission(ctx context.Context, actor storage.Actor, form, id storage.ID) error {
	err := a.Storage.DeleteSubmission(ctx, actor, form, id)
	return a.note(ctx, actor, "delete submission", err, "form", form, "submission", id)
}

// EraseSubmissions removes a respondent's submissions. Only the host can call it.
func (a Audited) EraseSubmissions(ctx context.Context, form storage.ID, ids []storage.ID) (int, error) {
	n, err := a.Storage.EraseSubmissions(ctx, form, ids)
	return n, a.note(ctx, storage.AsHost(), "erase submissions", err, "form", form, "count", n)
}

// DeleteUser removes a user. Only the host can call it.
func (a Audited) DeleteUser(ctx context.Context, user storage.ID, at time.Time) error {
	err := a.Storage.DeleteUser(ctx, user, at)
	return a.note(ctx, storage.AsHost(), "delete user", err, "user", user)
}

// RevokeKey ends an API key.
func (a Audited) RevokeKey(ctx context.Context, user, key storage.ID, at time.Time) error {
	err := a.Storage.RevokeKey(ctx, user, key, at)
	return a.note(ctx, storage.As(user), "revoke key", err, "key", key)
}
