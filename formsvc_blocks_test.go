package formsvc_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/schema"
)

// The rules of blocks run on a body whose shape is not known yet.
func TestWhatIsNotABlockIsRefusedWhereverABlockBelongs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	form := "/forms/" + b.form(textBlock, `{}`).String()
	for _, place := range []struct{ method, path, body, pointer string }{
		{http.MethodPost, form + "/blocks", `{"block":#}`, "/block"},
		{http.MethodPost, form + "/blocks", `{"block":{"id":"a","children":[#]}}`, "/block/children/0"},
		{http.MethodPut, form + "/blocks", `{"blocks":[#]}`, "/blocks/0"},
		{http.MethodPut, form + "/blocks", `{"blocks":[{"id":"a","children":[#]}]}`, "/blocks/0/children/0"},
		{http.MethodPatch, form + "/blocks/name", `{"block":#}`, "/block"},
		{http.MethodPatch, form + "/blocks/name", `{"block":{"children":[#]}}`, "/block/children/0"},
		{http.MethodPatch, form, `{"definition":{"blocks":[#]}}`, "/definition/blocks/0"},
		{http.MethodPatch, form, `{"definition":{"blocks":[{"id":"a","children":[#]}]}}`, "/definition/blocks/0/children/0"},
		{http.MethodPost, "/forms", `{"workspace_id":"` + b.workspace.String() + `","name":"a","definition":{"blocks":[#]}}`, "/definition/blocks/0"},
		{http.MethodPost, "/forms", `{"workspace_id":"` + b.workspace.String() + `","name":"a","definition":{"blocks":[{"id":"a","children":[#]}]}}`, "/definition/blocks/0/children/0"},
	} {
		for _, wrong := range []string{`[1]`, `["id"]`, `[{"id":"x"}]`, `[[[]]]`, `[]`, `1`, `"id"`, `true`, `null`} {
			body := strings.Replace(place.body, "#", wrong, 1)
			var refusal struct{ Details []schema.Violation }
			w := b.do(place.method, place.path, body, &refusal)
			if w.Code != http.StatusUnprocessableEntity {
				t.Errorf("%s %s: %d %s", place.method, body, w.Code, w.Body)
				continue
			}
			if len(refusal.Details) != 1 || refusal.Details[0].Path != place.pointer || refusal.Details[0].Code != schema.CodeWrongType {
				t.Errorf("%s %s: %+v", place.method, body, refusal.Details)
			}
		}
	}
}
