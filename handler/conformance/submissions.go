package conformance

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

func submissionCases() []testCase {
	n := needs(NeedsSubmit)
	return []testCase{
		{"submissions/read", "A stored submission is returned with its answers, metadata and completion time, alone and in the list.", n, submissionsRead},
		{"submissions/bare", "A submission without answers and metadata has every field.", n, submissionsBare},
		{"submissions/empty", "A form without submissions has an empty list, and every submission ID returns 404.", nil, submissionsEmpty},
		{"submissions/values", "Every kind of answer is stored in the format of its type, including false and 0.", n, submissionsValues},
		{"submissions/copied-labels", "A later change of the definition does not change stored answers.", n, submissionsCopiedLabels},
		{"submissions/legal-texts", "The answer to a legal block has the text that the block had when it was stored, for true and false.", n, submissionsLegalTexts},
		{"submissions/other-form", "A submission returns 404 in the path of another form of the same owner.", n, submissionsOtherForm},
		{"submissions/branches", "Answers that are not on the respondent's path are removed, and variables that rules set are stored.", n, submissionsBranches},
		{"submissions/delete", "DELETE returns 204 and permanently removes one submission.", n, submissionsDelete},
		{"submissions/since-until", "since and until are inclusive limits of submitted_at, with any offset.", n, submissionsSinceUntil},
		{"submissions/idempotency", "A second request with the same idempotency key returns the first submission.", n, submissionsIDempotency},
		{"submissions/not-taken", "A draft, a closed form and a trashed form accept no submissions, and no form accepts an invalid answer.", n, submissionsNotTaken},
		{"submissions/response-limit", "A form that has reached responseLimit is closed, and opens when a submission is deleted.", n, submissionsResponseLimit},
	}
}

func submissionsRead(s *session) {
	c := s.caller()
	id := c.form(c.workspace(), "definition", object{
		"blocks": []any{
			object{"id": "intro", "type": "welcome"}, object{"id": "name", "type": "short_text", "label": "Your name"},
			object{"id": "pick", "type": "single_choice", "label": "Pick", "choices": []any{object{"id": "a", "label": "A"}}},
			object{"id": "skip", "type": "number"},
		},
		"hidden_fields": []any{"source", "unused"},
	})
	c.publish(id)
	submission := s.submit(Response{
		Form: id, Answers: answers("pick", "a", "name", "Ada"), Hidden: map[string]string{"source": "mail", "undeclared": "x"},
		Country: "DE", Device: "phone", UserAgent: "Agent/1.0", UTM: map[string]string{"source": "news", "term": "t"}, CompletionTime: 12.5,
	})
	r := c.get("/forms/" + id + "/submissions/" + submission).want(http.StatusOK)
	o := r.object()
	r.checkSubmission(o)
	r.same("id", o["id"], submission)
	r.same("form_id", o["form_id"], id)
	r.same("answers", o["answers"], []any{
		object{"field": object{"id": "name", "type": "short_text", "label": "Your name"}, "value": "Ada"},
		object{"field": object{"id": "pick", "type": "single_choice", "label": "Pick"}, "value": object{"id": "a", "label": "A"}},
		object{"field": object{"id": "source", "type": "hidden", "label": at(hiddenField(o), "label")}, "value": "mail"},
	})
	r.same("metadata", o["metadata"], object{"country": "DE", "device": "phone", "user_agent": "Agent/1.0", "utm": object{"source": "news", "term": "t"}})
	r.same("completion_time", o["completion_time"], 12.5)
	list := c.get("/forms/" + id + "/submissions").want(http.StatusOK)
	list.same("the page", list.object(), object{"items": []any{o}, "page": object{"has_more": false, "next_cursor": nil}})
}

