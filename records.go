package formsvc

import (
	"crypto/sha256"
	"encoding/json"
	"time"

	"github.com/formsvc/formsvc/internal/intake"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// The records that are defined in the packages below.
type (
	// ID names a record. IDs are comparable, and the zero ID names nothing: IsZero asks for
	// it. String, [ParseID], JSON and text have 24 hexadecimal digits. An ID is written into
	// columns of bytes and of text, and read from both. Methods: [storage.ID].
	ID = storage.ID
	// User is the owner of API keys. Fields: [storage.User].
	User = storage.User
	// Key is what is kept of an API key: everything but the key itself. Times that are not
	// set are zero. Fields: [storage.Key].
	Key = storage.Key
	// Workspace is a set of forms with an owner and members. Fields: [storage.Workspace].
	Workspace = storage.Workspace
	// Form is a form as it is stored. IsClosed(now time.Time) bool reports whether it takes no
	// responses at a time, [DecodeForm] makes Go values of its definition, and respondents find
	// it by PublicID. Methods and fields: [storage.Form].
	Form = storage.Form
	// Submission is a stored response. [DecodeAnswers] makes Go values of its answers. Fields:
	// [storage.Submission].
	Submission = storage.Submission
	// FormContent is the name, the type and the definition of a form, for [schema.Diff]. In JSON it is one
	// object with the name and the sections. Fields: [storage.FormContent].
	FormContent = storage.FormContent
	// Definition is what a form consists of, as five JSON values. Package schema has their Go
	// types. Fields: [storage.Definition].
	Definition = storage.Definition
	// Webhook is where the responses of a form are sent. The signing secret is not part of
	// it: HasSecret says that there is one. Fields: [storage.Webhook].
	Webhook = storage.Webhook
	// Delivery is one try to deliver an event to a webhook. Error is a class, such as timeout,
	// and Status 0 where there was no answer. Fields: [storage.Delivery].
	Delivery = storage.Delivery
	// Partial is a response that was saved half-way, as it is stored. Answers is an object by
	// block id, with the answers as they were sent.
	Partial = storage.Partial
	// RevisionError says that a form, or what stands in Kind, is not at the expected revision,
	// and at which it is. Find it with errors.As and a *RevisionError. Methods:
	// [storage.RevisionError].
	RevisionError = storage.RevisionError
	// Counters count the steps of a form's funnel. Fields: [storage.Counters].
	Counters = storage.Counters
	// Scope is one permission of an API key, a string such as forms:read. [Scopes] lists them.
	Scope = storage.Scope
	// Limits are the sizes that a host may change. A zero field means its default. What each
	// field means, its unit and its default: [schema.Limits].
	Limits = schema.Limits
	// Error lists everything that is wrong with a response, or with what else was given. Find
	// it with errors.As and an *Error.
	//
	// Its method Error is for logs. Users are told Message of each violation, a sentence in
	// English that a respondent can read. Of an answer, Field is the id of its block. Of
	// anything else, Path says where it stands, in the names of the API: /signing_secret is the
	// field SigningSecret, and /definition/blocks/3/label a member of Definition.Blocks. More:
	// [schema.Error], [schema.Violation] and, for another language, [schema.CodeParams].
	Error = schema.Error
)

// The scopes of API keys, and what each allows over HTTP. Go calls need none.
const (
	ScopeFormsRead        = storage.ScopeFormsRead        // read forms and blocks
	ScopeFormsWrite       = storage.ScopeFormsWrite       // change forms and blocks
	ScopeSubmissionsRead  = storage.ScopeSubmissionsRead  // read and export responses
	ScopeSubmissionsWrite = storage.ScopeSubmissionsWrite // delete responses
	ScopeWorkspacesRead   = storage.ScopeWorkspacesRead
	ScopeWorkspacesWrite  = storage.ScopeWorkspacesWrite
	ScopeWebhooksRead     = storage.ScopeWebhooksRead
	ScopeWebhooksWrite    = storage.ScopeWebhooksWrite
	ScopeAnalyticsRead    = storage.ScopeAnalyticsRead // read metrics
)

// Scopes returns all scopes.
func Scopes() []Scope { return storage.Scopes() }

// The values of a form's Status.
const (
	StatusDraft     = storage.StatusDraft     // takes no responses; respondents do not see it
	StatusPublished = storage.StatusPublished // takes responses unless it is closed
)

// ParseID returns the ID that 24 hexadecimal digits stand for, in lower or upper case. All
// else is an error.
func ParseID(s string) (ID, error) { return storage.ParseID(s) }

// Errors of the Go calls. Compare with [errors.Is]. The comment of [Client] has the HTTP status
// of each.
var (
	// ErrNotFound: there is no such record, or it is in the trash.
	ErrNotFound = storage.ErrNotFound
	// ErrConflict: the current state does not allow the call.
	ErrConflict = storage.ErrConflict
	// ErrDuplicate: the form has that answer to its duplicateField already.
	ErrDuplicate = storage.ErrDuplicate
	// ErrLimitReached: there are as many as are allowed: workspaces of an owner, keys of a
	// user.
	ErrLimitReached = storage.ErrLimitReached
	// ErrNotOwner: only the owner of the workspace may do this.
	ErrNotOwner = storage.ErrNotOwner
	// ErrClosed: the form takes no more responses.
	ErrClosed = schema.ErrClosed
	// ErrIdempotencyKeyReused: another response is stored with the idempotency key of one that asks for
	// StrictIdempotency.
	ErrIdempotencyKeyReused = schema.ErrIdempotencyKeyReused
	// ErrAlreadySubmitted: the half response was submitted.
	ErrAlreadySubmitted = schema.ErrAlreadySubmitted
	// ErrUnsupported: the storage, such as one of the host's own, does not keep this.
	ErrUnsupported = schema.ErrUnsupported
	// ErrUnavailable: the storage cannot be reached or is not ready. Nothing was changed,
	// and the call may be repeated.
	ErrUnavailable = storage.ErrUnavailable
	// ErrOutcomeUnknown: the storage was lost while it made the change durable, which may
	// have happened or not.
	ErrOutcomeUnknown = storage.ErrOutcomeUnknown
)

// UserIDFrom maps a host's own user id, whatever it looks like, to an [ID]: the
// first 12 bytes of its SHA-256. The same id always gives the same ID, in every
// release, so that a host with UUIDs or integers needs no table of its own. A host whose
// tenants have users of their own puts the tenant into hostID: see examples/tenants. In
// PostgreSQL it is left(encode(sha256(convert_to(id, 'UTF8')), 'hex'), 24).
func UserIDFrom(hostID string) ID {
	sum := sha256.Sum256([]byte(hostID))
	return ID(sum[:12])
}

// Query selects records of a list. The zero value selects all.
type Query struct {
	// Limit ends the list after so many records. Below 1: no limit.
	Limit int
	// After continues a list after a position: the ID of a record with the time by which the
	// list is ordered. Nothing before it is read. The record itself may be gone. If nil, the
	// list begins with the newest.
	After *Position
}

// Position is a position in a list that is ordered newest first by (Time, ID). Time is CreatedAt
// of a workspace or webhook, FailingSince of a paused webhook and SavedAt of a partial submission.
type Position = storage.Position

// Precondition is what a change of a form depends on, see [IfRevision].
type Precondition struct{ revision int64 }

// IfRevision makes a change conditional: the form's revision must be this one, else the
// error is a [*RevisionError]. Of several conditions one must hold. 0 is no condition.
func IfRevision(revision int64) Precondition { return Precondition{revision} }

// WorkspaceCreate is a workspace to make.
type WorkspaceCreate struct {
	Name string // 1 to 120 characters without the white space around it, none of control or direction
	// Owner is required for AsHost. For As it is the user; anybody else is ErrNotOwner.
	Owner ID
}

// FormQuery selects forms of a list. The zero value selects all accessible ones.
type FormQuery struct {
	// Workspace narrows the list to one workspace. Zero: all.
	Workspace ID
	// Limit ends the list after so many forms. Below 1: no limit.
	Limit int
}

// FormCreate is a form to make. It begins as a draft.
type FormCreate struct {
	Workspace ID     // required
	Name      string // 1 to 200 characters without the white space around it, none of control or direction
	Type      string // SINGLE (the default) or MULTI
	// Definition has the sections as the API takes them. Sections that are nil are
	// empty. Format is ignored.
	Definition Definition
}

// FormUpdate says what to change of a form. What is nil stays; at least one member must
// be set. A section that is given replaces the stored one as a whole.
type FormUpdate struct {
	Name   *string
	Type   *string // SINGLE or MULTI: the layout
	Status *string // draft or published
	// Workspace moves the form. Only the owner of the workspace that it leaves may.
	Workspace *ID
	// Definition has the sections to replace. Format is ignored.
	Definition Definition
	// IfRevision makes the change conditional: the form's revision must be this one, else
	// the error is a [*RevisionError]. 0: no condition.
	IfRevision int64
}

// WorkingCopy is the working copy of one form, see [Client.WorkingCopy]. It costs nothing and is safe for
// concurrent use. The zero WorkingCopy panics.
type WorkingCopy struct {
	of, on Client // of the form, and on the copy
	form   ID
}

// PublishOptions say how a working copy is published. The zero value publishes it as it is.
type PublishOptions struct {
	// IfRevision makes it conditional: the copy's revision must be this one, else the error
	// is a [*RevisionError]. 0: no condition.
	IfRevision int64
	// Resolutions says for parts in conflict whose value is wanted, by [Conflict].Path. What is no
	// conflict is not looked at. With the Revision of the [ConflictError] as IfRevision nothing
	// is dropped that was written into the copy after the choice.
	Resolutions map[string]Side
	// DryRun changes nothing: Publish returns the form with the name, the type and the definition that it
	// would get, everything else as it is, or the error.
	DryRun bool
}

// What [WorkingCopy.Publish] reports.
type (
	// ConflictError lists the parts that both the form and its working copy changed. Find it with
	// errors.As and a *ConflictError. Fields: [schema.ConflictError].
	ConflictError = schema.ConflictError
	// Conflict is one of these parts. Fields: [schema.Conflict].
	Conflict = schema.Conflict
	// Side is the working copy or the form.
	Side = schema.Side
)

// The sides of a conflict.
const (
	CopySide = schema.CopySide
	FormSide = schema.FormSide
)

// FormVersion is an earlier state of a form that was published, see [Client.Versions]. Fields:
// [storage.FormVersion].
type FormVersion = storage.FormVersion

// RestoreOptions say how a version is restored.
type RestoreOptions struct {
	// IfRevision makes it conditional: the form's revision must be this one, else the error
	// is a [*RevisionError]. 0: no condition.
	IfRevision int64
}

// StoredBlock is one top-level block of a form as it is stored, at the form's revision.
type StoredBlock struct {
	ID       string
	JSON     json.RawMessage
	Revision int64
}

// StoredBlocks are the top-level blocks of a form in their order, as a JSON array, at the
// form's revision.
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
	Variables    map[string]any // float64 or string
	HiddenFields []string
}

