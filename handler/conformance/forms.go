package conformance

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

func formCases() []testCase {
	return []testCase{
		{"forms/create", "POST /forms with a workspace and a name returns 201 with a draft, Location, ETag and an empty definition.", nil, formsCreate},
		{"forms/create-complete", "POST /forms with a complete definition creates the complete form in one request.", nil, formsCreateComplete},
		{"forms/create-invalid", "An invalid FormCreate returns 422 with a pointer for every violation, and creates nothing.", nil, formsCreateInvalid},
		{"forms/list", "GET /forms lists the summaries of all accessible forms, newest first, without definitions, or those of one workspace.", nil, formsList},
		{"forms/list-current", "The list contains the current name and status of a form, and no deleted form.", nil, formsListCurrent},
		{"forms/identity", "Every form and workspace has a unique public ID, and changes do not affect IDs and created_at.", nil, formsIdentity},
		{"forms/updated-at", "updated_at is the time of the last change, and reads do not affect it.", nil, formsUpdatedAt},
		{"forms/update", "PATCH changes the given fields and returns 200 with the complete form and its ETag.", nil, formsUpdate},
		{"forms/update-sections", "Sections in a PATCH are replaced completely, and omitted sections do not change.", nil, formsUpdateSections},
		{"forms/update-invalid", "An invalid FormUpdate returns 422 with pointers and changes nothing, not even valid fields.", nil, formsUpdateInvalid},
		{"forms/is-closed", "is_closed reflects settings.closed, openAt and closeAt.", nil, formsIsClosed},
		{"forms/opens-in-time", "A form is closed until openAt.", needs(NeedsAdvance), formsOpensInTime},
		{"forms/closes-in-time", "A form is closed from closeAt on.", needs(NeedsAdvance), formsClosesInTime},
		{"forms/delete", "DELETE returns 204 without a body, and the form then returns 404, also for a second DELETE.", nil, formsDelete},
	}
}

func formsCreate(s *session) {
	c := s.caller()
	workspace := c.workspace()
	r := c.post("/forms", object{"workspace_id": workspace, "name": "  Form "}).want(http.StatusCreated)
	o := r.object()
	r.checkForm(o)
	r.same("name", o["name"], "Form")
	r.same("workspace_id", o["workspace_id"], workspace)
	r.same("status", o["status"], "draft")
	r.same("type", o["type"], "SINGLE")
	r.same("is_closed", o["is_closed"], false)
	r.same("updated_at", o["updated_at"], o["created_at"])
	r.same("definition", o["definition"], emptyDefinition())
	r.checkLocation("/forms/" + text(o, "id"))
	got := c.get("/forms/" + text(o, "id")).want(http.StatusOK)
	got.same("the form", got.object(), o)
	got.same("ETag", got.etag(), r.etag())
}

func formsCreateComplete(s *session) {
	c := s.caller()
	body := object{"workspace_id": c.workspace(), "name": "Form", "type": "MULTI", "definition": completeDefinition()}
	r := c.post("/forms", body).want(http.StatusCreated)
	o := r.object()
	r.checkForm(o)
	r.same("type", o["type"], "MULTI")
	r.same("status", o["status"], "draft")
	r.same("definition", o["definition"], completeDefinition())
	got := c.get("/forms/" + text(o, "id")).want(http.StatusOK)
	got.same("the form", got.object(), o)
	got = c.get("/forms/" + text(o, "id") + "/blocks").want(http.StatusOK)
	got.same("the blocks", got.object(), object{"items": completeDefinition()["blocks"]})
}

