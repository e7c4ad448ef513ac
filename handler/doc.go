// Package handler implements the HTTP API of formsvc.
//
// # Operations
//
// The table lists each operation below the base path (by default /v1), the scope that a key needs, and
// the method of [github.com/formsvc/formsvc.Client] that does the same in Go. GET /v1/openapi.json
// describes the operations in full:
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
// The HTTP API returns workspaces, forms and submissions in pages, and the lists in Go read page by page.
// Only the Go API provides the methods of [github.com/formsvc/formsvc.Service]: API keys,
// members, the trash, erasure, test events.
//
// # Internal API
//
// Hosts use this package through package [github.com/formsvc/formsvc]. Only that package can call [New].
// It exports [KeyResolver] and [Principal] for hosts.
//
// api.ServeHTTP processes a request in a fixed order: request ID, route, key, rate limit, scope,
// and then the function of the operation. This function checks the body and the parameters before it calls the
// storage. It returns an error instead of writing one, so that only one function writes errors.
package handler
