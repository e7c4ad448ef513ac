package conformance

import (
	"net/http"
	"strings"
)

// mountingCases are few and quick: what breaks when a service is mounted wrongly.
func mountingCases() []testCase {
	return []testCase{
		{"mounting/me", "GET /me works below the base path.", nil, mountingMe},
		{"mounting/form", "A form can be created, read, changed and trashed, and all its links are below the base path.", nil, mountedForm},
		{"mounting/block-ids", "A block id with slashes, percent signs, spaces and letters of any script can be used in a path.", nil, mountedBlocks},
		{"mounting/unknown-path", "An unknown path below the base path returns 404 with the error body, with or without a key.", nil, mountingUnknownPath},
		{"mounting/wrong-method", "A known path with a wrong method returns 405 with the error body and Allow.", nil, mountingWrongMethod},
		{"mounting/description", "GET /openapi.json works below the base path.", nil, mountingDescription},
		{"mounting/host-header", "No link contains the Host header of the request.", nil, mountingHostHeader},
	}
}

func mountingMe(s *session) {
	c := s.caller()
	s.nobody().get("/me").wantError("INVALID_API_KEY")
	o := c.get("/me").want(http.StatusOK).object()
	if o["id"] != c.user {
		s.errorf("id is %v, want %s", o["id"], c.user)
	}
}

func mountingUnknownPath(s *session) {
	c := s.caller()
	for _, path := range []string{"/nothing", "/me/more", "/forms/" + newID() + "/nothing", "/ME"} {
		c.get(path).refused("NOT_FOUND")
		s.nobody().get(path).refused("NOT_FOUND")
		s.nobody().post(path, object{}).refused("NOT_FOUND")
	}
}

func mountingWrongMethod(s *session) {
	r := s.nobody().call(http.MethodPut, "/me", nil).refused("METHOD_NOT_ALLOWED")
	r.checkAllow("GET")
	r = s.caller().delete("/forms/" + newID() + "/analytics/metrics").refused("METHOD_NOT_ALLOWED")
	r.checkAllow("GET")
}

func mountingDescription(s *session) {
	o := s.nobody().get("/openapi.json").want(http.StatusOK).object()
	if _, ok := o["paths"].(object); !ok {
		s.errorf("the API description has no paths")
	}
}

func mountingHostHeader(s *session) {
	r := s.caller().post("/workspaces", object{"name": "W"}, func(r *request) { r.host = "host-of-the-request.example" })
	r.want(http.StatusCreated)
	r.checkLocation("/workspaces/" + text(r.object(), "id"))
	if link, err := s.base.Parse(r.header.Get("Location")); err == nil && link.Hostname() == "host-of-the-request.example" {
		r.faultf("Location contains the request's Host header, which a caller can set to any value")
	}
}

func mountedForm(s *session) {
	c := s.caller()
	r := c.post("/workspaces", object{"name": "W"}).want(http.StatusCreated)
	workspace := text(r.object(), "id")
	r.checkLocation("/workspaces/" + workspace)

	r = c.post("/forms", object{"workspace_id": workspace, "name": "F"}).want(http.StatusCreated)
	form := r.object()
	path := "/forms/" + text(form, "id")
	r.checkLocation(path)
	r.checkLinks(form)

	r = c.get(path).want(http.StatusOK)
	r.same("the form", r.object(), form)
	r = c.patch(path, object{"name": "G"}).want(http.StatusOK)
	r.same("the name", r.object()["name"], "G")
	r = c.get("/forms?workspace_id=" + workspace).want(http.StatusOK)
	r.same("the list", r.ids(), []string{text(form, "id")})
	c.delete(path).want(http.StatusNoContent)
	c.get(path).wantError("NOT_FOUND")
}

// checkLinks holds the links of a form against where it is.
func (r *response) checkLinks(form object) {
	links, _ := form["links"].(object)
	r.checkMembers(links, []string{"self", "submissions"})
	r.checkLink("links.self", text(links, "self"), "/forms/"+text(form, "id"))
	r.checkLink("links.submissions", text(links, "submissions"), "/forms/"+text(form, "id")+"/submissions")
}

func mountedBlocks(s *session) {
	c := s.caller()
	form := "/forms/" + c.form(c.workspace())
	for _, id := range oddBlockIDs() {
		r := c.post(form+"/blocks", object{"block": block(id.plain)}).want(http.StatusCreated)
		r.checkLocation(form + "/blocks/" + id.escaped)
		path := form + "/blocks/" + id.escaped
		r = c.get(path).want(http.StatusOK)
		r.same("the block", r.object(), block(id.plain))
		r = c.patch(path, object{"block": object{"label": "New"}}).want(http.StatusOK)
		r.same("the id", r.object()["id"], id.plain)
		c.delete(path).want(http.StatusNoContent)
		c.get(path).wantError("NOT_FOUND")
	}
}

type oddID struct{ plain, escaped string }

// oddBlockIDs are ids that a path must escape. None has an empty segment or a dot
// segment when unescaped: a standard ServeMux would redirect those.
func oddBlockIDs() []oddID {
	return []oddID{
		{"a/b", "a%2Fb"},
		{"größe", "gr%C3%B6%C3%9Fe"},
		{"日本 語", "%E6%97%A5%E6%9C%AC%20%E8%AA%9E"},
		{strings.Repeat("語", 20), strings.Repeat("%E8%AA%9E", 20)},
		{"100%", "100%25"},
		{"a%2Fb", "a%252Fb"},
		{"a?b#c", "a%3Fb%23c"},
		{"a+b&c=d;e", "a+b&c=d;e"},
		{"{blockId}", "%7BblockId%7D"},
	}
}