// Answer is one answer of a stored response as a Go value. Package schema has the kinds
// of values, for a type switch. String is the answer as text. Methods and fields:
// [schema.Answer].
type Answer = schema.Answer

// SubmissionQuery selects responses of a form. The zero value selects all.
//
// A program that polls must not continue at the last SubmittedAt that it has read, because a
// submission can become visible later than newer ones: see "Polling" in the documentation of the
// package.
type SubmissionQuery struct {
	// Since and Until bound SubmittedAt; both are included. Zero: no bound.
	Since, Until time.Time
	// Limit ends the list after so many responses. Below 1: no limit.
	Limit int
}

// PausedWebhook is a webhook whose deliveries wait, because its destination fails or asked
// for it: since FailingSince, after so many Failures in a row, until PausedUntil, when one
// of them is tried. Reason is [PauseFailures] or [PauseRetryAfter]. Fields:
// [storage.PausedWebhook].
type PausedWebhook = storage.PausedWebhook

// PauseReason says why the deliveries of a webhook wait.
type PauseReason = storage.PauseReason

// The reasons of a pause.
const (
	PauseFailures   = storage.PauseFailures   // too many failures in a row
	PauseRetryAfter = storage.PauseRetryAfter // the destination asked for it with Retry-After
)

// KeyRequest asks for an API key.
type KeyRequest struct {
	// User owns the key. User.ID is required. Name (at most 200 characters) and Email
	// (at most 254) are what GET /me shows; they replace what an earlier key of the
	// user brought, also when they are empty.
	User User
	// Name tells the user's keys apart. 1 to 120 characters, none of them a control
	// character or one that turns the direction of text.
	Name string
	// Scopes are what the key may do. At least one.
	Scopes []Scope
	// ExpiresAt ends the key. Nil: never.
	ExpiresAt *time.Time
}

