package schema

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Errors of the service's Go calls, which may be wrapped. Compare with [errors.Is].
var (
	// ErrClosed means that the form takes no more responses.
	ErrClosed = errors.New("formsvc: the form is closed")
	// ErrIdempotencyKeyReused means that another response is stored with the same idempotency key, and that the new
	// response asks for StrictIdempotency.
	ErrIdempotencyKeyReused = errors.New("formsvc: another submission has this idempotency key")
	// ErrAlreadySubmitted means that the submission is complete, so a partial submission can no longer be saved.
	ErrAlreadySubmitted = errors.New("formsvc: the response was already submitted")
	// ErrBlockExists means that the form already has a block with this id.
	ErrBlockExists = errors.New("formsvc: the form already has a block with this ID")
	// ErrUnsupported means that the storage, such as one of the host's own, does not keep this.
	ErrUnsupported = errors.New("formsvc: the storage does not support this kind of data")
	// ErrNoDispatcher means that deliveries have been due for five minutes, and that no process has run a dispatcher for
	// as long.
	ErrNoDispatcher = errors.New("formsvc: deliveries are waiting but no process runs a dispatcher")
	// ErrNoMaintenance means that no process has done maintenance for a day.
	ErrNoMaintenance = errors.New("formsvc: no process runs the maintenance")
)

// RejectedURLError says why nothing may be sent to the URL of a webhook: the guard of package webhooks refuses it. An
// *[Error] is found in it as well, so a handler that knows that one needs no case for this.
type RejectedURLError struct {
	// Reason is in English and for the user, such as "its scheme must be http or https". It says nothing about the host's
	// network.
	Reason string
}

// Error is for logs.
func (e *RejectedURLError) Error() string { return "URL rejected: " + e.Reason }

// Unwrap returns the *[Error] with the violation.
func (e *RejectedURLError) Unwrap() error { return &Error{Violations: []Violation{e.Violation()}} }

// Violation is the error as one violation of a body.
func (e *RejectedURLError) Violation() Violation {
	return Violation{Path: "/url", Code: CodeNotAllowed, Message: e.Reason}
}

// The codes of a [Violation]. [CodeParams] lists the parameters of each.
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
	// Path is a JSON Pointer into the body, "" for the body itself. For a value outside the body it is the location and
	// the name: "query:limit", "path:blockId". A value that is nested very deeply, below long names, has the pointer of an
	// outer value, so that the response to a small body stays small.
	Path string `json:"path"`
	// Field is the id of the block that an answer belongs to. Empty for requests.
	Field string `json:"field,omitempty"`
	// Code is one of the Code constants.
	Code string `json:"code"`
	// Message says to a person what is expected, in English. It never repeats the value.
	Message string `json:"message"`
	// Params are what Message says as values, for a host that writes the sentence in another language: see [CodeParams].
	// Only violations of answers have them; of requests it is nil, and so it is when the code has no parameters.
	Params map[string]any `json:"params,omitempty"`
}

// CodeParams returns the names of the parameters that the violations of an answer carry under a code: those that are
// always there, and those that may be missing.
//
//   - type: the expected type: "string", "number", "integer", "boolean", "array", "object" or "choice" (the id of a
//     choice, or an object with it).
//   - limit: the largest number of characters or bytes, an int.
//   - min, max: for counts an int. For numbers a [json.Number], which prints as people write numbers. For dates a day
//     as YYYY-MM-DD. Both bounds are included.
//   - step: the distance of two values of a scale, a json.Number.
//   - unit: the counted unit: "characters", "bytes", "choices", "files" or "steps" (of the form's rules).
//   - format: the expected format: "text" (without control characters), "line" (text without line breaks), "email",
//     "phone" (in the form of the block's country or an international one), "international_phone", "url", "date",
//     "date-time", "year" (of a date: four digits without a zero in front), "offset" (after a date and a time), "time",
//     "country", "currency", "decimal", "file_name", "media_type", "choice" (an id or an own text, not both) or "json".
//   - reason: the kind of list that must contain the value, or why no value is accepted: "weekday", "date",
//     "file_type", "picture", "amount", "currency", "hidden" (a part that the block does not ask for), "host" (only the
//     host may answer), "respondent" (the host must not answer) or "no_answer" (the block takes none).
//   - allowed: the accepted values: week days as a []int, 0 for Sunday, and a []string of anything else. It is missing
//     when there is no list, or it has more than [MaxViolations] items.
//
// The slices are the caller's own. A code without parameters, or one that no answer has, returns nil.
func CodeParams(code string) (always, optional []string) {
	p := codeParams[code]
	return slices.Clone(p.always), slices.Clone(p.optional)
}

type params struct{ always, optional []string }

var codeParams = map[string]params{
	CodeWrongType:  {always: []string{"type"}},
	CodeTooLong:    {always: []string{"limit", "unit"}},
	CodeOutOfRange: {optional: []string{"max", "min", "step", "unit"}},
	CodeTooMany:    {always: []string{"max", "unit"}},
	CodeTooFew:     {always: []string{"min", "unit"}},
	CodeBadFormat:  {always: []string{"format"}},
	CodeNotAllowed: {always: []string{"reason"}, optional: []string{"allowed"}},
}

// Error says that a body, parameter or response breaks rules: status 422. It carries what was found, sorted by path and
// then code, cut to the first [MaxViolations]. Of input with many hundred faults, those count that were found first.
type Error struct {
	Violations []Violation
}

// Error is for logs: it names the first five violations and the number of the others. Pages show the Message of each
// violation next to the field that Path names.
func (e *Error) Error() string {
	const shown = 5
	texts := make([]string, 0, shown)
	for _, v := range e.Violations[:min(shown, len(e.Violations))] {
		texts = append(texts, cmp.Or(v.Path, "body")+": "+v.Message+" ("+v.Code+")")
	}
	text := "schema: " + cmp.Or(strings.Join(texts, "; "), "not valid")
	if more := len(e.Violations) - shown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
