package storage

import (
	"context"
	"encoding/json"
	"time"
)

// MaxSubmissionStates is the number of earlier states of a submission that a store retains.
const MaxSubmissionStates = 20

// SubmissionUpdateStore changes stored submissions. A store can leave both methods to [Unimplemented].
type SubmissionUpdateStore interface {
	// UpdateSubmission changes a submission atomically and returns it. It makes these checks in order:
	//
	// 1. ErrNotFound if the form is not accessible or has no such submission.
	// 2. A *RevisionError with the Kind "submission" if the submission is not at IfRevision.
	// 3. A *RevisionError if FormRevision is not current.
	// 4. ErrDuplicate if another submission has the same UniqueAnswer for the same UniqueField. The answer is not checked
	// if this submission already has it.
	//
	// Then it stores the earlier state, of which it retains the newest MaxSubmissionStates, and increments the revision
	// and the number of [SubmissionStore.SubmissionsRemoved]. UniqueAnswer replaces all entries of the submission. The
	// status of the form and its acceptance rules do not matter. The funnel and queued deliveries do not change. It queues
	// Event as Submit does, but only for the form's enabled webhooks with Updates.
	UpdateSubmission(ctx context.Context, actor Actor, u SubmissionUpdate) (Submission, error)

	// SubmissionHistory returns the earlier states of a submission, newest first. It returns ErrNotFound as
	// [SubmissionStore.Submission] does. The methods that remove a submission also remove its earlier states.
	SubmissionHistory(ctx context.Context, actor Actor, form, id ID) ([]SubmissionState, error)
}

// SubmissionUpdate contains the parameters of UpdateSubmission. It replaces Answers, Hidden and FormRevision.
type SubmissionUpdate struct {
	FormID, ID      ID
	IfRevision      int64           // the submission's expected revision
	FormRevision    int64           // the form revision against which the answers were checked
	Answers, Hidden json.RawMessage // as in [Submission]
	Ending          string          // as in [Submission]
	At              time.Time       // must not be zero
	By              ID              // the user who makes the change, or zero for the host
	ByRespondent    bool            // whether the host makes the change for the respondent
	// UniqueAnswer and UniqueField are as in [NewSubmission].
	UniqueAnswer []byte
	UniqueField  UniqueField
	Event        Event // not queued if its ID is zero
}

// SubmissionState is an earlier state of a submission.
type SubmissionState struct {
	Revision, FormRevision int64
	Answers, Hidden        json.RawMessage // as in [Submission]
	ReplacedAt             time.Time
	ReplacedBy             ID   // the user who made the change, or zero for the host
	ReplacedByRespondent   bool // whether the host made the change for the respondent
}