// Summary counts the answers to a form.
//
// It cannot say at which block respondents give up: only whole responses are counted. For
// that the page would have to report every block that a respondent reaches, and the
// service to count these reports by block as it counts views and starts.
type Summary struct {
	Submissions int64
	// CompletionTime is the median of the newest 100 responses, in seconds.
	CompletionTime float64
	// Incomplete says that older responses are not counted yet, see [Client.SummaryWithin].
	Incomplete bool
	// Blocks are those that answer, in the order of the form, then its hidden fields and
	// variables, then what only the responses have.
	Blocks []BlockSummary
}

// BlockSummary counts the answers to one block, hidden field or variable. Members that
// its kind of value does not have are zero.
type BlockSummary struct {
	ID, Type, Label string
	Deleted         bool // it is not in the form any more
	Answered        int64
	// Skipped is the number of responses without an answer, among them those from before
	// the block was in the form.
	Skipped int64
	// OtherTypes counts the answers from when the block had another type. Nothing else here counts
	// them. The two types of texts are counted together, and single choices, pictures and dropdown lists.
	OtherTypes []TypeCount
	// Texts are the newest different answers in the respondents' own words, at most 1,000, and 100 a
	// day of the days before today.
	Texts []TextCount

	// Choices are those of the form, chosen or not, and those that are gone from it. For
	// yes_no and legal they are true and false, for country the countries, and for
	// payment the states.
	Choices []ChoiceCount
	Other   int64        // answers with a text of the respondent's own
	Rows    []RowSummary // of a matrix
	Numbers *NumberSummary
	NPS     *NPSSummary
	Days    []DayCount // of dates, as they were written, from the first on
	// Uncounted counts values that are not among Choices or Days because there are more
	// than 10,000 different ones that the form does not have.
	Uncounted int64
}

