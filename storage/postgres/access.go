package postgres

import "github.com/formsvc/formsvc/storage"

// userArg returns the user argument of an access condition. The argument is null for the host, which satisfies every
// access condition. The zero actor satisfies no access condition.
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

// userParam is the SQL for the user in $2. The subquery hides the value from the planner, which would otherwise
// plan each of the host's calls again.
const userParam = `(SELECT $2::bytea)`

// A form is in the trash if its own row or its workspace's row says so. Deleting a workspace updates one row and
// removes the workspace's users, so only the host's statements have to read the workspace. A sweep later updates the
// forms' rows. Each of these conditions is one lookup by primary key. With EXISTS, the planner might hash the access of
// all users.
const (
	workspaceNotDeleted = `(SELECT o.deleted_at IS NULL FROM formsvc.workspaces o WHERE o.id = f.workspace_id)`

	// rowNotTrashed checks the form's own row. IS TRUE keeps the planner from using the partial indexes. Without
	// statistics, it would read these completely. Lists need these indexes and omit IS TRUE.
	rowNotTrashed = `(f.trashed_at IS NULL) IS TRUE`

	formNotTrashed = rowNotTrashed + ` AND ` + workspaceNotDeleted

	// formAccess is the condition that the user in $2 has access to the form f, and that f is not in the trash.
	formAccess = rowNotTrashed + ` AND CASE WHEN ` + userParam + ` IS NULL THEN ` + workspaceNotDeleted + `
	ELSE COALESCE((
		SELECT true FROM formsvc.workspace_users a WHERE a.workspace_id = f.workspace_id AND a.user_id = ` + userParam + `), false) END`
)

// notPurged is the condition that neither the form f nor its workspace is purged. The form can be in the trash.
const notPurged = `f.purged_at IS NULL AND NOT COALESCE((SELECT o.purged FROM formsvc.workspaces o WHERE o.id = f.workspace_id), false)`

const webhookNotDeleted = `(SELECT o.deleted_at IS NULL FROM formsvc.workspaces o WHERE o.id = w.workspace_id)`

// workspaceAccess is the condition that the user in $2 has access to the workspace w, and that w is not deleted.
const workspaceAccess = `w.deleted_at IS NULL AND (` + userParam + ` IS NULL OR COALESCE((
	SELECT true FROM formsvc.workspace_users a WHERE a.workspace_id = w.id AND a.user_id = ` + userParam + `), false))`
