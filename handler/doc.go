// Package handler is the HTTP API of formsvc.
//
// # Operations
//
// Behind the base path, /v1 by default, with the scope that a key needs, and the call of
// [github.com/formsvc/formsvc.Client] that does the same in Go. GET /v1/openapi.json describes
// them in full:
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
// Workspaces, forms and submissions come in pages over HTTP, and the lists in Go read page by
// page. Only Go has what the methods of [github.com/formsvc/formsvc.Service] do: API keys,
// members, the trash, erasure, test events.
//
// # For the root package
//
// Hosts use it through package [github.com/formsvc/formsvc], which alone can call [New]. Hosts see
// [KeyResolver] and [Principal], which the root re-exports.
//
// One request goes through api.ServeHTTP from top to bottom: request id,
// route, key, rate limit, scope, and then the function of the operation, which
// checks the body and the parameters before it touches the storage. Functions of
// operations return an error instead of writing one, so there is one place that
// writes errors.
package handler