func formsCreateInvalid(s *session) {
	c := s.caller()
	w := c.workspace()
	for _, bad := range []struct {
		body any
		want violations
	}{
		{object{}, violations{"/workspace_id": "REQUIRED", "/name": "REQUIRED"}},
		{object{"workspace_id": w}, violations{"/name": "REQUIRED"}},
		{object{"name": "F"}, violations{"/workspace_id": "REQUIRED"}},
		{object{"workspace_id": "x", "name": "F"}, violations{"/workspace_id": ""}},
		{object{"workspace_id": 1, "name": true}, violations{"/workspace_id": "WRONG_TYPE", "/name": "WRONG_TYPE"}},
		{object{"workspace_id": w, "name": " "}, violations{"/name": ""}},
		{object{"workspace_id": w, "name": strings.Repeat("é", 201)}, violations{"/name": "TOO_LONG"}},
		{object{"workspace_id": w, "name": "F", "type": "single"}, violations{"/type": ""}},
		{object{"workspace_id": w, "name": "F", "status": "published"}, violations{"/status": "UNKNOWN_FIELD"}},
		{object{"workspace_id": w, "name": "F", "definition": []any{}}, violations{"/definition": "WRONG_TYPE"}},
		{object{"workspace_id": w, "name": "", "type": "X", "definition": object{"blocks": 1, "theme": 1}},
			violations{"/name": "", "/type": "", "/definition/blocks": "WRONG_TYPE", "/definition/theme": "WRONG_TYPE"}},
	} {
		c.post("/forms", bad.body).invalid(bad.want)
	}
	c.post("/forms", object{"workspace_id": newID(), "name": "F"}).wantError("NOT_FOUND")
	if n := len(c.get("/forms?workspace_id=" + w).want(http.StatusOK).items()); n != 0 {
		s.errorf("the list has %d forms, want none", n)
	}
	r := c.post("/forms", object{"workspace_id": w, "name": strings.Repeat("é", 200)}).want(http.StatusCreated)
	r.same("name", r.object()["name"], strings.Repeat("é", 200))
}

func formsList(s *session) {
	c := s.caller()
	one, two := c.workspace(), c.workspace()
	inOne := map[string]bool{c.form(one): true, c.form(one): true}
	inTwo := c.form(two, "definition", completeDefinition())
	r, ids := c.listed("/forms")
	r.checkNewestFirst("created_at")
	if len(ids) != 3 {
		r.faultf("the list has %d of the items that the case created, want 3", len(ids))
	}
	for _, o := range r.items() {
		r.checkSummary(o)
		if !slices.Contains(ids, text(o, "id")) {
			continue
		}
		full := c.get("/forms/" + text(o, "id")).want(http.StatusOK).object()
		delete(full, "definition")
		r.same("the summary", o, full)
	}
	r = c.get("/forms?workspace_id=" + two).want(http.StatusOK)
	r.same("the forms", r.ids(), []string{inTwo})
	r = c.get("/forms?workspace_id=" + one).want(http.StatusOK)
	for _, id := range r.ids() {
		if !inOne[id] {
			r.faultf("%s is not a form of the workspace", id)
		}
	}
	if len(r.ids()) != 2 {
		r.faultf("the list has %d items, want 2", len(r.ids()))
	}
}

func formsListCurrent(s *session) {
	c := s.caller()
	workspace := c.workspace()
	changed, deleted := c.form(workspace), c.form(workspace)
	list := "/forms?workspace_id=" + workspace
	c.get(list).want(http.StatusOK)
	c.patch("/forms/"+changed, object{"name": "New", "status": "published"}).want(http.StatusOK)
	c.delete("/forms/" + deleted).want(http.StatusNoContent)
	r := c.get(list).want(http.StatusOK)
	r.same("the forms", r.ids(), []string{changed})
	r.same("name", r.items()[0]["name"], "New")
	r.same("status", r.items()[0]["status"], "published")
}

