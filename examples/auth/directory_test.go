package main

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/expect"
)

// A respondent searches 10,000 customers, and the product checks a customer number.
func TestCustomersAreSearchedAndChecked(t *testing.T) {
	t.Parallel()
	p := start(t)
	user := formsvc.UserIDFrom("1")
	workspace := expect.Must(p.service.CreateWorkspace(t.Context(), user, "W"))
	form := expect.Must(p.service.As(user).CreateForm(t.Context(), formsvc.FormCreate{Workspace: workspace.ID, Name: "F", Type: "MULTI", Definition: formsvc.Definition{Blocks: []byte(`[
		{"id":"who","type":"dropdown","label":"Who","properties":{"rule":{"choices":{"list":"customers"}}}},
		{"id":"number","type":"short_text","label":"Number","properties":{"rule":{"check":[{"host":"customer_number"}]}}}]`)}}))
	form = expect.Must(p.service.As(user).PublishForm(t.Context(), form.ID))
	b := p.browser(t)
	_, page := b.send(http.MethodGet, "/f/"+form.PublicID, "", "")
	expect.That(t, strings.Contains(page, `type="search"`), "the page is %s", page)
	_, page = b.post("/f/"+form.PublicID, url.Values{"go": {"stay"}, "q.who": {"R 0077"}})
	expect.That(t, strings.Count(page, "Customer 0077") == 10, "the page is %s", page)
	for number, want := range map[string]string{"77": "<nil>", "10001": "We have no customer with this number."} {
		_, err := p.service.Submit(t.Context(), formsvc.SubmitParams{FormID: form.ID, Answers: map[string]json.RawMessage{"who": []byte(`"77"`), "number": []byte(`"` + number + `"`)}})
		expect.That(t, err == nil == (want == "<nil>") && (err == nil || strings.Contains(err.Error(), want)), "%s: %v", number, err)
	}
}
