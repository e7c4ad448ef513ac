package storage

import (
	"context"
	"encoding/json"
)

// DuplicateStore keeps which answers to a form's unique field are taken.
//
// Each submission has an entry of its own for each [UniqueField] that it was entered
// for: the digest of its answer. An answer is taken while any entry has its digest, so
// of several submissions with the same old answer each has to be removed before it is
// free. Submit makes the entry of what it stores. Submissions from before the field
// was set have none at first. Callers enter them piece by piece: PendingBackfill hands out
// what they have to read, because the store knows neither types of answers nor how to
// compare them, and BackfillAnswers takes the digests. When the last piece is entered,
// the form is covered; see [Form].
//
// Submissions have entries for fields of the past too. These count again when the
// field is set again, and only what came in between has to be entered.
type DuplicateStore interface {
	// PendingBackfill returns the next submissions to enter, in the order of ids, of one
	// form that is neither covered nor in the trash; which of several forms is the
	// store's choice, but none is passed over for ever. A submission that has an entry
	// already need not be among them. When no form has anything to enter, the
	// result's Place is zero; else its submissions are to be handed to BackfillAnswers,
	// also when there are none.
	//
	// It begins entering anew for forms whose gate has older Rules than p.Rules, which
	// it sets. Forms with newer ones are left alone.
	PendingBackfill(ctx context.Context, p PendingBackfillParams) (PendingBackfill, error)

	// BackfillAnswers makes the entries of one piece and moves on to the next one; after
	// the last piece the form is covered. Submissions that are gone or have an entry
	// already are passed over. When the form is gone, or entering is not at this place
	// any more (another process was there first, or it began anew), it does nothing.
	BackfillAnswers(ctx context.Context, at BackfillCursor, entered []AnswerDigest) error
}

// PendingBackfillParams says how much to hand out.
type PendingBackfillParams struct {
	// Rules is the version of the rules that the caller compares by.
	Rules int
	// Max bounds the submissions, MaxBytes the bytes of their answers together: one
	// submission comes whatever its size. Below 1: nothing is done, and no bound.
	Max, MaxBytes int
}

// PendingBackfill is a piece of a form's submissions to enter.
type PendingBackfill struct {
	Cursor      BackfillCursor
	Submissions []SubmissionAnswers
}

// BackfillCursor says which piece of which form is entered. Round, From and To are the
// store's own.
type BackfillCursor struct {
	Form     ID
	Field    UniqueField
	Pass     int64 // differs whenever entering began anew
	From, To ID    // the piece; To is zero in the last one
}

// SubmissionAnswers are the answers of one submission.
type SubmissionAnswers struct {
	ID      ID
	Answers json.RawMessage
}

// AnswerDigest is an answer of a submission to the unique field, as a digest.
// Submissions without an answer have none.
type AnswerDigest struct {
	Submission ID
	Digest     []byte
}