// TypeCount counts the answers to a block while it had another type.
type TypeCount struct {
	Type  string
	Count int64
}

// TextCount says how often a text was given. Text has its first 300 characters. Texts that are older
// than the oldest one that is kept of their day are not counted.
type TextCount struct {
	Text       string
	Count      int64
	Submission ID // the newest with this text
}

// ChoiceCount says how often a choice was made.
type ChoiceCount struct {
	ID, Label    string
	Count        int64
	MeanPosition float64 // in a ranking, from 1; 0: never chosen
}

// RowSummary counts what was chosen in one row of a matrix.
type RowSummary struct {
	ID, Label string
	Choices   []ChoiceCount
}

// NumberSummary describes the numbers that were answered.
type NumberSummary struct {
	Count          int64
	Min, Max, Mean float64
	StdDev         float64 // of the numbers as the whole population
	// Median is exact when Exact is set: for up to 1,000 different numbers. For more
	// numbers, it is within 1 % for magnitudes of 1e-9 to 1e15, and so are the bins
	// that numbers are counted in.
	Median float64
	Exact  bool
	// Histogram has one bin for each number where there are at most 20, else 20 of equal
	// width. Of whole numbers there may be fewer, and the last may be narrower.
	Histogram []Bin
}

// Bin counts the numbers from From up to To. Those that equal To are in the next bin where
// that begins with To. It does not where all numbers are whole: bins from 5 to 8 and from 9 to 12
// have four numbers each.
type Bin struct {
	From, To float64
	Count    int64
}

// NPSSummary is the net promoter score: the percentage of promoters (9 and 10) less that
// of detractors (0 to 6).
type NPSSummary struct {
	Detractors, Passives, Promoters int64
	Score                           float64
}

// DayCount says how often a day was answered.
type DayCount struct {
	Day   string // such as 2026-11-20
	Count int64
}

// PublicForm is a published form as a page for respondents needs it, both as it
// is stored (Definition) and decoded (Blocks, Settings, Theme). Closed says that
// [Service.Submit] would return [ErrClosed] now. Slices and maps in it are shared with
// other calls: read them only.
type PublicForm struct {
	ID                   ID
	PublicID, Name, Type string
	// Closed: [Service.Submit] would return [ErrClosed] now.
	Closed        bool
	ClosedMessage string // settings.closedMessage
	Definition    Definition
	Blocks        []schema.Block
	Settings      schema.Settings
	Theme         schema.Theme

	compiled *intake.CompiledForm // nil: no service has made it
}

