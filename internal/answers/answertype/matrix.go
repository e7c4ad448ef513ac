package answertype

import (
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
)

type matrixRule struct {
	rows, columns *choices
	multiple      bool
}

func newMatrix(b *schema.Block, _ ServiceConfig) Rule {
	return matrixRule{
		rows:     newChoices(b.MatrixRows, false),
		columns:  newChoices(b.MatrixColumns, false),
		multiple: b.Properties.MultiSelection,
	}
}

func (t matrixRule) Check(w *jsontree.Writer, n jsontree.Node, r *Report) {
	if n.Kind() != jsontree.Object {
		r.add(n, violationWrongType("object", "must have a choice for each row"))
		return
	}
	answers := make([]jsontree.Node, len(t.rows.ids))
	answered := 0
	for _, member := range n.All() {
		row, ok := t.rows.index[member.Name()]
		switch {
		case r.isFull():
			return
		case !ok:
			r.add(member, Violation{Code: schema.CodeNotAChoice, Message: "must be one of the rows"})
		case !IsBlank(member):
			answers[row] = member
			answered++
		}
	}
	if answered == 0 {
		return
	}
	w.Object()
	for row, id := range t.rows.ids {
		if !answers[row].Exists() {
			if r.Required {
				r.addMember(n, id, ViolationRequired)
			}
			continue
		}
		if r.MarkIfLimitExceeded(w) {
			break
		}
		w.Name(id)
		if t.multiple {
			t.columns.writeSelections(w, answers[row], r)
		} else {
			choiceRule{t.columns}.Check(w, answers[row], r)
		}
	}
	w.EndObject()
}

func (t matrixRule) Sample() string {
	if len(t.columns.ids) == 0 {
		return "null"
	}
	rows := make(map[string]string)
	for _, row := range t.rows.ids {
		rows[row] = t.columns.ids[0]
	}
	return EncodeJSON(rows)
}

func (t matrixRule) contradiction() (member string, why Explanation) {
	switch {
	case len(t.rows.ids) == 0:
		return "/matrix_rows", Explanation{Reason: "no_rows", Message: "the matrix has no rows"}
	case len(t.columns.ids) == 0:
		return "/matrix_columns", Explanation{Reason: "no_columns", Message: "the matrix has no columns"}
	}
	return "", Explanation{}
}
