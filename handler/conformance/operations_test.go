package conformance

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
)

// declared are the errors of each operation, as they were agreed, and not read
// from the description.
func declared() map[string]string {
	return map[string]string{
		"getMe":          "401 429",
		"listWorkspaces": "401 403 422 429", "createWorkspace": "401 403 409 422 429",
		"getWorkspace": "401 403 404 429", "updateWorkspace": "401 403 404 422 429", "deleteWorkspace": "401 403 404 429",
		"listForms": "401 403 404 422 429", "createForm": "401 403 404 422 429",
		"getForm": "401 403 404 429", "updateForm": "401 403 404 412 422 429", "deleteForm": "401 403 404 412 429",
		"listQuestions": "401 403 404 429", "listBlocks": "401 403 404 429",
		"createBlock": "401 403 404 409 412 422 429", "replaceBlocks": "401 403 404 412 422 429",
		"getBlock": "401 403 404 429", "updateBlock": "401 403 404 412 422 429", "deleteBlock": "401 403 404 412 422 429",
		"listSubmissions": "401 403 404 422 429", "getSubmission": "401 403 404 429", "deleteSubmission": "401 403 404 429",
		"getMetrics":   "401 403 404 422 429",
		"listWebhooks": "401 403 429", "createWebhook": "401 403 404 422 429",
		"getWebhook": "401 403 404 429", "updateWebhook": "401 403 404 422 429", "deleteWebhook": "401 403 404 429",
		"listDeliveries": "401 403 404 429",
	}
}

func TestTheDescriptionAgreesWithTheReadingOfTheSuite(t *testing.T) {
	t.Parallel()
	type described struct {
		OperationID string
		Security    []map[string][]string
		Responses   map[string]json.RawMessage
		RequestBody json.RawMessage
	}
	var d struct {
		Paths, Webhooks map[string]map[string]json.RawMessage
	}
	err := json.Unmarshal(schema.OpenAPI(), &d)
	expect.NoError(t, err)
	for event := range d.Webhooks {
		if at := "/webhooks/" + event + "/post"; !slices.ContainsFunc(allCases(), func(c testCase) bool { return place(c.name) == at }) {
			t.Errorf("no case is about the event %s: see places", event)
		}
	}
	for _, o := range operations() {
		var got described
		if err := json.Unmarshal(d.Paths["/v1"+o.path][strings.ToLower(o.method)], &got); err != nil {
			t.Errorf("%s %s: %v", o.method, o.path, err)
			continue
		}
		expect.That(t, got.OperationID == o.id, "%s %s is called %q, want %q", o.method, o.path, got.OperationID, o.id)
		for _, alternative := range got.Security {
			for scheme, scopes := range alternative {
				expect.That(t, strings.Join(scopes, " ") == o.scope,
					"%s needs %q with %s, want %q", o.id, scopes, scheme, o.scope)
			}
		}
		expect.That(t, len(got.Security) == 2, "%s has %d ways to authenticate, want key and bearer", o.id, len(got.Security))
		expect.That(t, (got.RequestBody != nil) == (o.body != nil),
			"%s: a request body is described: %t, want %t", o.id, got.RequestBody != nil, o.body != nil)
		want := append(strings.Fields(declared()[o.id]), strconv.Itoa(o.status), "default")
		var statuses []string
		for status := range got.Responses {
			statuses = append(statuses, status)
		}
		slices.Sort(want)
		slices.Sort(statuses)
		expect.That(t, slices.Equal(statuses, want), "%s declares %v, want %v", o.id, statuses, want)
	}
}
