package storage

import (
	"errors"
	"strconv"
	"strings"
)

// What a store answers with. Each may be wrapped; compare with [errors.IsPublic].
var (
	// ErrNotFound: the record does not exist, is in the trash, or is not
	// accessible to the actor. The three are not told apart.
	ErrNotFound = errors.New("storage: not found")
	// ErrNotOwner: the actor may see the workspace but does not own it.
	ErrNotOwner = errors.New("storage: not the owner")
	// ErrRevisionMismatch: the form, or a document or half response beside it, is not at an
	// expected revision. Returned as a [*RevisionError].
	ErrRevisionMismatch = errors.New("storage: revision mismatch")
	// ErrConflict: the current state does not allow the call.
	ErrConflict = errors.New("storage: conflict")
	// ErrLimitReached: the call would exceed the number that it carries.
	ErrLimitReached = errors.New("storage: limit reached")
	// ErrDuplicate: a value that must be new is already there.
	ErrDuplicate = errors.New("storage: duplicate")
	// ErrUnavailable: the store cannot be reached or is not ready; nothing was
	// changed and the call may be repeated.
	ErrUnavailable = errors.New("storage: unavailable")
	// ErrOutcomeUnknown: the store was lost while it made the change durable;
	// the change may have happened or not.
	ErrOutcomeUnknown = errors.New("storage: outcome unknown")
	// ErrInvalidValue: a value cannot be represented by the store.
	ErrInvalidValue = errors.New("storage: value cannot be stored")
	// ErrUnimplemented: the store does not have this method.
	ErrUnimplemented = errors.New("storage: unimplemented")
)

// ErrSecret means that a signing secret cannot be opened. The service returns it, and no store.
var ErrSecret = errors.New("webhooks: cannot decrypt signing secret")

// RevisionError is an [ErrRevisionMismatch] that tells the current revision of the form, or of
// one of its documents.
type RevisionError struct {
	Current int64
	Kind    string // of the document; empty: the form
}

func (e *RevisionError) Error() string {
	return strings.TrimSuffix(ErrRevisionMismatch.Error()+" "+e.Kind, " ") + ": current is " + strconv.FormatInt(e.Current, 10)
}

// Is reports whether target is [ErrRevisionMismatch].
func (e *RevisionError) Is(target error) bool { return target == ErrRevisionMismatch }
