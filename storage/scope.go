package storage

import "slices"

// Scope is one permission of an API key, in the form resource:action.
type Scope string

// All scopes.
const (
	ScopeAnalyticsRead    Scope = "analytics:read"
	ScopeFormsRead        Scope = "forms:read"
	ScopeFormsWrite       Scope = "forms:write"
	ScopeSubmissionsRead  Scope = "submissions:read"
	ScopeSubmissionsWrite Scope = "submissions:write"
	ScopeWebhooksRead     Scope = "webhooks:read"
	ScopeWebhooksWrite    Scope = "webhooks:write"
	ScopeWorkspacesRead   Scope = "workspaces:read"
	ScopeWorkspacesWrite  Scope = "workspaces:write"
)

var scopes = [...]Scope{
	ScopeAnalyticsRead,
	ScopeFormsRead, ScopeFormsWrite,
	ScopeSubmissionsRead, ScopeSubmissionsWrite,
	ScopeWebhooksRead, ScopeWebhooksWrite,
	ScopeWorkspacesRead, ScopeWorkspacesWrite,
}

// Scopes returns all scopes in alphabetical order.
func Scopes() []Scope { return slices.Clone(scopes[:]) }

// Valid reports whether s is one of the scopes.
func (s Scope) Valid() bool { return slices.Contains(scopes[:], s) }
