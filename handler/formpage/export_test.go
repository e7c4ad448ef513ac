package formpage

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
)

// Uncached returns a handler that does the same and remembers no form.
func (h *Handler) Uncached() *Handler {
	return &Handler{service: h.service, config: h.config, signer: h.signer, words: h.words, host: h.host, site: h.site}
}

// Read returns what is kept of the body of a request.
func (h *Handler) Read(w http.ResponseWriter, r *http.Request, form formsvc.PublicForm) any {
	c := h.newCall(w, r, form)
	if r.Header.Get("Content-Type") == "application/json" {
		in, _ := c.readJSON()
		return in
	}
	values, _, _ := c.readForm(h.config.MaxBody)
	return values
}

// ViolationText words a violation of the service.
func (h *Handler) FaultText(r *http.Request, form formsvc.PublicForm, v schema.Violation) string {
	c := h.newCall(nil, r, form)
	return c.ViolationText(v, c.Index.Find(v.Field), false)
}

// The path takes answers to hidden blocks, payments and files for the host's, so none of a
// respondent's is passed on.
func TestAnswersOfTheHostAreNotTheRespondents(t *testing.T) {
	t.Parallel()
	hide := &schema.Properties{Hide: true}
	blocks := []schema.Block{
		{ID: "shown"}, {ID: "secret", Properties: hide},
		{ID: "pay", Type: schema.TypePayment}, {ID: "file", Type: schema.TypeFileUpload}, {ID: "sign", Type: schema.TypeSignature},
		{ID: "box", Properties: hide, Children: []schema.Block{{ID: "inner"}}},
		{ID: "open", Children: []schema.Block{{ID: "kept"}, {ID: "covered", Properties: hide}}},
	}
	answers := map[string]json.RawMessage{"shown": nil, "secret": nil, "inner": nil, "kept": nil, "covered": nil, "pay": nil, "file": nil, "sign": nil, "unknown": nil}
	removeHostAnswers(blocks, answers)
	for _, id := range []string{"shown", "kept", "unknown"} {
		_, ok := answers[id]
		expect.That(t, ok, "%s was dropped", id)
		delete(answers, id)
	}
	expect.That(t, len(answers) == 0, "passed on: %v", answers)
}

// A host may have taken the base path off, and an id may begin as the base path does.
func TestAnIDMayBeginAsTheBasePath(t *testing.T) {
	t.Parallel()
	h := &Handler{config: Config{BasePath: "/f"}}
	for path, want := range map[string]string{
		"/f/abc": "abc", "/f/abc/": "abc/", "/abc": "abc", "abc": "abc",
		"/fabc": "fabc", "/f/fabc": "fabc", "/fabc/done": "fabc/done",
	} {
		expect.Equal(t, h.pathBelowBase(path), want, "%v", path)
	}
}
