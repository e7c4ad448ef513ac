package storage

import "context"

// RespondentStore finds and removes the data of one respondent in all forms. A store can leave both methods to
// [Unimplemented]. It then ignores every respondent, because the service passes none: before it stores a respondent, it
// calls RespondentSubmissions with a limit of zero.
type RespondentStore interface {
	// RespondentSubmissions is like [SubmissionStore.Submissions], but for the respondent's submissions to all forms
	// outside the trash. If q.Respondent is empty or the page's limit is below 1, it returns without reading.
	RespondentSubmissions(ctx context.Context, q SubmissionsParams, each func(*Submission) error) (more bool, err error)

	// EraseRespondent permanently removes a batch of the respondent's submissions, as DeleteSubmission does, and of the
	// respondent's partial submissions. Their forms can be in the trash. The caller repeats the call while More is true.
	// If p.Respondent is empty, EraseRespondent does nothing.
	EraseRespondent(ctx context.Context, p EraseRespondentParams) (ErasedRespondent, error)
}

// EraseRespondentParams are the parameters of EraseRespondent.
type EraseRespondentParams struct {
	Respondent string
	Max        int // limit for submissions and for partial submissions; if below 1, nothing is removed
	// BeforeDelete is called before submissions are removed, if not nil. If set, a store can remove fewer submissions per
	// call.
	BeforeDelete BeforeDelete
}

// ErasedRespondent counts the records that one call removed.
type ErasedRespondent struct {
	Submissions, Partials int
	More                  bool // whether another call with the same parameters may have work to do
}