func formsIdentity(s *session) {
	c := s.caller()
	workspace, other := c.workspace(), c.workspace()
	seen := make(map[any]bool)
	distinct := func(r *response) object {
		o := r.object()
		for _, name := range []string{"id", "public_id"} {
			if seen[o[name]] {
				r.faultf("%s %v is not unique", name, o[name])
			}
			seen[o[name]] = true
		}
		return o
	}
	distinct(c.get("/workspaces/" + workspace).want(http.StatusOK))
	distinct(c.get("/workspaces/" + other).want(http.StatusOK))
	distinct(c.post("/forms", object{"workspace_id": workspace, "name": "F"}).want(http.StatusCreated))
	was := distinct(c.post("/forms", object{"workspace_id": workspace, "name": "F"}).want(http.StatusCreated))
	path := "/forms/" + text(was, "id")
	for _, change := range []object{{"name": "G"}, {"status": "published"}, {"workspace_id": other}, {"definition": object{"blocks": []any{block("b")}}}} {
		c.patch(path, change).want(http.StatusOK)
		r := c.get(path).want(http.StatusOK)
		for _, name := range []string{"id", "public_id", "created_at", "type"} {
			r.same(name, r.object()[name], was[name])
		}
	}
}

// formsUpdatedAt waits once until the service's times, which are whole seconds, tell two changes apart.
func formsUpdatedAt(s *session) {
	w := s.newWorld()
	forms := make([]string, len(conditionals()))
	for i := range forms {
		forms[i] = "/forms/" + w.form(w.workspaceID, "definition", question())
	}
	before := make(map[string]object)
	for _, path := range append([]string{"/webhooks/" + w.webhookID, "/workspaces/" + w.workspaceID}, forms...) {
		before[path] = w.get(path).want(http.StatusOK).object()
	}
	s.pause(1100 * time.Millisecond)
	later := func(path, what string) {
		r := w.get(path).want(http.StatusOK)
		if text(r.object(), "updated_at") <= text(before[path], "updated_at") {
			r.faultf("updated_at has not changed after %s", what)
		}
		r.same("created_at", r.object()["created_at"], before[path]["created_at"])
	}
	for i, write := range conditionals() {
		for range 2 {
			r := w.get(forms[i]).want(http.StatusOK)
			r.same("a form that was only read", r.object(), before[forms[i]])
		}
		write.do(w.caller, forms[i]).want(write.status)
		later(forms[i], "the "+write.name)
	}
	w.patch("/webhooks/"+w.webhookID, object{"signing_secret": s.newSecret()}).want(http.StatusOK)
	later("/webhooks/"+w.webhookID, "the PATCH")
	w.patch("/workspaces/"+w.workspaceID, object{"name": "Later"}).want(http.StatusOK)
	later("/workspaces/"+w.workspaceID, "the PATCH")
}

func formsUpdate(s *session) {
	c := s.caller()
	workspace, other := c.workspace(), c.workspace()
	path := "/forms/" + c.form(workspace, "definition", completeDefinition())
	was := c.get(path).want(http.StatusOK).object()
	for _, change := range []object{
		{"name": "New"}, {"type": "MULTI"}, {"type": "SINGLE"}, {"status": "published"}, {"status": "draft"}, {"workspace_id": other},
		{"name": "Both", "status": "published"},
	} {
		r := c.patch(path, change).want(http.StatusOK)
		o := r.object()
		r.checkForm(o)
		for name, value := range change {
			was[name] = value
		}
		was["updated_at"] = o["updated_at"]
		r.same("the form", o, was)
		got := c.get(path).want(http.StatusOK)
		got.same("the form", got.object(), o)
		got.same("ETag", got.etag(), r.etag())
	}
	r := c.get("/forms?workspace_id=" + other).want(http.StatusOK)
	r.same("the forms of the new workspace", len(r.ids()), 1)
	r = c.get("/forms?workspace_id=" + workspace).want(http.StatusOK)
	r.same("the forms of the old workspace", len(r.ids()), 0)
}

