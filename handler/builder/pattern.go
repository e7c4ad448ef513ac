package builder

import (
	"encoding/json"
	"net/http"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/logic"
)

// maxPatternSteps is more than a pattern needs for an example of 1,000 characters.
const maxPatternSteps = 100_000

// tryPattern reports whether a pattern accepts an example. Browsers have another syntax for patterns, and some patterns
// would block them for minutes.
func tryPattern(r *http.Request) (any, error) {
	var sent struct{ Pattern, Example string }
	if err := decodeBody(r, &sent); err != nil {
		return nil, err
	}
	condition, err := json.Marshal(map[string][]string{"match": {sent.Example, sent.Pattern}})
	result := jsontree.Inspect(condition, jsontree.BodyLimits, func(n jsontree.Node) string {
		budget := logic.NewBudget(maxPatternSteps)
		if l, err := logic.Compile(n); err != nil {
			return "invalid"
		} else if l.Holds(nil, &budget) {
			return "accepted"
		}
		return "refused"
	})
	return map[string]string{"result": result}, err
}
