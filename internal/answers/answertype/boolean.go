package answertype

import (
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
)

// booleanRule checks yes_no and legal blocks. It accepts true, false, "true" and "false".
type booleanRule struct {
	legal       bool
	rejectFalse bool // rejects false even if the block is optional
}

func newBoolean(b *schema.Block, _ ServiceConfig) Rule {
	legal := b.Type == schema.TypeLegal
	return booleanRule{legal: legal, rejectFalse: legal && b.Properties.LegalStopFurther}
}

func (t booleanRule) Check(w *jsontree.Writer, n jsontree.Node, r *Report) {
	truth := n.Bool() || n.Text() == "true"
	switch {
	case n.Kind() != jsontree.Bool && !truth && n.Text() != "false":
		r.add(n, violationWrongType("boolean", "must be answered with yes or no"))
	case !truth && (t.rejectFalse || t.legal && r.Required):
		r.add(n, Violation{Code: schema.CodeRequired, Message: "must be accepted"})
	default:
		w.Bool(truth)
	}
}

func (booleanRule) Sample() string { return "true" }
