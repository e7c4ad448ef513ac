package conformance

import (
	"net/http"
	"strings"
)

// isolationCases prove, for every operation, that another tenant's data does not
// exist for a caller.
func isolationCases() []testCase {
	var out []testCase
	for _, o := range operations() {
		switch {
		case o.id == "getMe" || o.id == "createWorkspace":
			continue // they concern nobody but the caller
		case o.list():
			out = append(out, testCase{"isolation/" + o.id, o.method + " " + o.path + " lists no records of another tenant.", nil, func(s *session) {
				w, stranger := s.newWorld(), s.caller()
				r := stranger.get(o.path).want(http.StatusOK)
				r.same("the items", len(r.items()), 0)
				other := s.newWorld()
				if r = other.get(o.path).want(http.StatusOK); strings.Contains(string(r.body), w.formID) || strings.Contains(string(r.body), w.workspaceID) || strings.Contains(string(r.body), w.webhookID) {
					r.faultf("the list contains a record of another tenant")
				}
				r.same("the items", len(r.items()), 1)
			}})
		default:
			out = append(out, testCase{"isolation/" + o.id, o.method + " " + o.path + " treats another tenant's data as missing, and changes nothing.", o.needsOf(), func(s *session) {
				w, stranger := s.newWorld(), s.newWorld()
				before := w.snapshot()
				none := o.callAs(stranger.caller, stranger.nowhere(), probe()).wantError("NOT_FOUND")
				r := o.callAs(stranger.caller, w, probe()).wantError("NOT_FOUND")
				r.same("the body", string(r.body), string(none.body))
				for name := range none.header {
					if name != "Date" && !strings.HasPrefix(name, "Ratelimit") {
						r.same(name, r.header.Values(name), none.header.Values(name))
					}
				}
				w.unchanged(before)
			}})
		}
	}
	return append(out,
		testCase{"isolation/filter", "GET /forms with another tenant's workspace as the filter returns 404.", nil, isolationFilter},
		testCase{"isolation/move", "A form cannot be moved into another tenant's workspace.", nil, isolationMove},
		testCase{"isolation/mixed-path", "A submission of another tenant returns 404 in the path of the user's own form.", needs(NeedsSubmit), isolationMixedPath},
	)
}

func isolationFilter(s *session) {
	w, stranger := s.newWorld(), s.caller()
	none := stranger.get("/forms?workspace_id="+newID(), probe()).wantError("NOT_FOUND")
	r := stranger.get("/forms?workspace_id="+w.workspaceID, probe()).wantError("NOT_FOUND")
	r.same("the body", string(r.body), string(none.body))
}

func isolationMove(s *session) {
	w, stranger := s.newWorld(), s.newWorld()
	before, theirs := w.snapshot(), stranger.snapshot()
	stranger.patch("/forms/"+stranger.formID, object{"workspace_id": w.workspaceID}).wantError("NOT_FOUND")
	stranger.patch("/forms/"+w.formID, object{"workspace_id": stranger.workspaceID}).wantError("NOT_FOUND")
	w.unchanged(before)
	stranger.unchanged(theirs)
}

func isolationMixedPath(s *session) {
	w, stranger := s.newWorld(), s.newWorld()
	stranger.get("/forms/" + stranger.formID + "/submissions/" + w.submissionID).wantError("NOT_FOUND")
	stranger.delete("/forms/" + stranger.formID + "/submissions/" + w.submissionID).wantError("NOT_FOUND")
	w.get("/forms/" + w.formID + "/submissions/" + w.submissionID).want(http.StatusOK)
}
