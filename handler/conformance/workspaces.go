package conformance

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
)

func workspaceCases() []testCase {
	return []testCase{
		{"workspaces/create", "POST /workspaces returns 201 with the workspace and its Location, and trims the name.", nil, workspacesCreate},
		{"workspaces/name", "A name has 1 to 120 characters after trimming, counted as characters instead of bytes.", nil, workspacesName},
		{"workspaces/same-name", "Names of workspaces need not be unique.", nil, workspacesSameName},
		{"workspaces/update", "PATCH renames a workspace and returns 200 with it.", nil, workspacesUpdate},
		{"workspaces/delete", "DELETE returns 204 without a body; the workspace is gone and its forms are in the trash.", nil, workspacesDelete},
		{"workspaces/list", "GET /workspaces lists the accessible workspaces, newest first, equal to single reads.", nil, workspacesList},
		{"workspaces/list-current", "The list contains the current name of a workspace, and no deleted workspace.", nil, workspacesListCurrent},
		{"workspaces/member", "A member can read a workspace and work on its forms, but only the owner can update or delete it.", needs(NeedsAddMember), workspacesMember},
		{"workspaces/removed-member", "A removed member immediately loses access to the workspace.", needs(NeedsAddMember, NeedsRemoveMember), workspacesRemovedMember},
		{"workspaces/limit", "An owner at the limit receives 409, even with concurrent requests.", nil, workspacesLimit},
	}
}

func workspacesCreate(s *session) {
	c := s.caller()
	r := c.post("/workspaces", object{"name": "  The team\t\n"}).want(http.StatusCreated)
	o := r.object()
	r.checkWorkspace(o)
	r.same("name", o["name"], "The team")
	r.same("updated_at", o["updated_at"], o["created_at"])
	r.checkLocation("/workspaces/" + text(o, "id"))
	got := c.get("/workspaces/" + text(o, "id")).want(http.StatusOK)
	got.same("the workspace", got.object(), o)
}

func workspacesName(s *session) {
	c := s.caller()
	path := "/workspaces/" + c.workspace()
	for _, good := range []string{"W", strings.Repeat("w", 120), strings.Repeat("é", 120), strings.Repeat("😀", 120), " " + strings.Repeat("w", 120) + " "} {
		r := c.post("/workspaces", object{"name": good}).want(http.StatusCreated)
		r.same("name", r.object()["name"], strings.TrimSpace(good))
		r = c.patch(path, object{"name": good}).want(http.StatusOK)
		r.same("name", r.object()["name"], strings.TrimSpace(good))
	}
	for _, bad := range []struct {
		body any
		code string
	}{
		{object{}, "REQUIRED"},
		{object{"name": ""}, ""},
		{object{"name": " \t\n\u00a0\u3000"}, ""},
		{object{"name": strings.Repeat("w", 121)}, "TOO_LONG"},
		{object{"name": strings.Repeat("é", 121)}, "TOO_LONG"},
		{object{"name": 1}, "WRONG_TYPE"},
		{object{"name": []any{"W"}}, "WRONG_TYPE"},
	} {
		c.post("/workspaces", bad.body).invalid(violations{"/name": bad.code})
		c.patch(path, bad.body).invalid(violations{"/name": bad.code})
	}
}

func workspacesSameName(s *session) {
	c := s.caller()
	if a, b := c.workspace(), c.workspace(); a == b {
		s.errorf("two workspaces have the id %s", a)
	}
}

func workspacesUpdate(s *session) {
	c := s.caller()
	was := c.post("/workspaces", object{"name": "Old"}).want(http.StatusCreated).object()
	path := "/workspaces/" + text(was, "id")
	r := c.patch(path, object{"name": " New "}).want(http.StatusOK)
	o := r.object()
	r.checkWorkspace(o)
	r.same("name", o["name"], "New")
	for _, name := range []string{"id", "public_id", "created_at"} {
		r.same(name, o[name], was[name])
	}
	if text(o, "updated_at") < text(o, "created_at") {
		r.faultf("updated_at is before created_at")
	}
	got := c.get(path).want(http.StatusOK)
	got.same("the workspace", got.object(), o)
}

func workspacesDelete(s *session) {
	w := s.newWorld()
	kept := w.workspace()
	keptForm := w.form(kept)
	w.delete("/workspaces/" + w.workspaceID).want(http.StatusNoContent)
	w.get("/workspaces/" + w.workspaceID).wantError("NOT_FOUND")
	w.delete("/workspaces/" + w.workspaceID).wantError("NOT_FOUND")
	w.patch("/workspaces/"+w.workspaceID, object{"name": "X"}).wantError("NOT_FOUND")
	w.get("/forms/" + w.formID).wantError("NOT_FOUND")
	w.get("/webhooks/" + w.webhookID).wantError("NOT_FOUND")
	w.get("/forms?workspace_id=" + w.workspaceID).wantError("NOT_FOUND")
	w.post("/forms", object{"workspace_id": w.workspaceID, "name": "F"}).wantError("NOT_FOUND")
	r, ids := w.listed("/workspaces")
	r.same("the workspaces", ids, []string{kept})
	r, ids = w.listed("/forms")
	r.same("the forms", ids, []string{keptForm})
}

