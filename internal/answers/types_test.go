package answers

import (
	"encoding/json"
	"testing"

	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
)

// Every type of the description's AnswerField has a rule, but for hidden fields and
// variables, and
// is in the form that the tests of samples and of hostile answers use.
func TestEveryAnswerTypeHasARule(t *testing.T) {
	var d struct {
		Components struct {
			Schemas struct {
				AnswerField struct {
					Properties struct {
						Type struct {
							Words []string `json:"x-extensible-enum"`
						}
					}
				}
			}
		}
	}
	expect.NoError(t, json.Unmarshal(schema.OpenAPI(), &d))
	types := d.Components.Schemas.AnswerField.Properties.Type.Words
	expect.Require(t, len(types) != 0, "the description has no types of answers")
	full := make(map[string]bool)
	ruled := make(map[string]bool)
	for _, b := range compileTestForm(t, fullBlocks, "", "").form.Blocks {
		full[b.Type], ruled[b.Type] = true, b.Rule != nil
	}
	for _, kind := range types {
		if kind == schema.TypeHidden || kind == schema.TypeVariable {
			continue
		}
		expect.That(t, !full[kind] || ruled[kind], "%s has no rule", kind)
		expect.That(t, full[kind], "fullBlocks has no %s", kind)
	}
}
