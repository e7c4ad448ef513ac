// Package formblock contains block helpers that both parsing and rendering need.
package formblock

import (
	"iter"
	"math"

	"github.com/formsvc/formsvc/schema"
)

// Walk iterates over blocks and their children in page order. It also yields whether a block or its parent is hidden.
func Walk(blocks []schema.Block) iter.Seq2[*schema.Block, bool] {
	return func(yield func(*schema.Block, bool) bool) { walkBlocks(blocks, false, yield) }
}

func walkBlocks(blocks []schema.Block, hide bool, yield func(*schema.Block, bool) bool) bool {
	for i := range blocks {
		b := &blocks[i]
		hidden := hide || Properties(b).Hide
		if !yield(b, hidden) || !walkBlocks(b.Children, hidden, yield) {
			return false
		}
	}
	return true
}

// Properties returns a block's properties. The result is never nil. Callers must not modify it.
func Properties(b *schema.Block) *schema.Properties {
	if b.Properties == nil {
		return &noProperties
	}
	return b.Properties
}

var noProperties schema.Properties

// Index finds a form's blocks by ID, at any level.
type Index struct {
	Blocks []schema.Block
	byID   map[string]*schema.Block // Created by the first Find.
}

// Find returns the block with the given ID, or nil.
func (x *Index) Find(id string) *schema.Block {
	if x.byID == nil {
		x.byID = map[string]*schema.Block{}
		for b := range Walk(x.Blocks) {
			x.byID[b.ID] = b
		}
	}
	return x.byID[id]
}

// TakesFile reports whether a block's answer consists of files.
func TakesFile(b *schema.Block) bool {
	shape := b.AnswerShape()
	return shape == schema.ShapeFiles || shape == schema.ShapeFile
}

// MaxFiles is the maximum number of files per block.
const MaxFiles = 20

// TakesMultipleChoices reports whether a respondent can select more than one choice.
func TakesMultipleChoices(b *schema.Block) bool { return b.AnswerShape() == schema.ShapeChoices }

// ScaleRange returns the range of a rating, an opinion scale or a Net Promoter Score, and its number of buttons. If the
// page shows a number input instead, buttons is zero.
func ScaleRange(typ string, p *schema.Properties) (from, to, step float64, buttons int) {
	kind, _ := schema.LookupBlockType(typ)
	from, to, step = kind.Scale.From, kind.Scale.To, kind.Scale.Step
	switch typ {
	case schema.TypeRating:
		to = math.Floor(math.Max(1, ValueOr(p.To, to)))
	case schema.TypeOpinionScale:
		from, to = ValueOr(p.From, from), ValueOr(p.To, to)
		if set := ValueOr(p.ScaleStep, step); set > 0 {
			step = set
		}
	}
	if n := int(math.Floor((to-from)/step+1e-9)) + 1; step > 0 && n >= 1 && n <= kind.MaxRendered {
		buttons = n
	}
	return from, to, step, buttons
}

// IsButtonScale reports whether a block is a scale that is shown as buttons.
func IsButtonScale(b *schema.Block) bool {
	_, _, _, n := ScaleRange(b.Type, Properties(b))
	return n > 0
}

// MaxRenderedChoices returns the maximum number of options that a page renders for a given block type.
func MaxRenderedChoices(typ string) int {
	kind, _ := schema.LookupBlockType(typ)
	return kind.MaxRendered
}

// ContactParts lists the parts of an address or contact in page order.
var ContactParts = []string{
	"firstName", "lastName", "email", "phone", "company", "address", "address2", "zip", "city", "state", "country",
}

// ValueOr returns *n, or fallback if n is nil.
func ValueOr(n *float64, fallback float64) float64 {
	if n == nil {
		return fallback
	}
	return *n
}

// PositiveOrZero returns n if it is positive and fits in 32 bits. Otherwise, it returns zero.
func PositiveOrZero(n *schema.Integer) int {
	if n == nil || *n <= 0 || *n > math.MaxInt32 {
		return 0
	}
	return int(*n)
}
