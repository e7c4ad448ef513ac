package conformance

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

func routingCases() []testCase {
	return []testCase{
		{"routing/allow", "Every path returns 405 for a wrong method and 204 for OPTIONS; both have the correct methods in Allow and require no key.", nil, routingAllow},
		{"routing/unknown-method", "An unknown method is a wrong method.", nil, routingUnknownMethod},
		{"routing/unknown-path", "An unknown path returns 404 for every method.", nil, routingUnknownPath},
		{"routing/head-length", "If HEAD returns a length, it is the length of the response to GET.", nil, routingHeadLength},
		{"routing/head", "HEAD works wherever GET does, with the same status and headers and without a body.", nil, routingHead},
		{"routing/trailing-slash", "A known path with a trailing slash is an unknown path.", nil, routingTrailingSlash},
		{"routing/unclean-path", "A path with empty or dot segments is an unknown path, never a redirect.", nil, routingUncleanPath},
		{"routing/malformed-ids", "A malformed ID in a path returns 404 with the same body as an unknown ID.", nil, routingMalformedIDs},
		{"routing/upper-case-ids", "An ID is accepted in upper case and always returned in lower case.", nil, routingUpperCaseIDs},
		{"routing/unknown-parameters", "Unknown query parameters are ignored.", nil, routingUnknownParameters},
	}
}

func routingAllow(s *session) {
	for path, methods := range methodsByPath() {
		path = operation{path: path}.in(s.nobody().nowhere())
		s.nobody().call(http.MethodOptions, path, nil).want(http.StatusNoContent).checkAllow(methods...)
		for _, wrong := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
			if !slices.Contains(methods, wrong) {
				s.nobody().call(wrong, path, nil).refused("METHOD_NOT_ALLOWED").checkAllow(methods...)
			}
		}
	}
}

func routingUnknownMethod(s *session) {
	c := s.caller()
	for _, method := range []string{"PROPFIND", "get", "X"} {
		c.call(method, "/me", nil).refused("METHOD_NOT_ALLOWED").checkAllow("GET")
		c.call(method, "/nothing", nil).refused("NOT_FOUND")
	}
}

func routingHead(s *session) {
	w := s.newWorld()
	for _, o := range operations() {
		if o.method != http.MethodGet || (strings.Contains(o.path, "{submissionId}") && s.target.Submit == nil) {
			continue
		}
		get := w.get(o.in(w)).want(http.StatusOK)
		head := w.call(http.MethodHead, o.in(w), nil).want(http.StatusOK)
		for _, name := range []string{"Etag", "Cache-Control", "Content-Type"} {
			head.same(name, head.header.Values(name), get.header.Values(name))
		}
	}
	get := s.nobody().get("/openapi.json").want(http.StatusOK)
	head := s.nobody().call(http.MethodHead, "/openapi.json", nil).want(http.StatusOK)
	head.same("ETag", head.header.Values("Etag"), get.header.Values("Etag"))
	s.nobody().call(http.MethodHead, "/me", nil).want(http.StatusUnauthorized)
	w.call(http.MethodHead, "/forms/"+newID(), nil).want(http.StatusNotFound)
}

func routingUnknownPath(s *session) {
	c := s.caller()
	for _, path := range []string{"/nothing", "/forms/" + newID() + "/blocks/b/c", "/webhooks/" + newID() + "/nothing", "/openapi.json/x"} {
		for _, method := range methods {
			r := c.call(method, path, nil).want(http.StatusNotFound)
			if r.header.Get("Allow") != "" {
				r.faultf("an unknown path has an Allow header")
			}
		}
	}
}

func routingHeadLength(s *session) {
	w := s.newWorld()
	for _, path := range []string{"/me", "/workspaces/" + w.workspaceID, "/forms/" + w.formID, "/forms/" + w.formID + "/blocks", "/webhooks/" + w.webhookID, "/forms?workspace_id=" + w.workspaceID} {
		get := w.get(path).want(http.StatusOK)
		head := w.call(http.MethodHead, path, nil).want(http.StatusOK)
		if length := head.header.Get("Content-Length"); length != "" && length != strconv.Itoa(len(get.body)) {
			head.faultf("Content-Length is %s, but GET returns %d bytes", length, len(get.body))
		}
	}
}

func routingTrailingSlash(s *session) {
	c := s.caller()
	for path := range methodsByPath() {
		path = operation{path: path}.in(c.nowhere()) + "/"
		c.get(path).refused("NOT_FOUND")
		c.post(path, object{}).refused("NOT_FOUND")
	}
	c.get("/").refused("NOT_FOUND")
}

