package servicetest_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/schema"
)

// The rules of blocks run on a body whose shape is not known yet.
func TestWhatIsNotABlockIsRefusedWhereverABlockBelongs(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	form := "/forms/" + b.Form(servicetest.TextBlock, `{}`).String()
	for _, place := range []struct{ method, path, body, pointer string }{
		{http.MethodPost, form + "/blocks", `{"block":#}`, "/block"},
		{http.MethodPost, form + "/blocks", `{"block":{"id":"a","children":[#]}}`, "/block/children/0"},
		{http.MethodPut, form + "/blocks", `{"blocks":[#]}`, "/blocks/0"},
		{http.MethodPut, form + "/blocks", `{"blocks":[{"id":"a","children":[#]}]}`, "/blocks/0/children/0"},
		{http.MethodPatch, form + "/blocks/name", `{"block":#}`, "/block"},
		{http.MethodPatch, form + "/blocks/name", `{"block":{"children":[#]}}`, "/block/children/0"},
		{http.MethodPatch, form, `{"definition":{"blocks":[#]}}`, "/definition/blocks/0"},
		{http.MethodPatch, form, `{"definition":{"blocks":[{"id":"a","children":[#]}]}}`, "/definition/blocks/0/children/0"},
		{http.MethodPost, "/forms", `{"workspace_id":"` + b.Workspace.String() + `","name":"a","definition":{"blocks":[#]}}`, "/definition/blocks/0"},
		{http.MethodPost, "/forms", `{"workspace_id":"` + b.Workspace.String() + `","name":"a","definition":{"blocks":[{"id":"a","children":[#]}]}}`, "/definition/blocks/0/children/0"},
	} {
		for _, wrong := range []string{`[1]`, `["id"]`, `[{"id":"x"}]`, `[[[]]]`, `[]`, `1`, `"id"`, `true`, `null`} {
			body := strings.Replace(place.body, "#", wrong, 1)
			var refusal struct{ Details []schema.Violation }
			w := b.Do(place.method, place.path, body, &refusal)
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

// A definition has one bound, by whichever write it grows.
func TestNoWriteMakesADefinitionLargerThanItsLimit(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t, formsvc.WithLimits(formsvc.Limits{Definition: 2000}))
	form := "/forms/" + b.Form(`[{"id":"a","type":"long_text","label":"`+strings.Repeat("x", 1500)+`"}]`, `{}`).String()
	long := `"` + strings.Repeat("y", 600) + `"`
	for _, c := range []struct{ method, path, body, pointer string }{
		{http.MethodPost, "/forms", `{"workspace_id":"` + b.Workspace.String() + `","name":"a","definition":{"theme":{"customCss":"` + strings.Repeat("z", 2000) + `"}}}`, "/definition"},
		{http.MethodPatch, form, `{"definition":{"theme":{"customCss":` + long + `}}}`, "/definition"},
		{http.MethodPatch, form, `{"definition":{"settings":{"closedMessage":` + long + `}}}`, "/definition"},
		{http.MethodPatch, form, `{"definition":{"variables":{"v":` + long + `}}}`, "/definition"},
		{http.MethodPost, form + "/blocks", `{"block":{"id":"b","label":` + long + `}}`, "/block"},
		{http.MethodPatch, form + "/blocks/a", `{"block":{"description":` + long + `}}`, "/block"},
		{http.MethodPut, form + "/blocks", `{"blocks":[{"id":"a","label":` + long + `},{"id":"b","label":` + long + `},{"id":"c","label":` + long + `},{"id":"d","label":` + long + `}]}`, "/blocks"},
	} {
		var refusal struct{ Details []schema.Violation }
		w := b.Do(c.method, c.path, c.body, &refusal)
		if w.Code != http.StatusUnprocessableEntity || len(refusal.Details) != 1 || refusal.Details[0].Path != c.pointer || refusal.Details[0].Code != schema.CodeTooLong {
			t.Errorf("%s %s: %d %s", c.method, c.path, w.Code, w.Body)
		}
	}
	if w := b.Do(http.MethodPatch, form+"/blocks/a", `{"block":{"label":`+long+`}}`, nil); w.Code != http.StatusOK {
		t.Errorf("a form that shrinks: %d %s", w.Code, w.Body)
	}
}

// A matrix copies labels: the bound is on what is stored.
func TestAResponseIsBoundedAsItIsStored(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	rows := `{"id":"r0"}`
	for i := 1; i < 300; i++ {
		rows += `,{"id":"r` + strconv.Itoa(i) + `"}`
	}
	form := b.Form(`[{"id":"m","type":"matrix","label":"M","matrix_rows":[`+rows+`],"matrix_columns":[{"id":"c","label":"`+strings.Repeat("x", 5000)+`"}]}]`, `{}`)
	answer := map[string]string{}
	for i := range 300 {
		answer["r"+strconv.Itoa(i)] = "c"
	}
	raw, err := json.Marshal(answer)
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.Submit(t.Context(), formsvc.Response{FormID: form, Answers: servicetest.Answers("m", string(raw))})
	var refusal *formsvc.Error
	if !errors.As(err, &refusal) || len(refusal.Violations) != 1 || refusal.Violations[0].Path != "" || refusal.Violations[0].Code != schema.CodeTooLong {
		t.Errorf("%d bytes that would be stored as 1.5 MB: %v", len(raw), err)
	}
	if n := b.Submissions(form); n != 0 {
		t.Errorf("%d responses are stored", n)
	}
}
