package schema

import "time"

// Metrics describes the funnel of a form in a period. Estimated reports whether it includes the totals set by
// formsvc.Service.SetLifetimeCounters. CompletionRate is Submissions as a percentage of Starts with two decimals. It is 0 if
// there are no starts.
type Metrics struct {
	Period                     Period
	Estimated                  bool
	Views, Starts, Submissions int64
	CompletionRate             float64
}

// Export controls the format of an export and selects submissions. Package formsvc documents the formats.
type Export struct {
	Format ExportFormat // CSV or NDJSON. Defaults to CSV.
	// Since and Until are the earliest and the latest SubmittedAt, inclusive. A zero value means no limit.
	Since, Until time.Time
	// Where and Text select submissions as in formsvc.SubmissionQuery.
	Where Condition
	Text  string

	// The following fields apply only to CSV.

	// Separator is ',', ';' or a tab. Defaults to ','. It does not change numbers, which always have a decimal point. A
	// spreadsheet whose language has a decimal comma can read 1.5 as a date, so import the file there: in Excel with
	// Data > From Text/CSV, in LibreOffice when it opens the file, and select a language with a decimal point.
	Separator rune
	ChoiceIDs bool // Whether to write choice IDs instead of labels.
	// SplitColumns controls whether a block with several choices or files has a column for each choice (id/choice ID)
	// and file (id/1/name, id/1/url, id/2/name …). A choice's cell contains the choice, or its position in a ranking.
	// Otherwise one cell contains all values, separated by "; ".
	SplitColumns bool
	Labels       bool // Whether the header contains labels instead of IDs. If labels are equal, [id] is appended.
	BOM          bool // Whether to start with a byte order mark, which some programs need to detect UTF-8.
	// AllowFormulas omits the apostrophe before text that a program could interpret as a formula.
	AllowFormulas bool
	// CompletionLine applies to both formats. It adds a last line that proves that the file is complete and contains
	// the number of submissions: {"complete":true,"submissions":12} in NDJSON, and complete,12 in CSV.
	CompletionLine bool
	// Respondent applies to both formats. It adds the respondent of each submission: the column respondent after
	// submitted_at in CSV, and the field respondent in NDJSON. It is empty if the submission has no respondent.
	Respondent bool
	// Changes applies to both formats. It adds the columns revision and changed_at after the other leading columns in CSV,
	// and the fields revision and changed_at in NDJSON. A submission that never changed has no changed_at.
	Changes bool
	// History adds the field history to each changed submission, with its earlier states, newest first: revision,
	// replaced_at, replaced_by if a user made the change, replaced_by_respondent, and answers. It applies only to NDJSON.
	// An import ignores it.
	History bool
}

// ChoiceCount counts how often a choice was selected.
type ChoiceCount struct {
	ID, Label    string
	Count        int64
	MeanPosition float64 // The mean position in a ranking, starting at 1. It is 0 if the choice was never ranked.
}

// Bin counts the numbers from From to To. It includes To, unless the next bin starts with To. For whole numbers, the
// next bin starts after To: the bins 5 to 8 and 9 to 12 contain four numbers each.
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