func routingUncleanPath(s *session) {
	w := s.newWorld()
	for _, path := range []string{"//me", "/./me", "/forms/../me", "/forms//" + w.formID, "/forms/" + w.formID + "/", "/me/.", "/forms/" + w.formID + "/../" + w.formID} {
		w.get(path).refused("NOT_FOUND")
	}
}

func routingMalformedIDs(s *session) {
	w := s.newWorld()
	for _, o := range operations() {
		if !strings.Contains(o.path, "Id}") {
			continue
		}
		none := o.callAs(w.caller, w.nowhere(), probe()).wantError("NOT_FOUND")
		for _, id := range []string{"x", "0", w.formID[:23], w.formID + "0", "g" + w.formID[1:], "%00", "%F0%9F%98%80", strings.Repeat("a", 3000), "-1", "null", strings.Repeat("0", 24)} {
			bad := w
			bad.workspaceID, bad.formID, bad.webhookID = id, id, id
			r := o.callAs(w.caller, bad, probe()).refused("NOT_FOUND")
			r.same("the body", string(r.body), string(none.body))
		}
	}
	for _, id := range []string{"x", "%00", w.formID[:23], strings.Repeat("a", 3000)} {
		w.get("/forms/" + w.formID + "/submissions/" + id).refused("NOT_FOUND")
		w.delete("/forms/" + w.formID + "/submissions/" + id).refused("NOT_FOUND")
	}
}

func routingUpperCaseIDs(s *session) {
	w := s.newWorld()
	upper := w
	upper.workspaceID, upper.formID = strings.ToUpper(w.workspaceID), strings.ToUpper(w.formID)
	upper.webhookID, upper.submissionID = strings.ToUpper(w.webhookID), strings.ToUpper(w.submissionID)
	for _, o := range operations() {
		if o.method != http.MethodGet || (strings.Contains(o.path, "{submissionId}") && s.target.Submit == nil) {
			continue
		}
		if o.list() && s.target.CreateKey == nil {
			continue // the user's lists are not this case's alone
		}
		lower := w.get(o.in(w)).want(http.StatusOK)
		r := w.get(o.in(upper)).want(http.StatusOK)
		r.same("the body", string(r.body), string(lower.body))
		for _, id := range []string{upper.workspaceID, upper.formID, upper.webhookID, upper.submissionID} {
			if strings.Contains(string(r.body), id) {
				r.faultf("the id %s is in upper case", id)
			}
		}
	}
	r := w.get("/forms?workspace_id=" + upper.workspaceID).want(http.StatusOK)
	r.same("the list", r.ids(), []string{w.formID})
	r = w.post("/forms", object{"workspace_id": upper.workspaceID, "name": "F"}).want(http.StatusCreated)
	r.same("workspace_id", r.object()["workspace_id"], w.workspaceID)
	r = w.post("/webhooks", w.newHook(upper.formID)).want(http.StatusCreated)
	r.same("form_id", r.object()["form_id"], w.formID)
}

func routingUnknownParameters(s *session) {
	w := s.newWorld()
	paths := []string{"/me", "/forms?workspace_id=" + w.workspaceID, "/forms/" + w.formID}
	if s.target.CreateKey != nil { // else the user's lists are not this case's alone
		paths = append(paths, "/workspaces", "/forms", "/webhooks")
	}
	for _, path := range paths {
		plain := w.get(path).want(http.StatusOK)
		r := w.get(with(path, "nothing=1&Limit=0&offset=-1&x[]=%00")).want(http.StatusOK)
		r.same("the body", string(r.body), string(plain.body))
	}
}

// probe fixes the request id, so that two answers can be compared byte for byte.
func probe() requestOption { return withHeader("X-Request-ID", "probe") }

// methodsByPath tells the methods of every path.
func methodsByPath() map[string][]string {
	out := map[string][]string{"/openapi.json": {"GET"}}
	for _, o := range operations() {
		out[o.path] = append(out[o.path], o.method)
	}
	return out
}

// checkAllow holds Allow against the methods of a path. HEAD belongs to GET;
// OPTIONS may be listed.
func (r *response) checkAllow(methods ...string) {
	want := slices.Clone(methods)
	if slices.Contains(want, http.MethodGet) {
		want = append(want, http.MethodHead)
	}
	var got []string
	for _, line := range r.header.Values("Allow") {
		for m := range strings.SplitSeq(line, ",") {
			if m = strings.TrimSpace(m); m != http.MethodOptions {
				got = append(got, m)
			}
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		r.faultf("Allow is %q, want %s", r.header.Values("Allow"), strings.Join(want, ", "))
	}
}
