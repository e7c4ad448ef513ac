// Package formblock contains helpers for blocks that both reading and rendering a page need.
package formblock

import (
	"iter"
	"math"

	"github.com/formsvc/formsvc/schema"
)

// Walk ranges over blocks and those inside of them, in the order of the page, and says of
// each block whether it is hidden, by itself or by a block that it is in.
func Walk(blocks []schema.Block) iter.Seq2[*schema.Block, bool] {
	return func(yield func(*schema.Block, bool) bool) { walkIn(blocks, false, yield) }
}

func walkIn(blocks []schema.Block, hide bool, yield func(*schema.Block, bool) bool) bool {
	for i := range blocks {
		b := &blocks[i]
		hidden := hide || Properties(b).Hide
		if !yield(b, hidden) || !walkIn(b.Children, hidden, yield) {
			return false
		}
	}
	return true
}

// Properties returns the properties of a block, never nil. They are only read.
func Properties(b *schema.Block) *schema.Properties {
	if b.Properties == nil {
		return &noProperties
	}
	return b.Properties
}

var noProperties schema.Properties

// Index finds blocks of a form at any level by their ids.
type Index struct {
	Blocks []schema.Block
	byID   map[string]*schema.Block // made when it is first asked for
}

// Find returns a block, nil when there is none.
func (x *Index) Find(id string) *schema.Block {
	if x.byID == nil {
		x.byID = map[string]*schema.Block{}
		for b := range Walk(x.Blocks) {
			x.byID[b.ID] = b
		}
	}
	return x.byID[id]
}

// TakesFile reports whether the answer of a block is made of files.
func TakesFile(b *schema.Block) bool {
	shape := b.AnswerShape()
	return shape == schema.ShapeFiles || shape == schema.ShapeFile
}

// MaxFiles bounds how many files one block takes.
const MaxFiles = 20

// TakesSeveral reports whether more than one choice may be made.
func TakesSeveral(b *schema.Block) bool { return b.AnswerShape() == schema.ShapeChoices }

// Scale returns the bounds of a rating, an opinion scale or a net promoter score, and how
// many buttons it is drawn as: 0 where it is a number to type.
func Scale(typ string, p *schema.Properties) (from, to, step float64, buttons int) {
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

// IsButtonScale reports whether a block is a scale that is drawn as buttons.
func IsButtonScale(b *schema.Block) bool {
	_, _, _, n := Scale(b.Type, Properties(b))
	return n > 0
}

// MaxRendered is how many options of a block of a type are drawn, see [schema.BlockType].
func MaxRendered(typ string) int {
	kind, _ := schema.LookupBlockType(typ)
	return kind.MaxRendered
}

// ContactParts are the parts of an address or contact in the order in which a person
// is asked for them.
var ContactParts = []string{
	"firstName", "lastName", "email", "phone", "company", "address", "address2", "zip", "city", "state", "country",
}

// ValueOr is the number that n leads to, the fallback where it leads to none.
func ValueOr(n *float64, fallback float64) float64 {
	if n == nil {
		return fallback
	}
	return *n
}

// Positive returns n where it is above 0, else 0.
func Positive(n *schema.Integer) int {
	if n == nil || *n <= 0 || *n > math.MaxInt32 {
		return 0
	}
	return int(*n)
}