func submissionsBranches(s *session) {
	c := s.caller()
	rule := object{
		"set":  object{"score": object{"+": []any{object{"var": "variables.score"}, 2}}},
		"next": []any{object{"if": object{"==": []any{object{"var": "answers.first"}, "stop"}}, "to": "end"}},
	}
	id := c.form(c.workspace(), "definition", object{
		"blocks": []any{
			object{"id": "first", "type": "short_text", "label": "First", "properties": object{"rule": rule}},
			object{"id": "second", "type": "number", "label": "Second", "required": true},
			object{"id": "bye", "type": "ending"},
		},
		"variables": object{"score": 1},
	})
	c.publish(id)
	for given, want := range map[string][]any{
		"stop": nil,
		"on":   {object{"field": object{"id": "second", "type": "number", "label": "Second"}, "value": 7.0}},
	} {
		submission := s.submit(Response{Form: id, Answers: answers("first", given, "second", 7)})
		r := c.get("/forms/" + id + "/submissions/" + submission).want(http.StatusOK)
		r.checkSubmission(r.object())
		all := []any{object{"field": object{"id": "first", "type": "short_text", "label": "First"}, "value": given}}
		all = append(append(all, want...), object{"field": object{"id": "score", "type": "variable", "label": "score"}, "value": 3.0})
		r.same("answers", r.object()["answers"], all)
	}
}

func submissionsBare(s *session) {
	w := s.newWorld()
	id := s.submit(Response{Form: w.formID})
	r := w.get("/forms/" + w.formID + "/submissions/" + id).want(http.StatusOK)
	r.checkSubmission(r.object())
	r.same("answers", r.object()["answers"], []any{})
	r.same("metadata", r.object()["metadata"], object{})
	r.same("completion_time", r.object()["completion_time"], 0)
}

func submissionsEmpty(s *session) {
	c := s.caller()
	form := "/forms/" + c.form(c.workspace(), "definition", question())
	c.patch(form, object{"status": "published"}).want(http.StatusOK)
	for _, query := range []string{"", "?limit=1", "?since=2001-01-01T00:00:00Z", "?until=2999-01-01T00:00:00Z"} {
		r := c.get(form + "/submissions" + query).want(http.StatusOK)
		r.same("the page", r.object(), object{"items": []any{}, "page": object{"has_more": false, "next_cursor": nil}})
	}
	c.get(form + "/submissions/" + newID()).wantError("NOT_FOUND")
	c.delete(form + "/submissions/" + newID()).wantError("NOT_FOUND")
	c.get("/forms/" + newID() + "/submissions").wantError("NOT_FOUND")
}

func submissionsValues(s *session) {
	c := s.caller()
	choices := []any{object{"id": "a", "label": "A"}, object{"id": "b", "label": "B"}, object{"id": "c", "label": "C"}}
	kinds := []struct {
		kind        string
		given, want any
	}{
		{"short_text", " <b> größe 😀 ", nil},
		{"long_text", "one\ntwo", "one\ntwo"},
		{"number", 0, 0}, {"opinion_scale", 1, 1}, {"nps", 0, 0}, {"rating", 3, 3},
		{"yes_no", false, false}, {"legal", true, true},
		{"dropdown", "b", object{"id": "b", "label": "B"}},
		{"multiple_choice", []any{"c", "a"}, nil},
		{"ranking", []any{"c", "a", "b"}, nil},
		{"date", "2030-02-03", nil},
		{"time", "09:05", "09:05"},
		{"email", "Ada@example.com", nil},
	}
	var blocks []any
	given := make(map[string]json.RawMessage)
	for _, k := range kinds {
		b := object{"id": k.kind, "type": k.kind, "label": k.kind}
		if slices.Contains([]string{"dropdown", "multiple_choice", "ranking"}, k.kind) {
			b["choices"] = choices
		}
		blocks = append(blocks, b)
		given[k.kind] = raw(k.given)
	}
	id := c.form(c.workspace(), "definition", object{"blocks": blocks})
	c.publish(id)
	submission := s.submit(Response{Form: id, Answers: given})
	r := c.get("/forms/" + id + "/submissions/" + submission).want(http.StatusOK)
	list, _ := r.object()["answers"].([]any)
	if len(list) != len(kinds) {
		r.fatalf("the submission has %d answers, want %d", len(list), len(kinds))
	}
	for i, k := range kinds {
		r.same("the field", at(list[i], "field", "id"), k.kind)
		value := at(list[i], "value")
		switch {
		case k.want != nil:
			r.same(k.kind, value, k.want)
		case k.kind == "multiple_choice" || k.kind == "ranking":
			if n := strings.Count(string(raw(value)), `"label"`); n != len(k.given.([]any)) {
				r.faultf("%s is %s, want the %d choices that were sent", k.kind, raw(value), len(k.given.([]any)))
			}
		case value == nil:
			r.faultf("%s has no value", k.kind)
		}
	}
}

