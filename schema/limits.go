package schema

import "cmp"

// Limits bounds the definition of a form and the answers to it. A host can change
// them, so they are no keywords of the description. What goes beyond one is a
// violation (422). A zero field means its default.
type Limits struct {
	Blocks    int   // top-level blocks of a form; default 500
	AllBlocks int   // blocks of a form at all levels; default 2,000
	Nesting   int   // levels of blocks, the top level included; default 8
	Choices   int   // each of choices, matrix_rows and matrix_columns of a block; default 500
	CustomCSS int   // bytes of theme.customCss; default 100,000
	Text      int   // characters of a label and of a description; default 5,000
	FileSize  int64 // bytes of an uploaded file where the block limits it; default 10 MiB
}

// WithDefaults returns l with every zero field replaced by its default.
func (l Limits) WithDefaults() Limits {
	l.Blocks = cmp.Or(l.Blocks, 500)
	l.AllBlocks = cmp.Or(l.AllBlocks, 2000)
	l.Nesting = cmp.Or(l.Nesting, 8)
	l.Choices = cmp.Or(l.Choices, 500)
	l.CustomCSS = cmp.Or(l.CustomCSS, 100_000)
	l.Text = cmp.Or(l.Text, 5000)
	l.FileSize = cmp.Or(l.FileSize, 10<<20)
	return l
}