func workspacesList(s *session) {
	c := s.caller()
	if c.target.CreateKey != nil {
		r := c.get("/workspaces").want(http.StatusOK)
		r.same("the page", r.object(), object{"items": []any{}, "page": object{"has_more": false, "next_cursor": nil}})
	}
	for range 3 {
		c.workspace()
	}
	r, ids := c.listed("/workspaces")
	for _, o := range r.items() {
		r.checkWorkspace(o)
		if slices.Contains(ids, text(o, "id")) {
			got := c.get("/workspaces/" + text(o, "id")).want(http.StatusOK)
			got.same("the workspace", got.object(), o)
		}
	}
	r.checkNewestFirst("created_at")
	if len(ids) != 3 {
		r.faultf("the list has %d of the items that the case created, want 3", len(ids))
	}
}

func workspacesListCurrent(s *session) {
	c := s.caller()
	renamed, deleted := c.workspace(), c.workspace()
	c.listed("/workspaces")
	name := newID()
	c.patch("/workspaces/"+renamed, object{"name": name}).want(http.StatusOK)
	c.delete("/workspaces/" + deleted).want(http.StatusNoContent)
	r, ids := c.listed("/workspaces")
	r.same("the workspaces", ids, []string{renamed})
	for _, o := range r.items() {
		if o["id"] == renamed {
			r.same("name", o["name"], name)
		}
	}
}

func workspacesMember(s *session) {
	w, member := s.newWorld(), s.caller()
	path := "/workspaces/" + w.workspaceID
	member.get(path).wantError("NOT_FOUND")
	s.must("AddMember", s.target.AddMember(s.ctx, w.workspaceID, member.user))
	r := member.get(path).want(http.StatusOK)
	r.same("the workspace", r.object(), w.get(path).want(http.StatusOK).object())
	r = member.get("/workspaces").want(http.StatusOK)
	r.same("the workspaces", r.ids(), []string{w.workspaceID})
	r = member.get("/forms").want(http.StatusOK)
	r.same("the forms", r.ids(), []string{w.formID})
	r = member.get("/webhooks").want(http.StatusOK)
	r.same("the webhooks", r.ids(), []string{w.webhookID})
	member.patch(path, object{"name": "X"}).wantError("OWNER_REQUIRED")
	member.delete(path).wantError("OWNER_REQUIRED")
	w.get(path).want(http.StatusOK)
	member.patch("/forms/"+w.formID, object{"name": "By the member"}).want(http.StatusOK)
	form := member.form(w.workspaceID)
	w.get("/forms/" + form).want(http.StatusOK)
	member.delete("/forms/" + form).want(http.StatusNoContent)
	w.get("/forms/" + form).wantError("NOT_FOUND")
}

func workspacesRemovedMember(s *session) {
	w, member := s.newWorld(), s.caller()
	s.must("AddMember", s.target.AddMember(s.ctx, w.workspaceID, member.user))
	member.get("/forms/" + w.formID).want(http.StatusOK)
	form := member.form(w.workspaceID)
	s.must("RemoveMember", s.target.RemoveMember(s.ctx, w.workspaceID, member.user))
	for _, path := range []string{"/workspaces/" + w.workspaceID, "/forms/" + w.formID, "/forms/" + form, "/forms?workspace_id=" + w.workspaceID, "/webhooks/" + w.webhookID} {
		member.get(path).wantError("NOT_FOUND")
	}
	for _, path := range []string{"/workspaces", "/forms", "/webhooks"} {
		r := member.get(path).want(http.StatusOK)
		r.same("the items", len(r.items()), 0)
	}
	w.get("/forms/" + form).want(http.StatusOK)
}

func workspacesLimit(s *session) {
	c := s.caller()
	limit := s.target.Limits.Workspaces
	for i := range limit - 2 {
		c.post("/workspaces", object{"name": fmt.Sprint("W", i)}).want(http.StatusCreated)
	}
	var made atomic.Int32
	s.parallel(8, func(int) {
		switch r := c.post("/workspaces", object{"name": "racing"}); r.status {
		case http.StatusCreated:
			made.Add(1)
		default:
			r.refused("WORKSPACE_LIMIT_REACHED")
		}
	})
	if made.Load() != 2 {
		s.errorf("%d workspaces were created, want 2 because of the limit", made.Load())
	}
	c.post("/workspaces", object{"name": "one too many"}).wantError("WORKSPACE_LIMIT_REACHED")
	list := c.get("/workspaces?limit=1").want(http.StatusOK)
	c.delete("/workspaces/" + list.ids()[0]).want(http.StatusNoContent)
	c.post("/workspaces", object{"name": "room again"}).want(http.StatusCreated)
}

// checkWorkspace holds a workspace against the API description.
func (r *response) checkWorkspace(o object) {
	r.checkMembers(o, []string{"id", "public_id", "name", "created_at", "updated_at"})
	r.checkID(o, "id")
	r.checkPublicID(o)
	r.checkTime(o, "created_at")
	r.checkTime(o, "updated_at")
}

func (r *response) checkPublicID(o object) {
	if !publicIDPattern.MatchString(text(o, "public_id")) {
		r.faultf("public_id is %v, want 12 letters and digits", o["public_id"])
	}
}

// checkNewestFirst notes a fault unless the items fall by (time, id).
func (r *response) checkNewestFirst(timeName string) {
	last := ""
	for i, o := range r.items() {
		key := text(o, timeName) + " " + text(o, "id")
		if i > 0 && key >= last {
			r.faultf("item %d (%s) is listed after %s, want newest first by (%s, id)", i, key, last, timeName)
		}
		last = key
	}
}
