package schema

import "encoding/json"

// Path is a respondent's path through a form, as far as the answers determine it.
type Path struct {
	// Blocks are the top-level blocks on the path, in order. A question that has not been answered counts as unanswered
	// in later rules, so the blocks after it may still change. An ending is always the last block.
	Blocks []PathBlock
	// Ending is the ID of the ending block that the path reaches, or "" if it reaches none.
	Ending string
	// Variables contains the form's variables with their final values, each a float64 or a string.
	Variables map[string]any
	// Answers are the valid answers on the path, the hidden fields, and the variables that rules set, in the format of a
	// stored submission. [DecodeAnswers] decodes them.
	Answers json.RawMessage
	// Violations lists the violations in the given answers, in the same order as an [*Error]. An invalid answer counts
	// as unanswered. A missing required answer is not a violation here, but a missing required part of an answer is.
	Violations []Violation
}

// PathBlock is one block on a path.
type PathBlock struct {
	ID string
	// Required reports whether a submission without an answer to the block is rejected. It does not apply to the
	// children of a group, which have their own required field.
	Required bool
}
