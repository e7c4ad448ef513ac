package conformance

import (
	"net/http"
	"strings"
)

func requestIDCases() []testCase {
	return []testCase{
		{"request-id/supplied", "A valid request ID is returned in every kind of response.", nil, requestIDSupplied},
		{"request-id/replaced", "An invalid request ID is replaced and never rejected.", nil, requestIDReplaced},
		{"request-id/generated", "Every request without an ID gets a unique ID.", nil, requestIDGenerated},
	}
}

func requestIDSupplied(s *session) {
	c := s.caller()
	for _, id := range []string{"x", "A-Za.z0_9", strings.Repeat("r", 100)} {
		with := withHeader("X-Request-ID", id) // that it comes back is checked of every answer
		c.get("/me", with).want(http.StatusOK)
		c.get("/nothing", with).wantError("NOT_FOUND")
		c.put("/me", nil, with).wantError("METHOD_NOT_ALLOWED")
		c.post("/workspaces", object{}, with).wantError("VALIDATION_FAILED")
		c.post("/workspaces", []byte("{"), with).wantError("MALFORMED_JSON")
		c.call(http.MethodOptions, "/me", nil, with).want(http.StatusNoContent)
		c.call(http.MethodHead, "/me", nil, with).want(http.StatusOK)
		c.delete("/workspaces/"+c.workspace(), with).want(http.StatusNoContent)
		s.nobody().get("/me", with).wantError("INVALID_API_KEY")
		s.nobody().get("/openapi.json", with).want(http.StatusOK)
	}
}

func requestIDReplaced(s *session) {
	c := s.caller()
	for _, id := range []string{"", strings.Repeat("r", 101), "a b", "a/b", "a:b", "é", "<script>", "a,b", "\"x\""} {
		r := c.get("/me", withHeader("X-Request-ID", id)).want(http.StatusOK)
		if got := r.header.Get("X-Request-ID"); got == id {
			r.faultf("the response repeats the invalid request ID %q, want a new ID", id)
		}
	}
}

func requestIDGenerated(s *session) {
	c := s.caller()
	seen := make(map[string]bool)
	for range 50 {
		r := c.get("/me").want(http.StatusOK)
		id := r.header.Get("X-Request-ID")
		if seen[id] {
			r.faultf("the request ID %q is not unique", id)
		}
		seen[id] = true
	}
}
