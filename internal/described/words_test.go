package described

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/formsvc/formsvc/schema"
)

// Every type of the description's AnswerField has a shape for its values.
func TestEveryAnswerTypeHasAComponent(t *testing.T) {
	t.Parallel()
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
	if err := json.Unmarshal(schema.OpenAPI(), &d); err != nil {
		t.Fatal(err)
	}
	want := slices.Sorted(slices.Values(d.Components.Schemas.AnswerField.Properties.Type.Enum))
	if got := slices.Sorted(maps.Keys(answerComponents)); len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("answerComponents has %v, the description %v", got, want)
	}
}
