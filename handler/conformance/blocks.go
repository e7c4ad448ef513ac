package conformance

import (
	"net/http"
	"strings"
)

func blockCases() []testCase {
	return []testCase{
		{"blocks/append", "POST appends a block and returns 201 with the block, its Location and the new ETag.", nil, blocksAppend},
		{"blocks/read", "Blocks and questions are the complete ordered top-level collection, and each block is equal to a single read.", nil, blocksRead},
		{"blocks/replace", "PUT replaces or reorders the collection and returns 200 with it.", nil, blocksReplace},
		{"blocks/other-sections", "Writes of blocks do not change the form's other sections, its name and its status.", nil, blocksOtherSections},
		{"blocks/merge-patch", "PATCH changes a block as a merge patch: null removes a field, objects are merged, arrays are replaced.", nil, blocksMergePatch},
		{"blocks/patch-invalid", "A merge patch that changes the id or makes the block invalid returns 422 and changes nothing.", nil, blocksPatchInvalid},
		{"blocks/delete", "DELETE removes a top-level block and returns 204 with the new ETag; an unknown id returns 404, and an id of more than 200 characters 422.", nil, blocksDelete},
		{"blocks/exists", "POST of a block with an id that the form already has, at any level, returns 409 and changes nothing.", nil, blocksExists},
		{"blocks/ids", "A block id is required, has 1 to 200 characters and is unique in the form, including nested blocks.", nil, blocksIDs},
		{"blocks/type-kept", "A block without a type retains the stored type of the block with the same id.", nil, blocksTypeKept},
		{"blocks/type-inferred", "A new block without a type gets a type that is derived from its fields.", nil, blocksTypeInferred},
	}
}

func blocksAppend(s *session) {
	c := s.caller()
	form := "/forms/" + c.form(c.workspace(), "definition", question())
	added := object{"id": "new", "type": "email", "label": "Mail", "required": true}
	r := c.post(form+"/blocks", object{"block": added}).want(http.StatusCreated)
	r.same("the block", r.object(), added)
	r.checkLocation(form + "/blocks/new")
	list := c.get(form + "/blocks").want(http.StatusOK)
	list.same("the blocks", list.object(), object{"items": []any{block("b1"), block("b2"), added}})
	list.same("ETag", list.etag(), r.etag())
	full := c.get(form).want(http.StatusOK)
	full.same("the blocks", at(full.object(), "definition", "blocks"), list.object()["items"])
}

func blocksRead(s *session) {
	c := s.caller()
	want, _ := completeDefinition()["blocks"].([]any)
	form := "/forms/" + c.form(c.workspace(), "definition", completeDefinition())
	for _, path := range []string{"/blocks", "/questions"} {
		r := c.get(form + path).want(http.StatusOK)
		r.same("the list", r.object(), object{"items": want})
	}
	for _, b := range want {
		id, _ := at(b, "id").(string)
		r := c.get(form + "/blocks/" + id).want(http.StatusOK)
		r.same("the block", r.object(), b)
	}
	c.get(form + "/blocks/inner").wantError("NOT_FOUND")
	c.get(form + "/blocks/Welcome").wantError("NOT_FOUND")
	empty := "/forms/" + c.form(c.workspace())
	r := c.get(empty + "/blocks").want(http.StatusOK)
	r.same("the list", r.object(), object{"items": []any{}})
}

func blocksReplace(s *session) {
	c := s.caller()
	form := "/forms/" + c.form(c.workspace(), "definition", question())
	for _, blocks := range [][]any{
		{block("b2"), block("b1")}, {block("b3"), block("b1")}, {}, {block("b1")},
	} {
		r := c.put(form+"/blocks", object{"blocks": blocks}).want(http.StatusOK)
		r.same("the answer", r.object(), object{"items": blocks})
		list := c.get(form + "/blocks").want(http.StatusOK)
		list.same("the list", list.object(), object{"items": blocks})
		list.same("ETag", list.etag(), r.etag())
	}
}

