package definition

import (
	"math"
	"strings"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/validation"
	"github.com/formsvc/formsvc/internal/violation"
	"github.com/formsvc/formsvc/schema"
)

// countryCells is the cost of a country list in cells. It is low because pages copy a prepared list; see schema.Limits.
const countryCells = 40

// countCells returns the number of options that a page renders for a block, without nested blocks.
func countCells(block jsontree.Node, typ string) int {
	p := block.Member("properties")
	number := func(name string, fallback float64) float64 {
		if n := p.Member(name); n.Kind() == jsontree.Number {
			return n.Float()
		}
		return fallback
	}
	kind, _ := schema.LookupBlockType(typ)
	upTo := func(n float64) int {
		if n < 1 || n > float64(kind.MaxRendered) {
			return 0
		}
		return int(n)
	}
	choices := block.Member("choices").Len()
	switch kind.Shape {
	case schema.ShapeMatrix:
		return block.Member("matrix_rows").Len() * block.Member("matrix_columns").Len()
	case schema.ShapeRanking:
		if choices <= kind.MaxRendered {
			return choices * choices
		}
		return choices
	case schema.ShapeChoice, schema.ShapeChoices:
		return choices
	case schema.ShapeContact:
		n, parts := 0, p.Member("addressOrContact")
		for _, part := range []string{schema.TypePhone, schema.TypeCountry} {
			if !parts.Member(part).Member("hide").Bool() {
				n += countryCells
			}
		}
		return n
	case schema.ShapeDate:
		return min(p.Member("specificDates").Len(), kind.MaxRendered)
	case schema.ShapeBoolean:
		return 2
	}
	switch scale := kind.Scale; typ {
	case schema.TypeCountry, schema.TypePhone: // a phone field has a country list
		return countryCells
	case schema.TypeNPS:
		return kind.MaxRendered
	case schema.TypeRating:
		return upTo(math.Max(1, number("to", scale.To)))
	case schema.TypeOpinionScale:
		step := number("scaleStep", scale.Step)
		if step <= 0 {
			step = scale.Step
		}
		return upTo(math.Floor((number("to", scale.To)-number("from", scale.From))/step+1e-9) + 1)
	}
	return 0
}

// blockType returns a block's type. If the type is missing, it returns the stored block's type or else infers the type.
func (r *blockChecker) blockType(block jsontree.Node) string {
	if t := block.Member("type"); t.Exists() && t.Kind() != jsontree.Null {
		return t.Text()
	}
	if t := r.stored[block.Member("id").Text()].Member("type"); t.Exists() {
		return t.Text()
	}
	return strings.Trim(inferType(block), `"`)
}

func (r *blockChecker) addCells(block jsontree.Node) {
	n := countCells(block, r.blockType(block))
	if n > r.limits.Cells {
		r.Add(block, schema.CodeTooMany, "a block can have at most "+violation.FormatCount(r.limits.Cells, "cell")+", such as rows times columns")
	}
	r.cells += n
}

// checkFormCells checks the limit on cells in all blocks, after addCells counted them. own is the number of cells in
// the written blocks. A form over the limit is allowed as long as this number does not increase.
func (r *blockChecker) checkFormCells(own int, at jsontree.Node) {
	if r.cells > r.limits.AllCells && own > r.cellsBefore {
		r.Add(at, schema.CodeTooMany, "the blocks of a form can have at most "+violation.FormatCount(r.limits.AllCells, "cell")+" in total, such as choices")
	}
}

// InferTypes is like [Blocks.WithTypesFrom], for blocks that will be stored. It also checks the cell limit, which
// depends on the added types.
func (w *Validator) InferTypes(b, stored *Blocks) (*Blocks, error) {
	typed := b.WithTypesFrom(stored)
	if typed == b {
		return b, nil
	}
	r := newBlockChecker(&validation.Check{Base: b.base}, w)
	r.stored = stored.nodesByID()
	eachBlock(b.topBlocks(), r.addCells)
	r.checkFormCells(r.cells, b.list)
	return typed, r.Violations.Err()
}
