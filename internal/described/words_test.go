package described

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
)

// Every type of the description's AnswerField has a shape for its values.
func TestEveryAnswerTypeHasAComponent(t *testing.T) {
	var d struct {
		Components struct {
			Schemas struct {
				AnswerField struct {
					Properties struct {
						Type struct{ Enum []string }
					}
				}
			}
		}
	}
	strict, err := Strict(schema.OpenAPI())
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(strict, &d); err != nil {
		t.Fatal(err)
	}
	want := slices.Sorted(slices.Values(d.Components.Schemas.AnswerField.Properties.Type.Enum))
	document, err := jsontree.Parse(strict, jsontree.Bounds{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewCompiler(document.Root().Source())
	if err != nil {
		t.Fatal(err)
	}
	w, err := readWords(document.Root(), c)
	if err != nil {
		t.Fatal(err)
	}
	if got := slices.Sorted(maps.Keys(w.answers)); len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("there are shapes of %v, the description has %v", got, want)
	}
}
