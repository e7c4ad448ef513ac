package apispec

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/lab/expect"
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
	strict, err := MakeStrict(schema.OpenAPI())
	expect.NoError(t, err)
	expect.NoError(t, json.Unmarshal(strict, &d))
	want := slices.Sorted(slices.Values(d.Components.Schemas.AnswerField.Properties.Type.Enum))
	document, err := jsontree.Parse(strict, jsontree.Limits{})
	expect.NoError(t, err)
	c, err := NewCompiler(document.Root().Source())
	expect.NoError(t, err)
	w, err := readProseRules(document.Root(), c)
	expect.NoError(t, err)
	got := slices.Sorted(maps.Keys(w.answers))
	expect.That(t, len(want) != 0 && slices.Equal(got, want), "there are shapes of %v, the description has %v", got, want)
}
