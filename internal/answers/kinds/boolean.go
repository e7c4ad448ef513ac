package kinds

import (
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
)

// boolean reads true or false, or the same word in a string.
func boolean(n jsontree.Node, r *Report) (truth, ok bool) {
	switch {
	case n.Kind() == jsontree.Bool:
		return n.Bool(), true
	case n.Kind() == jsontree.String && (n.Text() == "true" || n.Text() == "false"):
		return n.Text() == "true", true
	}
	r.add(n, wrongType("boolean", "must be answered with yes or no"))
	return false, false
}

// yesNoRule checks yes_no.
type yesNoRule struct{}

func (yesNoRule) Check(w *jsontree.Writer, n jsontree.Node, r *Report) {
	if truth, ok := boolean(n, r); ok {
		w.Bool(truth)
	}
}

func (yesNoRule) Sample() string { return "true" }

// legalRule checks legal.
type legalRule struct{ stop bool } // a false refuses the response

func newLegal(b *schema.Block, _ Service) Rule { return legalRule{stop: b.Properties.LegalStopFurther} }

func (t legalRule) Check(w *jsontree.Writer, n jsontree.Node, r *Report) {
	truth, ok := boolean(n, r)
	switch {
	case !ok:
	case !truth && (t.stop || r.Required):
		r.add(n, Fault{Code: schema.CodeRequired, Message: "must be accepted"})
	default:
		w.Bool(truth)
	}
}

func (legalRule) Sample() string { return "true" }
