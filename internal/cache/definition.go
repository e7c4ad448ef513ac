package cache

import (
	"bytes"

	"github.com/formsvc/formsvc/storage"
)

// SizeOf is how many bytes the sections of a definition have.
func SizeOf(d *storage.Definition) int {
	return len(d.Blocks) + len(d.Settings) + len(d.Theme) + len(d.Variables) + len(d.HiddenFields)
}

// Same reports whether two definitions have the same bytes. A caller that reads the same
// bytes as it keeps goes on with the kept bytes, so that a process has each definition
// once. Definitions that share their memory are compared in no time.
func Same(a, b *storage.Definition) bool {
	return a.Format == b.Format && bytes.Equal(a.Blocks, b.Blocks) && bytes.Equal(a.Settings, b.Settings) &&
		bytes.Equal(a.Theme, b.Theme) && bytes.Equal(a.Variables, b.Variables) && bytes.Equal(a.HiddenFields, b.HiddenFields)
}
