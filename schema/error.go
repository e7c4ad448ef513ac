package schema

import "fmt"

// The codes of a [Violation].
const (
	CodeRequired     = "REQUIRED"      // something that must be given is missing
	CodeWrongType    = "WRONG_TYPE"    // another JSON type is expected; null where it is not allowed
	CodeTooLong      = "TOO_LONG"      // more characters or bytes than allowed
	CodeTooShort     = "TOO_SHORT"     // fewer characters than needed
	CodeOutOfRange   = "OUT_OF_RANGE"  // a number, date or time outside its bounds
	CodeNotAChoice   = "NOT_A_CHOICE"  // an answer that is none of the block's choices
	CodeTooMany      = "TOO_MANY"      // more items or levels than allowed
	CodeTooFew       = "TOO_FEW"       // fewer items or members than needed
	CodeDuplicate    = "DUPLICATE"     // something that must be unique is there twice
	CodeBadFormat    = "BAD_FORMAT"    // text that is not in the expected form
	CodeNotAllowed   = "NOT_ALLOWED"   // a value that is none of the allowed ones
	CodeUnknownField = "UNKNOWN_FIELD" // a member that the description does not name
)

// MaxViolations is the number of violations that one [Error] carries at most.
const MaxViolations = 50

// Violation is one broken rule.
type Violation struct {
	// Path is a JSON Pointer into the body, "" for the body itself. For what does
	// not stand in a body it is the place and the name: "query:limit",
	// "path:blockId". What stands very deep in a body, below long names, has the
	// pointer of a value around it, so that an answer to a small body stays small.
	Path string `json:"path"`
	// Field is the id of the block that an answer belongs to. Empty for requests.
	Field string `json:"field,omitempty"`
	// Code is one of the Code constants.
	Code string `json:"code"`
	// Message says to a person what is expected. It never repeats the value.
	Message string `json:"message"`
}

// Error says that a body, parameter or response breaks rules: status 422. It
// carries what was found, sorted by path and then code, cut to the first
// [MaxViolations]. Of input with many hundred faults, those count that were found
// first.
type Error struct {
	Violations []Violation
}

// Error names the first violation and the number of the others.
func (e *Error) Error() string {
	if len(e.Violations) == 0 {
		return "schema: not valid"
	}
	first := e.Violations[0]
	where := first.Path
	if where == "" {
		where = "body"
	}
	text := fmt.Sprintf("schema: %s: %s (%s)", where, first.Message, first.Code)
	if more := len(e.Violations) - 1; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
