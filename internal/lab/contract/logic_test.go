package contract

import (
	"path/filepath"
	"testing"
)

// Logic comes to the results of json-logic-js, but where a case says that it differs.
func TestLogicAgainstJSONLogicJS(t *testing.T) {
	t.Parallel()
	node(t, "redocly") // the packages are installed
	module := must(filepath.Abs(filepath.Join("node_modules", "json-logic-js")))
	t.Log(run(t, nil, "node", filepath.Join("flows", "logic", "cases.mjs"), filepath.Join("..", "..", "logic", "testdata", "cases.json"), module))
}
