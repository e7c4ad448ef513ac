package formsvc

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/formsvc/formsvc/schema"
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

// IssuedKey is a new key. Secret is the whole key; it is shown here once and
// cannot be had again. Printed or logged, an IssuedKey shows the key's prefix only, and
// its JSON is without the Secret: a host that sends a key to its owner sends that member
// by its name. Inside an unexported field of another struct, and for the verbs %p and %w
// (go vet reports those), package fmt asks no method: nothing hides the Secret there.
type IssuedKey struct {
	Key    Key
	Secret string `json:"-"`
}

// String names the key without its secret.
func (k IssuedKey) String() string { return k.Key.Prefix + secretMask }

// Format prints String, whatever the verb.
func (k IssuedKey) Format(f fmt.State, verb rune) {
	_, _ = fmt.Fprintf(f, fmt.FormatString(f, verb), k.String())
}

// LogValue logs the key without its secret.
func (k IssuedKey) LogValue() slog.Value { return slog.StringValue(k.String()) }

// Summary counts the answers to a form.
//
// It cannot say at which block respondents give up: only whole responses are stored. For
// that the page would have to report every block that a respondent reaches, and the
// service to count these reports by block as it counts views and starts.
type Summary struct {
	Responses int64
	// Blocks are those that answer, in the order of the form, then its hidden fields and
	// variables, then what only the responses have.
	Blocks []BlockSummary
}

// BlockSummary counts the answers to one block, hidden field or variable. Members that
// its kind of value does not have are zero.
type BlockSummary struct {
	ID, Type, Label string
	Gone            bool // it is not in the form any more
	Answered        int64
	// Skipped is the number of responses without an answer, among them those from before
	// the block was in the form.
	Skipped int64

	// Choices are those of the form, chosen or not, and those that are gone from it. For
	// yes_no and legal they are true and false, for country the countries, and for
	// payment the states.
	Choices []ChoiceCount
	Other   int64        // answers with a text of the respondent's own
	Rows    []RowSummary // of a matrix
	Numbers *NumberSummary
	NPS     *NPSSummary
	Days    []DayCount // of dates, as they were written, from the first on
	// Unlisted counts values that are not among Choices or Days because there are more
	// than 10,000 different ones that the form does not have.
	Unlisted int64
}

// ChoiceCount says how often a choice was made.
type ChoiceCount struct {
	ID, Label string
	Count     int64
	MeanPlace float64 // in a ranking, from 1; 0: never chosen
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
	// Median is exact when Exact is set: for up to 1,000 different numbers. Of more, it
	// is within 1 % for magnitudes of 1e-9 to 1e15, and so are the bins that numbers
	// are counted in.
	Median float64
	Exact  bool
	// Histogram has one bin for each number where there are at most 20, else 20 of equal
	// width.
	Histogram []Bin
}

// Bin counts the numbers from From up to To. Those that equal To are in the next bin,
// unless this is the last one or From is To.
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
}

// Response is what a respondent submits.
type Response struct {
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
	// OneContent says that the IdempotencyKey stands for this content: a repeated Submit
	// whose answers or hidden fields would be stored as others is [ErrKeyUsed].
	OneContent bool
	// SubmittedAt says when a response was submitted that the host imports from
	// elsewhere, in whole seconds. A time to come is refused. Zero: it is submitted now.
	SubmittedAt time.Time
	// Deliver queues an event for an imported response too. It is as old as its import:
	// webhooks.Config.MaxAge counts from then. It has no meaning while SubmittedAt is
	// zero.
	Deliver bool
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
	// that were given say.
	//
	//	Blocks    []PathBlock
	//	Ending    string
	//	Variables map[string]any
	//	Faults    []schema.Violation
	Path = schema.Path
	// PathBlock is one block on a path.
	//
	//	ID       string
	//	Required bool
	PathBlock = schema.PathBlock
)
