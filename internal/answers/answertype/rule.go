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
	// Check writes the value to store for the answer n and reports violations to r. After a violation, the written value
	// is discarded. If Check neither writes nor reports anything, the block counts as unanswered. n is never blank.
	Check(w *jsontree.Writer, n jsontree.Node, r *Report)

	// Sample returns a sample answer in the format in which respondents or hosts send it.
	Sample() string
}

// ServiceConfig holds the service settings that rules use.
type ServiceConfig struct {
	FileSize int64          // maximum bytes of a file
	TimeZone *time.Location // time zone of date limits
}

// FindContradiction explains why no answer can satisfy the rule. If an answer can, or if r is nil, it returns a zero
// Explanation. member is a JSON pointer to the cause within the block.
func FindContradiction(r Rule) (member string, why Explanation) {
	if t, ok := r.(interface {
		contradiction() (member string, why Explanation)
	}); ok {
		return t.contradiction()
	}
	return "", Explanation{}
}

// Explanation explains the cause of a warning.
type Explanation struct {
	Reason  string // distinguishes causes with the same code; part of the Params of a [schema.Warning]
	Message string
	Params  map[string]any
}

// WarnIneffective calls the function warn for each block property that has no effect on the rule.
func WarnIneffective(r Rule, b *schema.Block, warn func(name string, why Explanation)) {
	if t, ok := r.(interface {
		warnIneffective(*schema.Block, func(name string, why Explanation))
	}); ok {
		t.warnIneffective(b, warn)
	}
}

// ParseLimits are the limits for a request body, but without a limit on the length of field names. An answer may use
// matrix row IDs as field names, and the length of these IDs is unlimited.
var ParseLimits = jsontree.Limits{Values: jsontree.MaxValues}

// IsBlankJSON reports whether raw does not count as an answer.
func IsBlankJSON(raw json.RawMessage) bool {
	return len(raw) == 0 || jsontree.Inspect(raw, ParseLimits, IsBlank)
}

// IsStorable reports whether raw is JSON that every storage implementation can store.
func IsStorable(raw json.RawMessage) bool {
	return jsontree.Inspect(raw, ParseLimits, func(n jsontree.Node) bool { return !n.HasNUL() })
}

// IsBlank reports whether n does not count as an answer: absent, null, a string without visible characters, or an empty
// array.
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
