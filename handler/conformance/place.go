package conformance

import "strings"

// places say where the API description makes the promise of a case: by the case's
// name, or by its group. A JSON pointer into the document; after a "#", the heading
// in that text.
var places = map[string]string{
	"mounting":                   "/servers",
	"mounting/me":                operationAt("getMe"),
	"mounting/form":              operationAt("createForm"),
	"mounting/block-ids":         "/components/parameters/BlockId",
	"mounting/unknown-path":      conventions,
	"mounting/wrong-method":      conventions,
	"mounting/host-header":       "/components/headers/Location",
	"description":                "/paths/~1v1~1openapi.json/get",
	"routing":                    conventions,
	"routing/malformed-ids":      "/components/parameters/FormId",
	"routing/upper-case-ids":     "/components/schemas/ObjectId",
	"request-id":                 "/components/parameters/SuppliedRequestId",
	"auth":                       "/info/description#Authentication",
	"auth/required":              "/components/responses/Unauthorized",
	"auth/same-answer":           "/components/responses/Unauthorized",
	"auth/expired":               "/components/responses/Unauthorized",
	"auth/revoked":               "/components/responses/Unauthorized",
	"scope":                      "/components/responses/Forbidden",
	"order":                      "/info/description#Errors",
	"bodies":                     conventions,
	"bodies/size":                "/components/responses/Default",
	"bodies/content-type":        "/components/responses/Default",
	"parameters":                 "/components/responses/InvalidPage",
	"parameters/limit":           "/components/parameters/Limit",
	"parameters/malformed-query": conventions,
	"parameters/workspace":       "/components/parameters/InWorkspace",
	"parameters/times":           "/components/parameters/Since",
	"parameters/period":          "/components/parameters/InPeriod",
	"me":                         operationAt("getMe"),
	"bodies/names":               "/components/schemas/WorkspaceWrite/properties/name",
	"workspaces":                 "/components/schemas/Workspace",
	"workspaces/create":          operationAt("createWorkspace"),
	"workspaces/name":            "/components/schemas/WorkspaceWrite",
	"workspaces/update":          operationAt("updateWorkspace"),
	"workspaces/delete":          operationAt("deleteWorkspace"),
	"workspaces/list":            operationAt("listWorkspaces"),
	"workspaces/member":          "/components/responses/ForbiddenNotOwner",
	"workspaces/limit":           "/components/responses/WorkspaceLimit",
	"forms":                      operationAt("updateForm"),
	"forms/create":               operationAt("createForm"),
	"forms/create-complete":      operationAt("createForm"),
	"forms/create-invalid":       operationAt("createForm"),
	"forms/list":                 operationAt("listForms"),
	"forms/delete":               operationAt("deleteForm"),
	"forms/is-closed":            "/components/schemas/FormSummary/properties/is_closed",
	"forms/opens-in-time":        "/components/schemas/FormSummary/properties/is_closed",
	"forms/closes-in-time":       "/components/schemas/FormSummary/properties/is_closed",
	"revisions":                  "/info/description#Concurrent changes",
	"revisions/etag":             "/components/headers/ETag",
	"revisions/if-match-passes":  "/components/parameters/IfMatch",
	"revisions/if-match-fails":   "/components/responses/RevisionMismatch",
	"definitions":                "/components/schemas/DefinitionWrite",
	"definitions/all-at-once":    "/components/schemas/Error/properties/details",
	"blocks":                     operationAt("replaceBlocks"),
	"blocks/append":              operationAt("createBlock"),
	"blocks/read":                operationAt("getBlock"),
	"blocks/merge-patch":         operationAt("updateBlock"),
	"blocks/patch-invalid":       operationAt("updateBlock"),
	"blocks/delete":              operationAt("deleteBlock"),
	"blocks/exists":              "/components/responses/BlockExists",
	"blocks/type-kept":           "/components/schemas/BlockWrite/properties/type",
	"blocks/type-inferred":       "/components/schemas/BlockWrite/properties/type",
	"submissions":                "/components/schemas/Submission",
	"submissions/delete":         operationAt("deleteSubmission"),
	"submissions/since-until":    operationAt("listSubmissions"),
	"analytics":                  "/components/schemas/AnalyticsMetrics",
	"analytics/periods":          "/components/schemas/Period",
	"webhooks":                   "/components/schemas/Webhook",
	"webhooks/create":            operationAt("createWebhook"),
	"webhooks/create-invalid":    operationAt("createWebhook"),
	"webhooks/url-rejected":      "/components/schemas/WebhookCreate/properties/url",
	"webhooks/url-unresolved":    "/components/schemas/WebhookCreate/properties/url",
	"webhooks/url-accepted":      "/components/schemas/WebhookCreate/properties/url",
	"webhooks/update":            operationAt("updateWebhook"),
	"webhooks/delete":            operationAt("deleteWebhook"),
	"webhooks/list":              operationAt("listWebhooks"),
	"webhooks/limit":             "/components/schemas/WebhookCreate",
	"webhooks/deliveries":        operationAt("listDeliveries"),
	"deliveries":                 "/webhooks/form.response.completed/post",
	"deliveries/summary":         "/components/schemas/Delivery",
	"deliveries/failure":         "/components/schemas/Delivery",
	"paging":                     "/info/description#Pages",
	"isolation":                  "/components/responses/NotFound",
	"trash":                      operationAt("deleteForm"),
	"concurrency":                "/info/description#Concurrent changes",
	"concurrency/response-limit": "/components/schemas/Settings/properties/responseLimit",
	"ratelimit":                  "/info/description#Rate limit",
}

const conventions = "/info/description#Conventions"

// operationAt is the place of an operation.
func operationAt(id string) string {
	for _, o := range operations() {
		if o.id == id {
			return "/paths/" + strings.ReplaceAll("/v1"+o.path, "/", "~1") + "/" + strings.ToLower(o.method)
		}
	}
	return ""
}

// place returns where the promise of a case is made.
func place(name string) string {
	group, rest, _ := strings.Cut(name, "/")
	if group == "scope" || group == "isolation" {
		if operation := operationAt(rest); operation != "" {
			return operation
		}
	}
	if at, ok := places[name]; ok {
		return at
	}
	return places[group]
}
