package formsvc

import (
	"crypto/sha256"
	"encoding/json"
	"time"

	"github.com/formsvc/formsvc/internal/intake"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// These types are aliases of types in other packages.
type (
	// ID identifies a record. The zero ID identifies no record, and IsZero reports whether an ID is zero. String,
	// [ParseID], JSON and text use 24 hexadecimal digits. Databases can store an ID in binary and text columns. See
	// [storage.ID].
	ID = storage.ID
	// User is the owner of API keys. See [storage.User].
	User = storage.User
	// Key describes a stored API key. It does not contain the key itself. Unset times are zero. See [storage.Key].
	Key = storage.Key
	// Workspace contains forms, and has an owner and members. See [storage.Workspace].
	Workspace = storage.Workspace
	// Form is a stored form. Its method IsClosed reports whether it is closed to submissions at a given time.
	// [DecodeForm] decodes its definition. Respondents use its PublicID. See [storage.Form].
	Form = storage.Form
	// Submission is a stored submission. [DecodeAnswers] decodes its answers. See [storage.Submission].
	Submission = storage.Submission
	// SubmissionState is an earlier state of a submission. See [storage.SubmissionState].
	SubmissionState = storage.SubmissionState
	// FormContent contains the name, the type and the definition of a form, for [schema.Diff]. See
	// [storage.FormContent].
	FormContent = storage.FormContent
	// Definition contains a form's sections as JSON values. Package schema has Go types for them. See
	// [storage.Definition].
	Definition = storage.Definition
	// Webhook is a destination for the submissions to a form. It does not contain the signing secret, but HasSecret
	// reports whether there is one. See [storage.Webhook].
	Webhook = storage.Webhook
	// Delivery is one attempt to deliver an event to a webhook. See [storage.Delivery].
	Delivery = storage.Delivery
	// Partial is a stored partial submission. Its answers are stored as they were sent. See [storage.Partial].
	Partial = storage.Partial
	// RevisionError means that a form or another record (see Kind) is not at the expected revision. It contains the
	// current revision. Find it with errors.As and a *RevisionError. See [storage.RevisionError].
	RevisionError = storage.RevisionError
	// AnsweredError is an [ErrDuplicate]: the respondent has already submitted a form with settings.onePerRespondent. Find
	// it with errors.As and an *AnsweredError. See [storage.AnsweredError].
	AnsweredError = storage.AnsweredError
	// Counters count a form's views, starts and submissions. See [storage.Counters].
	Counters = storage.Counters
	// Scope is a permission of an API key, such as forms:read. [Scopes] lists all scopes.
	Scope = storage.Scope
	// Limits are size limits that a host can change. For the defaults, see [schema.Limits].
	Limits = schema.Limits
	// Error lists all violations in a submission or in other arguments. Find it with errors.As and an *Error. Its
	// method Error is for logs. Show users the Message of each violation, which is an English sentence. For other
	// languages, see [schema.CodeParams]. The Field of a violation in an answer is the block ID. The Path of other
	// violations uses the field names of the API: /signing_secret is the field SigningSecret, and
	// /definition/blocks/3/label is a field in Definition.Blocks. See [schema.Error].
	Error = schema.Error
)

// These are the scopes of API keys in the HTTP API. The Go API needs no scopes.
const (
	ScopeFormsRead        = storage.ScopeFormsRead        // read forms and blocks
	ScopeFormsWrite       = storage.ScopeFormsWrite       // change forms and blocks
	ScopeSubmissionsRead  = storage.ScopeSubmissionsRead  // read and export submissions
	ScopeSubmissionsWrite = storage.ScopeSubmissionsWrite // delete and change submissions
	ScopeWorkspacesRead   = storage.ScopeWorkspacesRead
	ScopeWorkspacesWrite  = storage.ScopeWorkspacesWrite
	ScopeWebhooksRead     = storage.ScopeWebhooksRead
	ScopeWebhooksWrite    = storage.ScopeWebhooksWrite
	ScopeAnalyticsRead    = storage.ScopeAnalyticsRead // read metrics
)

// Scopes returns all scopes.
func Scopes() []Scope { return storage.Scopes() }

// These are the values of a form's Status.
const (
	StatusDraft     = storage.StatusDraft     // accepts no submissions and is not visible to respondents
	StatusPublished = storage.StatusPublished // accepts submissions unless it is closed
)

// ParseID parses an ID from 24 hexadecimal digits, in lower or upper case.
func ParseID(s string) (ID, error) { return storage.ParseID(s) }

// These are the errors of the Go API. Compare them with [errors.Is]. See [Client] for the HTTP status of each.
var (
	// ErrNotFound means that there is no such record, or that it is in the trash.
	ErrNotFound = storage.ErrNotFound
	// ErrConflict means that the current state of the record does not allow the call.
	ErrConflict = storage.ErrConflict
	// ErrDuplicate means that another submission to the form has the same answer to its duplicateField.
	ErrDuplicate = storage.ErrDuplicate
	// ErrLimitReached means that the user has the maximum number of workspaces or keys.
	ErrLimitReached = storage.ErrLimitReached
	// ErrNotOwner means that only the workspace's owner can perform the operation.
	ErrNotOwner = storage.ErrNotOwner
	// ErrInsufficientScope means that the client lacks the scope that the operation requires. See [Client.With].
	ErrInsufficientScope = schema.ErrInsufficientScope
	// ErrClosed means that the form accepts no submissions: it is closed, full or not open yet.
	ErrClosed = schema.ErrClosed
	// ErrIdempotencyKeyReused means that StrictIdempotency is set and the key belongs to a different submission.
	ErrIdempotencyKeyReused = schema.ErrIdempotencyKeyReused
	// ErrAlreadySubmitted means that the partial submission was already submitted.
	ErrAlreadySubmitted = schema.ErrAlreadySubmitted
	// ErrUnsupported means that the storage does not support the feature.
	ErrUnsupported = schema.ErrUnsupported
	// ErrUnavailable means that the storage is not available. Nothing was changed, and the call can be repeated.
	ErrUnavailable = storage.ErrUnavailable
	// ErrOutcomeUnknown means that the connection to the storage failed, and the change may or may not be stored.
	ErrOutcomeUnknown = storage.ErrOutcomeUnknown
)

// UserIDFrom converts a host's own user ID, in any format, to an [ID]. The result is the first 12 bytes of the SHA-256
// of hostID in every release, so a host needs no mapping table. If each tenant of the host has its own users, hostID
// must contain the tenant: see examples/tenants. The equivalent in PostgreSQL is left(encode(sha256(convert_to(id,
// 'UTF8')), 'hex'), 24).
func UserIDFrom(hostID string) ID {
	sum := sha256.Sum256([]byte(hostID))
	return ID(sum[:12])
}

// Query selects which records a list returns. The zero value selects all records.
type Query struct {
	Limit int // The maximum number of records. A value below 1 means no limit.
	// After is the position after which the list continues. The record at this position may have been deleted. If nil,
	// the list starts with the newest record.
	After *Position
}

// Position is the position of a record in a list, which is ordered by (Time, ID), newest first. ID is the record's ID.
// Time is CreatedAt of a workspace or webhook, FailingSince of a paused webhook, and SavedAt of a partial submission.
type Position = storage.Position

// Precondition is a condition for changing a form or submission, see [IfRevision].
type Precondition struct{ revision int64 }

// IfRevision makes a change conditional. If the form or submission is at another revision, the error is a
// [*RevisionError]. With several conditions, one of the revisions must match. 0 means no condition.
func IfRevision(revision int64) Precondition { return Precondition{revision} }

// WorkspaceCreate describes a new workspace.
type WorkspaceCreate struct {
	Name string // 1 to 120 characters after trimming, without control or bidirectional control characters.
	// Owner is required with AsHost. With As, it defaults to the user, and any other owner results in ErrNotOwner.
	Owner ID
}

// FormQuery selects which forms a list returns, by default all accessible forms. A Limit below 1 means no limit.
type FormQuery struct {
	Workspace ID // If set, only forms in this workspace are returned.
	Limit     int
}

// FormCreate describes a form for [Client.CreateForm] and [Client.EnsureForm].
type FormCreate struct {
	Workspace ID // Required.
	// PublicID is required by EnsureForm: the form's ID in the URL of its page, of 1 to 64 letters (A-Z, a-z), digits, -
	// and _, starting with a letter or digit. No other form of the service may have it. CreateForm does not accept it,
	// and creates a random ID.
	PublicID string
	Name     string // 1 to 200 characters after trimming, without control or bidirectional control characters.
	Type     string // SINGLE or MULTI. Defaults to SINGLE.
	// Definition contains the sections in the API's format. Nil sections are empty. The field Format is ignored.
	Definition Definition
}

// EnsureOption is an option of [Client.EnsureForm], see [Overwrite].
type EnsureOption struct{ overwrite bool }

// Overwrite makes EnsureForm replace edits. It stores the given form, publishes it, moves it back to the given workspace,
// and discards its working copy. The replaced published state becomes a version ([Client.Versions]).
func Overwrite() EnsureOption { return EnsureOption{overwrite: true} }

// EnsuredForm is the result of [Client.EnsureForm].
type EnsuredForm struct {
	Form
	// Edited reports whether EnsureForm changed nothing because someone edited the form. Form then contains the edits,
	// except for those in a working copy.
	Edited bool
}

// FormUpdate contains changes to a form. Nil fields leave the stored value unchanged, and at least one field must
// be set. A section in Definition replaces the whole stored section. Definition.Format is ignored.
type FormUpdate struct {
	Name   *string
	Type   *string // The layout, SINGLE or MULTI.
	Status *string // draft or published.
	// Workspace moves the form to another workspace. Only the owner of its current workspace can move it.
	Workspace  *ID
	Definition Definition
	IfRevision int64 // The expected revision of the form, see [IfRevision].
}

// WorkingCopy changes the working copy of one form, see [Client.WorkingCopy]. It is safe for concurrent use. Methods of
// the zero WorkingCopy panic.
type WorkingCopy struct {
	formClient, copyClient Client
	form                   ID
}

// PublishOptions are options for publishing a working copy.
type PublishOptions struct {
	IfRevision int64 // The expected revision of the working copy, see [IfRevision].
	// Resolutions selects a side for each conflict, by [Conflict].Path. Other paths are ignored. Also set IfRevision to
	// the Revision of the [ConflictError], so that the call fails if the working copy was changed in the meantime.
	Resolutions map[string]Side
	// DryRun makes Publish return the changed form or the error without storing anything.
	DryRun bool
}

// These types describe the conflicts of [WorkingCopy.Publish].
type (
	// ConflictError lists the parts that both the form and its working copy changed. Find it with errors.As and a
	// *ConflictError. See [schema.ConflictError].
	ConflictError = schema.ConflictError
	// Conflict is a part that was changed differently in the form and in its working copy. See [schema.Conflict].
	Conflict = schema.Conflict
	// Side is one side of a conflict: the working copy or the form.
	Side = schema.Side
)

// These are the sides of a conflict.
const (
	CopySide = schema.CopySide
	FormSide = schema.FormSide
)

// FormVersion is an earlier published state of a form, see [Client.Versions] and [storage.FormVersion].
type FormVersion = storage.FormVersion

// RestoreOptions are options for restoring a version. IfRevision is the expected revision of the form, see
// [IfRevision].
type RestoreOptions struct {
	IfRevision int64
}

// StoredBlock is one stored top-level block, with the form's revision. See [schema.StoredBlock].
type StoredBlock = schema.StoredBlock

// StoredBlocks are the stored top-level blocks of a form as a JSON array, with the form's revision.
type StoredBlocks struct {
	JSON     json.RawMessage
	Revision int64
}

// Decode returns the blocks as Go values.
func (b StoredBlocks) Decode() ([]schema.Block, error) { return schema.DecodeBlocks(b.JSON) }

// FormValues is the definition of a form as Go values.
type FormValues struct {
	Blocks       []schema.Block
	Settings     schema.Settings
	Theme        schema.Theme
	Variables    map[string]any // float64 or string values
	HiddenFields []string
}

// Answer is one answer of a stored submission. [schema.Value] lists the Go types of its Value, and String returns the
// answer as text. See [schema.Answer].
type Answer = schema.Answer

// SubmissionQuery selects which submissions to a form are returned. The zero value selects all submissions. A Limit
// below 1 means no limit. Do not poll from the last SubmittedAt, because an older submission can become visible later:
// see "Polling" in the package documentation.
type SubmissionQuery struct {
	// Since and Until are the earliest and the latest SubmittedAt, inclusive. A zero value means no limit.
	Since, Until time.Time
	// After is where a list continues, such as [SubmissionPage].Next. If nil, it starts with the newest submission.
	// Summaries ignore it.
	After *Position
	// Respondent selects the submissions of one respondent, see [SubmitParams]. If it is empty, all submissions are
	// selected. If the storage does not support respondents, the error is [ErrUnsupported].
	Respondent string
	Limit      int

	// Where selects submissions by their answers, as in schema.When("nps").Below(7). A condition reads answers as rules
	// do, so that an unanswered block is null, and a variable that no rule has set has its initial value. It can read
	// blocks and hidden fields that the form has; others are a violation at /where. Unlike rules, it can also read the
	// ending (see [schema.WhenEnding]). It can have at most 500 operations
	// and values. A zero value selects all submissions.
	Where Condition
	// Text selects submissions with an answer or hidden field that contains this text. It ignores case, accents and
	// repeated spaces. A choice that was renamed is found by both labels. It can have at most 200 characters. If empty, it
	// selects all submissions.
	Text string
}

// Condition is a condition on the answers of a submission, in the language of rules. See [schema.When].
type Condition = schema.Condition

// SubmissionPage is the result of [Client.SubmissionPage].
type SubmissionPage struct {
	Submissions []Submission
	Read        int64     // How many submissions were read to find Submissions.
	Next        *Position // Where the list continues: see [SubmissionQuery].After. Nil at the end of the list.
}

// Import controls [Client.Import]. The zero value accepts what the form accepts today, and delivers nothing.
type Import struct {
	// Lenient stores submissions whose answers break today's rules, such as answers to deleted blocks, without a
	// required answer, or with choices that a list of the host no longer offers. Their metadata has "imported": true.
	// They do not take part in settings.duplicateField. Their ending is as if invalid answers were missing.
	Lenient bool
	// Deliver controls whether imported submissions are delivered to webhooks.
	Deliver bool
	// Progress is called after each 1,000 lines and at the end. An error ends the import. If nil, nothing is reported.
	Progress func(ImportReport) error
}

// The result of an import.
type (
	// ImportReport is the result of [Client.Import]. See [schema.ImportReport].
	ImportReport = schema.ImportReport
	// RefusedLine is a line of an import that was not stored. See [schema.RefusedLine].
	RefusedLine = schema.RefusedLine
)

// PausedWebhook is a webhook whose deliveries are paused because its destination fails or requested a pause. The
// dispatcher attempts one delivery at PausedUntil. See [storage.PausedWebhook].
type PausedWebhook = storage.PausedWebhook

// PauseReason is the reason why a webhook is paused.
type PauseReason = storage.PauseReason

// These are the reasons for a pause.
const (
	PauseFailures   = storage.PauseFailures   // too many consecutive failures
	PauseRetryAfter = storage.PauseRetryAfter // the destination sent Retry-After
)

// KeyRequest describes a new API key. See [schema.KeyRequest].
type KeyRequest = schema.KeyRequest

// Summary counts the answers of complete submissions to a form. Partial submissions are not included.
type Summary struct {
	Submissions int64
	// Read is how many submissions were read, including those that [SubmissionQuery].Where and Text do not select.
	Read int64
	// CompletionTime is the median completion time of the newest 100 submissions, in seconds.
	CompletionTime float64
	// Incomplete reports whether some older submissions are not counted yet, see [Client.SummaryWithin].
	Incomplete bool
	// Days counts the submissions by day in the time zone of [WithTimeZone], oldest first. Days without a submission are
	// omitted.
	Days []DayCount
	// Endings counts the submissions by the ending that the respondent reached: all endings of the form in form order,
	// and then removed endings, which have no label. Submissions without an ending are not counted.
	Endings []ChoiceCount
	// Blocks lists the blocks with answers in form order, then hidden fields and variables, then blocks that were
	// removed from the form but have answers in submissions.
	Blocks []BlockSummary
}

// BlockSummary counts the answers to one block, hidden field or variable. Fields that do not apply to its type are
// zero.
type BlockSummary struct {
	ID, Type, Label string
	Deleted         bool // Whether the block was removed from the form.
	Answered        int64
	// Skipped is the number of submissions without an answer, including submissions from before the block was added.
	Skipped int64
	// OtherTypes counts the answers that were given while the block had another type. The other fields do not include
	// these answers. short_text and long_text count as the same type, and so do single_choice, picture_choice and
	// dropdown.
	OtherTypes []TypeCount
	// Texts are the newest distinct text answers: at most 1,000, and at most 100 for each day before today.
	Texts []TextCount

	// Choices contains all choices of the block, and removed choices that were selected. For yes_no and legal, the
	// choices are true and false. For country, they are countries, and for payment, they are payment statuses. If the
	// choices come from a list ([WithChoices]), these are the 50 choices that were selected most often.
	Choices []ChoiceCount
	Other   int64        // answers with an “Other” text
	Rows    []RowSummary // the rows of a matrix
	Numbers *NumberSummary
	NPS     *NPSSummary
	Days    []DayCount // dates as they were written, in ascending order
	// Uncounted counts the values that are in neither Choices nor Days. Choices and Days contain only the first 10,000
	// different values that are not choices of the form. With a list, Uncounted includes the less frequent choices.
	Uncounted int64
}

// TypeCount counts the answers to a block while it had another type.
type TypeCount struct {
	Type  string
	Count int64
}

// TextCount counts equal texts. Text contains the first 300 characters. Count omits texts that are older than the
// oldest retained text of their day.
type TextCount struct {
	Text       string
	Count      int64
	Submission ID // the newest submission with this text
}

// RowSummary counts the choices in one row of a matrix.
type RowSummary struct {
	ID, Label string
	Choices   []ChoiceCount
}

// NumberSummary describes numeric answers.
type NumberSummary struct {
	Count          int64
	Min, Max, Mean float64
	StdDev         float64 // population standard deviation
	// Median is exact if Exact is set, which is the case for up to 1,000 different numbers. Otherwise, Median and
	// Histogram are accurate to within 1 % for magnitudes from 1e-9 to 1e15.
	Median float64
	Exact  bool
	// Histogram has one bin for each number if there are at most 20 different numbers, and otherwise 20 bins of equal
	// width. For whole numbers there can be fewer bins, and the last can be narrower.
	Histogram []Bin
}

type (
	// ChoiceCount counts how often a choice was selected. See [schema.ChoiceCount].
	ChoiceCount = schema.ChoiceCount
	// Bin counts the numbers in a range. See [schema.Bin].
	Bin = schema.Bin
	// NPSSummary is the net promoter score. See [schema.NPSSummary].
	NPSSummary = schema.NPSSummary
)

// DayCount is the number of answers with one date, or of submissions on one day.
type DayCount struct {
	Day   string // such as 2026-11-20
	Count int64
}

// PublicForm is a form for respondents, with its definition as JSON (Definition) and as Go values (Blocks, Settings,
// Theme). Its slices and maps are shared between calls, so do not modify them.
type PublicForm struct {
	ID                   ID
	PublicID, Name, Type string
	Closed               bool   // Whether [Service.Submit] would return [ErrClosed] now.
	ClosedMessage        string // settings.closedMessage
	// OpensAt is settings.openAt if the form is Closed because it is not open yet. Otherwise it is zero.
	OpensAt time.Time
	// UpdatedAt is when the form last changed.
	UpdatedAt  time.Time
	Definition Definition
	Blocks     []schema.Block
	Settings   schema.Settings
	Theme      schema.Theme

	compiled *intake.CompiledForm // nil if no Service returned the form
}

// Path is like [Service.Path] for this revision of the form. It does not read the form again, so that a page and
// its path are consistent. It returns [ErrNotFound] for a PublicForm that no [Service] returned.
func (f PublicForm) Path(answers map[string]json.RawMessage, hidden map[string]string) (Path, error) {
	if f.compiled == nil {
		return Path{}, ErrNotFound
	}
	return f.compiled.Path(answers, hidden)
}

// StoredAnswers returns the answers of a submission to this form, in the formats of [SubmitParams]. It omits answers to
// blocks that were deleted or have another type now, and LegalTexts. It returns [ErrNotFound] for a PublicForm that no
// [Service] returned.
func (f PublicForm) StoredAnswers(s Submission) (SubmissionChange, error) {
	if f.compiled == nil {
		return SubmissionChange{}, ErrNotFound
	}
	list, err := DecodeAnswers(s)
	if err != nil {
		return SubmissionChange{}, err
	}
	in := f.compiled.StoredInput(list, s.SubmittedAt)
	return SubmissionChange{Answers: in.Answers, HostAnswers: in.HostAnswers, Hidden: in.Hidden}, nil
}

// SubmitParams is a submission by a respondent.
type SubmitParams struct {
	FormID ID
	// Answers are the respondent's answers by block ID, in the formats that package schema documents. A missing block is
	// unanswered.
	Answers map[string]json.RawMessage
	// HostAnswers are the host's answers to payment, file_upload and signature blocks and to blocks with properties.hide,
	// by block ID. They must not come from the respondent, who could forge them.
	HostAnswers map[string]json.RawMessage
	// Hidden contains the hidden fields by name, with at most 10,000 characters each and no control characters. Names that
	// the form does not declare are ignored.
	Hidden map[string]string
	// LegalTexts contains the texts of legal blocks (properties.legalText) that the respondent has seen, by block ID. If
	// the form has another text, the answer is NOT_ALLOWED, because the stored answer contains the text. Without an
	// entry, the current text counts.
	LegalTexts map[string]string
	Metadata   Metadata
	// Language is the language of the page, as a tag such as "pt-BR". It is not stored. Only events for webhooks with
	// FormDetails contain it. If empty, they have no language.
	Language       string
	CompletionTime float64 // The time that the respondent took, in seconds.
	// IdempotencyKey identifies this submission in the form. It can have at most 255 bytes. If Submit is called again
	// with the same key, it returns the first submission, even if the content differs. If the key is empty, each call
	// stores a new submission.
	IdempotencyKey string
	// StrictIdempotency makes a repeated Submit fail with [ErrIdempotencyKeyReused] if answers or hidden fields differ.
	StrictIdempotency bool
	// Respondent is the host's ID of the person who submits, such as the ID of a signed-in user. It has at most 200 bytes
	// of valid UTF-8 without control characters, and is compared exactly. If several tenants of the host have users with
	// the same ID, it must contain the tenant. It is not stored if the form has settings.anonymous, and required if the
	// form has settings.onePerRespondent. The HTTP API does not return it. See [Service.SubmissionsOf] and
	// [Service.EraseRespondentData].
	Respondent string
	// Partial is the token of the partial submission that this submission completes. Submit then replaces the content
	// of the partial submission with a reference to the submission: see [Service.ResumePartial]. An invalid, expired or
	// used token is ignored. With a respondent, Submit completes the respondent's partial submission instead, and
	// ignores Partial.
	Partial string
	// SubmittedAt is the original time of an imported submission, in whole seconds and not in the future. A zero value
	// means now.
	SubmittedAt time.Time
	// Deliver controls whether an imported submission is delivered to webhooks. The age limit webhooks.Config.MaxAge is
	// measured from the import. Deliver is ignored if SubmittedAt is zero.
	Deliver bool
}

// SubmissionChange contains the changes of [Client.UpdateSubmission]. A block or hidden field without an entry does not
// change.
type SubmissionChange struct {
	// The fields are as in [SubmitParams].
	Answers, HostAnswers map[string]json.RawMessage
	Hidden, LegalTexts   map[string]string
	// ByRespondent records in the history that the respondent made the change. Only the client of [Service.AsHost] can
	// set it.
	ByRespondent bool
}

// PartialSubmission is the argument to [Service.SavePartial] and the result of [Service.ResumePartial].
type PartialSubmission struct {
	FormID ID // Required.
	// Token is the result of an earlier SavePartial: 22 letters, digits, - and _. If empty, SavePartial creates a partial
	// submission.
	Token string
	// Respondent is as in [SubmitParams]. If it is set, Token and Visit are ignored, because a form has one open partial
	// submission for each respondent. If the form has settings.anonymous, Respondent is ignored.
	Respondent string
	// Answers, Hidden and Metadata are as in [SubmitParams]. Answers can be invalid, because they are unfinished.
	Answers  map[string]json.RawMessage
	Hidden   map[string]string
	Metadata Metadata
	// Block is the ID of the last top-level block that the respondent reached. An unknown ID is ignored.
	Block   string
	Seconds float64 // The time that the respondent took so far, in seconds.
	// Revision is the expected revision of the partial submission. 0 means no condition. It is ignored without Token and
	// Respondent. For a respondent, 0 begins a partial submission, see [Service.SavePartial].
	Revision int64
	// ShareWithOwner states that the respondent was informed before this save that the form's owner can read it.
	// Otherwise [Client.Partials] lists the partial submission without its content.
	ShareWithOwner bool
	// Visit identifies the visit that creates a partial submission, so that each visit creates at most one. It must be
	// a secret between the host and the respondent's browser, because the token can be computed from it. If empty,
	// every save without Token creates a partial submission. With Token, Visit is ignored.
	Visit string
	// CaptchaSolved states that the respondent solved a captcha for this save or an earlier save of the visit. The host
	// must verify this. If the form has a captcha, [Client.Partials] lists only partial submissions with CaptchaSolved.
	CaptchaSolved bool
	// LinkIssued states that the respondent received a link to continue later. If the form has too many partial
	// submissions, partial submissions with a link or a Respondent are replaced last.
	LinkIssued bool

	// Only ResumePartial sets the following fields.

	SavedAt, EndsAt time.Time
	SubmissionID    ID // The resulting submission, or zero if not yet submitted.
}

// Metadata describes the origin of a submission. Control characters are rejected. Values are truncated to 1,000
// characters. UTM can have the keys campaign, content, medium, source and term. Device and UserAgent are not stored if
// the form has settings.anonymous.
type Metadata struct {
	Country, Device, UserAgent string
	UTM                        map[string]string
}

type (
	// Path is a respondent's path through a form, as far as the answers determine it. See [schema.Path].
	Path = schema.Path
	// PathBlock is one block on a path. See [schema.PathBlock].
	PathBlock = schema.PathBlock
)

// Types of lists and checks: see [WithChoices] and [WithCheck].
type (
	// ChoiceSource provides the choices of a list.
	ChoiceSource = schema.ChoiceSource
	// ChoiceQuery says which choices a ChoiceSource returns.
	ChoiceQuery = schema.ChoiceQuery
	// CheckInput is the input of a check.
	CheckInput = schema.CheckInput
	// NamedItem is a list of choices or a check of the host.
	NamedItem = schema.NamedItem
)
