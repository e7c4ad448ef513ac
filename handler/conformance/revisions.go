package conformance

import "net/http"

// conditional is a write that honors If-Match, with its status on success.
type conditional struct {
	name   string
	status int
	do     func(c *caller, form string, opts ...requestOption) *response
}

func conditionals() []conditional {
	return []conditional{
		{"PATCH of the form", http.StatusOK, func(c *caller, form string, o ...requestOption) *response {
			return c.patch(form, object{"name": "Name " + newID()}, o...)
		}},
		{"POST of a block", http.StatusCreated, func(c *caller, form string, o ...requestOption) *response {
			return c.post(form+"/blocks", object{"block": block("n" + newID())}, o...)
		}},
		{"PUT of the blocks", http.StatusOK, func(c *caller, form string, o ...requestOption) *response {
			return c.put(form+"/blocks", object{"blocks": []any{block("b1"), block("b2"), block("n" + newID())}}, o...)
		}},
		{"PATCH of a block", http.StatusOK, func(c *caller, form string, o ...requestOption) *response {
			return c.patch(form+"/blocks/b1", object{"block": object{"label": newID()}}, o...)
		}},
		{"DELETE of a block", http.StatusNoContent, func(c *caller, form string, o ...requestOption) *response {
			return c.delete(form+"/blocks/b2", o...)
		}},
	}
}

func revisionCases() []testCase {
	return []testCase{
		{"revisions/etag", "Every read and write of a form and its blocks returns the ETag, which stays the same until something changes.", nil, revisionsETag},
		{"revisions/never-again", "A form that is changed and changed back has a new ETag each time.", nil, revisionsNeverAgain},
		{"revisions/submission", "A submission does not change the ETag.", needs(NeedsSubmit), revisionsSubmission},
		{"revisions/if-match-passes", "If-Match allows a write with the current ETag, also in the form of compressing proxies, with *, and in a list.", nil, revisionsIfMatchPasses},
		{"revisions/if-match-fails", "If-Match with an old, unknown or malformed ETag returns 412 with the current ETag and changes nothing.", nil, revisionsIfMatchFails},
		{"revisions/other-form", "A change of one form does not affect other forms, and the ETag of one form does not match another.", nil, revisionsOtherForm},
		{"revisions/without-if-match", "Without If-Match the last write wins.", nil, revisionsWithoutIfMatch},
		{"revisions/no-cache-validator", "If-None-Match is ignored for a form, because is_closed changes with time.", nil, revisionsNoCacheValidator},
		{"revisions/delete", "DELETE of a form honors If-Match.", nil, revisionsDelete},
		{"revisions/unchanged", "A write that changes no byte does not change the ETag and updated_at, but still checks If-Match.", nil, revisionsUnchanged},
		{"revisions/other-methods", "Reads, and writes of other resources than forms and their blocks, ignore If-Match.", nil, revisionsOtherMethods},
	}
}

func revisionsETag(s *session) {
	w := s.newWorld()
	form := "/forms/" + w.formID
	tag := w.get(form).want(http.StatusOK).etag()
	for _, path := range []string{form, form + "/blocks", form + "/questions", form + "/blocks/b1"} {
		r := w.get(path).want(http.StatusOK)
		r.same("ETag", r.etag(), tag)
	}
	for _, write := range conditionals() {
		r := write.do(w.caller, form).want(write.status)
		if r.etag() == tag {
			r.faultf("%s: the ETag has not changed, but must", write.name)
		}
		tag = r.etag()
		got := w.get(form).want(http.StatusOK)
		got.same("ETag", got.etag(), tag)
	}
}

func revisionsNeverAgain(s *session) {
	w := s.newWorld()
	seen := map[string]bool{w.get("/forms/" + w.formID).want(http.StatusOK).etag(): true}
	for _, name := range []string{"A", "B", "A", "B"} {
		r := w.patch("/forms/"+w.formID, object{"name": name}).want(http.StatusOK)
		if seen[r.etag()] {
			r.faultf("the ETag %s was already used for an earlier revision", r.etag())
		}
		seen[r.etag()] = true
	}
}

func revisionsSubmission(s *session) {
	w := s.newWorld()
	tag := w.get("/forms/" + w.formID).want(http.StatusOK).etag()
	id := s.submit(Response{Form: w.formID, Answers: answers("b1", "x")})
	w.delete("/forms/" + w.formID + "/submissions/" + id).want(http.StatusNoContent)
	r := w.get("/forms/" + w.formID).want(http.StatusOK)
	r.same("ETag", r.etag(), tag)
}