func submissionsCopiedLabels(s *session) {
	w := s.newWorld()
	path := "/forms/" + w.formID + "/submissions/" + w.submissionID
	was := w.get(path).want(http.StatusOK).object()
	w.put("/forms/"+w.formID+"/blocks", object{"blocks": []any{object{"id": "b1", "type": "number", "label": "Renamed"}}}).want(http.StatusOK)
	r := w.get(path).want(http.StatusOK)
	r.same("the submission", r.object(), was)
	w.put("/forms/"+w.formID+"/blocks", object{"blocks": []any{}}).want(http.StatusOK)
	r = w.get(path).want(http.StatusOK)
	r.same("the submission", r.object(), was)
}

func submissionsLegalTexts(s *session) {
	c := s.caller()
	legal := func(id, text string) object {
		return object{"id": id, "type": "legal", "label": id, "properties": object{"legalText": text}}
	}
	form := "/forms/" + c.form(c.workspace(), "definition", object{"blocks": []any{
		legal("a", "I **accept** the [terms](https://example.com/a?b=c)."), legal("b", "News"), object{"id": "c", "type": "legal", "label": "c"}}})
	id := strings.TrimPrefix(form, "/forms/")
	c.publish(id)
	path := form + "/submissions/" + s.submit(Response{Form: id, Answers: answers("a", true, "b", false, "c", true)})
	for _, blocks := range [][]any{nil, {legal("a", "Other terms"), legal("b", "Other news")}, {}} {
		if blocks != nil {
			c.put(form+"/blocks", object{"blocks": blocks}).want(http.StatusOK)
		}
		r := c.get(path).want(http.StatusOK)
		r.same("answers", r.object()["answers"], []any{
			object{"field": object{"id": "a", "type": "legal", "label": "a", "text": "I accept the terms (https://example.com/a?b=c)."}, "value": true},
			object{"field": object{"id": "b", "type": "legal", "label": "b", "text": "News"}, "value": false},
			object{"field": object{"id": "c", "type": "legal", "label": "c"}, "value": true},
		})
	}
}

func submissionsOtherForm(s *session) {
	w := s.newWorld()
	other := w.form(w.workspaceID)
	w.get("/forms/" + other + "/submissions/" + w.submissionID).wantError("NOT_FOUND")
	w.delete("/forms/" + other + "/submissions/" + w.submissionID).wantError("NOT_FOUND")
	w.get("/forms/" + w.formID + "/submissions/" + w.submissionID).want(http.StatusOK)
}

func submissionsDelete(s *session) {
	w := s.newWorld()
	kept := s.submit(Response{Form: w.formID, Answers: answers("b1", "kept")})
	path := "/forms/" + w.formID + "/submissions/"
	w.delete(path + w.submissionID).want(http.StatusNoContent)
	w.get(path + w.submissionID).wantError("NOT_FOUND")
	w.delete(path + w.submissionID).wantError("NOT_FOUND")
	r := w.get("/forms/" + w.formID + "/submissions").want(http.StatusOK)
	r.same("the submissions", r.ids(), []string{kept})
}

func submissionsSinceUntil(s *session) {
	w := s.newWorld()
	list := "/forms/" + w.formID + "/submissions"
	submitted, err := time.Parse(time.RFC3339, text(w.get(list).want(http.StatusOK).items()[0], "submitted_at"))
	s.must("failed to read submitted_at", err)
	for _, x := range []struct {
		since, until time.Duration // 0 is the very second; none when beyond an hour
		want         int
	}{
		{0, 0, 1}, {-time.Second, time.Second, 1}, {time.Second, 2 * time.Hour, 0}, {0, 2 * time.Hour, 1},
		{2 * time.Hour, 0, 1}, {2 * time.Hour, -time.Second, 0}, {-time.Minute, -time.Second, 0},
	} {
		for _, zone := range []*time.Location{time.UTC, time.FixedZone("", 19800)} {
			query := url.Values{}
			if x.since < time.Hour {
				query.Set("since", submitted.Add(x.since).In(zone).Format(time.RFC3339))
			}
			if x.until < time.Hour {
				query.Set("until", submitted.Add(x.until).In(zone).Format(time.RFC3339))
			}
			r := w.get(list + "?" + query.Encode()).want(http.StatusOK)
			if got := len(r.items()); got != x.want {
				r.faultf("the list has %d items, want %d (submitted at %s)", got, x.want, submitted.Format(time.RFC3339))
			}
		}
	}
}