// Path is [Service.Path] through the form as it was read for f, which it does not read again:
// what a page shows and the way through it are of one moment. A PublicForm that no [Service]
// has returned has no rules to follow: [ErrNotFound].
func (f PublicForm) Path(answers map[string]json.RawMessage, hidden map[string]string) (Path, error) {
	if f.compiled == nil {
		return Path{}, ErrNotFound
	}
	return f.compiled.Path(answers, hidden)
}

// Response is what a respondent submits.
type SubmitParams struct {
	FormID ID
	// Answers come from the respondent, by block id. Package schema has their
	// shapes; what is left out is unanswered.
	Answers map[string]json.RawMessage
	// HostAnswers come from the host, by block id: payment, file_upload, signature and
	// any block with properties.hide. Only the host may say these, or respondents forge
	// them.
	HostAnswers map[string]json.RawMessage
	// Hidden are the hidden fields, of at most 10,000 characters each. Control characters
	// are refused. Names that the form does not declare are dropped.
	Hidden   map[string]string
	Metadata Metadata
	// CompletionTime is how long the respondent took, in seconds.
	CompletionTime float64
	// IdempotencyKey names this attempt within the form: a repeated Submit returns
	// the first result, whatever its content. Empty: none. At most 255 bytes.
	IdempotencyKey string
	// StrictIdempotency says that the IdempotencyKey stands for this content: a repeated Submit
	// whose answers or hidden fields would be stored as others is [ErrIdempotencyKeyReused].
	StrictIdempotency bool
	// Partial is the token of the half response that this one was begun with. That becomes
	// empty when this is stored, and names it: see [Service.ResumePartial]. A token that is
	// none, over or spent refuses nothing. Empty: none.
	Partial string
	// SubmittedAt says when a response was submitted that the host imports from
	// elsewhere, in whole seconds. A time to come is refused. Zero: it is submitted now.
	SubmittedAt time.Time
	// Deliver queues an event for an imported response too. It is as old as its import:
	// webhooks.Config.MaxAge counts from then. It has no meaning while SubmittedAt is
	// zero.
	Deliver bool
}

// PartialSubmission is a response that a respondent saves half-way, as [Service.SavePartial] takes
// it and [Service.ResumePartial] returns it.
type PartialSubmission struct {
	FormID ID // required
	// Token is the 22 letters, digits, - and _ of an earlier SavePartial. Empty: a new one.
	Token string
	// Answers are by block id, as of a [Response]; what a respondent has begun may be faulty.
	Answers map[string]json.RawMessage
	// Hidden and Metadata are those of the Response to come.
	Hidden   map[string]string
	Metadata Metadata
	// Block is the id of the farthest top-level block that the respondent came to. One that the
	// form does not have is left out.
	Block   string
	Seconds float64 // that the respondent took so far
	// Revision is that of the half response. SavePartial saves only while it is there; 0: no
	// condition. It has no meaning without a Token.
	Revision int64
	// ShareWithOwner says that the respondent was told, before this save, that the form's owners can
	// read it. Without it [Client.Partials] shows that there is one, and nothing of it.
	ShareWithOwner bool
	// Visit names the visit that creates a partial submission, with a text that only the host
	// and the respondent's browser know: who knows it can compute the token. Each Visit of a
	// form creates at most one. It has no meaning with a Token. If empty, every save without
	// a Token creates another.
	Visit string
	// CaptchaSolved says that a captcha was solved for this save, or an earlier one of the
	// visit. If the form has a captcha, [Client.Partials] lists only those that had one save
	// with it. The service does not check captchas, so a host that sets it has checked one.
	CaptchaSolved bool
	// LinkIssued says that the respondent received a link to it. When the form is full, it is
	// replaced after those without a link that were saved once.
	LinkIssued bool

	// What only ResumePartial sets.

	SavedAt, EndsAt time.Time
	SubmissionID    ID // of the response that was submitted from it; zero: none
}

// Metadata is what is known about where a response came from. Control characters are
// refused; values that are longer than 1,000 characters are cut. Of UTM the keys campaign, content, medium,
// source and term are kept.
type Metadata struct {
	Country, Device, UserAgent string
	UTM                        map[string]string
}

type (
	// Path is the way that a respondent takes through a form, as far as the answers
	// that were given say. Fields: [schema.Path].
	Path = schema.Path
	// PathBlock is one block on a path. Fields: [schema.PathBlock].
	PathBlock = schema.PathBlock
)
