package servicetest_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/storage/memory"
)

// The form of an editor is the working copy with what is typed, within the limits of a write; nothing is stored.
func TestEditorForm(t *testing.T) {
	t.Parallel()
	svc := servicetest.New(t, memory.New())
	owner := svc.As(formsvc.UserIDFrom("owner"))
	workspace, err := owner.CreateWorkspace(t.Context(), formsvc.WorkspaceCreate{Name: "Mine"})
	if err != nil {
		t.Fatal(err)
	}
	form, err := owner.CreateForm(t.Context(), formsvc.FormCreate{Workspace: workspace.ID, Name: "Stored", Definition: formsvc.Definition{
		Blocks: json.RawMessage(`[{"id":"a","type":"short_text","label":"Stored"}]`), Theme: json.RawMessage(`{"corners":7}`),
	}})
	if err == nil {
		_, err = owner.WorkingCopy(form.ID).UpdateBlock(t.Context(), "a", json.RawMessage(`{"label":"Edited"}`))
	}
	if err != nil {
		t.Fatal(err)
	}
	got, err := owner.EditorForm(t.Context(), form.ID, formsvc.FormUpdate{})
	if err != nil || got.Name != "Stored" || len(got.Blocks) != 1 || got.Blocks[0].Label != "Edited" || got.Theme.Corners == nil {
		t.Errorf("nothing was typed: %v %+v", err, got)
	}
	name := "Typed"
	got, err = owner.EditorForm(t.Context(), form.ID, formsvc.FormUpdate{Name: &name, Definition: formsvc.Definition{
		Blocks: json.RawMessage(`[{"id":"b","label":"Typed","required":"perhaps"},7,{"id":"c","properties":{"specificDates":["soon"]}},{"id":"d"}]`),
	}})
	if err != nil || got.Name != "Typed" || len(got.Blocks) != 4 || got.Blocks[0].Label != "Typed" || got.Blocks[3].ID != "d" || got.Theme.Corners == nil {
		t.Errorf("typed: %v %+v", err, got)
	}
	if stored, err := owner.WorkingCopy(form.ID).Form(t.Context()); err != nil || stored.Name != "Stored" {
		t.Errorf("something was stored: %v %+v", err, stored)
	}
	var invalid *formsvc.Error
	for _, blocks := range []string{`[{"id":"b","label":"` + strings.Repeat("x", 5001) + `"}]`, `[` + strings.Repeat("0,", 500) + `0]`, `[{"id":"b","Choices":[]}]`, `[` + strings.Repeat("0,", 500_000) + `0]`, `[`} {
		if _, err := owner.EditorForm(t.Context(), form.ID, formsvc.FormUpdate{Definition: formsvc.Definition{Blocks: json.RawMessage(blocks)}}); !errors.As(err, &invalid) {
			t.Errorf("%.50s…: %v", blocks, err)
		}
	}
	if _, err := svc.As(formsvc.UserIDFrom("stranger")).EditorForm(t.Context(), form.ID, formsvc.FormUpdate{}); !errors.Is(err, formsvc.ErrNotFound) {
		t.Errorf("a stranger: %v", err)
	}
}
