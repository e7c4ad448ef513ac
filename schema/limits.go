package schema

import (
	"cmp"
	"errors"
	"math"
)

// Limits are size limits that a host can change. They are not in the API description. Exceeding a limit results in a
// violation (status 422), except for Body (413) and Workspaces (409). Zero fields have their defaults.
type Limits struct {
	Body       int64 // bytes of a request body; defaults to 1 MiB
	Workspaces int   // workspaces that one user can own; defaults to 100
	Webhooks   int   // webhooks of one form; defaults to 20

	Blocks    int // top-level blocks of a form; defaults to 500
	AllBlocks int // blocks of a form at all levels; defaults to 2,000
	Nesting   int // levels of blocks, including the top level; defaults to 8
	// Cells limits the options that a page renders: rows times columns of a matrix, choices times positions of a
	// ranking with up to 40 choices, choices of other blocks, buttons of a scale, and up to 50 specificDates. A country
	// list, alone or next to a phone number, counts as 40, because it is as expensive for a page as 40 choices.
	Cells     int // options of a block; defaults to 2,000
	AllCells  int // options of a form; defaults to 10,000
	Choices   int // choices, matrix_rows and matrix_columns of a block, each; defaults to 500
	CustomCSS int // bytes of theme.customCss; defaults to 100,000
	Text      int // characters of a label, a description, settings.closedMessage and settings.submitLabel, each; defaults to 5,000
	Rule      int // bytes of a block's properties.rule; defaults to 16,000

	// Definition is the total size of a form's stored sections, in bytes. Defaults to 4 MiB. A form that already
	// exceeds this limit can be changed if its size does not increase.
	Definition int
	// Submission is the size of a submission's stored answers, in bytes. Defaults to 1 MiB. Stored answers contain the
	// labels of selected choices, so they can be larger than the answers that the respondent sent.
	Submission int

	// Partial is the size of a partial submission's answers and hidden fields as they were sent, in bytes. Defaults to
	// 64,000.
	Partial int

	// FileSize is the size of an uploaded file in an answer, in bytes, if the block's maxFileSize is set. Defaults to 10
	// MiB.
	FileSize int64
}

// Validate returns an error if a limit is negative.
func (l Limits) Validate() error {
	least := min(l.Workspaces, l.Webhooks, l.Blocks, l.AllBlocks, l.Nesting, l.Cells, l.AllCells, l.Choices, l.CustomCSS, l.Text, l.Rule,
		l.Definition, l.Submission, l.Partial)
	if least < 0 || l.Body < 0 || l.FileSize < 0 {
		return errors.New("a limit is negative")
	}
	return nil
}

// WithDefaults returns l with defaults for zero fields.
func (l Limits) WithDefaults() Limits {
	l.Body = cmp.Or(l.Body, 1<<20)
	l.Body = min(l.Body, math.MaxInt64-1) // one more byte is read to detect a larger body
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