func submissionsIDempotency(s *session) {
	w := s.newWorld()
	other := w.form(w.workspaceID, "definition", question())
	w.publish(other)
	first := s.submit(Response{Form: w.formID, Answers: answers("b1", "one"), IdempotencyKey: "k"})
	if second := s.submit(Response{Form: w.formID, Answers: answers("b1", "two"), IdempotencyKey: "k"}); second != first {
		s.errorf("the repeated request returned the submission %s, want the first submission %s", second, first)
	}
	if elsewhere := s.submit(Response{Form: other, IdempotencyKey: "k"}); elsewhere == first {
		s.errorf("an idempotency key of one form returned its submission for another form")
	}
	r := w.get("/forms/" + w.formID + "/submissions").want(http.StatusOK)
	if len(r.items()) != 2 {
		r.faultf("the form has %d submissions, want 2", len(r.items()))
	}
}

func submissionsNotTaken(s *session) {
	c := s.caller()
	id := c.form(c.workspace(), "definition", question())
	path := "/forms/" + id
	refuse := func(what string, r Response) {
		if _, err := s.target.Submit(s.ctx, r); err == nil {
			s.errorf("%s accepted a submission", what)
		}
	}
	refuse("a draft", Response{Form: id})
	c.publish(id)
	refuse("an unknown block", Response{Form: id, Answers: answers("none", 1)})
	refuse("an answer of the wrong type", Response{Form: id, Answers: answers("b1", 1)})
	c.patch(path, object{"definition": object{"settings": object{"closed": true}}}).want(http.StatusOK)
	refuse("a closed form", Response{Form: id})
	c.patch(path, object{"definition": object{"settings": object{}}}).want(http.StatusOK)
	c.patch(path, object{"status": "draft"}).want(http.StatusOK)
	refuse("a form that is a draft again", Response{Form: id})
	c.publish(id)
	r := c.get(path + "/submissions").want(http.StatusOK)
	r.same("the submissions", len(r.items()), 0)
	c.delete(path).want(http.StatusNoContent)
	refuse("a trashed form", Response{Form: id})
	refuse("a form that does not exist", Response{Form: newID()})
}

func submissionsResponseLimit(s *session) {
	c := s.caller()
	id := c.form(c.workspace(), "definition", object{"settings": object{"responseLimit": 2}})
	c.publish(id)
	first := s.submit(Response{Form: id})
	r := c.get("/forms/" + id).want(http.StatusOK)
	r.same("is_closed", r.object()["is_closed"], false)
	s.submit(Response{Form: id})
	r = c.get("/forms/" + id).want(http.StatusOK)
	r.same("is_closed", r.object()["is_closed"], true)
	list := c.get("/forms").want(http.StatusOK)
	list.same("is_closed", list.items()[0]["is_closed"], true)
	if _, err := s.target.Submit(s.ctx, Response{Form: id}); err == nil {
		s.errorf("a form whose response limit is reached accepted a submission")
	}
	c.delete("/forms/" + id + "/submissions/" + first).want(http.StatusNoContent)
	r = c.get("/forms/" + id).want(http.StatusOK)
	r.same("is_closed", r.object()["is_closed"], false)
	s.submit(Response{Form: id})
}

// hiddenField is the field of the answer that came from a hidden field.
func hiddenField(submission object) any {
	list, _ := submission["answers"].([]any)
	for _, a := range list {
		if at(a, "field", "type") == "hidden" {
			return at(a, "field")
		}
	}
	return nil
}

// checkSubmission holds a submission against the API description.
func (r *response) checkSubmission(o object) {
	r.checkMembers(o, []string{"id", "form_id", "status", "submitted_at", "metadata", "answers", "completion_time"})
	r.checkID(o, "id")
	r.checkID(o, "form_id")
	r.checkTime(o, "submitted_at")
	r.same("status", o["status"], "completed")
	metadata, _ := o["metadata"].(object)
	r.checkMembers(metadata, nil, "country", "device", "user_agent", "utm")
	list, _ := o["answers"].([]any)
	for _, item := range list {
		a, _ := item.(object)
		r.checkMembers(a, []string{"field", "value"})
		field, _ := a["field"].(object)
		r.checkMembers(field, []string{"id", "type", "label"})
	}
}
