package schema

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

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

// Violation is one broken rule (specification, "Errors": an item of details).
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
	// Message tells a person what is expected. It never repeats the value.
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

// Join makes one *[Error] of several, sorted and cut as any: for checks of one
// request that are made in different places. nil is skipped; nil is returned when
// nothing else is given. Any other error is no list of faults and wins: the first
// of them is returned as it is.
func Join(errs ...error) error {
	var all []Violation
	for _, err := range errs {
		var e *Error
		switch {
		case err == nil:
		case errors.As(err, &e):
			all = append(all, e.Violations...)
		default:
			return err
		}
	}
	if len(all) == 0 {
		return nil
	}
	return &Error{Violations: firstOf(all)}
}

// SyntaxError says that a body is no acceptable JSON: status 400.
type SyntaxError struct {
	Offset int    // bytes before the fault
	Reason string // for people
}

// Error tells the reason and the offset.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("schema: malformed JSON at offset %d: %s", e.Offset, e.Reason)
}

// collectLimit is the number of faults after which the search for more ends. It
// is more than an [Error] carries, so that the first by path are among them
// whenever a body has not many more; and it is bounded, so that a hostile body
// with 100,000 faults costs no more than a small one.
const collectLimit = 16 * MaxViolations

// violations collects what is wrong. The zero value is ready.
type violations struct {
	list []Violation
}

// full reports that nothing more is taken, so that there is no use in looking
// further, or in making a path.
func (v *violations) full() bool { return len(v.list) >= collectLimit }

func (v *violations) add(path, code, message string) {
	v.addField(path, "", code, message)
}

func (v *violations) addField(path, field, code, message string) {
	if !v.full() {
		v.list = append(v.list, Violation{Path: path, Field: field, Code: code, Message: message})
	}
}

// err returns nil when nothing was added, else an *Error.
func (v *violations) err() error {
	if len(v.list) == 0 {
		return nil
	}
	return &Error{Violations: firstOf(v.list)}
}

// firstOf sorts a copy of list, drops repetitions of the same code at the same
// place and keeps the first MaxViolations.
func firstOf(list []Violation) []Violation {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Violation) int {
		return cmp.Or(
			strings.Compare(a.Path, b.Path),
			strings.Compare(a.Code, b.Code),
			strings.Compare(a.Field, b.Field),
		)
	})
	list = slices.CompactFunc(list, func(a, b Violation) bool {
		return a.Path == b.Path && a.Code == b.Code && a.Field == b.Field
	})
	// A copy again: what is cut off would be kept in memory otherwise.
	return slices.Clone(list[:min(len(list), MaxViolations)])
}
