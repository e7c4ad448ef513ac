package schema

import (
	"context"
	"slices"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// ChoiceSource provides the choices of a list, such as a host's customers or rooms: see
// [github.com/formsvc/formsvc.WithChoices]. It must be safe for concurrent use.
//
// A source is called before anything is stored, and outside of transactions and locks of the service. All calls for one
// submission or page have 2 seconds in total. If a call fails, panics or takes longer, a submission fails with
// ErrUnavailable, and the error is logged. A call that ignores its context continues to run. At most 64 calls of a
// source run at the same time, and other calls wait within their 2 seconds.
type ChoiceSource interface {
	// Choices returns the first q.Limit choices that contain q.Search, in the order in which respondents see them. More
	// choices are ignored. An ID has 1 to 200 characters, without control characters. Choices with other IDs are
	// omitted. A choice without a label is shown with its ID. Only labels of at most 1,000 characters are shown in full.
	Choices(ctx context.Context, q ChoiceQuery) ([]Choice, error)
	// Labels returns the labels of those ids that Choices would return for the same query with any Search and without a
	// Limit. It must not return other IDs: an ID comes from the respondent, and may belong to another tenant or person.
	// The service does not accept IDs without a label in the result, and copies the labels into submissions.
	Labels(ctx context.Context, ids []string, q ChoiceQuery) (map[string]string, error)
}

// ChoiceQuery says which choices a [ChoiceSource] returns.
type ChoiceQuery struct {
	Form, Workspace storage.ID // of the block
	// By is the value that the choices depend on: the value of the path by in the rule, such as "answers.building". A
	// choice is its ID, and a value other than a text is JSON. It is empty if there is no value.
	By string
	// Respondent is SubmitParams.Respondent. It is empty for previews, for respondents who are not signed in, and for
	// forms with settings.anonymous.
	Respondent string
	Search     string // the search text of the respondent; empty for all choices
	Limit      int    // the maximum number of choices; 0 in calls of Labels
}

// CheckInput is the input of a check: see [github.com/formsvc/formsvc.WithCheck].
type CheckInput struct {
	Form, Workspace storage.ID
	Block           string
	Answer          Answer // the answer to the block; zero for a group
	// Answers are all valid answers on the path so far, in the order of the form. On a form page, respondents may have
	// answered later blocks too.
	Answers    []Answer
	Hidden     map[string]string // hidden fields as they were sent, including undeclared fields
	Respondent string            // as in [ChoiceQuery]
}

// NamedItem is a list of choices or a check of the host.
type NamedItem struct {
	Name  string `json:"name"`
	Title string `json:"title"`
}

// KeyRequest describes a new API key.
type KeyRequest struct {
	// User owns the key. User.ID is required. GET /me returns Name (at most 200 characters) and Email (at most 254).
	// They replace the name and email in the user's earlier keys, even if they are empty.
	User storage.User
	// Name identifies the key to the user. It must have 1 to 120 characters, without control or bidirectional control
	// characters.
	Name      string
	Scopes    []storage.Scope // The permissions. At least one is required.
	ExpiresAt *time.Time      // If nil, the key does not expire.
}

// Principal is the user that an API key belongs to, with the key's scopes.
type Principal struct {
	// KeyID identifies the key in the rate limiter and in logs. It must not be empty, and must not be the key itself.
	// Callers with the same KeyID share a rate limit. For example, a multi-tenant host can use the tenant's ID, see
	// examples/tenants.
	KeyID string
	// UserID is the user who owns the key. It must not be zero. If a host's IDs have a different format, the host can
	// derive UserID with formsvc.UserIDFrom from an ID that is unique among all of the storage's users.
	UserID storage.ID
	// Name and Email are returned by GET /me.
	Name  string
	Email string
	// Scopes are the scopes that the key grants. Unknown scopes are ignored.
	Scopes []storage.Scope
}

// Has reports whether the principal's scopes contain s.
func (p Principal) Has(s storage.Scope) bool {
	return slices.Contains(p.Scopes, s)
}