func blocksOtherSections(s *session) {
	c := s.caller()
	form := "/forms/" + c.form(c.workspace(), "name", "Kept", "definition", completeDefinition())
	c.patch(form, object{"status": "published"}).want(http.StatusOK)
	for _, write := range []func() *response{
		func() *response { return c.post(form+"/blocks", object{"block": block("new")}) },
		func() *response { return c.patch(form+"/blocks/new", object{"block": object{"label": "L"}}) },
		func() *response { return c.delete(form + "/blocks/new") },
		func() *response { return c.put(form+"/blocks", object{"blocks": []any{block("b1"), block("b2")}}) },
	} {
		if r := write(); r.status/100 != 2 {
			r.fatalf("status is %d, want 2xx", r.status)
		}
		r := c.get(form).want(http.StatusOK)
		r.same("name", r.object()["name"], "Kept")
		r.same("status", r.object()["status"], "published")
		for _, section := range []string{"settings", "theme", "variables", "hidden_fields"} {
			r.same(section, at(r.object(), "definition", section), completeDefinition()[section])
		}
	}
}

func blocksMergePatch(s *session) {
	c := s.caller()
	start := object{"id": "b", "type": "number", "label": "L", "description": "D", "properties": object{"min": 1.0, "max": 9.0, "rule": object{"a": 1.0, "b": object{"c": 2.0}}}, "choices": []any{object{"id": "x", "label": "X"}}}
	form := "/forms/" + c.form(c.workspace(), "definition", object{"blocks": []any{start, block("b2")}})
	for _, step := range []struct{ patch, want object }{
		{object{"label": "M"}, object{"label": "M"}},
		{object{"description": nil}, object{"description": nil}},
		{object{"properties": object{"min": nil, "max": 8.0}}, object{"properties": object{"max": 8.0, "rule": object{"a": 1.0, "b": object{"c": 2.0}}}}},
		{object{"properties": object{"rule": object{"b": object{"c": nil, "d": 3.0}}}}, object{"properties": object{"max": 8.0, "rule": object{"a": 1.0, "b": object{"d": 3.0}}}}},
		{object{"choices": []any{object{"id": "y", "label": "Y"}}}, object{"choices": []any{object{"id": "y", "label": "Y"}}}},
		{object{"properties": nil, "choices": nil, "type": "rating"}, object{"properties": nil, "choices": nil, "type": "rating"}},
		{object{"id": "b", "required": true}, object{"required": true}},
		{object{"type": nil, "label": "N"}, object{"label": "N"}}, // a block always has a type: it keeps the one it has
	} {
		for name, value := range step.want {
			if start[name] = value; value == nil {
				delete(start, name)
			}
		}
		r := c.patch(form+"/blocks/b", object{"block": step.patch}).want(http.StatusOK)
		r.same("the block", r.object(), start)
		list := c.get(form + "/blocks").want(http.StatusOK)
		list.same("the blocks", list.object()["items"], []any{start, block("b2")})
	}
}

func blocksPatchInvalid(s *session) {
	w := s.newWorld()
	before := w.snapshot()
	path := "/forms/" + w.formID + "/blocks/b1"
	w.patch(path, object{"block": object{"id": "other"}}).invalid(violations{"/block/id": ""})
	w.patch(path, object{"block": object{"id": nil}}).refused("VALIDATION_FAILED")
	w.patch(path, object{"block": object{"type": "x"}}).invalid(violations{"/block/type": ""})
	w.patch(path, object{"block": object{"properties": object{"min": "x"}}}).invalid(violations{"/block/properties/min": "WRONG_TYPE"})
	w.patch(path, object{"block": object{"children": []any{block("b2")}}}).refused("VALIDATION_FAILED")
	w.patch(path, object{"block": []any{}}).invalid(violations{"/block": "WRONG_TYPE"})
	w.unchanged(before)
}

func blocksDelete(s *session) {
	c := s.caller()
	form := "/forms/" + c.form(c.workspace(), "definition", completeDefinition())
	was := c.get(form).want(http.StatusOK)
	c.delete(form + "/blocks/none").wantError("NOT_FOUND")
	c.delete(form + "/blocks/inner").wantError("NOT_FOUND")
	c.delete(form + "/blocks/" + strings.Repeat("b", 201)).wantError("VALIDATION_FAILED")
	c.delete(form + "/blocks/" + strings.Repeat("%C3%A9", 201)).wantError("VALIDATION_FAILED")
	c.delete(form + "/blocks/" + strings.Repeat("%C3%A9", 200)).wantError("NOT_FOUND")
	same := c.get(form).want(http.StatusOK)
	same.same("ETag", same.etag(), was.etag())
	r := c.delete(form + "/blocks/pick").want(http.StatusNoContent)
	c.delete(form + "/blocks/pick").wantError("NOT_FOUND")
	list := c.get(form + "/blocks").want(http.StatusOK)
	list.same("the ids", list.ids(), []string{"welcome", "grid", "group", "when"})
	list.same("ETag", list.etag(), r.etag())
}

