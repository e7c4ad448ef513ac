package storage

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// Errors that a store returns. They can be wrapped, so compare them with [errors.Is].
var (
	// ErrNotFound means that the record does not exist, is in the trash, or is not accessible to the actor. Callers
	// cannot distinguish these cases.
	ErrNotFound = errors.New("storage: not found")
	// ErrNotOwner means that the actor can access the workspace but does not own it.
	ErrNotOwner = errors.New("storage: not the owner")
	// ErrRevisionMismatch means that a form, document, submission or partial submission is not at an expected revision.
	// The error is a [*RevisionError].
	ErrRevisionMismatch = errors.New("storage: revision mismatch")
	// ErrConflict means that the current state does not allow the call.
	ErrConflict = errors.New("storage: conflict")
	// ErrLimitReached means that the call would exceed a limit in its parameters or in the form's acceptance rules.
	ErrLimitReached = errors.New("storage: limit reached")
	// ErrDuplicate means that a value that must be unique already exists.
	ErrDuplicate = errors.New("storage: duplicate")
	// ErrUnavailable means that the store is unreachable or not ready. Nothing changed, and the call can be repeated.
	ErrUnavailable = errors.New("storage: unavailable")
	// ErrOutcomeUnknown means that the connection was lost during the commit, so the change may have been made.
	ErrOutcomeUnknown = errors.New("storage: outcome unknown")
	// ErrInvalidValue means that the store cannot represent a value.
	ErrInvalidValue = errors.New("storage: value cannot be stored")
	// ErrUnimplemented means that the store does not implement the method.
	ErrUnimplemented = errors.New("storage: unimplemented")
)

// ErrSecret means that a signing secret cannot be decrypted. The service returns it, not the store.
var ErrSecret = errors.New("webhooks: cannot decrypt signing secret: check WithSecretCipher")

// RevisionError is an [ErrRevisionMismatch] with the current revision of the form, document, submission or partial
// submission.
type RevisionError struct {
	Current int64
	Kind    string // the document's kind, "submission", "partial" for a partial submission, or empty for a form
}

func (e *RevisionError) Error() string {
	return strings.TrimSuffix(ErrRevisionMismatch.Error()+" "+e.Kind, " ") + ": current is " + strconv.FormatInt(e.Current, 10)
}

// Is reports whether target is [ErrRevisionMismatch].
func (e *RevisionError) Is(target error) bool { return target == ErrRevisionMismatch }

// AnsweredError is an [ErrDuplicate]: the respondent has already submitted a form that accepts one submission per
// respondent. SubmittedAt is the time of the respondent's first submission.
type AnsweredError struct{ SubmittedAt time.Time }

func (e *AnsweredError) Error() string {
	return ErrDuplicate.Error() + " respondent: submitted at " + e.SubmittedAt.UTC().Format(time.RFC3339)
}

// Is reports whether target is [ErrDuplicate].
func (e *AnsweredError) Is(target error) bool { return target == ErrDuplicate }
