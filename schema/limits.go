package schema

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
	orInt := func(n, fallback int) int {
		if n == 0 {
			return fallback
		}
		return n
	}
	l.Blocks = orInt(l.Blocks, 500)
	l.AllBlocks = orInt(l.AllBlocks, 2000)
	l.Nesting = orInt(l.Nesting, 8)
	l.Choices = orInt(l.Choices, 500)
	l.CustomCSS = orInt(l.CustomCSS, 100_000)
	l.Text = orInt(l.Text, 5000)
	if l.FileSize == 0 {
		l.FileSize = 10 << 20
	}
	return l
}
