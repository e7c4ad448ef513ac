package conformance

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// publicURL is a destination that every service accepts without a name server: a
// public address as a literal. It is not ours, so a webhook that leads there is made
// disabled, and nothing enables it.
const publicURL = "https://93.184.215.14/hook"

// workspace makes a workspace and returns its id.
func (c *caller) workspace() string {
	r := c.post("/workspaces", object{"name": "Workspace"})
	if r.status == http.StatusConflict && c.target.CreateKey == nil && r.errorBody().code == "WORKSPACE_LIMIT_REACHED" {
		c.skip("the key's user has reached the limit of workspaces")
	}
	return text(r.want(http.StatusCreated).object(), "id")
}

// listed returns those ids of a list that the case has made. With a user of the case's own they are
// all of them. A shared user has records of others: those of the case are the newest.
func (c *caller) listed(path string) (*response, []string) {
	if c.target.CreateKey != nil {
		r := c.get(path).want(http.StatusOK)
		return r, r.ids()
	}
	if !strings.HasPrefix(path, "/webhooks") {
		path = with(path, "limit=100")
	}
	r := c.get(path).want(http.StatusOK)
	return r, c.ownOf(r.ids())
}

// ownOf returns those ids that the case has made.
func (s *session) ownOf(ids []string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(ids, func(id string) bool { return !slices.Contains(s.made, id) })
}

// stranger makes a user who sees nothing of the case's other users, and the ids that this user
// tries: those of w, or ids that nothing has when there is only one user.
func (s *session) stranger(w world) (*caller, world) {
	c := s.caller()
	if s.target.CreateKey == nil {
		none := c.nowhere()
		none.blockID = w.blockID
		return c, none
	}
	return c, w
}

// form makes a form in a workspace and returns its id. Extra members of the body
// come in pairs of name and value.
func (c *caller) form(workspace string, extra ...any) string {
	body := object{"workspace_id": workspace, "name": "Form"}
	for i := 0; i < len(extra); i += 2 {
		body[extra[i].(string)] = extra[i+1]
	}
	return text(c.post("/forms", body).want(http.StatusCreated).object(), "id")
}

// publish makes a form take responses.
func (c *caller) publish(form string) {
	c.patch("/forms/"+form, object{"status": "published"}).want(http.StatusOK)
}

// newHook is the body of a webhook that is not enabled. Extra members come in pairs of
// name and value.
func (s *session) newHook(form string, extra ...any) object {
	body := object{"form_id": form, "url": s.destination, "enabled": false}
	for i := 0; i < len(extra); i += 2 {
		body[extra[i].(string)] = extra[i+1]
	}
	return body
}

// webhook makes a webhook of a form, not enabled, and returns its id.
func (c *caller) webhook(form string) string {
	return text(c.post("/webhooks", c.newHook(form)).want(http.StatusCreated).object(), "id")
}

// block is a short_text block.
func block(id string) object {
	return object{"id": id, "type": "short_text", "label": "Label of " + id}
}

// question is what most forms of the suite consist of.
func question() object { return object{"blocks": []any{block("b1"), block("b2")}} }

// world is one of everything, made by one user.
type world struct {
	*caller
	workspaceID  string
	formID       string
	blockID      string
	webhookID    string
	submissionID string // an id that nothing has when the target cannot store responses
}

// newWorld makes a user and one of everything.
func (s *session) newWorld() world {
	c := s.caller()
	w := world{caller: c, blockID: "b1", submissionID: newID()}
	w.workspaceID = c.workspace()
	w.formID = c.form(w.workspaceID, "definition", question())
	c.publish(w.formID)
	w.webhookID = c.webhook(w.formID)
	if s.target.Submit != nil {
		w.submissionID = s.submit(Response{Form: w.formID, Answers: answers("b1", "yes")})
	}
	return w
}

// nowhere is a world of ids that nothing has, seen by a user.
func (c *caller) nowhere() world {
	return world{caller: c, workspaceID: newID(), formID: newID(), blockID: "b1", webhookID: newID(), submissionID: newID()}
}

// operation is one of the API's operations, with a request that succeeds in a world.
type operation struct {
	id     string
	method string
	path   string
	scope  string // "": any key
	status int
	body   func(w world) any // nil: none
}

// in fills in the ids of a world.
func (o operation) in(w world) string {
	return strings.NewReplacer(
		"{workspaceId}", w.workspaceID,
		"{formId}", w.formID,
		"{blockId}", w.blockID,
		"{webhookId}", w.webhookID,
		"{submissionId}", w.submissionID,
	).Replace(o.path)
}

