package definition

import (
	"errors"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/logic"
	"github.com/formsvc/formsvc/internal/textclean"
	"github.com/formsvc/formsvc/internal/violation"
	"github.com/formsvc/formsvc/schema"
)

// checksOf returns the checks of a block.
func checksOf(block jsontree.Node) jsontree.Node {
	return block.Member("properties").Member("rule").Member("check")
}

// maxChecks limits the checks of a block.
const maxChecks = 20

// checkChecks checks that the conditions of a block's checks compile, because an invalid check would accept all answers.
func (r *blockChecker) checkChecks(list jsontree.Node) {
	if list.Kind() != jsontree.Array {
		return
	}
	if list.Len() > maxChecks {
		r.Add(list, schema.CodeTooMany, "must have at most "+violation.FormatCount(maxChecks, "check"))
	}
	for _, check := range list.All() {
		if r.Violations.IsFull() {
			return
		}
		say, condition := check.Member("say"), check.Member("if")
		if check.Kind() == jsontree.Object && !check.Member("host").Exists() {
			for _, name := range []string{"if", "say"} {
				if !check.Member(name).Exists() {
					r.AddMember(check, name, schema.CodeRequired, "is required")
				}
			}
		}
		if say.Kind() == jsontree.String && textclean.IsBlank(say.Text()) {
			r.Add(say, schema.CodeTooShort, "must have a visible character")
		}
		if condition.Exists() && condition.Kind() == jsontree.Null {
			r.Add(condition, schema.CodeRequired, "is required")
		}
		for _, part := range r.compile(condition) {
			r.Add(part.At, schema.CodeBadFormat, part.Rule)
		}
	}
}

// compile compiles a condition, which may be missing, and returns the parts that are invalid.
func (r *blockChecker) compile(condition jsontree.Node) []logic.Unreadable {
	if !condition.Exists() {
		return nil
	}
	_, err := r.compiler.Compile(condition)
	invalid, ok := errors.AsType[*logic.UnreadableError](err)
	if !ok {
		return nil
	}
	return invalid.Parts
}
