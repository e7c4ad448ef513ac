// Package handler implements the HTTP API of formsvc.
//
// # Operations
//
// The table lists each operation below the base path (/v1 by default), the scope that the key needs, and the equivalent
// method of [github.com/formsvc/formsvc.Client]. GET /v1/openapi.json describes the operations in full:
//
//	GET    /openapi.json                               no key
//	GET    /me                                         any key
//	GET    /workspaces                                 workspaces:read    Client.Workspaces
//	POST   /workspaces                                 workspaces:write   Client.CreateWorkspace
//	GET    /workspaces/{workspaceId}                   workspaces:read    Client.Workspace
//	PATCH  /workspaces/{workspaceId}                   workspaces:write   Client.RenameWorkspace
//	DELETE /workspaces/{workspaceId}                   workspaces:write   Client.DeleteWorkspace
//	GET    /forms                                      forms:read         Client.Forms
//	POST   /forms                                      forms:write        Client.CreateForm
//	GET    /forms/{formId}                             forms:read         Client.Form
//	PATCH  /forms/{formId}                             forms:write        Client.UpdateForm
//	DELETE /forms/{formId}                             forms:write        Client.TrashForm
//	GET    /forms/{formId}/questions                   forms:read         Client.Blocks
//	GET    /forms/{formId}/blocks                      forms:read         Client.Blocks
//	POST   /forms/{formId}/blocks                      forms:write        Client.CreateBlock
//	PUT    /forms/{formId}/blocks                      forms:write        Client.ReplaceBlocks
//	GET    /forms/{formId}/blocks/{blockId}            forms:read         Client.Block
//	PATCH  /forms/{formId}/blocks/{blockId}            forms:write        Client.UpdateBlock
//	DELETE /forms/{formId}/blocks/{blockId}            forms:write        Client.DeleteBlock
//	GET    /forms/{formId}/submissions                 submissions:read   Client.Submissions
//	GET    /forms/{formId}/submissions/{submissionId}  submissions:read   Client.Submission
//	DELETE /forms/{formId}/submissions/{submissionId}  submissions:write  Client.DeleteSubmission
//	GET    /forms/{formId}/analytics/metrics           analytics:read     Client.Metrics
//	GET    /webhooks                                   webhooks:read      Client.Webhooks
//	POST   /webhooks                                   webhooks:write     Client.CreateWebhook
//	GET    /webhooks/{webhookId}                       webhooks:read      Client.Webhook
//	PATCH  /webhooks/{webhookId}                       webhooks:write     Client.UpdateWebhook
//	DELETE /webhooks/{webhookId}                       webhooks:write     Client.DeleteWebhook
//	GET    /webhooks/{webhookId}/deliveries            webhooks:read      Client.Deliveries
//
// The HTTP API returns workspaces, forms and submissions in pages. In Go, the list methods fetch page after page as you
// iterate. Some features exist only in Go, as methods of [github.com/formsvc/formsvc.Service]: API keys, members, the
// trash, erasure and test events.
//
// # Internal API
//
// Hosts use this package through package [github.com/formsvc/formsvc]. Only that package can call [New].
// Hosts use only [KeyResolver] and [Principal] directly.
//
// api.ServeHTTP processes a request in a fixed order: request ID, route, key, rate limit, scope, and then the
// operation's handler. The handler checks the body and the parameters before it calls the storage. It returns an error
// instead of writing one, so that errors are written in only one place.
package handler