// callAs sends the operation's request as a caller, with the ids of a world.
func (o operation) callAs(c *caller, w world, opts ...requestOption) *response {
	var body any
	if o.body != nil {
		body = o.body(w)
	}
	return c.call(o.method, o.in(w), body, opts...)
}

// list reports whether the operation answers with what a caller has, whoever that is.
func (o operation) list() bool {
	return o.method == http.MethodGet && !strings.Contains(o.path, "{")
}

func fixed(body object) func(world) any { return func(world) any { return body } }

// operations are all but the public description.
func operations() []operation {
	return []operation{
		{"getMe", "GET", "/me", "", 200, nil},
		{"listWorkspaces", "GET", "/workspaces", "workspaces:read", 200, nil},
		{"createWorkspace", "POST", "/workspaces", "workspaces:write", 201, fixed(object{"name": "Another"})},
		{"getWorkspace", "GET", "/workspaces/{workspaceId}", "workspaces:read", 200, nil},
		{"updateWorkspace", "PATCH", "/workspaces/{workspaceId}", "workspaces:write", 200, fixed(object{"name": "Renamed"})},
		{"deleteWorkspace", "DELETE", "/workspaces/{workspaceId}", "workspaces:write", 204, nil},
		{"listForms", "GET", "/forms", "forms:read", 200, nil},
		{"createForm", "POST", "/forms", "forms:write", 201, func(w world) any {
			return object{"workspace_id": w.workspaceID, "name": "Another"}
		}},
		{"getForm", "GET", "/forms/{formId}", "forms:read", 200, nil},
		{"updateForm", "PATCH", "/forms/{formId}", "forms:write", 200, fixed(object{"name": "Renamed"})},
		{"deleteForm", "DELETE", "/forms/{formId}", "forms:write", 204, nil},
		{"listQuestions", "GET", "/forms/{formId}/questions", "forms:read", 200, nil},
		{"listBlocks", "GET", "/forms/{formId}/blocks", "forms:read", 200, nil},
		{"createBlock", "POST", "/forms/{formId}/blocks", "forms:write", 201, fixed(object{"block": object{"id": "added"}})},
		{"replaceBlocks", "PUT", "/forms/{formId}/blocks", "forms:write", 200, fixed(object{"blocks": []any{block("b2")}})},
		{"getBlock", "GET", "/forms/{formId}/blocks/{blockId}", "forms:read", 200, nil},
		{"updateBlock", "PATCH", "/forms/{formId}/blocks/{blockId}", "forms:write", 200, fixed(object{"block": object{"label": "Other"}})},
		{"deleteBlock", "DELETE", "/forms/{formId}/blocks/{blockId}", "forms:write", 204, nil},
		{"listSubmissions", "GET", "/forms/{formId}/submissions", "submissions:read", 200, nil},
		{"getSubmission", "GET", "/forms/{formId}/submissions/{submissionId}", "submissions:read", 200, nil},
		{"deleteSubmission", "DELETE", "/forms/{formId}/submissions/{submissionId}", "submissions:write", 204, nil},
		{"getMetrics", "GET", "/forms/{formId}/analytics/metrics", "analytics:read", 200, nil},
		{"listWebhooks", "GET", "/webhooks", "webhooks:read", 200, nil},
		{"createWebhook", "POST", "/webhooks", "webhooks:write", 201, func(w world) any {
			return w.newHook(w.formID)
		}},
		{"getWebhook", "GET", "/webhooks/{webhookId}", "webhooks:read", 200, nil},
		{"updateWebhook", "PATCH", "/webhooks/{webhookId}", "webhooks:write", 200, fixed(object{"enabled": false})},
		{"deleteWebhook", "DELETE", "/webhooks/{webhookId}", "webhooks:write", 204, nil},
		{"listDeliveries", "GET", "/webhooks/{webhookId}/deliveries", "webhooks:read", 200, nil},
	}
}

// writes are the operations that take a body.
func writes() []operation {
	var out []operation
	for _, o := range operations() {
		if o.body != nil {
			out = append(out, o)
		}
	}
	return out
}

// needsOf are the features that a success of the operation takes.
func (o operation) needsOf() []Feature {
	if strings.Contains(o.path, "{submissionId}") {
		return needs(NeedsSubmit)
	}
	return nil
}

// answers makes the answers of a response from pairs of block id and value.
func answers(pairs ...any) map[string]json.RawMessage {
	out := make(map[string]json.RawMessage)
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i].(string)] = raw(pairs[i+1])
	}
	return out
}
