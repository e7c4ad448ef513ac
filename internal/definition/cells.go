package definition

import (
	"math"
	"strings"

	"github.com/formsvc/formsvc/internal/faults"
	"github.com/formsvc/formsvc/internal/jsonshape"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
)

// Cells of a list of countries, and the sizes up to which a page draws the places of a
// ranking, the icons of a rating, the steps of a scale and the days of a date as options.
// What is larger is a number or a date to type. formpage knows these as well; a test of its
// own holds the two together.
const (
	countryCells = 40 // the page copies a list that it has made before: see schema.Limits
	maxPlaces    = 40
	maxIcons     = 20
	maxSteps     = 101
	maxDays      = 50
)

// cells returns how many options a page draws for a block of a kind, those of blocks inside
// it not counted.
func cells(block jsontree.Node, kind string) int {
	p := block.Member("properties")
	number := func(name string, fallback float64) float64 {
		if n := p.Member(name); n.Kind() == jsontree.Number {
			return n.Float()
		}
		return fallback
	}
	upTo := func(n float64, most int) int {
		if n < 1 || n > float64(most) {
			return 0
		}
		return int(n)
	}
	switch choices := block.Member("choices").Len(); kind {
	case schema.TypeMatrix:
		return block.Member("matrix_rows").Len() * block.Member("matrix_columns").Len()
	case schema.TypeRanking:
		if choices <= maxPlaces {
			return choices * choices
		}
		return choices
	case schema.TypeSingleChoice, schema.TypeMultipleChoice, schema.TypePictureChoice, schema.TypeDropdown:
		return choices
	case schema.TypeCountry, schema.TypePhone: // beside a number is its country
		return countryCells
	case schema.TypeAddress, schema.TypeContactInfo:
		n, parts := 0, p.Member("addressOrContact")
		for _, part := range []string{"phone", "country"} {
			if !parts.Member(part).Member("hide").Bool() {
				n += countryCells
			}
		}
		return n
	case schema.TypeDate:
		return min(p.Member("specificDates").Len(), maxDays)
	case schema.TypeNPS:
		return 11
	case schema.TypeRating:
		return upTo(math.Max(1, number("to", 5)), maxIcons)
	case schema.TypeOpinionScale:
		step := number("scaleStep", 1)
		if step <= 0 {
			step = 1
		}
		return upTo(math.Floor((number("to", 10)-number("from", 1))/step+1e-9)+1, maxSteps)
	case schema.TypeYesNo, schema.TypeLegal:
		return 2
	}
	return 0
}

// kind is the type of a block: its own, that of the stored block with its id, or the one
// that follows from its members.
func (r *blockRules) kind(block jsontree.Node) string {
	if t := block.Member("type"); t.Exists() && t.Kind() != jsontree.Null {
		return t.Text()
	}
	if t := r.stored[block.Member("id").Text()].Member("type"); t.Exists() {
		return t.Text()
	}
	return strings.Trim(inferType(block), `"`)
}

// countCells counts the options of a block, and holds them against the limit.
func (r *blockRules) countCells(block jsontree.Node) {
	n := cells(block, r.kind(block))
	if n > r.limits.Cells {
		r.Add(block, schema.CodeTooMany, "a block has at most "+faults.Count(r.limits.Cells, "cell")+", such as rows times columns")
	}
	r.cells += n
}

// formCells holds the options of all blocks against the limit, when all are known. own are
// those of what is written, which may be as many as were there before.
func (r *blockRules) formCells(own int, at jsontree.Node) {
	if r.cells > r.limits.AllCells && own > r.before {
		r.Add(at, schema.CodeTooMany, "the blocks of a form have at most "+faults.Count(r.limits.AllCells, "cell")+" together, such as choices")
	}
}

// checkCells counts again what was counted without the types that stored blocks give.
func (w *Writes) checkCells(b, stored *Blocks) error {
	r := newBlockRules(&jsonshape.Check{Base: b.base}, w)
	r.stored = stored.ids()
	b.each(r.countCells)
	r.formCells(r.cells, b.list)
	return r.Faults.Err()
}

// TypedFrom is [Blocks.WithTypesFrom] for blocks that are to be stored: it refuses those
// that have too many cells by their types.
func (w *Writes) TypedFrom(b, stored *Blocks) (*Blocks, error) {
	typed := b.WithTypesFrom(stored)
	if typed == b {
		return b, nil
	}
	return typed, w.checkCells(b, stored)
}
