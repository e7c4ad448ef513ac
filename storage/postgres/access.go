package postgres

import "github.com/formsvc/formsvc/storage"

// userArg is the argument that an access condition compares with: null for the host, who
// passes every condition, and a value that is no id for the zero actor, who passes none.
func userArg(actor storage.Actor) []byte {
	if actor.Host() {
		return nil
	}
	user, ok := actor.User()
	if !ok {
		return []byte{}
	}
	return user[:]
}

// userParam is the user in $2, who is a subquery so that the planner does not look at the value: for
// the host's null a plan without the look-up of the user is cheaper than the plan for any user,
// so that each call of the host would be planned anew.
const userParam = `(SELECT $2::bytea)`

// A form is in the trash when its own row says so or its workspace is deleted:
// deleting a workspace writes one row, whatever is in it, and a sweep writes the
// forms' rows later. The users of a workspace are gone with it, so only a statement that
// is not for a user has to look at the workspace's row. Each of the conditions is one
// look-up of a primary key; EXISTS in its place may be planned as a table of
// everybody's access.
const (
	workspaceNotDeleted = `(SELECT o.deleted_at IS NULL FROM formsvc.workspaces o WHERE o.id = f.workspace_id)`

	// rowNotTrashed is what the form's own row says. No index of the forms that are not in the trash
	// serves the condition behind IS TRUE: while the planner knows nothing of the table it would
	// read all of such an index beside that of the key. Lists say it without.
	rowNotTrashed = `(f.trashed_at IS NULL) IS TRUE`

	// formNotTrashed is the condition that the form f is not in the trash.
	formNotTrashed = rowNotTrashed + ` AND ` + workspaceNotDeleted

	// formAccess is the condition that the user in $2 has access to the form f, which
	// is not in the trash. It is part of the statement that reads or changes the form.
	formAccess = rowNotTrashed + ` AND CASE WHEN ` + userParam + ` IS NULL THEN ` + workspaceNotDeleted + `
	ELSE COALESCE((
		SELECT true FROM formsvc.workspace_users a WHERE a.workspace_id = f.workspace_id AND a.user_id = ` + userParam + `), false) END`
)

// notPurged is the condition that the form f, in the trash or not, is not gone for
// good: not purged itself, nor with its workspace.
const notPurged = `f.purged_at IS NULL AND NOT COALESCE((SELECT o.purged FROM formsvc.workspaces o WHERE o.id = f.workspace_id), false)`

// webhookNotDeleted is the condition that the webhook w is not gone with its workspace:
// its pending deliveries are, before a sweep removes them.
const webhookNotDeleted = `(SELECT o.deleted_at IS NULL FROM formsvc.workspaces o WHERE o.id = w.workspace_id)`

// workspaceAccess is the condition that the user in $2 has access to the workspace
// w, which is not deleted.
const workspaceAccess = `w.deleted_at IS NULL AND (` + userParam + ` IS NULL OR COALESCE((
	SELECT true FROM formsvc.workspace_users a WHERE a.workspace_id = w.id AND a.user_id = ` + userParam + `), false))`
