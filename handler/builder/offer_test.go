package builder_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/builder"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/storage"
)

// What the host does not offer cannot be added, whichever way it arrives, and what a form has is kept.
func TestOffer(t *testing.T) {
	t.Parallel()
	onEachStore(t, testOffer)
}

func testOffer(t *testing.T, store storage.Storage) {
	t.Helper()
	s := newHost(t, store, builder.Config{
		Offer:  builder.Offer{BlockTypes: []string{"short_text", "group"}, Settings: []string{"closed"}, NoTheme: true},
		Theme:  json.RawMessage(`{"font":"serif"}`),
		Limits: builder.Limits{Requests: -1},
	})
	form := s.form("ann", `[{"id":"name","type":"short_text","label":"Name"},{"id":"pay","type":"payment","label":"Fee"},{"id":"g","type":"group","children":[{"id":"n","type":"number"}]}]`)
	client := s.service.As(formsvc.UserIDFrom("ann")) // the API is not limited
	d := formsvc.Definition{Settings: []byte(`{"redirectUrl":"https://a.example/","utm":{"term":true}}`), Theme: []byte(`{"customCss":".a{}","font":"mono"}`)}
	form = expect.Must(client.UpdateForm(t.Context(), form.ID, formsvc.FormUpdate{Definition: d}))
	id, ws := form.ID.String(), form.WorkspaceID.String()
	blocks := func(more string) string {
		return `[{"id":"g","type":"group","children":[{"id":"n","type":"number","label":"How many"}` + more + `]},{"id":"pay","type":"payment","label":"Fee"},{"id":"name","type":"short_text"}]`
	}
	for _, c := range []struct {
		method, path, body string
		status             int
		paths              string // of the violations
	}{
		{"POST", "/-/v1/forms/" + id + "/blocks", `{"block":{"id":"e","type":"email"}}`, 422, "/definition/blocks/3/type"},
		{"POST", "/-/v1/forms/" + id + "/blocks", `{"block":{"id":"h","type":"group","children":[{"id":"e","type":"email"}]}}`, 422, "/definition/blocks/3/children/0/type"},
		{"PUT", "/-/v1/forms/" + id + "/blocks", `{"blocks":` + blocks(`,{"id":"e","type":"email"},{"id":"f","type":"date"}`) + `}`, 422, "/definition/blocks/0/children/1/type /definition/blocks/0/children/2/type"},
		{"PATCH", "/-/v1/forms/" + id + "/blocks/name", `{"block":{"type":"email"}}`, 422, "/definition/blocks/0/type"},
		{"PATCH", "/-/v1/forms/" + id, `{"definition":{"blocks":` + blocks(`,{"id":"e","type":"email"}`) + `,"settings":{"redirectUrl":"https://b.example/","closed":true},"theme":{"font":"serif"}}}`, 422, "/definition/blocks/0/children/1/type /definition/settings/redirectUrl /definition/theme/customCss /definition/theme/font"},
		{"PATCH", "/-/v1/forms/" + id, `{"definition":{"settings":{"utm":{"term":true,"source":true}}}}`, 422, "/definition/settings/utm"},
		{"PATCH", "/-/copy/" + id + "/forms/" + id, `{"definition":{"theme":{}}}`, 422, "/definition/theme/customCss /definition/theme/font"},
		{"POST", "/-/copy/" + id + "/forms/" + id + "/blocks", `{"block":{"id":"e","type":"email"}}`, 422, "/definition/blocks/3/type"},
		{"POST", "/-/v1/forms", `{"name":"Duplicate","workspace_id":"` + ws + `","definition":{"blocks":` + blocks("") + `,"theme":{"font":"mono"}}}`, 422, "/definition/blocks/0/children/0/type /definition/blocks/1/type /definition/theme/font"},
		{"POST", "/-/v1/forms", `{"name":"New","workspace_id":"` + ws + `","definition":{"blocks":[{"id":"a","type":"short_text"}],"theme":{"font":"serif"}}}`, 201, ""},
		// What is there is kept, and can be changed, moved and removed.
		{"PUT", "/-/v1/forms/" + id + "/blocks", `{"blocks":` + blocks("") + `}`, 200, ""},
		{"PATCH", "/-/v1/forms/" + id, `{"name":"Renamed","definition":{"settings":{"utm":{"term":true},"closed":true},"theme":{"customCss":".a{}","font":"mono"}}}`, 200, ""},
		{"PATCH", "/-/copy/" + id + "/forms/" + id, `{"definition":{"blocks":` + blocks("") + `}}`, 200, ""},
		{"DELETE", "/-/v1/forms/" + id + "/blocks/pay", "", 204, ""},
		{"PATCH", "/-/v1/forms/" + id, `{"definition":{"blocks":` + blocks("") + `}}`, 422, "/definition/blocks/1/type"},
	} {
		answer, body := s.do("ann", c.method, "/forms"+c.path, c.body)
		var failure struct{ Details []struct{ Path string } }
		if c.status == http.StatusUnprocessableEntity {
			expect.NoError(t, json.Unmarshal([]byte(body), &failure))
		}
		var paths []string
		for _, d := range failure.Details {
			paths = append(paths, d.Path)
		}
		expect.That(t, answer.StatusCode == c.status && strings.Join(paths, " ") == c.paths, "%s %s %.70s: %d %s", c.method, c.path, c.body, answer.StatusCode, body)
	}
	expect.Must(client.CreateBlock(t.Context(), form.ID, []byte(`{"id":"e","type":"email"}`)))

	// A version with something that is not offered is not restored.
	expect.Must(client.PublishForm(t.Context(), form.ID))
	form = expect.Must(client.UpdateForm(t.Context(), form.ID, formsvc.FormUpdate{Definition: formsvc.Definition{Blocks: []byte(`[{"id":"name","type":"short_text"}]`)}}))
	version := expect.Must(first(client.Versions(t.Context(), form.ID)))
	answer, body := s.do("ann", http.MethodPost, "/forms/-/builder/forms/"+id+"/versions/"+strconv.FormatInt(version.Revision, 10)+"/restore", `{}`)
	expect.That(t, answer.StatusCode == http.StatusUnprocessableEntity && strings.Contains(body, "/definition/blocks/2/type"), "restore: %d %s", answer.StatusCode, body)

	_, err := builder.New(s.service, builder.Config{User: s.user, Pages: s.pages, Offer: builder.Offer{BlockTypes: []string{"txt"}, Settings: []string{"closed", "css"}, Templates: []string{"x"}}})
	expect.That(t, err != nil && strings.Count(err.Error(), "unknown name") == 3, "New: %v", err)
}
