package formsvc_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/formsvc/formsvc"
)

// A path follows the form as it is stored now, also when another process changed it.
func TestPath(t *testing.T) {
	t.Parallel()
	for name, store := range stores(t) {
		b := setupOn(t, store)
		id := b.form(`[{"id":"a","type":"number","required":true},{"id":"b","type":"number"},{"id":"end","type":"ending"}]`, `{}`)
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
