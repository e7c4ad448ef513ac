package handler

import (
	"net/http"

	"github.com/formsvc/formsvc/internal/apierror"
	"github.com/formsvc/formsvc/storage"
)

// operation describes an operation of the API. id is the operationId in the API description.
type operation struct {
	id     string
	method string
	path   string // Below the base path.
	scope  storage.Scope
	serve  func(*call) error

	pattern string // The path with the base path, for the host.

	public      bool // Whether the operation needs no key.
	readsForm   bool // Whether it reads the form named in its path. The key and the form can then be read in one statement.
	formContent bool // Whether it only reads or edits form content. It then also exists for working copies.
}

// operations lists all operations. A test checks the list against the API description.
func operations() []operation {
	const (
		get, post, put, patch, del = http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete

		workspace  = "/workspaces/{workspaceId}"
		form       = "/forms/{formId}"
		block      = form + "/blocks/{blockId}"
		submission = form + "/submissions/{submissionId}"
		webhook    = "/webhooks/{webhookId}"
	)
	return []operation{
		{id: "getOpenAPI", method: get, path: "/openapi.json", serve: getOpenAPI, public: true},
		{id: "getMe", method: get, path: "/me", serve: getMe},

		{id: "listWorkspaces", method: get, path: "/workspaces", scope: storage.ScopeWorkspacesRead, serve: listWorkspaces},
		{id: "createWorkspace", method: post, path: "/workspaces", scope: storage.ScopeWorkspacesWrite, serve: withBody(createWorkspace)},
		{id: "getWorkspace", method: get, path: workspace, scope: storage.ScopeWorkspacesRead, serve: requirePathIDs(getWorkspace)},
		{id: "updateWorkspace", method: patch, path: workspace, scope: storage.ScopeWorkspacesWrite, serve: withBody(updateWorkspace)},
		{id: "deleteWorkspace", method: del, path: workspace, scope: storage.ScopeWorkspacesWrite, serve: requirePathIDs(deleteWorkspace)},

		{id: "listForms", method: get, path: "/forms", scope: storage.ScopeFormsRead, serve: listForms},
		{id: "createForm", method: post, path: "/forms", scope: storage.ScopeFormsWrite, serve: withBody(createForm)},
		{id: "getForm", method: get, path: form, scope: storage.ScopeFormsRead, serve: getForm, readsForm: true, formContent: true},
		{id: "updateForm", method: patch, path: form, scope: storage.ScopeFormsWrite, serve: withBody(updateForm), readsForm: true, formContent: true},
		{id: "deleteForm", method: del, path: form, scope: storage.ScopeFormsWrite, serve: requirePathIDs(deleteForm)},

		{id: "listQuestions", method: get, path: form + "/questions", scope: storage.ScopeFormsRead, serve: listBlocks, readsForm: true, formContent: true},
		{id: "listBlocks", method: get, path: form + "/blocks", scope: storage.ScopeFormsRead, serve: listBlocks, readsForm: true, formContent: true},
		{id: "createBlock", method: post, path: form + "/blocks", scope: storage.ScopeFormsWrite, serve: withBody(createBlock), readsForm: true, formContent: true},
		{id: "replaceBlocks", method: put, path: form + "/blocks", scope: storage.ScopeFormsWrite, serve: withBody(replaceBlocks), readsForm: true, formContent: true},
		{id: "getBlock", method: get, path: block, scope: storage.ScopeFormsRead, serve: getBlock, readsForm: true, formContent: true},
		{id: "updateBlock", method: patch, path: block, scope: storage.ScopeFormsWrite, serve: updateBlock, readsForm: true, formContent: true},
		{id: "deleteBlock", method: del, path: block, scope: storage.ScopeFormsWrite, serve: deleteBlock, readsForm: true, formContent: true},

		{id: "listSubmissions", method: get, path: form + "/submissions", scope: storage.ScopeSubmissionsRead, serve: listSubmissions},
		{id: "getSubmission", method: get, path: submission, scope: storage.ScopeSubmissionsRead, serve: requirePathIDs(getSubmission)},
		{id: "deleteSubmission", method: del, path: submission, scope: storage.ScopeSubmissionsWrite, serve: requirePathIDs(deleteSubmission)},
		{id: "getMetrics", method: get, path: form + "/analytics/metrics", scope: storage.ScopeAnalyticsRead, serve: getMetrics},

		{id: "listWebhooks", method: get, path: "/webhooks", scope: storage.ScopeWebhooksRead, serve: listWebhooks},
		{id: "createWebhook", method: post, path: "/webhooks", scope: storage.ScopeWebhooksWrite, serve: withBody(createWebhook)},
		{id: "getWebhook", method: get, path: webhook, scope: storage.ScopeWebhooksRead, serve: requirePathIDs(getWebhook)},
		{id: "updateWebhook", method: patch, path: webhook, scope: storage.ScopeWebhooksWrite, serve: withBody(updateWebhook)},
		{id: "deleteWebhook", method: del, path: webhook, scope: storage.ScopeWebhooksWrite, serve: requirePathIDs(deleteWebhook)},
		{id: "listDeliveries", method: get, path: webhook + "/deliveries", scope: storage.ScopeWebhooksRead, serve: requirePathIDs(listDeliveries)},
	}
}

func withBody(serve func(c *call, body []byte) error) func(*call) error {
	return func(c *call) error {
		body, err := c.readBody()
		if err != nil {
			return err
		}
		return serve(c, body)
	}
}

// requirePathIDs rejects malformed IDs in the path, so that the storage never receives a zero ID.
func requirePathIDs(serve func(*call) error) func(*call) error {
	return func(c *call) error {
		for _, name := range c.route.URLParams.Keys {
			if c.pathID(name).IsZero() {
				return apierror.ErrNotFound
			}
		}
		return serve(c)
	}
}
