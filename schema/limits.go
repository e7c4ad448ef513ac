package schema

import (
	"cmp"
	"errors"
	"math"
)

// Limits are the sizes that a host may change, so they are not keywords of the description. What goes beyond one is a
// violation (422), but for Body (413) and Workspaces (409). A zero field means its default.
type Limits struct {
	Body       int64 // bytes of a request body; default 1 MiB
	Workspaces int   // workspaces that one user may own; default 100
	Webhooks   int   // webhooks of one form; default 20

	Blocks    int // top-level blocks of a form; default 500
	AllBlocks int // blocks of a form at all levels; default 2,000
	Nesting   int // levels of blocks, the top level included; default 8
	// Cells are the options that a page draws: rows times columns of a matrix, choices times places of a ranking of up to
	// 40 choices, choices of any other block, buttons of a scale, and up to 50 of specificDates. A list of countries, also
	// the list next to a phone number, counts 40: it is a copy of a text that was made before, and takes a page as much as
	// 40 choices do. So a form may have 250 of them.
	Cells     int // of a block; default 2,000
	AllCells  int // of a form; default 10,000
	Choices   int // each of choices, matrix_rows and matrix_columns of a block; default 500
	CustomCSS int // bytes of theme.customCss; default 100,000
	Text      int // characters of a label, a description, settings.closedMessage and settings.submitLabel, each; default 5,000
	Rule      int // bytes of a block's properties.rule; default 16,000

	// Definition is how many bytes the five sections of a form's definition may take together as they are stored, by
	// whichever write; default 4 MiB. A form that is larger already may be changed as long as it does not grow.
	Definition int
	// Response is how many bytes the answers of one response may take as they are stored; default 1 MiB. Answers contain
	// the labels of the chosen choices, so they may be larger than what the respondent sent.
	Submission int

	// Partial is how many bytes the answers and hidden fields of a partial submission may take, as they were sent.
	// Defaults to 64,000. A form has at most 10,000 partial submissions.
	Partial int

	// FileSize is the largest size, in bytes, of an uploaded file that an answer may name when the block's maxFileSize is
	// on; default 10 MiB.
	FileSize int64
}

// Validate returns an error when a limit is negative.
func (l Limits) Validate() error {
	least := min(l.Workspaces, l.Webhooks, l.Blocks, l.AllBlocks, l.Nesting, l.Cells, l.AllCells, l.Choices, l.CustomCSS, l.Text, l.Rule,
		l.Definition, l.Submission, l.Partial)
	if least < 0 || l.Body < 0 || l.FileSize < 0 {
		return errors.New("a limit is negative")
	}
	return nil
}

// WithDefaults returns l with every zero field replaced by its default.
func (l Limits) WithDefaults() Limits {
	l.Body = cmp.Or(l.Body, 1<<20)
	l.Body = min(l.Body, math.MaxInt64-1) // one byte more is read, to see that there is more
	l.Workspaces = cmp.Or(l.Workspaces, 100)
	l.Webhooks = cmp.Or(l.Webhooks, 20)
	l.Blocks = cmp.Or(l.Blocks, 500)
	l.AllBlocks = cmp.Or(l.AllBlocks, 2000)
	l.Nesting = cmp.Or(l.Nesting, 8)
	l.Cells = cmp.Or(l.Cells, 2000)
	l.AllCells = cmp.Or(l.AllCells, 10_000)
	l.Choices = cmp.Or(l.Choices, 500)
	l.CustomCSS = cmp.Or(l.CustomCSS, 100_000)
	l.Text = cmp.Or(l.Text, 5000)
	l.Rule = cmp.Or(l.Rule, 16_000)
	l.Definition = cmp.Or(l.Definition, 4<<20)
	l.Submission = cmp.Or(l.Submission, 1<<20)
	l.Partial = cmp.Or(l.Partial, 64_000)
	l.FileSize = cmp.Or(l.FileSize, 10<<20)
	return l
}
