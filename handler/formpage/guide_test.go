package formpage_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/schema"
)

// blockOf is a block of a type with all that some type needs.
func blockOf(typ string) string {
	list := `[{"id":"x","label":"X"},{"id":"y","label":"Y"}]`
	return fmt.Sprintf(`[{"id":"b","type":%q,"label":"The label of it","choices":%s,"matrix_rows":%s,"matrix_columns":%s}]`, typ, list, list, list)
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
