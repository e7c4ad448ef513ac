package formpage_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/answers"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// The guide in CONTRIBUTING says that a type of answers is five places. A type that one of
// them knows is known in all.
func TestATypeOfAnswersIsFivePlaces(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	blocks, answered := describedTypes(t)
	types := slices.Clone(answered)
	for k := range schema.Kinds() {
		if k.TakesAnswer() && !slices.Contains(types, k.Type) {
			types = append(types, k.Type)
		}
	}
	for _, typ := range types {
		if typ == schema.TypeHidden || typ == schema.TypeVariable {
			continue // fields that are no blocks
		}
		if missing := missingPlaces(t, typ, slices.Contains(blocks, typ)); missing != nil {
			t.Errorf("%s is missing in %s", typ, strings.Join(missing, " and in "))
		} else if !isDrawn(s, typ) {
			t.Errorf("%s is missing in handler/formpage: no page draws it", typ)
		}
	}
	// That the places are looked at: a heading takes no answer, and no page draws its break.
	if missing := missingPlaces(t, "heading", false); len(missing) != 4 {
		t.Errorf("of a heading only %v are missing", missing)
	}
	if isDrawn(s, schema.TypePageBreak) || !isDrawn(s, schema.TypeHeading) {
		t.Error("a page break is drawn, or a heading is not")
	}
}

// describedTypes are the types of blocks in the description, and those of answers.
func describedTypes(t *testing.T) (blocks, answers []string) {
	t.Helper()
	var d struct {
		Components struct {
			Schemas struct {
				BlockType   struct{ Enum []string }
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
	noError(t, json.Unmarshal(schema.OpenAPI(), &d))
	blocks, answers = d.Components.Schemas.BlockType.Enum, d.Components.Schemas.AnswerField.Properties.Type.Words
	if len(blocks) == 0 || len(answers) == 0 {
		t.Fatal("the description has no types")
	}
	return blocks, answers
}

// blockOf is a block of a type with all that some type needs.
func blockOf(typ string) string {
	list := `[{"id":"x","label":"X"},{"id":"y","label":"Y"}]`
	return fmt.Sprintf(`[{"id":"b","type":%q,"label":"The label of it","choices":%s,"matrix_rows":%s,"matrix_columns":%s}]`, typ, list, list, list)
}

// missingPlaces are those of the five places, but the page, that do not know a type.
func missingPlaces(t *testing.T, typ string, described bool) (places []string) {
	t.Helper()
	if !described {
		places = append(places, "schema/openapi.json: BlockType, AnyBlockType and AnswerField")
	}
	if k, _ := schema.KindOf(typ); !k.TakesAnswer() {
		places = append(places, "schema/kinds.go: kinds")
	}
	form := must(answers.Compile(answers.Source{Definition: storage.Definition{Blocks: json.RawMessage(blockOf(typ))}}))
	if list := string(form.Sample().List); !strings.Contains(list, `"value":`) {
		places = append(places, "internal/answers/kinds: no rule takes an answer")
	}
	if readWords(t, "en")["type."+typ] == "" {
		places = append(places, "handler/formpage/internal/words/texts: type."+typ)
	}
	return places
}

// isDrawn reports whether the page of a form shows a block of a type.
func isDrawn(s *site, typ string) bool {
	return strings.Contains(s.open(s.form("MULTI", blockOf(typ), "", ""), "").raw, "The label of it")
}

// notDrawn are the texts of blocks that the first page does not show, each with its reason.
var notDrawn = map[string]string{
	"number numberFormat":    "how a number is written follows from the visitor's language",
	"date dateSeparator":     "showDatePicker, which is set too, draws one input",
	"payment paymentGateway": "the host takes the payment",
	"captcha imageAlt":       "it has no picture",
	"divider imageAlt":       "it has no picture",
	"page_break imageAlt":    "nothing of it is drawn",
	"ending buttonText":      "it is shown when the response was sent",
	"ending imageAlt":        "it is shown when the response was sent",
}

// A text that an owner sets for a type of blocks is on the page, and is only text there.
func TestEveryTextOfABlockIsDrawn(t *testing.T) {
	t.Parallel()
	c := newCosts(t)
	for k := range schema.Kinds() {
		set := map[string]any{"image": map[string]string{"url": "https://a.example/x.png"}}
		for _, p := range k.Properties() {
			switch {
			case p.Type == schema.PropertyText:
				set[p.Name] = p.Name + "<i>"
			case p.Type == schema.PropertyBoolean && p.Name != "hide":
				set[p.Name] = true
			}
		}
		properties := must(json.Marshal(set))
		blocks := strings.Replace(blockOf(k.Type), `"id":"b"`, `"id":"b","properties":`+string(properties), 1)
		w := httptest.NewRecorder()
		c.pages.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/f/"+c.stored(blocks).PublicID, nil))
		page := w.Body.String()
		for _, p := range k.Properties() {
			if p.Type != schema.PropertyText {
				continue
			}
			place := k.Type + " " + p.Name
			if drawn := strings.Contains(page, p.Name+"&lt;i"); drawn == (notDrawn[place] != "") {
				t.Errorf("the page shows %s: %t", place, drawn)
			}
			if strings.Contains(page, p.Name+"<i>") {
				t.Errorf("%s is not escaped", place)
			}
		}
	}
}