func blocksExists(s *session) {
	c := s.caller()
	form := "/forms/" + c.form(c.workspace(), "definition", completeDefinition())
	tag := c.get(form).want(http.StatusOK).etag()
	c.post(form+"/blocks", object{"block": block("pick")}).wantError("BLOCK_EXISTS")
	c.post(form+"/blocks", object{"block": block("inner")}).wantError("BLOCK_EXISTS")
	c.post(form+"/blocks", object{"block": object{"id": "new", "children": []any{block("pick")}}}).wantError("BLOCK_EXISTS")
	r := c.get(form).want(http.StatusOK)
	r.same("ETag", r.etag(), tag)
	r.same("the blocks", at(r.object(), "definition", "blocks"), completeDefinition()["blocks"])
}

func blocksIDs(s *session) {
	w := s.newWorld()
	before := w.snapshot()
	path := "/forms/" + w.formID + "/blocks"
	w.post(path, object{"block": object{}}).invalid(violations{"/block/id": "REQUIRED"})
	w.post(path, object{}).invalid(violations{"/block": "REQUIRED"})
	w.put(path, object{}).invalid(violations{"/blocks": "REQUIRED"})
	w.post(path, object{"block": object{"id": ""}}).invalid(violations{"/block/id": ""})
	w.post(path, object{"block": object{"id": strings.Repeat("é", 201)}}).invalid(violations{"/block/id": "TOO_LONG"})
	w.put(path, object{"blocks": []any{block("x"), object{"label": "no id"}}}).invalid(violations{"/blocks/1/id": "REQUIRED"})
	w.put(path, object{"blocks": []any{block("x"), block("x")}}).invalid(violations{"/blocks/1/id": "DUPLICATE"})
	w.put(path, object{"blocks": []any{block("x"), object{"id": "g", "children": []any{block("x")}}}}).invalid(violations{"/blocks/1/children/0/id": "DUPLICATE"})
	w.unchanged(before)
}

func blocksTypeKept(s *session) {
	c := s.caller()
	form := "/forms/" + c.form(c.workspace(), "definition", object{"blocks": []any{object{"id": "m", "type": "email"}, object{"id": "g", "type": "group", "children": []any{object{"id": "c", "type": "phone"}}}}})
	r := c.put(form+"/blocks", object{"blocks": []any{object{"id": "g", "children": []any{object{"id": "c"}}}, object{"id": "m", "label": "Mail"}}}).want(http.StatusOK)
	r.same("the blocks", r.object()["items"], []any{
		object{"id": "g", "type": "group", "children": []any{object{"id": "c", "type": "phone"}}}, object{"id": "m", "type": "email", "label": "Mail"},
	})
	r = c.patch(form, object{"definition": object{"blocks": []any{object{"id": "m"}}}}).want(http.StatusOK)
	r.same("the blocks", at(r.object(), "definition", "blocks"), []any{object{"id": "m", "type": "email"}})
}

func blocksTypeInferred(s *session) {
	c := s.caller()
	form := "/forms/" + c.form(c.workspace())
	choice := []any{object{"id": "c", "label": "C"}}
	for i, x := range []struct {
		members object
		want    string
	}{
		{object{}, "short_text"},
		{object{"choices": choice}, "single_choice"},
		{object{"choices": choice, "properties": object{"multiSelection": true}}, "multiple_choice"},
		{object{"choices": choice, "properties": object{"multiSelection": false}}, "single_choice"},
		{object{"matrix_rows": choice, "matrix_columns": choice}, "matrix"},
		{object{"children": []any{object{"id": "child"}}}, "group"},
	} {
		x.members["id"] = "t" + string(rune('a'+i))
		r := c.post(form+"/blocks", object{"block": x.members}).want(http.StatusCreated)
		r.same("type", r.object()["type"], x.want)
	}
	r := c.get(form + "/blocks/tf").want(http.StatusOK)
	r.same("the child", r.object()["children"], []any{object{"id": "child", "type": "short_text"}})
}
