package schema

// Path is a respondent's path through a form, as far as the answers determine it.
type Path struct {
	// Blocks are the top-level blocks on the path, in order. A question that is not answered yet counts as unanswered in
	// later rules, so the blocks after it may still change. If the path reaches an ending, it is the last block.
	Blocks []PathBlock
	// Ending is the ID of the ending block that the path reaches. It is empty if the path ends without an ending block.
	Ending string
	// Variables are the form's variables with their values at the end of the path, each a float64 or a string.
	Variables map[string]any
	// Violations are the violations in the given answers, in the order of an [*Error]. An invalid answer counts as
	// unanswered. A missing required answer is not a violation here, but a missing required part of an answer is.
	Violations []Violation
}

// PathBlock is one block on a path.
type PathBlock struct {
	ID string
	// Required is whether the submission is rejected without an answer to the block. It does not apply to the children of
	// a group, which have their own required field.
	Required bool
}
