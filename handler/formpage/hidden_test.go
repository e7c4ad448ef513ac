package formpage

import (
	"encoding/json"
	"testing"

	"github.com/formsvc/formsvc/schema"
)

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
	dropHosts(blocks, answers)
	for _, id := range []string{"shown", "kept", "unknown"} {
		if _, ok := answers[id]; !ok {
			t.Errorf("%s was dropped", id)
		}
		delete(answers, id)
	}
	if len(answers) > 0 {
		t.Errorf("passed on: %v", answers)
	}
}

// A host may have taken the base path off, and an id may begin as the base path does.
func TestAnIDMayBeginAsTheBasePath(t *testing.T) {
	t.Parallel()
	h := &Handler{config: Config{BasePath: "/f"}}
	for path, want := range map[string]string{
		"/f/abc": "abc", "/f/abc/": "abc/", "/abc": "abc", "abc": "abc",
		"/fabc": "fabc", "/f/fabc": "fabc", "/fabc/done": "fabc/done",
	} {
		if got := h.below(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}
