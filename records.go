package formsvc

import (
	"crypto/sha256"
	"encoding/json"
	"time"

	"github.com/formsvc/formsvc/internal/intake"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// These types are defined in other packages.
type (
	// ID identifies a record. IDs are comparable. The zero ID identifies nothing, and IsZero reports it. String,
	// [ParseID], JSON and text use 24 hexadecimal digits. IDs can be stored in binary and text columns. Methods:
	// [storage.ID].
	ID = storage.ID
	// User is the owner of API keys. Fields: [storage.User].
	User = storage.User
	// Key is a stored API key, without the key itself. Unset times are zero. Fields: [storage.Key].
	Key = storage.Key
	// Workspace is a set of forms with an owner and members. Fields: [storage.Workspace].
	Workspace = storage.Workspace
	// Form is a stored form. IsClosed(now time.Time) bool reports whether it accepts no submissions. [DecodeForm] decodes
	// its definition. Respondents use its PublicID. Methods and fields: [storage.Form].
	Form = storage.Form
	// Submission is a stored submission. [DecodeAnswers] decodes its answers. Fields: [storage.Submission].
	Submission = storage.Submission
	// FormContent is the name, the type and the definition of a form, for [schema.Diff]. Its JSON is one object with the
	// name and the sections. Fields: [storage.FormContent].
	FormContent = storage.FormContent
	// Definition contains the sections of a form as JSON values. Package schema has their Go types. Fields:
	// [storage.Definition].
	Definition = storage.Definition
	// Webhook is a destination for the submissions to a form. It does not contain the signing secret: HasSecret reports
	// whether there is one. Fields: [storage.Webhook].
	Webhook = storage.Webhook
	// Delivery is one attempt to deliver an event to a webhook. Error is an error class, such as timeout. If there was no
	// response, Status is 0. Fields: [storage.Delivery].
	Delivery = storage.Delivery
	// Partial is a stored partial submission. Answers is an object by block ID, with the answers as they were sent.
	Partial = storage.Partial
	// RevisionError means that a form, or another record as in Kind, is not at the expected revision. It contains the
	// current revision. Find it with errors.As and a *RevisionError. Methods: [storage.RevisionError].
	RevisionError = storage.RevisionError
	// Counters count the steps of a form's funnel. Fields: [storage.Counters].
	Counters = storage.Counters
	// Scope is a permission of an API key, such as forms:read. [Scopes] lists all scopes.
	Scope = storage.Scope
	// Limits are size limits that a host can change. A zero field means its default. Fields: [schema.Limits].
	Limits = schema.Limits
	// Error lists all violations in a submission or in other arguments. Find it with errors.As and an *Error.
	//
	// Its method Error is for logs. Show users the Message of each violation, which is an English sentence. For an answer,
	// Field is the ID of its block. For other values, Path is their location, with the field names of the API:
	// /signing_secret is the field SigningSecret, and /definition/blocks/3/label is a field in Definition.Blocks. See
	// [schema.Error] and [schema.Violation], and for other languages [schema.CodeParams].
	Error = schema.Error
)

// These are the scopes of API keys with their permissions in the HTTP API. The Go API needs no scopes.
const (
	ScopeFormsRead        = storage.ScopeFormsRead        // read forms and blocks
	ScopeFormsWrite       = storage.ScopeFormsWrite       // change forms and blocks
	ScopeSubmissionsRead  = storage.ScopeSubmissionsRead  // read and export submissions
	ScopeSubmissionsWrite = storage.ScopeSubmissionsWrite // delete submissions
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
	// ErrConflict means that the current state does not allow the call.
	ErrConflict = storage.ErrConflict
	// ErrDuplicate means that the form already has this answer to its duplicateField.
	ErrDuplicate = storage.ErrDuplicate
	// ErrLimitReached means that the owner has the maximum number of workspaces, or that the user has the maximum number
	// of keys.
	ErrLimitReached = storage.ErrLimitReached
	// ErrNotOwner means that only the owner of the workspace can do this.
	ErrNotOwner = storage.ErrNotOwner
	// ErrClosed means that the form accepts no more submissions.
	ErrClosed = schema.ErrClosed
	// ErrIdempotencyKeyReused means that another submission is stored with the idempotency key, and that StrictIdempotency
	// is set.
	ErrIdempotencyKeyReused = schema.ErrIdempotencyKeyReused
	// ErrAlreadySubmitted means that the partial submission was already submitted.
	ErrAlreadySubmitted = schema.ErrAlreadySubmitted
	// ErrUnsupported means that the storage does not support the feature.
	ErrUnsupported = schema.ErrUnsupported
	// ErrUnavailable means that the storage is not available. Nothing was changed, and the call can be repeated.
	ErrUnavailable = storage.ErrUnavailable
	// ErrOutcomeUnknown means that the connection to the storage failed during a change, which may or may not have been
	// stored.
	ErrOutcomeUnknown = storage.ErrOutcomeUnknown
)

// UserIDFrom converts a host's own user ID in any format to an [ID]: the first 12 bytes of its SHA-256. The result is
// the same in every release, so a host needs no table to map UUIDs or integers. If each of the host's tenants has its
// own users, hostID must contain the tenant: see examples/tenants. In PostgreSQL, it is
// left(encode(sha256(convert_to(id, 'UTF8')), 'hex'), 24).
func UserIDFrom(hostID string) ID {
	sum := sha256.Sum256([]byte(hostID))
	return ID(sum[:12])
}

// Query selects records of a list. The zero value selects all.
type Query struct {
	// Limit is the maximum number of records. Below 1 means no limit.
	Limit int
	// After continues a list after a position: the ID of a record with its time in the list's order. Earlier records are
	// not read. The record itself may be deleted. If nil, the list starts with the newest record.
	After *Position
}

// Position is a position in a list that is ordered newest first by (Time, ID). Time is CreatedAt of a workspace or
// webhook, FailingSince of a paused webhook and SavedAt of a partial submission.
type Position = storage.Position

// Precondition is a condition for a change of a form, see [IfRevision].
type Precondition struct{ revision int64 }

// IfRevision makes a change conditional. If the form is at another revision, the error is a [*RevisionError]. If there
// are several conditions, one of them must be true. 0 means no condition.
func IfRevision(revision int64) Precondition { return Precondition{revision} }

// WorkspaceCreate describes a new workspace.
type WorkspaceCreate struct {
	Name string // 1 to 120 characters after trimming, without control or bidirectional control characters.
	// Owner is required for AsHost. For As it is the user, and another owner is ErrNotOwner.
	Owner ID
}

// FormQuery selects forms of a list. The zero value selects all accessible forms.
type FormQuery struct {
	// Workspace selects the forms of one workspace. A zero value means all.
	Workspace ID
	// Limit is the maximum number of forms. Below 1 means no limit.
	Limit int
}

// FormCreate describes a new form, which is a draft.
type FormCreate struct {
	Workspace ID     // Required.
	Name      string // 1 to 200 characters after trimming, without control or bidirectional control characters.
	Type      string // SINGLE or MULTI. Defaults to SINGLE.
	// Definition contains the sections as in the API. Nil sections are empty. Format is ignored.
	Definition Definition
}

// FormUpdate contains the changes of a form. Nil fields do not change, and at least one field must be set. A section
// replaces the whole stored section.
type FormUpdate struct {
	Name   *string
	Type   *string // The layout, SINGLE or MULTI.
	Status *string // draft or published.
	// Workspace moves the form to another workspace. Only the owner of its current workspace can do this.
	Workspace *ID
	// Definition contains the sections to replace. Format is ignored.
	Definition Definition
	// IfRevision makes the change conditional. If the form is at another revision, the error is a [*RevisionError]. 0
	// means no condition.
	IfRevision int64
}

// WorkingCopy is the working copy of one form, see [Client.WorkingCopy]. It is cheap to create and safe for concurrent
// use. The zero WorkingCopy panics.
type WorkingCopy struct {
	of, on Client // for the form, and for its working copy
	form   ID
}

// PublishOptions are options for publishing a working copy.
type PublishOptions struct {
	// IfRevision makes the call conditional. If the working copy is at another revision, the error is a [*RevisionError].
	// 0 means no condition.
	IfRevision int64
	// Resolutions selects a side for each conflict, by [Conflict].Path. Other paths are ignored. To lose no later change
	// of the working copy, set IfRevision to the Revision of the [ConflictError].
	Resolutions map[string]Side
	// DryRun is whether to change nothing. Publish then returns the form with its new name, type and definition, or the
	// error.
	DryRun bool
}

// These types describe the conflicts of [WorkingCopy.Publish].
type (
	// ConflictError lists the parts that both the form and its working copy changed. Find it with errors.As and a
	// *ConflictError. Fields: [schema.ConflictError].
	ConflictError = schema.ConflictError
	// Conflict is one of these parts. Fields: [schema.Conflict].
	Conflict = schema.Conflict
	// Side is the working copy or the form.
	Side = schema.Side
)

// These are the sides of a conflict.
const (
	CopySide = schema.CopySide
	FormSide = schema.FormSide
)

// FormVersion is an earlier published state of a form, see [Client.Versions]. Fields: [storage.FormVersion].
type FormVersion = storage.FormVersion

// RestoreOptions are options for restoring a version.
type RestoreOptions struct {
	// IfRevision makes the call conditional. If the form is at another revision, the error is a [*RevisionError]. 0 means
	// no condition.
	IfRevision int64
}

// StoredBlock is one stored top-level block, at the form's revision.
type StoredBlock struct {
	ID       string
	JSON     json.RawMessage
	Revision int64
}

// StoredBlocks are the stored top-level blocks of a form as a JSON array, at the form's revision.
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

// Answer is one answer of a stored submission as a Go value. Package schema lists the types of its Value, for a type
// switch. String returns the answer as text. Methods and fields: [schema.Answer].
type Answer = schema.Answer

// SubmissionQuery selects submissions to a form. The zero value selects all.
//
// If a program polls, it must not continue at the last SubmittedAt, because a submission can become visible later than
// newer ones: see "Polling" in the package documentation.
type SubmissionQuery struct {
	// Since and Until are the first and last SubmittedAt. A zero value means no limit.
	Since, Until time.Time
	// Limit is the maximum number of submissions. Below 1 means no limit.
	Limit int
}

// PausedWebhook is a webhook whose deliveries wait because its destination fails or has requested it. FailingSince is
// the start and Failures the number of consecutive failures. At PausedUntil, one delivery is attempted. Reason is
// [PauseFailures] or [PauseRetryAfter]. Fields: [storage.PausedWebhook].
type PausedWebhook = storage.PausedWebhook

// PauseReason is the reason for a pause.
type PauseReason = storage.PauseReason

// These are the reasons for a pause.
const (
	PauseFailures   = storage.PauseFailures   // too many consecutive failures
	PauseRetryAfter = storage.PauseRetryAfter // the destination sent Retry-After
)

// KeyRequest describes a new API key.
type KeyRequest struct {
	// User owns the key. User.ID is required. Name (at most 200 characters) and Email (at most 254) are returned by GET
	// /me. They replace the values of the user's earlier keys, even if they are empty.
	User User
	// Name identifies the key to the user. It has 1 to 120 characters, without control or bidirectional control
	// characters.
	Name string
	// Scopes are the permissions of the key. At least one is required.
	Scopes []Scope
	// ExpiresAt is when the key expires. If nil, the key does not expire.
	ExpiresAt *time.Time
}

// Summary counts the answers to a form. It counts only complete submissions, so it does not show at which block
// respondents leave the form.
type Summary struct {
	Submissions int64
	// CompletionTime is the median of the newest 100 submissions, in seconds.
	CompletionTime float64
	// Incomplete is whether older submissions are not counted yet, see [Client.SummaryWithin].
	Incomplete bool
	// Blocks are the blocks with answers in the order of the form, then hidden fields and variables, then blocks that only
	// submissions contain.
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
	// OtherTypes counts the answers from when the block had another type. The other fields do not include them. The two
	// text types are counted together, and so are single choice, picture choice and dropdown.
	OtherTypes []TypeCount
	// Texts are the newest different text answers: at most 1,000, and at most 100 for each day before today.
	Texts []TextCount

	// Choices are the choices of the form, even if no one chose them, and removed choices that were chosen. They are true
	// and false for yes_no and legal, countries for country, and payment statuses for payment.
	Choices []ChoiceCount
	Other   int64        // answers with an “Other” text
	Rows    []RowSummary // the rows of a matrix
	Numbers *NumberSummary
	NPS     *NPSSummary
	Days    []DayCount // dates as they were written, in ascending order
	// Uncounted counts the values that are not in Choices or Days, because the form does not have them and there are more
	// than 10,000 different ones.
	Uncounted int64
}

// TypeCount counts the answers to a block while it had another type.
type TypeCount struct {
	Type  string
	Count int64
}

// TextCount counts equal texts. Text contains the first 300 characters. Texts that are older than the oldest retained
// text of their day are not counted.
type TextCount struct {
	Text       string
	Count      int64
	Submission ID // the newest submission with this text
}

// ChoiceCount counts how often a choice was chosen.
type ChoiceCount struct {
	ID, Label    string
	Count        int64
	MeanPosition float64 // Mean position in a ranking, starting with 1. It is 0 if no one chose it.
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
	// Median is exact if Exact is set, which is the case for up to 1,000 different numbers. Otherwise, the median and the
	// values in Histogram are within 1 % for magnitudes from 1e-9 to 1e15.
	Median float64
	Exact  bool
	// Histogram has one bin for each number if there are at most 20 different numbers, and otherwise 20 bins of equal
	// width. For whole numbers there may be fewer bins, and the last may be narrower.
	Histogram []Bin
}

// Bin counts the numbers from From to To. If the next bin starts with To, a number equal to To is in the next bin. For
// whole numbers, the next bin starts after To: the bins 5 to 8 and 9 to 12 contain four numbers each.
type Bin struct {
	From, To float64
	Count    int64
}

// NPSSummary is the net promoter score: the percentage of promoters (9 and 10) minus the percentage of detractors (0 to
// 6).
type NPSSummary struct {
	Detractors, Passives, Promoters int64
	Score                           float64
}

// DayCount counts how often a day was answered.
type DayCount struct {
	Day   string // such as 2026-11-20
	Count int64
}

// PublicForm is a published form for respondents, both as it is stored (Definition) and decoded (Blocks, Settings,
// Theme). Its slices and maps are shared between calls, so do not change them.
type PublicForm struct {
	ID                   ID
	PublicID, Name, Type string
	// Closed is whether [Service.Submit] would return [ErrClosed] now.
	Closed        bool
	ClosedMessage string // settings.closedMessage
	Definition    Definition
	Blocks        []schema.Block
	Settings      schema.Settings
	Theme         schema.Theme

	compiled *intake.CompiledForm // nil if no service created the form
}

// Path is [Service.Path] for this version of the form, without reading it again. A page and its path are therefore
// consistent. It returns [ErrNotFound] for a PublicForm that no [Service] has returned.
func (f PublicForm) Path(answers map[string]json.RawMessage, hidden map[string]string) (Path, error) {
	if f.compiled == nil {
		return Path{}, ErrNotFound
	}
	return f.compiled.Path(answers, hidden)
}

// SubmitParams is a submission by a respondent.
type SubmitParams struct {
	FormID ID
	// Answers are the respondent's answers by block ID. Package schema documents their shapes. A missing block is
	// unanswered.
	Answers map[string]json.RawMessage
	// HostAnswers are the host's answers by block ID, to payment, file_upload, signature, and blocks with properties.hide.
	// Only the host may provide them, because respondents could forge them.
	HostAnswers map[string]json.RawMessage
	// Hidden contains the hidden fields, of at most 10,000 characters each. Control characters are rejected. Names that
	// the form does not declare are ignored.
	Hidden   map[string]string
	Metadata Metadata
	// CompletionTime is how long the respondent took, in seconds.
	CompletionTime float64
	// IdempotencyKey identifies this submission within the form. If Submit is repeated with the same key, it returns the
	// first result, whatever the content. It has at most 255 bytes. If empty, submissions are not deduplicated.
	IdempotencyKey string
	// StrictIdempotency is whether repeated calls with the IdempotencyKey must have the same content. If the answers or
	// hidden fields differ, the error is [ErrIdempotencyKeyReused].
	StrictIdempotency bool
	// Partial is the token of the partial submission that this submission completes. The partial submission is then
	// emptied and refers to the submission: see [Service.ResumePartial]. An invalid, expired or used token is ignored.
	Partial string
	// SubmittedAt is the original time of an imported submission, in whole seconds. It must not be in the future. A zero
	// value means now.
	SubmittedAt time.Time
	// Deliver is whether to queue an event for an imported submission. Its age for webhooks.Config.MaxAge starts at the
	// import. It is ignored if SubmittedAt is zero.
	Deliver bool
}

// PartialSubmission is a partial submission as [Service.SavePartial] accepts it and [Service.ResumePartial] returns it.
type PartialSubmission struct {
	FormID ID // Required.
	// Token is the token of an earlier SavePartial: 22 letters, digits, - and _. If empty, a partial submission is
	// created.
	Token string
	// Answers are by block ID, as in [SubmitParams]. They may be invalid because the respondent has not finished.
	Answers map[string]json.RawMessage
	// Hidden and Metadata are as in [SubmitParams].
	Hidden   map[string]string
	Metadata Metadata
	// Block is the ID of the last top-level block that the respondent reached. An unknown block is ignored.
	Block   string
	Seconds float64 // The time that the respondent took so far, in seconds.
	// Revision is the expected revision of the partial submission. 0 means no condition. It is ignored without a Token.
	Revision int64
	// ShareWithOwner is whether the respondent was informed, before this save, that the form's owner can read it.
	// Otherwise [Client.Partials] shows that it exists, but not its content.
	ShareWithOwner bool
	// Visit identifies the visit that creates a partial submission, with a text that only the host and the respondent's
	// browser know. Anyone who knows it can compute the token. Each Visit of a form creates at most one partial
	// submission. It is ignored with a Token. If empty, every save without a Token creates a partial submission.
	Visit string
	// CaptchaSolved is whether the respondent solved a captcha for this save or an earlier save of the visit. If the form
	// has a captcha, [Client.Partials] lists only partial submissions with a solved captcha. The host must check the
	// captcha, because the service does not.
	CaptchaSolved bool
	// LinkIssued is whether the respondent received a link to continue later. If the form has too many partial
	// submissions, those with a link are replaced last.
	LinkIssued bool

	// Only ResumePartial sets the following fields.

	SavedAt, EndsAt time.Time
	SubmissionID    ID // The resulting submission. Zero if it is not submitted.
}

// Metadata describes the origin of a submission. Control characters are rejected. Values of more than 1,000 characters
// are truncated. UTM can have the keys campaign, content, medium, source and term.
type Metadata struct {
	Country, Device, UserAgent string
	UTM                        map[string]string
}

type (
	// Path is a respondent's path through a form, as far as the answers determine it. Fields: [schema.Path].
	Path = schema.Path
	// PathBlock is one block on a path. Fields: [schema.PathBlock].
	PathBlock = schema.PathBlock
)
