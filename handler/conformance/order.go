package conformance

import (
	"bytes"
	"net/http"
	"slices"
)

// orderCases prove that each stage of a request beats the later ones: route, key,
// scope, body and parameters, resource and access, owner, precondition, state.
func orderCases() []testCase {
	return []testCase{
		{"order/route-before-key", "An unknown path or a wrong method is reported without a key.", nil, orderRouteBeforeKey},
		{"order/key-before-body", "An invalid key is reported before problems of the body, the parameters or the resource.", nil, orderKeyBeforeBody},
		{"order/scope-before-body", "A missing scope is reported before problems of the body, the parameters or the resource.", nil, orderScopeBeforeBody},
		{"order/body-before-resource", "An invalid body or parameter is reported before a missing resource.", nil, orderBodyBeforeResource},
		{"order/resource-before-owner", "A user without access to a workspace receives 404, not an error that the owner is required.", nil, orderResourceBeforeOwner},
		{"order/body-before-owner", "A member's invalid body is reported before the error that the owner is required.", needs(NeedsAddMember), orderBodyBeforeOwner},
		{"order/resource-before-precondition", "A form without access, or a missing block or workspace, returns 404 even if If-Match fails.", nil, orderResourceBeforePrecondition},
		{"order/body-before-precondition", "An invalid body is reported before a failed If-Match.", nil, orderBodyBeforePrecondition},
		{"order/precondition-before-state", "A failed If-Match is reported before the error that the block already exists.", nil, orderPreconditionBeforeState},
	}
}

func orderRouteBeforeKey(s *session) {
	bad := &caller{session: s, key: "nonsense"}
	bad.get("/nothing").refused("NOT_FOUND")
	bad.get("/forms/x/nothing").refused("NOT_FOUND")
	bad.put("/me", []byte("{")).refused("METHOD_NOT_ALLOWED")
}

func orderKeyBeforeBody(s *session) {
	bad := (&caller{session: s, key: "nonsense"}).nowhere()
	for _, o := range writes() {
		bad.call(o.method, o.in(bad), []byte("{")).refused("INVALID_API_KEY")
		bad.call(o.method, o.in(bad), []byte("{}"), withHeader("Content-Type", "text/plain")).refused("INVALID_API_KEY")
	}
	bad.get("/workspaces?limit=0").refused("INVALID_API_KEY")
	bad.get("/forms/x").refused("INVALID_API_KEY")
}

func orderScopeBeforeBody(s *session) {
	for _, o := range operations() {
		if o.scope == "" {
			continue
		}
		others := slices.DeleteFunc(scopes(), func(scope string) bool { return scope == o.scope })
		c := s.callerFor(newID(), others) // a new user each: one has at most 20 keys
		o.callAs(c, c.nowhere()).refused("INSUFFICIENT_SCOPE")
		if o.body != nil {
			c.call(o.method, o.in(c.nowhere()), []byte("{")).refused("INSUFFICIENT_SCOPE")
			c.call(o.method, o.in(c.nowhere()), []byte("{}"), withHeader("Content-Type", "text/plain")).refused("INSUFFICIENT_SCOPE")
		}
		if o.list() {
			c.get(o.path + "?limit=0&cursor=x&workspace_id=x").refused("INSUFFICIENT_SCOPE")
		}
	}
}

func orderBodyBeforeResource(s *session) {
	c := s.caller()
	none := c.nowhere()
	for _, o := range writes() {
		c.call(o.method, o.in(none), []byte("{")).refused("MALFORMED_JSON")
		c.call(o.method, o.in(none), object{"nothing": true}).refused("VALIDATION_FAILED")
		c.call(o.method, o.in(none), object{}, withHeader("Content-Type", "text/plain")).refused("UNSUPPORTED_MEDIA_TYPE")
		c.call(o.method, o.in(none), spaces(s.target.Limits.Body+1)).refused("BODY_TOO_LARGE")
	}
	c.get("/forms/" + none.formID + "/submissions?limit=0").refused("VALIDATION_FAILED")
	c.get("/forms/" + none.formID + "/submissions?since=x").refused("VALIDATION_FAILED")
	c.get("/forms/" + none.formID + "/submissions?cursor=x").refused("INVALID_CURSOR")
	c.get("/forms/" + none.formID + "/analytics/metrics?period=x").refused("VALIDATION_FAILED")
	c.get("/forms?limit=0&workspace_id=" + none.workspaceID).refused("VALIDATION_FAILED")
}

func orderResourceBeforeOwner(s *session) {
	w, stranger := s.newWorld(), s.caller()
	stranger.patch("/workspaces/"+w.workspaceID, object{"name": "X"}).refused("NOT_FOUND")
	stranger.delete("/workspaces/" + w.workspaceID).refused("NOT_FOUND")
}

func orderBodyBeforeOwner(s *session) {
	w, member := s.newWorld(), s.caller()
	s.must("AddMember", s.target.AddMember(s.ctx, w.workspaceID, member.user))
	member.patch("/workspaces/"+w.workspaceID, object{"name": ""}).refused("VALIDATION_FAILED")
	member.patch("/workspaces/"+w.workspaceID, []byte("{")).refused("MALFORMED_JSON")
	member.patch("/workspaces/"+w.workspaceID, object{"name": "X"}).refused("OWNER_REQUIRED")
}

func orderResourceBeforePrecondition(s *session) {
	w := s.newWorld()
	stranger, hidden := s.stranger(w)
	stale := ifMatch(`"stale"`)
	form := "/forms/" + hidden.formID
	stranger.patch(form, object{"name": "X"}, stale).refused("NOT_FOUND")
	stranger.put(form+"/blocks", object{"blocks": []any{}}, stale).refused("NOT_FOUND")
	stranger.delete(form+"/blocks/b1", stale).refused("NOT_FOUND")
	form = "/forms/" + w.formID
	w.patch(form, object{"workspace_id": newID()}, stale).refused("NOT_FOUND")
	w.delete(form+"/blocks/none", stale).refused("NOT_FOUND")
	w.patch(form+"/blocks/none", object{"block": object{"label": "x"}}, stale).refused("NOT_FOUND")
}

func orderBodyBeforePrecondition(s *session) {
	w := s.newWorld()
	stale := ifMatch(`"stale"`)
	form := "/forms/" + w.formID
	w.patch(form, object{"name": ""}, stale).refused("VALIDATION_FAILED")
	w.patch(form, []byte("{"), stale).refused("MALFORMED_JSON")
	w.post(form+"/blocks", object{"block": object{}}, stale).refused("VALIDATION_FAILED")
	w.put(form+"/blocks", object{"blocks": 1}, stale).refused("VALIDATION_FAILED")
	w.patch(form+"/blocks/b1", object{"block": object{"label": 1}}, stale).refused("VALIDATION_FAILED")
}

func orderPreconditionBeforeState(s *session) {
	w := s.newWorld()
	form := "/forms/" + w.formID
	tag := w.get(form).want(http.StatusOK).etag()
	w.post(form+"/blocks", object{"block": block("b1")}, ifMatch(`"stale"`)).refused("REVISION_MISMATCH")
	w.post(form+"/blocks", object{"block": block("b1")}, ifMatch(tag)).refused("BLOCK_EXISTS")
}

// spaces is a JSON object in n bytes.
func spaces(n int) []byte {
	b := bytes.Repeat([]byte(" "), n)
	b[0], b[n-1] = '{', '}'
	return b
}
