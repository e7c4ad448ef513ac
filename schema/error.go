package schema

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// These errors are returned by the Go API. They may be wrapped, so compare them with [errors.Is].
var (
	// ErrClosed means that the form accepts no submissions: it is closed, full or not open yet.
	ErrClosed = errors.New("formsvc: the form is closed")
	// ErrIdempotencyKeyReused means that StrictIdempotency is set and the key belongs to a different submission.
	ErrIdempotencyKeyReused = errors.New("formsvc: another submission has this idempotency key")
	// ErrAlreadySubmitted means that the partial submission was already submitted.
	ErrAlreadySubmitted = errors.New("formsvc: the response was already submitted")
	// ErrBlockExists means that the form already has a block with this ID.
	ErrBlockExists = errors.New("formsvc: the form already has a block with this ID")
	// ErrInsufficientScope means that the client lacks the scope that the operation requires.
	ErrInsufficientScope = errors.New("formsvc: the client lacks the scope")
	// ErrInvalidKey means that an API key is unknown, malformed, expired or revoked.
	ErrInvalidKey = errors.New("formsvc: invalid API key")
	// ErrUnsupported means that the storage, for example a host's own storage, does not support the feature.
	ErrUnsupported = errors.New("formsvc: the storage does not support this kind of data")
	// ErrNoDispatcher means that deliveries have been due for five minutes but no dispatcher is running.
	ErrNoDispatcher = errors.New("formsvc: deliveries are waiting, but no process is running a dispatcher")
	// ErrNoMaintenance means that no process has run maintenance for a day.
	ErrNoMaintenance = errors.New("formsvc: no process is running maintenance")
)

// RejectedURLError means that the guard of package webhooks rejects the URL of a webhook. It wraps an *[Error], so code
// that handles *Error also handles this error.
type RejectedURLError struct {
	// Reason is an English text for the user, such as "its scheme must be http or https". It does not reveal the host's
	// network.
	Reason string
}

// Error returns a text for logs.
func (e *RejectedURLError) Error() string {
	return "URL rejected: " + e.Reason + " (see webhooks.Config.AllowedNetworks and Service.LocalWebhooks)"
}

// Unwrap returns the *[Error] with the violation.
func (e *RejectedURLError) Unwrap() error { return &Error{Violations: []Violation{e.Violation()}} }

// Violation returns the error as a violation in a request body.
func (e *RejectedURLError) Violation() Violation {
	return Violation{Path: "/url", Code: CodeNotAllowed, Message: e.Reason}
}

// These are the codes of a [Violation]. [CodeParams] lists the parameters of each code.
const (
	CodeRequired     = "REQUIRED"      // a required value is missing
	CodeWrongType    = "WRONG_TYPE"    // the JSON type is wrong, or null is not allowed
	CodeTooLong      = "TOO_LONG"      // more characters or bytes than allowed
	CodeTooShort     = "TOO_SHORT"     // fewer characters than required
	CodeOutOfRange   = "OUT_OF_RANGE"  // a number, date or time is outside its limits
	CodeNotAChoice   = "NOT_A_CHOICE"  // an answer is not one of the block's choices
	CodeTooMany      = "TOO_MANY"      // more items or levels than allowed
	CodeTooFew       = "TOO_FEW"       // fewer items or fields than required
	CodeDuplicate    = "DUPLICATE"     // a value occurs more than once although it must be unique
	CodeBadFormat    = "BAD_FORMAT"    // a text is not in the expected format
	CodeNotAllowed   = "NOT_ALLOWED"   // a value is not one of the allowed values
	CodeUnknownField = "UNKNOWN_FIELD" // a field is not in the API description
	CodeCheckFailed  = "CHECK_FAILED"  // a check of the form rejects an answer, with the form's message
)

// MaxViolations is the maximum number of violations in an [Error].
const MaxViolations = 50

// Violation is one broken rule.
type Violation struct {
	// Path is a JSON Pointer into the body, or "" for the body itself. For values outside the body, Path consists of a
	// location and a name, such as "query:limit" or "path:blockId". If the pointer would be very long, Path points to
	// an enclosing value, so that the response stays small.
	Path string `json:"path"`
	// Field is the block ID if the violation is in an answer. Otherwise it is empty.
	Field string `json:"field,omitempty"`
	// Code is one of the Code constants.
	Code string `json:"code"`
	// Message is an English sentence that says what is expected. It never repeats the value.
	Message string `json:"message"`
	// Params are the values in Message. A host can use them to write Message in another language: see [CodeParams].
	// Params is nil if the code has no parameters, and for values other than answers.
	Params map[string]any `json:"params,omitempty"`
}

// CodeParams returns the parameters that violations with a code have in answers. The result always lists the parameters
// that every such violation has, and the result optional lists the rest.
//
//   - type: the expected type: "string", "number", "integer", "boolean", "array", "object" or "choice" (a choice ID, or
//     an object with it).
//   - limit: the maximum number of characters or bytes, an int.
//   - min, max: the inclusive limits: an int for counts, a [json.Number] for numbers, YYYY-MM-DD for dates.
//   - step: the difference between adjacent values of a scale, a json.Number.
//   - unit: the counted unit: "characters", "bytes", "choices", "files" or "steps" (of rules).
//   - format: the expected format: "text" (without control characters), "line" (text without line breaks), "email",
//     "phone" (a national number of the block's country, or an international number), "international_phone", "url",
//     "date", "date-time", "year" (of a date, from 1000 to 9999), "offset" (after a date and a time), "time",
//     "country", "currency", "decimal", "file_name", "media_type", "choice" (an ID or an “Other” text, not both) or
//     "json".
//   - reason: the kind of list that must contain the value, or why no value is accepted: "weekday", "date",
//     "file_type", "picture", "amount", "currency", "hidden" (a hidden part of the block), "host" (only the host can
//     answer), "respondent" (the host cannot answer), "no_answer" (the block accepts no answers) or "text_changed"
//     (the respondent has seen another legal text).
//   - say: the message of a check as the form has it, with the marks of a [Text].
//   - allowed: the accepted values: an []int of weekdays, where 0 is Sunday, and otherwise a []string. It is missing if
//     there is no list, or if the list has more than [MaxViolations] items.
//
// The caller can modify the slices. Both are nil if the code has no parameters or never occurs in answers.
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

	CodeCheckFailed: {always: []string{"say"}},
}

// Error lists the violations in a body, a parameter or a submission (status 422), sorted by path and code. It contains
// only the first [MaxViolations]. If there are several hundred violations, the check stops before it finds all of them.
type Error struct {
	Violations []Violation
}

// Error returns a text for logs, with the first five violations and the number of remaining violations. Instead of this
// text, pages should show the Message of each violation next to its field.
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