func formsUpdateSections(s *session) {
	c := s.caller()
	path := "/forms/" + c.form(c.workspace(), "definition", completeDefinition())
	want := completeDefinition()
	for _, change := range []struct {
		section string
		value   any
	}{
		{"settings", object{"branding": true}},
		{"theme", object{"font": "Serif"}},
		{"variables", object{"other": 2.5}},
		{"hidden_fields", []any{"new"}},
		{"blocks", []any{block("only")}},
		{"settings", object{}}, {"theme", object{}}, {"variables", object{}}, {"hidden_fields", []any{}}, {"blocks", []any{}},
	} {
		want[change.section] = change.value
		r := c.patch(path, object{"definition": object{change.section: change.value}}).want(http.StatusOK)
		r.same("definition", r.object()["definition"], want)
		got := c.get(path).want(http.StatusOK)
		got.same("definition", got.object()["definition"], want)
	}
}

func formsUpdateInvalid(s *session) {
	w := s.newWorld()
	before := w.snapshot()
	path := "/forms/" + w.formID
	for _, bad := range []struct {
		body any
		want violations
	}{
		{object{"name": "Right", "status": "closed"}, violations{"/status": ""}},
		{object{"name": "", "status": "PUBLISHED"}, violations{"/name": "", "/status": ""}},
		{object{"workspace_id": "x"}, violations{"/workspace_id": ""}},
		{object{"name": strings.Repeat("n", 201)}, violations{"/name": "TOO_LONG"}},
		{object{"name": "Right", "definition": object{"settings": object{"branding": "yes"}}}, violations{"/definition/settings/branding": "WRONG_TYPE"}},
		{object{"definition": object{"settings": object{"branding": true}, "theme": object{"corners": "x"}}}, violations{"/definition/theme/corners": "WRONG_TYPE"}},
	} {
		w.patch(path, bad.body).invalid(bad.want)
	}
	w.patch(path, object{}).refused("VALIDATION_FAILED")
	w.patch(path, object{"name": "Right", "workspace_id": newID()}).wantError("NOT_FOUND")
	w.unchanged(before)
}

func formsIsClosed(s *session) {
	c := s.caller()
	workspace := c.workspace()
	path := "/forms/" + c.form(workspace)
	for _, x := range []struct {
		settings object
		closed   bool
	}{
		{object{"closed": true}, true},
		{object{"closed": false}, false},
		{object{"closeAt": "2001-01-01T00:00:00Z"}, true},
		{object{"closeAt": "2999-01-01T00:00:00Z"}, false},
		{object{"closed": true, "closeAt": "2999-01-01T00:00:00Z"}, true},
		{object{"openAt": "2001-01-01T00:00:00Z"}, false},
		{object{"openAt": "2999-01-01T00:00:00Z"}, true},
		{object{"openAt": "2001-01-01T00:00:00Z", "closeAt": "2001-01-02T00:00:00Z"}, true},
		{object{}, false},
	} {
		r := c.patch(path, object{"definition": object{"settings": x.settings}}).want(http.StatusOK)
		r.same("is_closed", r.object()["is_closed"], x.closed)
		list := c.get("/forms?workspace_id=" + workspace).want(http.StatusOK)
		list.same("is_closed", list.items()[0]["is_closed"], x.closed)
	}
}

func formsDelete(s *session) {
	c := s.caller()
	path := "/forms/" + c.form(c.workspace())
	c.delete(path).want(http.StatusNoContent)
	c.get(path).wantError("NOT_FOUND")
	c.delete(path).wantError("NOT_FOUND")
	c.patch(path, object{"name": "F"}).wantError("NOT_FOUND")
}

// checkSummary holds a form of a list against the API description.
func (r *response) checkSummary(o object) {
	r.checkMembers(o, summaryMembers())
	r.checkSummaryValues(o)
}

// checkForm holds a full form against the API description.
func (r *response) checkForm(o object) {
	r.checkMembers(o, append(summaryMembers(), "definition"))
	r.checkSummaryValues(o)
	definition, _ := o["definition"].(object)
	r.checkMembers(definition, []string{"blocks", "settings", "theme", "variables", "hidden_fields"})
}

func summaryMembers() []string {
	return []string{"id", "public_id", "workspace_id", "name", "status", "is_closed", "created_at", "updated_at", "links", "type"}
}

