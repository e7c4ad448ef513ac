package servicetest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/servicetest"
)

// A path follows the form as it is stored now, also when another process changed it.
func TestPath(t *testing.T) {
	t.Parallel()
	for name, store := range servicetest.Stores(t) {
		b := servicetest.SetupOn(t, store)
		id := b.Form(`[{"id":"a","type":"number","required":true},{"id":"b","type":"number"},{"id":"end","type":"ending"}]`, `{}`)
		ids := func() string {
			path, err := b.Path(t.Context(), id, map[string]json.RawMessage{"a": json.RawMessage("1")}, nil)
			if err != nil {
				t.Fatal(err)
			}
			var list string
			for _, block := range path.Blocks {
				list += block.ID + " "
			}
			return list + path.Ending
		}
		if got := ids(); got != "a b end end" {
			t.Errorf("%s: path %q", name, got)
		}
		other, err := formsvc.New(formsvc.WithStorage(store))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := other.AsHost().UpdateForm(t.Context(), id, formsvc.FormUpdate{Definition: formsvc.Definition{Blocks: json.RawMessage(`[{"id":"b","type":"number"}]`)}}); err != nil {
			t.Fatal(err)
		}
		if got := ids(); got != "b " {
			t.Errorf("%s: path %q after another process changed the form", name, got)
		}
		if _, err := b.Path(t.Context(), formsvc.ID{1}, nil, nil); !errors.Is(err, formsvc.ErrNotFound) {
			t.Errorf("%s: %v for a form that does not exist", name, err)
		}
	}
}

// The warnings of a form, and that only who may read it gets them.
func TestWarnings(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	id := b.Form(`[{"id":"a","type":"ranking","required":true},{"id":"d","type":"date","properties":{"afterDate":"2026-08-01T20:00:00Z","beforeDate":"2026-08-01T22:00:00Z","disabledDays":64}}]`, `{"duplicateField":"nobody"}`)
	found, err := b.As(b.User.ID).Warnings(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range found {
		got = append(got, w.Path+" "+w.Code)
	}
	want := "[/blocks/0/choices UNANSWERABLE_BLOCK /blocks/1/properties UNANSWERABLE_BLOCK /blocks UNANSWERABLE_FORM /settings/duplicateField DUPLICATE_FIELD]"
	if fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if _, err := b.As(formsvc.UserIDFrom("bob")).Warnings(t.Context(), id); !errors.Is(err, formsvc.ErrNotFound) {
		t.Errorf("a stranger: %v", err)
	}
	if found, err := b.Warnings(formsvc.Definition{}); err != nil || len(found) != 0 {
		t.Errorf("an empty definition: %v, %v", found, err)
	}
	if _, err := b.Warnings(formsvc.Definition{Blocks: json.RawMessage(`{}`)}); err == nil {
		t.Error("no blocks are accepted as blocks")
	}
}

// A form is previewed as it is stored now, until it goes to the trash.
func TestPreviewForm(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	ctx := t.Context()
	draft, err := b.As(b.User.ID).CreateForm(ctx, formsvc.FormCreate{Workspace: b.Workspace, Name: "Draft", Definition: formsvc.Definition{
		Blocks: json.RawMessage(`[{"id":"a","type":"ranking","required":true}]`), Settings: json.RawMessage(`{"submitLabel":"Go"}`),
	}})
	if err != nil {
		t.Fatal(err)
	}
	form, warnings, err := b.PreviewForm(ctx, draft.ID)
	if err != nil || form.ID != draft.ID || form.PublicID != draft.PublicID || len(form.Blocks) != 1 || form.Settings.SubmitLabel != "Go" {
		t.Errorf("%+v, %v", form, err)
	}
	if want, err := b.As(b.User.ID).Warnings(ctx, draft.ID); err != nil || len(want) == 0 || fmt.Sprint(warnings) != fmt.Sprint(want) {
		t.Errorf("the warnings are %v, want %v, %v", warnings, want, err)
	}
	if err := b.As(b.User.ID).TrashForm(ctx, draft.ID); err != nil {
		t.Fatal(err)
	}
	for _, id := range []formsvc.ID{draft.ID, {1}} {
		if _, _, err := b.PreviewForm(ctx, id); !errors.Is(err, formsvc.ErrNotFound) {
			t.Errorf("%s: %v", id, err)
		}
	}
}
