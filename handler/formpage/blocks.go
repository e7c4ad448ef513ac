package formpage

import (
	"iter"

	"github.com/formsvc/formsvc/schema"
)

// walk ranges over blocks and those inside of them, in the order of the page, and says of
// each whether it is hidden, by itself or by one that it is in.
func walk(blocks []schema.Block) iter.Seq2[*schema.Block, bool] {
	return func(yield func(*schema.Block, bool) bool) { walkIn(blocks, false, yield) }
}

func walkIn(blocks []schema.Block, hide bool, yield func(*schema.Block, bool) bool) bool {
	for i := range blocks {
		b := &blocks[i]
		hidden := hide || properties(b).Hide
		if !yield(b, hidden) || !walkIn(b.Children, hidden, yield) {
			return false
		}
	}
	return true
}

// properties returns the properties of a block, never nil. They are only read.
func properties(b *schema.Block) *schema.Properties {
	if b.Properties == nil {
		return &noProperties
	}
	return b.Properties
}

var noProperties schema.Properties

// takesFile reports whether the answer of a block is made of files.
func takesFile(b *schema.Block) bool {
	return b.Type == schema.TypeFileUpload || b.Type == schema.TypeSignature
}
