package answertype

import (
	"encoding/json"
	"time"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/textclean"
	"github.com/formsvc/formsvc/schema"
)

// A Rule checks the answers of one block.
type Rule interface {
	// Check writes the value to be stored for the answer n, and reports faults to
	// r. After a fault, the value does not matter. When it does neither, the block
	// is unanswered. n is never blank.
	Check(w *jsontree.Writer, n jsontree.Node, r *Report)

	// Sample returns a made-up answer as a respondent, or the host, might send it.
	Sample() string
}

// ServiceConfig has the values that a rule takes from the service.
type ServiceConfig struct {
	FileSize int64          // the most bytes of a file
	TimeZone *time.Location // of the days of date bounds
}

// Contradiction says why no answer ever passes the check of a rule, nothing when an answer does
// or the rule is nil. member is the pointer of the part of the block that the reason is about.
func Contradiction(r Rule) (member string, why Explanation) {
	if t, ok := r.(interface {
		contradiction() (member string, why Explanation)
	}); ok {
		return t.contradiction()
	}
	return "", Explanation{}
}

// Explanation says why a definition is warned about.
type Explanation struct {
	Reason  string // tells the reasons of one code from each other; part of the Params of a [schema.Warning]
	Message string
	Params  map[string]any
}

// WarnIneffective calls warn for the properties of a block that have no effect on its rule.
func WarnIneffective(r Rule, b *schema.Block, warn func(name string, why Explanation)) {
	if t, ok := r.(interface {
		warnIneffective(*schema.Block, func(name string, why Explanation))
	}); ok {
		t.warnIneffective(b, warn)
	}
}

// ParseLimits are the bounds of a body, but for member names: an answer may name the rows of
// a matrix, and their ids have no bound of their own.
var ParseLimits = jsontree.Limits{Values: jsontree.MaxValues}

// IsBlankJSON reports whether raw means unanswered.
func IsBlankJSON(raw json.RawMessage) bool {
	return len(raw) == 0 || jsontree.Inspect(raw, ParseLimits, IsBlank)
}

// Storable reports whether raw is JSON that every storage keeps.
func Storable(raw json.RawMessage) bool {
	return jsontree.Inspect(raw, ParseLimits, func(n jsontree.Node) bool { return !n.HasNUL() })
}

// IsBlank reports whether n means unanswered: it is not there or null, text of which
// nothing can be seen, or an empty array.
func IsBlank(n jsontree.Node) bool {
	switch n.Kind() {
	case jsontree.Null:
		return true
	case jsontree.String:
		return textclean.IsBlank(n.Text())
	case jsontree.Array:
		return n.Len() == 0
	default:
		return false
	}
}
