package answertype

import (
	"encoding/json"
	"time"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/textclean"
	"github.com/formsvc/formsvc/schema"
)

// Rule checks the answers to a block.
type Rule interface {
	// Check writes the value to store for the answer n and reports violations to r. After a violation, the written
	// value is not used. If it does neither, the block is unanswered. n is never blank.
	Check(w *jsontree.Writer, n jsontree.Node, r *Report)

	// Sample returns a sample answer in the format in which respondents or hosts send it.
	Sample() string
}

// ServiceConfig contains settings of the service.
type ServiceConfig struct {
	FileSize int64          // maximum bytes of a file
	TimeZone *time.Location // for date limits
}

// Contradiction explains why no answer can satisfy the rule. It returns a zero Explanation if one can, or if r is
// nil. member is the JSON pointer of the cause within the block.
func Contradiction(r Rule) (member string, why Explanation) {
	if t, ok := r.(interface {
		contradiction() (member string, why Explanation)
	}); ok {
		return t.contradiction()
	}
	return "", Explanation{}
}

// Explanation is the cause of a warning.
type Explanation struct {
	Reason  string // distinguishes causes with the same code; part of the Params of a [schema.Warning]
	Message string
	Params  map[string]any
}

// WarnIneffective calls warn for block properties that have no effect on the rule.
func WarnIneffective(r Rule, b *schema.Block, warn func(name string, why Explanation)) {
	if t, ok := r.(interface {
		warnIneffective(*schema.Block, func(name string, why Explanation))
	}); ok {
		t.warnIneffective(b, warn)
	}
}

// ParseLimits are the limits of a request body without a limit for field names. An answer may use the IDs of matrix
// rows as names, and these have no limit.
var ParseLimits = jsontree.Limits{Values: jsontree.MaxValues}

// IsBlankJSON reports whether raw is no answer.
func IsBlankJSON(raw json.RawMessage) bool {
	return len(raw) == 0 || jsontree.Inspect(raw, ParseLimits, IsBlank)
}

// Storable reports whether raw is JSON that every storage can store.
func Storable(raw json.RawMessage) bool {
	return jsontree.Inspect(raw, ParseLimits, func(n jsontree.Node) bool { return !n.HasNUL() })
}

// IsBlank reports whether n is no answer: absent, null, a string without visible characters, or an empty array.
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
