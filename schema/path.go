package schema

// Path is the way that a respondent takes through a form, as far as the answers that were given say.
type Path struct {
	// Blocks are the top-level blocks on the path in the order in which the respondent meets them. A question without an
	// answer counts as unanswered in the rules of later blocks, so what follows it may still change. An ending that is
	// reached is the last.
	Blocks []PathBlock
	// Ending is the id of the ending block that the path ends at; "" when it ends without one.
	Ending string
	// Variables are the variables of the form with the values that they have at the end of the path: each a float64 or a
	// string.
	Variables map[string]any
	// Faults are what is wrong with the answers that were given, sorted as in a [*Error]. A faulty answer counts as
	// unanswered. That a required answer is missing is not among them; that one that was begun lacks a required part is.
	Violations []Violation
}

// PathBlock is one block on a path.
type PathBlock struct {
	ID string
	// Required: the response is refused without an answer to the block. It says nothing about the children of a group,
	// whose own required counts.
	Required bool
}