func revisionsIfMatchPasses(s *session) {
	c := s.caller()
	workspace := c.workspace()
	for _, write := range conditionals() {
		for _, header := range []func(tag string) requestOption{
			func(tag string) requestOption { return ifMatch(tag) },
			func(string) requestOption { return ifMatch("*") },
			func(tag string) requestOption { return ifMatch(`"other", ` + tag) },
			func(tag string) requestOption { return ifMatch(tag + `,W/"weak" , "a,b"`) },
			func(tag string) requestOption { return ifMatch(`"a,b",` + tag) },
			func(tag string) requestOption { return ifMatch(`"other"`, tag) },
			func(tag string) requestOption { return ifMatch("W/" + tag) },
			func(tag string) requestOption { return ifMatch(tag[:len(tag)-1] + `-gzip"`) },
			func(tag string) requestOption { return ifMatch(`"other", W/` + tag[:len(tag)-1] + `--gzip"`) },
		} {
			form := "/forms/" + c.form(workspace, "definition", question())
			tag := c.get(form).want(http.StatusOK).etag()
			write.do(c, form, header(tag)).want(write.status)
		}
	}
}

func revisionsIfMatchFails(s *session) {
	w := s.newWorld()
	form := "/forms/" + w.formID
	old := w.get(form).want(http.StatusOK).etag()
	tag := w.patch(form, object{"name": "Newer"}).want(http.StatusOK).etag()
	before := w.snapshot()
	for _, write := range conditionals() {
		for _, bad := range []string{
			old, "W/" + old, old[:len(old)-1] + `-gzip"`, `"other"`, old + `, "other"`, `""`,
			tag[1 : len(tag)-1], tag[:len(tag)-1], tag[1:], "'" + tag + "'", tag + tag, "w/" + tag,
			`*, "x"`, "**", `"*"`, ",", `, `, tag[:len(tag)-1] + `-other"`, "x " + tag, "0", "1", "2", "",
		} {
			r := write.do(w.caller, form, ifMatch(bad)).refused("REVISION_MISMATCH")
			if r.header.Get("Etag") != tag {
				r.faultf("%s: ETag is %q, want the current ETag %s", write.name, r.header.Get("Etag"), tag)
			}
		}
	}
	w.unchanged(before)
}

func revisionsOtherForm(s *session) {
	c := s.caller()
	workspace := c.workspace()
	one := "/forms/" + c.form(workspace, "definition", question())
	other := "/forms/" + c.form(workspace, "definition", question())
	c.patch(one, object{"name": "Once"}).want(http.StatusOK) // tags may be numbers: now they differ
	before := c.get(other).want(http.StatusOK)
	for _, write := range conditionals() {
		write.do(c, one).want(write.status)
	}
	tag := c.get(one).want(http.StatusOK).etag()
	after := c.get(other).want(http.StatusOK)
	after.same("the other form", after.object(), before.object())
	after.same("its ETag", after.etag(), before.etag())
	c.patch(other, object{"name": "X"}, ifMatch(tag)).refused("REVISION_MISMATCH")
	c.delete(one).want(http.StatusNoContent)
	c.get(other).want(http.StatusOK)
}

func revisionsWithoutIfMatch(s *session) {
	w := s.newWorld()
	for _, write := range conditionals() {
		write.do(w.caller, "/forms/"+w.formID).want(write.status)
	}
}

func revisionsNoCacheValidator(s *session) {
	w := s.newWorld()
	form := "/forms/" + w.formID
	tag := w.get(form).want(http.StatusOK).etag()
	w.get(form, withHeader("If-None-Match", tag)).want(http.StatusOK)
	w.get(form+"/blocks", withHeader("If-None-Match", "*")).want(http.StatusOK)
}

func revisionsOtherMethods(s *session) {
	w := s.newWorld()
	form := "/forms/" + w.formID
	w.get(form, ifMatch(`"stale"`)).want(http.StatusOK)
	w.delete("/webhooks/"+w.webhookID, ifMatch(`"stale"`)).want(http.StatusNoContent)
}

func revisionsDelete(s *session) {
	w := s.newWorld()
	form := "/forms/" + w.formID
	old := w.get(form).want(http.StatusOK).etag()
	tag := w.patch(form, object{"name": "Newer"}).want(http.StatusOK).etag()
	for _, bad := range []string{old, `"other"`, "W/" + old, ""} {
		r := w.delete(form, ifMatch(bad)).refused("REVISION_MISMATCH")
		r.same("ETag", r.header.Get("Etag"), tag)
	}
	w.get(form).want(http.StatusOK)
	w.delete(form, ifMatch(tag)).want(http.StatusNoContent)
	w.get(form).refused("NOT_FOUND")
}

func revisionsUnchanged(s *session) {
	w := s.newWorld()
	form := "/forms/" + w.formID
	first := w.patch(form, object{"name": "Same", "definition": object{"theme": object{"font": "Inter"}}}).want(http.StatusOK)
	for _, body := range []object{
		{"name": "Same"}, {"definition": object{"theme": object{"font": "Inter"}}}, {"name": "Same", "definition": first.object()["definition"]},
	} {
		again := w.patch(form, body).want(http.StatusOK)
		again.same("ETag", again.etag(), first.etag())
		again.same("updated_at", again.object()["updated_at"], first.object()["updated_at"])
		w.patch(form, body, ifMatch(`"other"`)).refused("REVISION_MISMATCH")
	}
}
