package postgres

import "github.com/formsvc/formsvc/storage"

// userArg is the argument that an access condition compares with: null for the
// host, who passes all of them, and a value that is no id for the zero actor, who
// passes none.
func userArg(who storage.Actor) []byte {
	if who.Host() {
		return nil
	}
	user, ok := who.User()
	if !ok {
		return []byte{}
	}
	return user[:]
}

// formAccess is the condition that the form f is accessible to the user in $2.
// It is part of the statement that reads or changes the form. Its query is one
// look-up of a primary key; EXISTS in its place may be planned as a table of
// everybody's access.
const formAccess = `($2::bytea IS NULL OR COALESCE((
	SELECT true FROM formsvc.workspace_users a WHERE a.workspace_id = f.workspace_id AND a.user_id = $2::bytea), false))`

// workspaceAccess is the same for the workspace w.
const workspaceAccess = `($2::bytea IS NULL OR COALESCE((
	SELECT true FROM formsvc.workspace_users a WHERE a.workspace_id = w.id AND a.user_id = $2::bytea), false))`
