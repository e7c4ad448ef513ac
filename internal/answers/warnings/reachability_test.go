package warnings

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/internal/answers/compile"
	"github.com/formsvc/formsvc/storage"
)

// Logic that reads nothing is evaluated within a bound, however much of it there is.
func TestWarningsTakeBoundedSteps(t *testing.T) {
	heavy := `["a","b","c","d","e","f","g","h","i","j"]`
	heavy = `{"all":[` + heavy + `,{"all":[` + heavy + `,{"all":[` + heavy + `,{"all":[` + heavy + `,true]}]}]}]}`
	var blocks []string
	for i := range 1000 {
		blocks = append(blocks, fmt.Sprintf(`{"id":"b%d","type":"statement","properties":{"rule":{"show":%s}}}`, i, heavy))
	}
	f, err := compile.New(compile.Source{Definition: storage.Definition{Blocks: json.RawMessage("[" + strings.Join(blocks, ",") + "]")}})
	if err != nil {
		t.Fatal(err)
	}
	w := &warner{form: f}
	w.walkPaths(w.alwaysStops)
	if w.constantStepsUsed == 0 || w.constantStepsUsed > constantSteps+compile.MaxRuleSteps {
		t.Errorf("%d steps of logic that reads nothing", w.constantStepsUsed)
	}
}