func (r *response) checkSummaryValues(o object) {
	r.checkID(o, "id")
	r.checkID(o, "workspace_id")
	r.checkPublicID(o)
	r.checkTime(o, "created_at")
	r.checkTime(o, "updated_at")
	r.checkLinks(o)
}

func emptyDefinition() object {
	return object{"blocks": []any{}, "settings": object{}, "theme": object{}, "variables": object{}, "hidden_fields": []any{}}
}

// completeDefinition has something of every kind, and every type where a block
// would get one.
func completeDefinition() object {
	return object{
		"blocks": []any{
			object{"id": "welcome", "type": "welcome", "label": "Hello", "description": "World", "properties": object{"buttonText": "Go", "shareButtons": false}},
			object{"id": "pick", "type": "single_choice", "required": true, "choices": []any{
				object{"id": "a", "label": "A", "color": "red", "image": object{"any": []any{1.0, nil}}, "alt": "x"},
				object{"id": "b", "label": "B", "image": "text"},
			}},
			object{"id": "grid", "type": "matrix", "matrix_rows": []any{object{"id": "r1", "label": "R"}}, "matrix_columns": []any{object{"id": "c1", "label": "C"}}},
			object{"id": "group", "type": "group", "children": []any{
				object{"id": "inner", "type": "number", "part_of": "group", "row_id": "row", "properties": object{"min": 1.0, "max": 2.5, "minVal": true, "numberFormat": "x"}},
			}},
			object{"id": "when", "type": "date", "properties": object{"dateFormat": "DDMMYYYY", "beforeDate": "2030-01-02T03:04:05Z", "disabledDays": 65.0, "rule": object{"free": object{"form": true}}}},
		},
		"settings": object{
			"branding": false, "progressBar": true, "borderRadius": 4.5, "responseLimit": 100.0, "openAt": "2001-01-02T03:04:05Z", "closeAt": "2999-01-02T03:04:05Z",
			"utm":         object{"campaign": true, "source": false},
			"redirectUrl": "https://example.com/thanks", "submitLabel": "Send", "duplicateField": "pick",
			"cover": object{"color": "any text", "position": object{"x": 0.5, "y": -1.0}, "image": object{"id": "i", "url": "https://example.com/i.png", "width": 10.0, "height": 20.0}},
		},
		"theme": object{
			"font": "Inter", "corners": 3.0, "customCss": "a { color: red }",
			"colors":     object{"background": "#fff", "chart5": "#ABCDEF80", "dark": object{"sidebarRing": "#0001"}},
			"background": object{"brightness": -0.5, "layout": "full"},
			"inputs":     object{"width": "100%", "borderWidth": 1.0},
			"buttons":    object{"text": "white", "fontSize": 14.0},
			"logoSize":   object{"width": 1.0, "height": 2.0, "radius": 3.0},
		},
		"variables":     object{"score": 0.0, "greeting": "hi"},
		"hidden_fields": []any{"utm_id", "customer"},
	}
}

func formsClosesInTime(s *session) { formChangesInTime(s, "closeAt", true) }

func formsOpensInTime(s *session) { formChangesInTime(s, "openAt", false) }

func formChangesInTime(s *session, setting string, closed bool) {
	c := s.caller()
	path := "/forms/" + c.form(c.workspace())
	// What the service takes for now is told by the times of its records.
	now := c.get(path).want(http.StatusOK)
	when := now.checkTime(now.object(), "created_at").Add(time.Hour)
	r := c.patch(path, object{"definition": object{"settings": object{setting: when.Format(time.RFC3339)}}}).want(http.StatusOK)
	r.same("is_closed", r.object()["is_closed"], !closed)
	s.must("Advance", s.target.Advance(s.ctx, 2*time.Hour))
	r = c.get(path).want(http.StatusOK)
	r.same("is_closed", r.object()["is_closed"], closed)
	r = c.get("/forms").want(http.StatusOK)
	r.same("is_closed", r.items()[0]["is_closed"], closed)
}
