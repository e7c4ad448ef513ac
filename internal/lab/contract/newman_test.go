package contract

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/formsvc/formsvc"
)

// item is a folder or a request of a Postman collection.
type item struct {
	Name     string           `json:"name"`
	Item     []item           `json:"item,omitempty"`
	Request  *json.RawMessage `json:"request,omitempty"`
	Response json.RawMessage  `json:"response,omitempty"`
}

// TestNewmanSendsTheGeneratedRequests turns the description into a collection of
// requests and sends them: the examples work as they stand, with the ids of real
// records in the place of the ids of the examples.
func TestNewmanSendsTheGeneratedRequests(t *testing.T) {
	t.Parallel()
	unlessShort(t)
	convert, newman := node(t, "openapi2postmanv2"), node(t, "newman")
	h := newHost(t, stores[0].open(t))
	dir := build(t, "newman")
	file := filepath.Join(dir, "collection.json")
	run(t, nil, convert, "--spec", h.document(t), "--output", file,
		"--options", "parametersResolution=Example,disableOptionalParameters=true")

	text := must(os.ReadFile(file))
	var collection map[string]json.RawMessage
	noError(t, json.Unmarshal([]byte(h.replaceIDs(t, string(text))), &collection))
	var folders []item
	noError(t, json.Unmarshal(collection["item"], &folders))
	requests := flatten(folders)
	slices.SortStableFunc(requests, func(a, b item) int { return rank(a) - rank(b) })
	if len(requests) != 29 {
		t.Errorf("there are %d requests, want 29", len(requests))
	}
	set := func(name string, value any) {
		raw := must(json.Marshal(value))
		collection[name] = raw
	}
	for i := range requests {
		requests[i] = withoutOptional(t, requests[i])
	}
	set("item", requests)
	set("auth", json.RawMessage(`{"type":"apikey","apikey":[{"key":"key","value":"X-API-Key"},{"key":"value","value":"`+h.key+`"},{"key":"in","value":"header"}]}`))
	set("event", json.RawMessage(`[{"listen":"test","script":{"exec":["pm.test('succeeds', () => pm.expect(pm.response.code).to.be.within(200, 299))"]}}]`))
	set("variable", json.RawMessage(`[{"key":"baseUrl","value":"`+h.url+`"}]`))
	changed := must(json.Marshal(collection))
	noError(t, os.WriteFile(file, changed, 0o600))
	t.Log(run(t, nil, newman, "run", file, "--color", "off"))
}

func flatten(items []item) []item {
	var out []item
	for _, i := range items {
		if i.Request != nil {
			// The operation's own way to authenticate gives way to the collection's.
			var request map[string]json.RawMessage
			if json.Unmarshal(*i.Request, &request) == nil && string(request["auth"]) != `{"type":"noauth"}` {
				delete(request, "auth")
				raw, _ := json.Marshal(request) // it was JSON
				i.Request = (*json.RawMessage)(&raw)
			}
			out = append(out, i)
		}
		out = append(out, flatten(i.Item)...)
	}
	return out
}

// withoutOptional takes out the parameters that a request can do without: the
// example of a cursor or of an ETag is not one that the service has given.
func withoutOptional(t *testing.T, i item) item {
	t.Helper()
	var request map[string]any
	noError(t, json.Unmarshal(*i.Request, &request))
	request["header"] = slices.DeleteFunc(request["header"].([]any), func(h any) bool {
		name := h.(map[string]any)["key"]
		return name == "If-Match" || name == "If-None-Match"
	})
	request["url"].(map[string]any)["query"] = []any{}
	raw := must(json.Marshal(request))
	i.Request = (*json.RawMessage)(&raw)
	return i
}

// rank puts what deletes last, and what is in a thing before the thing.
func rank(i item) int {
	var request struct {
		Method string
		URL    struct{ Path []string }
	}
	_ = json.Unmarshal(*i.Request, &request) // zero: first
	if request.Method != http.MethodDelete {
		return 0
	}
	path := strings.Join(request.URL.Path, "/")
	for n, part := range []string{"submissionId", "blockId", "webhookId", "formId", "workspaceId"} {
		if strings.Contains(path, part) {
			return 1 + n
		}
	}
	return 0
}

// replaceIDs makes one record of each kind and puts its id where the examples have
// theirs.
func (h *host) replaceIDs(t *testing.T, text string) string {
	t.Helper()
	workspace := h.create(t, "workspaces", `{"name":"Newman"}`)
	form := h.create(t, "forms", `{"workspace_id":"`+workspace+`","name":"Newman","definition":{"blocks":[{"id":"stars","type":"rating"}]}}`)
	webhook := h.create(t, "webhooks", `{"form_id":"`+form+`","url":"`+h.hook+`"}`)
	h.call(t, http.MethodPatch, "forms/"+form, `{"status":"published"}`)
	var id formsvc.ID
	noError(t, id.UnmarshalText([]byte(form)))
	submission := must(h.service.Submit(t.Context(), formsvc.SubmitParams{FormID: id}))
	return strings.NewReplacer(
		"65a1f0c2d4e5b6a7980c1d01", workspace,
		"65a1f0c2d4e5b6a7980c1d02", form,
		"65a1f0c2d4e5b6a7980c1d03", submission.ID.String(),
		"65a1f0c2d4e5b6a7980c1d04", webhook,
	).Replace(text)
}

// create makes a record and returns its id.
func (h *host) create(t *testing.T, path, body string) string {
	t.Helper()
	var made struct{ ID string }
	noError(t, json.Unmarshal(h.call(t, http.MethodPost, path, body), &made))
	return made.ID
}

func (h *host) call(t *testing.T, method, path, body string) []byte {
	t.Helper()
	r := must(http.NewRequestWithContext(t.Context(), method, h.url+"/v1/"+path, strings.NewReader(body)))
	r.Header.Set("X-Api-Key", h.key)
	r.Header.Set("Content-Type", "application/json")
	res := must(http.DefaultClient.Do(r))
	defer func() { _ = res.Body.Close() }()
	var answer json.RawMessage
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || res.StatusCode >= http.StatusBadRequest {
		t.Fatalf("%s %s: %d %v", method, path, res.StatusCode, err)
	}
	return answer
}
