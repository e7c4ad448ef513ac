package conformance

import (
	"net/http"
	"strings"
)

func trashCases() []testCase {
	return []testCase{
		{"trash/hidden", "A trashed form, its blocks, submissions, analytics and webhooks return 404 and are not in any list.", nil, trashHidden},
		{"trash/restored", "A form that the host restores is unchanged, with its submissions and webhooks.", needs(NeedsRestoreForm), trashRestored},
	}
}

func trashHidden(s *session) {
	w := s.newWorld()
	w.delete("/forms/" + w.formID).want(http.StatusNoContent)
	for _, o := range operations() {
		if strings.Contains(o.path, "{formId}") || strings.Contains(o.path, "{webhookId}") || o.id == "createWebhook" {
			o.callAs(w.caller, w).refused("NOT_FOUND")
		}
	}
	for _, path := range []string{"/forms", "/forms?workspace_id=" + w.workspaceID, "/webhooks"} {
		r, ids := w.listed(path)
		r.same("the items", len(ids), 0)
	}
	w.get("/workspaces/" + w.workspaceID).want(http.StatusOK)
}

func trashRestored(s *session) {
	w := s.newWorld()
	before := w.snapshot()
	w.delete("/forms/" + w.formID).want(http.StatusNoContent)
	s.must("RestoreForm", s.target.RestoreForm(s.ctx, w.formID))
	after := w.snapshot()
	for path := range before {
		// The time of the change may be told; nothing else may differ.
		if strings.Contains(path, "submissions") || strings.Contains(path, "webhooks") {
			if before[path] != after[path] {
				s.errorf("%s has changed, but must not:\nbefore %s\nafter  %s", path, before[path], after[path])
			}
		}
	}
	r := w.get("/forms/" + w.formID).want(http.StatusOK)
	r.same("workspace_id", r.object()["workspace_id"], w.workspaceID)
	r.same("the blocks", at(r.object(), "definition", "blocks"), question()["blocks"])
	list := w.get("/forms").want(http.StatusOK)
	list.same("the forms", list.ids(), []string{w.formID})
}
